//! A plan as a table.

use std::fmt::Write;

use fedcompetitors_graphs::{
    BenefitGraph, CompetingGraph, Flows, Provenance, Reasons, Refusal, Rule, UsageGraph,
    bits::contains, shown,
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
    /// The rule that it keeps.
    pub rule: Rule,
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
    /// A note on how it was made, if any.
    pub note: Option<&'a str>,
    /// What models carried before, where anything had flowed.
    pub history: Option<&'a Provenance>,
    /// Those who have left.
    pub left: &'a [usize],
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
    let useful = usage.edges().filter(|&(from, to)| benefit.benefit(from, to) > 0.0).count();
    let useless = match usage.len() - useful {
        0 => String::new(),
        count => format!(" (and {count} that bring nothing)"),
    };
    format!(
        "Plan by policy {} under the rule `{}`: {}, {}.\n\n{}\nWelfare {} from {useful} of {} useful edges{useless}; {}",
        summary.policy,
        summary.rule,
        plural(participants.len(), "participant", "participants"),
        plural(pairs, "competing pair", "competing pairs"),
        table.render(),
        number(summary.welfare),
        benefit.len(),
        closing_text(summary),
    )
}

/// How much better the plan could be, how it was made, and who gets nothing and why.
pub(crate) fn closing_text(summary: &PlanSummary<'_>) -> String {
    let mut text = format!("{}.\n", bound_text(summary.welfare, summary.upper_bound));
    if let Some(note) = summary.note {
        let _ = writeln!(text, "Note: {note}.");
    }
    text.push_str(&nothing_text(summary));
    text
}

/// Is it proven that no plan has more, to all the digits that are shown?
pub(crate) fn is_proven(welfare: f64, upper_bound: f64) -> bool {
    upper_bound <= welfare * (1.0 + 1e-6) && number(upper_bound) == number(welfare)
}

/// How far from the best a plan may be; nothing, if it is proven to be the best.
pub fn unproven_text(welfare: f64, upper_bound: f64) -> Option<String> {
    // Rounded up: it is a promise.
    let missing = (1000.0 * (1.0 - welfare / upper_bound)).ceil() / 10.0;
    (!is_proven(welfare, upper_bound))
        .then(|| format!("the plan is within {missing:.1} % of the best; the search ended early"))
}

/// How much better a plan could be.
fn bound_text(welfare: f64, upper_bound: f64) -> String {
    if is_proven(welfare, upper_bound) {
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

/// Who gets nothing, and why.
fn nothing_text(summary: &PlanSummary<'_>) -> String {
    let PlanSummary { benefit, usage, competing, .. } = *summary;
    let participants = usage.participants();
    let (mut unhelped, mut rivals_only) = (Vec::new(), Vec::new());
    let (mut refused, mut left_out) = (Vec::new(), Vec::new());
    let flows = Flows::by(summary.rule, usage, summary.history);
    for index in (0..participants.len()).filter(|index| !summary.left.contains(index)) {
        if benefit.received(index, |from| usage.uses(from, index)) > 0.0 {
            continue;
        }
        let helpers: Vec<usize> = benefit.helpers(index).map(|(from, _)| from).collect();
        let name = shown(participants.name(index)).into_owned();
        if helpers.is_empty() {
            unhelped.push(name);
        } else if helpers.iter().all(|&from| contains(competing.competitors(index), from)) {
            rivals_only.push(name);
        } else {
            let reasons = Reasons::against(competing, &flows, index);
            let all = helpers.iter().all(|&from| reasons.refuses(from));
            if all { refused.push(name) } else { left_out.push(name) }
        }
    }
    let groups = [
        (unhelped, "nobody's data would help"),
        (rivals_only, "only competitors would help"),
        (refused, "every edge to it would connect competitors (`explain` says which)"),
        (left_out, "the policy leaves out what the rule would allow"),
    ];
    let mut text = String::new();
    for (mut names, why) in groups.into_iter().filter(|(names, _)| !names.is_empty()) {
        if names.len() > NAMED {
            let more = names.len() - NAMED;
            names.truncate(NAMED);
            names.push(format!("and {more} more"));
        }
        let gets = if names.len() == 1 { "Gets" } else { "Get" };
        let _ = writeln!(text, "{gets} nothing, as {why}: {}.", names.join(", "));
    }
    text
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_proven_needs_no_word() {
        assert_eq!(unproven_text(0.0, 0.0), None);
        assert_eq!(unproven_text(2.5, 2.5), None);
        let text = unproven_text(2.0, 2.001).expect("it is not proven");
        assert!(text.starts_with("the plan is within 0.1 % of the best"), "{text}");
        let text = unproven_text(0.0, 1.0).expect("it is not proven");
        assert!(text.starts_with("the plan is within 100.0 % of the best"), "{text}");
    }
}
