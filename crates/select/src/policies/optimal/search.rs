//! Good plans fast: take a part of the best plan away, fill it up again in another
//! order, keep what is better.

use std::{cmp::Ordering, collections::BinaryHeap};

use fedcompetitors_graphs::random::Stream;

use super::{
    effort::Clock,
    problem::{Problem, Returns},
};
use crate::closure::Closure;

/// A plan as the set of its contested edges, and their worth.
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
    clock: &'a Clock<'a>,
}

impl<'a> Improver<'a> {
    pub fn new(problem: &'a Problem<'a>, clock: &'a Clock<'a>) -> Self {
        Self {
            problem,
            empty: Closure::new(&problem.setting),
            stream: Stream::new(clock.effort.seed, "local search", 0),
            clock,
        }
    }

    /// Is the time up?
    pub fn is_over(&self) -> bool {
        self.clock.is_over()
    }

    /// The plan that takes the contested edges in this order, each if it may. Stopped
    /// early it is a plan all the same, with fewer edges.
    pub fn fill(&self, order: impl Iterator<Item = usize>) -> Found {
        let mut closure = self.empty.clone();
        let mut used = vec![false; self.problem.contested];
        self.spend();
        for (tried, at) in order.enumerate() {
            if tried % 1024 == 1023 && self.clock.is_over() {
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
        let value = self.problem.value(used.iter().copied());
        Found { used, value }
    }

    /// How many plans can be filled up by gain in this many operations.
    pub fn plans_in(&self, operations: usize) -> usize {
        operations / (4 * self.cost()).max(1)
    }

    /// Counts the operations of filling up one plan.
    pub fn spend(&self) {
        self.clock.spend(self.cost());
    }

    /// About how many operations it takes to fill up a plan.
    fn cost(&self) -> usize {
        let count = self.problem.rivals.len();
        64 * self.problem.contested + count * count
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

    /// What is left of a plan's contested edges when a few participants lose all edges into
    /// them, out of them, or both. A single edge would come back with the ways beside it.
    fn without_some(&mut self, plan: &Found) -> Vec<usize> {
        let count = self.problem.rivals.len();
        let (mut into, mut out_of) = (vec![false; count], vec![false; count]);
        for _ in 0..=self.below(4) {
            let (who, kind) = (self.below(count), self.below(3));
            into[who] |= kind != 1;
            out_of[who] |= kind != 0;
        }
        let kept = |at: &usize| {
            let edge = self.problem.edges[*at];
            plan.used[*at] && !into[edge.to] && !out_of[edge.from]
        };
        (0..self.problem.contested).filter(kept).collect()
    }

    /// An edge that a plan lacks, then edges of the plan, shuffled: what the first forbids goes.
    fn forced(&mut self, plan: &Found) -> Vec<usize> {
        let lacking: Vec<usize> =
            (0..self.problem.contested).filter(|&at| !plan.used[at]).collect();
        let forced = lacking.get(self.below(lacking.len())).copied();
        let mut stays = plan.used.clone();
        if self.below(2) == 0 {
            let kept = self.without_some(plan);
            stays.fill(false);
            kept.into_iter().for_each(|at| stays[at] = true);
        }
        let mut order = self.by_weight(|_| 0.0, 1.0);
        order.retain(|&at| stays[at]);
        forced.into_iter().chain(order).collect()
    }

    /// Takes a part of a plan away and fills it up again in another order.
    pub fn disturb(&mut self, plan: &Found) -> Found {
        if let Returns::Diminishing(_) = self.problem.returns {
            let kept = match self.below(4) {
                0 => self.part_of(plan),
                1 => self.without_some(plan),
                _ => self.forced(plan),
            };
            let shuffle = [0.3, 0.7, 1.0][self.below(3)];
            return self.fill_by_gain(&kept, shuffle);
        }
        let kept = self.part_of(plan);
        let contested = &self.problem.edges[..self.problem.contested];
        let values: Vec<f64> = contested.iter().map(|edge| edge.value).collect();
        let most = values.iter().copied().fold(0.0, f64::max);
        let shuffle = most * [0.1, 0.4, 1.0][self.below(3)];
        let rest = self.by_weight(|at| values[at], shuffle);
        self.fill(kept.into_iter().chain(rest))
    }

    /// Takes these edges, each if it may; then again and again the edge that gains most now, the
    /// gains shuffled by up to this part, until none may be added. An edge that changes nobody's
    /// reach comes with the edge that made it so.
    pub fn fill_by_gain(&mut self, first: &[usize], shuffle: f64) -> Found {
        self.clock.spend(4 * self.cost());
        let problem = self.problem;
        let mut plan = Growing {
            problem,
            closure: self.empty.clone(),
            used: vec![false; problem.contested],
            sums: vec![0.0; problem.rivals.len()],
        };
        first.iter().for_each(|&at| plan.take(at));
        let mut waiting: BinaryHeap<Waiting> = (0..problem.contested)
            .map(|at| {
                let likes = 1.0 - shuffle * self.stream.unit();
                Waiting { at, likes, gain: f64::INFINITY }
            })
            .collect();
        let mut turns = 0_usize;
        while let Some(next) = waiting.pop() {
            turns += 1;
            // Stopped early it is a plan all the same.
            if turns.is_multiple_of(1024) && self.clock.is_over() {
                break;
            }
            if plan.used[next.at] {
                continue;
            }
            // Gains only fall while a plan grows: one that still leads the others is the largest.
            let gain = next.likes * plan.gain(next.at);
            if waiting.peek().is_some_and(|other| gain < other.gain) {
                waiting.push(Waiting { gain, ..next });
            } else {
                plan.take(next.at);
            }
        }
        self.found(plan.used)
    }
}

/// A plan that grows edge by edge.
struct Growing<'a> {
    problem: &'a Problem<'a>,
    closure: Closure,
    used: Vec<bool>,
    /// What each participant receives.
    sums: Vec<f64>,
}

impl Growing<'_> {
    /// What this edge would bring its receiver now.
    fn gain(&self, at: usize) -> f64 {
        let edge = self.problem.edges[at];
        let sum = self.sums[edge.to];
        self.problem.worth(edge.to, sum + edge.value) - self.problem.worth(edge.to, sum)
    }

    /// Takes an edge if it may, with all edges that then change nobody's reach.
    fn take(&mut self, at: usize) {
        let edge = self.problem.edges[at];
        if self.used[at] || !self.closure.admits(edge.from, edge.to) {
            return;
        }
        let pairs = self.closure.connected_by(edge.from, edge.to);
        self.closure.add(edge.from, edge.to);
        let edges = pairs.iter().filter_map(|&(from, to)| self.problem.contested_edge(from, to));
        for at in edges {
            self.used[at] = true;
            self.sums[self.problem.edges[at].to] += self.problem.edges[at].value;
        }
    }
}

/// An edge that waits for its turn, with what it gained when it was last looked at.
struct Waiting {
    gain: f64,
    likes: f64,
    at: usize,
}

impl PartialEq for Waiting {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Waiting {}

impl PartialOrd for Waiting {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Waiting {
    fn cmp(&self, other: &Self) -> Ordering {
        self.gain.total_cmp(&other.gain).then(other.at.cmp(&self.at))
    }
}
