//! How a new plan differs from an old one, in words.

use std::fmt::Write;

use fedcompetitors_graphs::{
    BenefitGraph, Provenance, UsageGraph,
    bits::{contains, ones},
    shown,
};

use crate::{
    Explanation, PlanSummary, Verdict, number, plan::closing_text, plural, reason_path_text,
};

/// What a change is about.
#[derive(Debug, Clone, Copy)]
pub struct Change<'a> {
    /// The new plan.
    pub plan: PlanSummary<'a>,
    /// Who would help whom, those who have left included.
    pub benefit: &'a BenefitGraph,
    /// Who learned from whom, over the participants of now.
    pub before: &'a UsageGraph,
}

/// The edges that come and go, with reasons, and what that is worth.
pub fn change_text(change: &Change<'_>) -> String {
    let plan = &change.plan;
    let participants = plan.usage.participants();
    let name = |index: usize| shown(participants.name(index)).into_owned();
    let mut text = String::new();
    let (mut kept, mut changed) = (0, 0);
    for to in 0..participants.len() {
        let (before, after) = (change.before.collaborators(to), plan.usage.collaborators(to));
        for from in ones(after).filter(|&from| !contains(before, from)) {
            let value = number(plan.benefit.benefit(from, to));
            let _ = writeln!(text, "+ {} now learns from {} ({value})", name(to), name(from));
            changed += 1;
        }
        for from in ones(before).filter(|&from| !contains(after, from)) {
            let why = why_not(change, from, to);
            let _ = writeln!(text, "- {} no longer learns from {}: {why}", name(to), name(from));
            changed += 1;
        }
        kept += ones(after).filter(|&from| contains(before, from)).count();
    }
    let received = |to| change.benefit.received(to, |from| change.before.uses(from, to));
    let before = (0..participants.len()).map(received).fold(0.0, |sum, value| sum + value);
    if changed == 0 {
        text.push_str("Nothing changes.\n");
    }
    let _ = writeln!(
        text,
        "{} as before. Welfare with the current benefits: {} before, {} after; {}",
        plural(kept, "edge stays", "edges stay"),
        number(before),
        number(plan.welfare),
        closing_text(plan).trim_end(),
    );
    text
}

fn why_not(change: &Change<'_>, from: usize, to: usize) -> String {
    let PlanSummary { rule, competing, benefit, history, usage, left, .. } = change.plan;
    let participants = usage.participants();
    let name = |index: usize| shown(participants.name(index)).into_owned();
    if let Some(&gone) = left.iter().find(|&&gone| gone == from || gone == to) {
        return format!("{} has left", name(gone));
    }
    match Explanation::of(rule, competing, benefit, usage, history, (from, to)).verdict {
        Verdict::Used => "it does".into(),
        Verdict::NoBenefit => "it no longer helps".into(),
        Verdict::LeftOut => "the plan leaves it out".into(),
        Verdict::Refused(reason) if reason.is_direct() => "they compete".into(),
        Verdict::Refused(reason) => format!(
            "{} would reach its competitor {}: {}",
            name(reason.pair().0),
            name(reason.pair().1),
            reason_path_text(participants, &reason)
        ),
    }
}

/// What the past has done that no plan can undo.
pub fn breaches_text(history: &Provenance, breaches: &[(usize, usize)]) -> String {
    let participants = history.participants();
    let name = |index: usize| shown(participants.name(index)).into_owned();
    let mut text = String::from(
        "Models already carry data of competitors; no plan can undo that, so none is made.\n",
    );
    for &(owner, rival) in breaches {
        let carriers = (0..participants.len())
            .filter(|&other| other != owner && other != rival && history.carries(other, rival));
        let others: Vec<String> = carriers.map(name).collect();
        let _ = write!(
            text,
            "  The model of {} carries the data of its competitor {}.",
            name(owner),
            name(rival)
        );
        if others.is_empty() {
            text.push('\n');
        } else {
            let _ = writeln!(text, " Others that carry it: {}.", others.join(", "));
        }
    }
    text
}
