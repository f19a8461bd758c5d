//! Who would help whom, and how much.

use crate::{
    GraphError, Participants, UsageGraph,
    bits::{BitMatrix, ones},
};

/// The benefit graph: `j → i` with a positive value says that the data of `j` helps
/// the model of `i`.
///
/// Stored by the helped participant, since every selection asks "who could help `i`?".
#[derive(Debug, Clone, PartialEq)]
pub struct BenefitGraph {
    participants: Participants,
    /// The helpers of `i` are `helpers[starts[i]..starts[i + 1]]`, in listed order.
    starts: Vec<usize>,
    helpers: Vec<u32>,
    values: Vec<f64>,
    levels: Vec<f64>,
}

impl BenefitGraph {
    /// Starts a graph in which nobody helps anybody yet.
    pub fn builder(participants: &Participants) -> BenefitGraphBuilder {
        BenefitGraphBuilder {
            participants: participants.clone(),
            given: BitMatrix::new(participants.len()),
            edges: Vec::new(),
        }
    }

    /// The participants.
    pub fn participants(&self) -> &Participants {
        &self.participants
    }

    /// How many edges there are.
    pub fn len(&self) -> usize {
        self.helpers.len()
    }

    /// Does nobody help anybody?
    pub fn is_empty(&self) -> bool {
        self.helpers.is_empty()
    }

    /// Who could help `i`, and by how much, in listed order.
    pub fn helpers(&self, i: usize) -> impl ExactSizeIterator<Item = (usize, f64)> + '_ {
        let range = self.starts[i]..self.starts[i + 1];
        self.helpers[range.clone()]
            .iter()
            .zip(&self.values[range])
            .map(|(&helper, &value)| (helper as usize, value))
    }

    /// The benefit of `from` to `to`; 0 where there is no edge.
    pub fn benefit(&self, from: usize, to: usize) -> f64 {
        let range = self.starts[to]..self.starts[to + 1];
        match self.helpers[range.clone()].binary_search(&(from as u32)) {
            Ok(at) => self.values[range][at],
            Err(_) => 0.0,
        }
    }

    /// Each participant's total benefit to the others (the paper's Eq. 1), summed in
    /// listed order so that the same input gives the same bits.
    pub fn level_of_potential(&self) -> &[f64] {
        &self.levels
    }

    /// The same graph without the edges to and from these participants.
    #[must_use]
    pub fn without(&self, absent: &[usize]) -> Self {
        let mut builder = Self::builder(&self.participants);
        for to in (0..self.participants.len()).filter(|to| !absent.contains(to)) {
            for (from, value) in self.helpers(to).filter(|(from, _)| !absent.contains(from)) {
                // A part of a valid graph is valid.
                builder.edges.push((from as u32, to as u32, value));
            }
        }
        builder.build()
    }

    /// What `to` would get if it had every edge that `allowed` admits, summed in listed
    /// order.
    pub fn received(&self, to: usize, allowed: impl Fn(usize) -> bool) -> f64 {
        // Multiplying instead of skipping: no branch to mispredict, the same sum.
        let counted = |(from, value)| value * f64::from(u8::from(allowed(from)));
        // Not `sum`, whose empty sum is -0.
        self.helpers(to).map(counted).fold(0.0, |sum, value| sum + value)
    }

    /// The collaborators of `to` with their benefits, the best first, ties in listed order.
    pub fn collaborators(&self, usage: &UsageGraph, to: usize) -> Vec<(usize, f64)> {
        let mut best_first: Vec<(usize, f64)> =
            ones(usage.collaborators(to)).map(|from| (from, self.benefit(from, to))).collect();
        best_first.sort_by(|a, b| b.1.total_cmp(&a.1));
        best_first
    }

    /// What each participant gives along the usage edges, summed in listed order.
    pub fn given(&self, usage: &UsageGraph) -> Vec<f64> {
        let mut given = vec![0.0; self.participants.len()];
        for (from, to) in usage.edges() {
            given[from] += self.benefit(from, to);
        }
        given
    }
}

/// The largest benefit: the sum of as many as there can be is still a number.
const LARGEST: f64 = 1e200;

/// Collects benefits edge by edge, in any order.
pub struct BenefitGraphBuilder {
    participants: Participants,
    given: BitMatrix,
    edges: Vec<(u32, u32, f64)>,
}

