//! Plans side by side.

use crate::{number, plan::is_proven, table::Table};

/// What one policy's plan is like.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// The policy.
    pub policy: &'static str,
    /// The sum of the benefits over the usage edges.
    pub welfare: f64,
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
    /// What else there is to say about how it was made.
    pub note: Option<&'static str>,
}

/// A table of plans, the one that seeks the best first: where it aims at the welfare, the
/// others are measured by it; `fairly` if it aims at something else.
pub fn comparison_text(comparisons: &[Comparison], fairly: bool) -> String {
    let Some(best) = comparisons.first() else {
        return String::new();
    };
    let measures: &[&str] =
        if fairly { &[">minimum", ">geometric mean"] } else { &[">of the best"] };
    let columns = [">edges", ">get nothing", ">longest chain", ">seconds", "rule"];
    let header: Vec<&str> =
        ["policy", ">welfare"].iter().chain(measures).chain(&columns).copied().collect();
    let mut table = Table::new(&header);
    for comparison in comparisons {
        let share =
            if best.welfare > 0.0 { 100.0 * comparison.welfare / best.welfare } else { 100.0 };
        let measured = if fairly {
            vec![number(comparison.least), number(comparison.mean)]
        } else {
            vec![format!("{share:.1} %")]
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
    let bound = if fairly {
        format!("The plan of {}: {}.", best.policy, best.note.unwrap_or_default())
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
