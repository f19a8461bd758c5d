//! Exact fits, summaries and relatedness against an independent implementation and brute force.

use fedcompetitors_graphs::random::Stream;
use fedcompetitors_learn::Dependence;
use fedcompetitors_learn::linear::{
    BadSummary, Curvature, Own, Penalty, Prepared, Relation, Rows, Summary, fit,
    likeliest_variance, log_evidences, relatedness,
};
use fedcompetitors_testing::repeat;
use rand_distr::{Distribution, StandardNormal};
use serde::Deserialize;

/// `cases/evidence.json`: federations with values of an independent implementation.
#[derive(Deserialize)]
struct Cases {
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    kind: String,
    prior_variance: f64,
    fractions: Vec<f64>,
    participants: Vec<Participant>,
    log_evidence: Vec<f64>,
    log_ratio: Vec<Vec<f64>>,
    saturation: Vec<Vec<f64>>,
    receivers: Vec<Receiver>,
}

#[derive(Deserialize)]
struct Participant {
    x: Vec<Vec<f64>>,
    y: Vec<f64>,
    strength: Option<f64>,
    theta: Option<Vec<f64>>,
    intercept: Option<f64>,
    curvature: Vec<Vec<f64>>,
    linear: Vec<f64>,
}

#[derive(Deserialize)]
struct Receiver {
    sources: Vec<usize>,
    curvature: Vec<Vec<f64>>,
    linear: Vec<f64>,
    weight: Option<f64>,
    strength: Option<f64>,
    theta: Option<Vec<f64>>,
    intercept: Option<f64>,
}

fn rows(participant: &Participant, is_logistic: bool) -> Rows {
    let columns = participant.x[0].len();
    let features = participant.x.iter().flatten().copied();
    if is_logistic {
        let labels: Vec<u32> = participant.y.iter().map(|&y| u32::from(y > 0.5)).collect();
        Rows::with_classes(features, columns, &labels, 1)
    } else {
        Rows::with_values(features, columns, &participant.y)
    }
}

fn exactly(rows: &Rows, evidence: Option<(&Summary, f64)>, strength: f64) -> Vec<f64> {
    let start = vec![0.0; rows.parameters()];
    fit(rows, Penalty { evidence, strength }, &start, 1e-20, &mut Curvature::default())
}

fn assert_near(found: &[f64], expected: &[f64], what: &str) {
    assert_eq!(found.len(), expected.len(), "{what}");
    for (found, expected) in found.iter().zip(expected) {
        let most = 1e-8 * expected.abs().max(1.0);
        assert!((found - expected).abs() <= most, "{what}: {found} instead of {expected}");
    }
}

#[test]
fn values_are_those_of_an_independent_implementation() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../cases/evidence.json");
    let text = std::fs::read_to_string(path).expect("golden cases");
    let cases: Cases = serde_json::from_str(&text).expect("golden cases");
    assert_eq!(cases.cases.len(), 2);
    for case in cases.cases {
        let is_logistic = case.kind == "logistic";
        let mut all = Vec::new();
        let mut prepared = Vec::new();
        for (at, participant) in case.participants.iter().enumerate() {
            let mut rows = rows(participant, is_logistic);
            let own = if let Some(strength) = participant.strength {
                let own = exactly(&rows, None, strength);
                let expected = participant.theta.clone().unwrap_or_default();
                assert_near(&own[..expected.len()], &expected, "own coefficients");
                assert_near(&own[3..], &[participant.intercept.unwrap_or(f64::NAN)], "intercept");
                own
            } else {
                let own = Own::new(rows.clone(), 5, &Dependence::None);
                rows = own.rows().clone();
                own.best().to_vec()
            };
            let summary = Summary::of(&rows, &own);
            assert_near(summary.curvature(), &participant.curvature.concat(), "curvature");
            assert_near(summary.linear(), &participant.linear, "linear");
            let evidence = summary.log_evidence(case.prior_variance);
            assert_near(&[evidence], &[case.log_evidence[at]], "evidence");
            prepared.push(Prepared::with_fractions(&summary, case.prior_variance, &case.fractions));
            all.push((rows, summary));
        }
        for (to, receiver) in case.receivers.iter().enumerate() {
            let mut sum = Summary::nothing(3);
            let mut sources = Vec::new();
            for from in (0..all.len()).filter(|&from| from != to) {
                let relation = relatedness(&prepared[to], &prepared[from]);
                assert_near(&[relation.log_ratio], &[case.log_ratio[to][from]], "ratio");
                assert_near(&[relation.saturation], &[case.saturation[to][from]], "saturation");
                if relation.is_related() {
                    sources.push(from);
                    sum.add(&all[from].1.saturated(relation.saturation).0);
                }
            }
            assert_eq!(sources, receiver.sources);
            assert_near(sum.curvature(), &receiver.curvature.concat(), "curvature of the sum");
            assert_near(sum.linear(), &receiver.linear, "linear part of the sum");
            if let (Some(weight), Some(strength)) = (receiver.weight, receiver.strength) {
                let found = exactly(&all[to].0, Some((&sum, weight)), strength);
                let mut expected = receiver.theta.clone().unwrap_or_default();
                expected.extend(receiver.intercept);
                assert_near(&found, &expected, "a receiver's coefficients");
            }
        }
    }
}

