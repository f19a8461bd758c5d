//! The results of a run so far.

use serde::{Deserialize, Serialize};

use crate::{Disclosure, IncidentKind, Rule, Scores, Session, named::named};

named! {
    /// The status of a run.
    pub enum Status {
        /// Not at its end: a process works on it, or it was interrupted.
        Running = "running",
        /// At its end.
        Complete = "complete",
        /// At its end; participants were missing or sent garbage.
        WithIncidents = "complete with incidents",
        /// The guard has stopped a training or an estimate.
        Stopped = "stopped by the guard",
    }
}

named! {
    /// The role of a method in a comparison.
    pub enum Role {
        /// The method that the federation file chooses.
        Own = "own",
        /// A method to compare with.
        Baseline = "baseline",
        /// A method that breaks the rule, for comparison only.
        Reference = "reference",
    }
}

named! {
    /// The part of a method that moves information outside the ledger of transfers.
    pub enum FlowSource {
        /// The method itself: one model is trained on the data of all participants.
        Method = "method",
        /// The common scaling of numbers.
        Scaling = "scaling",
        /// The estimate of benefits.
        Estimator = "estimator",
        /// Weights in mixtures that follow from the estimate.
        Weights = "weights",
        /// The training.
        Trainer = "trainer",
    }
}

named! {
    /// Whether more or less of a metric is better.
    pub enum Direction {
        /// More is better.
        Higher = "higher",
        /// Less is better.
        Lower = "lower",
    }
}

/// The figure that a run reports.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Metric {
    /// Its name, as tables show it.
    pub name: String,
    /// Which way is better.
    pub direction: Direction,
}

impl Default for Metric {
    fn default() -> Self {
        Self { name: String::new(), direction: Direction::Higher }
    }
}

/// Which rows are tested together.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum TestedRows {
    /// Each row may be in any fold.
    #[default]
    Single,
    /// Rows with the same value in this column are in one fold, and intervals are by these groups.
    Groups(String),
    /// Rows are tested by models of rows that are earlier by this column.
    Later(String),
}

/// The results of a run so far.
#[derive(Debug, Clone, PartialEq)]
pub struct Summary {
    /// The name of the federation.
    pub name: String,
    /// The status of the run.
    pub status: Status,
    /// The figure that is reported.
    pub metric: Metric,
    /// The federation file, with every default written out.
    pub federation: String,
    /// The participants.
    pub participants: Vec<Participant>,
    /// The features of the models, in order; empty where they have no names.
    pub features: Vec<String>,
    /// The methods that were begun, the federation's own first.
    pub methods: Vec<Method>,
    /// The sessions that were begun.
    pub sessions: Vec<Session>,
    /// Which rows are tested together.
    pub tested_rows: TestedRows,
    /// The figures of a constant prediction, once all sessions are done.
    pub constant: Vec<Scores>,
    /// How sure differences between the means of methods are, once all sessions are done.
    pub standard_errors: Vec<StandardError>,
    /// The training that is not finished yet.
    pub unfinished: Option<Unfinished>,
    /// What the guard has stopped.
    pub stops: Vec<Stop>,
}

impl Default for Summary {
    fn default() -> Self {
        Self {
            name: String::new(),
            status: Status::Running,
            metric: Metric::default(),
            federation: String::new(),
            participants: Vec::new(),
            features: Vec::new(),
            methods: Vec::new(),
            sessions: Vec::new(),
            tested_rows: TestedRows::default(),
            constant: Vec::new(),
            standard_errors: Vec::new(),
            unfinished: None,
            stops: Vec::new(),
        }
    }
}

impl Summary {
    /// The federation's own method, once it was begun.
    pub fn own(&self) -> Option<&Method> {
        self.methods.first()
    }

    /// The name of a participant.
    pub fn name_of(&self, participant: usize) -> &str {
        &self.participants[participant].name
    }
}

/// The standard error of the difference between the means of two methods, by the reported metric.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StandardError {
    /// The names of both; that of a constant prediction is `constant`.
    pub methods: [String; 2],
    /// It is estimated from the same bootstrap draws of rows for both.
    pub error: f64,
}

/// A training that was begun and is not finished.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unfinished {
    /// The method.
    pub method: String,
    /// The session.
    pub session: Session,
    /// The rounds that are saved.
    pub done: usize,
    /// All rounds.
    pub rounds: usize,
}

