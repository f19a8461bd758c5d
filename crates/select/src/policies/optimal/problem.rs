//! The candidate edges and which of them can matter.

use fedcompetitors_graphs::{
    Reachability,
    bits::{BitMatrix, intersects, ones, union},
};

use crate::{SampleCounts, Setting};

/// An edge that could be used.
#[derive(Debug, Clone, Copy)]
pub struct Edge {
    pub from: usize,
    pub to: usize,
    /// A part of the most valuable contested edge, or, with diminishing returns, of what the
    /// receiver has anyway: tolerances mean the same whatever the benefits are measured in.
    pub value: f64,
}

/// What it is worth to a participant to receive contested edges of some values.
pub enum Returns {
    /// The sum of the values.
    Constant,
    /// `factor · sum / (1 + sum)`, with the factor of the participant.
    Diminishing(Vec<f64>),
}

/// A participant that receives nothing, uncontested edges included, unless it has enough contested ones.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Needs {
    /// The contested edges that it needs.
    edges: usize,
    /// What its uncontested edges are worth.
    loss: f64,
}

/// What there is to decide.
pub struct Problem<'a> {
    pub setting: Setting<'a>,
    /// The useful edges between participants that don't compete. First those that lie on
    /// a way between competitors, ordered by the helped, then the helper.
    pub edges: Vec<Edge>,
    /// How many edges lie on such a way; the others are in every best plan.
    pub contested: usize,
    /// What a participant has of the values that it receives. The relaxation takes this as it is; a plan is
    /// worth less where somebody's `needs` are not met, so bounds hold for both.
    pub returns: Returns,
    /// For each participant.
    needs: Vec<Needs>,
    /// What a worth of 1 stands for: a benefit, or, with diminishing returns, a difference of
    /// inverse sample counts.
    pub unit: f64,
    /// The contested edges out of each participant.
    pub leaving: Vec<Vec<u32>>,
    /// The competitors of each participant.
    pub rivals: Vec<Vec<usize>>,
    /// Those who carry each participant's data already, itself included.
    pub carriers: Vec<Vec<usize>>,
}

impl<'a> Problem<'a> {
    pub fn new(setting: Setting<'a>) -> Self {
        let count = setting.participants().len();
        let useful = (0..count).flat_map(|to| {
            setting.benefit.helpers(to).map(move |(from, value)| Edge { from, to, value })
        });
        let useful: Vec<Edge> =
            useful.filter(|edge| setting.admits_alone(edge.from, edge.to)).collect();
        let contested = contested(&setting, &useful);
        let (mut edges, free): (Vec<_>, Vec<_>) =
            useful.iter().zip(&contested).partition(|&(_, &contested)| contested);
        let contested = edges.len();
        edges.extend(free);
        let most = edges[..contested].iter().map(|(edge, _)| edge.value).fold(0.0, f64::max);
        let unit = if most > 0.0 { most } else { 1.0 };
        let scaled = |(edge, _): (&Edge, _)| Edge { value: edge.value / unit, ..*edge };
        let edges: Vec<Edge> = edges.into_iter().map(scaled).collect();
        let mut leaving = vec![Vec::new(); count];
        for (at, edge) in edges[..contested].iter().enumerate() {
            leaving[edge.from].push(at as u32);
        }
        let rivals = (0..count).map(|a| ones(setting.competing.competitors(a)).collect()).collect();
        let carries = |owner: usize, other: usize| match setting.history {
            Some(history) => history.carries(owner, other),
            None => owner == other,
        };
        let carriers = |a: usize| (0..count).filter(|&owner| carries(owner, a)).collect();
        Self {
            setting,
            edges,
            contested,
            returns: Returns::Constant,
            needs: vec![Needs::default(); count],
            unit,
            leaving,
            rivals,
            carriers: (0..count).map(carriers).collect(),
        }
    }

    /// The same decisions with diminishing returns: `1/n − 1/(n + s)` is `1/n · r/(1 + r)`,
    /// where `r` is `s` as a part of `n`. Uncontested edges are always received, so they count
    /// to `n`. Who has fewer helpers than the samples say receives nothing.
    pub fn diminishing(setting: Setting<'a>, samples: &SampleCounts) -> Self {
        let mut problem = Self::new(setting);
        let mut own: Vec<f64> = samples.counts().to_vec();
        let mut helpers = vec![(0, 0); own.len()];
        for (at, edge) in problem.edges.iter().enumerate() {
            let (of_all, free) = &mut helpers[edge.to];
            *of_all += 1;
            *free += usize::from(at >= problem.contested);
        }
        let can_receive = |to: usize| helpers[to].0 >= samples.fewest();
        let (contested, free) = problem.edges.split_at_mut(problem.contested);
        for edge in free.iter().filter(|edge| can_receive(edge.to)) {
            own[edge.to] += setting.benefit.benefit(edge.from, edge.to);
        }
        let mut most = vec![0.0; own.len()];
        for edge in contested {
            let benefit = setting.benefit.benefit(edge.from, edge.to);
            edge.value = if can_receive(edge.to) { benefit / own[edge.to] } else { 0.0 };
            most[edge.to] += edge.value;
        }
        // Relative to the smallest count and to the largest worth: neither overflows.
        let receives = |to: &usize| most[*to] > 0.0;
        let least = (0..own.len()).filter(receives).map(|to| own[to]).fold(f64::INFINITY, f64::min);
        let parts: Vec<f64> = own.iter().map(|own| least / own).collect();
        let worths =
            (0..own.len()).filter(receives).map(|to| parts[to] * most[to] / (1.0 + most[to]));
        let largest = worths.fold(0.0, f64::max);
        let factors = parts.iter().map(|part| if largest > 0.0 { part / largest } else { 0.0 });
        problem.unit = if largest > 0.0 { largest / least } else { 1.0 };
        problem.returns = Returns::Diminishing(factors.collect());
        let needs = |to: usize| {
            let edges =
                if can_receive(to) { samples.fewest().saturating_sub(helpers[to].1) } else { 0 };
            let loss = 1.0 / samples.counts()[to] - 1.0 / own[to];
            Needs { edges, loss: if edges > 0 { loss / problem.unit } else { 0.0 } }
        };
        problem.needs = (0..own.len()).map(needs).collect();
        problem
    }

