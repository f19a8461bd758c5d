//! The mean squared error.

use fedcompetitors_graphs::entry;

use super::{Metric, TaskKind, mean, other_targets};
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

    fn measure(&self, outputs: &[f32], targets: &Targets) -> Option<f64> {
        let Targets::Values(values) = targets else { other_targets(self) };
        let squared =
            |(output, target): (&f32, &f32)| (f64::from(*output) - f64::from(*target)).powi(2);
        Some(mean(outputs.iter().zip(values).map(squared)))
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
}