/// What the rows of a test predict.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Kind {
    Values,
    Classes(u32),
}

const KINDS: [Kind; 3] = [Kind::Values, Kind::Classes(2), Kind::Classes(3)];

fn normal(stream: &mut Stream) -> f64 {
    StandardNormal.sample(stream.source())
}

/// Random rows whose targets follow coefficients.
fn drawn(kind: Kind, count: usize, theta: &[f64], stream: &mut Stream) -> Rows {
    let columns = theta.len();
    let mut features = Vec::new();
    let (mut values, mut labels) = (Vec::new(), Vec::new());
    for _ in 0..count {
        let row: Vec<f64> = theta.iter().map(|_| normal(stream)).collect();
        let score: f64 = row.iter().zip(theta).map(|(a, b)| a * b).sum();
        values.push(3.0 + score + 0.5 * normal(stream));
        let third = u32::from(stream.unit() < 0.3);
        let label = u32::from(stream.unit() < 1.0 / (1.0 + (-score).exp()));
        labels.push(if matches!(kind, Kind::Classes(3)) { label + third } else { label });
        features.extend(row);
    }
    match kind {
        Kind::Values => Rows::with_values(features.into_iter(), columns, &values),
        Kind::Classes(classes) => {
            let outputs = if classes == 2 { 1 } else { classes as usize };
            Rows::with_classes(features.into_iter(), columns, &labels, outputs)
        }
    }
}

fn coefficients(columns: usize, stream: &mut Stream) -> Vec<f64> {
    (0..columns).map(|_| 0.7 * normal(stream)).collect()
}

/// The slope of a function by central differences.
fn slope(of: impl Fn(&[f64]) -> f64, at: &[f64]) -> Vec<f64> {
    let difference = |index: usize| {
        let shifted = |by: f64| {
            let mut at = at.to_vec();
            at[index] += by;
            of(&at)
        };
        (shifted(1e-5) - shifted(-1e-5)) / 2e-5
    };
    (0..at.len()).map(difference).collect()
}

/// A fit is where the objective is flat.
#[test]
fn a_fit_is_a_minimum() {
    for case in 0..u64::from(repeat(30)) {
        let mut stream = Stream::new(case, "fits", 0);
        let kind = KINDS[case as usize % 3];
        let theta = coefficients(3, &mut stream);
        let own = drawn(kind, 40, &theta, &mut stream);
        let other = drawn(kind, 60, &theta, &mut stream);
        let evidence = Summary::of(&other, &exactly(&other, None, 1.0));
        let (weight, strength) = (stream.unit(), 10.0 * stream.unit());
        let found = exactly(&own, Some((&evidence, weight)), strength);
        let size = own.coefficients();
        let objective = |at: &[f64]| {
            let (theta, intercepts) = at.split_at(size);
            let product = |row: &[f64]| row.iter().zip(theta).map(|(a, b)| a * b).sum::<f64>();
            let curved: f64 =
                evidence.curvature().chunks(size).zip(theta).map(|(h, t)| t * product(h)).sum();
            let squares = |values: &[f64]| values.iter().map(|value| value * value).sum::<f64>();
            own.loss(at)
                + weight * (0.5 * curved - product(evidence.linear()))
                + 0.5 * strength * squares(theta)
                + 0.5e-3 * squares(intercepts)
        };
        for slope in slope(objective, &found) {
            assert!(slope.abs() < 1e-5, "{kind:?}: {slope}");
        }
    }
}

