//! Participants that drop out, come late or send garbage, by a script: what a federation
//! must live with, in simulation.

/// What garbage a participant sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Garbage {
    /// Numbers that are none.
    Nan,
    /// One number too few.
    WrongLength,
    /// A change a thousand times too large.
    Huge,
}

/// What is wrong with a participant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FaultKind {
    /// It is not there: rounds go on without it once the deadline has passed.
    Missing,
    /// It is there and sends garbage.
    Sends(Garbage),
}

/// Something wrong with one participant for some rounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fault {
    /// Who.
    pub participant: usize,
    /// What.
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

    /// Is a participant away in a round?
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
