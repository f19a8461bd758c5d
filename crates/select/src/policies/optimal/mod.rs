//! The best plan there is (policy `optimal`), with proof.
//!
//! Three parts work together, and one may stop at any time:
//! [`search`] finds good plans, [`relaxation`] proves how good a plan can be at most,
//! and branching closes what is left between the two: it takes an edge on which the
//! relaxation cannot decide, uses it on one side, leaves it out on the other, and goes
//! on where the bound is highest.

mod effort;
mod fair;
mod objective;
mod problem;
mod relaxation;
mod search;
mod simplex;

use std::{cmp::Ordering, collections::BinaryHeap};

use fedcompetitors_graphs::{UsageGraph, entry};

use self::{
    effort::Clock,
    fair::Fairness,
    problem::{Problem, Returns},
    relaxation::{Fixed, Known, bound},
    search::{Found, Improver},
};
pub use self::{
    effort::Effort,
    objective::{Objective, ObjectiveKind, ObjectiveNotServed},
};
use super::{Cliques, Policy};
use crate::{Bounded, Plan, SampleCounts, Setting, closure::Closure, greedy_usage};

/// The best plan by an objective: [`fairest`], and for the welfare [`optimal`].
#[derive(Debug, Clone, Copy)]
pub struct Optimal;

entry!(Optimal, "optimal", "The largest welfare that the rule allows, with a proven bound.");

impl Policy for Optimal {
    fn searches(&self) -> bool {
        true
    }

    fn plan(&self, setting: &Setting<'_>, objective: Objective<'_>, effort: Effort<'_>) -> Plan {
        fairest(*setting, objective, effort)
    }
}

/// The plan that serves an objective best, or the best one that was found.
///
/// For [`Objective::Welfare`] this is [`optimal`], for [`Objective::Diminishing`]
/// [`diminishing`]. For the others `upper_bound` still bounds the welfare, and `note` says
/// whether the plan is proven to be the fairest.
///
/// # Panics
/// If sample counts are over other participants.
pub fn fairest(setting: Setting<'_>, objective: Objective<'_>, effort: Effort<'_>) -> Plan {
    let fairness = match objective {
        Objective::Welfare => return optimal(setting, effort),
        Objective::Diminishing(samples) => return diminishing(setting, samples, effort),
        Objective::MaxMin => Fairness::MaxMin,
        Objective::Proportional => Fairness::Proportional,
    };
    let (problem, clock) = (Problem::new(setting), Clock::new(effort));
    let mut solver = Solver::new(&problem, &clock);
    solver.start_from(&greedy_usage(setting));
    let (best, proven) = fair::fairest(&problem, fairness, &clock, solver.best.clone());
    solver.best = best;
    let plan = Plan::new("optimal", &setting, solver.usage());
    Plan { note: Some(fair::note(fairness, proven).into()), ..plan }
}

/// Operations of branching before a longer search for plans with diminishing returns: what is
/// proven by then needs no better plan.
const SOON: u64 = 500_000_000;

/// Operations of that search.
const SEARCH: usize = 500_000_000;

/// Plans that it looks at, at most.
const MOST: usize = 20_000;

/// By which part of the best value a plan may be worse at first, to go on from it.
const WORSE: f64 = 0.02;

/// Rounding in sums of benefits: a bound that exceeds what a plan has of the contested
/// benefits by no more than this part needs no closer look.
const ROUNDING: f64 = 1e-7;

/// The plan of the largest welfare that the rule allows, or the best one that was found
/// before the effort was over; `upper_bound` says how much better one could be at most.
///
/// Deterministic for a seed where it comes to its end. Then the bound exceeds the welfare
/// by rounding at most, a ten-millionth of the contested benefits.
pub fn optimal(setting: Setting<'_>, effort: Effort<'_>) -> Plan {
    let (problem, clock) = (Problem::new(setting), Clock::new(effort));
    let mut solver = Solver::new(&problem, &clock);
    solver.start_from(&greedy_usage(setting));
    solver.solve();
    let plan = Plan::new("optimal", &setting, solver.usage());
    // The bound is a difference of sums, each rounded.
    let rounding = 1e-13 * problem.total();
    let missing = (solver.upper - solver.best.value + rounding).max(0.0) * problem.unit;
    let upper_bound = (plan.welfare + missing).min(plan.upper_bound).max(plan.welfare);
    Plan { upper_bound, ..plan }
}

