//! How much any plan must give up.
//!
//! Every way from a participant to a competitor must lose an edge. Let as much as
//! possible flow along such ways, no more over an edge than it is worth: then whatever
//! a plan leaves out is worth at least the flow, as it must cut every way. (The largest
//! flow is the dual of the path relaxation: prices are 1 − x.) The ways are far too many
//! to list; those that are too cheap at the current prices are found as shortest paths.
//!
//! With diminishing returns what an edge is worth depends on what else its receiver gets.
//! Returns are concave, so they are nowhere above a tangent, and with one tangent for each
//! receiver the worth is a sum again. Which tangents give the lowest bound is part of the
//! packing: a tangent is a column that narrows the edges into its receiver and brings what
//! its intercept is lower than that of the steepest one. New tangents touch where the prices
//! say, until none lowers the bound.

use std::collections::BTreeSet;

use super::{
    effort::Clock,
    problem::{Problem, Returns},
    simplex::Packing,
};

/// What has been decided about a contested edge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fixed {
    /// Nothing yet.
    Open,
    /// It is used.
    Used,
    /// It is left out.
    LeftOut,
}

/// What relaxations begin with.
#[derive(Clone, Default)]
pub struct Known {
    /// Ways that carried flow.
    pub ways: Vec<Vec<u32>>,
    /// Receivers, each with a sum of values where a tangent touched its returns.
    pub touched: Vec<(usize, f64)>,
}

/// What the relaxation says.
pub struct Bound {
    /// No plan with what has been fixed is worth more.
    pub upper: f64,
    /// For each contested edge how much of it the relaxation uses, 0 to 1.
    pub used: Vec<f64>,
    /// For the relaxations to come.
    pub known: Known,
    /// Was the relaxation solved to its end?
    pub solved: bool,
}

/// The relaxation with some edges fixed; `None` if what is fixed breaks the rule.
///
/// `enough` is a value at which the bound is low enough.
pub fn bound(
    problem: &Problem<'_>,
    fixed: &[Fixed],
    known: &Known,
    enough: f64,
    clock: &Clock<'_>,
) -> Option<Bound> {
    let open: Vec<usize> = (0..problem.contested).filter(|&at| fixed[at] == Fixed::Open).collect();
    let mut row_of = vec![u32::MAX; problem.contested];
    for (row, &at) in open.iter().enumerate() {
        row_of[at] = row as u32;
    }
    if open.len() > MOST_ROWS {
        // Of a few sets of tangents the best.
        let parts: &[f64] = match problem.returns {
            Returns::Constant => &[0.0],
            Returns::Diminishing(_) => &[0.0, 0.5, 1.0],
        };
        let bounds = parts.iter().map(|&part| {
            let slopes = Slopes::at(problem, fixed, &known.touched, part);
            slopes.total - plain_packing(problem, fixed, &slopes, clock)
        });
        let upper = bounds.fold(f64::INFINITY, f64::min);
        let used = fixed.iter().map(|fixed| f64::from(u8::from(*fixed != Fixed::LeftOut)));
        return Some(Bound { upper, used: used.collect(), known: Known::default(), solved: false });
    }
    let mut worth = Worth::new(problem, fixed, &open);
    let mut packing = worth.packing();
    let mut offered = BTreeSet::new();
    let mut offer = |packing: &mut Packing, worth: &mut Worth, way: &[u32]| {
        let open_rows =
            way.iter().map(|&edge| row_of[edge as usize]).filter(|&row| row != u32::MAX);
        let mut rows: Vec<u32> = open_rows.collect();
        rows.sort_unstable();
        if rows.is_empty() {
            return None;
        }
        let new = offered.insert(rows.clone());
        if new {
            packing.offer(rows);
            worth.columns.push(Tangent::Way);
        }
        Some(new)
    };
    for way in &known.ways {
        if way.iter().all(|&edge| fixed[edge as usize] != Fixed::LeftOut) {
            offer(&mut packing, &mut worth, way)?;
        }
    }
    for &(to, sum) in &known.touched {
        worth.offer(&mut packing, to, sum);
    }
    let mut search = Search::new(problem);
    let mut solved = true;
    loop {
        let pivot = packing.rows() * packing.rows();
        let over = || {
            clock.spend(16 * pivot);
            clock.is_over()
        };
        if !packing.solve(over) {
            solved = false;
            break;
        }
        clock.spend(8 * pivot);
        if worth.upper(&packing) <= enough {
            break;
        }
        let length = |edge: u32| match fixed[edge as usize] {
            Fixed::Used => Some(0.0),
            Fixed::LeftOut => None,
            Fixed::Open => Some(packing.prices()[row_of[edge as usize] as usize].max(0.0)),
        };
        let ways = search.cheap_ways(problem, length);
        let mut news = false;
        for way in &ways {
            news |= offer(&mut packing, &mut worth, way)?;
        }
        news |= worth.offer_where_prices_say(&mut packing);
        if !news {
            break;
        }
    }
    let mut used: Vec<f64> =
        fixed.iter().map(|fixed| f64::from(u8::from(*fixed == Fixed::Used))).collect();
    for (&at, price) in open.iter().zip(packing.prices()) {
        used[at] = (1.0 - price).clamp(0.0, 1.0);
    }
    let upper = worth.upper(&packing);
    let mut known = Known::default();
    for (column, rows, _) in packing.packed() {
        match worth.columns[column] {
            Tangent::Way => {
                known.ways.push(rows.iter().map(|&row| open[row as usize] as u32).collect());
            }
            Tangent::At(receiver, sum) => known.touched.push((worth.receivers[receiver].to, sum)),
        }
    }
    Some(Bound { upper, used, known, solved })
}

