//! A plan as a table.

use std::fmt::Write;

use fedcompetitors_graphs::{
    BenefitGraph, CompetingGraph, Refusal, UsageGraph,
    bits::{contains, count},
    shown,
};

use crate::{
    number, plural, reason_path_text, reporters_text,
    table::{Table, wrap},
};

/// What a plan's text is about.
#[derive(Debug, Clone, Copy)]
pub struct PlanSummary<'a> {
    /// The policy that made the plan.
    pub policy: &'a str,
    /// Who competes with whom.
    pub competing: &'a CompetingGraph,
    /// Who would help whom.
    pub benefit: &'a BenefitGraph,
    /// Who may learn from whom.
    pub usage: &'a UsageGraph,
    /// The sum of the benefits over the usage edges.
    pub welfare: f64,
    /// What no plan can exceed.
    pub upper_bound: f64,
    /// What else there is to say about how it was made.
    pub note: Option<&'a str>,
}

/// Collaborators that are named before the rest is only counted.
const NAMED: usize = 12;

/// Columns that the list of collaborators may take.
const LIST_WIDTH: usize = 56;

/// Each participant's collaborators, what it gets and gives, and the welfare.
pub fn plan_text(summary: &PlanSummary<'_>) -> String {
    let PlanSummary { benefit, usage, competing, .. } = *summary;
    let participants = usage.participants();
    let given = benefit.given(usage);
    let mut table = Table::new(&["participant", "learns from (benefit)", ">gets", ">gives"]);
    for (index, name) in participants.names().enumerate() {
        let gets = benefit.received(index, |from| usage.uses(from, index));
        let mut lines = wrap(&collaborators(summary, index), LIST_WIDTH).into_iter();
        table.row(vec![
            shown(name).into_owned(),
            lines.next().unwrap_or_default(),
            number(gets),
            number(given[index]),
        ]);
        for line in lines {
            table.row(vec![String::new(), line, String::new(), String::new()]);
        }
    }
    let pairs = competing.pairs().count();
    let mut text = format!(
        "Plan by policy {}: {}, {}.\n\n{}\nWelfare {} from {} of {} useful edges; {}.\n",
        summary.policy,
        plural(participants.len(), "participant", "participants"),
        plural(pairs, "competing pair", "competing pairs"),
        table.render(),
        number(summary.welfare),
        usage.len(),
        benefit.len(),
        bound_text(summary.welfare, summary.upper_bound),
    );
    if let Some(note) = summary.note {
        let _ = writeln!(text, "Note: {note}.");
    }
    if let Some(alone) = alone_text(summary) {
        text.push_str(&alone);
    }
    text
}

/// How much better a plan could be.
fn bound_text(welfare: f64, upper_bound: f64) -> String {
    if upper_bound <= welfare * (1.0 + 1e-9) {
        return "no plan has more".into();
    }
    let share = 100.0 * welfare / upper_bound;
    format!(
        "no plan can exceed {}, so this is at least {share:.0} % of the best",
        number(upper_bound)
    )
}

fn collaborators(summary: &PlanSummary<'_>, index: usize) -> Vec<String> {
    let PlanSummary { benefit, usage, .. } = *summary;
    let helpers = benefit.collaborators(usage, index);
    if helpers.is_empty() {
        return vec!["nobody".into()];
    }
    let named = helpers.iter().take(NAMED);
    let mut items: Vec<String> = named
        .map(|&(from, value)| {
            format!("{} ({})", shown(usage.participants().name(from)), number(value))
        })
        .collect();
    if helpers.len() > NAMED {
        items.push(format!("and {} more", helpers.len() - NAMED));
    }
    items
}

/// Who learns from nobody, and why.
fn alone_text(summary: &PlanSummary<'_>) -> Option<String> {
    let PlanSummary { benefit, usage, competing, .. } = *summary;
    let participants = usage.participants();
    let (mut unhelped, mut rivals_only, mut refused) = (Vec::new(), Vec::new(), Vec::new());
    for index in (0..participants.len()).filter(|&index| count(usage.collaborators(index)) == 0) {
        let mut helpers = benefit.helpers(index).peekable();
        let name = shown(participants.name(index)).into_owned();
        if helpers.peek().is_none() {
            unhelped.push(name);
        } else if helpers.all(|(from, _)| contains(competing.competitors(index), from)) {
            rivals_only.push(name);
        } else {
            refused.push(name);
        }
    }
    let groups = [
        (unhelped, "nobody's data would help"),
        (rivals_only, "only competitors would help"),
        (refused, "every edge to it would connect competitors (see `--refusals`)"),
    ];
    let mut text = String::new();
    for (mut names, why) in groups.into_iter().filter(|(names, _)| !names.is_empty()) {
        if names.len() > NAMED {
            let more = names.len() - NAMED;
            names.truncate(NAMED);
            names.push(format!("and {more} more"));
        }
        let _ = writeln!(text, "Alone, as {why}: {}.", names.join(", "));
    }
    (!text.is_empty()).then_some(text)
}

/// Every useful edge that is not used, with the reason.
pub fn refusals_text(
    competing: &CompetingGraph,
    refusals: impl Iterator<Item = Refusal>,
) -> String {
    let participants = competing.participants();
    let name = |index: usize| shown(participants.name(index)).into_owned();
    let mut table = Table::new(&["refused", ">benefit", "because"]);
    let mut any = false;
    for refusal in refusals {
        any = true;
        let because = match &refusal.because {
            None => "the rule would allow it; the plan leaves it out".into(),
            Some(reason) if reason.is_direct() => {
                format!("they compete ({})", reporters_text(competing, refusal.from, refusal.to))
            }
            Some(reason) => format!(
                "{} would reach its competitor {}: {}",
                name(reason.pair().0),
                name(reason.pair().1),
                reason_path_text(participants, reason)
            ),
        };
        let edge = format!("{} → {}", name(refusal.from), name(refusal.to));
        table.row(vec![edge, number(refusal.benefit), because]);
    }
    if any { table.render() } else { "Nothing is refused.\n".into() }
}
