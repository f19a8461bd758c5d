//! The best plan there is (policy `optimal`), with proof.
//!
//! Three parts work together, and one may stop at any time:
//! [`search`] finds good plans, [`relaxation`] proves how good a plan can be at most,
//! and branching closes what is left between the two: it takes an edge on which the
//! relaxation cannot decide, uses it on one side, leaves it out on the other, and goes
//! on where the bound is highest.

mod fair;
mod problem;
mod relaxation;
mod search;
mod simplex;

use std::{
    cmp::Ordering,
    collections::BinaryHeap,
    sync::atomic::{self, AtomicBool},
    time::Instant,
};

use fedcompetitors_graphs::{Entry, Registry, UsageGraph, entry};

use self::{
    problem::Problem,
    relaxation::{Fixed, bound},
    search::{Found, Improver},
};
use super::Policy;
use crate::{Plan, Setting, closure::Closure, greedy_usage};

/// The best plan by an objective: [`fairest`], and for the welfare [`optimal`].
#[derive(Debug, Clone, Copy)]
pub struct Optimal;

entry!(Optimal, "optimal", "The largest welfare that the rule allows, with a proven bound.");

impl Policy for Optimal {
    fn searches(&self) -> bool {
        true
    }

    fn plan(&self, setting: &Setting<'_>, objective: Objective, effort: Effort<'_>) -> Plan {
        fairest(*setting, objective, effort)
    }
}

/// What the best plan maximises.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Objective {
    /// The largest sum of benefits.
    #[default]
    Welfare,
    /// Whoever gets least gets as much as can be; then the next, and so on.
    MaxMin,
    /// As many as can be get something, and the product of what they get is largest: what
    /// one gains in proportion is worth no more than what the others lose.
    Proportional,
}

impl Entry for Objective {
    fn name(&self) -> &'static str {
        match self {
            Self::Welfare => "welfare",
            Self::MaxMin => "max-min",
            Self::Proportional => "proportional",
        }
    }

    fn help(&self) -> &'static str {
        match self {
            Self::Welfare => "The largest sum of benefits.",
            Self::MaxMin => {
                "Maximise the smallest benefit that a participant gets, then the next smallest, and so on."
            }
            Self::Proportional => {
                "Help as many participants as possible, then maximise the product of what they get."
            }
        }
    }
}

impl Registry for Objective {
    const KIND: &'static str = "objective";

    fn entries() -> &'static [&'static Self] {
        &[&Self::Welfare, &Self::MaxMin, &Self::Proportional]
    }
}

/// The plan that serves an objective best, or the best one that was found.
///
/// For [`Objective::Welfare`] this is [`optimal`]. For the others `upper_bound` still
/// bounds the welfare, and `note` says whether the plan is proven to be the fairest.
pub fn fairest(setting: Setting<'_>, objective: Objective, effort: Effort<'_>) -> Plan {
    if objective == Objective::Welfare {
        return optimal(setting, effort);
    }
    let problem = Problem::new(setting);
    let mut solver = Solver::new(&problem, effort);
    solver.start_from(&greedy_usage(setting));
    let (best, proven) = fair::fairest(&problem, objective, effort, solver.best.clone());
    solver.best = best;
    let plan = Plan::new("optimal", &setting, solver.usage());
    Plan { note: Some(fair::note(objective, proven)), ..plan }
}

/// How long to look, and how hard.
#[derive(Debug, Clone, Copy)]
pub struct Effort<'a> {
    /// Stop at this time.
    pub deadline: Option<Instant>,
    /// Stop as soon as this is set.
    pub stop: Option<&'a AtomicBool>,
    /// Stop once the bound exceeds the welfare by no more than this part of it.
    pub gap: f64,
    /// The seed of the search for good plans.
    pub seed: u64,
}

impl Default for Effort<'_> {
    fn default() -> Self {
        Self { deadline: None, stop: None, gap: 0.0, seed: 1 }
    }
}

impl Effort<'_> {
    fn is_over(&self) -> bool {
        self.deadline.is_some_and(|deadline| Instant::now() >= deadline)
            || self.stop.is_some_and(|stop| stop.load(atomic::Ordering::Relaxed))
    }
}

/// Rounding in sums of benefits: a bound that exceeds what a plan has of the contested
/// benefits by no more than this part needs no closer look.
const ROUNDING: f64 = 1e-7;

