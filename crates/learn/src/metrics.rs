//! How good a model is, in the terms of those who use it.

use std::cmp::Ordering::Equal;

use crate::Targets;

/// What is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Metric {
    /// The mean of the squared errors: less is better.
    SquaredError,
    /// The part of the samples whose class is found: more is better.
    Accuracy,
    /// The probability that a sample of class 1 gets more than one of class 0: more is
    /// better. Equal outputs count half. Undefined where one of the classes is missing.
    Auc,
}

impl Metric {
    /// Is more better?
    pub fn more_is_better(self) -> bool {
        self != Self::SquaredError
    }

    /// What it is called.
    pub fn name(self) -> &'static str {
        match self {
            Self::SquaredError => "MSE",
            Self::Accuracy => "accuracy",
            Self::Auc => "AUC",
        }
    }

    /// The metric of these outputs; `None` where it is undefined.
    ///
    /// # Panics
    /// If the targets are of another kind.
    pub fn measure(self, outputs: &[f32], targets: &Targets) -> Option<f64> {
        match (self, targets) {
            (Self::SquaredError, Targets::Values(values)) => Some(mean(
                outputs.iter().zip(values).map(|(o, t)| (f64::from(*o) - f64::from(*t)).powi(2)),
            )),
            (Self::Accuracy, Targets::Classes { labels, count }) => {
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
            (Self::Auc, Targets::Classes { labels, .. }) => auc(outputs, labels),
            _ => panic!("{} of targets of another kind", self.name()),
        }
    }
}

fn mean(values: impl ExactSizeIterator<Item = f64>) -> f64 {
    let count = values.len() as f64;
    values.fold(0.0, |sum, value| sum + value) / count
}

/// The class with the largest output, of equals the first.
fn largest(row: &[f32]) -> u32 {
    let best = (0..row.len()).reduce(|best, at| if row[at] > row[best] { at } else { best });
    best.unwrap_or(0) as u32
}

/// By ranks: O(n log n), equal outputs get the mean of their ranks.
fn auc(outputs: &[f32], labels: &[u32]) -> Option<f64> {
    assert_eq!(outputs.len(), labels.len(), "one output for each sample");
    let mut order: Vec<usize> = (0..outputs.len()).collect();
    order.sort_by(|&a, &b| outputs[a].total_cmp(&outputs[b]));
    let positives = labels.iter().filter(|&&label| label == 1).count() as f64;
    let negatives = labels.len() as f64 - positives;
    if positives == 0.0 || negatives == 0.0 {
        return None;
    }
    let mut rank_sum = 0.0;
    let mut at = 0;
    while at < order.len() {
        let alike = |&&i: &&usize| outputs[i].partial_cmp(&outputs[order[at]]) == Some(Equal);
        // −0 and 0 are equal, though `total_cmp` puts one first.
        let equal = order[at..].iter().take_while(alike).count().max(1);
        let rank = at as f64 + f64::midpoint(equal as f64, 1.0);
        let ones = order[at..at + equal].iter().filter(|&&i| labels[i] == 1).count();
        rank_sum += rank * ones as f64;
        at += equal;
    }
    Some((rank_sum - positives * (positives + 1.0) / 2.0) / (positives * negatives))
}

#[cfg(test)]
mod tests {
    use fedcompetitors_graphs::random::Stream;
    use fedcompetitors_testing::repeat;

    use super::*;

    fn classes(labels: &[u32], count: u32) -> Targets {
        Targets::Classes { labels: labels.to_vec(), count }
    }

    /// The definition: every pair of a one and a zero.
    fn naive_auc(outputs: &[f32], labels: &[u32]) -> Option<f64> {
        let of = |class| (0..labels.len()).filter(move |&i| labels[i] == class);
        let pairs = of(1).flat_map(|one| of(0).map(move |zero| (outputs[one], outputs[zero])));
        let score = |(one, zero): (f32, f32)| match one.partial_cmp(&zero) {
            Some(std::cmp::Ordering::Greater) => 1.0,
            Some(Equal) => 0.5,
            _ => 0.0,
        };
        let scores: Vec<f64> = pairs.map(score).collect();
        (!scores.is_empty()).then(|| scores.iter().sum::<f64>() / scores.len() as f64)
    }

    #[test]
    fn ranks_count_pairs_and_ties_count_half() {
        for case in 0..u64::from(repeat(500)) {
            let mut stream = Stream::new(case, "auc", 0);
            let count = 1 + (stream.bits() % 30) as usize;
            // Few different values, so that many are equal, zeros of both signs among them.
            let outputs: Vec<f32> = (0..count)
                .map(|_| [-1.0, -0.0, 0.0, 0.5, 2.0][(stream.bits() % 5) as usize])
                .collect();
            let labels: Vec<u32> = (0..count).map(|_| (stream.bits() % 2) as u32).collect();
            let found = Metric::Auc.measure(&outputs, &classes(&labels, 2));
            let expected = naive_auc(&outputs, &labels);
            assert_eq!(found.is_some(), expected.is_some());
            if let (Some(found), Some(expected)) = (found, expected) {
                assert!((found - expected).abs() < 1e-12, "{outputs:?} {labels:?}");
            }
        }
    }

    #[test]
    fn each_metric_on_a_small_example() {
        let values = Targets::Values(vec![1.0, 3.0]);
        assert_eq!(Metric::SquaredError.measure(&[2.0, 1.0], &values), Some(2.5));
        let found = Metric::Accuracy.measure(&[0.1, 0.9, 0.8, 0.7], &classes(&[1, 1], 2));
        assert_eq!(found, Some(0.5));
        // One output for two classes: above 0 is class 1.
        let found = Metric::Accuracy.measure(&[0.1, -0.9, 0.0], &classes(&[1, 1, 0], 2));
        assert!((found.expect("defined") - 2.0 / 3.0).abs() < 1e-12);
        assert_eq!(Metric::Auc.measure(&[0.1, 0.2], &classes(&[1, 1], 2)), None);
    }
}
