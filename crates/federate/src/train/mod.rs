//! How models are trained once it is decided who learns from whom.
//!
//! Every trainer spends gradients from the same purse, begins from the same parameters and
//! gives each participant what its own validation data liked best on the way.

mod average;
mod headed;
mod hypernetwork;
mod keeper;
mod local;
mod mixing;

use fedcompetitors_graphs::UsageGraph;
use fedcompetitors_learn::Rule;

use crate::{FederateError, Federation};

pub use average::{Averaging, Correction};
pub(crate) use headed::Headed;
pub use hypernetwork::Hypernetworks;
pub(crate) use hypernetwork::{VARIATION, by_samples};
pub(crate) use keeper::Keeper;
pub(crate) use local::each;
pub use mixing::{Mixed, Mixing, Weights};

/// How far to go and how fast.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Effort {
    /// Gradients that may be taken for each participant.
    pub evaluations: usize,
    /// How parameters follow gradients. Its decay is taken as part of the loss, so that it
    /// means the same to every trainer.
    pub rule: Rule,
    /// Samples for each gradient; all of them if there are not as many, or if it is not said.
    pub batch: Option<usize>,
}

/// A way to train models along a usage graph.
pub trait Trainer: Send + Sync {
    /// What it is called.
    fn name(&self) -> &'static str;

    /// Everybody's parameters in the end.
    ///
    /// # Errors
    /// If training diverges.
    fn train(
        &self,
        federation: &Federation<'_>,
        usage: &UsageGraph,
        effort: Effort,
    ) -> Result<Vec<Vec<f32>>, FederateError>;
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
