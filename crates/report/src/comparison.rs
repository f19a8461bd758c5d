//! Plans side by side.

use crate::{number, table::Table};

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
    /// How many participants learn from nobody.
    pub with_nothing: usize,
    /// Over how many edges information travels at most.
    pub longest_chain: usize,
    /// How long the policy took.
    pub seconds: f64,
    /// Was the plan found to keep the rule?
    pub keeps_the_rule: bool,
}

/// A table of plans, measured by the one with the lowest bound.
pub fn comparison_text(comparisons: &[Comparison]) -> String {
    let best = comparisons.iter().min_by(|a, b| a.upper_bound.total_cmp(&b.upper_bound));
    let Some(best) = best else {
        return String::new();
    };
    let mut table = Table::new(&[
        "policy",
        ">welfare",
        ">of the best",
        ">edges",
        ">with nothing",
        ">longest chain",
        ">seconds",
        "rule",
    ]);
    for comparison in comparisons {
        let share =
            if best.welfare > 0.0 { 100.0 * comparison.welfare / best.welfare } else { 100.0 };
        table.row(vec![
            comparison.policy.into(),
            number(comparison.welfare),
            format!("{share:.1} %"),
            comparison.edges.to_string(),
            comparison.with_nothing.to_string(),
            comparison.longest_chain.to_string(),
            format!("{:.4}", comparison.seconds),
            if comparison.keeps_the_rule { "holds" } else { "BROKEN" }.into(),
        ]);
    }
    let proven = best.upper_bound <= best.welfare * (1.0 + 1e-9);
    let bound = if proven {
        format!("The plan of {} is proven to be the best.", best.policy)
    } else {
        format!(
            "Best so far: {}; no plan can exceed {}. More time (--time-limit) may find better.",
            best.policy,
            number(best.upper_bound)
        )
    };
    format!("{}\n{bound}\n", table.render())
}