/// The sum of the values of all edges that are not left out.
fn left(problem: &Problem<'_>, fixed: &[Fixed]) -> f64 {
    let left_out = fixed.iter().zip(&problem.edges).filter(|(fixed, _)| **fixed == Fixed::LeftOut);
    problem.total() - left_out.map(|(_, edge)| edge.value).fold(0.0, |sum, value| sum + value)
}

/// What a column of the packing stands for.
#[derive(Clone, Copy)]
enum Tangent {
    /// A way between competitors.
    Way,
    /// A tangent to the returns of a receiver, and the sum where it touches.
    At(usize, f64),
}

/// Somebody who may receive open edges, with returns that diminish.
struct Receiver {
    to: usize,
    factor: f64,
    /// The sum of the values of all edges into it that are not left out.
    most: f64,
    /// Its open edges: rows of the packing, and their values.
    rows: Vec<(u32, f64)>,
}

/// What the edges are worth, seen from the packing.
struct Worth {
    /// The worth of everything that is not left out, but for what `receivers` get.
    settled: f64,
    /// Those with returns that diminish.
    receivers: Vec<Receiver>,
    /// For each row the receiver of its edge, and its worth at the steepest slope.
    rows: Vec<(usize, f64)>,
    /// What each column stands for, in the order in which they were offered.
    columns: Vec<Tangent>,
    offered: BTreeSet<(usize, u64)>,
}

/// Tangents whose slopes differ in no more than these last bits are one.
const SAME: u32 = 20;

