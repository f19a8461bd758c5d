//! What an auditor reads: the record as it stands, believed in nothing.
//!
//! What cannot be read is `None`, and the audit says so.

use std::collections::{BTreeMap, BTreeSet};

use crate::{Content, Flow, Role, Rule, Status, Stop};

/// What the record says of the run itself.
#[derive(Debug, Clone, PartialEq)]
pub struct Origin {
    /// The status.
    pub status: Status,
    /// The participants by number.
    pub names: BTreeMap<usize, String>,
    /// Who declared whom a competitor.
    pub competitions: Vec<Competition>,
    /// Whether those are not the ones that the run was begun with or has heard since.
    pub is_other_competition: bool,
    /// What the guard has stopped.
    pub stops: Vec<Stop>,
    /// The trainings, by method and session, whose record was changed after it was written; an empty
    /// text stands for the run itself.
    pub altered: Vec<String>,
}

/// A declared competition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Competition {
    /// The participant that declared it.
    pub a: usize,
    /// The competitor.
    pub b: usize,
    /// The first round for which it was known.
    pub since: u64,
    /// The number of the declaration; 0 from the beginning.
    pub heard: u64,
}

/// The ledger of an estimate or a training.
#[derive(Debug, Clone, PartialEq)]
pub struct Ledger {
    /// Its lines in order.
    pub lines: Vec<Line>,
    /// The number of lines when it was last written.
    pub entries: u64,
}

/// A line of a ledger.
#[derive(Debug, Clone, PartialEq)]
pub struct Line {
    /// Its number, counted from 1.
    pub entry: u64,
    /// The round.
    pub round: u64,
    /// The sender; none for the coordinator.
    pub sender: Option<usize>,
    /// The receiver; none for the coordinator.
    pub receiver: Option<usize>,
    /// What was transferred.
    pub content: Option<Content>,
    /// The entries that it was computed from.
    pub made_of: Option<Vec<u64>>,
    /// The participants whose data it is said to carry.
    pub provenance: Option<BTreeSet<usize>>,
    /// Its size.
    pub bytes: u64,
}

/// The record of an estimate.
#[derive(Debug, Clone, PartialEq)]
pub struct EstimateHistory {
    /// Its name and session.
    pub title: String,
    /// The last declaration that had been heard when it began.
    pub known: u64,
    /// What moved.
    pub ledger: Ledger,
}

/// The record of a training.
#[derive(Debug, Clone, PartialEq)]
pub struct TrainingHistory {
    /// Method and session.
    pub title: String,
    /// The method.
    pub method: String,
    /// The role of the method.
    pub role: Role,
    /// The rule that its plans keep.
    pub rule: Rule,
    /// Whether it is finished.
    pub is_done: bool,
    /// The edges of its last plan: helper, helped.
    pub usage: Vec<(usize, usize)>,
    /// All of its plans, where they could change.
    pub plans: Vec<PlanHistory>,
    /// What moved.
    pub ledger: Ledger,
    /// The models.
    pub models: Vec<ModelHistory>,
    /// Information that flows outside the ledger; none where the pairs cannot be read.
    pub flows: Vec<Option<Flow>>,
}

/// A plan that a training followed from a round on.
#[derive(Debug, Clone, PartialEq)]
pub struct PlanHistory {
    /// The first round that followed it.
    pub round: u64,
    /// The last declaration that had been heard when it was made.
    pub known: u64,
    /// Its edges by name: helper, helped.
    pub usage: Option<Vec<(String, String)>>,
}

/// The record of a model, and the file that was found.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelHistory {
    /// The participant.
    pub participant: usize,
    /// The hash of its parameters, by the record.
    pub hash: String,
    /// The participants whose data it is said to carry.
    pub provenance: Option<BTreeSet<usize>>,
    /// The name of its file with what was found there, or why it cannot be read; none where the
    /// record names no file.
    pub file: Option<(String, Result<FoundModel, String>)>,
    /// The hash that the record has of all bytes of its file.
    pub file_hash: Option<String>,
}

/// A model's file as it was found.
#[derive(Debug, Clone, PartialEq)]
pub struct FoundModel {
    /// The hash of all of its bytes.
    pub file_hash: String,
    /// The hash of the parameters that are in it.
    pub hash: String,
    /// The hash that it states.
    pub stated_hash: String,
    /// The participant that it names.
    pub participant: String,
    /// The participants whose data it says it carries.
    pub provenance: BTreeSet<String>,
}

/// Who competes, by a federation file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Declared {
    /// The participants.
    pub names: Vec<String>,
    /// Who declared whom, by their places among the names.
    pub reports: Vec<(usize, usize)>,
}