/// The summary's slope and curvature are those of the loss whose intercepts are at their best values.
#[test]
fn intercepts_are_profiled_out() {
    for case in 0..u64::from(repeat(15)) {
        let mut stream = Stream::new(case, "profiles", 0);
        let kind = KINDS[case as usize % 3];
        let theta = coefficients(2, &mut stream);
        let rows = drawn(kind, 50, &theta, &mut stream);
        let own = exactly(&rows, None, 2.0);
        let size = rows.coefficients();
        let summary = Summary::of(&rows, &own);
        let profiled = |theta: &[f64]| {
            // Steps along each intercept in turn, which is slow and simple.
            let mut at = [theta, &own[size..]].concat();
            for step in (0..60).map(|power| 0.7_f64.powi(power)) {
                for index in size..at.len() {
                    for sign in [1.0, -1.0] {
                        loop {
                            let mut next = at.clone();
                            next[index] += sign * step;
                            if rows.loss(&next) >= rows.loss(&at) {
                                break;
                            }
                            at = next;
                        }
                    }
                }
            }
            rows.loss(&at)
        };
        // −b + Hθ is the slope of the loss there.
        let slopes: Vec<f64> = (0..size)
            .map(|at| {
                let row = &summary.curvature()[at * size..][..size];
                row.iter().zip(&own).map(|(a, b)| a * b).sum::<f64>() - summary.linear()[at]
            })
            .collect();
        for (found, expected) in slopes.iter().zip(slope(profiled, &own[..size])) {
            assert!((found - expected).abs() < 1e-4, "{kind:?}: {found} instead of {expected}");
        }
        let along: Vec<f64> = (0..size).map(|_| normal(&mut stream)).collect();
        let at = |by: f64| {
            let moved: Vec<f64> = own.iter().zip(&along).map(|(a, b)| a + by * b).collect();
            profiled(&moved)
        };
        let expected = (at(1e-2) - 2.0 * at(0.0) + at(-1e-2)) / 1e-4;
        let product = |row: &[f64]| row.iter().zip(&along).map(|(a, b)| a * b).sum::<f64>();
        let rows = summary.curvature().chunks(size).zip(&along);
        let found: f64 = rows.map(|(row, value)| value * product(row)).sum();
        assert!((found - expected).abs() < 1e-2 * found.max(1.0), "{kind:?}: {found} {expected}");
    }
}

/// With all of the evidence of others, not saturated, a fit is the fit to everybody's rows with own
/// intercepts; of least squares exactly.
#[test]
fn full_evidence_is_the_pooled_fit() {
    let mut stream = Stream::new(3, "pooled", 0);
    let theta = coefficients(4, &mut stream);
    let drawn: Vec<Rows> =
        (0..3).map(|at| drawn(Kind::Values, 40 + 10 * at, &theta, &mut stream)).collect();
    let mut sum = Summary::nothing(4);
    for rows in &drawn[1..] {
        sum.add(&Summary::of(rows, &exactly(rows, None, 1.0)).saturated(0.0).0);
    }
    let found = exactly(&drawn[0], Some((&sum, 1.0)), 2.0);
    // The slope of the summed loss of all, each with its own intercept, and the ridge.
    let mut slopes = vec![0.0; 4];
    for (at, rows) in drawn.iter().enumerate() {
        let loss = |theta: &[f64]| {
            let best = |intercept: f64| rows.loss(&[theta, &[intercept]].concat());
            let (zero, one, two) = (best(0.0), best(1.0), best(-1.0));
            // A parabola's lowest value.
            let (bend, tilt) = (one + two - 2.0 * zero, 0.5 * (one - two));
            zero - 0.5 * tilt * tilt / bend
        };
        let ridge = if at == 0 { 2.0 } else { 0.0 };
        for (sum, (slope, value)) in
            slopes.iter_mut().zip(slope(loss, &found[..4]).iter().zip(&found))
        {
            *sum += slope + ridge * value;
        }
    }
    // But for the small ridge on the receiver's intercept.
    assert!(slopes.iter().all(|slope| slope.abs() < 1e-4), "{slopes:?}");
}

