//! Scores of rows that count more or less often.

use std::iter::Sum;

/// A metric of some rows, ready to be computed for any draw of them.
pub trait Scorer {
    /// The metric where each row counts this often, as a bootstrap has drawn it; 0 is not at all. Takes
    /// time linear in the number of rows.
    fn score(&self, weights: &[u32]) -> Fraction;
}

/// A metric as a numerator and a denominator. The sum over test folds is the metric of all of them, in
/// which each fold counts by its denominator.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Fraction {
    /// The sum over rows, or over pairs of them.
    pub numerator: f64,
    /// The number of rows or of pairs, or what else the sum is compared with.
    pub denominator: f64,
}

impl Fraction {
    /// The metric; `None` where it is undefined.
    pub fn value(self) -> Option<f64> {
        let value = self.numerator / self.denominator;
        value.is_finite().then_some(value)
    }
}

impl Sum for Fraction {
    fn sum<I: Iterator<Item = Self>>(fractions: I) -> Self {
        fractions.fold(Self::default(), |sum, one| Self {
            numerator: sum.numerator + one.numerator,
            denominator: sum.denominator + one.denominator,
        })
    }
}

/// The mean of a figure that each row has by itself.
pub(super) struct RowMean(pub(super) Vec<f64>);

impl Scorer for RowMean {
    fn score(&self, weights: &[u32]) -> Fraction {
        let rows = self.0.iter().zip(weights);
        let numerator = rows.fold(0.0, |sum, (value, &weight)| sum + f64::from(weight) * value);
        let count: u64 = weights.iter().map(|&weight| u64::from(weight)).sum();
        Fraction { numerator, denominator: count as f64 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folds_count_by_their_denominators() {
        let folds = [(1.0, 2.0), (3.0, 3.0), (0.0, 0.0)];
        let fractions = folds.map(|(numerator, denominator)| Fraction { numerator, denominator });
        assert_eq!(fractions.into_iter().sum::<Fraction>().value(), Some(0.8));
        assert_eq!(fractions[2].value(), None);
        assert_eq!(Fraction { numerator: -1.0, denominator: 0.0 }.value(), None);
    }

    #[test]
    fn rows_count_as_often_as_they_were_drawn() {
        let mean = RowMean(vec![1.0, 5.0, 100.0]);
        assert_eq!(mean.score(&[3, 1, 0]).value(), Some(2.0));
        assert_eq!(mean.score(&[0, 0, 0]).value(), None);
    }
}
