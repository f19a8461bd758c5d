//! A toy metric.

use fedcompetitors_graphs::entry;

use super::{Metric, TaskKind, mean, other_targets};
use crate::Targets;

/// The fraction of the samples whose class is not predicted.
#[derive(Debug, Clone, Copy)]
pub struct Toy;

entry!(Toy, "toy-error", "A toy: the fraction of wrong classes.");

impl Metric for Toy {
    fn title(&self) -> &'static str {
        "toy error"
    }

    fn more_is_better(&self) -> bool {
        false
    }

    fn fits(&self, task: TaskKind) -> bool {
        task == TaskKind::Binary
    }

    fn measure(&self, outputs: &[f32], targets: &Targets) -> Option<f64> {
        let Targets::Classes { labels, .. } = targets else { other_targets(self) };
        let is_wrong = |(output, label): (&f32, &u32)| u32::from(*output > 0.0) != *label;
        Some(mean(outputs.iter().zip(labels).map(|pair| f64::from(u8::from(is_wrong(pair))))))
    }
}
