//! How good a model is, in the terms of those who use it. Each metric is a file of its own; a new one
//! is a file, its `mod` and its line in [`entries`](Registry::entries).

mod accuracy;
mod auc;
mod mse;

use std::fmt::Debug;

use fedcompetitors_graphs::{Entry, Registry};
use serde::{Deserialize, Serialize};

use crate::Targets;

pub use accuracy::Accuracy;
pub use auc::Auc;
pub use mse::Mse;

impl Registry for dyn Metric {
    const KIND: &'static str = "metric";

    /// The default of a task is the first that fits it.
    fn entries() -> &'static [&'static Self] {
        &[&Mse, &Auc, &Accuracy]
    }
}

/// A figure of a model's outputs on labelled samples.
pub trait Metric: Entry + Debug + Send + Sync {
    /// The name that tables show.
    fn title(&self) -> &'static str;

    /// Whether a higher figure is better.
    fn more_is_better(&self) -> bool;

    /// Whether it is defined for a task.
    fn fits(&self, task: TaskKind) -> bool;

    /// The metric of these outputs; `None` where it is undefined.
    ///
    /// # Panics
    /// If the targets are of another task.
    fn measure(&self, outputs: &[f32], targets: &Targets) -> Option<f64>;
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

fn mean(values: impl ExactSizeIterator<Item = f64>) -> f64 {
    let count = values.len() as f64;
    values.fold(0.0, |sum, value| sum + value) / count
}

/// Stops at targets that a metric is not defined for; federation files with such are refused.
fn other_targets(metric: &dyn Metric) -> ! {
    panic!("{} of targets of another task", metric.title())
}
