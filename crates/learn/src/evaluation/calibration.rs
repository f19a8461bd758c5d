//! Whether predicted probabilities are what happens.

/// Bins of a [`Calibration`], where outputs differ enough.
const BINS: usize = 10;

/// Logarithms of odds count as at most this: a probability of 10⁻¹⁵, as in the log loss.
const MOST_ODDS: f64 = 34.5;

/// The ridge on the slope's distance from 1 and on the intercept. Weak: it decides only what the rows leave
/// open. Where all outputs are equal the slope stays at 1 and the intercept moves; where the outputs
/// separate the classes both stay finite.
const RIDGE: [f64; 2] = [1e-3, 1e-6];

/// Newton's method takes about ten steps.
const MOST_STEPS: usize = 100;

/// Halvings of a step after which nothing is gained any more.
const MOST_HALVINGS: i32 = 40;

/// How well predicted probabilities of two classes agree with what was observed.
///
/// Slope and intercept are those of a logistic regression of the class on the predicted logarithm of the
/// odds: 1 and 0 for calibrated predictions. A slope below 1 means that predictions are too far from the
/// base rate (overconfident), one above 1 that they are too close to it; the intercept is what is then
/// missing of the odds.
#[derive(Debug, Clone, PartialEq)]
pub struct Calibration {
    /// The factor by which the logarithms of the odds should be multiplied.
    pub slope: f64,
    /// What should then be added to them.
    pub intercept: f64,
    /// Ten bins with equal numbers of rows, by ascending prediction. Equal predictions share a bin, so
    /// there can be fewer bins, and unequal ones.
    pub bins: Vec<CalibrationBin>,
}

/// Rows with similar predictions.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CalibrationBin {
    /// The mean predicted probability of class 1.
    pub predicted: f64,
    /// The fraction of rows of class 1.
    pub observed: f64,
    /// The number of rows.
    pub count: usize,
}

impl Calibration {
    /// The calibration of predicted logarithms of the odds of class 1, each with whether the row is of
    /// class 1. `None` without rows of both classes: all rows of one class fit any slope.
    ///
    /// # Panics
    /// If a prediction is NaN.
    pub fn of(rows: &[(f64, bool)]) -> Option<Self> {
        assert!(rows.iter().all(|(odds, _)| !odds.is_nan()), "predictions are numbers");
        let ones = rows.iter().filter(|row| row.1).count();
        if ones == 0 || ones == rows.len() {
            return None;
        }
        // The sum makes 0 of −0.
        let clipped =
            |&(odds, is_one): &(f64, bool)| (odds.clamp(-MOST_ODDS, MOST_ODDS) + 0.0, is_one);
        let mut rows: Vec<(f64, bool)> = rows.iter().map(clipped).collect();
        rows.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        let [slope, intercept] = recalibrated(&rows);
        Some(Self { slope, intercept, bins: bins(&rows) })
    }
}

fn probability(odds: f64) -> f64 {
    1.0 / (1.0 + (-odds).exp())
}

/// The slope and the intercept that minimise the log loss with the ridge, by Newton's method.
fn recalibrated(rows: &[(f64, bool)]) -> [f64; 2] {
    let mut at = [1.0, 0.0];
    let mut value = objective(rows, at);
    for _ in 0..MOST_STEPS {
        let step = newton_step(rows, at);
        let next = (0..MOST_HALVINGS)
            .map(|halvings| 0.5_f64.powi(halvings))
            .map(|length| [at[0] - length * step[0], at[1] - length * step[1]])
            .map(|next| (next, objective(rows, next)))
            .find(|(_, lower)| *lower < value);
        let Some((next, lower)) = next else { break };
        (at, value) = (next, lower);
    }
    at
}

/// The summed log loss with the ridge.
fn objective(rows: &[(f64, bool)], [slope, intercept]: [f64; 2]) -> f64 {
    let loss = |&(odds, is_one): &(f64, bool)| {
        let odds = slope * odds + intercept;
        let odds = if is_one { odds } else { -odds };
        (-odds.abs()).exp().ln_1p() + (-odds).max(0.0)
    };
    let ridge = RIDGE[0] * (slope - 1.0).powi(2) + RIDGE[1] * intercept.powi(2);
    rows.iter().map(loss).sum::<f64>() + ridge / 2.0
}

/// The gradient of the objective divided by its curvature.
fn newton_step(rows: &[(f64, bool)], [slope, intercept]: [f64; 2]) -> [f64; 2] {
    let mut gradient = [RIDGE[0] * (slope - 1.0), RIDGE[1] * intercept];
    let [mut of_slope, mut of_both, mut of_intercept] = [RIDGE[0], 0.0, RIDGE[1]];
    for &(odds, is_one) in rows {
        let p = probability(slope * odds + intercept);
        let error = p - f64::from(u8::from(is_one));
        gradient[0] += error * odds;
        gradient[1] += error;
        let curvature = p * (1.0 - p);
        of_slope += curvature * odds * odds;
        of_both += curvature * odds;
        of_intercept += curvature;
    }
    let determinant = of_slope * of_intercept - of_both * of_both;
    [
        (of_intercept * gradient[0] - of_both * gradient[1]) / determinant,
        (of_slope * gradient[1] - of_both * gradient[0]) / determinant,
    ]
}

