//! Plans that starve nobody: other aims than the largest sum.
//!
//! First a search: a part of the best plan is taken away, often an edge that somebody
//! poor lacks is forced in, and the rest is filled up by giving whoever has least its best
//! edge next. Then every plan is tried, edge by edge, leaving out those that could not be
//! fairer even if everybody got all that is still open to it; if that comes to its end,
//! the plan is proven to be the fairest.

use std::cmp::Ordering;

use super::{
    effort::Clock,
    problem::Problem,
    search::{Found, Improver},
};
use crate::closure::Closure;

/// How often a plan is disturbed and filled up again; where every plan cannot be tried,
/// this goes on until the limit, if there is one.
const TIMES: usize = 3000;

/// Contested edges up to which trying every plan is begun: beyond, it never ends.
const MOST_EDGES: usize = 400;

/// Steps after which trying every plan gives up where there is no limit.
const MOST_STEPS: usize = 300_000;

/// What is fair.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fairness {
    /// Whoever gets least gets as much as can be; then the next, and so on.
    MaxMin,
    /// As many as can be get something, and the product of what they get is largest.
    Proportional,
}

/// The fairest plan, and whether that is proven.
pub fn fairest<'a>(
    problem: &'a Problem<'a>,
    fairness: Fairness,
    clock: &'a Clock<'a>,
    start: Found,
) -> (Found, bool) {
    let aim = Aim::new(problem, fairness);
    let mut improver = Improver::new(problem, clock);
    let filled = fill_fairly(problem, &aim, &improver, &[]);
    let mut best = if aim.compare(&start, &filled).is_gt() { start } else { filled };
    let mut current = best.clone();
    let can_try_all = problem.contested <= MOST_EDGES;
    let times = if can_try_all || !clock.is_limited() { TIMES } else { usize::MAX };
    for time in 0..times {
        if problem.contested == 0 || clock.is_over() {
            break;
        }
        let mut first = Vec::new();
        if time % 2 == 0 {
            first.extend(aim.lacking(&current, &mut improver));
        }
        first.extend(improver.part_of(&current));
        let next = fill_fairly(problem, &aim, &improver, &first);
        if aim.compare(&next, &current).is_ge() {
            current = next.clone();
        }
        if aim.compare(&next, &best).is_gt() {
            best = next;
        }
        if time % 200 == 199 {
            current = best.clone();
        }
    }
    if !can_try_all || clock.is_over() {
        return (best, false);
    }
    let mut every = EveryPlan::new(problem, &aim, &improver, clock, best);
    let open = Open { at: 0, closure: Closure::new(&problem.setting), used: Vec::new() };
    every.go_on(&open);
    (every.best, !every.gave_up)
}

/// What is aimed at.
struct Aim<'a> {
    problem: &'a Problem<'a>,
    fairness: Fairness,
    /// Those who could get anything.
    hopeful: Vec<usize>,
}

impl<'a> Aim<'a> {
    fn new(problem: &'a Problem<'a>, fairness: Fairness) -> Self {
        let mut hopeful: Vec<usize> = problem.edges.iter().map(|edge| edge.to).collect();
        hopeful.sort_unstable();
        hopeful.dedup();
        Self { problem, fairness, hopeful }
    }

    /// What everybody gets by a plan.
    fn received(&self, used: &[bool]) -> Vec<f64> {
        let mut received = vec![0.0; self.problem.rivals.len()];
        let used = used.iter().copied().chain(std::iter::repeat(true));
        for (edge, _) in self.problem.edges.iter().zip(used).filter(|(_, used)| *used) {
            received[edge.to] += edge.value;
        }
        received
    }

    /// An edge that one of the two poorest lacks.
    fn lacking(&self, plan: &Found, improver: &mut Improver<'_>) -> Option<usize> {
        let received = self.received(&plan.used);
        let mut poorest = self.hopeful.clone();
        poorest.sort_by(|&a, &b| received[a].total_cmp(&received[b]));
        let to = *poorest.get(improver.below(2.min(poorest.len())))?;
        let lacks = |at: &usize| self.problem.edges[*at].to == to && !plan.used[*at];
        let lacking: Vec<usize> = (0..self.problem.contested).filter(lacks).collect();
        lacking.get(improver.below(lacking.len())).copied()
    }

    /// Is one plan better than another? Of equals the one with the larger sum.
    fn compare(&self, a: &Found, b: &Found) -> Ordering {
        let fairer = self.compare_received(&self.received(&a.used), &self.received(&b.used));
        fairer.then(near(a.value, b.value))
    }

    /// Is it fairer if everybody gets the one or the other?
    fn compare_received(&self, a: &[f64], b: &[f64]) -> Ordering {
        let of = |received: &[f64]| -> Vec<f64> {
            self.hopeful.iter().map(|&to| received[to]).collect()
        };
        let (mut a_gets, mut b_gets) = (of(a), of(b));
        match self.fairness {
            Fairness::MaxMin => {
                // The poorest decides, then the next poorest, and so on.
                a_gets.sort_by(f64::total_cmp);
                b_gets.sort_by(f64::total_cmp);
                let pairs = a_gets.iter().zip(&b_gets);
                pairs
                    .map(|(a, b)| near(*a, *b))
                    .find(|order| order.is_ne())
                    .unwrap_or(Ordering::Equal)
            }
            Fairness::Proportional => {
                let value = |gets: &[f64]| {
                    let something = gets.iter().filter(|&&gets| gets > 0.0);
                    (something.clone().count(), something.map(|gets| gets.ln()).sum::<f64>())
                };
                let (a, b) = (value(&a_gets), value(&b_gets));
                a.0.cmp(&b.0).then(near_logarithms(a.1, b.1))
            }
        }
    }
}

