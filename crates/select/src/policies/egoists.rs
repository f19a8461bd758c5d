//! Coalitions in which everybody gives and gets and nobody competes.
//!
//! Everybody begins alone. Coalitions are joined along closed ways of help (each on the
//! way gives to the next and gets from the one before), along ways from one coalition of
//! several to another, and where one such coalition helps another, until nothing more can
//! be joined. Ways are found by searching breadth-first through coalitions that compete
//! with nobody on the way so far, so the whole is polynomial; it may miss a way that a
//! search through all ways would find.

use std::collections::VecDeque;

use fedcompetitors_graphs::{
    BenefitGraph, CompetingGraph, Entry,
    bits::{BitMatrix, insert, intersects, union, words_for},
    entry,
};

use super::{Effort, Objective, Policy, inside};
use crate::{Plan, Setting};

/// Coalitions without competitors or free riders: [`egoists`].
#[derive(Debug, Clone, Copy)]
pub struct Egoists;

entry!(Egoists, "egoists", "Coalitions without competitors or free riders.");

impl Policy for Egoists {
    fn plan(&self, setting: &Setting<'_>, _: Objective<'_>, _: Effort<'_>) -> Plan {
        let benefit = setting.benefit;
        let groups = egoists(&setting.hostile(), benefit);
        let usage = inside(setting, &groups, |from, to| benefit.benefit(from, to) > 0.0);
        Plan::new(self.name(), setting, usage)
    }
}

/// The coalitions, those of one member included, each in listed order.
pub fn egoists(competing: &CompetingGraph, benefit: &BenefitGraph) -> Vec<Vec<usize>> {
    let mut partition = Partition::new(competing, benefit);
    while let Some(joined) = partition.way() {
        partition.join(&joined);
    }
    let mut coalitions: Vec<Vec<usize>> =
        partition.coalitions.into_iter().map(|coalition| coalition.members).collect();
    coalitions.sort();
    coalitions
}

struct Coalition {
    members: Vec<usize>,
    /// The members as a bit set.
    set: Vec<u64>,
    /// The competitors of the members.
    rivals: Vec<u64>,
    /// Those whom the members help.
    helped: Vec<u64>,
}

struct Partition {
    coalitions: Vec<Coalition>,
}

impl Partition {
    fn new(competing: &CompetingGraph, benefit: &BenefitGraph) -> Self {
        let count = competing.participants().len();
        let mut helped = BitMatrix::new(count);
        for to in 0..count {
            benefit.helpers(to).for_each(|(from, _)| helped.set(from, to));
        }
        let alone = |a: usize| {
            let mut set = vec![0; words_for(count)];
            insert(&mut set, a);
            Coalition {
                members: vec![a],
                set,
                rivals: competing.competitors(a).to_vec(),
                helped: helped.row(a).to_vec(),
            }
        };
        Self { coalitions: (0..count).map(alone).collect() }
    }

    fn helps(&self, from: usize, to: usize) -> bool {
        from != to && intersects(&self.coalitions[from].helped, &self.coalitions[to].set)
    }

    fn is_group(&self, coalition: usize) -> bool {
        self.coalitions[coalition].members.len() > 1
    }

    /// Coalitions that can be joined: a closed way, or a way from a group to a group.
    fn way(&self) -> Option<Vec<usize>> {
        (0..self.coalitions.len()).find_map(|start| self.way_from(start))
    }

    fn way_from(&self, start: usize) -> Option<Vec<usize>> {
        // For each coalition reached the way to it and everybody's rivals on that way.
        let mut ways: Vec<Option<(Vec<usize>, Vec<u64>)>> = Vec::new();
        ways.resize_with(self.coalitions.len(), || None);
        ways[start] = Some((vec![start], self.coalitions[start].rivals.clone()));
        let mut queue = VecDeque::from([start]);
        while let Some(at) = queue.pop_front() {
            let (way, rivals) = ways[at].clone()?;
            let closes = at != start && self.helps(at, start);
            let arrives = at != start && self.is_group(start) && self.is_group(at);
            if closes || arrives {
                return Some(way);
            }
            for next in (0..self.coalitions.len()).filter(|&next| self.helps(at, next)) {
                if ways[next].is_some() || intersects(&self.coalitions[next].set, &rivals) {
                    continue;
                }
                let (mut longer, mut rivals) = (way.clone(), rivals.clone());
                longer.push(next);
                union(&mut rivals, &self.coalitions[next].rivals);
                ways[next] = Some((longer, rivals));
                queue.push_back(next);
            }
        }
        None
    }

    fn join(&mut self, joined: &[usize]) {
        let mut joined = joined.to_vec();
        joined.sort_unstable();
        let target = joined[0];
        for &other in joined[1..].iter().rev() {
            let other = self.coalitions.remove(other);
            let coalition = &mut self.coalitions[target];
            coalition.members.extend(other.members);
            union(&mut coalition.set, &other.set);
            union(&mut coalition.rivals, &other.rivals);
            union(&mut coalition.helped, &other.helped);
        }
        self.coalitions[target].members.sort_unstable();
    }
}
