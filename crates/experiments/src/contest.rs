//! Methods side by side: the same data, the same start and the same number of gradients;
//! rates and trainers chosen by validation data that is not in the table.

use std::sync::atomic::{AtomicUsize, Ordering};

use fedcompetitors_federate::{
    FederateError, Federation,
    estimate::{Estimator, Inputs, Measured, agreement},
    exchange::Exchange,
    train::Effort,
};
use fedcompetitors_graphs::{BenefitGraph, CompetingGraph, UsageGraph};
use fedcompetitors_learn::{Learner, NativeLearner, OptimizerSettings};
use rayon::prelude::*;

use crate::{Method, Source, method::Variant};

/// The seeds of the federations by which rules are chosen.
pub(super) const CHOICE_SEEDS: [u64; 2] = [98, 99];

/// The seed before those in the table. (Those below were looked at while this program was
/// written.)
pub(super) const BEFORE_FIRST_SEED: u64 = 900;

/// The rules among which validation data chooses.
pub(super) fn usual_rules() -> Vec<OptimizerSettings> {
    let rates = [0.001, 0.003, 0.01, 0.03, 0.1, 0.3];
    let decays = [0.0, 0.001];
    let rules = rates
        .iter()
        .flat_map(|&rate| decays.iter().map(move |&decay| OptimizerSettings::Adam { rate, decay }));
    rules.collect()
}

/// What happens on the way: so many of so many pieces of work are done.
pub type Progress<'a> = &'a (dyn Fn(usize, usize) + Sync);

/// One method's figures.
#[derive(Debug, Clone)]
pub struct MethodResult {
    /// The method.
    pub method: Method,
    /// The rule that validation data chose.
    pub rule: OptimizerSettings,
    /// What sets the trainer that it chose apart; empty where there was no choice.
    pub trainer: String,
    /// The test metric, for each seed that of each participant.
    pub cells: Vec<Vec<f64>>,
    /// The plan of each federation that was trained.
    pub plans: Vec<UsageGraph>,
    /// Gradients that were taken on the way, on average over the participants and seeds.
    pub evaluations: f64,
    /// How many of those were taken to estimate benefits.
    pub estimation: f64,
}

/// The benefits of one federation.
#[derive(Debug, Clone)]
pub struct Estimates {
    /// The seed.
    pub seed: u64,
    /// For each [`Source`] the benefits, and gradients taken for each participant.
    pub benefits: Vec<(Source, BenefitGraph, usize)>,
    /// The rank correlation of each with measured gains, where that was asked for.
    pub agreements: Vec<(Source, Option<f64>)>,
}

/// One federation, and what was estimated there.
pub(super) struct Instance {
    pub learners: Vec<NativeLearner>,
    pub estimates: Estimates,
}

/// A method with what can be chosen for it.
#[derive(Clone, Copy)]
pub(super) struct Trial {
    pub method: Method,
    rule: OptimizerSettings,
    /// Which of the method's trainers.
    trainer: usize,
}

/// What one run gives.
pub(super) struct Run {
    /// Everybody's model.
    pub models: Vec<Vec<f32>>,
    usage: UsageGraph,
    evaluations: usize,
    estimation: usize,
}

/// Methods that are compared.
pub(super) struct Contest<'a> {
    pub competing: &'a CompetingGraph,
    pub methods: &'a [Method],
    /// Gradients for each participant and method.
    pub evaluations: usize,
    /// The rules among which validation data chooses.
    pub rules: &'a [OptimizerSettings],
    /// Also compare the estimates with measured gains.
    pub measure: bool,
    /// How far a model is off on its participant's validation data.
    pub error: fn(&NativeLearner, &[f32]) -> f64,
}

/// What a contest gives: the methods as chosen, each with its run on each instance.
pub(super) type Outcomes = Vec<(Trial, Vec<Run>)>;

