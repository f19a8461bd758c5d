//! Whose data each participant's model carries.

use crate::{
    CompetingGraph, Participants, Reachability, UsageGraph,
    bits::{BitMatrix, common_ones, contains, insert, ones, union},
};

/// For each participant the set of those whose data its model carries, itself included.
///
/// A plan says what will flow; provenance says what has flowed. History counts: if `k`
/// carries the data of `j` from last month, then whoever learns from `k` today gets it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Provenance {
    participants: Participants,
    carried: BitMatrix,
}

impl Provenance {
    /// Nothing has flowed yet: everybody carries its own data only.
    pub fn own(participants: &Participants) -> Self {
        let mut carried = BitMatrix::new(participants.len());
        for owner in 0..participants.len() {
            carried.set(owner, owner);
        }
        Self { participants: participants.clone(), carried }
    }

    /// The participants.
    pub fn participants(&self) -> &Participants {
        &self.participants
    }

    /// Those whose data the model of `owner` carries, as a bit set.
    pub fn carried(&self, owner: usize) -> &[u64] {
        self.carried.row(owner)
    }

    /// For each participant those whose models carry its data, itself included.
    pub fn carriers(&self) -> BitMatrix {
        self.carried.transposed()
    }

    /// Does the model of `owner` carry the data of `other`?
    pub fn carries(&self, owner: usize, other: usize) -> bool {
        contains(self.carried(owner), other)
    }

    /// The model of `owner` carries the data of `other`.
    pub fn add(&mut self, owner: usize, other: usize) {
        insert(self.carried.row_mut(owner), other);
    }

    /// `owner` begins again from its own data.
    pub fn restart(&mut self, owner: usize) {
        self.carried.row_mut(owner).fill(0);
        self.add(owner, owner);
    }

    /// What everybody carries after training along a usage graph for as long as it takes.
    ///
    /// # Panics
    /// If the usage graph is over different participants.
    #[must_use]
    pub fn after(&self, usage: &UsageGraph) -> Self {
        assert_eq!(&self.participants, usage.participants(), "one list of participants");
        let reach = Reachability::of(usage);
        let carriers = self.carriers();
        let mut reached = BitMatrix::new(self.participants.len());
        for owner in 0..self.participants.len() {
            for carrier in ones(carriers.row(owner)) {
                union(reached.row_mut(owner), reach.set(carrier));
            }
        }
        Self { participants: self.participants.clone(), carried: reached.transposed() }
    }

    /// The same over a longer list of participants: those who are new carry their own
    /// data only.
    ///
    /// # Panics
    /// If the new list does not begin with the old one.
    #[must_use]
    pub fn extended(&self, participants: &Participants) -> Self {
        assert!(
            participants.names().take(self.participants.len()).eq(self.participants.names()),
            "the new participants come after the old ones"
        );
        let mut longer = Self::own(participants);
        for owner in 0..self.participants.len() {
            for other in ones(self.carried(owner)) {
                longer.add(owner, other);
            }
        }
        longer
    }

    /// Those who carry the data of a competitor, with the competitor, in listed order.
    pub fn breaches<'a>(
        &'a self,
        competing: &'a CompetingGraph,
    ) -> impl Iterator<Item = (usize, usize)> + 'a {
        (0..self.participants.len()).flat_map(|owner| {
            common_ones(self.carried(owner), competing.competitors(owner))
                .map(move |rival| (owner, rival))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fedcompetitors_testing::cases;
    use proptest::prelude::*;

    #[test]
    fn what_was_carried_is_passed_on_and_a_restart_forgets() {
        let participants = Participants::numbered(3);
        let edge = |from, to| {
            let mut usage = UsageGraph::builder(&participants);
            usage.add(from, to).expect("new");
            usage.build()
        };
        let mut provenance = Provenance::own(&participants).after(&edge(0, 1)).after(&edge(1, 2));
        assert!(provenance.carries(2, 0), "over two plans, though no plan has both edges");
        let mut competing = CompetingGraph::builder(&participants);
        competing.report(2, 0).expect("two participants");
        let competing = competing.build();
        assert_eq!(provenance.breaches(&competing).collect::<Vec<_>>(), [(2, 0)]);
        provenance.restart(2);
        assert_eq!(provenance.breaches(&competing).count(), 0);
        assert!(provenance.carries(1, 0) && provenance.carries(2, 2));
    }

    proptest! {
        #![proptest_config(cases(256))]

        /// Training round by round, each taking what its collaborators have, comes to the
        /// same.
        #[test]
        fn training_to_the_end_is_training_round_by_round(
            edges in prop::collection::vec((0_usize..9, 0_usize..9), 0..20),
            history in prop::collection::vec((0_usize..9, 0_usize..9), 0..12),
        ) {
            let participants = Participants::numbered(9);
            let mut usage = UsageGraph::builder(&participants);
            for (from, to) in edges {
                let _ = usage.add(from, to);
            }
            let usage = usage.build();
            let mut provenance = Provenance::own(&participants);
            history.into_iter().for_each(|(owner, other)| provenance.add(owner, other));
            let at_once = provenance.after(&usage);
            for _ in 0..9 {
                let before = provenance.clone();
                for (from, to) in usage.edges() {
                    ones(before.carried(from)).for_each(|other| provenance.add(to, other));
                }
            }
            prop_assert_eq!(provenance, at_once);
        }
    }
}
