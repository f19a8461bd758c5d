//! How many samples the participants have.

use fedcompetitors_graphs::{
    BenefitGraph, Participants, Reachability, UsageGraph,
    bits::{BitMatrix, contains, insert},
    shown,
};

/// How many samples each participant has.
///
/// Counts are positive numbers, not only whole ones: a sample may weigh less than another.
#[derive(Debug, Clone, PartialEq)]
pub struct SampleCounts {
    participants: Participants,
    counts: Vec<f64>,
    /// The helpers that a participant needs to receive anything.
    fewest: usize,
}

/// Counts that cannot be.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SampleCountsError {
    /// Not one count for each participant.
    #[error("{counts} sample counts for {participants} participants")]
    Length {
        /// How many counts there are.
        counts: usize,
        /// How many participants.
        participants: usize,
    },
    /// A count that is not a positive number.
    #[error("the sample count of \"{}\" is {value} instead of a number above 0", shown(.name))]
    NotPositive {
        /// Whose count.
        name: String,
        /// The count.
        value: f64,
    },
}

impl SampleCountsError {
    /// What can be done about it.
    pub fn hint(&self) -> String {
        match self {
            Self::Length { .. } => "give one count for each participant".into(),
            Self::NotPositive { .. } => {
                "count the rows that the participant trains on; leave out a participant that has none"
                    .into()
            }
        }
    }
}

/// An objective needs sample counts and there are none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the objective `diminishing` needs the number of samples of each participant")]
pub struct SamplesMissing;

impl SampleCounts {
    /// The counts, in the order of the participants.
    ///
    /// # Errors
    /// If there is not one for each participant, or one is not a positive number.
    pub fn new(participants: &Participants, counts: Vec<f64>) -> Result<Self, SampleCountsError> {
        if counts.len() != participants.len() {
            let participants = participants.len();
            return Err(SampleCountsError::Length { counts: counts.len(), participants });
        }
        if let Some(at) = counts.iter().position(|count| !count.is_finite() || *count <= 0.0) {
            let (name, value) = (participants.name(at).to_owned(), counts[at]);
            return Err(SampleCountsError::NotPositive { name, value });
        }
        Ok(Self { participants: participants.clone(), counts, fewest: 1 })
    }

    /// The same, where a participant with fewer helpers than this receives nothing: what one alone says may not be
    /// shown.
    #[must_use]
    pub fn with_fewest(self, fewest: usize) -> Self {
        Self { fewest, ..self }
    }

    /// The helpers that a participant needs to receive anything.
    pub(crate) fn fewest(&self) -> usize {
        self.fewest
    }

    /// Whose counts these are.
    pub fn participants(&self) -> &Participants {
        &self.participants
    }

    /// The counts, in the order of the participants.
    pub fn counts(&self) -> &[f64] {
        &self.counts
    }

    /// The value of a usage graph by diminishing returns: the sum of `1/n − 1/(n + s)`, where `n`
    /// is how many samples a participant has and `s` the benefits of all who reach it; 0 if they are too few.
    pub fn value(&self, benefit: &BenefitGraph, usage: &UsageGraph) -> f64 {
        let count = self.counts.len();
        let mut helpers = BitMatrix::new(count);
        for (from, to) in usage.edges() {
            insert(helpers.row_mut(to), from);
        }
        let reached_by = Reachability::along(&helpers);
        let gain = |to: usize| {
            let helps = |from: usize| contains(reached_by.set(to), from);
            let helpers = benefit.helpers(to).filter(|&(from, _)| helps(from)).count();
            let sum = if helpers < self.fewest { 0.0 } else { benefit.received(to, helps) };
            sum / self.counts[to] / (self.counts[to] + sum)
        };
        (0..count).map(gain).fold(0.0, |sum, gain| sum + gain)
    }
}
