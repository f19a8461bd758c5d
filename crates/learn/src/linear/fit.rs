//! Exact fits of linear models by Newton's method.

use super::{Cholesky, Rows, Summary};

/// The ridge on intercepts: enough for a best value to exist where one class is missing.
const INTERCEPT_RIDGE: f64 = 1e-3;

/// Parameters above which the curvature is not computed where there is no evidence: only its products with
/// vectors.
pub(super) const MOST_FACTORISED: usize = 2500;

/// Parameters above which, where steps with the curvature that is kept bring little, better steps are found
/// by products with the true curvature: to compute it again would take as long as dozens of them.
const MANY: usize = 300;

/// Steps after which a fit ends; it takes a dozen.
const MOST_STEPS: usize = 200;

/// Halvings of a step after which nothing is gained any more.
const MOST_HALVINGS: i32 = 40;

/// Steps that are too small to show in the objective, after which a fit ends.
const MOST_POLISHES: usize = 6;

/// A step must shrink the decrement at least this much, or the curvature is computed again.
const SLOW: f64 = 0.1;

/// The objective of a fit beside the own loss:
/// `weight · (½ θᵀHθ − bᵀθ) + ½ strength · ‖θ‖²`, without the intercepts.
#[derive(Debug, Clone, Copy)]
pub struct Penalty<'a> {
    /// What others' data says about the coefficients, and its weight.
    pub evidence: Option<(&'a Summary, f64)>,
    /// The strength of the ridge.
    pub strength: f64,
}

/// The curvature of the own loss at some coefficients, kept from fit to fit over the same rows: near
/// enough it gives good steps, and is computed again where it does not.
#[derive(Debug, Default)]
pub struct Curvature {
    own: Option<Vec<f64>>,
    /// With many parameters the factorised curvature of the objective of the fit before.
    factor: Option<Cholesky>,
}

/// The coefficients that minimise the summed loss with a penalty, from `start`.
///
/// Ends when a step would lower the objective by less than half of `precision`. A step costs O(n·d), or
/// O(n·d² + d³) where the curvature is computed again. Fits of more than 300 parameters compute it again only where
/// steps by products with it, O(n·d + d²) each, become long; without evidence, fits of more than 2,500 parameters
/// never compute it.
pub fn fit(
    rows: &Rows,
    penalty: Penalty<'_>,
    start: &[f64],
    precision: f64,
    kept: &mut Curvature,
) -> Vec<f64> {
    if penalty.evidence.is_none() && start.len() > MOST_FACTORISED {
        return fit_by_products(rows, penalty.strength, start, precision);
    }
    let mut at = start.to_vec();
    let mut is_fresh = kept.own.is_none();
    // A factor of another penalty is good enough to find steps by products.
    let other = kept.factor.take();
    let (mut by_products, mut is_other) = (other.is_some(), other.is_some());
    let Some(mut factor) = other.or_else(|| factorised(rows, penalty, &at, kept)) else {
        return at;
    };
    let mut gradient = vec![0.0; at.len()];
    let mut value = objective(rows, penalty, &at, &mut gradient);
    let (mut before, mut polished) = (f64::INFINITY, 0);
    for _ in 0..MOST_STEPS {
        let (step, products) = if by_products {
            conjugate_gradients(rows, penalty, &at, &gradient, Some(&factor))
        } else {
            let mut step = gradient.clone();
            factor.solve(&mut step);
            (step, 0)
        };
        // Half of this is what the step would gain if the objective were a parabola.
        let decrement: f64 = step.iter().zip(&gradient).map(|(a, b)| a * b).sum();
        if decrement.is_nan() || decrement <= precision || polished > MOST_POLISHES {
            break;
        }
        // Steps by products are as good as can be, but for a point that is not lower.
        let is_slow = decrement > SLOW * before && (!by_products || before == 0.0);
        if is_slow && !is_fresh {
            before = f64::INFINITY;
            if at.len() > MANY && !by_products {
                by_products = true;
                continue;
            }
            kept.own = None;
            let Some(fresh) = factorised(rows, penalty, &at, kept) else { break };
            (factor, is_fresh, by_products, is_other) = (fresh, true, false, false);
            continue;
        }
        // Below this the objective does not show a gain any more, and only gradients do.
        let is_visible = decrement > 1e-12 * (1.0 + value.abs());
        let found = next_point(&at, &step, |next, gradient| {
            let found = objective(rows, penalty, next, gradient);
            (!is_visible || found < value).then_some(found)
        });
        polished += usize::from(!is_visible);
        before = match found {
            Some((next, slope, lower)) => {
                (at, gradient, value) = (next, slope, lower);
                decrement
            }
            None if is_fresh => break,
            // No lower point: the curvature is computed again.
            None => 0.0,
        };
        is_fresh = false;
        if products > MOST_CHEAP {
            // A better factor makes the next searches short.
            if !is_other {
                kept.own = None;
            }
            let Some(better) = factorised(rows, penalty, &at, kept) else { break };
            (factor, is_other) = (better, false);
        }
    }
    if at.len() > MANY {
        kept.factor = Some(factor);
    }
    at
}