/// A training or estimate that the guard has stopped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stop {
    /// The session.
    pub session: Session,
    /// The name of the method, or of the estimate.
    pub method: String,
    /// The round; 0 before the first.
    pub round: usize,
    /// The guard's message.
    pub message: String,
}

/// A participant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Participant {
    /// Its name.
    pub name: String,
    /// Where its data comes from.
    pub source: String,
    /// The number of its samples.
    pub samples: usize,
    /// Whether a class has so few of them that figures say little.
    pub has_few_of_a_class: bool,
    /// Its competitors, by name.
    pub competitors: Vec<String>,
}

/// A method with its results.
#[derive(Debug, Clone, PartialEq)]
pub struct Method {
    /// Its name.
    pub name: String,
    /// Its role in the comparison.
    pub role: Role,
    /// The rule that its plans keep.
    pub rule: Rule,
    /// Whether every participant trains alone: what the other methods are compared with.
    pub is_local: bool,
    /// Whether its policy searches for the best plan, so that the bound shows how good a plan is.
    pub searches: bool,
    /// The policy that makes its plans.
    pub policy: String,
    /// The trainer.
    pub trainer: String,
    /// The estimator, where the policy needs benefits.
    pub estimator: Option<String>,
    /// The sessions that it has finished.
    pub done: Vec<Session>,
    /// The figures by each metric, the reported one first; intervals once all sessions are done.
    pub scores: Vec<Scores>,
    /// The final models, one for each participant; empty if there are none.
    pub models: Vec<Model>,
    /// What summaries of the final training reveal or leave out.
    pub disclosures: Vec<Disclosure>,
    /// Gradients of each participant, estimate included, in its first session.
    pub gradients: u64,
    /// The quality of its plan, for each session that was begun.
    pub plans: Vec<(Session, PlanFigures)>,
    /// The edges of the plan of its first session.
    pub edges: usize,
    /// Useful edges that this plan does not have.
    pub refused: Vec<Refused>,
    /// What moved in its first session, estimate included: that of the run's own method is the training with all
    /// rows, that of the others the first fold.
    pub moved: Moved,
    /// Information that flows outside the ledger.
    pub flows: Vec<Flow>,
    /// Missing participants and refused messages, of all sessions.
    pub incidents: Vec<IncidentLine>,
    /// The seconds that all sessions took together.
    pub seconds: f64,
}

/// Number and size of transfers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Moved {
    /// The number of transfers.
    pub transfers: u64,
    /// Their size.
    pub bytes: u64,
}

/// A useful edge that a plan does not have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// The participant that would have helped.
    pub helper: usize,
    /// The participant that would have been helped.
    pub helped: usize,
    /// The reason, as a sentence without its full stop.
    pub reason: String,
}

/// Information that flows outside the ledger of transfers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flow {
    /// Where it flows.
    pub source: FlowSource,
    /// What flows, as the method, estimator or trainer states it.
    pub statement: String,
    /// The competing pairs that it joins.
    pub pairs: Vec<(usize, usize)>,
}

/// The quality of a plan.
#[derive(Debug, Clone, PartialEq)]
pub struct PlanFigures {
    /// The sum of the benefits of its edges.
    pub welfare: f64,
    /// No plan that keeps the rule has a larger welfare.
    pub upper_bound: f64,
    /// How the plan was made, where there is more to know.
    pub note: Option<String>,
    /// What the estimate predicts under both rules, where both are possible.
    pub forecast: Option<Forecast>,
}

/// What a participant receives on average, by the estimate: the sum of the benefits of those that it learns
/// from.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Forecast {
    /// By the plan of the run.
    pub received: f64,
    /// By the plan that the other rule allows.
    pub by_other_rule: f64,
    /// Whether benefits are numbers of rows.
    pub are_rows: bool,
}

/// A participant's model.
#[derive(Debug, Clone, PartialEq)]
pub struct Model {
    /// The participants whose data it carries.
    pub provenance: Vec<usize>,
    /// The participants that it learned from, itself included, with their weights.
    pub parts: Vec<(usize, f32)>,
    /// Its file in the run directory, where it has one.
    pub file: Option<String>,
    /// The SHA-256 of its parameters.
    pub hash: String,
}

/// Equal incidents of a participant in consecutive rounds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IncidentLine {
    /// The session.
    pub session: Session,
    /// The participant.
    pub participant: usize,
    /// What went wrong.
    pub kind: IncidentKind,
    /// The first round.
    pub first: usize,
    /// The last round.
    pub last: usize,
}
