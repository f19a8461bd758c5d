//! The results of a run so far.

use serde::{Deserialize, Serialize};

use crate::{IncidentKind, Rule, named::named};

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
    /// The methods that were begun, the federation's own first.
    pub methods: Vec<Method>,
    /// The seeds that were begun.
    pub seeds: Vec<u64>,
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
            methods: Vec::new(),
            seeds: Vec::new(),
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

/// A training that was begun and is not finished.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unfinished {
    /// The method.
    pub method: String,
    /// The seed.
    pub seed: u64,
    /// The rounds that are saved.
    pub done: usize,
    /// All rounds.
    pub rounds: usize,
}

/// A training or estimate that the guard has stopped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stop {
    /// The seed.
    pub seed: u64,
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
    /// For each finished seed one cell for each participant.
    pub cells: Vec<(u64, Vec<Cell>)>,
    /// Gradients of each participant, estimate included, with the first seed.
    pub gradients: u64,
    /// The quality of its plan, for each seed that was begun.
    pub plans: Vec<(u64, PlanFigures)>,
    /// The edges of the plan with the first seed.
    pub edges: usize,
    /// Useful edges that the plan with the first seed does not have.
    pub refused: Vec<Refused>,
    /// What moved with the first seed.
    pub moved: Moved,
    /// Information that flows outside the ledger.
    pub flows: Vec<Flow>,
    /// Missing participants and refused messages, of all seeds.
    pub incidents: Vec<IncidentLine>,
    /// The seconds that all seeds took together.
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
}

/// A participant's model.
#[derive(Debug, Clone, PartialEq)]
pub struct Cell {
    /// The metric on the test data, where it is defined.
    pub test: Option<f64>,
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
    /// The seed.
    pub seed: u64,
    /// The participant.
    pub participant: usize,
    /// What went wrong.
    pub kind: IncidentKind,
    /// The first round.
    pub first: usize,
    /// The last round.
    pub last: usize,
}
