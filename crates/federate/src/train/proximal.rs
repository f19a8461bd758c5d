//! The trainer `proximal`: `FedProx`.

use fedcompetitors_graphs::{BenefitGraph, UsageGraph};
use serde::{Deserialize, Serialize};

use super::{
    Effort, Trainer, TrainerKind, Training,
    average::{self, Correction},
};
use crate::{
    FederateError, Federation,
    kinds::{BadSettings, Key, Settings, in_range},
};

pub static KIND: TrainerKind = TrainerKind::new::<Proximal>(
    "proximal",
    "FedProx inside groups: averages with a pull to the common model.",
);

/// Settings of `proximal`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Proximal {
    /// The strength of the pull to the common model, μ in the literature.
    pub pull: f64,
}

impl Default for Proximal {
    fn default() -> Self {
        Self { pull: 0.01 }
    }
}

impl Settings for Proximal {
    const KEYS: &'static [Key] =
        &[Key { name: "pull", help: "Strength of the pull to the common model." }];

    fn check(&self) -> Result<(), BadSettings> {
        in_range("pull", self.pull.is_finite() && self.pull >= 0.0, "0 or more")
    }
}

impl Trainer for Proximal {
    fn begin(
        &self,
        federation: &Federation<'_>,
        usage: &UsageGraph,
        _: &BenefitGraph,
        effort: Effort,
    ) -> Box<dyn Training> {
        average::begin(Correction::Proximal { pull: self.pull as f32 }, federation, usage, effort)
    }

    fn resume(&self, saved: &[u8]) -> Result<Box<dyn Training>, FederateError> {
        average::resume(saved)
    }
}
