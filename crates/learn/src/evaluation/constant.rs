//! What a model predicts that knows nothing of the features.

use crate::{Targets, TaskKind};

/// Added to the count of each class, so that no class has the probability 0.
const SMOOTHING: f64 = 0.5;

/// Classes with fewer rows than this are few.
pub const FEW_OF_A_CLASS: usize = 10;

/// The outputs of the constant predictor for this many rows, in the shape that a
/// [`Metric`](crate::Metric) takes.
///
/// It predicts the mean of the training targets, or the frequencies of their classes with half a row added
/// to each: the odds of two classes are (k + ½) / (n − k + ½). Without training targets it predicts 0, or
/// classes that are equally likely.
///
/// # Panics
/// If the targets are of another task.
pub fn constant_outputs(task: TaskKind, training: &Targets, rows: usize) -> Vec<f64> {
    match (task, training) {
        (TaskKind::Regression, Targets::Values(values)) => {
            let sum = values.iter().fold(0.0, |sum, &value| sum + f64::from(value));
            vec![sum / values.len().max(1) as f64; rows]
        }
        (TaskKind::Binary, Targets::Classes { .. }) => {
            let counts = class_counts(training);
            assert_eq!(counts.len(), 2, "two classes");
            vec![smoothed(counts[1]).ln() - smoothed(counts[0]).ln(); rows]
        }
        (TaskKind::Classes, Targets::Classes { labels, .. }) => {
            let counts = class_counts(training);
            let total = labels.len() as f64 + SMOOTHING * counts.len() as f64;
            let outputs: Vec<f64> =
                counts.into_iter().map(|count| (smoothed(count) / total).ln()).collect();
            outputs.repeat(rows)
        }
        _ => panic!("targets of another task"),
    }
}

/// Whether a class has fewer than ten of these rows, so that figures of them say little. In
/// cross-validation each row is tested once, so all targets count, not those of a fold. Never for numbers.
pub fn has_few_of_a_class(targets: &Targets) -> bool {
    class_counts(targets).into_iter().any(|count| count < FEW_OF_A_CLASS)
}

/// The rows of each class; of numbers there are no classes.
fn class_counts(targets: &Targets) -> Vec<usize> {
    let Targets::Classes { labels, count } = targets else { return Vec::new() };
    let mut counts = vec![0; *count as usize];
    labels.iter().for_each(|&label| counts[label as usize] += 1);
    counts
}

fn smoothed(count: usize) -> f64 {
    count as f64 + SMOOTHING
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Auc, LogLoss, Metric, R2};

    fn classes(counts: &[usize]) -> Targets {
        let labels = counts.iter().zip(0..).flat_map(|(&count, class)| vec![class; count]);
        Targets::Classes { labels: labels.collect(), count: counts.len() as u32 }
    }

    fn score(metric: &dyn Metric, outputs: &[f64], targets: &Targets) -> Option<f64> {
        metric.scorer(outputs, targets).score(&vec![1; targets.len()]).value()
    }

    #[test]
    fn numbers_are_predicted_by_their_mean() {
        let targets = Targets::Values(vec![1.0, 2.0, 6.0]);
        let outputs = constant_outputs(TaskKind::Regression, &targets, 3);
        assert_eq!(outputs, [3.0; 3]);
        assert_eq!(score(&R2, &outputs, &targets), Some(0.0));
        assert_eq!(constant_outputs(TaskKind::Regression, &Targets::Values(vec![]), 1), [0.0]);
    }

    #[test]
    fn classes_are_predicted_by_their_smoothed_frequencies() {
        let two = classes(&[15, 4]);
        let outputs = constant_outputs(TaskKind::Binary, &two, 19);
        assert_eq!(score(&Auc, &outputs, &two), Some(0.5));
        // Half a row more of each class: 4.5 of 20.
        let (one, zero) = (4.5 / 20.0_f64, 15.5 / 20.0_f64);
        let expected = -(4.0 * one.ln() + 15.0 * zero.ln()) / 19.0;
        assert!((score(&LogLoss, &outputs, &two).expect("defined") - expected).abs() < 1e-12);
        let softmax = constant_outputs(TaskKind::Classes, &two, 19);
        assert!((score(&LogLoss, &softmax, &two).expect("defined") - expected).abs() < 1e-12);
        let three = constant_outputs(TaskKind::Classes, &classes(&[2, 0, 3]), 2);
        let expected = [2.5, 0.5, 3.5, 2.5, 0.5, 3.5].map(|count: f64| (count / 6.5).ln());
        assert!(three.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-12), "{three:?}");
        assert_eq!(constant_outputs(TaskKind::Binary, &classes(&[0, 0]), 2), [0.0; 2]);
    }

    #[test]
    fn nine_are_few() {
        assert!(has_few_of_a_class(&classes(&[100, 9])) && has_few_of_a_class(&classes(&[0, 100])));
        assert!(!has_few_of_a_class(&classes(&[10, 10, 10])));
        assert!(!has_few_of_a_class(&Targets::Values(vec![1.0])));
    }
}
