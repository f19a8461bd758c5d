//! How models are trained once it is decided who learns from whom.
//!
//! Every trainer spends gradients from the same purse, begins from the same parameters and
//! gives each participant the model that its own validation data liked best on the way.

mod average;
mod hypernetwork;
mod keeper;
mod mixing;

use fedcompetitors_graphs::UsageGraph;
use fedcompetitors_learn::Rule;

use crate::{FederateError, Federation};

pub use average::{Averaging, Correction};
pub use hypernetwork::Hypernetworks;
pub(crate) use hypernetwork::by_samples;
pub(crate) use keeper::Keeper;
pub use mixing::{Mixing, Weights};

/// How far to go and how fast.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Effort {
    /// Gradients that may be taken for each participant.
    pub evaluations: usize,
    /// How parameters follow gradients. Its decay is taken as part of the loss, so that it
    /// means the same to every trainer.
    pub rule: Rule,
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
