//! What all policies have in common.

use fedcompetitors_graphs::UsageGraph;

use crate::{
    Effort, Objective, Plan, Setting, closure::Closure, coalitions, egoists, fairest, greedy,
};

/// A way to decide who may learn from whom. Every plan keeps the rule.
pub trait Policy {
    /// What it is called.
    fn name(&self) -> &'static str;

    /// Decides.
    fn plan(&self, setting: &Setting<'_>) -> Plan;
}

/// Everybody learns alone.
#[derive(Debug, Clone, Copy)]
pub struct Alone;

/// The paper's selection: [`greedy`].
#[derive(Debug, Clone, Copy)]
pub struct Greedy;

/// The best plan by an objective that the rule allows: [`fairest`], and for the welfare
/// [`optimal`](crate::optimal).
#[derive(Debug, Clone, Copy, Default)]
pub struct Optimal<'a> {
    /// What is best.
    pub objective: Objective,
    /// How long to look.
    pub effort: Effort<'a>,
}

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

    fn plan(&self, setting: &Setting<'_>) -> Plan {
        let usage = UsageGraph::builder(setting.participants()).build();
        Plan::new(self.name(), setting, usage)
    }
}

impl Policy for Greedy {
    fn name(&self) -> &'static str {
        "greedy"
    }

    fn plan(&self, setting: &Setting<'_>) -> Plan {
        greedy(*setting)
    }
}

impl Policy for Optimal<'_> {
    fn name(&self) -> &'static str {
        "optimal"
    }

    fn plan(&self, setting: &Setting<'_>) -> Plan {
        fairest(*setting, self.objective, self.effort)
    }
}

impl Policy for Cliques {
    fn name(&self) -> &'static str {
        "cliques"
    }

    fn plan(&self, setting: &Setting<'_>) -> Plan {
        let cover = crate::cliques(&setting.hostile());
        let usage = inside(setting, &cover.cliques, |_, _| true);
        Plan { note: Some(cover.note()), ..Plan::new(self.name(), setting, usage) }
    }
}

impl Policy for Coalitions {
    fn name(&self) -> &'static str {
        "coalitions"
    }

    fn plan(&self, setting: &Setting<'_>) -> Plan {
        let benefit = setting.benefit;
        let cover = crate::cliques(&setting.hostile());
        let coalitions = cover.cliques.iter().flat_map(|clique| coalitions(benefit, clique));
        let coalitions: Vec<_> = coalitions.collect();
        let usage = inside(setting, &coalitions, |from, to| benefit.benefit(from, to) > 0.0);
        Plan { note: Some(cover.note()), ..Plan::new(self.name(), setting, usage) }
    }
}

impl Policy for Egoists {
    fn name(&self) -> &'static str {
        "egoists"
    }

    fn plan(&self, setting: &Setting<'_>) -> Plan {
        let benefit = setting.benefit;
        let coalitions = egoists(&setting.hostile(), benefit);
        let usage = inside(setting, &coalitions, |from, to| benefit.benefit(from, to) > 0.0);
        Plan::new(self.name(), setting, usage)
    }
}

/// The wanted edges inside groups. Groups of [`Setting::hostile`] may share everything;
/// those who are not there share nothing, and should a group break the rule after all,
/// edges are left out, the least useful ones first.
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
