//! A usage graph that grows edge by edge and knows at once which edge may be added.

use fedcompetitors_graphs::{
    CompetingGraph, Participants, UsageGraph,
    bits::{BitMatrix, insert, intersects, ones, union},
};

/// The usage graph so far, and what follows from it.
#[derive(Clone)]
pub struct Closure {
    participants: Participants,
    /// Row `i`: the collaborators of `i`.
    collaborators: BitMatrix,
    /// Row `i`: those whom `i` reaches, itself included.
    reached: BitMatrix,
    /// Row `i`: those who reach `i`, itself included.
    carried: BitMatrix,
    /// Row `i`: the competitors of those whom `i` reaches.
    hostile: BitMatrix,
}

impl Closure {
    /// Nobody uses anybody's updates yet.
    pub fn new(competing: &CompetingGraph) -> Self {
        let participants = competing.participants().clone();
        let count = participants.len();
        let mut reached = BitMatrix::new(count);
        let mut hostile = BitMatrix::new(count);
        for i in 0..count {
            reached.set(i, i);
            hostile.row_mut(i).copy_from_slice(competing.competitors(i));
        }
        Self {
            participants,
            collaborators: BitMatrix::new(count),
            carried: reached.clone(),
            reached,
            hostile,
        }
    }

    /// May `to` learn from `from`, given the edges so far?
    pub fn admits(&self, from: usize, to: usize) -> bool {
        !intersects(self.carried.row(from), self.hostile.row(to))
    }

    /// Adds an edge; the caller has asked [`Closure::admits`].
    pub fn add(&mut self, from: usize, to: usize) {
        insert(self.collaborators.row_mut(to), from);
        if self.reached.get(from, to) {
            return;
        }
        let (gained, hostile) = (self.reached.row(to).to_vec(), self.hostile.row(to).to_vec());
        let sources = self.carried.row(from).to_vec();
        for source in ones(&sources) {
            union(self.reached.row_mut(source), &gained);
            union(self.hostile.row_mut(source), &hostile);
        }
        for target in ones(&gained) {
            union(self.carried.row_mut(target), &sources);
        }
    }

    /// The usage graph.
    pub fn usage(&self) -> UsageGraph {
        UsageGraph::from_collaborators(&self.participants, self.collaborators.clone())
    }
}
