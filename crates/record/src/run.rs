//! A whole run at one moment, for a page.

use std::collections::BTreeMap;

use crate::{IncidentKind, Summary};

/// A run as its store has it at one moment.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Record {
    /// The results so far; without methods, where those cannot be read.
    pub summary: Summary,
    /// The version of the program that began the run.
    pub program: String,
    /// Who competes, the lower number first, and the first round for which that was known.
    pub competing: Vec<(usize, usize, u64)>,
    /// Who declared whom a competitor.
    pub reports: Vec<(usize, usize)>,
    /// Benefits by the estimate of the first training: helper, helped, value.
    pub benefit: Vec<(usize, usize, f64)>,
    /// How probable it is that the helper's task is that of the helped, by helper and helped, where the
    /// estimate asked that. Benefits are then numbers of rows.
    pub related: BTreeMap<(usize, usize), f64>,
    /// The plan of the first training: helper, helped.
    pub usage: Vec<(usize, usize)>,
    /// The certificate of that plan, as the text of its file; empty if there is none.
    pub certificate: String,
    /// The plans of the first training in order, where they could change.
    pub plans: Vec<PlanStep>,
    /// Validation figures of the first method and of Local, round by round.
    pub curves: Vec<Curve>,
    /// What moved in estimates and trainings, all sessions together.
    pub ledger: Vec<LedgerLine>,
    /// For each kind of incident, how often it was noted, and of how many participants.
    pub incidents: Vec<(IncidentKind, usize, usize)>,
    /// Errors in reading the record; empty if all of it could be read.
    pub problems: Vec<String>,
}

/// A plan that a training follows from a round on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanStep {
    /// The first round that follows it.
    pub round: u64,
    /// Why there is a new plan.
    pub why: String,
    /// Its edges: helper, helped.
    pub usage: Vec<(usize, usize)>,
}

/// A participant's validation figures, mean over the sessions.
#[derive(Debug, Clone, PartialEq)]
pub struct Curve {
    /// The method.
    pub method: String,
    /// The participant.
    pub participant: usize,
    /// Round and figure.
    pub points: Vec<(u64, f64)>,
}

/// What moved in all estimates of an estimator, or in all trainings of a method.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LedgerLine {
    /// The name of the estimator or method.
    pub of: String,
    /// Whether it is an estimator.
    pub is_estimate: bool,
    /// Transfers to the coordinator, and their bytes.
    pub sent: (u64, u64),
    /// Deliveries to participants, and their bytes.
    pub delivered: (u64, u64),
}
