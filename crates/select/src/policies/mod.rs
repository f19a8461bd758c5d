//! The policies, each in a file of its own. A new one is a file, its `mod` and its line in
//! [`entries`](Registry::entries).

mod alone;
mod cliques;
mod coalitions;
mod egoists;
mod friends;
mod greedy;
mod optimal;

use std::fmt::Debug;

use fedcompetitors_graphs::{Entry, Registry, Rule, UsageGraph};

use crate::{Plan, Setting, closure::Closure};

pub use alone::Alone;
pub use cliques::{CliqueCover, Cliques, cliques};
pub use coalitions::{Coalitions, coalitions};
pub use egoists::{Egoists, egoists};
pub use friends::Friends;
pub use greedy::{Greedy, greedy, greedy_usage};
pub use optimal::{
    Effort, Objective, ObjectiveKind, ObjectiveNotServed, Optimal, diminishing, fairest,
    local_search, optimal,
};

impl Registry for dyn Policy {
    const KIND: &'static str = "policy";

    /// The best plan first: a comparison measures the others by it.
    fn entries() -> &'static [&'static Self] {
        &[&Optimal, &Greedy, &Egoists, &Coalitions, &Cliques, &Alone, &Friends]
    }
}

/// A way to decide who may learn from whom. Every plan keeps the policy's rule.
pub trait Policy: Entry + Debug + Send + Sync {
    /// The rule that its plans keep.
    fn rule(&self) -> Rule {
        Rule::Paths
    }

    /// Whether the plan depends on who would help whom.
    fn needs_benefits(&self) -> bool {
        true
    }

    /// Whether it searches for the best plan by an objective, as long as the effort allows. The
    /// others ignore both.
    fn searches(&self) -> bool {
        false
    }

    /// Makes a plan.
    fn plan(&self, setting: &Setting<'_>, objective: Objective<'_>, effort: Effort<'_>) -> Plan;
}

/// The wanted edges inside groups. Groups of [`Setting::hostile`] may share everything;
/// absent participants share nothing. If a group breaks the rule after all, edges are left out,
/// the least useful ones first.
fn inside(
    setting: &Setting<'_>,
    groups: &[Vec<usize>],
    wanted: impl Fn(usize, usize) -> bool,
) -> UsageGraph {
    let mut edges: Vec<(usize, usize)> = groups.iter().flat_map(|group| pairs(group)).collect();
    edges.retain(|&(from, to)| wanted(from, to));
    let value = |edge: &(usize, usize)| setting.benefit.benefit(edge.0, edge.1);
    edges.sort_by(|a, b| value(b).total_cmp(&value(a)));
    let mut closure = Closure::new(setting);
    for (from, to) in edges {
        if setting.admits_alone(from, to) && closure.admits(from, to) {
            closure.add(from, to);
        }
    }
    closure.usage()
}

/// Every ordered pair of two different members.
fn pairs(group: &[usize]) -> impl Iterator<Item = (usize, usize)> + '_ {
    group.iter().flat_map(move |&a| group.iter().filter(move |&&b| a != b).map(move |&b| (a, b)))
}
