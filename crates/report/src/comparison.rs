//! Plans side by side.

use crate::{figure, number, plan::is_proven, table::Table};

/// What one policy's plan is like.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// The policy.
    pub policy: &'static str,
    /// The sum of the benefits over the usage edges.
    pub welfare: f64,
    /// Its value by diminishing returns, where that is the objective.
    pub value: Option<f64>,
    /// What the policy can prove that no plan exceeds.
    pub upper_bound: f64,
    /// How many edges are used.
    pub edges: usize,
    /// How many participants get nothing.
    pub with_nothing: usize,
    /// What whoever gets least gets, of those whom a plan could help at all.
    pub least: f64,
    /// The geometric mean of what those get who get something.
    pub mean: f64,
    /// Over how many edges information travels at most.
    pub longest_chain: usize,
    /// How long the policy took.
    pub seconds: f64,
    /// Was the plan found to keep the rule?
    pub keeps_the_rule: bool,
    /// A note on how it was made, if any.
    pub note: Option<String>,
}

/// What plans are measured by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Measure {
    /// By the welfare.
    Welfare,
    /// By what those get who get little.
    Fairness,
    /// By the value by diminishing returns.
    Diminishing,
}

/// A table of plans, the one that seeks the best first: where it aims at a sum, the others are
/// measured by it.
pub fn comparison_text(comparisons: &[Comparison], measure: Measure) -> String {
    let Some(best) = comparisons.first() else {
        return String::new();
    };
    let measures: &[&str] = match measure {
        Measure::Welfare => &[">of the best"],
        Measure::Fairness => &[">minimum", ">geometric mean"],
        Measure::Diminishing => &[">value", ">of the best"],
    };
    let columns = [">edges", ">get nothing", ">longest chain", ">seconds", "rule"];
    let header: Vec<&str> =
        ["policy", ">welfare"].iter().chain(measures).chain(&columns).copied().collect();
    let mut table = Table::new(&header);
    for comparison in comparisons {
        let share = |own: f64, best: f64| {
            format!("{:.1} %", if best > 0.0 { 100.0 * own / best } else { 100.0 })
        };
        let measured = match measure {
            Measure::Welfare => vec![share(comparison.welfare, best.welfare)],
            Measure::Fairness => vec![number(comparison.least), number(comparison.mean)],
            Measure::Diminishing => {
                let value = |one: &Comparison| one.value.unwrap_or_default();
                vec![figure(value(comparison)), share(value(comparison), value(best))]
            }
        };
        let mut row = vec![comparison.policy.into(), number(comparison.welfare)];
        row.extend(measured);
        row.extend([
            comparison.edges.to_string(),
            comparison.with_nothing.to_string(),
            comparison.longest_chain.to_string(),
            format!("{:.4}", comparison.seconds),
            if comparison.keeps_the_rule { "holds" } else { "BROKEN" }.into(),
        ]);
        table.row(row);
    }
    let bound = if measure != Measure::Welfare {
        format!("The plan of {}: {}.", best.policy, best.note.as_deref().unwrap_or_default())
    } else if is_proven(best.welfare, best.upper_bound) {
        format!("The plan of {} is proven to be the best.", best.policy)
    } else {
        format!(
            "Best so far: {}; no plan can exceed {}. A larger --time-limit or a smaller --gap may find a better one.",
            best.policy,
            number(best.upper_bound)
        )
    };
    format!("{}\n{bound}\n", table.render())
}