/// The plan with the largest value by diminishing returns that the rule allows, or the best one
/// that was found before the effort was over.
///
/// The value is the sum over the participants of `1/n − 1/(n + s)`: `n` is how many samples one
/// has, `s` the sum of the benefits of all who reach it, in samples. So benefits must be in
/// samples: "worth 120 rows of its own". `diminishing` of the plan has the value and a bound that
/// no plan exceeds, `note` the gap between them. The value is never below that of the plan of
/// `greedy`. What is not proven soon, within the gap of the effort, is not below that of the plan
/// of [`optimal`] either, found with a fifth of what is left.
///
/// Every benefit of a participant that reaches another counts, as every such edge is in the plan; where sample
/// counts [say so](SampleCounts::with_fewest), only if there are enough of them.
/// Deterministic for a seed where it comes to its end or stops at its budget.
///
/// # Example
/// A clinic with 50 samples and a hospital with 5000, each of which one rival could help: the
/// 200 samples that the clinic gets are worth more than the 900 of the hospital.
///
/// ```
/// use fedcompetitors_graphs::{BenefitGraph, CompetingGraph, Participants};
/// use fedcompetitors_select::{Effort, SampleCounts, Setting, diminishing};
///
/// let participants = Participants::new(["north", "hub", "clinic", "hospital"])?;
/// let mut competing = CompetingGraph::builder(&participants);
/// competing.report(0, 2)?;
/// let mut benefit = BenefitGraph::builder(&participants);
/// benefit.add(0, 1, 900.0)?;
/// benefit.add(1, 2, 200.0)?;
/// let (competing, benefit) = (competing.build(), benefit.build());
/// let samples = SampleCounts::new(&participants, vec![2000.0, 5000.0, 50.0, 700.0])?;
/// let setting = Setting::new(&competing, &benefit);
///
/// let plan = diminishing(setting, &samples, Effort::default());
/// assert_eq!(plan.usage.edges().collect::<Vec<_>>(), [(1, 2)]);
/// let value = plan.diminishing.expect("the objective");
/// assert!((value.value - (1.0 / 50.0 - 1.0 / 250.0)).abs() < 1e-12);
/// assert_eq!(plan.note.as_deref(), Some("value by diminishing returns 0.01600; no plan has more"));
///
/// // In sum the 900 would be more.
/// let sum = fedcompetitors_select::optimal(setting, Effort::default());
/// assert_eq!(sum.usage.edges().collect::<Vec<_>>(), [(0, 1)]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Panics
/// If the counts are over other participants.
pub fn diminishing(setting: Setting<'_>, samples: &SampleCounts, effort: Effort<'_>) -> Plan {
    assert_eq!(samples.participants(), setting.participants(), "one list of participants");
    let (problem, clock) = (Problem::diminishing(setting, samples), Clock::new(effort));
    let mut solver = Solver::new(&problem, &clock);
    // Nothing contested is used yet.
    solver.uncontested = samples.value(setting.benefit, &solver.usage()) / problem.unit;
    solver.start_from(&greedy_usage(setting));
    if samples.fewest() > 1 {
        solver.start_from(&Cliques.plan(&setting, Objective::Welfare, effort).usage);
    }
    let root = solver.root();
    if solver.upper > solver.enough() {
        let sums = Problem::new(setting);
        solver.go_on_with(root, || {
            clock.share(5, |clock| {
                let mut best = Solver::new(&sums, clock);
                best.start_from(&greedy_usage(setting));
                best.solve();
                best.best.used
            })
        });
    }
    let plan = Plan::new("optimal", &setting, solver.usage());
    let value = samples.value(setting.benefit, &plan.usage);
    let rounding = 1e-13 * problem.total();
    let missing = (solver.upper - solver.best.value + rounding).max(0.0) * problem.unit;
    let bounded = Bounded { value, upper_bound: value + missing };
    let note = format!("value by diminishing returns {bounded}");
    Plan { note: Some(note), diminishing: Some(bounded), ..plan }
}

/// The best plan that the search for good plans finds alone, starting from the greedy
/// one: what [`optimal`] has before it proves anything.
pub fn local_search(setting: Setting<'_>, effort: Effort<'_>, times: usize) -> Plan {
    let (problem, clock) = (Problem::new(setting), Clock::new(effort));
    let mut solver = Solver::new(&problem, &clock);
    solver.start_from(&greedy_usage(setting));
    if problem.contested > 0 {
        solver.improve(times);
    }
    Plan::new("local search", &setting, solver.usage())
}

struct Solver<'a> {
    problem: &'a Problem<'a>,
    clock: &'a Clock<'a>,
    improver: Improver<'a>,
    best: Found,
    /// What nobody contests is worth.
    uncontested: f64,
    upper: f64,
    /// The highest bound of a part that needed no closer look.
    passed_over: f64,
    /// How many parts were made.
    parts: usize,
}

