//! The accuracy.

use fedcompetitors_graphs::entry;

use super::{Metric, TaskKind, mean, other_targets};
use crate::Targets;

/// The fraction of the samples whose class is predicted.
#[derive(Debug, Clone, Copy)]
pub struct Accuracy;

entry!(Accuracy, "accuracy", "The fraction of the samples whose class is predicted.");

impl Metric for Accuracy {
    fn title(&self) -> &'static str {
        "accuracy"
    }

    fn more_is_better(&self) -> bool {
        true
    }

    fn fits(&self, task: TaskKind) -> bool {
        task != TaskKind::Regression
    }

    fn measure(&self, outputs: &[f32], targets: &Targets) -> Option<f64> {
        let Targets::Classes { labels, count } = targets else { other_targets(self) };
        let width = outputs.len() / labels.len().max(1);
        let found = |row: &[f32]| match width {
            // One output is the logarithm of the odds of class 1.
            1 => u32::from(row[0] > 0.0),
            _ => largest(row),
        };
        assert!(width == 1 || width == *count as usize, "one output for each class");
        let rows = outputs.chunks_exact(width).zip(labels);
        Some(mean(rows.map(|(row, label)| f64::from(u8::from(found(row) == *label)))))
    }
}

/// The class with the largest output, of equals the first.
fn largest(row: &[f32]) -> u32 {
    let best = (0..row.len()).reduce(|best, at| if row[at] > row[best] { at } else { best });
    best.unwrap_or(0) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_class_with_the_largest_output_counts() {
        let ones = Targets::Classes { labels: vec![1, 1], count: 2 };
        assert_eq!(Accuracy.measure(&[0.1, 0.9, 0.8, 0.7], &ones), Some(0.5));
        // One output for two classes: above 0 is class 1.
        let labels = Targets::Classes { labels: vec![1, 1, 0], count: 2 };
        let found = Accuracy.measure(&[0.1, -0.9, 0.0], &labels).expect("defined");
        assert!((found - 2.0 / 3.0).abs() < 1e-12);
    }
}
