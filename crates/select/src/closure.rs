//! A usage graph that grows edge by edge and knows at once which edge may be added.

use fedcompetitors_graphs::{
    Participants, UsageGraph,
    bits::{BitMatrix, contains, insert, intersects, ones, union},
};

use crate::Setting;

/// The usage graph so far, and what follows from it.
#[derive(Clone)]
pub struct Closure {
    participants: Participants,
    /// Row `i`: the collaborators of `i`.
    collaborators: BitMatrix,
    /// Row `i`: those whom `i` reaches, itself included.
    reached: BitMatrix,
    /// Row `i`: those who reach `i`, itself included.
    sources: BitMatrix,
    /// Row `i`: those whose data `i` carries: what its sources carried before.
    carried: BitMatrix,
    /// Row `i`: the competitors of those whom `i` reaches.
    hostile: BitMatrix,
}

impl Closure {
    /// Nobody uses anybody's updates yet.
    pub fn new(setting: &Setting<'_>) -> Self {
        let participants = setting.participants().clone();
        let count = participants.len();
        let mut reached = BitMatrix::new(count);
        let mut hostile = BitMatrix::new(count);
        for i in 0..count {
            reached.set(i, i);
            hostile.row_mut(i).copy_from_slice(setting.competing.competitors(i));
        }
        let mut carried = reached.clone();
        if let Some(history) = setting.history {
            for i in 0..count {
                carried.row_mut(i).copy_from_slice(history.carried(i));
            }
        }
        Self {
            participants,
            collaborators: BitMatrix::new(count),
            sources: reached.clone(),
            carried,
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
        let carried = self.carried.row(from).to_vec();
        let (gained, hostile) = (self.reached.row(to).to_vec(), self.hostile.row(to).to_vec());
        let sources = self.sources.row(from).to_vec();
        for source in ones(&sources) {
            union(self.reached.row_mut(source), &gained);
            union(self.hostile.row_mut(source), &hostile);
        }
        for target in ones(&gained) {
            union(self.sources.row_mut(target), &sources);
            union(self.carried.row_mut(target), &carried);
        }
    }

    /// Does `from` reach `to`, or is it the same?
    pub fn reaches(&self, from: usize, to: usize) -> bool {
        self.reached.get(from, to)
    }

    /// Who would newly reach whom by this edge, itself among them.
    pub fn connected_by(&self, from: usize, to: usize) -> Vec<(usize, usize)> {
        let mut pairs = Vec::new();
        for source in ones(self.sources.row(from)) {
            let reached = self.reached.row(source);
            for target in ones(self.reached.row(to)).filter(|&target| !contains(reached, target)) {
                pairs.push((source, target));
            }
        }
        pairs
    }

    /// The usage graph.
    pub fn usage(&self) -> UsageGraph {
        UsageGraph::from_collaborators(&self.participants, self.collaborators.clone())
    }
}