/// The plan of the largest welfare that the rule allows, or the best one that was found
/// before the effort was over; `upper_bound` says how much better one could be at most.
///
/// Deterministic for a seed where it comes to its end. Then the bound exceeds the welfare
/// by rounding at most, a ten-millionth of the contested benefits.
pub fn optimal(setting: Setting<'_>, effort: Effort<'_>) -> Plan {
    let problem = Problem::new(setting);
    let mut solver = Solver::new(&problem, effort);
    solver.start_from(&greedy_usage(setting));
    solver.solve();
    let plan = Plan::new("optimal", &setting, solver.usage());
    // The bound is a difference of sums, each rounded.
    let rounding = 1e-13 * problem.total();
    let missing = (solver.upper - solver.best.value + rounding).max(0.0) * problem.unit;
    let upper_bound = (plan.welfare + missing).min(plan.upper_bound).max(plan.welfare);
    Plan { upper_bound, ..plan }
}

/// The best plan that the search for good plans finds alone, starting from the greedy
/// one: what [`optimal`] has before it proves anything.
pub fn local_search(setting: Setting<'_>, effort: Effort<'_>, times: usize) -> Plan {
    let problem = Problem::new(setting);
    let mut solver = Solver::new(&problem, effort);
    solver.start_from(&greedy_usage(setting));
    if problem.contested > 0 {
        solver.improve(times);
    }
    Plan::new("local search", &setting, solver.usage())
}

struct Solver<'a> {
    problem: &'a Problem<'a>,
    effort: Effort<'a>,
    improver: Improver<'a>,
    best: Found,
    /// What nobody contests is worth.
    uncontested: f64,
    upper: f64,
    /// The highest bound of a part that needed no closer look.
    passed_over: f64,
}

/// A part of the decisions that is still to be looked at.
struct Part {
    upper: f64,
    fixed: Vec<Fixed>,
    used: Vec<f64>,
    ways: Vec<Vec<u32>>,
    /// When it was made: of equal bounds the newer part first, which goes deep.
    number: usize,
}

impl<'a> Solver<'a> {
    fn new(problem: &'a Problem<'a>, effort: Effort<'a>) -> Self {
        let improver = Improver::new(problem, effort);
        let best = improver.found(vec![false; problem.contested]);
        let free = problem.edges[problem.contested..].iter().map(|edge| edge.value);
        Self {
            problem,
            effort,
            improver,
            best,
            uncontested: free.fold(0.0, |sum, value| sum + value),
            upper: problem.total(),
            passed_over: 0.0,
        }
    }

    fn start_from(&mut self, usage: &UsageGraph) {
        let edges = &self.problem.edges[..self.problem.contested];
        let used = edges.iter().map(|edge| usage.uses(edge.from, edge.to)).collect();
        self.consider(self.improver.found(used));
    }

    /// The best plan's usage graph.
    fn usage(&self) -> UsageGraph {
        let mut closure = Closure::new(&self.problem.setting);
        let used = self.best.used.iter().copied().chain(std::iter::repeat(true));
        for (edge, _) in self.problem.edges.iter().zip(used).filter(|(_, used)| *used) {
            closure.add(edge.from, edge.to);
        }
        closure.usage()
    }

    fn consider(&mut self, found: Found) {
        if found.value > self.best.value {
            self.best = found;
        }
    }

    fn tolerance(&self) -> f64 {
        ROUNDING * self.best.value
    }

    /// A bound that is not above this needs no closer look.
    fn enough(&self) -> f64 {
        // The gap is a part of the welfare, which has the uncontested benefits too.
        let gap = self.effort.gap * (self.best.value + self.uncontested);
        self.best.value + gap.max(self.tolerance())
    }

    fn solve(&mut self) {
        if self.problem.contested == 0 {
            self.upper = self.best.value;
            return;
        }
        self.improve(300);
        let open = vec![Fixed::Open; self.problem.contested];
        let effort = self.effort;
        let mut stop = || effort.is_over();
        let Some(root) = bound(self.problem, &open, &[], self.enough(), &mut stop) else {
            unreachable!("nothing is fixed yet");
        };
        self.upper = root.upper;
        let (solved, used) = (root.solved, root.used.clone());
        self.round(&used, 30);
        self.improve(if solved { 500 } else { usize::MAX });
        if solved {
            let part = Part { upper: root.upper, fixed: open, used, ways: root.ways, number: 0 };
            self.branch(part);
        }
    }

