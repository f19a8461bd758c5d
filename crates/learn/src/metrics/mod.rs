//! How good a model is, in the terms of those who use it. Each metric is a file of its own; a new one
//! is a file, its `mod` and its line in [`entries`](Registry::entries).

mod accuracy;
mod auc;
mod brier;
mod log_loss;
mod mse;
mod r2;
mod score;

use std::fmt::Debug;

use fedcompetitors_graphs::{Entry, Registry};
use serde::{Deserialize, Serialize};

use crate::Targets;

pub use accuracy::Accuracy;
pub use auc::Auc;
pub use brier::Brier;
pub use log_loss::LogLoss;
pub use mse::Mse;
pub use r2::R2;
pub use score::{Fraction, Scorer};

use score::RowMean;

impl Registry for dyn Metric {
    const KIND: &'static str = "metric";

    /// The default of a task is the first that fits it.
    fn entries() -> &'static [&'static Self] {
        &[&Mse, &Auc, &Accuracy, &LogLoss, &Brier, &R2]
    }
}

/// A figure of a model's outputs on labelled samples.
///
/// The outputs of a row are one number for a target that is a number, the logarithm of the odds of
/// class 1 for two classes, and otherwise one number for each class, of which the softmax makes
/// probabilities.
pub trait Metric: Entry + Debug + Send + Sync {
    /// The name that tables show.
    fn title(&self) -> &'static str;

    /// Whether a higher figure is better.
    fn more_is_better(&self) -> bool;

    /// Whether it is defined for a task.
    fn fits(&self, task: TaskKind) -> bool;

    /// Prepares these rows, so that any number of draws of them is scored fast. Outputs have to be finite.
    ///
    /// # Panics
    /// If the targets are of another task, or of another number of rows.
    fn scorer(&self, outputs: &[f64], targets: &Targets) -> Box<dyn Scorer>;

    /// The metric of these outputs; `None` where it is undefined, as where an output is not finite.
    ///
    /// # Panics
    /// If the targets are of another task, or of another number of rows.
    fn measure(&self, outputs: &[f32], targets: &Targets) -> Option<f64> {
        if outputs.iter().any(|output| !output.is_finite()) {
            return None;
        }
        let outputs: Vec<f64> = outputs.iter().map(|&output| f64::from(output)).collect();
        self.scorer(&outputs, targets).score(&vec![1; targets.len()]).value()
    }
}

/// What is to be predicted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TaskKind {
    /// A number.
    Regression,
    /// One of two classes.
    Binary,
    /// One of several classes.
    Classes,
}

impl TaskKind {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Regression, Self::Binary, Self::Classes];
}

/// The outputs of each row with its target.
///
/// # Panics
/// If the targets are classes, or of another number of rows.
fn with_values<'a>(
    metric: &dyn Metric,
    outputs: &'a [f64],
    targets: &'a Targets,
) -> impl Iterator<Item = (f64, f64)> + 'a {
    let Targets::Values(values) = targets else { other_targets(metric) };
    assert_eq!(outputs.len(), values.len(), "one output for each row");
    outputs.iter().zip(values).map(|(&output, &value)| (output, f64::from(value)))
}

/// The outputs of each row with its class.
///
/// # Panics
/// If the targets are numbers, or the outputs neither one for each class nor one for two classes.
fn with_classes<'a>(
    metric: &dyn Metric,
    outputs: &'a [f64],
    targets: &'a Targets,
) -> impl Iterator<Item = (&'a [f64], usize)> + 'a {
    let Targets::Classes { labels, count } = targets else { other_targets(metric) };
    let classes = *count as usize;
    let width = if outputs.len() == labels.len() && classes == 2 { 1 } else { classes };
    assert_eq!(outputs.len(), labels.len() * width, "one output for each class");
    outputs.chunks_exact(width).zip(labels).map(|(row, &label)| (row, label as usize))
}

/// Stops at targets that a metric is not defined for; federation files with such are refused.
fn other_targets(metric: &dyn Metric) -> ! {
    panic!("{} of targets of another task", metric.title())
}
