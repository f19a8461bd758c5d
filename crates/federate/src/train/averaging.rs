//! The trainer `averaging`: `FedAvg`.

use fedcompetitors_graphs::{BenefitGraph, UsageGraph};

use super::{
    Effort, Trainer, TrainerKind, Training,
    average::{self, Correction},
};
use crate::{
    FederateError, Federation,
    kinds::{Settings, settings},
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
    fn begin(
        &self,
        federation: &Federation<'_>,
        usage: &UsageGraph,
        _: &BenefitGraph,
        effort: Effort,
    ) -> Box<dyn Training> {
        average::begin(Correction::None, federation, usage, effort)
    }

    fn resume(&self, saved: &[u8]) -> Result<Box<dyn Training>, FederateError> {
        average::resume(saved)
    }
}
