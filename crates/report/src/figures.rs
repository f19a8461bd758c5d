//! The figures of a run: means, deviations over the seeds, gains over Local.

use std::collections::BTreeMap;

use fedcompetitors_graphs::shown;
use fedcompetitors_record::{Cell, Direction, Method, Role, Spread, Summary};

/// Within this a gain counts as about the same.
pub const LITTLE: f64 = 0.005;

/// The spread of some values; none if there are none.
pub fn spread(values: &[f64]) -> Option<Spread> {
    (!values.is_empty()).then(|| Spread::of(values))
}

/// A figure, with its deviation where there are several seeds.
pub fn shown_spread(found: Option<Spread>, seeds: usize) -> String {
    match found {
        None => "–".into(),
        Some(Spread { mean, .. }) if seeds < 2 => format!("{mean:.3}"),
        Some(Spread { mean, deviation, .. }) => format!("{mean:.3} ± {deviation:.3}"),
    }
}

/// A gain, with its deviation where there are several seeds.
pub fn shown_gain(found: Option<Spread>, seeds: usize) -> String {
    match found {
        None => "–".into(),
        Some(Spread { mean, .. }) if seeds < 2 => signed(mean),
        Some(Spread { mean, deviation, .. }) => format!("{} ± {deviation:.3}", signed(mean)),
    }
}

/// A gain with its sign; what rounds to zero has a plus.
fn signed(gain: f64) -> String {
    let gain = if gain.abs() < 0.0005 { 0.0 } else { gain };
    format!("{gain:+.3}")
}

/// The method that all are compared with, where the run includes it.
pub fn local(summary: &Summary) -> Option<&Method> {
    summary.methods.iter().find(|method| method.is_local)
}

/// The number of finished seeds.
pub fn seeds(summary: &Summary) -> usize {
    summary.methods.iter().map(|method| method.cells.len()).max().unwrap_or(0)
}

/// A participant's test figure with a method: mean and deviation over the seeds.
pub fn figure(method: &Method, participant: usize) -> Option<Spread> {
    let cells = method.cells.iter();
    spread(&cells.filter_map(|(_, cells)| cells[participant].test).collect::<Vec<_>>())
}

/// The gain of a participant over Local with a method: mean and deviation over the seeds.
pub fn gain(summary: &Summary, method: &Method, participant: usize) -> Option<Spread> {
    let local = local(summary)?;
    let sign = match summary.metric.direction {
        Direction::Higher => 1.0,
        Direction::Lower => -1.0,
    };
    let of = |cells: &[Cell]| cells[participant].test;
    let gains = method.cells.iter().zip(&local.cells);
    let gains = gains.filter_map(|((_, with), (_, alone))| Some(sign * (of(with)? - of(alone)?)));
    spread(&gains.collect::<Vec<_>>())
}

/// The participants from which a participant has learned, itself included, with their weights:
/// means over the seeds.
pub fn weights(method: &Method, participant: usize) -> BTreeMap<usize, f32> {
    let mut weights = BTreeMap::new();
    for (_, cells) in &method.cells {
        for &(who, part) in &cells[participant].parts {
            *weights.entry(who).or_default() += part / method.cells.len() as f32;
        }
    }
    weights
}

/// The others from which a participant has learned with the federation's own method, the largest
/// weight first.
pub fn collaborators(summary: &Summary, participant: usize) -> Vec<(usize, f32)> {
    let weights = summary.own().map(|own| weights(own, participant)).unwrap_or_default();
    let mut others: Vec<_> = weights.into_iter().filter(|one| one.0 != participant).collect();
    others.sort_by(|a, b| b.1.total_cmp(&a.1));
    others
}

/// Whether others' data was delivered to a participant, whether its model kept it or not.
pub fn was_offered(summary: &Summary, participant: usize) -> bool {
    let cells = summary.own().into_iter().flat_map(|own| &own.cells);
    cells.flat_map(|(_, cells)| &cells[participant].provenance).any(|&who| who != participant)
}

/// The meaning of the figures.
pub fn legend(summary: &Summary) -> String {
    let better = summary.metric.direction.name();
    let seeds = match seeds(summary) {
        0 | 1 => "",
        _ => ", mean ± deviation over the seeds",
    };
    format!(
        "{} on each participant's own test data{seeds} ({better} is better);\neach participant keeps the model that is best on its own validation data.",
        summary.metric.name
    )
}

/// One row for each method: its name, figure, gain, participants better and worse off,
/// gradients, and what moved.
pub fn comparison(summary: &Summary) -> Vec<Vec<String>> {
    summary.methods.iter().map(|method| compared(summary, method)).collect()
}

fn compared(summary: &Summary, method: &Method) -> Vec<String> {
    let mean_of_seed = |(_, cells): &(u64, Vec<Cell>)| {
        let values: Vec<f64> = cells.iter().filter_map(|cell| cell.test).collect();
        spread(&values).map(|found| found.mean)
    };
    let means: Vec<f64> = method.cells.iter().filter_map(mean_of_seed).collect();
    let gains = (0..summary.participants.len()).filter_map(|at| gain(summary, method, at));
    let gains: Vec<f64> = gains.map(|gain| gain.mean).collect();
    let count = |wanted: fn(f64) -> bool| gains.iter().filter(|gain| wanted(**gain)).count();
    let name = match method.role {
        Role::Reference => format!("{} (reference)", method.name),
        Role::Own | Role::Baseline => method.name.clone(),
    };
    vec![
        name,
        shown_spread(spread(&means), seeds(summary)),
        shown_gain(spread(&gains), 1),
        count(|gain| gain > LITTLE).to_string(),
        count(|gain| gain < -LITTLE).to_string(),
        method.gradients.to_string(),
        size(method.moved.bytes),
    ]
}

/// One row for each participant: its name, and its figure with each method.
pub fn everybody(summary: &Summary) -> Vec<Vec<String>> {
    let seeds = seeds(summary);
    let row = |(at, one): (usize, &fedcompetitors_record::Participant)| {
        let mut row = vec![shown(&one.name).into_owned()];
        row.extend(summary.methods.iter().map(|method| shown_spread(figure(method, at), seeds)));
        row
    };
    summary.participants.iter().enumerate().map(row).collect()
}

/// Bytes as people read them.
pub fn size(bytes: u64) -> String {
    match bytes {
        0 => "–".into(),
        1..1_000 => format!("{bytes} B"),
        1_000..1_000_000 => format!("{:.0} kB", bytes as f64 / 1e3),
        _ => format!("{:.1} MB", bytes as f64 / 1e6),
    }
}
