//! What all policies have in common.

use fedcompetitors_graphs::{BenefitGraph, CompetingGraph, UsageGraph};

use crate::{Effort, Plan, coalitions, egoists, greedy, optimal};

/// A way to decide who may learn from whom. Every plan keeps the rule.
pub trait Policy {
    /// What it is called.
    fn name(&self) -> &'static str;

    /// Decides.
    ///
    /// # Panics
    /// If the graphs are over different participants.
    fn plan(&self, competing: &CompetingGraph, benefit: &BenefitGraph) -> Plan;
}

/// Everybody learns alone.
#[derive(Debug, Clone, Copy)]
pub struct Alone;

/// The paper's selection: [`greedy`].
#[derive(Debug, Clone, Copy)]
pub struct Greedy;

/// The largest welfare that the rule allows: [`optimal`].
#[derive(Debug, Clone, Copy)]
pub struct Optimal<'a>(pub Effort<'a>);

/// Everybody learns from everybody inside cliques without competitors, as few as can
/// be: [`cliques`](crate::cliques).
#[derive(Debug, Clone, Copy)]
pub struct Cliques;

/// The collaboration equilibrium inside those cliques: [`coalitions`].
#[derive(Debug, Clone, Copy)]
pub struct Coalitions;

/// Coalitions without competitors or free riders: [`egoists`].
#[derive(Debug, Clone, Copy)]
pub struct Egoists;

impl Policy for Alone {
    fn name(&self) -> &'static str {
        "none"
    }

    fn plan(&self, competing: &CompetingGraph, benefit: &BenefitGraph) -> Plan {
        let usage = UsageGraph::builder(benefit.participants()).build();
        Plan::new(self.name(), competing, benefit, usage)
    }
}

impl Policy for Greedy {
    fn name(&self) -> &'static str {
        "greedy"
    }

    fn plan(&self, competing: &CompetingGraph, benefit: &BenefitGraph) -> Plan {
        greedy(competing, benefit)
    }
}

impl Policy for Optimal<'_> {
    fn name(&self) -> &'static str {
        "optimal"
    }

    fn plan(&self, competing: &CompetingGraph, benefit: &BenefitGraph) -> Plan {
        optimal(competing, benefit, self.0)
    }
}

impl Policy for Cliques {
    fn name(&self) -> &'static str {
        "cliques"
    }

    fn plan(&self, competing: &CompetingGraph, benefit: &BenefitGraph) -> Plan {
        let cover = crate::cliques(competing);
        let mut usage = UsageGraph::builder(benefit.participants());
        for clique in &cover.cliques {
            for (from, to) in pairs(clique) {
                usage.add(from, to).expect("each pair once");
            }
        }
        let plan = Plan::new(self.name(), competing, benefit, usage.build());
        Plan { note: Some(cover.note()), ..plan }
    }
}

impl Policy for Coalitions {
    fn name(&self) -> &'static str {
        "coalitions"
    }

    fn plan(&self, competing: &CompetingGraph, benefit: &BenefitGraph) -> Plan {
        let cover = crate::cliques(competing);
        let coalitions = cover.cliques.iter().flat_map(|clique| coalitions(benefit, clique));
        let usage = inside(benefit, &coalitions.collect::<Vec<_>>());
        Plan { note: Some(cover.note()), ..Plan::new(self.name(), competing, benefit, usage) }
    }
}

impl Policy for Egoists {
    fn name(&self) -> &'static str {
        "egoists"
    }

    fn plan(&self, competing: &CompetingGraph, benefit: &BenefitGraph) -> Plan {
        let usage = inside(benefit, &egoists(competing, benefit));
        Plan::new(self.name(), competing, benefit, usage)
    }
}

/// The useful edges inside groups.
fn inside(benefit: &BenefitGraph, groups: &[Vec<usize>]) -> UsageGraph {
    let mut usage = UsageGraph::builder(benefit.participants());
    for group in groups {
        for (from, to) in pairs(group).filter(|&(from, to)| benefit.benefit(from, to) > 0.0) {
            usage.add(from, to).expect("each pair once");
        }
    }
    usage.build()
}

/// Every ordered pair of two different members.
fn pairs(group: &[usize]) -> impl Iterator<Item = (usize, usize)> + '_ {
    group.iter().flat_map(move |&a| group.iter().filter(move |&&b| a != b).map(move |&b| (a, b)))
}
