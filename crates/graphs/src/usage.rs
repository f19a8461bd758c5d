//! Who may learn from whom.

use crate::{
    GraphError, Participants,
    bits::{BitMatrix, ones},
};

/// The usage graph: `j → i` says that `i` may use the model updates of `j`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsageGraph {
    participants: Participants,
    /// Row `i` holds the collaborators of `i`.
    collaborators: BitMatrix,
}

impl UsageGraph {
    /// Starts a graph in which everybody learns alone.
    pub fn builder(participants: &Participants) -> UsageGraphBuilder {
        UsageGraphBuilder {
            graph: Self {
                participants: participants.clone(),
                collaborators: BitMatrix::new(participants.len()),
            },
        }
    }

    /// The graph in which row `i` of the matrix holds the collaborators of `i`.
    ///
    /// # Panics
    /// If the matrix has another size or a bit on its diagonal: policies make such
    /// matrices, people don't.
    pub fn from_collaborators(participants: &Participants, collaborators: BitMatrix) -> Self {
        assert_eq!(participants.len(), collaborators.size(), "one row for each participant");
        assert!(
            (0..participants.len()).all(|i| !collaborators.get(i, i)),
            "nobody is its own collaborator"
        );
        Self { participants: participants.clone(), collaborators }
    }

    /// The same edges over a longer list of participants.
    ///
    /// # Panics
    /// If the new list does not begin with the old one.
    #[must_use]
    pub fn extended(&self, participants: &Participants) -> Self {
        assert!(
            participants.names().take(self.participants.len()).eq(self.participants.names()),
            "the new participants come after the old ones"
        );
        let mut longer = Self::builder(participants).graph;
        self.edges().for_each(|(from, to)| longer.collaborators.set(to, from));
        longer
    }

    /// The participants.
    pub fn participants(&self) -> &Participants {
        &self.participants
    }

    /// May `to` learn from `from`?
    pub fn uses(&self, from: usize, to: usize) -> bool {
        self.collaborators.get(to, from)
    }

    /// Those from whom `i` may learn, as a bit set.
    pub fn collaborators(&self, i: usize) -> &[u64] {
        self.collaborators.row(i)
    }

    /// How many edges there are.
    pub fn len(&self) -> usize {
        self.collaborators.count()
    }

    /// Does everybody learn alone?
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Every edge as (from, to), ordered by `to`, then `from`.
    pub fn edges(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        (0..self.participants.len())
            .flat_map(|to| ones(self.collaborators(to)).map(move |from| (from, to)))
    }

    /// The matrix in which row `j` holds those who learn from `j`.
    pub fn learners(&self) -> BitMatrix {
        self.collaborators.transposed()
    }
}

/// Collects usage edges one by one, in any order.
pub struct UsageGraphBuilder {
    graph: UsageGraph,
}

impl UsageGraphBuilder {
    /// `to` may learn from `from`.
    ///
    /// # Errors
    /// On an edge from a participant to itself, or one that was given before.
    pub fn add(&mut self, from: usize, to: usize) -> Result<(), GraphError> {
        let name = |index| self.graph.participants.name(index).to_owned();
        if from == to {
            return Err(GraphError::UsesItself { name: name(from) });
        }
        if self.graph.uses(from, to) {
            return Err(GraphError::DoubledUsage { from: name(from), to: name(to) });
        }
        self.graph.collaborators.set(to, from);
        Ok(())
    }

    /// The finished graph.
    pub fn build(self) -> UsageGraph {
        self.graph
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edges_point_from_the_helper_to_the_helped() {
        let participants = Participants::new(["a", "b", "c"]).expect("valid");
        let mut builder = UsageGraph::builder(&participants);
        builder.add(2, 0).expect("new");
        builder.add(0, 1).expect("new");
        assert!(matches!(builder.add(0, 1), Err(GraphError::DoubledUsage { .. })));
        assert!(matches!(builder.add(1, 1), Err(GraphError::UsesItself { .. })));
        let graph = builder.build();
        assert!(graph.uses(2, 0) && !graph.uses(0, 2));
        assert_eq!(graph.edges().collect::<Vec<_>>(), [(2, 0), (0, 1)]);
        assert_eq!(ones(graph.learners().row(2)).collect::<Vec<_>>(), [0]);
        assert_eq!(graph.len(), 2);
    }
}
