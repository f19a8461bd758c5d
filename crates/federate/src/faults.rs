//! A script of simulated faults: participants that drop out, come late or send garbage.

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

impl Faults {
    fn of(&self, round: usize, participant: usize) -> impl Iterator<Item = FaultKind> + '_ {
        let hit = move |fault: &&Fault| {
            fault.participant == participant && (fault.first..=fault.last).contains(&round)
        };
        self.0.iter().filter(hit).map(|fault| fault.kind)
    }

    /// Whether a participant is missing in a round.
    pub fn is_missing(&self, round: usize, participant: usize) -> bool {
        self.of(round, participant).any(|kind| kind == FaultKind::Missing)
    }

    /// The garbage that a participant sends in a round.
    pub fn garbage(&self, round: usize, participant: usize) -> Option<Garbage> {
        self.of(round, participant).find_map(|kind| match kind {
            FaultKind::Sends(garbage) => Some(garbage),
            FaultKind::Missing => None,
        })
    }
}