impl Worth {
    fn new(problem: &Problem<'_>, fixed: &[Fixed], open: &[usize]) -> Self {
        let not_left_out =
            fixed.iter().zip(&problem.edges).filter(|(fixed, _)| **fixed != Fixed::LeftOut);
        let mut worth = Self {
            settled: 0.0,
            receivers: Vec::new(),
            rows: open.iter().map(|&at| (usize::MAX, problem.edges[at].value)).collect(),
            columns: Vec::new(),
            offered: BTreeSet::new(),
        };
        match &problem.returns {
            Returns::Constant => {
                worth.settled = left(problem, fixed);
            }
            Returns::Diminishing(factors) => {
                let mut most = vec![0.0; factors.len()];
                not_left_out.for_each(|(_, edge)| most[edge.to] += edge.value);
                let mut place = vec![usize::MAX; factors.len()];
                for (row, &at) in open.iter().enumerate() {
                    let edge = problem.edges[at];
                    if place[edge.to] == usize::MAX {
                        place[edge.to] = worth.receivers.len();
                        worth.receivers.push(Receiver {
                            to: edge.to,
                            factor: factors[edge.to],
                            most: most[edge.to],
                            rows: Vec::new(),
                        });
                    }
                    worth.receivers[place[edge.to]].rows.push((row as u32, edge.value));
                    worth.rows[row] = (place[edge.to], factors[edge.to] * edge.value);
                }
                let settled = (0..factors.len()).filter(|&to| place[to] == usize::MAX);
                worth.settled = settled
                    .map(|to| problem.worth(to, most[to]))
                    .fold(0.0, |sum, worth| sum + worth);
            }
        }
        worth
    }

    /// Nothing packed yet: a row for each open edge, and one for each receiver, whose tangents
    /// are parts of a whole.
    fn packing(&self) -> Packing {
        let edges = self.rows.iter().map(|row| row.1);
        let capacity: Vec<f64> = edges.chain(self.receivers.iter().map(|_| 1.0)).collect();
        Packing::new(&capacity)
    }

    /// Offers the tangent that touches at this sum; `false` if it is there already.
    fn offer(&mut self, packing: &mut Packing, to: usize, sum: f64) -> bool {
        let Ok(at) = self.receivers.binary_search_by_key(&to, |receiver| receiver.to) else {
            return false;
        };
        let receiver = &self.receivers[at];
        let sum = sum.clamp(0.0, receiver.most);
        // The slope is factor · q², the intercept factor · (1 − q)².
        let q = 1.0 / (1.0 + sum);
        if q >= 1.0 || !self.offered.insert((at, q.to_bits() >> SAME)) {
            return false;
        }
        let entries = receiver
            .rows
            .iter()
            .map(|&(row, value)| (row, receiver.factor * value * (1.0 - q * q)))
            .chain([((self.rows.len() + at) as u32, 1.0)]);
        let gain = receiver.factor * (1.0 - q) * (receiver.most * (1.0 + q) - (1.0 - q));
        packing.offer_weighted(entries, gain);
        self.columns.push(Tangent::At(at, sum));
        true
    }

    /// Offers each receiver the tangent that touches where the prices say.
    fn offer_where_prices_say(&mut self, packing: &mut Packing) -> bool {
        let mut news = false;
        for at in 0..self.receivers.len() {
            let receiver = &self.receivers[at];
            let prices = packing.prices();
            let price = |row: u32| prices[row as usize].clamp(0.0, 1.0);
            let given_up = receiver.rows.iter().map(|&(row, value)| value * price(row));
            let sum = (receiver.most - given_up.fold(0.0, |sum, value| sum + value)).max(0.0);
            news |= self.offer(packing, receiver.to, sum);
        }
        news
    }

