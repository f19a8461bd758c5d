//! What the best plan maximises.

use fedcompetitors_graphs::{Choice, Entry, Registry};

use crate::{Policy, SampleCounts, SamplesMissing};

/// What the best plan maximises: an [`ObjectiveKind`] with what it needs.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum Objective<'a> {
    /// The largest sum of benefits.
    #[default]
    Welfare,
    /// Whoever gets least gets as much as can be; then the next, and so on.
    MaxMin,
    /// As many as can be get something, and the product of what they get is largest: what
    /// one gains in proportion is worth no more than what the others lose.
    Proportional,
    /// The largest sum of `1/n − 1/(n + s)` over the participants, where `n` is how many
    /// samples one has and `s` the benefits of all who reach it, in samples.
    Diminishing(&'a SampleCounts),
}

/// An objective by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ObjectiveKind {
    /// [`Objective::Welfare`].
    #[default]
    Welfare,
    /// [`Objective::MaxMin`].
    MaxMin,
    /// [`Objective::Proportional`].
    Proportional,
    /// [`Objective::Diminishing`].
    Diminishing,
}

impl ObjectiveKind {
    /// The objective, with what it needs.
    ///
    /// # Errors
    /// If it needs sample counts and there are none.
    pub fn with(self, samples: Option<&SampleCounts>) -> Result<Objective<'_>, SamplesMissing> {
        match self {
            Self::Welfare => Ok(Objective::Welfare),
            Self::MaxMin => Ok(Objective::MaxMin),
            Self::Proportional => Ok(Objective::Proportional),
            Self::Diminishing => samples.map(Objective::Diminishing).ok_or(SamplesMissing),
        }
    }
}

impl Entry for ObjectiveKind {
    fn name(&self) -> &'static str {
        match self {
            Self::Welfare => "welfare",
            Self::MaxMin => "max-min",
            Self::Proportional => "proportional",
            Self::Diminishing => "diminishing",
        }
    }

    fn help(&self) -> &'static str {
        match self {
            Self::Welfare => "The largest sum of benefits.",
            Self::MaxMin => {
                "Maximise the smallest benefit that a participant gets, then the next smallest, and so on."
            }
            Self::Proportional => {
                "Help as many participants as possible, then maximise the product of what they get."
            }
            Self::Diminishing => {
                "Maximise the sum of 1/n − 1/(n + s), where n is a participant's number of samples and s what it gets, in samples: the tenth helper brings less than the first."
            }
        }
    }
}

/// An objective was given to a policy that has its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("only the policy `optimal` has objectives other than welfare")]
pub struct ObjectiveNotServed;

impl ObjectiveKind {
    /// Checks that a policy makes plans by this objective.
    ///
    /// # Errors
    /// If the policy has an objective of its own, and this is not the default.
    pub fn check_served(self, policy: Choice<dyn Policy>) -> Result<(), ObjectiveNotServed> {
        if policy.searches() || self == Self::default() { Ok(()) } else { Err(ObjectiveNotServed) }
    }
}

impl Registry for ObjectiveKind {
    const KIND: &'static str = "objective";

    fn entries() -> &'static [&'static Self] {
        &[&Self::Welfare, &Self::MaxMin, &Self::Proportional, &Self::Diminishing]
    }
}
