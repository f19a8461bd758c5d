//! `status`, `metrics`, `export` and `audit`: what a run directory says.

use std::collections::BTreeMap;

use fedcompetitors_files::read_federation;
use fedcompetitors_graphs::shown;
use fedcompetitors_record::{
    Audit, Direction, Finding, IncidentKind, IncidentLine, Method, Role, Status, Stop, Summary,
    Uncovered, Unfinished,
};
use fedcompetitors_report::{RunMethod, RunParticipant, RunReport, plural, unproven_text};
use fedcompetitors_runs as runs;

use crate::{
    Failure, Outcome,
    arguments::{AuditArguments, ExportArguments, FolderArguments, MetricsArguments},
    output::{print, shown_path, tell},
};

/// The policy whose plans are to be the best.
const BEST: &str = "optimal";

pub fn status(arguments: &FolderArguments) -> Result<Outcome, Failure> {
    let summary = runs::summary(&arguments.folder)?;
    let done: usize = summary.methods.iter().map(|method| method.cells.len()).sum();
    let seconds: f64 = summary.methods.iter().map(|method| method.seconds).sum();
    let is_at_work = runs::is_at_work(&arguments.folder);
    let mut lines = vec![format!(
        "{}: {}; {} done, {seconds:.1} seconds so far.",
        shown(&summary.name),
        status_text(summary.status, is_at_work),
        plural(done, "training", "trainings"),
    )];
    if let Some(Unfinished { method, seed, done, rounds }) = &summary.unfinished {
        lines.push(format!(
            "In progress: {method}, seed {seed}: {done} of {rounds} rounds are saved."
        ));
    }
    if summary.status == Status::Running && !is_at_work {
        let folder = shown_path(&arguments.folder);
        lines.push(format!("Resume with: fedcompetitors run FILE --out {folder} --resume"));
    }
    lines.extend(summary.stops.iter().map(|Stop { seed, method, message, .. }| {
        format!("Stopped: {method}, seed {seed}: {}.", shown(message))
    }));
    lines.extend(plans(&summary));
    for method in &summary.methods {
        lines.extend(method.incidents.iter().map(|line| incident(&summary, method, line)));
    }
    print(|output| writeln!(output, "{}", lines.join("\n")))?;
    Ok(Outcome::Done)
}

pub fn metrics(arguments: &MetricsArguments) -> Result<Outcome, Failure> {
    let mut table = Vec::new();
    runs::write_metrics(&arguments.folder, &mut table)??;
    print(|output| output.write_all(&table))?;
    Ok(Outcome::Done)
}

pub fn export(arguments: &ExportArguments) -> Result<Outcome, Failure> {
    let into = arguments.to.clone().unwrap_or_else(|| arguments.folder.join("export"));
    runs::export(&arguments.folder, &into)?;
    tell(&format!("wrote all tables to {}", shown_path(&into)));
    Ok(Outcome::Done)
}

pub fn audit(arguments: &AuditArguments) -> Result<Outcome, Failure> {
    let federation = arguments.federation.as_deref().map(read_federation).transpose()?;
    let competing = federation.as_ref().map(|federation| &federation.competing);
    let found = runs::audit(&arguments.folder, competing)?;
    let mut text = audit_text(&found);
    if let Some(path) = &arguments.federation {
        text = format!("{text}Competitors were taken from {}.\n", shown_path(path));
    }
    print(|output| output.write_all(text.as_bytes()))?;
    Ok(if found.findings.is_empty() { Outcome::Done } else { Outcome::Finding })
}

/// The status of a run in words: one that is not at its end and that no process works on is
/// interrupted.
pub fn status_text(status: Status, is_at_work: bool) -> &'static str {
    if status == Status::Running && !is_at_work { "interrupted" } else { status.name() }
}

fn audit_text(audit: &Audit) -> String {
    let mut lines = vec![looked_at(audit)];
    lines.push(match audit.status {
        Status::Running => {
            "The run is not complete: it is in progress or was stopped. This audit covers what is recorded so far."
                .into()
        }
        status => format!("The run is {status}."),
    });
    lines.extend(audit.findings.iter().map(finding_text));
    if audit.findings.is_empty() {
        lines.push("No participant's data reached a competitor; the record is consistent.".into());
    }
    lines.extend(audit.uncovered.iter().map(uncovered_text));
    lines.extend(
        audit
            .references
            .iter()
            .map(|reference| format!("Not replayed: {reference}, which is for reference only.")),
    );
    lines.join("\n") + "\n"
}

/// What an audit has looked at.
pub fn looked_at(audit: &Audit) -> String {
    format!(
        "Replayed {} in {} and {}, and checked {}.",
        plural(audit.transfers, "transfer", "transfers"),
        plural(audit.estimates, "estimate", "estimates"),
        plural(audit.trainings, "training", "trainings"),
        plural(audit.models, "model file", "model files"),
    )
}

