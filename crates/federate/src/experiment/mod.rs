//! The paper's synthetic experiments: every method on the same data, from the same start,
//! with the same number of gradients.
//!
//! Learning rate and decay are chosen for each method by the validation data of two
//! federations drawn with other seeds than those in the table. A method that
//! estimates benefits pays for that out of the same purse.

mod paper;
mod statistics;

use std::sync::atomic::{AtomicUsize, Ordering};

use fedcompetitors_graphs::{BenefitGraph, CompetingGraph, UsageGraph};
use fedcompetitors_learn::{Learner, NativeLearner, Part, Rule};
use fedcompetitors_select::{Alone, Cliques, Coalitions, Greedy, Optimal, Plan, Policy};
use rayon::prelude::*;

use crate::{
    FederateError, Federation,
    estimate::{Estimator, JointHypernetwork, Measured, Mixture, agreement},
    train::{Averaging, Correction, Effort, Hypernetworks, Mixing, Trainer},
};

pub use paper::Setting;
pub use statistics::{Spread, paired};

/// A structure and a trainer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// Everybody alone.
    Local,
    /// Averages inside cliques.
    FedAvg,
    /// Averages with a pull to the common model.
    FedProx,
    /// Averages with control variates.
    Scaffold,
    /// Hypernetworks inside coalitions.
    Ce,
    /// The paper's: personal hypernetworks along the greedy plan.
    Hypernetworks,
    /// Mixing along the best plan: what can be deployed.
    Mixing,
}

impl Method {
    /// All, in the order of the paper's table.
    pub const ALL: [Self; 7] = [
        Self::Local,
        Self::FedAvg,
        Self::FedProx,
        Self::Scaffold,
        Self::Ce,
        Self::Hypernetworks,
        Self::Mixing,
    ];

    /// What it is called in the table.
    pub fn name(self) -> &'static str {
        match self {
            Self::Local => "Local",
            Self::FedAvg => "FedAvg",
            Self::FedProx => "FedProx",
            Self::Scaffold => "SCAFFOLD",
            Self::Ce => "CE",
            Self::Hypernetworks => "FedCompetitors",
            Self::Mixing => "FedCompetitors, mixing",
        }
    }

    /// Which estimate it needs.
    pub fn source(self) -> Option<Source> {
        match self {
            Self::Ce | Self::Hypernetworks => Some(Source::Hypernetwork),
            Self::Mixing => Some(Source::Mixture),
            _ => None,
        }
    }

    fn plan(self, competing: &CompetingGraph, benefit: &BenefitGraph) -> Plan {
        let setting = fedcompetitors_select::Setting::new(competing, benefit);
        match self {
            Self::Local => Alone.plan(&setting),
            Self::FedAvg | Self::FedProx | Self::Scaffold => Cliques.plan(&setting),
            Self::Ce => Coalitions.plan(&setting),
            Self::Hypernetworks => Greedy.plan(&setting),
            Self::Mixing => Optimal::default().plan(&setting),
        }
    }

    /// The trainers among which validation data chooses, the usual one first, each with what
    /// sets it apart.
    fn trainers(self) -> Vec<(String, Box<dyn Trainer>)> {
        let only = |trainer| vec![(String::new(), trainer)];
        let with_steps = |name: &str, trainer: &dyn Fn(usize) -> Box<dyn Trainer>| {
            let named = |&steps| (format!("{name}{steps} steps"), trainer(steps));
            LOCAL_STEPS.iter().map(named).collect::<Vec<_>>()
        };
        let averaging = |correction, local_steps| -> Box<dyn Trainer> {
            Box::new(Averaging { local_steps, correction })
        };
        match self {
            Self::Local => only(averaging(Correction::None, LOCAL_STEPS[0])),
            Self::FedAvg => with_steps("", &|steps| averaging(Correction::None, steps)),
            Self::FedProx => PULLS
                .iter()
                .flat_map(|&pull| {
                    with_steps(&format!("pull {pull}, "), &|steps| {
                        averaging(Correction::Proximal { pull }, steps)
                    })
                })
                .collect(),
            Self::Scaffold => {
                with_steps("", &|steps| averaging(Correction::ControlVariates, steps))
            }
            Self::Ce | Self::Hypernetworks => only(Box::<Hypernetworks>::default()),
            Self::Mixing => [true, false]
                .iter()
                .flat_map(|&checked| {
                    let name = if checked { "" } else { "unchecked, " };
                    with_steps(name, &|local_steps| {
                        Box::new(Mixing { local_steps, checked, ..Mixing::default() })
                    })
                })
                .collect(),
        }
    }
}

