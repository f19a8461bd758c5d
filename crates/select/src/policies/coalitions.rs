//! The collaboration equilibrium: who depends on nobody outside forms a coalition.

use fedcompetitors_graphs::{BenefitGraph, Entry, Reachability, bits::BitMatrix, entry};

use super::{Effort, Objective, Policy, cliques, inside};
use crate::{Plan, Setting};

/// The collaboration equilibrium inside groups without competitors: [`coalitions`].
#[derive(Debug, Clone, Copy)]
pub struct Coalitions;

entry!(Coalitions, "coalitions", "The collaboration equilibrium inside the groups of `cliques`.");

impl Policy for Coalitions {
    fn plan(&self, setting: &Setting<'_>, _: Objective<'_>, _: Effort<'_>) -> Plan {
        let benefit = setting.benefit;
        let cover = cliques(&setting.hostile());
        let groups = cover.cliques.iter().flat_map(|clique| coalitions(benefit, clique));
        let groups: Vec<_> = groups.collect();
        let usage = inside(setting, &groups, |from, to| benefit.benefit(from, to) > 0.0);
        Plan { note: Some(cover.note().into()), ..Plan::new(self.name(), setting, usage) }
    }
}

/// The coalitions inside a group: the strongly connected components of the benefit graph
/// that nobody outside helps; then the same among the rest, and so on.
///
/// Whoever depends on a coalition without giving back to it is left to itself.
pub fn coalitions(benefit: &BenefitGraph, group: &[usize]) -> Vec<Vec<usize>> {
    let mut rest: Vec<usize> = group.to_vec();
    let mut coalitions = Vec::new();
    while !rest.is_empty() {
        let mut helps = BitMatrix::new(benefit.participants().len());
        for &to in &rest {
            for (from, _) in benefit.helpers(to).filter(|(from, _)| rest.contains(from)) {
                helps.set(from, to);
            }
        }
        let reach = Reachability::along(&helps);
        // Whoever reaches a member of such a component is a member itself.
        let independent =
            |&a: &usize| rest.iter().all(|&b| !reach.reaches(b, a) || reach.reaches(a, b));
        let mut members: Vec<usize> = rest.iter().copied().filter(independent).collect();
        rest.retain(|a| !members.contains(a));
        while let Some(&first) = members.first() {
            let (coalition, others): (Vec<usize>, Vec<usize>) =
                members.iter().partition(|&&a| reach.reaches(first, a));
            coalitions.push(coalition);
            members = others;
        }
    }
    coalitions
}