impl BenefitGraphBuilder {
    /// The data of `from` helps `to` by `value`. A value of 0 says that it does not.
    ///
    /// # Errors
    /// On a negative, infinite, not-a-number or far too large value, a benefit to oneself, or an
    /// edge that was given before.
    pub fn add(&mut self, from: usize, to: usize, value: f64) -> Result<(), GraphError> {
        let names =
            || (self.participants.name(from).to_owned(), self.participants.name(to).to_owned());
        if !value.is_finite() {
            let (from, to) = names();
            return Err(GraphError::NotFiniteBenefit { from, to, value });
        }
        if value < 0.0 {
            let (from, to) = names();
            return Err(GraphError::NegativeBenefit { from, to, value });
        }
        if value > LARGEST {
            let (from, to) = names();
            return Err(GraphError::TooLargeBenefit { from, to, value });
        }
        if from == to {
            return Err(GraphError::BenefitToItself { name: names().0 });
        }
        if self.given.get(from, to) {
            let (from, to) = names();
            return Err(GraphError::DoubledBenefit { from, to });
        }
        self.given.set(from, to);
        if value > 0.0 {
            self.edges.push((from as u32, to as u32, value));
        }
        Ok(())
    }

    /// The finished graph.
    pub fn build(self) -> BenefitGraph {
        let count = self.participants.len();
        // Two counting sorts, by helper and then (stably) by helped: linear in the
        // number of edges, which may be tens of millions.
        let mut order = vec![0; self.edges.len()];
        let mut next = starts_by(count, self.edges.iter().map(|edge| edge.0));
        for (at, edge) in self.edges.iter().enumerate() {
            order[next[edge.0 as usize]] = at;
            next[edge.0 as usize] += 1;
        }
        let starts = starts_by(count, self.edges.iter().map(|edge| edge.1));
        let mut next = starts.clone();
        let mut helpers = vec![0_u32; self.edges.len()];
        let mut values = vec![0.0; self.edges.len()];
        for &at in &order {
            let (from, to, value) = self.edges[at];
            let slot = next[to as usize];
            next[to as usize] += 1;
            helpers[slot] = from;
            values[slot] = value;
        }
        let mut levels = vec![0.0; count];
        for (&helper, &value) in helpers.iter().zip(&values) {
            levels[helper as usize] += value;
        }
        BenefitGraph { participants: self.participants, starts, helpers, values, levels }
    }
}

/// Where each key's run begins once the items are sorted by key, and the end.
fn starts_by(keys: usize, items: impl Iterator<Item = u32>) -> Vec<usize> {
    let mut starts = vec![0; keys + 1];
    for key in items {
        starts[key as usize + 1] += 1;
    }
    for key in 0..keys {
        starts[key + 1] += starts[key];
    }
    starts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn three() -> Participants {
        Participants::new(["a", "b", "c"]).expect("valid")
    }

    #[test]
    fn edges_come_back_by_the_helped_and_in_listed_order() {
        let mut builder = BenefitGraph::builder(&three());
        for (from, to, value) in [(2, 0, 0.5), (1, 0, 0.25), (0, 2, 1.0), (1, 2, 0.0)] {
            builder.add(from, to, value).expect("valid");
        }
        let graph = builder.build();
        assert_eq!(graph.helpers(0).collect::<Vec<_>>(), [(1, 0.25), (2, 0.5)]);
        assert_eq!(graph.helpers(1).len(), 0);
        assert_eq!(graph.benefit(0, 2).to_bits(), 1.0_f64.to_bits());
        assert_eq!(graph.benefit(1, 2).to_bits(), 0.0_f64.to_bits());
        assert_eq!(graph.level_of_potential(), [1.0, 0.25, 0.5]);
        assert_eq!(graph.len(), 3);
    }

    #[test]
    fn what_is_no_benefit_is_refused() {
        let mut builder = BenefitGraph::builder(&three());
        for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            assert!(matches!(builder.add(0, 1, value), Err(GraphError::NotFiniteBenefit { .. })));
        }
        assert!(matches!(builder.add(0, 1, -0.1), Err(GraphError::NegativeBenefit { .. })));
        assert!(matches!(builder.add(0, 1, 1e300), Err(GraphError::TooLargeBenefit { .. })));
        assert!(matches!(builder.add(1, 1, 0.1), Err(GraphError::BenefitToItself { .. })));
        builder.add(0, 1, 0.0).expect("valid");
        assert!(matches!(builder.add(0, 1, 0.1), Err(GraphError::DoubledBenefit { .. })));
    }
}