impl Contest<'_> {
    /// Chooses for each method by the first instances, of which there may be none, and runs it
    /// on the others.
    ///
    /// `make` gives the learners of a seed. Everything is done in parallel as far as there are
    /// threads; the result does not depend on their number.
    ///
    /// # Errors
    /// If a training diverges, with every rule or with the chosen one in the table, or if the
    /// estimates cost the whole budget.
    pub fn run<T: Sync>(
        &self,
        to_choose: &[T],
        to_show: &[T],
        make: impl Fn(&T) -> Result<(u64, Vec<NativeLearner>), FederateError> + Sync,
        progress: Progress<'_>,
    ) -> Result<(Vec<Instance>, Outcomes), FederateError> {
        // With one rule there is nothing to choose.
        let to_choose = if self.rules.len() > 1 { to_choose } else { &[] };
        let more_trainers: usize =
            self.methods.iter().map(|method| method.variants().len() - 1).sum();
        let instances = to_choose.len() + to_show.len();
        let total = instances * (2 + usize::from(self.measure))
            + (self.methods.len() * self.rules.len() + more_trainers) * to_choose.len()
            + self.methods.len() * to_show.len();
        let done = AtomicUsize::new(0);
        let tick = || progress(done.fetch_add(1, Ordering::Relaxed) + 1, total);

        let all: Vec<&T> = to_choose.iter().chain(to_show).collect();
        let mut instances = all
            .par_iter()
            .map(|one| {
                let (seed, learners) = make(one)?;
                let estimates = self.estimate(&learners, seed, &tick)?;
                Ok(Instance { learners, estimates })
            })
            .collect::<Result<Vec<_>, _>>()?;
        let shown = instances.split_off(to_choose.len());
        let chosen = self.choose(&instances, &tick);

        let tasks: Vec<(Trial, &Instance)> = chosen
            .iter()
            .flat_map(|&trial| shown.iter().map(move |instance| (trial, instance)))
            .collect();
        let runs: Vec<Run> = tasks
            .par_iter()
            .map(|&(trial, instance)| {
                let run = self.run_once(instance, trial);
                tick();
                run
            })
            .collect::<Result<_, _>>()?;
        let mut runs = runs.into_iter();
        let outcomes = chosen
            .into_iter()
            .map(|trial| (trial, runs.by_ref().take(shown.len()).collect()))
            .collect();
        Ok((shown, outcomes))
    }

    /// For each method what validation data likes best: first among the rules, then with
    /// that rule among the trainers.
    fn choose(&self, instances: &[Instance], tick: &(dyn Fn() + Sync)) -> Vec<Trial> {
        let judged = |trials: Vec<Trial>| -> Vec<(Trial, f64)> {
            trials
                .into_par_iter()
                .map(|trial| {
                    let losses = instances.iter().map(|instance| {
                        let run = self.run_once(instance, trial);
                        tick();
                        // What makes training diverge is no choice.
                        run.map_or(f64::INFINITY, |run| self.off(instance, &run.models))
                    });
                    (trial, losses.sum())
                })
                .collect()
        };
        let least = |of: &[(Trial, f64)]| of.iter().min_by(|a, b| a.1.total_cmp(&b.1)).copied();
        let usual = |method| self.rules.iter().map(move |&rule| Trial { method, rule, trainer: 0 });
        let tried = judged(self.methods.iter().flat_map(|&method| usual(method)).collect());
        let chosen = tried.chunks_exact(self.rules.len()).filter_map(least);
        if instances.is_empty() {
            return chosen.map(|(trial, _)| trial).collect();
        }
        chosen
            .map(|(trial, loss)| {
                let others = 1..trial.method.variants().len();
                let mut tried = vec![(trial, loss)];
                tried.extend(judged(others.map(|trainer| Trial { trainer, ..trial }).collect()));
                least(&tried).map_or(trial, |(trial, _)| trial)
            })
            .collect()
    }

    fn estimate(
        &self,
        data: &[NativeLearner],
        seed: u64,
        tick: &(dyn Fn() + Sync),
    ) -> Result<Estimates, FederateError> {
        let mut benefits = Vec::new();
        for source in Source::OF_ANY_MODEL {
            let federation = federation(self.competing, data, seed)?;
            let (exchange, inputs) = (&mut Exchange::new(self.competing), Inputs::default());
            let benefit = source.estimator().estimate(&federation, exchange, inputs)?.benefit;
            benefits.push((source, benefit, per_participant(&federation)));
            tick();
        }
        let mut agreements = Vec::new();
        if self.measure {
            let federation = federation(self.competing, data, seed)?;
            let (exchange, inputs) = (&mut Exchange::new(self.competing), Inputs::default());
            let measured = Measured::default().estimate(&federation, exchange, inputs)?.benefit;
            for (source, benefit, _) in &benefits {
                agreements.push((*source, agreement(self.competing, &measured, benefit)));
            }
            tick();
        }
        Ok(Estimates { seed, benefits, agreements })
    }

    fn run_once(&self, instance: &Instance, trial: Trial) -> Result<Run, FederateError> {
        let competing = self.competing;
        let Trial { method, trainer, rule } = trial;
        let Instance { learners: data, estimates } = instance;
        let Variant { trainer, local_steps, .. } = method.variants().swap_remove(trainer);
        let federation = federation(competing, data, estimates.seed)?;
        let nothing = BenefitGraph::builder(competing.participants()).build();
        let found = estimates.benefits.iter().find(|found| Some(found.0) == method.source());
        let (benefit, estimation) =
            found.map_or((&nothing, 0), |(_, benefit, spent)| (benefit, *spent));
        let usage = method.plan(competing, benefit).usage;
        if estimation >= self.evaluations {
            let (needed, budget) = (estimation, self.evaluations);
            return Err(FederateError::Budget { needed, budget });
        }
        let evaluations = self.evaluations - estimation;
        let effort = Effort { evaluations, local_steps, rule, batch: None };
        let models = trainer.train(&federation, &usage, benefit, effort)?;
        let evaluations = per_participant(&federation) + estimation;
        Ok(Run { models, usage, evaluations, estimation })
    }

    /// How far models are off, on average over their participants.
    fn off(&self, instance: &Instance, models: &[Vec<f32>]) -> f64 {
        let errors =
            instance.learners.iter().zip(models).map(|(one, model)| (self.error)(one, model));
        // Proportions count: the participant with the hardest task must not decide alone.
        errors.map(f64::ln).sum::<f64>() / models.len() as f64
    }
}

/// A method's figures, once its runs have been measured.
pub(super) fn method_result(trial: Trial, runs: &[Run], cells: Vec<Vec<f64>>) -> MethodResult {
    let mean =
        |value: fn(&Run) -> usize| runs.iter().map(value).sum::<usize>() as f64 / runs.len() as f64;
    let trainer = trial.method.variants().swap_remove(trial.trainer).title;
    MethodResult {
        method: trial.method,
        rule: trial.rule,
        trainer,
        cells,
        plans: runs.iter().map(|run| run.usage.clone()).collect(),
        evaluations: mean(|run| run.evaluations),
        estimation: mean(|run| run.estimation),
    }
}

pub(super) fn federation<'a>(
    competing: &'a CompetingGraph,
    data: &'a [NativeLearner],
    seed: u64,
) -> Result<Federation<'a>, FederateError> {
    Federation::new(competing, data.iter().map(|learner| learner as &dyn Learner).collect(), seed)
}

pub(super) fn per_participant(federation: &Federation<'_>) -> usize {
    (federation.evaluations() as usize).div_ceil(federation.len())
}