    /// A bound, whatever is packed: what the rows carry says how steep tangents must be.
    fn upper(&self, packing: &Packing) -> f64 {
        if self.receivers.is_empty() {
            let worth: Vec<f64> = self.rows.iter().map(|row| row.1).collect();
            return self.settled - packing.value(&worth);
        }
        // The squares of q of the mixed tangents.
        let mut steep = vec![1.0; self.receivers.len()];
        let mut load = vec![0.0; self.rows.len()];
        for (column, rows, level) in packing.packed() {
            match self.columns[column] {
                Tangent::Way => rows.iter().for_each(|&row| load[row as usize] += level),
                Tangent::At(at, sum) => {
                    let q = 1.0 / (1.0 + sum);
                    steep[at] -= level * (1.0 - q * q);
                }
            }
        }
        // Where rounding has put more into a row than its tangents allow, all lessen.
        let fits = |row: u32| {
            let (at, worth) = self.rows[row as usize];
            (worth * steep[at].max(0.0) / load[row as usize]).min(1.0)
        };
        let mut packed = 0.0;
        let mut fitting = vec![0.0; self.rows.len()];
        for (column, rows, level) in packing.packed() {
            if let Tangent::Way = self.columns[column] {
                let part = rows.iter().map(|&row| fits(row)).fold(1.0, f64::min);
                let level = if level > 0.0 { level * part } else { 0.0 };
                packed += level;
                rows.iter().for_each(|&row| fitting[row as usize] += level);
            }
        }
        // The flattest tangents that this fits under.
        let flattest = |receiver: &Receiver| (1.0 + receiver.most).powi(-2);
        let mut squares: Vec<f64> = self.receivers.iter().map(flattest).collect();
        for (&(at, worth), load) in self.rows.iter().zip(&fitting) {
            squares[at] = squares[at].max(load / worth);
        }
        let tangents = self.receivers.iter().zip(&squares).map(|(receiver, &square)| {
            let intercept = (1.0 - square.sqrt()).max(0.0).powi(2);
            receiver.factor * (intercept + square * receiver.most)
        });
        self.settled + tangents.fold(0.0, |sum, worth| sum + worth) - packed
    }
}

/// One tangent for each receiver.
struct Slopes {
    /// The slope of each receiver's.
    slope: Vec<f64>,
    /// What they say of everything that is not left out.
    total: f64,
}

impl Slopes {
    /// Tangents that touch this part of the way from everything that is not left out to what
    /// was touched last.
    fn at(problem: &Problem<'_>, fixed: &[Fixed], touched: &[(usize, f64)], part: f64) -> Self {
        let mut most = vec![0.0; problem.rivals.len()];
        let edges = problem.edges.iter().zip(fixed);
        edges
            .filter(|(_, fixed)| **fixed != Fixed::LeftOut)
            .for_each(|(edge, _)| most[edge.to] += edge.value);
        let mut sums = most.clone();
        for &(to, sum) in touched {
            sums[to] = most[to] + part * (sum.clamp(0.0, most[to]) - most[to]);
        }
        let slope: Vec<f64> =
            sums.iter().enumerate().map(|(to, &sum)| problem.slope(to, sum)).collect();
        let worth = |to: usize| problem.worth(to, sums[to]) + slope[to] * (most[to] - sums[to]);
        let total = match problem.returns {
            Returns::Constant => left(problem, fixed),
            Returns::Diminishing(_) => {
                (0..most.len()).map(worth).fold(0.0, |sum, worth| sum + worth)
            }
        };
        Self { slope, total }
    }
}

/// Contested edges up to which the inverse of the simplex method fits well into memory.
const MOST_ROWS: usize = 5000;

