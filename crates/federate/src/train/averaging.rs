//! The trainer `averaging`: `FedAvg`.

use fedcompetitors_graphs::{BenefitGraph, UsageGraph};

use super::{
    ByMessages, Effort, Needs, Trainer, TrainerKind,
    average::{self, Correction},
};
use crate::{
    FederateError, Known,
    kinds::{Settings, settings},
    protocol::Coordinate,
};

/// The trainer `averaging`.
pub static KIND: TrainerKind = TrainerKind::new::<Averaging>(
    "averaging",
    "FedAvg inside groups: models are averaged, weighted by samples.",
);

settings! {
    /// Settings of `averaging`: none of its own.
    pub struct Averaging {}
}

impl Settings for Averaging {}

impl Trainer for Averaging {
    fn needs(&self) -> Needs<'_> {
        Needs::Messages(self)
    }
}

impl ByMessages for Averaging {
    fn coordinate(
        &self,
        known: &Known<'_>,
        usage: &UsageGraph,
        _: &BenefitGraph,
        effort: Effort,
    ) -> Box<dyn Coordinate> {
        average::coordinate(Correction::None, known, usage, effort)
    }

    fn resume(&self, saved: &[u8]) -> Result<Box<dyn Coordinate>, FederateError> {
        average::resume(saved)
    }
}