/// A part of the decisions that is still to be looked at.
struct Part {
    upper: f64,
    fixed: Vec<Fixed>,
    used: Vec<f64>,
    known: Known,
    /// When it was made: of equal bounds the newer part first, which goes deep.
    number: usize,
}

impl<'a> Solver<'a> {
    fn new(problem: &'a Problem<'a>, clock: &'a Clock<'a>) -> Self {
        let improver = Improver::new(problem, clock);
        let best = improver.found(vec![false; problem.contested]);
        let free = problem.edges[problem.contested..].iter().map(|edge| edge.value);
        Self {
            problem,
            clock,
            improver,
            best,
            uncontested: free.fold(0.0, |sum, value| sum + value),
            upper: problem.total(),
            passed_over: 0.0,
            parts: 0,
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
        // Whoever reaches another may help it as well: the edge changes nobody's reach.
        for edge in &self.problem.edges {
            if closure.reaches(edge.from, edge.to) {
                closure.add(edge.from, edge.to);
            }
        }
        closure.usage()
    }

    fn consider(&mut self, found: Found) {
        if found.value > self.best.value {
            self.best = found;
        }
    }

    fn tolerance(&self) -> f64 {
        ROUNDING * self.best.value.abs()
    }

    /// A bound that is not above this needs no closer look.
    fn enough(&self) -> f64 {
        // The gap is a part of the welfare, which has the uncontested benefits too.
        let gap = self.clock.effort.gap * (self.best.value + self.uncontested);
        self.best.value + gap.max(self.tolerance())
    }

    fn solve(&mut self) {
        let root = self.root();
        self.go_on(root);
    }

    /// Good plans, and the bound with nothing fixed: the part to branch on, if that was solved.
    fn root(&mut self) -> Option<Part> {
        if self.problem.contested == 0 {
            self.upper = self.best.value;
            return None;
        }
        if let Returns::Diminishing(_) = self.problem.returns {
            let filled = self.improver.fill_by_gain(&[], 0.0);
            self.consider(filled);
        }
        self.improve(300);
        let open = vec![Fixed::Open; self.problem.contested];
        let known = self.first_tangents();
        let Some(root) = bound(self.problem, &open, &known, self.enough(), self.clock) else {
            unreachable!("nothing is fixed yet");
        };
        self.upper = root.upper;
        self.round(&root.used, 30);
        if !root.solved {
            return None;
        }
        self.improve(500);
        Some(Part { upper: root.upper, fixed: open, used: root.used, known: root.known, number: 0 })
    }

    /// Branches; where there is nothing to branch on, looks for better plans to the end.
    fn go_on(&mut self, root: Option<Part>) {
        match root {
            Some(root) => {
                self.branch(&mut BinaryHeap::from([root]), u64::MAX);
            }
            None => self.improve(usize::MAX),
        }
    }

    /// Branches for a while; where that proves nothing, looks for better plans, with what `others`
    /// finds among them, and branches on.
    fn go_on_with(&mut self, root: Option<Part>, others: impl FnOnce() -> Vec<bool>) {
        let mut parts: BinaryHeap<Part> = root.into_iter().collect();
        let can_branch = !parts.is_empty();
        let soon = self.clock.spent().saturating_add(SOON);
        if can_branch && self.branch(&mut parts, soon) {
            return;
        }
        let found = self.improver.found(others());
        self.consider(found);
        self.anneal(self.improver.plans_in(SEARCH).clamp(300, MOST));
        if can_branch {
            self.branch(&mut parts, u64::MAX);
        } else {
            self.improve(usize::MAX);
        }
    }

    /// Where tangents touch first: at parts of all that there is, and at the best plan.
    fn first_tangents(&self) -> Known {
        let mut known = Known::default();
        if let Returns::Constant = self.problem.returns {
            return known;
        }
        let count = self.problem.rivals.len();
        let (mut most, mut now) = (vec![0.0; count], vec![0.0; count]);
        for (edge, used) in self.problem.edges.iter().zip(&self.best.used) {
            most[edge.to] += edge.value;
            now[edge.to] += if *used { edge.value } else { 0.0 };
        }
        for to in (0..count).filter(|&to| most[to] > 0.0) {
            let parts = [1.0, 0.5, 0.25, 0.125].map(|part| part * most[to]);
            known.touched.extend(parts.into_iter().chain([now[to]]).map(|sum| (to, sum)));
        }
        known
    }

    /// Looks for better plans near the best one.
    fn improve(&mut self, times: usize) {
        let mut current = self.best.clone();
        for time in 0..times {
            if self.upper <= self.enough() || self.clock.is_over() {
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

    /// Looks for better plans, at first also by way of worse ones.
    fn anneal(&mut self, times: usize) {
        let mut current = self.best.clone();
        for time in 0..times {
            if self.upper <= self.enough() || self.clock.is_over() {
                return;
            }
            let next = self.improver.disturb(&current);
            let worse = WORSE * (1.0 - time as f64 / times as f64);
            if next.value >= current.value
                || next.value >= self.best.value - worse * self.best.value.abs()
            {
                current = next.clone();
            }
            self.consider(next);
        }
    }

    /// Plans that take first what the relaxation uses most.
    fn round(&mut self, used: &[f64], times: usize) {
        for time in 0..times {
            if self.clock.is_over() {
                return;
            }
            let shuffle = if time == 0 { 1e-9 } else { 0.02 * time as f64 };
            let order = self.improver.by_weight(|at| used[at], shuffle);
            let found = self.improver.fill(order.into_iter());
            self.consider(found);
        }
    }

    /// Branches until everything is proven, or so many operations are spent: then `false`.
    fn branch(&mut self, parts: &mut BinaryHeap<Part>, until: u64) -> bool {
        while let Some(part) = parts.pop() {
            self.upper = part.upper.max(self.passed_over);
            if part.upper <= self.enough() || self.clock.is_over() {
                return true;
            }
            if self.clock.spent() >= until {
                parts.push(part);
                return false;
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
                let enough = self.enough();
                let Some(child) = bound(self.problem, &fixed, &part.known, enough, self.clock)
                else {
                    continue;
                };
                self.parts += 1;
                let upper = (child.upper - self.excess(&fixed)).min(part.upper);
                if self.parts.is_multiple_of(8) {
                    self.round(&child.used, 3);
                }
                if upper <= self.enough() {
                    self.passed_over = self.passed_over.max(upper);
                } else {
                    let used = child.used;
                    parts.push(Part { upper, fixed, used, known: child.known, number: self.parts });
                }
            }
        }
        self.upper = self.best.value.max(self.passed_over);
        true
    }

    /// The edge on which the relaxation is least decided, weighed by its value.
    fn undecided(&self, part: &Part) -> Option<usize> {
        let doubt = |at: &usize| part.used[*at].min(1.0 - part.used[*at]);
        let mut sums = vec![0.0; self.problem.rivals.len()];
        let edges = &self.problem.edges[..self.problem.contested];
        edges.iter().zip(&part.used).for_each(|(edge, used)| sums[edge.to] += used * edge.value);
        let slope = |at: &usize| self.problem.slope(edges[*at].to, sums[edges[*at].to]);
        (0..self.problem.contested)
            .filter(|at| part.fixed[*at] == Fixed::Open && doubt(at) > 1e-5)
            .max_by(|a, b| {
                let weight = |at: &usize| doubt(at) * self.problem.edges[*at].value * slope(at);
                weight(a).total_cmp(&weight(b)).then(b.cmp(a))
            })
            .or_else(|| self.of_lacking(part))
    }

    /// An open edge into a participant that has too few in the relaxation to receive anything; those that the
    /// relaxation uses first.
    fn of_lacking(&self, part: &Part) -> Option<usize> {
        let edges = &self.problem.edges[..self.problem.contested];
        let mut received = vec![0; self.problem.rivals.len()];
        let is_used = |at: usize| part.used[at] > 0.5;
        let used = edges.iter().enumerate().filter(|(at, _)| is_used(*at));
        used.for_each(|(_, edge)| received[edge.to] += 1);
        (0..edges.len())
            .filter(|&at| part.fixed[at] == Fixed::Open)
            .filter(|&at| self.problem.lacks(edges[at].to, received[edges[at].to]))
            .max_by_key(|&at| (is_used(at), std::cmp::Reverse(at)))
    }

    /// By how much the relaxation overestimates every plan of a part.
    fn excess(&self, fixed: &[Fixed]) -> f64 {
        let mut edges = vec![(0, 0.0); self.problem.rivals.len()];
        for (edge, fixed) in self.problem.edges.iter().zip(fixed) {
            let (most, sum) = &mut edges[edge.to];
            *most += usize::from(*fixed != Fixed::LeftOut);
            *sum += if *fixed == Fixed::Used { edge.value } else { 0.0 };
        }
        self.problem.excess(edges.into_iter())
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
            // Its worth is there without giving up anything.
            if fixed[at] == Fixed::Open && closure.reaches(edge.from, edge.to) {
                fixed[at] = Fixed::Used;
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
