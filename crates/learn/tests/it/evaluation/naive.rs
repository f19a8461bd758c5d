//! Figures and intervals by their definitions, on copies of rows.

#![expect(clippy::cast_sign_loss, reason = "classes and places are counted from 0")]

use fedcompetitors_graphs::random::Stream;
use fedcompetitors_learn::Targets;

use super::Case;

/// The probabilities of the classes.
fn probabilities(outputs: &[f64]) -> Vec<f64> {
    if let [odds] = outputs {
        return vec![1.0 / (1.0 + odds.exp()), 1.0 / (1.0 + (-odds).exp())];
    }
    let total: f64 = outputs.iter().map(|output| output.exp()).sum();
    outputs.iter().map(|output| output.exp() / total).collect()
}

/// The metrics by their definitions, of rows that stand there as often as they count: a numerator and a
/// denominator.
fn fraction(metric: &str, rows: &[(Vec<f64>, f64)]) -> (f64, f64) {
    let count = rows.len() as f64;
    let sum = |of: &dyn Fn(&[f64], f64) -> f64| -> f64 {
        rows.iter().map(|(outputs, target)| of(outputs, *target)).sum()
    };
    match metric {
        "mse" => (sum(&|outputs, target| (outputs[0] - target).powi(2)), count),
        "r2" => {
            let mean = sum(&|_, target| target) / count;
            let errors = sum(&|outputs, target| (outputs[0] - target).powi(2));
            let variance = sum(&|_, target| (target - mean).powi(2));
            let is_constant = variance < 1e-20;
            if is_constant { (-errors, 0.0) } else { (variance - errors, variance) }
        }
        "log-loss" => {
            (sum(&|outputs, target| -probabilities(outputs)[target as usize].ln()), count)
        }
        "brier" => {
            let error = |outputs: &[f64], target: f64| {
                let errors = probabilities(outputs).into_iter().enumerate();
                let errors =
                    errors.map(|(class, p)| (p - f64::from(class as f64 == target)).powi(2));
                errors.sum::<f64>() / if outputs.len() == 1 { 2.0 } else { 1.0 }
            };
            (sum(&error), count)
        }
        "accuracy" => {
            let is_right = |outputs: &[f64], target: f64| {
                let found = probabilities(outputs);
                let most = found.iter().copied().fold(0.0, f64::max);
                // Of equals the first.
                let first = found.iter().position(|p| *p == most).expect("a class");
                f64::from(first as f64 == target)
            };
            (sum(&is_right), count)
        }
        "auc" => {
            let of = |class: f64| rows.iter().filter(move |row| row.1 == class);
            let won = |one: f64, zero: f64| {
                if one > zero { 1.0 } else { f64::from(one == zero) / 2.0 }
            };
            let pairs = of(1.0).flat_map(|one| of(0.0).map(move |zero| won(one.0[0], zero.0[0])));
            (pairs.clone().sum(), pairs.count() as f64)
        }
        other => unreachable!("{other}"),
    }
}

/// A method's figure where each row stands there as often as it was drawn.
pub(super) fn figure(metric: &str, case: &Case, method: usize, drawn: &[usize]) -> Option<f64> {
    let folds = &case.methods[method];
    let repeats = folds.iter().map(|fold| fold.repeat).max()? + 1;
    let mut sum = 0.0;
    for repeat in 0..repeats {
        let (mut numerator, mut denominator) = (0.0, 0.0);
        for fold in folds.iter().filter(|fold| fold.repeat == repeat) {
            let width = fold.outputs.len() / fold.rows.len();
            let mut rows = Vec::new();
            for drawn in drawn {
                if let Some(at) = fold.rows.iter().position(|row| row == drawn) {
                    let target = match &case.targets {
                        Targets::Values(values) => f64::from(values[*drawn]),
                        Targets::Classes { labels, .. } => f64::from(labels[*drawn]),
                    };
                    rows.push((fold.outputs[at * width..][..width].to_vec(), target));
                }
            }
            let (above, below) = fraction(metric, &rows);
            numerator += if rows.is_empty() { 0.0 } else { above };
            denominator += below;
        }
        if denominator == 0.0 {
            return None;
        }
        sum += numerator / denominator;
    }
    Some(sum / repeats as f64)
}

/// The rows of each draw, by the same stream.
pub(super) fn draws(
    case: &Case,
    seed: u64,
    participant: usize,
    replicates: usize,
) -> Vec<Vec<usize>> {
    let mut names = case.units.clone();
    let mut seen = Vec::new();
    names.retain(|name| !seen.contains(name) && (seen.push(*name), true).1);
    let mut stream = Stream::new(seed, "bootstrap", participant as u64);
    let draw = |_| {
        let drawn = (0..names.len()).map(|_| names[stream.below(names.len() as u64) as usize]);
        let rows = |name| (0..case.units.len()).filter(move |&row| case.units[row] == name);
        drawn.flat_map(rows).collect()
    };
    if names.len() < 2 { Vec::new() } else { (0..replicates).map(draw).collect() }
}

/// A figure by its value and those of its draws.
pub(super) fn summary(value: Option<f64>, draws: &[Option<f64>]) -> [Option<f64>; 3] {
    let mut sorted: Vec<f64> = draws.iter().copied().flatten().collect();
    sorted.sort_by(f64::total_cmp);
    if value.is_none() || sorted.is_empty() || 2 * sorted.len() < draws.len() {
        return [value, None, None];
    }
    let quantile = |hundredths: f64| {
        let place = hundredths / 100.0 * (sorted.len() - 1) as f64;
        let (at, part) = (place.floor() as usize, place - place.floor());
        Some(sorted[at] * (1.0 - part) + sorted[(at + 1).min(sorted.len() - 1)] * part)
    };
    [value, quantile(2.5), quantile(97.5)]
}
