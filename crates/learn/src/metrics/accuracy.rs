//! The accuracy.

use fedcompetitors_graphs::entry;

use super::{Metric, RowMean, Scorer, TaskKind, with_classes};
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

    fn scorer(&self, outputs: &[f64], targets: &Targets) -> Box<dyn Scorer> {
        let is_right = |(row, class): (&[f64], usize)| {
            let predicted = match row {
                // One output is the logarithm of the odds of class 1.
                [odds] => usize::from(*odds > 0.0),
                _ => largest(row),
            };
            f64::from(u8::from(predicted == class))
        };
        Box::new(RowMean(with_classes(self, outputs, targets).map(is_right).collect()))
    }
}

/// The class with the largest output, of equals the first.
fn largest(row: &[f64]) -> usize {
    let best = (0..row.len()).reduce(|best, at| if row[at] > row[best] { at } else { best });
    best.unwrap_or(0)
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
