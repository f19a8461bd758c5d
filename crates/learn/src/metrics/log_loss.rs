//! The log loss.

use fedcompetitors_graphs::entry;

use super::{Metric, RowMean, Scorer, TaskKind, with_classes};
use crate::Targets;

/// Probabilities count as at least this, so that one wrong row of a very sure model does not decide
/// everything.
const LEAST_PROBABILITY: f64 = 1e-15;

/// The mean of the negative logarithm of the probability of the right class. Probabilities are clipped at
/// 10⁻¹⁵.
#[derive(Debug, Clone, Copy)]
pub struct LogLoss;

entry!(LogLoss, "log-loss", "The mean of the negative logarithm of the right class's probability.");

impl Metric for LogLoss {
    fn title(&self) -> &'static str {
        "log loss"
    }

    fn more_is_better(&self) -> bool {
        false
    }

    fn fits(&self, task: TaskKind) -> bool {
        task != TaskKind::Regression
    }

    fn scorer(&self, outputs: &[f64], targets: &Targets) -> Box<dyn Scorer> {
        let loss = |(row, class): (&[f64], usize)| {
            -log_probability(row, class).max(LEAST_PROBABILITY.ln())
        };
        Box::new(RowMean(with_classes(self, outputs, targets).map(loss).collect()))
    }
}

/// The logarithm of the probability that these outputs give a class.
pub(super) fn log_probability(row: &[f64], class: usize) -> f64 {
    if let [odds] = row {
        // For class 0 the odds turn round. −ln(1 + e^−x) without overflow.
        let odds = if class == 1 { *odds } else { -odds };
        return -((-odds.abs()).exp().ln_1p() + (-odds).max(0.0));
    }
    let most = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let total: f64 = row.iter().map(|output| (output - most).exp()).sum();
    row[class] - most - total.ln()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_right_class_counts() {
        let classes = Targets::Classes { labels: vec![1, 0], count: 2 };
        let found = LogLoss.measure(&[3.0_f32.ln(), 0.0], &classes).expect("defined");
        assert!((2.0 * found + 0.75_f64.ln() + 0.5_f64.ln()).abs() < 1e-6);
        let third = Targets::Classes { labels: vec![2], count: 3 };
        let found = LogLoss.measure(&[5.0, 5.0, 5.0 + 2.0_f32.ln()], &third).expect("defined");
        assert!((found + 0.5_f64.ln()).abs() < 1e-6);
    }

    #[test]
    fn probabilities_are_clipped() {
        let most = -LEAST_PROBABILITY.ln();
        let classes = Targets::Classes { labels: vec![0], count: 2 };
        assert_eq!(LogLoss.measure(&[1e30], &classes), Some(most));
        assert_eq!(LogLoss.measure(&[-1e30], &classes), Some(0.0));
        let third = Targets::Classes { labels: vec![2], count: 3 };
        assert_eq!(LogLoss.measure(&[1e30, 0.0, -1e30], &third), Some(most));
    }
}
