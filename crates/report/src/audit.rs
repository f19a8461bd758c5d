//! The result of an audit in sentences.

use fedcompetitors_graphs::shown;
use fedcompetitors_record::{Audit, Finding, Status, Uncovered};

use crate::{plural, status::flow_text};

/// The sentence of an audit that has found nothing.
pub(crate) const NOTHING_FOUND: &str =
    "No participant's data reached a competitor; the record is consistent.";

/// The result of an audit, line by line.
pub fn audit_text(audit: &Audit) -> String {
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
        lines.push(NOTHING_FOUND.into());
    }
    lines.extend(not_covered(audit));
    lines.join("\n") + "\n"
}

/// What an audit has looked at.
pub(crate) fn looked_at(audit: &Audit) -> String {
    format!(
        "Replayed {} in {} and {}, and checked {}.",
        plural(audit.transfers, "transfer", "transfers"),
        plural(audit.estimates, "estimate", "estimates"),
        plural(audit.trainings, "training", "trainings"),
        plural(audit.models, "model file", "model files"),
    )
}

/// A finding of an audit.
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

/// What an audit does not cover: flows outside the ledger, and references.
pub(crate) fn not_covered(audit: &Audit) -> impl Iterator<Item = String> {
    let flows = audit.uncovered.iter().map(|Uncovered { method, flow, pairs }| {
        let pairs = pairs.iter().map(|(a, b)| (a.as_str(), b.as_str()));
        format!("Not in the ledger, {}", flow_text(method, &flow.statement, pairs))
    });
    let references = audit.references.iter();
    let references =
        references.map(|method| format!("Not replayed: {method}, which is for reference only."));
    flows.chain(references)
}
