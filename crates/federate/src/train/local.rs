//! The trainer `local`: the best that a participant gets alone.
//!
//! Linear models are fitted exactly to the training and validation rows, with coefficients averaged over
//! strengths of a ridge by cross-validation inside these. Networks choose their decay: each of `decays` is
//! tried with its share of half of the gradient budget, and the one with the lowest validation loss
//! continues with the other half. In the end the last layer is kept, or a head with a ridge on the last two
//! hidden layers, whichever has the lower validation loss.

use fedcompetitors_graphs::{BenefitGraph, CompetingGraph, UsageGraph};
use serde::{Deserialize, Serialize};

use super::{ByMessages, Effort, Needs, Trainer, TrainerKind, descent::without_decay, pace::Pace};
use crate::{
    FederateError, Known,
    kinds::{BadSettings, Settings, in_range, settings},
    protocol::{Ask, Combiner, Coordinate, Coordinator, Finish, First, Heard, Question, Train},
};

/// The trainer `local`.
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

    fn needs(&self) -> Needs<'_> {
        Needs::Messages(self)
    }
}

impl ByMessages for Local {
    fn coordinate(
        &self,
        known: &Known<'_>,
        _: &UsageGraph,
        _: &BenefitGraph,
        effort: Effort,
    ) -> Box<dyn Coordinate> {
        let decays = match &self.decays[..] {
            [] => vec![without_decay(effort.rule).1],
            decays => decays.iter().map(|&decay| decay as f32).collect(),
        };
        let each = if decays.len() > 1 { effort.evaluations / (2 * decays.len()) } else { 0 };
        let rest = effort.evaluations - decays.len() * each;
        let (each, rest) = if known.are_linear() { (0, 1) } else { (each, rest) };
        let alone = Alone {
            are_linear: known.are_linear(),
            decays,
            trial: Pace::new(effort.local_steps, each),
            rest: Pace::new(effort.local_steps, rest),
        };
        Box::new(Coordinator::new(known, alone))
    }

    fn resume(&self, saved: &[u8]) -> Result<Box<dyn Coordinate>, FederateError> {
        Coordinator::<Alone>::resume(saved)
    }
}

/// The coordinator's half: rounds in which decays are tried, and the rest. Linear models take one round.
#[derive(Serialize, Deserialize)]
struct Alone {
    are_linear: bool,
    decays: Vec<f32>,
    trial: Pace,
    rest: Pace,
}

impl Alone {
    fn is_trial(&self) -> bool {
        self.trial.rounds_done() < self.trial.rounds()
    }

    fn first(&self) -> First {
        if self.done() == 0 {
            First::Try(self.decays.clone())
        } else if self.trial.rounds() > 0 && self.done() == self.trial.rounds() {
            First::Choose
        } else {
            First::Continue
        }
    }
}

impl Combiner for Alone {
    fn rounds(&self) -> usize {
        self.trial.rounds() + self.rest.rounds()
    }

    fn done(&self) -> usize {
        self.trial.rounds_done() + self.rest.rounds_done()
    }

    fn ask(&self, _: usize) -> Question<'_> {
        let pace = if self.is_trial() { &self.trial } else { &self.rest };
        let ask = if self.done() == self.rounds() {
            Ask::Finish(Finish::Alone)
        } else if self.are_linear {
            Ask::Fit { summary: None }
        } else {
            Ask::Train(Train::new(self.first(), pace.next(), Vec::new()))
        };
        Question { ask, given: Vec::new() }
    }

    fn take(&mut self, _: &CompetingGraph, _: Vec<Option<Heard>>) {
        let pace = if self.is_trial() { &mut self.trial } else { &mut self.rest };
        pace.count(pace.next());
    }
}
