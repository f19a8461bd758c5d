//! A script of simulated faults: participants that drop out, come late or send garbage.

use fedcompetitors_record::IncidentKind;

/// The garbage that a participant sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Garbage {
    /// NaN.
    Nan,
    /// One value too few.
    WrongLength,
    /// A change a thousand times too large.
    Huge,
}

/// The fault of a participant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FaultKind {
    /// It is missing: rounds continue without it after the deadline.
    Missing,
    /// It is present and sends garbage.
    Sends(Garbage),
}

/// A fault of one participant for some rounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fault {
    /// The participant.
    pub participant: usize,
    /// The fault.
    pub kind: FaultKind,
    /// The first round, counted from 1.
    pub first: usize,
    /// The last round.
    pub last: usize,
}

/// A script of faults.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Faults(pub Vec<Fault>);

/// The faults of one round.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Played {
    /// Those who are missing, in order.
    pub absent: Vec<usize>,
    /// Those who send garbage, in order, each with the first kind that the script has for the round.
    pub garbage: Vec<(usize, Garbage)>,
}

impl Faults {
    /// What happens in a round, counted from 1.
    pub fn of_round(&self, round: usize) -> Played {
        let mut played = Played::default();
        for fault in self.0.iter().filter(|fault| (fault.first..=fault.last).contains(&round)) {
            match fault.kind {
                FaultKind::Missing => played.absent.push(fault.participant),
                FaultKind::Sends(garbage) => played.garbage.push((fault.participant, garbage)),
            }
        }
        played.absent.sort_unstable();
        played.absent.dedup();
        played.garbage.sort_by_key(|(participant, _)| *participant);
        played.garbage.dedup_by_key(|(participant, _)| *participant);
        played
    }
}

impl Garbage {
    /// What is noted where it is refused.
    pub fn incident(self) -> IncidentKind {
        match self {
            Self::Nan => IncidentKind::NotFinite,
            Self::WrongLength => IncidentKind::WrongLength,
            Self::Huge => IncidentKind::TooLarge,
        }
    }
}
