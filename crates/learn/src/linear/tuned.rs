//! Penalties chosen by cross-validation inside a participant's own rows.

use std::collections::BTreeMap;

use fedcompetitors_graphs::random::Stream;

use super::{Curvature, Penalty, Rows, Summary, fit};
use crate::{Dependence, shuffle};

/// The strengths of the ridge that are tried, on the summed loss.
pub const STRENGTHS: [f64; 6] = [1.0, 5.0, 20.0, 80.0, 300.0, 1000.0];

/// The weights of others' evidence that are tried. Saturation has weighed it before, so small weights
/// would only draw the average away from 1 where few rows choose.
pub const WEIGHTS: [f64; 3] = [0.0, 0.3, 1.0];

/// A fit ends when a step would gain less than half of this: in cross-validation losses are compared,
/// whose own chance is far larger.
const ROUGH: f64 = 1e-5;
pub(super) const EXACT: f64 = 1e-20;

/// A penalty whose weight is below this fraction of all is left out of the average.
const NEGLIGIBLE: f64 = 1e-3;

/// Which rows are left out together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Folds {
    /// The fold of each row; where time counts, the block.
    of: Vec<u32>,
    count: u32,
    /// Whether rows stand in time: then a fold tests a block, and only the blocks before it are left in.
    is_forward: bool,
}

impl Folds {
    /// At most `count` folds at random, each with its share of each class; groups of rows stay together. Rows in
    /// time are divided into one block more, where times change, and each block but the first is a fold: a
    /// penalty is chosen by models that have not seen later rows. With fewer than two rows there are none.
    pub fn new(rows: &Rows, count: u32, dependence: &Dependence, stream: &mut Stream) -> Self {
        // What is dealt out: each row, or each group with its largest class, or each time in order.
        let units: Vec<u32> = match dependence {
            Dependence::None => (0..rows.len() as u32).collect(),
            Dependence::Groups(units) | Dependence::Time(units) => units.clone(),
        };
        assert_eq!(units.len(), rows.len(), "a group or time for each row");
        let mut classes: BTreeMap<u32, u32> = BTreeMap::new();
        for (row, unit) in units.iter().enumerate() {
            let class = classes.entry(*unit).or_default();
            *class = rows.class(row).max(*class);
        }
        let is_forward = matches!(dependence, Dependence::Time(_));
        let blocks = (count + u32::from(is_forward)).min(classes.len() as u32);
        let mut order: Vec<u32> = classes.keys().copied().collect();
        if !is_forward {
            shuffle(&mut order, stream);
            order.sort_by_key(|unit| classes[unit]);
        }
        let fold = |at: usize| {
            if is_forward {
                (at as u64 * u64::from(blocks) / order.len() as u64) as u32
            } else {
                at as u32 % blocks.max(1)
            }
        };
        let of_unit: BTreeMap<u32, u32> =
            order.iter().enumerate().map(|(at, unit)| (*unit, fold(at))).collect();
        let of = units.iter().map(|unit| of_unit[unit]).collect();
        Self { of, count: if blocks < 2 { 0 } else { blocks }, is_forward }
    }

    /// The rows that are left in and out, fold by fold.
    fn parts(&self) -> impl Iterator<Item = (Vec<u32>, Vec<u32>)> {
        let rows = |wanted: &dyn Fn(u32) -> bool| -> Vec<u32> {
            (0..).zip(&self.of).filter(|(_, of)| wanted(**of)).map(|(row, _)| row).collect()
        };
        (u32::from(self.is_forward)..self.count).map(move |fold| {
            let is_left_in = |of: u32| if self.is_forward { of < fold } else { of != fold };
            (rows(&is_left_in), rows(&|of| of == fold))
        })
    }
}

/// A fit with penalties chosen by cross-validation.
#[derive(Debug, Clone, PartialEq)]
pub struct Tuned {
    /// The mean of the coefficients over all penalties, each weighted by how well it predicts.
    pub parameters: Vec<f64>,
    /// The mean of the weight of the evidence over all penalties, in the same way.
    pub weight: f64,
    /// The strength of the ridge with the largest weight.
    pub strength: f64,
    /// The summed loss of rows left out, for each penalty.
    losses: Vec<f64>,
}