/// The bins of sorted rows. Rows with equal predictions go where the middle one of them belongs.
fn bins(sorted: &[(f64, bool)]) -> Vec<CalibrationBin> {
    let mut members: [Vec<(f64, bool)>; BINS] = Default::default();
    let mut below = 0;
    for equal in sorted.chunk_by(|a, b| a.0.total_cmp(&b.0).is_eq()) {
        members[(2 * below + equal.len() - 1) * BINS / (2 * sorted.len())].extend(equal);
        below += equal.len();
    }
    let bin = |rows: &Vec<(f64, bool)>| {
        let count = rows.len();
        let predicted = rows.iter().map(|row| probability(row.0)).sum::<f64>() / count as f64;
        let ones = rows.iter().filter(|row| row.1).count();
        CalibrationBin { predicted, observed: ones as f64 / count as f64, count }
    };
    members.iter().filter(|rows| !rows.is_empty()).map(bin).collect()
}

#[cfg(test)]
mod tests {
    use fedcompetitors_graphs::random::Stream;
    use fedcompetitors_testing::repeat;
    use rand_distr::{Distribution, StandardNormal};

    use super::*;

    /// Rows whose true odds are predicted times a factor, plus a shift.
    fn simulated(rows: usize, factor: f64, shift: f64, stream: &mut Stream) -> Vec<(f64, bool)> {
        let row = |_| {
            let normal: f64 = StandardNormal.sample(stream.source());
            let odds = 1.5 * normal;
            (factor * odds + shift, stream.unit() < probability(odds))
        };
        (0..rows).map(row).collect()
    }

    #[test]
    fn calibrated_predictions_have_slope_one_and_bins_on_the_diagonal() {
        let rows = simulated(20_000, 1.0, 0.0, &mut Stream::new(1, "calibration", 0));
        let found = Calibration::of(&rows).expect("rows");
        assert!((found.slope - 1.0).abs() < 0.05 && found.intercept.abs() < 0.05, "{found:?}");
        assert!(found.bins.iter().all(|bin| bin.count == 2_000));
        assert_eq!(found.bins.len(), 10);
        for bin in &found.bins {
            assert!((bin.predicted - bin.observed).abs() < 0.04, "{bin:?}");
        }
    }

    #[test]
    fn overconfident_predictions_have_a_slope_below_one() {
        let rows = simulated(20_000, 2.0, 1.0, &mut Stream::new(2, "calibration", 0));
        let found = Calibration::of(&rows).expect("rows");
        // The truth is half of what was predicted, less a half.
        assert!((found.slope - 0.5).abs() < 0.03, "{found:?}");
        assert!((found.intercept + 0.5).abs() < 0.05, "{found:?}");
        let (first, last) = (found.bins[0], found.bins[9]);
        assert!(first.observed > first.predicted + 0.03 && last.observed < last.predicted - 0.03);
    }

    #[test]
    fn a_recalibration_has_no_gradient_left() {
        for case in 0..u64::from(repeat(200)) {
            let mut stream = Stream::new(case, "calibration", 1);
            let (rows, factor) = (1 + stream.below(40) as usize, 8.0 * stream.unit() - 2.0);
            let mut rows = simulated(rows, factor, 0.0, &mut stream);
            if stream.below(2) == 0 {
                // Few different predictions, most of them extreme.
                rows.iter_mut().for_each(|row| row.0 = (10.0 * row.0.round()).clamp(-30.0, 30.0));
            }
            let Some(found) = Calibration::of(&rows) else {
                assert!(rows.iter().all(|row| row.1 == rows[0].1));
                continue;
            };
            let at = [found.slope, found.intercept];
            let least = objective(&rows, at);
            for (a, b) in [(1e-3, 0.0), (-1e-3, 0.0), (0.0, 1e-3), (0.0, -1e-3)] {
                let next = objective(&rows, [at[0] + a, at[1] + b]);
                assert!(next >= least - 1e-9 * (1.0 + least), "{next} below {least}: {rows:?}");
            }
            assert_eq!(found.bins.iter().map(|bin| bin.count).sum::<usize>(), rows.len());
            rows.reverse();
            assert_eq!(Calibration::of(&rows), Some(found), "the order of rows does not matter");
        }
    }

    #[test]
    fn separated_and_constant_predictions_end() {
        let separated: Vec<_> = (0..50).map(|at| (f64::from(at) - 24.5, at >= 25)).collect();
        let found = Calibration::of(&separated).expect("rows");
        assert!(found.slope > 1.0 && found.slope.is_finite() && found.intercept.abs() < 1e-3);
        // A fifth of the rows is of class 1, and half of them was predicted.
        let constant: Vec<_> = (0..50).map(|at| (0.0, at % 5 == 0)).collect();
        let found = Calibration::of(&constant).expect("rows");
        assert!((found.slope - 1.0).abs() < 1e-9, "{found:?}");
        assert!((found.intercept - 0.25_f64.ln()).abs() < 1e-3, "{found:?}");
        let bin = CalibrationBin { predicted: 0.5, observed: 0.2, count: 50 };
        assert_eq!(found.bins, [bin]);
        let infinite = Calibration::of(&[(f64::INFINITY, false), (0.3, true)]).expect("rows");
        assert!(infinite.slope.is_finite() && infinite.intercept.is_finite());
        for class in [false, true] {
            assert_eq!(Calibration::of(&[(f64::INFINITY, class), (0.3, class)]), None);
        }
        assert_eq!(Calibration::of(&[]), None);
    }
}