/// Steps between two exchanges, for every method that has such; the usual ones first.
const LOCAL_STEPS: [usize; 3] = [10, 5, 20];

/// How strongly `FedProx` may pull: the values that its authors tried, the usual one first.
const PULLS: [f32; 4] = [0.01, 0.001, 0.1, 1.0];

/// Where benefits come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// The paper's joint hypernetwork.
    Hypernetwork,
    /// The mixture of models.
    Mixture,
}

impl Source {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Hypernetwork, Self::Mixture];

    fn estimator(self) -> Box<dyn Estimator> {
        match self {
            Self::Hypernetwork => Box::new(JointHypernetwork::default()),
            Self::Mixture => Box::new(Mixture::default()),
        }
    }

    /// What it is called.
    pub fn name(self) -> &'static str {
        match self {
            Self::Hypernetwork => "hypernetwork",
            Self::Mixture => "mixture",
        }
    }
}

/// What to run.
#[derive(Debug, Clone)]
pub struct Experiment {
    /// Which of the paper's settings.
    pub setting: Setting,
    /// How many federations, drawn with the seeds 901, 902, ….
    pub seeds: u64,
    /// Gradients for each participant and method.
    pub evaluations: usize,
    /// The rules among which each method's validation data chooses.
    pub rules: Vec<Rule>,
    /// Also compare the estimates with measured gains.
    pub measure: bool,
}

/// Of a hundred samples so many are for choices.
const VALIDATION: usize = 20;

/// Samples that each participant's model is tested on.
const TEST_SAMPLES: usize = 1000;

/// The seeds of the federations by which rules are chosen.
const CHOICE_SEEDS: [u64; 2] = [98, 99];

/// The seed before those in the table. (Those below were looked at while this program was
/// written.)
const BEFORE_FIRST_SEED: u64 = 900;

impl Experiment {
    /// The usual budget and choice.
    pub fn new(setting: Setting, seeds: u64) -> Self {
        let rates = [0.001, 0.003, 0.01, 0.03, 0.1, 0.3];
        let decays = [0.0, 0.001];
        let rules = rates
            .iter()
            .flat_map(|&rate| decays.iter().map(move |&decay| Rule::Adam { rate, decay }));
        Self { setting, seeds, evaluations: 2000, rules: rules.collect(), measure: false }
    }
}

/// One method's figures.
#[derive(Debug, Clone)]
pub struct MethodResult {
    /// The method.
    pub method: Method,
    /// The rule that validation data chose.
    pub rule: Rule,
    /// What sets the trainer that it chose apart; empty where there was no choice.
    pub trainer: String,
    /// The test metric, for each seed that of each participant.
    pub cells: Vec<Vec<f64>>,
    /// The plan of each seed.
    pub plans: Vec<UsageGraph>,
    /// Gradients that were taken on the way, on average over the participants and seeds.
    pub evaluations: f64,
    /// How many of those were taken to estimate benefits.
    pub estimation: f64,
}

/// The benefits of one seed.
#[derive(Debug, Clone)]
pub struct Estimates {
    /// The seed.
    pub seed: u64,
    /// For each [`Source`] the benefits, and gradients taken for each participant.
    pub benefits: Vec<(Source, BenefitGraph, usize)>,
    /// The rank correlation of each with measured gains, where that was asked for.
    pub agreements: Vec<(Source, Option<f64>)>,
}

/// What came out.
#[derive(Debug, Clone)]
pub struct Results {
    /// The setting.
    pub setting: Setting,
    /// Who competes with whom.
    pub competing: CompetingGraph,
    /// Gradients that each method may take for each participant.
    pub budget: usize,
    /// Among how many rules each method's validation data has chosen.
    pub rules: usize,
    /// The estimates of each seed.
    pub estimates: Vec<Estimates>,
    /// The methods.
    pub methods: Vec<MethodResult>,
}