/// A packing without the simplex method, for instances too large for it: along one way
/// after another as much as still fits. A bound all the same, if a weak one.
fn plain_packing(
    problem: &Problem<'_>,
    fixed: &[Fixed],
    slopes: &Slopes,
    clock: &Clock<'_>,
) -> f64 {
    let count = problem.rivals.len();
    let mut left: Vec<f64> = fixed
        .iter()
        .zip(&problem.edges)
        .map(|(fixed, edge)| match fixed {
            Fixed::Open => slopes.slope[edge.to] * edge.value,
            Fixed::Used => f64::INFINITY,
            Fixed::LeftOut => 0.0,
        })
        .collect();
    let mut packed = 0.0;
    for source in (0..count).filter(|&source| !problem.rivals[source].is_empty()) {
        loop {
            clock.spend(count);
            if clock.is_over() {
                return packed;
            }
            // Breadth-first, to the first competitor that is met.
            let mut arrived_by = vec![NOWHERE; count];
            let carriers = &problem.carriers[source];
            let mut queue = carriers.clone();
            let mut rival = None;
            let mut at = 0;
            while rival.is_none() && at < queue.len() {
                for &edge in &problem.leaving[queue[at]] {
                    let next = problem.edges[edge as usize].to;
                    if left[edge as usize] > 0.0
                        && arrived_by[next] == NOWHERE
                        && !carriers.contains(&next)
                    {
                        arrived_by[next] = edge;
                        queue.push(next);
                        if problem.setting.competing.competes(source, next) {
                            rival = Some(next);
                            break;
                        }
                    }
                }
                at += 1;
            }
            let Some(rival) = rival else {
                break;
            };
            let mut way = Vec::new();
            let mut node = rival;
            while arrived_by[node] != NOWHERE {
                way.push(arrived_by[node] as usize);
                node = problem.edges[arrived_by[node] as usize].from;
            }
            let amount = way.iter().map(|&edge| left[edge]).fold(f64::INFINITY, f64::min);
            for &edge in &way {
                left[edge] -= amount;
            }
            packed += amount;
        }
    }
    packed
}

/// Where a search begins, it has arrived by no edge.
const NOWHERE: u32 = u32::MAX;

/// Dijkstra's algorithm on a small dense graph, its memory kept between calls.
struct Search {
    distance: Vec<f64>,
    arrived_by: Vec<u32>,
    settled: Vec<bool>,
}

impl Search {
    fn new(problem: &Problem<'_>) -> Self {
        let count = problem.rivals.len();
        Self { distance: vec![0.0; count], arrived_by: vec![0; count], settled: vec![false; count] }
    }

    /// For each participant and competitor the shortest way, where it is shorter than 1.
    fn cheap_ways(
        &mut self,
        problem: &Problem<'_>,
        length: impl Fn(u32) -> Option<f64>,
    ) -> Vec<Vec<u32>> {
        let mut ways = Vec::new();
        for (source, rivals) in problem.rivals.iter().enumerate() {
            let carriers = &problem.carriers[source];
            if rivals.is_empty() || carriers.iter().all(|&at| problem.leaving[at].is_empty()) {
                continue;
            }
            self.walk(problem, carriers, &length);
            for &rival in rivals.iter().filter(|&&rival| self.distance[rival] < 1.0 - 1e-6) {
                let mut way = Vec::new();
                let mut node = rival;
                while self.arrived_by[node] != NOWHERE {
                    way.push(self.arrived_by[node]);
                    node = problem.edges[self.arrived_by[node] as usize].from;
                }
                // A competitor that carries the data already: no plan can undo that.
                if !way.is_empty() {
                    ways.push(way);
                }
            }
        }
        ways
    }

    /// Shortest distances from any of `sources`, as far as they are below 1.
    fn walk(
        &mut self,
        problem: &Problem<'_>,
        sources: &[usize],
        length: impl Fn(u32) -> Option<f64>,
    ) {
        self.distance.fill(f64::INFINITY);
        self.settled.fill(false);
        self.arrived_by.fill(NOWHERE);
        for &source in sources {
            self.distance[source] = 0.0;
        }
        loop {
            let near = (0..self.distance.len())
                .filter(|&node| !self.settled[node] && self.distance[node] < 1.0)
                .min_by(|&a, &b| self.distance[a].total_cmp(&self.distance[b]));
            let Some(node) = near else {
                return;
            };
            self.settled[node] = true;
            for &edge in &problem.leaving[node] {
                let Some(length) = length(edge) else {
                    continue;
                };
                let next = problem.edges[edge as usize].to;
                let distance = self.distance[node] + length;
                if distance < self.distance[next] {
                    self.distance[next] = distance;
                    self.arrived_by[next] = edge;
                }
            }
        }
    }
}
