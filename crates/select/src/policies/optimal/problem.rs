//! The candidate edges and which of them can matter.

use fedcompetitors_graphs::{
    Reachability,
    bits::{BitMatrix, intersects, ones, union},
};

use crate::Setting;

/// An edge that could be used.
#[derive(Debug, Clone, Copy)]
pub struct Edge {
    pub from: usize,
    pub to: usize,
    /// In units of the most valuable contested edge, so that tolerances mean the same
    /// whatever the benefits are measured in.
    pub value: f64,
}

/// What there is to decide.
pub struct Problem<'a> {
    pub setting: Setting<'a>,
    /// The useful edges between participants that don't compete. First those that lie on
    /// a way between competitors, ordered by the helped, then the helper.
    pub edges: Vec<Edge>,
    /// How many edges lie on such a way; the others are in every best plan.
    pub contested: usize,
    /// The benefit that a value of 1 stands for.
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
            unit,
            leaving,
            rivals,
            carriers: (0..count).map(carriers).collect(),
        }
    }

    /// The sum of all contested values: what no plan can exceed.
    pub fn total(&self) -> f64 {
        self.edges[..self.contested]
            .iter()
            .map(|edge| edge.value)
            .fold(0.0, |sum, value| sum + value)
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
