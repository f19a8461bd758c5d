//! Good plans fast: take a part of the best plan away, fill it up again in another
//! order, keep what is better.

use fedcompetitors_graphs::random::Stream;

use super::{Effort, problem::Problem};
use crate::closure::Closure;

/// A plan as the set of its contested edges, and their value.
#[derive(Clone)]
pub struct Found {
    pub used: Vec<bool>,
    pub value: f64,
}

/// Makes and improves plans.
pub struct Improver<'a> {
    problem: &'a Problem<'a>,
    empty: Closure,
    stream: Stream,
    effort: Effort<'a>,
}

impl<'a> Improver<'a> {
    pub fn new(problem: &'a Problem<'a>, effort: Effort<'a>) -> Self {
        Self {
            problem,
            empty: Closure::new(&problem.setting),
            stream: Stream::new(effort.seed, "local search", 0),
            effort,
        }
    }

    /// Is the time up?
    pub fn is_over(&self) -> bool {
        self.effort.is_over()
    }

    /// The plan that takes the contested edges in this order, each if it may. Stopped
    /// early it is a plan all the same, with fewer edges.
    pub fn fill(&self, order: impl Iterator<Item = usize>) -> Found {
        let mut closure = self.empty.clone();
        let mut used = vec![false; self.problem.contested];
        for (tried, at) in order.enumerate() {
            if tried % 1024 == 1023 && self.effort.is_over() {
                break;
            }
            let edge = self.problem.edges[at];
            if !used[at] && closure.admits(edge.from, edge.to) {
                closure.add(edge.from, edge.to);
                used[at] = true;
            }
        }
        self.found(used)
    }

    /// The plan with these contested edges.
    pub fn found(&self, used: Vec<bool>) -> Found {
        let values = used.iter().zip(&self.problem.edges).filter(|(used, _)| **used);
        let value = values.map(|(_, edge)| edge.value).fold(0.0, |sum, value| sum + value);
        Found { used, value }
    }

    /// Edges in order of how much is said for them, shuffled a little.
    pub fn by_weight(&mut self, weight: impl Fn(usize) -> f64, shuffle: f64) -> Vec<usize> {
        let mut keyed: Vec<(f64, usize)> = (0..self.problem.contested)
            .map(|at| (weight(at) + shuffle * self.stream.unit(), at))
            .collect();
        keyed.sort_by(|a, b| b.0.total_cmp(&a.0));
        keyed.into_iter().map(|(_, at)| at).collect()
    }

    /// A random number below `count`; 0 where there is none.
    pub fn below(&mut self, count: usize) -> usize {
        (self.stream.bits() % count.max(1) as u64) as usize
    }

    /// What is left of a plan's contested edges when a part of them is taken away, around
    /// one participant or anywhere.
    pub fn part_of(&mut self, plan: &Found) -> Vec<usize> {
        let count = self.problem.rivals.len();
        let kind = self.stream.bits() % 3;
        let part = [0.1, 0.2, 0.4][self.below(3)];
        let centre = self.below(count);
        let mut kept: Vec<usize> = Vec::new();
        for at in (0..self.problem.contested).filter(|&at| plan.used[at]) {
            let edge = self.problem.edges[at];
            let goes = match kind {
                0 => edge.to == centre || self.stream.unit() < part * 0.25,
                1 => edge.from == centre || self.stream.unit() < part * 0.25,
                _ => self.stream.unit() < part,
            };
            if !goes {
                kept.push(at);
            }
        }
        kept
    }

    /// Takes a part of a plan away and fills it up again in another order.
    pub fn disturb(&mut self, plan: &Found) -> Found {
        let kept = self.part_of(plan);
        let contested = &self.problem.edges[..self.problem.contested];
        let values: Vec<f64> = contested.iter().map(|edge| edge.value).collect();
        let most = values.iter().copied().fold(0.0, f64::max);
        let shuffle = most * [0.1, 0.4, 1.0][self.below(3)];
        let rest = self.by_weight(|at| values[at], shuffle);
        self.fill(kept.into_iter().chain(rest))
    }
}
