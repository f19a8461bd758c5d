//! Who competes with whom.

use crate::{
    GraphError, Participants,
    bits::{BitMatrix, ones},
};

/// The competing graph: undirected, the union of the participants' own reports.
///
/// Whose report it was stays on record, so that an explanation can name it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompetingGraph {
    participants: Participants,
    reports: BitMatrix,
    either_way: BitMatrix,
}

impl CompetingGraph {
    /// Starts a graph in which nobody competes yet.
    pub fn builder(participants: &Participants) -> CompetingGraphBuilder {
        CompetingGraphBuilder {
            participants: participants.clone(),
            reports: BitMatrix::new(participants.len()),
        }
    }

    /// The participants.
    pub fn participants(&self) -> &Participants {
        &self.participants
    }

    /// Do `a` and `b` compete, whoever reported it?
    pub fn competes(&self, a: usize, b: usize) -> bool {
        self.either_way.get(a, b)
    }

    /// Did `a` itself report `b` as its competitor?
    pub fn reports(&self, a: usize, b: usize) -> bool {
        self.reports.get(a, b)
    }

    /// Every report: who made it, and about whom.
    pub fn all_reports(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        (0..self.participants.len()).flat_map(|a| ones(self.reports.row(a)).map(move |b| (a, b)))
    }

    /// The competitors of `a` as a bit set.
    pub fn competitors(&self, a: usize) -> &[u64] {
        self.either_way.row(a)
    }

    /// The same graph after the first of each pair has declared that it competes with
    /// the second.
    ///
    /// # Errors
    /// If a participant is said to compete with itself.
    pub fn declared(&self, pairs: &[(usize, usize)]) -> Result<Self, GraphError> {
        let mut builder = CompetingGraphBuilder {
            participants: self.participants.clone(),
            reports: self.reports.clone(),
        };
        for &(a, b) in pairs {
            builder.report(a, b)?;
        }
        Ok(builder.build())
    }

    /// The same graph if `a` and `b` did not compete.
    #[must_use]
    pub fn reconciled(&self, a: usize, b: usize) -> Self {
        let mut reports = self.reports.clone();
        crate::bits::remove(reports.row_mut(a), b);
        crate::bits::remove(reports.row_mut(b), a);
        CompetingGraphBuilder { participants: self.participants.clone(), reports }.build()
    }

    /// Every competing pair once, as (lower, higher) index, in order.
    pub fn pairs(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        (0..self.participants.len())
            .flat_map(|a| ones(self.competitors(a)).filter(move |&b| a < b).map(move |b| (a, b)))
    }
}

/// Collects the participants' reports.
pub struct CompetingGraphBuilder {
    participants: Participants,
    reports: BitMatrix,
}

impl CompetingGraphBuilder {
    /// `a` reports that it competes with `b`. Reporting twice changes nothing.
    ///
    /// # Errors
    /// If a participant is said to compete with itself.
    pub fn report(&mut self, a: usize, b: usize) -> Result<(), GraphError> {
        if a == b {
            return Err(GraphError::CompetesWithItself {
                name: self.participants.name(a).to_owned(),
            });
        }
        self.reports.set(a, b);
        Ok(())
    }

    /// The union of all reports.
    pub fn build(self) -> CompetingGraph {
        let mut either_way = self.reports.transposed();
        for a in 0..self.participants.len() {
            crate::bits::union(either_way.row_mut(a), self.reports.row(a));
        }
        CompetingGraph { participants: self.participants, reports: self.reports, either_way }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_union_of_the_reports_counts_and_the_reporter_stays_known() {
        let participants = Participants::new(["a", "b", "c"]).expect("valid");
        let mut builder = CompetingGraph::builder(&participants);
        builder.report(2, 0).expect("two participants");
        let graph = builder.build();
        assert!(graph.competes(0, 2) && graph.competes(2, 0) && !graph.competes(0, 1));
        assert!(graph.reports(2, 0) && !graph.reports(0, 2));
        assert_eq!(graph.pairs().collect::<Vec<_>>(), [(0, 2)]);
    }

    #[test]
    fn a_pair_can_be_declared_and_reconciled() {
        let participants = Participants::new(["a", "b", "c"]).expect("valid");
        let graph = CompetingGraph::builder(&participants).build();
        let declared = graph.declared(&[(1, 0)]).expect("two participants");
        assert!(declared.competes(0, 1) && declared.reports(1, 0) && !declared.reports(0, 1));
        let both = declared.declared(&[(0, 1)]).expect("two participants");
        assert_eq!(both.reconciled(0, 1), graph);
        assert!(graph.declared(&[(2, 2)]).is_err());
    }

    #[test]
    fn nobody_competes_with_itself() {
        let participants = Participants::new(["a"]).expect("valid");
        assert!(CompetingGraph::builder(&participants).report(0, 0).is_err());
    }
}
