//! Fits with ridges of several strengths, also where there are more features than rows.

use super::{Cholesky, Curvature, Penalty, Rows, fit};
use crate::kernels::{View, multiply};

/// A fit ends when a step would gain less than half of this of the summed loss.
const PRECISION: f64 = 1e-6;

/// What is added to the products of rows with each other, as a fraction of their mean square: centred
/// columns make them singular.
const JITTER: f64 = 1e-9;

/// The parameters with each of these strengths of the ridge, which should descend: each fit begins
/// where the one before has ended.
///
/// With fewer rows than features, the best coefficients are weighted sums of rows. Then coordinates of
/// the rows in their own span take the place of features, which changes no distance and so no ridge.
/// With n rows, d features and k outputs, m being the smaller of n and d, costs O(n·d·m) and, for each
/// strength, about ten times O(n·(k·m)² + (k·m)³), or O(n·d·k) for each product where k·m is large.
pub fn ridges(rows: &Rows, strengths: &[f64]) -> Vec<Vec<f64>> {
    if rows.columns() <= rows.len() {
        return along(rows, strengths);
    }
    let Some(span) = Span::of(rows) else { return along(rows, strengths) };
    let fits = along(&span.coordinates, strengths);
    fits.iter().map(|fitted| span.coefficients(rows, fitted)).collect()
}

fn along(rows: &Rows, strengths: &[f64]) -> Vec<Vec<f64>> {
    let mut at = vec![0.0; rows.parameters()];
    let mut kept = Curvature::default();
    let fits = strengths.iter().map(|&strength| {
        at = fit(rows, Penalty { evidence: None, strength }, &at, PRECISION, &mut kept);
        at.clone()
    });
    fits.collect()
}

/// The space that rows span.
#[derive(Debug)]
pub(super) struct Span {
    /// `L` with `L·Lᵀ` = the products of the rows with each other.
    lower: Cholesky,
    /// The same targets with the rows of `L` for features.
    pub(super) coordinates: Rows,
}

impl Span {
    /// `None` if the rows are not finite.
    pub(super) fn of(rows: &Rows) -> Option<Self> {
        let (count, columns) = (rows.len(), rows.columns());
        let features = rows.features();
        let mut products = vec![0.0; count * count];
        multiply(features, features.transposed(), &mut products, false);
        let diagonal = || (0..count).map(|at| at * (count + 1));
        let mean = diagonal().map(|at| products[at]).sum::<f64>() / count as f64;
        diagonal().for_each(|at| products[at] += JITTER * mean.max(f64::MIN_POSITIVE));
        debug_assert!(columns > count, "a span is smaller than the space");
        let lower = Cholesky::new(products, count)?;
        let coordinates = rows.with_features(&lower.triangle(), count);
        Some(Self { lower, coordinates })
    }

    /// The coefficients of features for those of coordinates: `Xᵀ·L⁻ᵀ·θ`; intercepts stay.
    pub(super) fn coefficients(&self, rows: &Rows, fitted: &[f64]) -> Vec<f64> {
        let (count, columns, outputs) = (rows.len(), rows.columns(), rows.outputs());
        let (weights, intercepts) = fitted.split_at(count * outputs);
        let mut weights = weights.to_vec();
        self.lower.solve_transposed(&mut weights, outputs);
        let mut coefficients = vec![0.0; columns * outputs];
        let weights = View::new(&weights[..], count, outputs);
        multiply(rows.features().transposed(), weights, &mut coefficients, false);
        coefficients.extend_from_slice(intercepts);
        coefficients
    }
}

#[cfg(test)]
mod tests {
    use fedcompetitors_graphs::random::Stream;
    use fedcompetitors_testing::repeat;

    use super::{
        super::fit::{MOST_FACTORISED, fit_by_products},
        *,
    };

    /// Random rows: of numbers, of two classes, of three.
    fn rows(count: usize, columns: usize, outputs: usize, stream: &mut Stream) -> Rows {
        let features: Vec<f64> = (0..count * columns).map(|_| stream.unit() - 0.5).collect();
        if outputs == 0 {
            let values: Vec<f64> = (0..count).map(|_| stream.unit()).collect();
            return Rows::with_values(features.into_iter(), columns, &values);
        }
        let classes = outputs.max(2) as u64;
        let labels: Vec<u32> = (0..count).map(|_| stream.below(classes) as u32).collect();
        Rows::with_classes(features.into_iter(), columns, &labels, outputs)
    }

    /// Newton's method on all coefficients.
    fn exactly(rows: &Rows, strength: f64) -> Vec<f64> {
        let start = vec![0.0; rows.parameters()];
        let penalty = Penalty { evidence: None, strength };
        fit(rows, penalty, &start, 1e-20, &mut Curvature::default())
    }

    fn largest_difference(found: &[f64], expected: &[f64]) -> f64 {
        assert_eq!(found.len(), expected.len());
        found.iter().zip(expected).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
    }

    #[test]
    fn all_ways_to_fit_agree() {
        for case in 0..u64::from(repeat(30)) {
            let mut stream = Stream::new(case, "ridges", 0);
            let (count, columns) = (3 + stream.below(30) as usize, 1 + stream.below(60) as usize);
            let rows = rows(count, columns, [0, 1, 3][case as usize % 3], &mut stream);
            let strengths = [30.0, 1.0, 0.1];
            for (fitted, strength) in ridges(&rows, &strengths).iter().zip(strengths) {
                let expected = exactly(&rows, strength);
                let off = largest_difference(fitted, &expected);
                assert!(off < 1e-2, "{count} × {columns}, {strength}: {off}");
                let start = vec![0.0; rows.parameters()];
                let by_products = fit_by_products(&rows, strength, &start, 1e-16);
                let off = largest_difference(&by_products, &expected);
                assert!(off < 1e-5, "{count} × {columns}, {strength}, by products: {off}");
            }
        }
    }

    #[test]
    fn more_coefficients_than_are_factorised_are_fitted_too() {
        let mut stream = Stream::new(1, "ridges", 1);
        let rows = rows(900, 910, 3, &mut stream);
        assert!(rows.len() * rows.outputs() > MOST_FACTORISED);
        let strength = 50.0;
        let fitted = &ridges(&rows, &[strength])[0];
        let mut gradient = vec![0.0; rows.parameters()];
        rows.gradient(fitted, &mut gradient);
        for (slope, coefficient) in gradient.iter_mut().zip(&fitted[..rows.coefficients()]) {
            *slope += strength * coefficient;
        }
        let square: f64 = gradient.iter().map(|slope| slope * slope).sum();
        assert!(square < 1e-4 * strength, "{square}");
    }
}
