//! The trainer `scaffold`: SCAFFOLD.

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
    fn needs(&self) -> Needs<'_> {
        Needs::Messages(self)
    }
}

impl ByMessages for Scaffold {
    fn coordinate(
        &self,
        known: &Known<'_>,
        usage: &UsageGraph,
        _: &BenefitGraph,
        effort: Effort,
    ) -> Box<dyn Coordinate> {
        average::coordinate(Correction::ControlVariates, known, usage, effort)
    }

    fn resume(&self, saved: &[u8]) -> Result<Box<dyn Coordinate>, FederateError> {
        average::resume(saved)
    }
}
