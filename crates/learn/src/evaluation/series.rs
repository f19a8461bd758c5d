//! A figure and what it is in each draw of a bootstrap.

use fedcompetitors_record::{Figure, Interval};

/// A figure that is defined, with its values in the draws of a bootstrap.
#[derive(Debug, Clone)]
pub(super) struct Series {
    value: f64,
    /// The values of the draws in which it is defined; none if these are too few for an interval.
    drawn: Vec<f64>,
}

impl Series {
    /// A figure by its value and its values in the draws; `None` if it is undefined.
    pub(super) fn new(value: Option<f64>, drawn: Vec<Option<f64>>) -> Option<Self> {
        let draws = drawn.len();
        let defined: Vec<f64> = drawn.into_iter().flatten().collect();
        let drawn = if 2 * defined.len() < draws { Vec::new() } else { defined };
        Some(Self { value: value?, drawn })
    }

    /// The mean of the figures of several participants, in each draw too. `None` without participants.
    ///
    /// The draws of participants are independent, so any of one may stand beside any of another: where one
    /// has fewer draws in which its figure is defined, its first are used again.
    pub(super) fn mean(series: &[&Self], draws: usize) -> Option<Self> {
        let mean = |of: &dyn Fn(&Self) -> f64| {
            series.iter().fold(0.0, |sum, one| sum + of(one)) / series.len() as f64
        };
        let draws = if series.iter().any(|one| one.drawn.is_empty()) { 0 } else { draws };
        let drawn = (0..draws).map(|draw| mean(&|one| one.drawn[draw % one.drawn.len()]));
        (!series.is_empty()).then(|| Self { value: mean(&|one| one.value), drawn: drawn.collect() })
    }

    /// The difference from another figure, draw by draw. `None` where one has no draws, or others: draws are
    /// left out where the rows drawn do not define a figure, which are the same for all methods.
    pub(super) fn minus(&self, other: &Self) -> Option<Self> {
        if self.drawn.is_empty() || self.drawn.len() != other.drawn.len() {
            return None;
        }
        let drawn = self.drawn.iter().zip(&other.drawn).map(|(one, other)| one - other);
        Some(Self { value: self.value - other.value, drawn: drawn.collect() })
    }

    /// The standard deviation over the draws.
    pub(super) fn standard_error(&self) -> Option<f64> {
        let count = self.drawn.len() as f64;
        let mean = self.drawn.iter().sum::<f64>() / count;
        let squares = self.drawn.iter().map(|one| (one - mean).powi(2)).sum::<f64>();
        (count > 1.0).then(|| (squares / (count - 1.0)).sqrt())
    }

    /// The figure with the interval from the 2.5th to the 97.5th percentile of its draws.
    pub(super) fn figure(&self) -> Figure {
        let mut sorted = self.drawn.clone();
        sorted.sort_unstable_by(f64::total_cmp);
        let value = self.value;
        match (quantile(&sorted, 25), quantile(&sorted, 975)) {
            (Some(low), Some(high)) => Figure::Interval(Interval { value, low, high }),
            _ => Figure::Value(value),
        }
    }
}

/// The value that this many thousandths of sorted values lie below, interpolated between the two nearest.
fn quantile(sorted: &[f64], thousandths: usize) -> Option<f64> {
    let place = thousandths * sorted.len().checked_sub(1)?;
    let (low, high) = (sorted[place / 1000], sorted[place.div_ceil(1000)]);
    Some(low + (high - low) * (place % 1000) as f64 / 1000.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_interpolated() {
        assert_eq!(quantile(&[], 500), None);
        assert_eq!(quantile(&[7.0], 975), Some(7.0));
        assert_eq!(quantile(&[1.0, 2.0, 4.0], 750), Some(3.0));
        assert_eq!(quantile(&[1.0, 2.0, 4.0], 1000), Some(4.0));
    }

    #[test]
    fn an_interval_needs_half_of_the_draws() {
        let draws = |defined: usize| (0..10).map(|at| (at < defined).then_some(1.0)).collect();
        assert!(Series::new(None, draws(10)).is_none());
        let figure = |defined| Series::new(Some(2.0), draws(defined)).expect("defined").figure();
        assert_eq!(figure(4), Figure::Value(2.0));
        assert_eq!(figure(5), Figure::Interval(Interval { value: 2.0, low: 1.0, high: 1.0 }));
        assert_eq!(
            Series::new(Some(2.0), Vec::new()).expect("defined").figure(),
            Figure::Value(2.0)
        );
    }

    #[test]
    fn a_difference_is_taken_draw_by_draw() {
        let one = Series { value: 3.0, drawn: vec![2.0, 4.0, 6.0] };
        let other = Series { value: 1.0, drawn: vec![1.0, 2.0, 3.0] };
        let found = one.minus(&other).expect("as many draws");
        assert_eq!((found.value, &found.drawn[..]), (2.0, &[1.0, 2.0, 3.0][..]));
        assert_eq!(found.standard_error(), Some(1.0));
        assert_eq!(one.minus(&one).and_then(|none| none.standard_error()), Some(0.0));
        let fewer = Series { value: 1.0, drawn: vec![1.0] };
        let none = Series { value: 1.0, drawn: Vec::new() };
        assert!(one.minus(&fewer).is_none() && none.minus(&none).is_none());
        assert_eq!((fewer.standard_error(), none.standard_error()), (None, None));
    }

    #[test]
    fn a_mean_has_an_interval_if_all_have_one() {
        let one = Series { value: 1.0, drawn: vec![0.0, 2.0] };
        let other = Series { value: 4.0, drawn: vec![3.0, 4.0, 5.0] };
        let mean = Series::mean(&[&one, &other], 3).expect("two");
        assert_eq!((mean.value, mean.drawn), (2.5, vec![1.5, 3.0, 2.5]));
        let alone = Series { value: 1.0, drawn: Vec::new() };
        assert_eq!(Series::mean(&[&one, &alone], 3).expect("two").figure(), Figure::Value(1.0));
        assert!(Series::mean(&[], 3).is_none());
    }
}
