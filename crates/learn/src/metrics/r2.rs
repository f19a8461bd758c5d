//! The coefficient of determination.

use fedcompetitors_graphs::entry;

use super::{Fraction, Metric, Scorer, TaskKind, with_values};
use crate::Targets;

/// The fraction of the targets' variance that the outputs explain: 1 − Σ(y − ŷ)² / Σ(y − ȳ)².
///
/// ȳ is the mean of the rows that are scored: within a test fold, that of the fold, and in a bootstrap that
/// of the rows drawn. A sum over folds divides all squared errors by all squared deviations from the folds'
/// own means. Undefined where the targets are constant, as for a single row.
#[derive(Debug, Clone, Copy)]
pub struct R2;

entry!(R2, "r2", "The fraction of the targets' variance that the outputs explain, R².");

impl Metric for R2 {
    fn title(&self) -> &'static str {
        "R²"
    }

    fn more_is_better(&self) -> bool {
        true
    }

    fn fits(&self, task: TaskKind) -> bool {
        task == TaskKind::Regression
    }

    fn scorer(&self, outputs: &[f64], targets: &Targets) -> Box<dyn Scorer> {
        let rows = with_values(self, outputs, targets);
        let (targets, errors) =
            rows.map(|(output, target)| (target, (output - target).powi(2))).unzip();
        Box::new(Explained { targets, errors })
    }
}

struct Explained {
    targets: Vec<f64>,
    /// The squared errors.
    errors: Vec<f64>,
}

impl Scorer for Explained {
    fn score(&self, weights: &[u32]) -> Fraction {
        let sum = |of: &dyn Fn(usize) -> f64| {
            let rows = weights.iter().enumerate();
            rows.fold(0.0, |sum, (row, &weight)| sum + f64::from(weight) * of(row))
        };
        let mean = sum(&|row| self.targets[row]) / sum(&|_| 1.0);
        let mut drawn = (0..weights.len()).filter(|&row| weights[row] > 0);
        let first = drawn.next().map(|row| self.targets[row].to_bits());
        // Compared as they are: rounding of their mean would make a little variance of equal targets.
        let is_constant = drawn.all(|row| Some(self.targets[row].to_bits()) == first);
        let variance =
            if is_constant { 0.0 } else { sum(&|row| (self.targets[row] - mean).powi(2)) };
        Fraction { numerator: variance - sum(&|row| self.errors[row]), denominator: variance }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_perfect_and_the_mean_explains_nothing() {
        let targets = Targets::Values(vec![1.0, 2.0, 6.0]);
        assert_eq!(R2.measure(&[1.0, 2.0, 6.0], &targets), Some(1.0));
        assert_eq!(R2.measure(&[3.0; 3], &targets), Some(0.0));
        // Errors 4, 1 and 1 of a variance of 4 + 1 + 9.
        let found = R2.measure(&[3.0, 1.0, 5.0], &targets).expect("defined");
        assert!((found - (1.0 - 6.0 / 14.0)).abs() < 1e-12);
    }

    #[test]
    fn constant_targets_have_none() {
        assert_eq!(R2.measure(&[0.5], &Targets::Values(vec![0.1])), None);
        assert_eq!(R2.measure(&[0.1; 7], &Targets::Values(vec![0.1; 7])), None);
        assert_eq!(R2.measure(&[], &Targets::Values(Vec::new())), None);
        // Of rows that differ, only equal ones were drawn.
        let targets = Targets::Values(vec![0.1, 0.1, 0.3]);
        let scorer = R2.scorer(&[0.0, 0.1, 0.2], &targets);
        assert_eq!(scorer.score(&[2, 5, 0]).value(), None);
        assert!(scorer.score(&[2, 5, 1]).value().is_some());
    }
}
