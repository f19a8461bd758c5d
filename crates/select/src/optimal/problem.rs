//! The candidate edges and which of them can matter.

use fedcompetitors_graphs::{
    BenefitGraph, CompetingGraph, Reachability,
    bits::{BitMatrix, intersects, ones, union, words_for},
};

/// An edge that could be used.
#[derive(Debug, Clone, Copy)]
pub struct Edge {
    pub from: usize,
    pub to: usize,
    pub value: f64,
}

/// What there is to decide.
pub struct Problem<'a> {
    pub competing: &'a CompetingGraph,
    /// The useful edges between participants that don't compete. First those that lie on
    /// a way between competitors, ordered by the helped, then the helper.
    pub edges: Vec<Edge>,
    /// How many edges lie on such a way; the others are in every best plan.
    pub contested: usize,
    /// The contested edges out of each participant.
    pub leaving: Vec<Vec<u32>>,
    /// The competitors of each participant.
    pub rivals: Vec<Vec<usize>>,
}

impl<'a> Problem<'a> {
    pub fn new(competing: &'a CompetingGraph, benefit: &BenefitGraph) -> Self {
        let count = competing.participants().len();
        let useful = (0..count)
            .flat_map(|to| benefit.helpers(to).map(move |(from, value)| Edge { from, to, value }));
        let useful: Vec<Edge> =
            useful.filter(|edge| !competing.competes(edge.from, edge.to)).collect();
        let contested = contested(competing, &useful);
        let (mut edges, free): (Vec<_>, Vec<_>) =
            useful.iter().zip(&contested).partition(|&(_, &contested)| contested);
        let contested = edges.len();
        edges.extend(free);
        let edges: Vec<Edge> = edges.into_iter().map(|(edge, _)| *edge).collect();
        let mut leaving = vec![Vec::new(); count];
        for (at, edge) in edges[..contested].iter().enumerate() {
            leaving[edge.from].push(at as u32);
        }
        let rivals = (0..count).map(|a| ones(competing.competitors(a)).collect()).collect();
        Self { competing, edges, contested, leaving, rivals }
    }

    /// The sum of all values: what no plan can exceed.
    pub fn total(&self) -> f64 {
        self.edges.iter().map(|edge| edge.value).fold(0.0, |sum, value| sum + value)
    }
}

/// Which edges lie on a way from a participant to a competitor?
fn contested(competing: &CompetingGraph, edges: &[Edge]) -> Vec<bool> {
    let count = competing.participants().len();
    let (mut forth, mut back) = (BitMatrix::new(count), BitMatrix::new(count));
    for edge in edges {
        forth.set(edge.from, edge.to);
        back.set(edge.to, edge.from);
    }
    let (forth, back) = (Reachability::along(&forth), Reachability::along(&back));
    let hostile: Vec<Vec<u64>> = (0..count)
        .map(|to| {
            let mut row = vec![0; words_for(count)];
            ones(forth.set(to)).for_each(|reached| union(&mut row, competing.competitors(reached)));
            row
        })
        .collect();
    edges.iter().map(|edge| intersects(back.set(edge.from), &hostile[edge.to])).collect()
}