/// The solution of a square system by elimination with pivots.
fn solved(mut matrix: Vec<Vec<f64>>, mut right: Vec<f64>) -> Vec<f64> {
    let size = right.len();
    for at in 0..size {
        let pivot = (at..size).max_by(|&a, &b| matrix[a][at].abs().total_cmp(&matrix[b][at].abs()));
        let pivot = pivot.expect("a row");
        matrix.swap(at, pivot);
        right.swap(at, pivot);
        for row in (0..size).filter(|&row| row != at) {
            let factor = matrix[row][at] / matrix[at][at];
            let from = matrix[at].clone();
            matrix[row].iter_mut().zip(&from).for_each(|(value, from)| *value -= factor * from);
            right[row] -= factor * right[at];
        }
    }
    (0..size).map(|at| right[at] / matrix[at][at]).collect()
}

/// Least squares with all evidence of others, not saturated, are the solution of the pooled normal equations
/// with an intercept for each participant.
#[test]
fn full_evidence_solves_the_pooled_normal_equations() {
    for case in 0..u64::from(repeat(10)) {
        let mut stream = Stream::new(case, "normal equations", 0);
        let (columns, count, strength) = (5, 4, 3.0);
        let theta = coefficients(columns, &mut stream);
        let mut sum = Summary::nothing(columns);
        let mut own = None;
        // Coefficients, then an intercept for each participant.
        let size = columns + count;
        let (mut matrix, mut right) = (vec![vec![0.0; size]; size], vec![0.0; size]);
        for participant in 0..count {
            let rows = 30 + 7 * participant;
            let features: Vec<f64> = (0..rows * columns).map(|_| normal(&mut stream)).collect();
            let value = |row: &[f64]| row.iter().zip(&theta).map(|(a, b)| a * b).sum::<f64>();
            let values: Vec<f64> = features
                .chunks(columns)
                .map(|row| 10.0 + value(row) + normal(&mut stream))
                .collect();
            let mean = values.iter().sum::<f64>() / rows as f64;
            let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
            let deviation = (squares / rows as f64).sqrt();
            for (row, value) in features.chunks(columns).zip(&values) {
                let mut row = row.to_vec();
                row.extend((0..count).map(|at| f64::from(u8::from(at == participant))));
                for a in 0..size {
                    for b in 0..size {
                        matrix[a][b] += row[a] * row[b];
                    }
                    right[a] += row[a] * (value - mean) / deviation;
                }
            }
            let rows = Rows::with_values(features.into_iter(), columns, &values);
            if participant == 0 {
                own = Some(rows);
            } else {
                let fitted = exactly(&rows, None, 20.0);
                sum.add(&Summary::of(&rows, &fitted).saturated(0.0).0);
            }
        }
        (0..columns).for_each(|at| matrix[at][at] += strength);
        matrix[columns][columns] += 1e-3;
        let expected = solved(matrix, right);
        let found = exactly(&own.expect("the receiver"), Some((&sum, 1.0)), strength);
        assert_near(&found, &expected[..=columns], "pooled");
    }
}

/// The evidence is the integral over coefficients.
#[test]
fn evidence_is_an_integral() {
    let steps = || (-4000..=4000).map(|at| f64::from(at) * 2.5e-3);
    let density = |value: f64, variance: f64| {
        (-0.5 * value * value / variance).exp() / (std::f64::consts::TAU * variance).sqrt()
    };
    for (curvature, linear, variance) in [(0.0, 0.0, 1.0), (3.0, 2.0, 0.5), (20.0, -9.0, 0.1)] {
        let says = |theta: f64| (linear * theta - 0.5 * curvature * theta * theta).exp();
        let integral: f64 =
            steps().map(|theta| 2.5e-3 * says(theta) * density(theta, variance)).sum();
        let found = Summary::new(vec![curvature], vec![linear]).log_evidence(variance);
        assert!((found - integral.ln()).abs() < 1e-9, "{found} instead of {}", integral.ln());
    }
}

