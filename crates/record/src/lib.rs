//! Plain types of a run, as people and auditors read it.
//!
//! Nothing is read from files here, and nothing computed but a [`Spread`]: `federate` makes transfers and
//! incidents, `runs` keeps and reads them, `audit` replays them, `report` puts them into words.
//! Participants are numbers, their places in [`Summary::participants`].

#![forbid(unsafe_code)]

mod audit;
mod disclosure;
mod history;
mod named;
mod rule;
mod run;
mod score;
mod session;
mod spread;
mod summary;
mod transfer;

pub use audit::{Audit, EntryFlaw, Finding, Flaw, ModelFlaw, Uncovered};
pub use disclosure::Disclosure;
pub use history::{
    Competition, Declared, EstimateHistory, FoundModel, Ledger, Line, ModelHistory, Origin,
    PlanHistory, TrainingHistory,
};
pub use named::UnknownName;
pub use rule::Rule;
pub use run::{Curve, LedgerLine, PlanStep, Record};
pub use score::{Figure, Interval, Score, Scores};
pub use session::Session;
pub use spread::Spread;
pub use summary::{
    Direction, Flow, FlowSource, Forecast, IncidentLine, Method, Metric, Model, Moved, Participant,
    PlanFigures, Refused, Role, StandardError, Status, Stop, Summary, TestedRows, Unfinished,
};
pub use transfer::{Content, Incident, IncidentKind, Transfer};
