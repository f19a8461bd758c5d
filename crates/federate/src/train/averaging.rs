//! The trainer `averaging`: `FedAvg`.

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

pub static KIND: TrainerKind = TrainerKind::new::<Averaging>(
    "averaging",
    "FedAvg inside groups: models are averaged, weighted by samples.",
);

/// Settings of `averaging`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Averaging {}

impl Settings for Averaging {
    const KEYS: &'static [Key] = &[];
}

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
