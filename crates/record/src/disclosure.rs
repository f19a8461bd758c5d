//! What summaries reveal of single rows.

use serde::{Deserialize, Serialize};

/// Something that a summary would reveal of few rows, and what was done about it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Disclosure {
    /// Features are left out of a participant's summary, because too few of its rows differ in them.
    LeftOut {
        /// The participant.
        participant: usize,
        /// The features, by their places.
        features: Vec<usize>,
    },
    /// A participant receives nothing, because its sum would have a single source.
    Withheld {
        /// The participant.
        participant: usize,
        /// The source.
        source: usize,
    },
    /// A participant receives a sum with a single source, which is that source's summary.
    SingleSource {
        /// The participant.
        participant: usize,
        /// The source.
        source: usize,
    },
}

impl Disclosure {
    /// The participants that it is about.
    pub fn participants(&self) -> impl Iterator<Item = usize> {
        let (participant, source) = match *self {
            Self::LeftOut { participant, .. } => (participant, None),
            Self::Withheld { participant, source } | Self::SingleSource { participant, source } => {
                (participant, Some(source))
            }
        };
        [Some(participant), source].into_iter().flatten()
    }
}
