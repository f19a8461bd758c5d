//! The trainers, each in a file of its own: how models are trained along a plan. A new one is a file, its
//! `mod` and its line in [`entries`](Registry::entries).
//!
//! Every trainer has the same gradient budget, starts from the same parameters and gives each
//! participant the model with the lowest loss on its own validation data.

mod average;
mod averaging;
mod descent;
mod early_stopping;
mod evidence;
mod headed;
mod hypernetwork;
mod local;
mod mixing;
mod pace;
mod proximal;
mod scaffold;
mod trunks;

use std::{fmt::Debug, sync::Arc};

use fedcompetitors_graphs::{BenefitGraph, CompetingGraph, Entry, Registry, UsageGraph};
use fedcompetitors_learn::OptimizerSettings;

use fedcompetitors_record::{Disclosure, Flow, FlowSource};
use serde::{Deserialize, Serialize};

use crate::{
    FederateError, Federation, Known,
    exchange::Exchange,
    faults::Played,
    kinds::{Kind, Made, Models},
    protocol::{Conversation, Coordinate},
};

pub use averaging::Averaging;
pub(crate) use descent::{Batches, Descent, each};
pub(crate) use early_stopping::EarlyStopping;
pub use evidence::Evidence;
pub(crate) use headed::Headed;
pub use hypernetwork::Hypernetworks;
pub(crate) use hypernetwork::VARIATION;
pub use local::{KIND as LOCAL, Local};
pub use mixing::{KIND as MIXING, Mixed, Mixing, Weights};
pub use proximal::Proximal;
pub use scaffold::Scaffold;
pub use trunks::Trunks;

/// An entry of the registry of trainers.
pub type TrainerKind = Kind<dyn Trainer>;

impl Registry for TrainerKind {
    const KIND: &'static str = "trainer";

    fn entries() -> &'static [&'static Self] {
        static ENTRIES: &[&TrainerKind] = &[
            &mixing::KIND,
            &evidence::KIND,
            &trunks::KIND,
            &local::KIND,
            &averaging::KIND,
            &proximal::KIND,
            &scaffold::KIND,
            &hypernetwork::KIND,
        ];
        ENTRIES
    }
}

impl TrainerKind {
    /// The statement about a trainer that lets nothing flow outside the ledger.
    pub fn all_in_ledger(&self) -> Flow {
        let statement =
            format!("{}: everything that flows in training is in the ledger", self.name());
        Flow { source: FlowSource::Trainer, statement, pairs: Vec::new() }
    }
}

impl<T: Trainer + 'static> Made<T> for dyn Trainer {
    fn made(trainer: T) -> Arc<Self> {
        Arc::new(trainer)
    }
}

/// How long to train, and with which steps.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Effort {
    /// The gradient budget of each participant.
    pub evaluations: usize,
    /// Steps between two exchanges.
    pub local_steps: usize,
    /// The optimizer settings. The decay is part of the loss, so that it means the same to every
    /// trainer.
    pub rule: OptimizerSettings,
    /// Samples for each gradient; all if there are not as many, or if absent.
    pub batch: Option<usize>,
}

impl Effort {
    /// No steps, for whoever fits exactly.
    pub const NONE: Self = Self {
        evaluations: 0,
        local_steps: 1,
        rule: OptimizerSettings::Adam { rate: 0.01, decay: 0.0 },
        batch: None,
    };
}

/// A way to train models along a usage graph.
pub trait Trainer: Debug + Send + Sync {
    /// Information that flows outside the ledger, by design.
    fn flows(&self, _competing: &CompetingGraph, _usage: &UsageGraph) -> Vec<Flow> {
        Vec::new()
    }

    /// Whether each message carries its sender's data alone, whatever the sender has received: needed under
    /// the rule `messages`, which has no plan that keeps data from going on.
    fn sends_own_data_only(&self) -> bool {
        false
    }

    /// Whether it has a control beside `local`: itself without others, where it gains by more than learning from them.
    fn has_control(&self) -> bool {
        false
    }

    /// The models that it can use.
    fn models(&self) -> Models {
        Models::Any
    }

    /// Whether validation rows are kept out of the fit, for models without hidden layers or with them. Exact fits use
    /// them, and choose by cross-validation inside.
    fn validates(&self, _have_hidden_layers: bool) -> bool {
        true
    }

    /// The most coefficients (features times outputs) of a model that it can use in reasonable time, given the
    /// number of folds; 1 for a part of the rows that is held out.
    fn most_coefficients(&self, _folds: u32) -> Option<usize> {
        None
    }

    /// The fewest sources that a participant needs to receive anything: one alone might be shown too closely.
    fn fewest_sources(&self) -> usize {
        1
    }

    /// Whether benefits are weights in a mixture.
    fn needs_weights(&self) -> bool {
        false
    }

    /// What it needs of participants.
    fn needs(&self) -> Needs<'_>;

