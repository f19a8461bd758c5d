//! The mean squared error.

use fedcompetitors_graphs::entry;

use super::{Metric, RowMean, Scorer, TaskKind, with_values};
use crate::Targets;

/// The mean of the squared errors.
#[derive(Debug, Clone, Copy)]
pub struct Mse;

entry!(Mse, "mse", "The mean of the squared errors.");

impl Metric for Mse {
    fn title(&self) -> &'static str {
        "MSE"
    }

    fn more_is_better(&self) -> bool {
        false
    }

    fn fits(&self, task: TaskKind) -> bool {
        task == TaskKind::Regression
    }

    fn scorer(&self, outputs: &[f64], targets: &Targets) -> Box<dyn Scorer> {
        let rows = with_values(self, outputs, targets);
        Box::new(RowMean(rows.map(|(output, target)| (output - target).powi(2)).collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_squared_and_averaged() {
        let values = Targets::Values(vec![1.0, 3.0]);
        assert_eq!(Mse.measure(&[2.0, 1.0], &values), Some(2.5));
    }

    #[test]
    fn outputs_that_are_not_finite_have_no_error() {
        let values = Targets::Values(vec![1.0, 3.0]);
        assert_eq!(Mse.measure(&[2.0, f32::NAN], &values), None);
        assert_eq!(Mse.measure(&[f32::INFINITY, 1.0], &values), None);
    }
}
