//! The trainer `scaffold`: SCAFFOLD.

use fedcompetitors_graphs::{BenefitGraph, UsageGraph};

use super::{
    Effort, Trainer, TrainerKind, Training,
    average::{self, Correction},
};
use crate::{
    FederateError, Federation,
    kinds::{Settings, settings},
};

pub static KIND: TrainerKind = TrainerKind::new::<Scaffold>(
    "scaffold",
    "SCAFFOLD inside groups: averages with control variates against drift.",
);

settings! {
    /// Settings of `scaffold`: none of its own.
    pub struct Scaffold {}
}

impl Settings for Scaffold {}

impl Trainer for Scaffold {
    fn begin(
        &self,
        federation: &Federation<'_>,
        usage: &UsageGraph,
        _: &BenefitGraph,
        effort: Effort,
    ) -> Box<dyn Training> {
        average::begin(Correction::ControlVariates, federation, usage, effort)
    }

    fn resume(&self, saved: &[u8]) -> Result<Box<dyn Training>, FederateError> {
        average::resume(saved)
    }
}