/// What happens on the way: so many of so many pieces of work are done.
pub type Progress<'a> = &'a (dyn Fn(usize, usize) + Sync);

impl Experiment {
    /// Runs it, in parallel as far as there are threads; the result does not depend on
    /// their number.
    ///
    /// # Errors
    /// If a training diverges, with every rule or with the chosen one in the table, or if the
    /// estimates cost the whole budget.
    pub fn run(&self, progress: Progress<'_>) -> Result<Results, FederateError> {
        let competing = self.setting.competing();
        // With one rule there is nothing to choose.
        let choice_seeds: &[u64] = if self.rules.len() > 1 { &CHOICE_SEEDS } else { &[] };
        let seeds = (1..=self.seeds).map(|at| BEFORE_FIRST_SEED + at);
        let seeds: Vec<u64> = choice_seeds.iter().copied().chain(seeds).collect();
        let more_trainers: usize =
            Method::ALL.iter().map(|method| method.trainers().len() - 1).sum();
        let total = seeds.len() * (2 + usize::from(self.measure))
            + (Method::ALL.len() * self.rules.len() + more_trainers) * choice_seeds.len()
            + Method::ALL.len() * self.seeds as usize;
        let done = AtomicUsize::new(0);
        let tick = || progress(done.fetch_add(1, Ordering::Relaxed) + 1, total);

        let mut grounds = seeds
            .par_iter()
            .map(|&seed| {
                let learners = self.learners(&competing, seed)?;
                let estimates = self.estimate(&competing, &learners, seed, &tick)?;
                Ok(Ground { learners, estimates })
            })
            .collect::<Result<Vec<_>, _>>()?;
        let table_grounds = grounds.split_off(choice_seeds.len());
        let chosen = self.choose(&competing, &grounds, &tick);

        let tasks: Vec<(Trial, &Ground)> = chosen
            .iter()
            .flat_map(|&trial| table_grounds.iter().map(move |ground| (trial, ground)))
            .collect();
        let runs: Vec<Run> = tasks
            .par_iter()
            .map(|&(trial, ground)| {
                let run = self.run_once(&competing, ground, trial);
                tick();
                run
            })
            .collect::<Result<_, _>>()?;
        let results = runs.chunks_exact(self.seeds as usize).zip(&chosen);
        Ok(Results {
            setting: self.setting,
            competing,
            budget: self.evaluations,
            rules: self.rules.len(),
            methods: results.map(|(runs, &trial)| method_result(trial, runs)).collect(),
            estimates: table_grounds.into_iter().map(|ground| ground.estimates).collect(),
        })
    }

    /// For each method what validation data likes best: first among the rules, then with
    /// that rule among the trainers.
    fn choose(
        &self,
        competing: &CompetingGraph,
        grounds: &[Ground],
        tick: &(dyn Fn() + Sync),
    ) -> Vec<Trial> {
        let judged = |trials: Vec<Trial>| -> Vec<(Trial, f64)> {
            trials
                .into_par_iter()
                .map(|trial| {
                    let losses = grounds.iter().map(|ground| {
                        let run = self.run_once(competing, ground, trial);
                        tick();
                        // What makes training diverge is no choice.
                        run.map_or(f64::INFINITY, |run| run.validation)
                    });
                    (trial, losses.sum())
                })
                .collect()
        };
        let least = |of: &[(Trial, f64)]| of.iter().min_by(|a, b| a.1.total_cmp(&b.1)).copied();
        let usual = |method| self.rules.iter().map(move |&rule| Trial { method, rule, trainer: 0 });
        let tried = judged(Method::ALL.iter().flat_map(|&method| usual(method)).collect());
        let chosen = tried.chunks_exact(self.rules.len()).filter_map(least);
        if grounds.is_empty() {
            return chosen.map(|(trial, _)| trial).collect();
        }
        chosen
            .map(|(trial, loss)| {
                let others = 1..trial.method.trainers().len();
                let mut tried = vec![(trial, loss)];
                tried.extend(judged(others.map(|trainer| Trial { trainer, ..trial }).collect()));
                least(&tried).map_or(trial, |(trial, _)| trial)
            })
            .collect()
    }