/// Compares sums of benefits, which differ in their last bits by the order of summing.
fn near(a: f64, b: f64) -> Ordering {
    if (a - b).abs() <= 1e-12 * a.abs().max(b.abs()) { Ordering::Equal } else { a.total_cmp(&b) }
}

/// The same for logarithms: where sums differ in proportion, these differ by an amount.
fn near_logarithms(a: f64, b: f64) -> Ordering {
    if (a - b).abs() <= 1e-12 * (1.0 + a.abs()) { Ordering::Equal } else { a.total_cmp(&b) }
}

/// Takes these edges, each if it may be added; then whoever has least gets its best edge
/// that may be added, until none may.
fn fill_fairly(
    problem: &Problem<'_>,
    aim: &Aim<'_>,
    improver: &Improver<'_>,
    first: &[usize],
) -> Found {
    improver.spend();
    let mut closure = Closure::new(&problem.setting);
    let mut used = vec![false; problem.contested];
    for &at in first {
        let edge = problem.edges[at];
        if closure.admits(edge.from, edge.to) {
            closure.add(edge.from, edge.to);
            used[at] = true;
        }
    }
    let mut received = aim.received(&used);
    // The edges into each participant, the best last.
    let mut waiting: Vec<Vec<usize>> = vec![Vec::new(); problem.rivals.len()];
    (0..problem.contested)
        .filter(|&at| !used[at])
        .for_each(|at| waiting[problem.edges[at].to].push(at));
    let value = |at: &usize| problem.edges[*at].value;
    waiting
        .iter_mut()
        .for_each(|edges| edges.sort_by(|a, b| value(a).total_cmp(&value(b)).then(b.cmp(a))));
    let poorest = |waiting: &[Vec<usize>], received: &[f64]| {
        let open = (0..waiting.len()).filter(|&to| !waiting[to].is_empty());
        open.min_by(|&a, &b| received[a].total_cmp(&received[b]))
    };
    let mut turns = 0_usize;
    while let Some(to) = poorest(&waiting, &received) {
        // Stopped early it is a plan all the same.
        turns += 1;
        if turns.is_multiple_of(256) && improver.is_over() {
            break;
        }
        while let Some(at) = waiting[to].pop() {
            let edge = problem.edges[at];
            if closure.admits(edge.from, edge.to) {
                closure.add(edge.from, edge.to);
                used[at] = true;
                received[to] += edge.value;
                break;
            }
        }
    }
    improver.found(used)
}

/// Tries every plan, edge by edge, the most valuable edges first.
struct EveryPlan<'a> {
    problem: &'a Problem<'a>,
    aim: &'a Aim<'a>,
    improver: &'a Improver<'a>,
    clock: &'a Clock<'a>,
    order: Vec<usize>,
    best: Found,
    steps: usize,
    gave_up: bool,
}

/// The decisions on the first edges of the order.
struct Open {
    at: usize,
    closure: Closure,
    used: Vec<usize>,
}

impl<'a> EveryPlan<'a> {
    fn new(
        problem: &'a Problem<'a>,
        aim: &'a Aim<'a>,
        improver: &'a Improver<'a>,
        clock: &'a Clock<'a>,
        best: Found,
    ) -> Self {
        let mut order: Vec<usize> = (0..problem.contested).collect();
        let value = |at: usize| problem.edges[at].value;
        order.sort_by(|&a, &b| value(b).total_cmp(&value(a)));
        Self { problem, aim, improver, clock, order, best, steps: 0, gave_up: false }
    }

    fn go_on(&mut self, open: &Open) {
        self.steps += 1;
        let too_many = !self.clock.is_limited() && self.steps > MOST_STEPS;
        self.clock.spend(8 * self.problem.contested);
        if too_many || self.steps.is_multiple_of(64) && self.clock.is_over() {
            self.gave_up = true;
        }
        if self.gave_up {
            return;
        }
        // What everybody would get with all that may still be added: no plan is fairer.
        let may = |at: &&usize| {
            let edge = self.problem.edges[**at];
            open.closure.admits(edge.from, edge.to)
        };
        let mut hoped = vec![false; self.problem.contested];
        open.used
            .iter()
            .chain(self.order[open.at..].iter().filter(may))
            .for_each(|&at| hoped[at] = true);
        let hoped = self.improver.found(hoped);
        if self.aim.compare(&hoped, &self.best).is_le() {
            return;
        }
        let Some(&at) = self.order[open.at..].iter().find(may) else {
            self.best = hoped;
            return;
        };
        let edge = self.problem.edges[at];
        let next = 1 + self.order.iter().position(|&other| other == at).unwrap_or(open.at);
        let mut closure = open.closure.clone();
        closure.add(edge.from, edge.to);
        let used = open.used.iter().copied().chain([at]).collect();
        self.go_on(&Open { at: next, closure, used });
        let used = open.used.clone();
        self.go_on(&Open { at: next, closure: open.closure.clone(), used });
    }
}

/// What there is to say about such a plan.
pub fn note(fairness: Fairness, proven: bool) -> &'static str {
    match (fairness, proven) {
        (Fairness::MaxMin, true) => "max-min fair (proven)",
        (Fairness::MaxMin, false) => "max-min fair as far as was found (not proven)",
        (Fairness::Proportional, true) => "proportionally fair (proven)",
        (Fairness::Proportional, false) => "proportionally fair as far as was found (not proven)",
    }
}