/// The relation of two summaries of one coefficient, by integrating over a common and two own parts.
#[test]
fn relatedness_is_a_ratio_of_integrals() {
    let (first, second, variance) = ((8.0, 4.0), (5.0, 1.0), 0.7);
    let prepared = |(curvature, linear): (f64, f64)| {
        Prepared::new(&Summary::new(vec![curvature], vec![linear]), variance)
    };
    let found = relatedness(&prepared(first), &prepared(second));
    let steps = || (-400..=400).map(|at| f64::from(at) * 0.015);
    let density = |value: f64, variance: f64| {
        (-0.5 * value * value / variance).exp() / (std::f64::consts::TAU * variance).sqrt()
    };
    let says = |(curvature, linear): (f64, f64), theta: f64| {
        (linear * theta - 0.5 * curvature * theta * theta).exp()
    };
    let alone = |of| -> f64 {
        steps().map(|theta| 0.015 * says(of, theta) * density(theta, variance)).sum()
    };
    let together: Vec<f64> = FRACTIONS
        .iter()
        .map(|part| {
            let own = |of, common: f64| -> f64 {
                let part = part * variance;
                steps().map(|own| 0.015 * says(of, common + own) * density(own, part)).sum()
            };
            steps()
                .map(|common| {
                    let both = own(first, common) * own(second, common);
                    0.015 * both * density(common, (1.0 - part) * variance)
                })
                .sum()
        })
        .collect();
    assert_relation(found, &together, alone(first) * alone(second), variance);
}

/// A summary of two coefficients that depend on each other: `H` and `b`.
type Two = ([f64; 3], [f64; 2]);

/// What it says of coefficients, up to its constant.
fn says(([first, both, second], linear): Two, [a, b]: [f64; 2]) -> f64 {
    let curved = first * a * a + 2.0 * both * a * b + second * b * b;
    (linear[0] * a + linear[1] * b - 0.5 * curved).exp()
}

/// The integral of a function over two normal variables: steps of half a deviation are exact to far more digits
/// than are compared, as the functions are normal themselves.
fn integral(variance: f64, step: f64, of: impl Fn([f64; 2]) -> f64) -> f64 {
    let deviation = variance.sqrt();
    let most = (7.0 / step).ceil() as i32;
    let places = || (-most..=most).map(|at| step * f64::from(at));
    let density = |z: f64| step * (-0.5 * z * z).exp() / std::f64::consts::TAU.sqrt();
    let row = |x: f64| -> f64 {
        let each = places().map(|y| density(y) * of([x * deviation, y * deviation]));
        density(x) * each.sum::<f64>()
    };
    places().map(row).sum()
}

/// The fractions of the variance that may be each participant's own.
const FRACTIONS: [f64; 5] = [0.03, 0.1, 0.3, 0.6, 0.85];

/// A relation is what follows from the likelihoods of two data sets: with each fraction, and of two tasks.
fn assert_relation(found: Relation, together: &[f64], apart: f64, variance: f64) {
    let sum: f64 = together.iter().sum();
    let ratio = sum / together.len() as f64 / apart;
    assert!((found.log_ratio - ratio.ln()).abs() < 1e-6, "{} {}", found.log_ratio, ratio.ln());
    let likeliest = (0..together.len()).max_by(|&a, &b| together[a].total_cmp(&together[b]));
    let likeliest = FRACTIONS[likeliest.expect("several fractions")];
    assert_near(&[found.saturation], &[2.0 * likeliest * variance], "saturation");
    // One task with a fraction has half of the probability, divided by likelihood; two tasks are the fraction 1.
    let parts =
        FRACTIONS.iter().zip(together).map(|(part, of)| (*part, of / FRACTIONS.len() as f64));
    let all: Vec<(f64, f64)> = parts.chain([(1.0, apart)]).collect();
    let total: f64 = all.iter().map(|(_, likelihood)| likelihood).sum();
    let mean: f64 = all.iter().map(|(part, likelihood)| part * likelihood / total).sum();
    let expected = 2.0 * mean * variance;
    assert!((found.expected() - expected).abs() < 1e-6, "{} {expected}", found.expected());
}