    /// A training before its first round, with all participants in this process. `usage` says who learns from
    /// whom; the weights of helpers may follow from `benefit`.
    fn begin(
        &self,
        federation: &Federation<'_>,
        usage: &UsageGraph,
        benefit: &BenefitGraph,
        effort: Effort,
    ) -> Box<dyn Training> {
        match self.needs() {
            Needs::Messages(trainer) => {
                let coordinator =
                    trainer.coordinate(&Known::of(federation), usage, benefit, effort);
                Box::new(Conversation::begin(federation, effort, coordinator))
            }
            Needs::AllData(trainer) => trainer.begin(federation, usage, effort),
        }
    }

    /// A training that goes on from what [`Training::save`] gave.
    ///
    /// # Errors
    /// If it was not saved by a training of this kind.
    fn resume(&self, saved: &[u8]) -> Result<Box<dyn Training>, FederateError> {
        match self.needs() {
            Needs::Messages(trainer) => {
                Ok(Box::new(Conversation::resume(saved, |state| trainer.resume(state))?))
            }
            Needs::AllData(trainer) => trainer.resume(saved),
        }
    }

    /// Trains to the end without a ledger and returns the parameters of every participant.
    ///
    /// # Errors
    /// If training diverges, or if the guard stops it.
    fn train(
        &self,
        federation: &Federation<'_>,
        usage: &UsageGraph,
        benefit: &BenefitGraph,
        effort: Effort,
    ) -> Result<Vec<Vec<f32>>, FederateError> {
        let mut training = self.begin(federation, usage, benefit, effort);
        let mut exchange = Exchange::new(federation.competing());
        while training.done() < training.rounds() {
            exchange.begin(training.done() + 1, &[]);
            training.round(federation, &mut exchange, &Played::default())?;
        }
        let models = (0..federation.len()).map(|a| training.best(a).parameters.to_vec());
        Ok(models.collect())
    }
}

/// What a trainer needs of participants.
#[derive(Clone, Copy)]
pub enum Needs<'a> {
    /// Messages: participants may be anywhere.
    Messages(&'a dyn ByMessages),
    /// The data of all of them, in one process.
    AllData(&'a dyn ByAllData),
}

/// A trainer whose participants may be anywhere.
pub trait ByMessages {
    /// The coordinator of a training before its first phase.
    fn coordinate(
        &self,
        known: &Known<'_>,
        usage: &UsageGraph,
        benefit: &BenefitGraph,
        effort: Effort,
    ) -> Box<dyn Coordinate>;

    /// A coordinator that goes on from what [`Coordinate::save`] gave.
    ///
    /// # Errors
    /// If it was not saved by a coordinator of this kind.
    fn resume(&self, saved: &[u8]) -> Result<Box<dyn Coordinate>, FederateError>;
}

/// A trainer whose coordinator reads the data of all participants.
pub trait ByAllData {
    /// A training before its first round.
    fn begin(
        &self,
        federation: &Federation<'_>,
        usage: &UsageGraph,
        effort: Effort,
    ) -> Box<dyn Training>;

    /// A training that goes on from what [`Training::save`] gave.
    ///
    /// # Errors
    /// If it was not saved by a training of this kind.
    fn resume(&self, saved: &[u8]) -> Result<Box<dyn Training>, FederateError>;
}

/// A training in progress, round by round.
pub trait Training: Send + Sync {
    /// The number of rounds.
    fn rounds(&self) -> usize;

    /// The number of rounds that are done.
    fn done(&self) -> usize;

    /// Trains the next round with the participants that are present, those who send garbage among them; every
    /// transfer goes through the exchange.
    ///
    /// # Errors
    /// If training diverges, or if the guard stops it.
    fn round(
        &mut self,
        federation: &Federation<'_>,
        exchange: &mut Exchange<'_>,
        played: &Played,
    ) -> Result<(), FederateError>;

    /// The best model of a participant so far, by its validation loss.
    fn best(&self, participant: usize) -> Best<'_>;

    /// The participants that a participant's model learns from at present, itself included, with the
    /// weight of each.
    fn parts(&self, participant: usize) -> Vec<(usize, f32)>;

    /// What the messages of this training would reveal of few rows, and what was done about it.
    fn disclosures(&self) -> Vec<Disclosure> {
        Vec::new()
    }

    /// The state, for [`Trainer::resume`].
    fn save(&self) -> Vec<u8>;
}

/// The best model of a participant so far.
#[derive(Debug, Clone, Copy)]
pub struct Best<'a> {
    /// Its parameters.
    pub parameters: &'a [f32],
    /// The participants whose data they carry, as a set of bits.
    pub carried: &'a [u64],
}

/// Steps between two validations.
pub(crate) const VALIDATE_EVERY: usize = 20;

/// The steps of a trial, given their percentage and all steps: at most half, since the trial is
/// compared with as many steps together.
fn trial_steps(percent: usize, evaluations: usize) -> usize {
    evaluations * percent.min(50) / 100
}

/// Whether a validation loss is lower by more than chance explains.
fn is_clearly_less(loss: f64, than: f64) -> bool {
    loss < than - CLEARLY * than.abs()
}

/// The fraction of a loss that counts as a clear difference.
const CLEARLY: f64 = 0.3;
