//! The result of an audit.

use crate::{Content, Flow, Rule, Status};

/// The result of an audit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Audit {
    /// The status of the run, by its own record.
    pub status: Status,
    /// The rule that every replayed training was checked by: `paths`, or `messages` if any kept only that.
    pub rule: Rule,
    /// The number of trainings that were replayed.
    pub trainings: usize,
    /// The number of estimates that were replayed.
    pub estimates: usize,
    /// The number of transfers that were replayed.
    pub transfers: usize,
    /// The number of model files that were checked.
    pub models: usize,
    /// What is wrong; empty if nothing is.
    pub findings: Vec<Finding>,
    /// Information that joins competitors outside the ledger.
    pub uncovered: Vec<Uncovered>,
    /// Methods that are for reference only and were not replayed.
    pub references: Vec<String>,
}

/// Information of a method that joins competitors outside the ledger.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Uncovered {
    /// The method.
    pub method: String,
    /// What flows.
    pub flow: Flow,
    /// The competitors that it joins, by name.
    pub pairs: Vec<(String, String)>,
}

/// Something that is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Finding {
    /// A participant's data reached a competitor.
    Breach {
        /// Method and session.
        training: String,
        /// The round.
        round: u64,
        /// The ledger's entry.
        entry: u64,
        /// The names on the way, from the owner of the data to its competitor.
        path: Vec<String>,
    },
    /// The record contradicts itself or a model file.
    Flaw {
        /// Method and session; empty for the run itself.
        training: String,
        /// The contradiction.
        flaw: Flaw,
    },
    /// The guard stopped a training or an estimate, and no resumed run got past that.
    Stopped {
        /// Method and session.
        training: String,
        /// The guard's message.
        message: String,
    },
}

/// A contradiction in the record of a run. Participants are given by name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Flaw {
    /// The competitions are not those of the start with what was declared since.
    OtherCompetitions,
    /// A participant that only the federation file has.
    OnlyInFile(String),
    /// A participant that the federation file does not have.
    NotInFile(String),
    /// Two compete by the federation file alone, or by the record alone.
    OneSided {
        /// One of the two.
        a: String,
        /// The other.
        b: String,
        /// Whether it is the federation file that says so.
        by_file: bool,
    },
    /// This method kept only the rule `messages`, and the federation file says `paths`.
    OtherRule(String),
    /// A training is not complete, but the run has another status than running.
    Incomplete(Status),
    /// The record was changed after it was written.
    Altered,
    /// The plan of a round cannot be read.
    UnreadablePlan(u64),
    /// A plan connects a participant with its competitor.
    PlanConnects(String, String),
    /// The pairs that a flow outside the ledger connects cannot be read.
    UnreadableFlow,
    /// The ledger has another number of entries than when it was last written.
    EntriesLost {
        /// The entries that are there.
        found: u64,
        /// The entries that were written.
        written: u64,
    },
    /// After an entry comes one that is not the next.
    EntriesSkipped {
        /// The last entry in order.
        last: u64,
        /// The entry that follows.
        next: u64,
    },
    /// An entry of the ledger contradicts the others.
    Entry(u64, EntryFlaw),
    /// The model of a participant contradicts the ledger or its file.
    Model(String, ModelFlaw),
}

/// What is wrong with an entry of a ledger.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EntryFlaw {
    /// It cannot be read.
    Unreadable,
    /// Its round is earlier than that of the entry before.
    EarlierRound,
    /// It is not between a participant and the coordinator.
    NoEnds,
    /// The sender is not a participant.
    UnknownSender,
    /// What this sender has sent is said to carry data that it cannot carry, or not its own.
    Carried(String),
    /// It is a summary or a trunk, and this sender had received something before it was sent.
    CommittedLate(String),
    /// It has so many bytes and is made of nothing.
    MadeOfNothing(u64),
    /// It is made of an entry that was not sent before.
    MadeOfUnsent(u64),
    /// Its content differs from that of an entry that it is made of.
    OtherContent {
        /// Its content.
        content: Content,
        /// The content of the other entry.
        of: Content,
    },
    /// It is said to carry other data than its parts.
    OtherData,
}

/// What is wrong with a participant's model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ModelFlaw {
    /// Whose data it carries cannot be read.
    UnreadableProvenance,
    /// It is said to carry the data of this competitor.
    CarriesCompetitor(String),
    /// It is said to carry data that was never delivered to the participant.
    CarriesUndelivered,
    /// Its file cannot be read, for this reason.
    Unreadable(String),
    /// This file is not the one that was trained.
    OtherFile(String),
}