/// Fits a linear model. The strength of the ridge is one of a grid; coefficients are averaged over the grid,
/// weighted by `exp(−summed loss of rows left out)` times the marginal likelihood of all rows where coefficients
/// have the variance of one over the strength. A choice of one penalty would follow chance where few rows choose,
/// and so do weights by the rows left out alone.
pub fn tuned(rows: &Rows, folds: &Folds) -> Tuned {
    let grid = grid(&WEIGHTS[..1]);
    let losses = losses(rows, None, &grid, folds);
    let strength = grid[first_least(&losses)].1;
    let start = vec![0.0; rows.parameters()];
    let penalty = Penalty { evidence: None, strength };
    let at = fit(rows, penalty, &start, EXACT, &mut Curvature::default());
    let likelihoods = log_likelihoods(&Summary::of(rows, &at), None, &grid);
    averaged(rows, None, &grid, losses, &likelihoods)
}

/// The same with others' evidence, whose weight is one of a grid, too. `alone` is the fit without it: its
/// losses are those of weight 0. `own` is the summary of the rows.
pub fn tuned_with(
    rows: &Rows,
    own: &Summary,
    evidence: &Summary,
    alone: &Tuned,
    folds: &Folds,
) -> Tuned {
    let grid = grid(&WEIGHTS);
    let mut all = alone.losses.clone();
    all.extend(losses(rows, Some(evidence), &grid[all.len()..], folds));
    let likelihoods = log_likelihoods(own, Some(evidence), &grid);
    averaged(rows, Some(evidence), &grid, all, &likelihoods)
}

/// For each penalty the logarithm of the marginal likelihood of the own rows and of the evidence: coefficients have
/// the variance of one over the strength beforehand, and the own rows follow the evidence with its weight.
/// Zeros if rounding leaves one of them undefined. Costs O(d³) for each penalty.
fn log_likelihoods(own: &Summary, evidence: Option<&Summary>, grid: &[(f64, f64)]) -> Vec<f64> {
    let of = |&(weight, strength): &(f64, f64)| {
        let variance = 1.0 / strength;
        let Some(evidence) = evidence else { return own.log_evidence(variance) };
        let before = evidence.log_evidence(variance);
        if weight == 0.0 {
            return before + own.log_evidence(variance);
        }
        let weighted = evidence.scaled(weight);
        let mut both = weighted.clone();
        both.add(own);
        before + both.log_evidence(variance) - weighted.log_evidence(variance)
    };
    let found: Vec<f64> = grid.iter().map(of).collect();
    if found.iter().all(|value| value.is_finite()) { found } else { vec![0.0; grid.len()] }
}

/// The weight of the evidence and the strength of the ridge, for all pairs of them.
fn grid(weights: &[f64]) -> Vec<(f64, f64)> {
    let with = |&weight: &f64| STRENGTHS.iter().rev().map(move |&strength| (weight, strength));
    weights.iter().flat_map(with).collect()
}

/// The summed loss of rows left out, for each penalty.
fn losses(rows: &Rows, evidence: Option<&Summary>, grid: &[(f64, f64)], folds: &Folds) -> Vec<f64> {
    let mut losses = vec![0.0; grid.len()];
    let start = vec![0.0; rows.parameters()];
    for (kept, left_out) in folds.parts() {
        let (kept, left_out) = (rows.chosen(&kept), rows.chosen(&left_out));
        let fitted = along(&kept, evidence, grid, &start, ROUGH);
        for (loss, parameters) in losses.iter_mut().zip(fitted) {
            *loss += left_out.loss(&parameters);
        }
    }
    losses
}

/// Where the least of some values stands first.
fn first_least(values: &[f64]) -> usize {
    (0..values.len()).min_by(|&a, &b| values[a].total_cmp(&values[b])).unwrap_or(0)
}

