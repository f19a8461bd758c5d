//! A toy metric.

use fedcompetitors_graphs::entry;

use super::{Metric, RowMean, Scorer, TaskKind, with_classes};
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

    fn scorer(&self, outputs: &[f64], targets: &Targets) -> Box<dyn Scorer> {
        let is_wrong = |(row, class): (&[f64], usize)| usize::from(row[0] > 0.0) != class;
        let rows = with_classes(self, outputs, targets);
        Box::new(RowMean(rows.map(|row| f64::from(u8::from(is_wrong(row)))).collect()))
    }
}
