//! What a policy decides on.

use std::borrow::Cow;

use fedcompetitors_graphs::{
    BenefitGraph, CompetingGraph, Participants, Provenance, bits::intersects,
};

/// Who competes, who would help whom, and what has flowed so far.
#[derive(Debug, Clone, Copy)]
pub struct Setting<'a> {
    pub(crate) competing: &'a CompetingGraph,
    pub(crate) benefit: &'a BenefitGraph,
    /// `None` where nothing has flowed yet.
    pub(crate) history: Option<&'a Provenance>,
    /// Those who have left: their data may still be carried, but nothing flows to or from
    /// them.
    absent: &'a [usize],
}

impl<'a> Setting<'a> {
    /// A federation that begins now.
    ///
    /// # Panics
    /// If the graphs are over different participants.
    pub fn new(competing: &'a CompetingGraph, benefit: &'a BenefitGraph) -> Self {
        assert_eq!(competing.participants(), benefit.participants(), "one list of participants");
        Self { competing, benefit, history: None, absent: &[] }
    }

    /// A federation whose models carry what this provenance says.
    ///
    /// # Panics
    /// If the graphs and the provenance are over different participants.
    pub fn with_history(
        competing: &'a CompetingGraph,
        benefit: &'a BenefitGraph,
        history: &'a Provenance,
    ) -> Self {
        assert_eq!(competing.participants(), history.participants(), "one list of participants");
        Self { history: Some(history), ..Self::new(competing, benefit) }
    }

    /// The same without those who have left: nothing flows to or from them any more.
    #[must_use]
    pub fn without(self, absent: &'a [usize]) -> Self {
        Self { absent, ..self }
    }

    /// The participants.
    pub fn participants(&self) -> &'a Participants {
        self.competing.participants()
    }

    /// Who may not be in one group: those who compete, and those of whom one carries the
    /// data of a competitor of the other, as a group shares all that its members carry.
    /// Those who are not there are nobody's concern.
    pub(crate) fn hostile(&self) -> Cow<'a, CompetingGraph> {
        if self.history.is_none() && self.everybody_is_there() {
            return Cow::Borrowed(self.competing);
        }
        let mut hostile = CompetingGraph::builder(self.participants());
        let there: Vec<usize> =
            (0..self.participants().len()).filter(|a| !self.absent.contains(a)).collect();
        for (at, &a) in there.iter().enumerate() {
            for &b in &there[at + 1..] {
                if !self.admits_alone(a, b) || !self.admits_alone(b, a) {
                    hostile.report(a, b).expect("two different participants");
                }
            }
        }
        Cow::Owned(hostile.build())
    }

    pub(crate) fn everybody_is_there(&self) -> bool {
        self.absent.is_empty()
    }

    /// May `to` learn from `from`, if nobody else learned from anybody?
    pub(crate) fn admits_alone(&self, from: usize, to: usize) -> bool {
        if self.absent.contains(&from) || self.absent.contains(&to) {
            return false;
        }
        match self.history {
            Some(history) => !intersects(history.carried(from), self.competing.competitors(to)),
            None => !self.competing.competes(from, to),
        }
    }
}
