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
    /// Sources have no part in the sum that a participant receives, because each coefficient and each pair of
    /// coefficients in it needs two sources.
    SourcesLeftOut {
        /// The participant.
        participant: usize,
        /// The sources.
        sources: Vec<usize>,
        /// Whether no other sources are left, so that it receives nothing.
        is_empty: bool,
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
        let (participant, sources) = match self {
            Self::LeftOut { participant, .. } => (participant, &[][..]),
            Self::Withheld { participant, source } | Self::SingleSource { participant, source } => {
                (participant, std::slice::from_ref(source))
            }
            Self::SourcesLeftOut { participant, sources, .. } => (participant, &sources[..]),
        };
        std::iter::once(participant).chain(sources).copied()
    }
}