    /// What it is worth to receive contested edges of this sum of values.
    pub fn worth(&self, to: usize, sum: f64) -> f64 {
        match &self.returns {
            Returns::Constant => sum,
            Returns::Diminishing(factors) => factors[to] * sum / (1.0 + sum),
        }
    }

    /// What a little more is worth to whoever receives this sum of values.
    pub fn slope(&self, to: usize, sum: f64) -> f64 {
        match &self.returns {
            Returns::Constant => 1.0,
            Returns::Diminishing(factors) => factors[to] / (1.0 + sum) / (1.0 + sum),
        }
    }

    /// The worth of these contested edges.
    pub fn value(&self, used: impl Iterator<Item = bool>) -> f64 {
        let used = self.edges[..self.contested].iter().zip(used).filter(|(_, used)| *used);
        match &self.returns {
            Returns::Constant => {
                used.map(|(edge, _)| edge.value).fold(0.0, |sum, value| sum + value)
            }
            Returns::Diminishing(factors) => {
                let mut sums = vec![(0.0, 0); factors.len()];
                for (edge, _) in used {
                    sums[edge.to].0 += edge.value;
                    sums[edge.to].1 += 1;
                }
                let worths = sums.iter().enumerate().map(|(to, &(sum, edges))| {
                    let Needs { edges: needed, loss } = self.needs[to];
                    if edges < needed { -loss } else { self.worth(to, sum) }
                });
                worths.fold(0.0, |total, worth| total + worth)
            }
        }
    }

    /// The worth of all contested edges: what no plan can exceed.
    pub fn total(&self) -> f64 {
        self.value(std::iter::repeat(true))
    }

    /// Whether a participant with this many contested edges has too few to receive anything.
    pub fn lacks(&self, to: usize, edges: usize) -> bool {
        edges < self.needs[to].edges
    }

    /// By how much the worth of any plan is at least below what the relaxation takes it for, given for each
    /// participant the contested edges that it may have at most, and the values of those that it surely has.
    pub fn excess(&self, edges: impl Iterator<Item = (usize, f64)>) -> f64 {
        let lacking = edges.enumerate().filter(|&(to, (most, _))| self.lacks(to, most));
        lacking.map(|(to, (_, sum))| self.worth(to, sum) + self.needs[to].loss).sum()
    }

    /// The contested edge between two participants, if there is one.
    pub fn contested_edge(&self, from: usize, to: usize) -> Option<usize> {
        let contested = &self.edges[..self.contested];
        contested.binary_search_by_key(&(to, from), |edge| (edge.to, edge.from)).ok()
    }
}

/// Which edges lie on a way from a carrier of somebody's data to a competitor of theirs?
fn contested(setting: &Setting<'_>, edges: &[Edge]) -> Vec<bool> {
    let count = setting.participants().len();
    let (mut forth, mut back) = (BitMatrix::new(count), BitMatrix::new(count));
    for edge in edges {
        forth.set(edge.from, edge.to);
        back.set(edge.to, edge.from);
    }
    let (forth, back) = (Reachability::along(&forth), Reachability::along(&back));
    let competing = setting.competing;
    let hostile: Vec<Vec<u64>> = (0..count)
        .map(|to| joined(forth.set(to), |reached| competing.competitors(reached)))
        .collect();
    let carried: Vec<Vec<u64>> = (0..count)
        .map(|from| match setting.history {
            Some(history) => joined(back.set(from), |source| history.carried(source)),
            None => back.set(from).to_vec(),
        })
        .collect();
    edges.iter().map(|edge| intersects(&carried[edge.from], &hostile[edge.to])).collect()
}

/// The union of the rows of a set's members.
fn joined<'a>(set: &[u64], row_of: impl Fn(usize) -> &'a [u64]) -> Vec<u64> {
    let mut row = vec![0; set.len()];
    ones(set).for_each(|member| union(&mut row, row_of(member)));
    row
}
