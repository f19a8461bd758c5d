//! Certificates and leaks in words.

use std::fmt::Write;

use fedcompetitors_graphs::{
    Certificate, CompetingGraph, Leak, Rule, UsageGraph, bits::ones, shown,
};

use crate::{
    number, path_text, plural, reporters_text,
    table::{Table, wrap},
};

/// Participants up to which every set is printed.
const PRINTED: usize = 60;

/// A plan whose edges sum to another welfare than it states.
pub fn other_welfare_text(stated: f64, sum: f64) -> String {
    format!(
        "the plan states a welfare of {}, but the benefits of its edges sum to {}: it was changed after it was made",
        number(stated),
        number(sum)
    )
}

/// What a certificate proves, and the sets that prove it; `with_past` if models carried
/// data before.
pub fn certificate_text(
    competing: &CompetingGraph,
    usage: &UsageGraph,
    certificate: &Certificate,
    with_past: bool,
) -> String {
    let participants = certificate.participants();
    let edges = plural(usage.len(), "edge", "edges");
    let pairs = plural(competing.pairs().count(), "competing pair", "competing pairs");
    let mut text = match certificate.rule() {
        Rule::Paths => format!(
            "The plan keeps the rule `paths`: with its {edges}, none of the {pairs} is connected, directly or through others.\n"
        ),
        Rule::Messages => format!(
            "The plan keeps the rule `messages`: none of its {edges} connects any of the {pairs}. Chains of edges may;\nthe rule needs messages that carry their senders' data alone.\n"
        ),
    };
    if participants.len() > PRINTED {
        text.push_str("The certificate is too long to print; `--certificate FILE` writes it.\n");
        return text;
    }
    let mut table = Table::new(&["participant", "its data reaches", "competes with"]);
    for owner in 0..participants.len() {
        let names = |set: &[u64]| {
            let names: Vec<String> = ones(set)
                .filter(|&other| other != owner)
                .map(|other| shown(participants.name(other)).into_owned())
                .collect();
            if names.is_empty() { vec!["nobody".into()] } else { wrap(&names, 44) }
        };
        let reached = names(certificate.set(owner));
        let rivals = names(competing.competitors(owner));
        for line in 0..reached.len().max(rivals.len()) {
            let cell = |lines: &[String]| lines.get(line).cloned().unwrap_or_default();
            let name = if line == 0 {
                shown(participants.name(owner)).into_owned()
            } else {
                String::new()
            };
            table.row(vec![name, cell(&reached), cell(&rivals)]);
        }
    }
    text.push('\n');
    text.push_str(&table.render());
    text.push_str(
        "\nTo check it by hand: no row has the same name in its second and its third column; and if Y\n\
         learns from X, then Y is in the second column of X",
    );
    if certificate.rule() == Rule::Paths {
        text.push_str(" and of every row that has X there");
    }
    text.push_str(if with_past {
        "; the row of X\nalso has those who carried the data of X before (`provenance` in the plan).\n"
    } else {
        ".\n"
    });
    text
}

/// The path by which a plan breaks the rule.
pub fn leak_text(competing: &CompetingGraph, leak: &Leak) -> String {
    let participants = competing.participants();
    let (from, to) = (leak.path[0], leak.path[leak.path.len() - 1]);
    let mut text = format!(
        "The plan breaks the rule: {} contributes to its competitor {} ({}).\n  {}\n",
        shown(participants.name(from)),
        shown(participants.name(to)),
        reporters_text(competing, from, to),
        if leak.from_before {
            let origin = shown(participants.name(from));
            format!("{origin} → (before) → {}", path_text(participants, &leak.path[1..]))
        } else {
            path_text(participants, &leak.path)
        },
    );
    if leak.pairs > 1 {
        let _ =
            writeln!(text, "There are {} such connections; this is a shortest one.", leak.pairs);
    }
    text
}
