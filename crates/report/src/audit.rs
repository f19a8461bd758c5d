//! The result of an audit in sentences.

use fedcompetitors_graphs::shown;
use fedcompetitors_record::{Audit, EntryFlaw, Finding, Flaw, ModelFlaw, Rule, Status, Uncovered};

use crate::{plural, status::flow_text};

/// What an audit that has found nothing confirms, without the full stop.
fn confirmed(rule: Rule) -> &'static str {
    match rule {
        Rule::Paths => "no participant's data reached a competitor",
        Rule::Messages => {
            "no participant received a message that carries a competitor's data. A participant may have helped a friend of its competitor"
        }
    }
}

/// The sentences of an audit that has found nothing.
pub(crate) fn nothing_found(audit: &Audit) -> String {
    let (rule, confirmed) = (audit.rule, confirmed(audit.rule));
    format!("The rule `{rule}` was kept: {confirmed}. The record is consistent.")
}

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
        lines.push(nothing_found(audit));
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
        Finding::Flaw { training, flaw } if training.is_empty() => {
            format!("flaw in the run: {}", flaw_text(flaw))
        }
        Finding::Flaw { training, flaw } => {
            format!("flaw in {training}: {}", flaw_text(flaw))
        }
        Finding::Stopped { training, message } => {
            format!("STOPPED, {training}: {}", shown(message))
        }
    }
}

/// A contradiction in a record, with names as they are shown.
pub fn flaw_text(flaw: &Flaw) -> String {
    match flaw {
        Flaw::OtherCompetitions => "the competitions differ from those at the start".into(),
        Flaw::OnlyInFile(name) => {
            format!("\"{}\" is a participant only in the federation file", shown(name))
        }
        Flaw::NotInFile(name) => {
            format!("\"{}\" is a participant, but not in the federation file", shown(name))
        }
        Flaw::OneSided { a, b, by_file } => {
            let whose = if *by_file { "federation file" } else { "record" };
            let [a, b] = [a, b].map(|name| shown(name));
            format!("\"{a}\" and \"{b}\" compete only according to the {whose}")
        }
        Flaw::OtherRule(method) => {
            format!(
                "{} was made to keep the rule `messages`, but is audited by `paths`",
                shown(method)
            )
        }
        Flaw::Incomplete(status) => {
            format!("it is not complete, but the run is recorded as {status}")
        }
        Flaw::Altered => "its record was changed after it was written".into(),
        Flaw::UnreadablePlan(round) => format!("the plan of round {round} cannot be read"),
        Flaw::PlanConnects(a, b) => {
            let [a, b] = [a, b].map(|name| shown(name));
            format!("the plan connects \"{a}\" with its competitor \"{b}\"")
        }
        Flaw::UnreadableFlow => "the pairs that a flow connects cannot be read".into(),
        Flaw::EntriesLost { found, written } => {
            format!("the ledger has {found} entries, but had {written} when it was last written")
        }
        Flaw::EntriesSkipped { last, next } => {
            format!("the ledger goes from entry {last} to entry {next}")
        }
        Flaw::Entry(entry, flaw) => entry_flaw(*entry, flaw),
        Flaw::Model(participant, flaw) => model_flaw(participant, flaw),
    }
}

fn entry_flaw(entry: u64, flaw: &EntryFlaw) -> String {
    match flaw {
        EntryFlaw::Unreadable => format!("entry {entry} cannot be read"),
        EntryFlaw::EarlierRound => {
            format!("entry {entry} is of an earlier round than the one before")
        }
        EntryFlaw::NoEnds => {
            format!("entry {entry} is not between a participant and the coordinator")
        }
        EntryFlaw::UnknownSender => format!("entry {entry}: the sender is not a participant"),
        EntryFlaw::Carried(sender) => format!(
            "entry {entry}: what \"{}\" has sent is recorded as carrying data that it cannot carry, or not its own",
            shown(sender)
        ),
        EntryFlaw::CommittedLate(sender) => {
            let sender = shown(sender);
            format!("entry {entry} was committed late: \"{sender}\" had received something before")
        }
        EntryFlaw::MadeOfNothing(bytes) => {
            format!("entry {entry} has {bytes} bytes and is made of nothing")
        }
        EntryFlaw::MadeOfUnsent(part) => {
            format!("entry {entry} is made of entry {part}, which was not sent before")
        }
        EntryFlaw::OtherContent { content, of } => {
            format!("entry {entry}, a {content}, is made of a {of}")
        }
        EntryFlaw::OtherData => {
            format!("entry {entry} is recorded as carrying other data than its parts")
        }
    }
}

fn model_flaw(participant: &str, flaw: &ModelFlaw) -> String {
    let model = format!("the model of \"{}\"", shown(participant));
    match flaw {
        ModelFlaw::UnreadableProvenance => format!("the provenance of {model} cannot be read"),
        ModelFlaw::CarriesCompetitor(rival) => {
            let rival = shown(rival);
            format!("{model} is recorded as carrying data of its competitor \"{rival}\"")
        }
        ModelFlaw::CarriesUndelivered => {
            format!("{model} is recorded as carrying data that was never delivered to it")
        }
        ModelFlaw::Unreadable(error) => format!("{model} cannot be read: {}", shown(error)),
        ModelFlaw::OtherFile(file) => {
            let file = shown(file);
            format!("the file of {model}, {file}, is not the one that was trained")
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_about_a_flaw_is_whole_and_its_names_are_escaped() {
        let text = |flaw| finding_text(&Finding::Flaw { training: "final".into(), flaw });
        assert_eq!(
            text(Flaw::OtherRule("optimal+evidence, final session of a federation".into())),
            "flaw in final: optimal+evidence, final session of a federation was made to keep the rule `messages`, but is audited by `paths`"
        );
        assert_eq!(
            text(Flaw::PlanConnects("a\u{202e}b".into(), "c".repeat(130))),
            format!(
                "flaw in final: the plan connects \"a\\u{{202e}}b\" with its competitor \"{}…\"",
                "c".repeat(120)
            )
        );
    }
}
