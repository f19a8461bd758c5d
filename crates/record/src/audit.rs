//! The result of an audit.

use crate::{Flow, Status};

/// The result of an audit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Audit {
    /// The status of the run, by its own record.
    pub status: Status,
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
        /// Method and seed.
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
        /// Method and seed; empty for the run itself.
        training: String,
        /// The contradiction, in words.
        what: String,
    },
    /// The guard stopped a training or an estimate, and no resumed run got past that.
    Stopped {
        /// Method and seed.
        training: String,
        /// The guard's message.
        message: String,
    },
}
