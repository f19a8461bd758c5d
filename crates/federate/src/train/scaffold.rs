//! The trainer `scaffold`: SCAFFOLD.

use fedcompetitors_graphs::{BenefitGraph, UsageGraph};
use serde::{Deserialize, Serialize};

use super::{
    Effort, Trainer, TrainerKind, Training,
    average::{self, Correction},
};
use crate::{
    FederateError, Federation,
    kinds::{Key, Settings},
};

pub static KIND: TrainerKind = TrainerKind::new::<Scaffold>(
    "scaffold",
    "SCAFFOLD inside groups: averages with control variates against drift.",
);

/// Settings of `scaffold`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Scaffold {}

impl Settings for Scaffold {
    const KEYS: &'static [Key] = &[];
}

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
