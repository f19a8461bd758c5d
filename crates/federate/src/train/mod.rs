//! The trainers, each in a file of its own: how models are trained along a plan. A new one is a file, its
//! `mod` and its line in [`entries`](Registry::entries).
//!
//! Every trainer has the same gradient budget, starts from the same parameters and gives each
//! participant the model with the lowest loss on its own validation data.

mod average;
mod averaging;
mod headed;
mod hypernetwork;
mod keeper;
mod local;
mod mixing;
mod pace;
mod proximal;
mod scaffold;

use std::{fmt::Debug, sync::Arc};

use fedcompetitors_graphs::{BenefitGraph, CompetingGraph, Registry, UsageGraph};
use fedcompetitors_learn::{Part, Rule, weighted_sum};

use fedcompetitors_record::Flow;

use crate::{
    FederateError, Federation,
    exchange::{Exchange, Parcel},
    kinds::{Kind, Made},
};

pub use averaging::Averaging;
pub(crate) use headed::Headed;
pub use hypernetwork::Hypernetworks;
pub(crate) use hypernetwork::VARIATION;
pub(crate) use keeper::Keeper;
pub(crate) use local::{Batches, each};
pub use mixing::{Mixed, Mixing, Weights};
pub use proximal::Proximal;
pub use scaffold::Scaffold;

/// An entry of the registry of trainers.
pub type TrainerKind = Kind<dyn Trainer>;

impl Registry for TrainerKind {
    const KIND: &'static str = "trainer";

    fn entries() -> &'static [&'static Self] {
        static ENTRIES: &[&TrainerKind] = &[
            &mixing::KIND,
            &averaging::KIND,
            &proximal::KIND,
            &scaffold::KIND,
            &hypernetwork::KIND,
        ];
        ENTRIES
    }
}

impl<T: Trainer + 'static> Made<T> for dyn Trainer {
    fn made(trainer: T) -> Arc<Self> {
        Arc::new(trainer)
    }
}

/// How long to train, and with which steps.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Effort {
    /// The gradient budget of each participant.
    pub evaluations: usize,
    /// Steps between two exchanges.
    pub local_steps: usize,
    /// How parameters follow gradients. Its decay is taken as part of the loss, so that it
    /// means the same to every trainer.
    pub rule: Rule,
    /// Samples for each gradient; all of them if there are not as many, or if it is not said.
    pub batch: Option<usize>,
}

/// A way to train models along a usage graph.
pub trait Trainer: Debug + Send + Sync {
    /// Information that flows outside the ledger, by design.
    fn flows(&self, _competing: &CompetingGraph, _usage: &UsageGraph) -> Vec<Flow> {
        Vec::new()
    }

    /// A training before its first round. `benefit` may decide how much of each helper is used,
    /// `usage` decides of whom.
    fn begin(
        &self,
        federation: &Federation<'_>,
        usage: &UsageGraph,
        benefit: &BenefitGraph,
        effort: Effort,
    ) -> Box<dyn Training>;

    /// A training that resumes from what [`Training::save`] gave.
    ///
    /// # Errors
    /// If it was not saved by a training of this kind.
    fn resume(&self, saved: &[u8]) -> Result<Box<dyn Training>, FederateError>;

    /// Trains to the end without a ledger and gives everybody's parameters.
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
            exchange.begin(training.done() + 1);
            training.round(federation, &mut exchange)?;
        }
        let models = (0..federation.len()).map(|a| training.kept(a).parameters.to_vec());
        Ok(models.collect())
    }
}

/// A training on its way, round by round.
pub trait Training: Send + Sync {
    /// How many rounds it takes.
    fn rounds(&self) -> usize;

    /// How many of them are done.
    fn done(&self) -> usize;

    /// The next round, with those who are there; whatever moves goes through the exchange.
    ///
    /// # Errors
    /// If training diverges, or if the guard fires.
    fn round(
        &mut self,
        federation: &Federation<'_>,
        exchange: &mut Exchange<'_>,
    ) -> Result<(), FederateError>;

    /// What a participant's validation data has liked best so far.
    fn kept(&self, participant: usize) -> Kept<'_>;

    /// From whom a participant's model learns as things stand: itself and others, with the
    /// part of each.
    fn parts(&self, participant: usize) -> Vec<(usize, f32)>;

    /// Everything that is needed to go on, for [`Trainer::resume`].
    fn save(&self) -> Vec<u8>;
}

/// A participant's model.
#[derive(Debug, Clone, Copy)]
pub struct Kept<'a> {
    /// Its parameters.
    pub parameters: &'a [f32],
    /// Whose data they carry, as a set of bits.
    pub carried: &'a [u64],
}

/// Steps after which a participant looks at its validation data.
pub(crate) const LOOK: usize = 20;

/// How many steps of so many a trial takes: at most half, as the other half is what it is
/// compared with.
fn trial_steps(percent: usize, evaluations: usize) -> usize {
    evaluations * percent.min(50) / 100
}

/// Is a validation loss less by so much that it is hardly chance, and worth leaving for?
fn is_clearly_less(loss: f64, than: f64) -> bool {
    loss < than - CLEARLY * than.abs()
}

/// The part of a loss that makes a clear difference.
const CLEARLY: f64 = 0.3;

/// Weights in proportion to the numbers of training samples; they sum to 1.
pub(crate) fn weights_by_samples(federation: &Federation<'_>, members: &[usize]) -> Vec<f64> {
    let samples = |&a: &usize| federation.learner(a).samples(Part::Training) as f64;
    let total: f64 = members.iter().map(samples).sum();
    members.iter().map(|a| samples(a) / total).collect()
}

/// The weighted sum of what was sent; if some are missing, the other weights are scaled to sum to 1.
/// None if nothing was sent.
fn mixture(sent: &[(&Parcel, f32)], all_there: bool) -> Option<Vec<f32>> {
    let total = if all_there { 1.0 } else { sent.iter().map(|(_, weight)| weight).sum() };
    let parts = sent.iter().map(|(parcel, weight)| (&parcel.values[..], weight / total));
    let parts: Vec<(&[f32], f32)> = parts.collect();
    if parts.is_empty() { None } else { Some(weighted_sum(&parts)) }
}
