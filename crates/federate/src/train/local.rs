//! The trainer `local`: the best that a participant gets alone.
//!
//! Linear models are fitted exactly to the training and validation rows, with coefficients averaged over
//! strengths of a ridge by cross-validation inside these. Networks choose their decay: each of `decays` is
//! tried with its share of half of the gradient budget, and the one with the lowest validation loss
//! continues with the other half. In the end the last layer is kept, or a head with a ridge on the last two
//! hidden layers, whichever has the lower validation loss.

use fedcompetitors_graphs::{BenefitGraph, UsageGraph};
use fedcompetitors_learn::OptimizerSettings;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::{
    Best, Effort, Trainer, TrainerKind, Training,
    descent::{Descent, each},
    pace::Pace,
};
use crate::{
    FederateError, Federation, Site,
    exchange::Exchange,
    kinds::{BadSettings, Settings, in_range, settings},
    saved,
    trunks::ensemble,
};

/// Its entry in the registry.
pub static KIND: TrainerKind = TrainerKind::new::<Local>(
    "local",
    "Every participant alone, as well as it can: exact fits with ridges chosen by cross-validation; for networks an own decay and a fitted last layer.",
);

settings! {
    /// Settings of `local`.
    pub struct Local {
        /// Decays that networks try; they share half of the gradient budget, and the best continues with
        /// the other half. With an empty list networks have the `decay` of `[training]`.
        pub decays: Vec<f64> = vec![0.0, 1e-4, 1e-3, 1e-2],
    }
}

impl Settings for Local {
    fn check(&self) -> Result<(), BadSettings> {
        let is_decay = |decay: &f64| decay.is_finite() && *decay >= 0.0;
        let is_fine = self.decays.len() <= 20 && self.decays.iter().all(is_decay);
        in_range("decays", is_fine, "at most 20 numbers, 0 or more")
    }
}

impl Trainer for Local {
    fn sends_own_data_only(&self) -> bool {
        true
    }

    fn validates(&self, have_hidden_layers: bool) -> bool {
        have_hidden_layers
    }

    fn begin(
        &self,
        federation: &Federation<'_>,
        _: &UsageGraph,
        _: &BenefitGraph,
        effort: Effort,
    ) -> Box<dyn Training> {
        // This makes the exact fits, where models are linear.
        let are_linear: Vec<bool> = (0..federation.len())
            .into_par_iter()
            .map(|participant| federation.learner(participant).linear().is_some())
            .collect();
        let all_linear = are_linear.iter().all(|&is_linear| is_linear);
        let rules: Vec<OptimizerSettings> = if self.decays.is_empty() {
            vec![effort.rule]
        } else {
            self.decays.iter().map(|&decay| with_decay(effort.rule, decay as f32)).collect()
        };
        let count = rules.len();
        let each = if count > 1 { effort.evaluations / (2 * count) } else { 0 };
        let rest = effort.evaluations - count * each;
        let (each, rest) = if all_linear { (0, 1) } else { (each, rest) };
        let members = (0..federation.len()).map(|participant| {
            let site = federation.site(participant);
            let tried = rules.iter().map(|&rule| Descent::new(&site, Effort { rule, ..effort }));
            Member { participant, tried: tried.collect(), parameters: None, carried: site.own() }
        });
        Box::new(Rounds {
            trial: Pace::new(effort.local_steps, each),
            rest: Pace::new(effort.local_steps, rest),
            members: members.collect(),
        })
    }

    fn resume(&self, saved: &[u8]) -> Result<Box<dyn Training>, FederateError> {
        Ok(Box::new(saved::read::<Rounds>(saved)?))
    }
}

/// The same optimizer with another decay.
fn with_decay(rule: OptimizerSettings, decay: f32) -> OptimizerSettings {
    match rule {
        OptimizerSettings::Sgd { rate, momentum, .. } => {
            OptimizerSettings::Sgd { rate, momentum, decay }
        }
        OptimizerSettings::Adam { rate, .. } => OptimizerSettings::Adam { rate, decay },
    }
}

/// A training in progress: rounds in which decays are tried, and the rest. Linear models take one round.
#[derive(Serialize, Deserialize)]
struct Rounds {
    trial: Pace,
    rest: Pace,
    members: Vec<Member>,
}

/// The state of a participant in training.
#[derive(Serialize, Deserialize)]
struct Member {
    participant: usize,
    /// A training with each decay; after the trial the best of them.
    tried: Vec<Descent>,
    /// The exact fit, or the network with a fitted last layer.
    parameters: Option<Vec<f32>>,
    carried: Vec<u64>,
}

impl Training for Rounds {
    fn rounds(&self) -> usize {
        self.trial.rounds() + self.rest.rounds()
    }

    fn done(&self) -> usize {
        self.trial.rounds_done() + self.rest.rounds_done()
    }

    fn round(
        &mut self,
        federation: &Federation<'_>,
        _: &mut Exchange<'_>,
    ) -> Result<(), FederateError> {
        let is_trial = self.trial.rounds_done() < self.trial.rounds();
        let pace = if is_trial { &mut self.trial } else { &mut self.rest };
        let steps = pace.next();
        let is_last = pace.count(steps);
        each(&mut self.members, |member| {
            if let Some(own) = federation.learner(member.participant).linear() {
                member.parameters = Some(own.parameters());
                return Ok(());
            }
            member.train(&federation.site(member.participant), steps, is_last)?;
            if is_last && is_trial {
                member.choose();
            } else if is_last {
                member.finish(federation);
            }
            Ok(())
        })
    }

    fn best(&self, participant: usize) -> Best<'_> {
        let member = &self.members[participant];
        let best = member.tried[member.best()].early_stopping.best().parameters;
        Best { parameters: member.parameters.as_deref().unwrap_or(best), carried: &member.carried }
    }

    fn parts(&self, participant: usize) -> Vec<(usize, f32)> {
        vec![(participant, 1.0)]
    }

    fn save(&self) -> Vec<u8> {
        saved::write(self)
    }
}

impl Member {
    fn train(
        &mut self,
        site: &Site<'_>,
        steps: usize,
        in_the_end: bool,
    ) -> Result<(), FederateError> {
        each(&mut self.tried, |descent| {
            (0..steps).try_for_each(|_| descent.step(site, |_, _| ()))?;
            descent.validate(site, in_the_end)
        })
    }

    /// The place of the training with the lowest validation loss so far; with the first decay if several
    /// have it.
    fn best(&self) -> usize {
        let least = |at: &usize| self.tried[*at].early_stopping.least();
        (0..self.tried.len()).min_by(|a, b| least(a).total_cmp(&least(b))).unwrap_or(0)
    }

    /// Keeps the best training alone.
    fn choose(&mut self) {
        let best = self.best();
        self.tried.swap(0, best);
        self.tried.truncate(1);
    }

    /// Keeps the network, or its hidden layers with a fitted head.
    fn finish(&mut self, federation: &Federation<'_>) {
        let Some(learner) = federation.learner(self.participant).network() else { return };
        let kept = &self.tried[self.best()].early_stopping;
        let trunk = &kept.best().parameters[..learner.model().trunk()];
        let fitted = ensemble(learner, &[trunk]);
        self.parameters = fitted.filter(|(_, loss)| *loss < kept.loss()).map(|fitted| fitted.0);
    }
}