/// In two dimensions, with coefficients that depend on each other: evidence and ratio are integrals over
/// coefficients, and over a common and two own parts.
#[test]
fn evidence_and_relatedness_are_integrals_in_two_dimensions() {
    let variance = 0.6;
    let summary = |([first, both, second], linear): Two| {
        Summary::new(vec![first, both, both, second], linear.to_vec())
    };
    let pairs: [[Two; 2]; 2] = [
        [([4.0, 1.5, 3.0], [1.0, -2.0]), ([2.5, -0.5, 5.0], [0.5, 1.0])],
        [([6.0, -2.0, 3.0], [3.0, 0.5]), ([3.0, -1.0, 2.0], [1.5, 0.2])],
    ];
    for [first, second] in pairs {
        let alone = |of: Two| integral(variance, 0.1, |theta| says(of, theta));
        for one in [first, second] {
            assert_near(&[summary(one).log_evidence(variance)], &[alone(one).ln()], "evidence");
        }
        let together: Vec<f64> = FRACTIONS
            .iter()
            .map(|part| {
                let own = |of: Two, [a, b]: [f64; 2]| {
                    let at = |[x, y]: [f64; 2]| says(of, [a + x, b + y]);
                    integral(part * variance, 0.4, at)
                };
                let both = |common: [f64; 2]| own(first, common) * own(second, common);
                integral((1.0 - part) * variance, 0.25, both)
            })
            .collect();
        let prepared = [first, second].map(|one| Prepared::new(&summary(one), variance));
        let found = relatedness(&prepared[0], &prepared[1]);
        assert_relation(found, &together, alone(first) * alone(second), variance);
    }
}

/// Participants of one task are all related, those of two tasks only within each.
#[test]
fn tasks_are_told_apart() {
    for seed in 0..u64::from(repeat(3)) {
        let mut stream = Stream::new(seed, "tasks", 0);
        let task = coefficients(8, &mut stream);
        let tasks = [task.clone(), task.iter().map(|value| -value).collect()];
        let related = |of: &dyn Fn(usize) -> usize, stream: &mut Stream| -> Vec<bool> {
            let summaries: Vec<Summary> = (0..6)
                .map(|at| {
                    let rows = drawn(Kind::Classes(2), 200, &tasks[of(at)], stream);
                    Own::new(rows, 5, &Dependence::None).summary(0)
                })
                .collect();
            let evidences: Vec<Vec<f64>> = summaries.iter().map(log_evidences).collect();
            let variance = likeliest_variance(evidences.iter().map(|of| &of[..]));
            let prepared: Vec<Prepared> =
                summaries.iter().map(|summary| Prepared::new(summary, variance)).collect();
            let pairs = (0..6).flat_map(|a| (a + 1..6).map(move |b| (a, b)));
            pairs.map(|(a, b)| relatedness(&prepared[a], &prepared[b]).is_related()).collect()
        };
        assert!(related(&|_| 0, &mut stream).into_iter().all(|is_related| is_related));
        let two = related(&|at| at % 2, &mut stream);
        let same = (0..6).flat_map(|a| (a + 1..6).map(move |b| a % 2 == b % 2));
        assert_eq!(two, same.collect::<Vec<_>>(), "seed {seed}");
    }
}

/// Targets in another unit change neither summaries nor, but for the unit, coefficients.
#[test]
fn the_unit_of_targets_does_not_matter() {
    let mut stream = Stream::new(5, "units", 0);
    let theta = coefficients(3, &mut stream);
    let features: Vec<f64> = (0..90).map(|_| normal(&mut stream)).collect();
    let values: Vec<f64> = features
        .chunks(3)
        .map(|row| row.iter().zip(&theta).map(|(a, b)| a * b).sum::<f64>() + normal(&mut stream))
        .collect();
    let of = |unit: f64| {
        let values: Vec<f64> = values.iter().map(|value| 40.0 + unit * value).collect();
        let own =
            Own::new(Rows::with_values(features.iter().copied(), 3, &values), 5, &Dependence::None);
        (own.summary(0), own.parameters())
    };
    let ((first, small), (second, large)) = (of(1.0), of(1000.0));
    assert_near(first.curvature(), second.curvature(), "curvature");
    assert_near(first.linear(), second.linear(), "linear");
    for (small, large) in small.iter().zip(&large).take(3) {
        assert!((1000.0 * small - large).abs() < 1e-3 * large.abs().max(1.0), "{small} {large}");
    }
}

