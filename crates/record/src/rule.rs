//! The rules that a federation can choose between.

use crate::named::named;

named! {
    /// What the plan of a federation keeps from competitors.
    pub enum Rule {
        /// No path of edges connects competitors, directly or through any chain of others: the paper's
        /// Assumption 1.
        Paths = "paths",
        /// No participant receives a message that carries a competitor's data. Chains are possible: a
        /// participant may help a friend of its competitor.
        Messages = "messages",
    }
}

impl Rule {
    /// Whether a plan that keeps this rule keeps another one. Along a plan under `paths` nobody's data
    /// reaches a competitor, so that no message carries it.
    pub fn implies(self, other: Self) -> bool {
        self == Self::Paths || other == Self::Messages
    }

    /// What the rule promises, in a sentence.
    pub fn help(self) -> &'static str {
        match self {
            Self::Paths => {
                "Nobody's data helps a competitor, directly or through any chain of others."
            }
            Self::Messages => {
                "Nobody receives a message that carries a competitor's data; a participant may help a friend of its competitor."
            }
        }
    }
}