/// Something that is wrong, in words.
pub fn finding_text(finding: &Finding) -> String {
    match finding {
        Finding::Breach { training, round, entry, path } => {
            let names: Vec<_> = path.iter().map(|name| shown(name)).collect();
            format!(
                "BREACH in {training}, round {round}, entry {entry}: data of \"{}\" reached its competitor \"{}\": {}",
                names[0],
                names[names.len() - 1],
                names.join(" → ")
            )
        }
        Finding::Flaw { training, what } if training.is_empty() => {
            format!("flaw in the run: {}", shown(what))
        }
        Finding::Flaw { training, what } => format!("flaw in {training}: {}", shown(what)),
        Finding::Stopped { training, message } => {
            format!("STOPPED, {training}: {}", shown(message))
        }
    }
}

/// Information that flows outside the ledger and joins competitors, in words.
pub fn uncovered_text(uncovered: &Uncovered) -> String {
    let pairs: Vec<String> =
        uncovered.pairs.iter().map(|(a, b)| format!("{} and {}", shown(a), shown(b))).collect();
    let (method, statement) = (&uncovered.method, &uncovered.flow.statement);
    let pairs = pairs.join(", ");
    format!("Not in the ledger, {method}: {statement}; this connects competitors: {pairs}.")
}

/// What there is to say of plans that should be the best: where that is not proven, and what
/// else they serve.
fn plans(summary: &Summary) -> Vec<String> {
    let mut lines = Vec::new();
    for method in summary.methods.iter().filter(|method| method.policy == BEST) {
        for (seed, plan) in &method.plans {
            let said = match &plan.note {
                // Then another aim than the largest sum was served, and the bound says nothing.
                Some(note) => Some(shown(note).into_owned()),
                None => unproven_text(plan.welfare, plan.upper_bound),
            };
            lines.extend(said.map(|said| format!("{}, seed {seed}: {said}.", method.name)));
        }
    }
    lines
}

/// Somebody who was missing or sent garbage, in words.
fn incident(summary: &Summary, method: &Method, line: &IncidentLine) -> String {
    let name = shown(&summary.participants[line.participant].name);
    let rounds = if line.first == line.last {
        format!("in round {}", line.first)
    } else {
        format!("in rounds {} to {}", line.first, line.last)
    };
    let what = incident_kind(line.kind);
    format!("{name} {what} {rounds} ({}, seed {}).", method.name, line.seed)
}

/// What somebody did in an incident of a kind.
pub fn incident_kind(kind: IncidentKind) -> &'static str {
    match kind {
        IncidentKind::Missing => "was missing",
        IncidentKind::NotFinite => "sent NaN or infinite values (refused)",
        IncidentKind::WrongLength => "sent a wrong number of values (refused)",
        IncidentKind::TooLarge => "sent values that are far too large (refused)",
        IncidentKind::Unreadable => "sent a message that cannot be read (refused)",
    }
}

/// How much of each other one is in a participant's models, on average over the seeds.
fn mean_parts(method: &Method, participant: usize) -> BTreeMap<usize, f32> {
    let mut parts = BTreeMap::new();
    for (_, cells) in &method.cells {
        for &(who, part) in &cells[participant].parts {
            *parts.entry(who).or_default() += part / method.cells.len() as f32;
        }
    }
    parts
}

/// A run as the report shows it.
pub fn report_of(summary: &Summary) -> RunReport {
    let name = |who: usize| summary.participants[who].name.clone();
    let own = summary.methods.first();
    let participants = summary.participants.iter().enumerate().map(|(at, one)| RunParticipant {
        name: one.name.clone(),
        samples: one.samples,
        competitors: one.competitors.clone(),
        learned_from: own.map(|method| mean_parts(method, at)).map_or(Vec::new(), |parts| {
            parts.into_iter().map(|(who, part)| (name(who), part)).collect()
        }),
        was_offered: own.is_some_and(|method| {
            method.cells.iter().any(|(_, cells)| cells[at].provenance.iter().any(|&who| who != at))
        }),
    });
    let methods = summary.methods.iter().map(|method| RunMethod {
        name: method.name.clone(),
        cells: method
            .cells
            .iter()
            .map(|(_, cells)| cells.iter().map(|cell| cell.test).collect())
            .collect(),
        gradients: method.gradients,
        bytes: method.moved.bytes,
        is_reference: method.role == Role::Reference,
    });
    let mut flows = Vec::new();
    // What is for reference only is marked as such in the tables.
    for method in summary.methods.iter().filter(|method| method.role != Role::Reference) {
        for flow in method.flows.iter().filter(|flow| !flow.pairs.is_empty()) {
            let statement = &flow.statement;
            let names: Vec<String> = flow
                .pairs
                .iter()
                .map(|&(a, b)| format!("{} and {}", shown(&name(a)), shown(&name(b))))
                .collect();
            flows.push(format!(
                "{}: {statement}; this connects competitors: {}.",
                method.name,
                names.join(", ")
            ));
        }
    }
    RunReport {
        name: summary.name.clone(),
        status: summary.status.to_string(),
        metric: summary.metric.name.clone(),
        more_is_better: summary.metric.direction == Direction::Higher,
        participants: participants.collect(),
        methods: methods.collect(),
        flows,
        plans: plans(summary),
        incidents: summary
            .methods
            .iter()
            .flat_map(|method| method.incidents.iter().map(|line| incident(summary, method, line)))
            .collect(),
        refused: own
            .map(|method| {
                method.refused.iter().map(|refused| format!("{}.", refused.reason)).collect()
            })
            .unwrap_or_default(),
    }
}
