//! The state of a run in sentences: its status, its plans, what flowed, what went wrong.

use fedcompetitors_graphs::shown;
use fedcompetitors_record::{
    IncidentKind, IncidentLine, Method, Role, Status, Stop, Summary, Unfinished,
};

use crate::{plan::unproven_text, plural};

/// The status of a run in words: one that is not at its end and that no process works on is
/// interrupted.
pub fn status_name(status: Status, is_at_work: bool) -> &'static str {
    if status == Status::Running && !is_at_work { "interrupted" } else { status.name() }
}

/// The state of a run, line by line. `folder` is the run directory as a word for a command line.
pub fn status_text(summary: &Summary, is_at_work: bool, folder: &str) -> String {
    let done: usize = summary.methods.iter().map(|method| method.cells.len()).sum();
    let seconds: f64 = summary.methods.iter().map(|method| method.seconds).sum();
    let mut lines = vec![format!(
        "{}: {}; {} done, {seconds:.1} seconds so far.",
        shown(&summary.name),
        status_name(summary.status, is_at_work),
        plural(done, "training", "trainings"),
    )];
    if let Some(Unfinished { method, seed, done, rounds }) = &summary.unfinished {
        lines.push(format!(
            "In progress: {method}, seed {seed}: {done} of {rounds} rounds are saved."
        ));
    }
    if summary.status == Status::Running && !is_at_work {
        lines.push(format!("Resume with: fedcompetitors run FILE --out {folder} --resume"));
    }
    lines.extend(summary.stops.iter().map(|Stop { seed, method, message, .. }| {
        format!("Stopped: {method}, seed {seed}: {}.", shown(message))
    }));
    lines.extend(plan_lines(summary));
    lines.extend(incident_lines(summary));
    lines.join("\n") + "\n"
}

/// The quality of plans that should be the best: where that is not proven, and what else they
/// serve.
pub(crate) fn plan_lines(summary: &Summary) -> Vec<String> {
    let mut lines = Vec::new();
    for method in summary.methods.iter().filter(|method| method.searches) {
        for (seed, plan) in &method.plans {
            let quality = match &plan.note {
                // The plan served another aim than welfare, so the bound says nothing about it.
                Some(note) => Some(shown(note).into_owned()),
                None => unproven_text(plan.welfare, plan.upper_bound),
            };
            lines.extend(quality.map(|text| format!("{}, seed {seed}: {text}.", method.name)));
        }
    }
    lines
}

/// Information that joins competitors outside the ledger. References have none: the tables mark
/// them as breaking the rule.
pub(crate) fn flow_lines(summary: &Summary) -> Vec<String> {
    let name = |who: usize| summary.name_of(who);
    let methods = summary.methods.iter().filter(|method| method.role != Role::Reference);
    let flows = methods.flat_map(|method| method.flows.iter().map(move |flow| (method, flow)));
    flows
        .filter(|(_, flow)| !flow.pairs.is_empty())
        .map(|(method, flow)| {
            let pairs = flow.pairs.iter().map(|&(a, b)| (name(a), name(b)));
            flow_text(&method.name, &flow.statement, pairs)
        })
        .collect()
}

/// A flow of a method that joins these competitors.
pub(crate) fn flow_text<'a>(
    method: &str,
    statement: &str,
    pairs: impl Iterator<Item = (&'a str, &'a str)>,
) -> String {
    let pairs: Vec<String> = pairs.map(|(a, b)| format!("{} and {}", shown(a), shown(b))).collect();
    format!("{method}: {statement}; this connects competitors: {}.", pairs.join(", "))
}

/// Missing participants and refused messages of all methods.
pub(crate) fn incident_lines(summary: &Summary) -> Vec<String> {
    let methods = summary.methods.iter();
    methods
        .flat_map(|method| method.incidents.iter().map(|line| incident(summary, method, line)))
        .collect()
}

fn incident(summary: &Summary, method: &Method, line: &IncidentLine) -> String {
    let name = shown(summary.name_of(line.participant));
    let rounds = if line.first == line.last {
        format!("in round {}", line.first)
    } else {
        format!("in rounds {} to {}", line.first, line.last)
    };
    let what = incident_kind(line.kind);
    format!("{name} {what} {rounds} ({}, seed {}).", method.name, line.seed)
}

/// What a participant did in an incident of a kind.
pub(crate) fn incident_kind(kind: IncidentKind) -> &'static str {
    match kind {
        IncidentKind::Missing => "was missing",
        IncidentKind::NotFinite => "sent NaN or infinite values (refused)",
        IncidentKind::WrongLength => "sent a wrong number of values (refused)",
        IncidentKind::TooLarge => "sent values that are far too large (refused)",
        IncidentKind::NotPositive => "sent a summary that no data has (refused)",
        IncidentKind::Unreadable => "sent a message that cannot be read (refused)",
    }
}