/// The coefficients that minimise the summed loss with a ridge, from `start`: Newton's method whose steps
/// are found by conjugate gradients, where the curvature would be too large. Ends as [`fit`] does. Each
/// product with the curvature costs O(n·d).
pub(super) fn fit_by_products(
    rows: &Rows,
    strength: f64,
    start: &[f64],
    precision: f64,
) -> Vec<f64> {
    let penalty = Penalty { evidence: None, strength };
    let mut at = start.to_vec();
    let mut gradient = vec![0.0; at.len()];
    let mut value = objective(rows, penalty, &at, &mut gradient);
    for _ in 0..MOST_STEPS {
        let (step, _) = conjugate_gradients(rows, penalty, &at, &gradient, None);
        let decrement: f64 = step.iter().zip(&gradient).map(|(a, b)| a * b).sum();
        if decrement.is_nan() || decrement <= precision {
            break;
        }
        let found = next_point(&at, &step, |next, gradient| {
            let found = objective(rows, penalty, next, gradient);
            (found < value).then_some(found)
        });
        let Some(found) = found else { break };
        (at, gradient, value) = found;
    }
    at
}

/// Most products with the curvature for one step.
const MOST_PRODUCTS: usize = 250;

/// Products in one search above which the factorised curvature is computed again.
const MOST_CHEAP: usize = 5;

/// A residual that is shorter than the gradient by this factor ends the search for a step.
const NEAR: f64 = 0.03;

/// About the inverse of the objective's curvature at these coefficients times the gradient, and how many
/// products with the curvature that took. A factorised matrix that is near the curvature makes the search short.
fn conjugate_gradients(
    rows: &Rows,
    penalty: Penalty<'_>,
    at: &[f64],
    gradient: &[f64],
    near: Option<&Cholesky>,
) -> (Vec<f64>, usize) {
    let dot = |a: &[f64], b: &[f64]| -> f64 { a.iter().zip(b).map(|(a, b)| a * b).sum() };
    let conditioned = |residual: &[f64]| {
        let mut conditioned = residual.to_vec();
        near.iter().for_each(|near| near.solve(&mut conditioned));
        conditioned
    };
    let probabilities = rows.probabilities_at(at);
    let mut step = vec![0.0; at.len()];
    let mut residual = gradient.to_vec();
    let mut direction = conditioned(&residual);
    let mut square = dot(&residual, &direction);
    let enough = square * NEAR * NEAR;
    let mut products = 0;
    while products < MOST_PRODUCTS {
        products += 1;
        let mut product: Vec<f64> = direction.clone();
        let (coefficients, intercepts) = product.split_at_mut(rows.coefficients());
        coefficients.iter_mut().for_each(|value| *value *= penalty.strength);
        intercepts.iter_mut().for_each(|value| *value *= INTERCEPT_RIDGE);
        if let Some((evidence, weight)) = penalty.evidence.filter(|(_, weight)| *weight > 0.0) {
            let others = evidence.times(&direction[..coefficients.len()]);
            coefficients.iter_mut().zip(others).for_each(|(own, other)| *own += weight * other);
        }
        rows.curvature_times(&probabilities, &direction, &mut product);
        let length = square / dot(&direction, &product);
        if !length.is_finite() {
            break;
        }
        step.iter_mut().zip(&direction).for_each(|(step, along)| *step += length * along);
        residual.iter_mut().zip(&product).for_each(|(rest, product)| *rest -= length * product);
        let next = conditioned(&residual);
        let before = std::mem::replace(&mut square, dot(&residual, &next));
        if square <= enough {
            break;
        }
        let keep = square / before;
        direction.iter_mut().zip(&next).for_each(|(along, next)| *along = next + keep * *along);
    }
    (step, products)
}

/// The first point that is taken after a step, half of it, a quarter …, with its gradient and value.
fn next_point(
    at: &[f64],
    step: &[f64],
    take: impl Fn(&[f64], &mut [f64]) -> Option<f64>,
) -> Option<(Vec<f64>, Vec<f64>, f64)> {
    let mut gradient = vec![0.0; at.len()];
    (0..MOST_HALVINGS).map(|halvings| 0.5_f64.powi(halvings)).find_map(|length| {
        let next: Vec<f64> = at.iter().zip(step).map(|(at, step)| at - length * step).collect();
        let value = take(&next, &mut gradient)?;
        Some((next, std::mem::take(&mut gradient), value))
    })
}

