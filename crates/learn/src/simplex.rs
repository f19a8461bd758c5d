//! Points whose coordinates are at least 0 and sum to 1: weights of a mixture, rays.

use fedcompetitors_graphs::random::Stream;
use rand_distr::{Distribution, Gamma};

/// The nearest point of the simplex.
///
/// By sorting: what is above a common threshold keeps its distance to it.
pub fn project(point: &mut [f32]) {
    let mut sorted = point.to_vec();
    sorted.sort_by(|a, b| b.total_cmp(a));
    let (mut sum, mut threshold) = (0.0, 0.0);
    for (count, value) in sorted.iter().enumerate() {
        sum += value;
        let candidate = (sum - 1.0) / (count + 1) as f32;
        if *value > candidate {
            threshold = candidate;
        }
    }
    point.iter_mut().for_each(|value| *value = (*value - threshold).max(0.0));
}

/// One step of mirror descent on the simplex towards less loss and less distance (as
/// relative entropy, times `pull`) from prior weights.
///
/// Weights are multiplied by `exp(−rate · gradient)`, drawn towards the prior and brought
/// back to sum 1: none becomes negative, and those that are equal in prior and gradient
/// stay equal. Where it comes to rest, weights are in proportion to
/// `prior · exp(−gradient / pull)`.
pub fn mirror_step(weights: &mut [f32], gradient: &[f32], rate: f32, prior: &[f32], pull: f32) {
    let back = (rate * pull).min(1.0);
    let logarithm = |value: f32| value.max(f32::MIN_POSITIVE).ln();
    let exponents: Vec<f32> = weights
        .iter()
        .zip(gradient)
        .zip(prior)
        .map(|((&weight, slope), &prior)| {
            (1.0 - back) * logarithm(weight) + back * logarithm(prior) - rate * slope
        })
        .collect();
    // Only differences matter; this way nothing can overflow.
    let most = exponents.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let mut sum = 0.0;
    for (weight, exponent) in weights.iter_mut().zip(exponents) {
        *weight = (exponent - most).exp();
        sum += *weight;
    }
    weights.iter_mut().for_each(|weight| *weight /= sum);
}

/// A point drawn from the Dirichlet distribution with the same parameter everywhere.
///
/// # Panics
/// If the parameter is not positive.
pub fn dirichlet(count: usize, parameter: f64, stream: &mut Stream) -> Vec<f32> {
    let gamma = Gamma::new(parameter, 1.0).expect("a positive parameter");
    let mut point: Vec<f64> = (0..count).map(|_| gamma.sample(stream.source())).collect();
    let sum: f64 = point.iter().sum();
    if sum <= 0.0 {
        // With a tiny parameter all may underflow; then it is a corner.
        let corner = stream.below(count as u64) as usize;
        point
            .iter_mut()
            .enumerate()
            .for_each(|(at, value)| *value = f64::from(u8::from(at == corner)));
        return point.into_iter().map(|value| value as f32).collect();
    }
    point.into_iter().map(|value| (value / sum) as f32).collect()
}