/// Whatever a participant's rows are, a fit and a summary are finite, and the summary can be sent.
#[test]
fn poor_data_gives_finite_summaries() {
    let mut stream = Stream::new(6, "poor", 0);
    let mut features =
        |count: usize| -> Vec<f64> { (0..count).map(|_| normal(&mut stream)).collect() };
    let alternating =
        |count: u32, classes: u32| (0..count).map(|at| at % classes).collect::<Vec<_>>();
    let classes = |features: Vec<f64>, columns, labels: &[u32], count| {
        let outputs = if count == 2 { 1 } else { count };
        Rows::with_classes(features.into_iter(), columns, labels, outputs)
    };
    let all = [
        ("one class", classes(features(60), 3, &[1; 20], 2)),
        ("one class of three", classes(features(60), 3, &[2; 20], 3)),
        ("two classes of three", classes(features(60), 3, &alternating(20, 2), 3)),
        ("three rows", classes(features(6), 2, &[0, 1, 1], 2)),
        ("one row", classes(features(2), 2, &[1], 2)),
        ("constant columns", classes(vec![0.0; 40], 2, &alternating(20, 2), 2)),
        ("more columns than rows", classes(features(600), 60, &alternating(10, 2), 2)),
        (
            "separated classes",
            classes((0..20).map(f64::from).collect(), 1, &[[0; 10], [1; 10]].concat(), 2),
        ),
        (
            "huge numbers",
            classes(
                features(40).into_iter().map(|x| 1e30 * x).collect(),
                2,
                &alternating(20, 2),
                2,
            ),
        ),
        ("equal values", Rows::with_values(features(60).into_iter(), 3, &[7.0; 20])),
        ("one value", Rows::with_values(features(3).into_iter(), 3, &[7.0])),
        (
            "fewer values than columns",
            Rows::with_values(features(200).into_iter(), 20, &features(10)),
        ),
        (
            "values without noise",
            Rows::with_values(
                (0..20).map(f64::from),
                1,
                &(0..20).map(f64::from).collect::<Vec<_>>(),
            ),
        ),
    ];
    for (name, rows) in all {
        let own = Own::new(rows, 5, &Dependence::None);
        assert!(own.parameters().iter().all(|value| value.is_finite()), "{name}");
        let (summary, rows) = (own.summary(0), own.rows());
        let all = summary.curvature().iter().chain(summary.linear());
        assert!(all.copied().all(f64::is_finite), "{name}");
        if name.starts_with("one ") || name == "equal values" {
            assert_eq!(summary, Summary::nothing(rows.coefficients()), "{name}");
        }
        let message = summary.to_message();
        if name != "huge numbers" {
            Summary::from_message(rows.coefficients(), &message).expect(name);
        }
        let (with_others, weight) = own.with_evidence(&summary);
        assert!(with_others.iter().all(|value| value.is_finite()), "{name}");
        assert!((0.0..=1.0).contains(&weight), "{name}: {weight}");
    }
}

/// With more columns than rows, fits take place in the span of the rows, and are those of all columns.
#[test]
fn more_columns_than_rows_change_no_fit() {
    for (case, kind) in KINDS.into_iter().enumerate() {
        let mut stream = Stream::new(8 + case as u64, "wide", 0);
        let theta = coefficients(40, &mut stream);
        let rows = drawn(kind, 24, &theta, &mut stream);
        let own = Own::new(rows, 4, &Dependence::None);
        // The best fit is a minimum of the loss with some strength, which its own slope shows.
        let size = own.rows().coefficients();
        let slopes = slope(|at| own.rows().loss(at), own.best());
        let products = slopes.iter().zip(own.best()).take(size);
        let (along, square) = products.fold((0.0, 0.0), |(along, square), (slope, value)| {
            (along + slope * value, square + value * value)
        });
        let strength = -along / square;
        let nearest = [1.0, 5.0, 20.0, 80.0, 300.0, 1000.0]
            .into_iter()
            .min_by(|a: &f64, b: &f64| (a - strength).abs().total_cmp(&(b - strength).abs()));
        let nearest = nearest.expect("six strengths");
        assert!((strength / nearest - 1.0).abs() < 1e-3, "{kind:?}: {strength}");
        let expected = exactly(own.rows(), None, nearest);
        for (found, expected) in own.best().iter().zip(&expected) {
            assert!((found - expected).abs() < 1e-5, "{kind:?}: {found} instead of {expected}");
        }
    }
}

