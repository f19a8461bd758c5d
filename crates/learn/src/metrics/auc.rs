//! The area under the ROC curve.

use fedcompetitors_graphs::entry;

use super::{Fraction, Metric, Scorer, TaskKind, other_targets};
use crate::Targets;

/// The probability that a sample of class 1 gets a larger output than one of class 0. Equal outputs
/// count half. Undefined where one of the classes is missing. A sum over test folds compares rows of the
/// same fold only, as outputs of different models need not be on one scale.
#[derive(Debug, Clone, Copy)]
pub struct Auc;

entry!(Auc, "auc", "The area under the ROC curve.");

impl Metric for Auc {
    fn title(&self) -> &'static str {
        "AUC"
    }

    fn more_is_better(&self) -> bool {
        true
    }

    fn fits(&self, task: TaskKind) -> bool {
        task == TaskKind::Binary
    }

    fn scorer(&self, outputs: &[f64], targets: &Targets) -> Box<dyn Scorer> {
        let Targets::Classes { labels, .. } = targets else { other_targets(self) };
        assert_eq!(outputs.len(), labels.len(), "one output for each row");
        let mut order: Vec<usize> = (0..outputs.len()).collect();
        order.sort_by(|&a, &b| outputs[a].total_cmp(&outputs[b]));
        let place = |(at, &row): (usize, &usize)| Place {
            row,
            is_one: labels[row] == 1,
            // −0 and 0 are equal, though `total_cmp` puts one first.
            ends: order.get(at + 1).is_none_or(|&next| outputs[next] > outputs[row]),
        };
        Box::new(Pairs(order.iter().enumerate().map(place).collect()))
    }
}

/// A row in the order of the outputs.
struct Place {
    row: usize,
    is_one: bool,
    /// Whether the next row has a larger output.
    ends: bool,
}

/// Compares every row of class 1 with every one of class 0, in one walk along the order.
struct Pairs(Vec<Place>);

impl Scorer for Pairs {
    fn score(&self, weights: &[u32]) -> Fraction {
        // Rows of class 0 with a smaller output; rows of both classes with the same; twice the pairs won.
        let (mut below, mut zeros, mut ones, mut twice) = (0, 0, 0, 0);
        let mut all_ones = 0;
        for place in &self.0 {
            let weight = u64::from(weights[place.row]);
            let is_one = u64::from(place.is_one);
            ones += weight * is_one;
            zeros += weight * (1 - is_one);
            if place.ends {
                twice += ones * (2 * below + zeros);
                all_ones += ones;
                below += zeros;
                (zeros, ones) = (0, 0);
            }
        }
        Fraction { numerator: twice as f64 / 2.0, denominator: (all_ones * below) as f64 }
    }
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
            Some(std::cmp::Ordering::Equal) => 0.5,
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
            let found = Auc.measure(&outputs, &classes(&labels, 2));
            let expected = naive_auc(&outputs, &labels);
            assert_eq!(found.is_some(), expected.is_some());
            if let (Some(found), Some(expected)) = (found, expected) {
                assert!((found - expected).abs() < 1e-12, "{outputs:?} {labels:?}");
            }
        }
    }

    #[test]
    fn one_class_alone_has_no_auc() {
        assert_eq!(Auc.measure(&[0.1, 0.2], &classes(&[1, 1], 2)), None);
    }
}