/// The mean of the fits of all rows with each penalty, by their losses and likelihoods.
fn averaged(
    rows: &Rows,
    evidence: Option<&Summary>,
    grid: &[(f64, f64)],
    losses: Vec<f64>,
    log_likelihoods: &[f64],
) -> Tuned {
    let costs: Vec<f64> =
        losses.iter().zip(log_likelihoods).map(|(loss, likelihood)| loss - likelihood).collect();
    let best = first_least(&costs);
    let weight = |cost: &f64| (costs[best] - cost).exp();
    let total: f64 = costs.iter().map(weight).sum();
    let counts: Vec<(usize, f64)> = costs
        .iter()
        .map(|cost| weight(cost) / total)
        .enumerate()
        .filter(|(at, weight)| *weight >= NEGLIGIBLE || *at == best)
        .collect();
    let total: f64 = counts.iter().map(|(_, weight)| weight).sum();
    let used: Vec<(f64, f64)> = counts.iter().map(|(at, _)| grid[*at]).collect();
    let weight = counts.iter().map(|(at, weight)| weight / total * grid[*at].0).sum();
    let start = vec![0.0; rows.parameters()];
    let mut parameters = start.clone();
    for (fitted, (_, weight)) in along(rows, evidence, &used, &start, EXACT).zip(&counts) {
        for (mean, value) in parameters.iter_mut().zip(fitted) {
            *mean += weight / total * value;
        }
    }
    Tuned { parameters, weight, strength: grid[best].1, losses }
}

/// Fits with each of these penalties, each from the fit before.
fn along<'a>(
    rows: &'a Rows,
    evidence: Option<&'a Summary>,
    grid: &'a [(f64, f64)],
    start: &[f64],
    precision: f64,
) -> impl Iterator<Item = Vec<f64>> + 'a {
    let mut at = start.to_vec();
    let mut kept = Curvature::default();
    grid.iter().map(move |&(weight, strength)| {
        let evidence = evidence.map(|evidence| (evidence, weight));
        at = fit(rows, Penalty { evidence, strength }, &at, precision, &mut kept);
        at.clone()
    })
}

#[cfg(test)]
mod tests {
    use fedcompetitors_testing::repeat;

    use super::*;

    /// With one coefficient, likelihoods are integrals: of the evidence over coefficients of the ridge's variance, and
    /// of the own rows over those that are left after the evidence with its weight.
    #[test]
    fn likelihoods_are_integrals() {
        for case in 0..u64::from(repeat(20)) {
            let mut stream = Stream::new(case, "likelihoods", 0);
            let mut says = || (5.0 * stream.unit(), 6.0 * stream.unit() - 3.0);
            let (own, evidence) = (says(), says());
            let summary = |(curvature, linear)| Summary::new(vec![curvature], vec![linear]);
            let grid = grid(&WEIGHTS);
            let found = log_likelihoods(&summary(own), Some(&summary(evidence)), &grid);
            let alone = log_likelihoods(&summary(own), None, &grid);
            for (at, &(weight, strength)) in grid.iter().enumerate() {
                let deviation = strength.powf(-0.5);
                let integral = |parts: &[(f64, (f64, f64))]| -> f64 {
                    let density = |z: f64| {
                        let theta = deviation * z;
                        let of = |&(weight, (curvature, linear)): &(f64, (f64, f64))| {
                            weight * (linear * theta - 0.5 * curvature * theta * theta)
                        };
                        (parts.iter().map(of).sum::<f64>() - 0.5 * z * z).exp()
                    };
                    let steps = (-1000..=1000).map(|step| density(0.01 * f64::from(step)));
                    0.01 * steps.sum::<f64>() / std::f64::consts::TAU.sqrt()
                };
                let rows_after =
                    integral(&[(1.0, own), (weight, evidence)]) / integral(&[(weight, evidence)]);
                let expected = integral(&[(1.0, evidence)]).ln() + rows_after.ln();
                assert!((found[at] - expected).abs() < 1e-9, "{} {expected}", found[at]);
                let expected = integral(&[(1.0, own)]).ln();
                assert!((alone[at] - expected).abs() < 1e-9, "{} {expected}", alone[at]);
            }
        }
    }