    fn learners(
        &self,
        competing: &CompetingGraph,
        seed: u64,
    ) -> Result<Vec<NativeLearner>, FederateError> {
        let learners = self.setting.synthetic().learners(seed, VALIDATION, TEST_SAMPLES);
        learners.map_err(|error| FederateError::Participant {
            participant: competing.participants().name(0).to_owned(),
            error,
        })
    }

    fn estimate(
        &self,
        competing: &CompetingGraph,
        data: &[NativeLearner],
        seed: u64,
        tick: &(dyn Fn() + Sync),
    ) -> Result<Estimates, FederateError> {
        let mut benefits = Vec::new();
        for source in Source::ALL {
            let federation = federation(competing, data, seed)?;
            let benefit = source.estimator().estimate(&federation)?;
            benefits.push((source, benefit, per_participant(&federation)));
            tick();
        }
        let mut agreements = Vec::new();
        if self.measure {
            let federation = federation(competing, data, seed)?;
            let measured = Measured::default().estimate(&federation)?;
            for (source, benefit, _) in &benefits {
                agreements.push((*source, agreement(competing, &measured, benefit)));
            }
            tick();
        }
        Ok(Estimates { seed, benefits, agreements })
    }

    fn run_once(
        &self,
        competing: &CompetingGraph,
        ground: &Ground,
        trial: Trial,
    ) -> Result<Run, FederateError> {
        let Trial { method, trainer, rule } = trial;
        let Ground { learners: data, estimates } = ground;
        let trainer = &method.trainers()[trainer].1;
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
        let models =
            trainer.train(&federation, &usage, Effort { evaluations, rule, batch: None })?;
        let measure = |part: Part| {
            models.iter().enumerate().map(move |(a, model)| federation_metric(data, a, part, model))
        };
        // Proportions count: the participant with the hardest task must not decide alone.
        let validation = measure(Part::Validation).map(f64::ln).sum::<f64>() / data.len() as f64;
        Ok(Run {
            validation,
            test: measure(Part::Test).collect(),
            usage,
            evaluations: per_participant(&federation) + estimation,
            estimation,
        })
    }
}

/// The metric of a participant's model; not a number where it is undefined, which for
/// squared errors it never is.
fn federation_metric(data: &[NativeLearner], a: usize, part: Part, model: &[f32]) -> f64 {
    data[a].metric(part, model).unwrap_or(f64::NAN)
}

/// One federation, and what was estimated there.
struct Ground {
    learners: Vec<NativeLearner>,
    estimates: Estimates,
}

/// A method with what can be chosen for it.
#[derive(Clone, Copy)]
struct Trial {
    method: Method,
    rule: Rule,
    /// Which of the method's trainers.
    trainer: usize,
}

fn method_result(trial: Trial, runs: &[Run]) -> MethodResult {
    let mean =
        |value: fn(&Run) -> usize| runs.iter().map(value).sum::<usize>() as f64 / runs.len() as f64;
    let (trainer, _) = trial.method.trainers().swap_remove(trial.trainer);
    MethodResult {
        method: trial.method,
        rule: trial.rule,
        trainer,
        cells: runs.iter().map(|run| run.test.clone()).collect(),
        plans: runs.iter().map(|run| run.usage.clone()).collect(),
        evaluations: mean(|run| run.evaluations),
        estimation: mean(|run| run.estimation),
    }
}

/// What one run gives.
struct Run {
    /// The mean logarithm of the validation metric.
    validation: f64,
    test: Vec<f64>,
    usage: UsageGraph,
    evaluations: usize,
    estimation: usize,
}

fn federation<'a>(
    competing: &'a CompetingGraph,
    data: &'a [NativeLearner],
    seed: u64,
) -> Result<Federation<'a>, FederateError> {
    Federation::new(competing, data.iter().map(|learner| learner as &dyn Learner).collect(), seed)
}

fn per_participant(federation: &Federation<'_>) -> usize {
    (federation.evaluations() as usize).div_ceil(federation.len())
}