/// A participant with thousands of columns and few rows is fitted at once.
#[test]
fn thousands_of_columns_are_cheap() {
    let mut stream = Stream::new(9, "wide", 0);
    let rows = drawn(Kind::Classes(2), 60, &coefficients(3000, &mut stream), &mut stream);
    let before = std::time::Instant::now();
    let own = Own::new(rows, 5, &Dependence::None);
    assert!(own.parameters().iter().all(|value| value.is_finite()));
    // A factorisation of all columns alone takes longer.
    assert!(before.elapsed().as_secs_f64() < 5.0, "{:?}", before.elapsed());
}

/// Columns that are the same in nearly all rows are not in a summary.
#[test]
fn rare_columns_are_left_out() {
    let mut stream = Stream::new(7, "rare", 0);
    let features = (0..40).flat_map(|row| {
        let rare = if row < 4 { 1.0 } else { 0.0 };
        let other = if row < 35 { 1.0 } else { 0.0 };
        [normal(&mut stream), rare, other, 1.0 - rare]
    });
    let features: Vec<f64> = features.collect();
    let labels: Vec<u32> = (0..40).map(|row| u32::from(row % 3 == 0)).collect();
    let own =
        Own::new(Rows::with_classes(features.into_iter(), 4, &labels, 1), 5, &Dependence::None);
    assert_eq!(own.rows().rare_columns(5), [1, 3]);
    assert_eq!(own.rows().rare_columns(4), [0; 0]);
    let (all, some) = (own.summary(0), own.summary(5));
    for row in 0..4 {
        for column in 0..4 {
            let at = 4 * row + column;
            let is_out = row % 2 == 1 || column % 2 == 1;
            let expected = if is_out { 0.0 } else { all.curvature()[at] };
            assert_eq!(some.curvature()[at].to_bits(), expected.to_bits());
        }
    }
    assert_eq!(some.linear(), [all.linear()[0], 0.0, all.linear()[2], 0.0]);
}

#[test]
fn summaries_that_are_none_are_refused() {
    let refused = |numbers: &[f32]| Summary::from_message(2, numbers).expect_err("no summary");
    assert_eq!(refused(&[1.0, 0.0, 1.0, 0.0]), BadSummary::Length);
    assert_eq!(refused(&[1.0, f32::NAN, 1.0, 0.0, 0.0]), BadSummary::NotFinite);
    assert_eq!(refused(&[1.0, 0.0, 1.0, f32::INFINITY, 0.0]), BadSummary::NotFinite);
    assert_eq!(refused(&[1.0, 2.0, 1.0, 0.0, 0.0]), BadSummary::NotPositive);
    assert_eq!(refused(&[-1.0, 0.0, -1.0, 0.0, 0.0]), BadSummary::NotPositive);
    assert!(Summary::from_message(2, &[0.0; 5]).is_ok());
    let random = |case: u64| {
        let mut stream = Stream::new(case, "messages", 0);
        let theta = coefficients(6, &mut stream);
        let rows = drawn(Kind::Classes(2), 5 + stream.below(60) as usize, &theta, &mut stream);
        let summary = Summary::of(&rows, &exactly(&rows, None, 1.0));
        let sent = Summary::from_message(6, &summary.to_message()).expect("a summary");
        let largest = summary.trace();
        for (sent, own) in sent.curvature().iter().zip(summary.curvature()) {
            assert!((sent - own).abs() <= 2e-7 * largest);
        }
    };
    (0..u64::from(repeat(50))).for_each(random);
}
