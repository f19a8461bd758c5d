//! The trainer `proximal`: `FedProx`.

use fedcompetitors_graphs::{BenefitGraph, UsageGraph};

use super::{
    ByMessages, Effort, Needs, Trainer, TrainerKind,
    average::{self, Correction},
};
use crate::{
    FederateError, Known,
    kinds::{BadSettings, Settings, in_range, settings},
    protocol::Coordinate,
};

pub static KIND: TrainerKind = TrainerKind::new::<Proximal>(
    "proximal",
    "FedProx inside groups: averages with a pull to the common model.",
);

settings! {
    /// Settings of `proximal`.
    pub struct Proximal {
        /// Strength of the pull to the common model, μ in the literature.
        pub pull: f64 = 0.01,
    }
}

impl Settings for Proximal {
    fn check(&self) -> Result<(), BadSettings> {
        in_range("pull", self.pull.is_finite() && self.pull >= 0.0, "0 or more")
    }
}

impl Trainer for Proximal {
    fn needs(&self) -> Needs<'_> {
        Needs::Messages(self)
    }
}

impl ByMessages for Proximal {
    fn coordinate(
        &self,
        known: &Known<'_>,
        usage: &UsageGraph,
        _: &BenefitGraph,
        effort: Effort,
    ) -> Box<dyn Coordinate> {
        average::coordinate(Correction::Pull(self.pull as f32), known, usage, effort)
    }

    fn resume(&self, saved: &[u8]) -> Result<Box<dyn Coordinate>, FederateError> {
        average::resume(saved)
    }
}
