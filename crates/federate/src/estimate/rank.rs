//! How well two estimates agree on who helps more.

use fedcompetitors_graphs::{BenefitGraph, CompetingGraph};

/// The rank correlation of two benefit graphs over all ordered pairs that don't compete;
/// `None` where one of them says the same of all.
pub fn agreement(competing: &CompetingGraph, a: &BenefitGraph, b: &BenefitGraph) -> Option<f64> {
    let count = competing.participants().len();
    let pairs = (0..count)
        .flat_map(|from| (0..count).map(move |to| (from, to)))
        .filter(|&(from, to)| from != to && !competing.competes(from, to));
    let (a, b): (Vec<f64>, Vec<f64>) =
        pairs.map(|(from, to)| (a.benefit(from, to), b.benefit(from, to))).unzip();
    spearman(&a, &b)
}

/// Spearman's rank correlation; equal values share the mean of their ranks. `None` where
/// all values of one side are equal.
///
/// # Panics
/// If there are not as many of the one as of the other.
pub fn spearman(a: &[f64], b: &[f64]) -> Option<f64> {
    assert_eq!(a.len(), b.len(), "pairs of values");
    let (a, b) = (ranks(a), ranks(b));
    let mean = f64::midpoint(a.len() as f64, 1.0);
    let product = |x: &[f64], y: &[f64]| {
        x.iter().zip(y).map(|(x, y)| (x - mean) * (y - mean)).fold(0.0, |sum, term| sum + term)
    };
    let (aa, bb, ab) = (product(&a, &a), product(&b, &b), product(&a, &b));
    (aa > 0.0 && bb > 0.0).then(|| ab / (aa * bb).sqrt())
}

fn ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&a, &b| values[a].total_cmp(&values[b]));
    let mut ranks = vec![0.0; values.len()];
    let mut at = 0;
    while at < order.len() {
        let alike = |&&i: &&usize| values[i].total_cmp(&values[order[at]]).is_eq();
        let equal = order[at..].iter().take_while(alike).count().max(1);
        let rank = at as f64 + f64::midpoint(equal as f64, 1.0);
        order[at..at + equal].iter().for_each(|&i| ranks[i] = rank);
        at += equal;
    }
    ranks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_agree_disagree_and_tie() {
        let close = |found: Option<f64>, expected: f64| {
            assert!((found.expect("defined") - expected).abs() < 1e-12, "{found:?}");
        };
        close(spearman(&[1.0, 2.0, 3.0], &[10.0, 20.0, 90.0]), 1.0);
        close(spearman(&[1.0, 2.0, 3.0], &[3.0, 2.0, 1.0]), -1.0);
        // By hand: ranks 1, 2.5, 2.5, 4 against 1, 2, 3, 4.
        close(spearman(&[0.0, 0.5, 0.5, 0.9], &[1.0, 2.0, 3.0, 4.0]), 4.5 / (4.5_f64 * 5.0).sqrt());
        assert_eq!(spearman(&[1.0, 1.0], &[1.0, 2.0]), None);
    }
}