    /// Looks for better plans near the best one.
    fn improve(&mut self, times: usize) {
        let mut current = self.best.clone();
        for time in 0..times {
            if self.upper <= self.enough() || self.effort.is_over() {
                return;
            }
            let next = self.improver.disturb(&current);
            // Equals are taken, to wander; now and then the way leads back to the best.
            if next.value >= current.value {
                current = next.clone();
            }
            self.consider(next);
            if time % 200 == 199 {
                current = self.best.clone();
            }
        }
    }

    /// Plans that take first what the relaxation uses most.
    fn round(&mut self, used: &[f64], times: usize) {
        for time in 0..times {
            if self.effort.is_over() {
                return;
            }
            let shuffle = if time == 0 { 1e-9 } else { 0.02 * time as f64 };
            let order = self.improver.by_weight(|at| used[at], shuffle);
            let found = self.improver.fill(order.into_iter());
            self.consider(found);
        }
    }

    fn branch(&mut self, root: Part) {
        let mut parts = BinaryHeap::from([root]);
        let mut number = 0;
        while let Some(part) = parts.pop() {
            self.upper = part.upper.max(self.passed_over);
            if part.upper <= self.enough() || self.effort.is_over() {
                return;
            }
            let Some(edge) = self.undecided(&part) else {
                // The relaxation uses every edge wholly or not at all: it is a plan, up
                // to rounding.
                let used = (0..self.problem.contested).filter(|&at| part.used[at] > 0.5);
                let found = self.improver.fill(used);
                if found.value + self.tolerance() < part.upper {
                    self.passed_over = self.passed_over.max(part.upper);
                }
                self.consider(found);
                continue;
            };
            for choice in [Fixed::LeftOut, Fixed::Used] {
                let mut fixed = part.fixed.clone();
                fixed[edge] = choice;
                if !self.follow(&mut fixed) {
                    continue;
                }
                let effort = self.effort;
                let mut stop = || effort.is_over();
                let enough = self.enough();
                let Some(child) = bound(self.problem, &fixed, &part.ways, enough, &mut stop) else {
                    continue;
                };
                number += 1;
                let upper = child.upper.min(part.upper);
                if number % 8 == 0 {
                    self.round(&child.used, 3);
                }
                if upper <= self.enough() {
                    self.passed_over = self.passed_over.max(upper);
                } else {
                    let used = child.used;
                    parts.push(Part { upper, fixed, used, ways: child.ways, number });
                }
            }
        }
        self.upper = self.best.value.max(self.passed_over);
    }

    /// The edge on which the relaxation is least decided, weighed by its value.
    fn undecided(&self, part: &Part) -> Option<usize> {
        let doubt = |at: &usize| part.used[*at].min(1.0 - part.used[*at]);
        (0..self.problem.contested)
            .filter(|at| part.fixed[*at] == Fixed::Open && doubt(at) > 1e-5)
            .max_by(|a, b| {
                let weight = |at: &usize| doubt(at) * self.problem.edges[*at].value;
                weight(a).total_cmp(&weight(b)).then(b.cmp(a))
            })
    }

    /// Draws the conclusions from what is fixed: an edge that the used ones forbid is
    /// left out. `false` if the used ones break the rule themselves.
    fn follow(&self, fixed: &mut [Fixed]) -> bool {
        let mut closure = Closure::new(&self.problem.setting);
        for (at, edge) in self.problem.edges[..self.problem.contested].iter().enumerate() {
            if fixed[at] == Fixed::Used {
                if !closure.admits(edge.from, edge.to) {
                    return false;
                }
                closure.add(edge.from, edge.to);
            }
        }
        for (at, edge) in self.problem.edges[..self.problem.contested].iter().enumerate() {
            if fixed[at] == Fixed::Open && !closure.admits(edge.from, edge.to) {
                fixed[at] = Fixed::LeftOut;
            }
        }
        true
    }
}

impl PartialEq for Part {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Part {}

impl PartialOrd for Part {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Part {
    fn cmp(&self, other: &Self) -> Ordering {
        self.upper.total_cmp(&other.upper).then(self.number.cmp(&other.number))
    }
}
