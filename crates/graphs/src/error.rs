//! What can be wrong with participants and graphs, naming the participants.

use crate::participants::shown;

/// A participant or an edge that may not enter a graph.
///
/// The messages name participants; the reader of a file adds file and line.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum GraphError {
    /// A participant without a name.
    #[error("a participant's name is empty")]
    EmptyName,
    /// A name that begins or ends with white space.
    #[error("the name \"{}\" begins or ends with white space", shown(.name))]
    NameNotTrimmed {
        /// The name as given.
        name: String,
    },
    /// The same name twice in a list of participants.
    #[error("the participant \"{}\" is listed twice", shown(.name))]
    DoubledParticipant {
        /// The doubled name.
        name: String,
    },
    /// A name that no participant has.
    #[error("the participant \"{}\" is unknown", shown(.name))]
    UnknownParticipant {
        /// The name as given.
        name: String,
        /// The known name closest to it, if any is close.
        nearest: Option<String>,
    },
    /// A participant that names itself as its competitor.
    #[error("the participant \"{}\" is listed as its own competitor", shown(.name))]
    CompetesWithItself {
        /// The participant.
        name: String,
    },
    /// A negative benefit.
    #[error("the benefit from \"{}\" to \"{}\" is negative ({value})", shown(.from), shown(.to))]
    NegativeBenefit {
        /// The helper.
        from: String,
        /// The helped.
        to: String,
        /// The value as given.
        value: f64,
    },
    /// A benefit that is infinite or not a number.
    #[error("the benefit from \"{}\" to \"{}\" is not a finite number ({value})", shown(.from), shown(.to))]
    NotFiniteBenefit {
        /// The helper.
        from: String,
        /// The helped.
        to: String,
        /// The value as given.
        value: f64,
    },
    /// A benefit so large that sums of such would not be numbers.
    #[error("the benefit from \"{}\" to \"{}\" is too large ({value:e})", shown(.from), shown(.to))]
    TooLargeBenefit {
        /// The helper.
        from: String,
        /// The helped.
        to: String,
        /// The value as given.
        value: f64,
    },
    /// A benefit of a participant to itself.
    #[error("the participant \"{}\" has a benefit to itself", shown(.name))]
    BenefitToItself {
        /// The participant.
        name: String,
    },
    /// The same benefit edge twice.
    #[error("the benefit from \"{}\" to \"{}\" is given twice", shown(.from), shown(.to))]
    DoubledBenefit {
        /// The helper.
        from: String,
        /// The helped.
        to: String,
    },
    /// A usage edge from a participant to itself.
    #[error("the participant \"{}\" is listed as its own helper", shown(.name))]
    UsesItself {
        /// The participant.
        name: String,
    },
    /// The same usage edge twice.
    #[error("the edge from \"{}\" to \"{}\" is given twice", shown(.from), shown(.to))]
    DoubledUsage {
        /// The helper.
        from: String,
        /// The helped.
        to: String,
    },
}

impl GraphError {
    /// What the person who gave the input can do about it.
    pub fn hint(&self) -> String {
        match self {
            Self::EmptyName => "every participant needs a name".into(),
            Self::NameNotTrimmed { name } => {
                format!("write \"{}\", without the white space around it", shown(name.trim()))
            }
            Self::DoubledParticipant { .. } => {
                "list every participant once; two organisations need two names".into()
            }
            Self::UnknownParticipant { nearest: Some(nearest), .. } => {
                format!("did you mean \"{}\"?", shown(nearest))
            }
            Self::UnknownParticipant { nearest: None, .. } => {
                "add it to the list of participants, or correct the name".into()
            }
            Self::CompetesWithItself { .. } => "name two different participants".into(),
            Self::NegativeBenefit { .. } => {
                "a participant that harms another has no benefit to it: write 0 or leave the edge out"
                    .into()
            }
            Self::NotFiniteBenefit { .. } => "write a finite number that is at least 0".into(),
            Self::TooLargeBenefit { .. } => {
                "benefits are compared with each other: divide all of them by the same number".into()
            }
            Self::BenefitToItself { .. } => {
                "remove the edge, or set the matrix's diagonal to 0: every participant uses its own data anyway"
                    .into()
            }
            Self::DoubledBenefit { .. } | Self::DoubledUsage { .. } => {
                "keep one of the two".into()
            }
            Self::UsesItself { .. } => "remove the edge: every participant uses its own data anyway".into(),
        }
    }
}
