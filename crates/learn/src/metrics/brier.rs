//! The Brier score.

use fedcompetitors_graphs::entry;

use super::{Metric, RowMean, Scorer, TaskKind, log_loss::log_probability, with_classes};
use crate::Targets;

/// The mean squared error of the probabilities: of class 1 where a row has one output, otherwise summed
/// over the classes.
#[derive(Debug, Clone, Copy)]
pub struct Brier;

entry!(
    Brier,
    "brier",
    "The mean squared error of the predicted probability; of more than two classes, summed over the classes."
);

impl Metric for Brier {
    fn title(&self) -> &'static str {
        "Brier score"
    }

    fn more_is_better(&self) -> bool {
        false
    }

    fn fits(&self, task: TaskKind) -> bool {
        task != TaskKind::Regression
    }

    fn scorer(&self, outputs: &[f64], targets: &Targets) -> Box<dyn Scorer> {
        let rows = with_classes(self, outputs, targets);
        Box::new(RowMean(rows.map(|(row, class)| squared_error(row, class)).collect()))
    }
}

fn squared_error(row: &[f64], class: usize) -> f64 {
    let error = |of: usize| {
        let probability = log_probability(row, of).exp();
        (probability - f64::from(u8::from(of == class))).powi(2)
    };
    // The errors of both classes are the same.
    if row.len() == 1 { error(1) } else { (0..row.len()).map(error).sum() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_probabilities_are_squared() {
        let ones = Targets::Classes { labels: vec![1, 0], count: 2 };
        let odds = [3.0_f32.ln(), 0.0];
        // Probabilities of 3/4 and 1/2.
        let found = Brier.measure(&odds, &ones).expect("defined");
        assert!((2.0 * found - (1.0 / 16.0 + 1.0 / 4.0)).abs() < 1e-6);
        let third = Targets::Classes { labels: vec![2], count: 3 };
        let found = Brier.measure(&[0.0, 0.0, 2.0_f32.ln()], &third).expect("defined");
        assert!((found - (1.0 / 16.0 + 1.0 / 16.0 + 1.0 / 4.0)).abs() < 1e-6);
    }
}