    /// Likelihoods that rounding leaves undefined say nothing.
    #[test]
    fn undefined_likelihoods_do_not_count() {
        let grid = grid(&WEIGHTS);
        let broken = Summary::new(vec![-1e9], vec![1.0]);
        assert_eq!(log_likelihoods(&broken, None, &grid), vec![0.0; grid.len()]);
        let fine = Summary::new(vec![2.0], vec![1.0]);
        assert_eq!(log_likelihoods(&fine, Some(&broken), &grid), vec![0.0; grid.len()]);
    }

    /// The average, written out: each fit of all rows, by the losses of each fold's rows and by the likelihood.
    #[test]
    fn coefficients_are_averaged_by_losses_and_likelihoods() {
        for case in 0..u64::from(repeat(10)) {
            let mut stream = Stream::new(case, "averages", 0);
            let (count, columns) = (20 + stream.below(40) as usize, 1 + stream.below(4) as usize);
            let features: Vec<f64> = (0..count * columns).map(|_| stream.unit() - 0.5).collect();
            let labels: Vec<u32> = (0..count).map(|_| stream.below(2) as u32).collect();
            let rows = Rows::with_classes(features.into_iter(), columns, &labels, 1);
            let folds = Folds::new(&rows, 5, &Dependence::None, &mut stream);
            let exact = |rows: &Rows, strength| {
                let start = vec![0.0; rows.parameters()];
                let penalty = Penalty { evidence: None, strength };
                fit(rows, penalty, &start, EXACT, &mut Curvature::default())
            };
            let loss = |strength: f64| -> f64 {
                let of = |(kept, left_out): (Vec<u32>, Vec<u32>)| {
                    rows.chosen(&left_out).loss(&exact(&rows.chosen(&kept), strength))
                };
                folds.parts().map(of).sum()
            };
            let least = STRENGTHS.into_iter().min_by(|&a, &b| loss(a).total_cmp(&loss(b)));
            let own = Summary::of(&rows, &exact(&rows, least.expect("strengths")));
            let weight = |strength: f64| (own.log_evidence(1.0 / strength) - loss(strength)).exp();
            let total: f64 = STRENGTHS.into_iter().map(weight).sum();
            let found = tuned(&rows, &folds);
            for (at, value) in found.parameters.iter().enumerate() {
                let mean = STRENGTHS.map(|one| weight(one) / total * exact(&rows, one)[at]);
                let expected: f64 = mean.iter().sum();
                assert!((value - expected).abs() < 1e-2, "{value} {expected}");
            }
            let largest = STRENGTHS.into_iter().max_by(|&a, &b| weight(a).total_cmp(&weight(b)));
            assert!((found.strength - largest.expect("strengths")).abs() < 1e-9);
        }
    }

    /// Where rows stand in time, no penalty is chosen by a model that has seen later rows.
    #[test]
    fn folds_in_time_go_forward() {
        for times in [1_u32, 2, 3, 5, 6, 7, 40] {
            let times: Vec<u32> = (0..3 * times).map(|row| 3 * (row * 7 % times)).collect();
            let rows = Rows::with_values(times.iter().map(|_| 1.0), 1, &vec![0.0; times.len()]);
            let mut stream = Stream::new(1, "folds", 0);
            let folds = Folds::new(&rows, 5, &Dependence::Time(times.clone()), &mut stream);
            let distinct = times.iter().collect::<std::collections::BTreeSet<_>>().len();
            let parts: Vec<_> = folds.parts().collect();
            assert_eq!(parts.len(), 5.min(distinct - 1));
            let time = |row: &u32| times[*row as usize];
            let mut tested: Vec<&u32> = Vec::new();
            for (kept, left_out) in &parts {
                assert!(kept.iter().map(time).max() < left_out.iter().map(time).min());
                tested.extend(left_out);
            }
            // Each row after the first block is tested once, and so are rows of one time together.
            tested.sort_unstable();
            let first = parts.first().map_or(usize::MAX, |(kept, _)| kept.len());
            tested.dedup();
            assert!(parts.is_empty() || tested.len() + first == times.len());
        }
    }
}
