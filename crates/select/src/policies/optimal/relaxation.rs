//! How much any plan must give up.
//!
//! Every way from a participant to a competitor must lose an edge. Let as much as
//! possible flow along such ways, no more over an edge than it is worth: then whatever
//! a plan leaves out is worth at least the flow, as it must cut every way. (The largest
//! flow is the dual of the path relaxation: prices are 1 − x.) The ways are far too many
//! to list; those that are too cheap at the current prices are found as shortest paths.

use std::collections::BTreeSet;

use super::{problem::Problem, simplex::Packing};

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

/// What the relaxation says.
pub struct Bound {
    /// No plan with what has been fixed is worth more.
    pub upper: f64,
    /// For each contested edge how much of it the relaxation uses, 0 to 1.
    pub used: Vec<f64>,
    /// The ways that carry flow, for the relaxations to come.
    pub ways: Vec<Vec<u32>>,
    /// Was the relaxation solved to its end?
    pub solved: bool,
}

/// The relaxation with some edges fixed; `None` if what is fixed breaks the rule.
///
/// `known` are ways to begin with; `enough` is a value at which the bound is low enough.
pub fn bound(
    problem: &Problem<'_>,
    fixed: &[Fixed],
    known: &[Vec<u32>],
    enough: f64,
    stop: &mut dyn FnMut() -> bool,
) -> Option<Bound> {
    let open: Vec<usize> = (0..problem.contested).filter(|&at| fixed[at] == Fixed::Open).collect();
    let mut row_of = vec![u32::MAX; problem.contested];
    for (row, &at) in open.iter().enumerate() {
        row_of[at] = row as u32;
    }
    let worth: Vec<f64> = open.iter().map(|&at| problem.edges[at].value).collect();
    let left_out = fixed.iter().zip(&problem.edges).filter(|(fixed, _)| **fixed == Fixed::LeftOut);
    let total =
        problem.total() - left_out.map(|(_, edge)| edge.value).fold(0.0, |sum, value| sum + value);

    if open.len() > MOST_ROWS {
        let upper = total - plain_packing(problem, fixed, stop);
        let used = fixed.iter().map(|fixed| f64::from(u8::from(*fixed != Fixed::LeftOut)));
        return Some(Bound { upper, used: used.collect(), ways: Vec::new(), solved: false });
    }
    let mut packing = Packing::new(&worth);
    let mut offered = BTreeSet::new();
    let mut offer = |packing: &mut Packing, way: &[u32]| {
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
        }
        Some(new)
    };
    for way in known {
        if way.iter().all(|&edge| fixed[edge as usize] != Fixed::LeftOut) {
            offer(&mut packing, way)?;
        }
    }
    let mut search = Search::new(problem);
    let mut solved = true;
    loop {
        if !packing.solve(&mut *stop) {
            solved = false;
            break;
        }
        if total - packing.value(&worth) <= enough {
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
            news |= offer(&mut packing, way)?;
        }
        if !news {
            break;
        }
    }
    let mut used: Vec<f64> =
        fixed.iter().map(|fixed| f64::from(u8::from(*fixed == Fixed::Used))).collect();
    for (&at, price) in open.iter().zip(packing.prices()) {
        used[at] = (1.0 - price).clamp(0.0, 1.0);
    }
    let ways =
        packing.packed().map(|rows| rows.iter().map(|&row| open[row as usize] as u32).collect());
    Some(Bound { upper: total - packing.value(&worth), used, ways: ways.collect(), solved })
}

/// Contested edges up to which the inverse of the simplex method fits well into memory.
const MOST_ROWS: usize = 5000;

/// A packing without the simplex method, for instances too large for it: along one way
/// after another as much as still fits. A bound all the same, if a weak one.
fn plain_packing(problem: &Problem<'_>, fixed: &[Fixed], stop: &mut dyn FnMut() -> bool) -> f64 {
    let count = problem.rivals.len();
    let mut left: Vec<f64> = fixed
        .iter()
        .zip(&problem.edges)
        .map(|(fixed, edge)| match fixed {
            Fixed::Open => edge.value,
            Fixed::Used => f64::INFINITY,
            Fixed::LeftOut => 0.0,
        })
        .collect();
    let mut packed = 0.0;
    for source in (0..count).filter(|&source| !problem.rivals[source].is_empty()) {
        loop {
            if stop() {
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