/// The objective, and its gradient over `gradient`.
fn objective(rows: &Rows, penalty: Penalty<'_>, at: &[f64], gradient: &mut [f64]) -> f64 {
    let (theta, intercepts) = at.split_at(rows.coefficients());
    let mut value = 0.0;
    {
        let (slopes, of_intercepts) = gradient.split_at_mut(theta.len());
        for (slope, coefficient) in slopes.iter_mut().zip(theta) {
            *slope = penalty.strength * coefficient;
            value += 0.5 * penalty.strength * coefficient * coefficient;
        }
        for (slope, intercept) in of_intercepts.iter_mut().zip(intercepts) {
            *slope = INTERCEPT_RIDGE * intercept;
            value += 0.5 * INTERCEPT_RIDGE * intercept * intercept;
        }
        if let Some((evidence, weight)) = penalty.evidence.filter(|(_, weight)| *weight > 0.0) {
            value += weight * evidence.gradient(theta, weight, slopes);
        }
    }
    value + rows.gradient(at, gradient)
}

/// The factorised curvature of the objective, with that of the own loss as it is kept, or at `at`. `None`
/// if it is not finite.
fn factorised(
    rows: &Rows,
    penalty: Penalty<'_>,
    at: &[f64],
    kept: &mut Curvature,
) -> Option<Cholesky> {
    let own = kept.own.get_or_insert_with(|| rows.curvature(at));
    let (size, coefficients) = (rows.parameters(), rows.coefficients());
    let evidence = penalty.evidence.filter(|(_, weight)| *weight > 0.0);
    let curvature = |more: f64| {
        let mut curvature = own.clone();
        if let Some((evidence, weight)) = evidence {
            let others = evidence.curvature().chunks_exact(coefficients.max(1));
            for (row, others) in curvature.chunks_exact_mut(size).zip(others) {
                row.iter_mut().zip(others).for_each(|(own, other)| *own += weight * other);
            }
        }
        for at in 0..size {
            let ridge = if at < coefficients { penalty.strength } else { INTERCEPT_RIDGE };
            curvature[at * (size + 1)] += ridge + more;
        }
        curvature
    };
    Cholesky::new(curvature(0.0), size).or_else(|| {
        // Rounding may turn a curvature of almost nothing negative; more ridge only shortens the steps.
        let diagonal = curvature(0.0).into_iter().step_by(size + 1);
        let largest = diagonal.fold(1.0, f64::max);
        (-12..=0).find_map(|power| Cholesky::new(curvature(largest * 10.0_f64.powi(power)), size))
    })
}

#[cfg(test)]
mod tests {
    use fedcompetitors_graphs::random::Stream;
    use fedcompetitors_testing::repeat;

    use super::*;

    /// Fits of many parameters, one after the other over the same rows, end where the objective is flat: with and
    /// without evidence, with classes that a plane divides, from few rows and from many.
    #[test]
    fn fits_of_many_parameters_end_where_the_objective_is_flat() {
        for case in 0..u64::from(repeat(4)) {
            let mut stream = Stream::new(case, "many parameters", 0);
            let outputs = [1, 3][case as usize % 2];
            let columns = (MANY + 20) / outputs;
            let count = [60, 500][case as usize / 2 % 2];
            let features: Vec<f64> =
                (0..count * columns).map(|_| 2.0 * stream.unit() - 1.0).collect();
            let labels: Vec<u32> =
                (0..count).map(|_| stream.below(outputs.max(2) as u64) as u32).collect();
            let rows = Rows::with_classes(features.into_iter(), columns, &labels, outputs);
            assert!(rows.parameters() > MANY);
            let size = rows.coefficients();
            let others: Vec<f64> = (0..size).map(|_| stream.unit()).collect();
            let diagonal = |at: usize| if at.is_multiple_of(size + 1) { 30.0 } else { 0.0 };
            let curvature = (0..size * size)
                .map(|at| diagonal(at) + others[at / size] * others[at % size])
                .collect();
            let evidence = Summary::new(curvature, others.clone());
            let mut at = vec![0.0; rows.parameters()];
            let mut kept = Curvature::default();
            for (weight, strength) in
                [(0.0, 300.0), (0.0, 20.0), (0.0, 1.0), (0.3, 300.0), (1.0, 1.0)]
            {
                let penalty = Penalty { evidence: Some((&evidence, weight)), strength };
                let rough = fit(&rows, penalty, &at, 1e-5, &mut kept);
                let mut gradient = vec![0.0; at.len()];
                at = fit(&rows, penalty, &rough, 1e-20, &mut kept);
                let value = objective(&rows, penalty, &at, &mut gradient);
                let steepest = gradient.iter().fold(0.0_f64, |most, slope| most.max(slope.abs()));
                assert!(steepest < 1e-8, "case {case}, {weight}, {strength}: {steepest}");
                let of_rough = objective(&rows, penalty, &rough, &mut gradient);
                assert!(of_rough - value < 1e-5, "case {case}, {weight}, {strength}");
            }
        }
    }
}
