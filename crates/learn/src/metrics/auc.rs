//! The area under the ROC curve.

use std::cmp::Ordering::Equal;

use fedcompetitors_graphs::entry;

use super::{Metric, TaskKind, other_targets};
use crate::Targets;

/// The probability that a sample of class 1 gets a larger output than one of class 0. Equal outputs
/// count half. Undefined where one of the classes is missing.
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

    fn measure(&self, outputs: &[f32], targets: &Targets) -> Option<f64> {
        let Targets::Classes { labels, .. } = targets else { other_targets(self) };
        auc(outputs, labels)
    }
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
