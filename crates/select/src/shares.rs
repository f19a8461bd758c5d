//! How evenly a plan helps.

use fedcompetitors_graphs::{BenefitGraph, CompetingGraph, UsageGraph};

/// What the participants get by a plan, of those whom a plan could help at all.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Shares {
    /// How many participants get nothing, whether or not a plan could help them.
    pub with_nothing: usize,
    /// What whoever gets least gets.
    pub least: f64,
    /// The geometric mean of what those get who get something.
    pub mean: f64,
}

impl Shares {
    /// The shares by a usage graph.
    pub fn of(competing: &CompetingGraph, benefit: &BenefitGraph, usage: &UsageGraph) -> Self {
        let hopeful =
            |&to: &usize| benefit.helpers(to).any(|(from, _)| !competing.competes(from, to));
        let shares: Vec<f64> = (0..usage.participants().len())
            .filter(hopeful)
            .map(|to| benefit.received(to, |from| usage.uses(from, to)))
            .collect();
        let something: Vec<f64> = shares.iter().copied().filter(|&share| share > 0.0).collect();
        let logarithms: f64 = something.iter().map(|share| share.ln()).sum();
        Self {
            with_nothing: usage.participants().len() - something.len(),
            least: shares.iter().copied().reduce(f64::min).unwrap_or(0.0),
            mean: if something.is_empty() {
                0.0
            } else {
                (logarithms / something.len() as f64).exp()
            },
        }
    }
}
