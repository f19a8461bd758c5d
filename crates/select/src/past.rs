//! What had flowed before a plan, and how it changes when participants come and go.

use fedcompetitors_graphs::{
    CompetingGraph, GraphError, Participants, Provenance, UsageGraph, shown,
};

/// What had flowed before a plan was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Past {
    /// Whose data each participant's model carried.
    pub provenance: Provenance,
    /// Those who had left; others may still carry their data.
    pub left: Vec<usize>,
    /// Who competed with whom (the one that said so first), whatever a competing file
    /// says later: a competition ends when somebody says so, not when a line is lost.
    pub competing: Vec<(usize, usize)>,
}

/// A change that cannot be.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ChangeError {
    /// A name that cannot be, or that nobody has.
    #[error(transparent)]
    Graph(#[from] GraphError),
    /// Somebody joins who is there.
    #[error("\"{}\" takes part already", shown(.name))]
    TakesPartAlready {
        /// Who.
        name: String,
    },
    /// Somebody leaves who has left.
    #[error("\"{}\" has left already", shown(.name))]
    HasLeftAlready {
        /// Who.
        name: String,
    },
}

impl ChangeError {
    /// What can be done about it.
    pub fn hint(&self) -> String {
        match self {
            Self::Graph(error) => error.hint(),
            Self::TakesPartAlready { .. } => {
                "leave it out of this call; another organisation needs another name".into()
            }
            Self::HasLeftAlready { .. } => "leave it out of this call".into(),
        }
    }
}

impl Past {
    /// Nothing has flowed and nobody has left.
    pub fn none(participants: &Participants) -> Self {
        let provenance = Provenance::own(participants);
        Self { provenance, left: Vec::new(), competing: Vec::new() }
    }

    /// The participants, those who have left included.
    pub fn participants(&self) -> &Participants {
        self.provenance.participants()
    }

    /// What those carry who are still there; what others once carried concerns nobody.
    pub fn present(&self) -> Provenance {
        let mut present = self.provenance.clone();
        self.left.iter().for_each(|&gone| present.restart(gone));
        present
    }

    /// Everybody has trained along a usage graph.
    pub fn trained(&mut self, usage: &UsageGraph) {
        self.provenance = self.provenance.after(usage);
    }

    /// A newcomer comes after all others, and its index is returned; who has left before
    /// finds its place again.
    ///
    /// # Errors
    /// If it takes part already, or its name cannot be one.
    pub fn join(&mut self, name: &str) -> Result<Option<usize>, ChangeError> {
        if let Ok(known) = self.participants().find(name) {
            let Some(at) = self.left.iter().position(|&gone| gone == known) else {
                return Err(ChangeError::TakesPartAlready { name: name.to_owned() });
            };
            self.left.remove(at);
            return Ok(None);
        }
        let longer = Participants::new(self.participants().names().chain([name]))?;
        self.provenance = self.provenance.extended(&longer);
        Ok(Some(longer.len() - 1))
    }

    /// Somebody leaves. Its data stays where it is carried.
    ///
    /// # Errors
    /// If nobody has this name, or it has left already.
    pub fn leave(&mut self, name: &str) -> Result<(), ChangeError> {
        let index = self.participants().find(name)?;
        if self.left.contains(&index) {
            return Err(ChangeError::HasLeftAlready { name: name.to_owned() });
        }
        self.left.push(index);
        Ok(())
    }

    /// These two no longer compete.
    pub fn reconcile(&mut self, a: usize, b: usize) {
        self.competing.retain(|&pair| pair != (a, b) && pair != (b, a));
    }

    /// Keeps who competes now, for whatever plan comes later.
    pub fn remember(&mut self, competing: &CompetingGraph) {
        self.competing = competing
            .pairs()
            .map(|(a, b)| if competing.reports(a, b) { (a, b) } else { (b, a) })
            .collect();
    }

    /// Those who carry the data of a competitor, with the competitor: first of those who
    /// are there, which no plan can undo, then of those who have left, which stops nothing.
    #[expect(clippy::type_complexity, reason = "two lists of pairs")]
    pub fn breaches(
        &self,
        competing: &CompetingGraph,
    ) -> (Vec<(usize, usize)>, Vec<(usize, usize)>) {
        self.provenance.breaches(competing).partition(|(owner, _)| !self.left.contains(owner))
    }

    /// The competitions that this past knows and a competing graph lacks.
    pub fn forgotten<'a>(
        &'a self,
        competing: &'a CompetingGraph,
    ) -> impl Iterator<Item = (usize, usize)> + 'a {
        self.competing.iter().copied().filter(|&(a, b)| !competing.competes(a, b))
    }

    /// The competing graph with those competitions that only this past still knows.
    ///
    /// # Panics
    /// If the graph is over other participants.
    pub fn with_remembered(&self, competing: CompetingGraph) -> CompetingGraph {
        let participants = self.provenance.participants();
        assert_eq!(participants, competing.participants(), "one list of participants");
        let forgotten: Vec<(usize, usize)> = self.forgotten(&competing).collect();
        if forgotten.is_empty() {
            return competing;
        }
        competing.declared(&forgotten).expect("a past holds no pair of one participant")
    }
}
