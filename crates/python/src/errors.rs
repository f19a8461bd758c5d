//! Each kind of error as an exception of its own, with its hint.

use fedcompetitors_federate::FederateError;
use fedcompetitors_files::{FileError, Problem};
use fedcompetitors_graphs::GraphError;
use fedcompetitors_runs::{Advice, RunError};
use fedcompetitors_select::ChangeError;
use pyo3::{call::PyCallArgs, prelude::*};

/// Where the exceptions are defined, in Python, so that they are typed and documented.
const MODULE: &str = "fedcompetitors.errors";

/// What went wrong, before it is an exception.
#[derive(Debug)]
pub struct Failure {
    kind: &'static str,
    message: String,
    hint: String,
}

impl Failure {
    /// An error of a kind, which is the name of its exception.
    pub fn new(kind: &'static str, message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { kind, message: message.into(), hint: hint.into() }
    }
}

impl From<Failure> for PyErr {
    fn from(failure: Failure) -> Self {
        let Failure { kind, message, hint } = failure;
        Python::attach(|py| exception(py, kind, (message, hint)))
    }
}

/// An exception of a kind.
pub fn exception<'py>(py: Python<'py>, kind: &str, arguments: impl PyCallArgs<'py>) -> PyErr {
    let made = py
        .import(MODULE)
        .and_then(|module| module.getattr(kind))
        .and_then(|class| class.call1(arguments));
    match made {
        Ok(made) => PyErr::from_value(made),
        Err(error) => error,
    }
}

impl From<GraphError> for Failure {
    fn from(error: GraphError) -> Self {
        Self::new(graph_kind(&error), error.to_string(), error.hint())
    }
}

impl From<ChangeError> for Failure {
    fn from(error: ChangeError) -> Self {
        let kind = match &error {
            ChangeError::Graph(error) => graph_kind(error),
            ChangeError::TakesPartAlready { .. } => "TakesPartAlready",
            ChangeError::HasLeftAlready { .. } => "HasLeftAlready",
            _ => BASE,
        };
        Self::new(kind, error.to_string(), error.hint())
    }
}

impl From<FileError> for Failure {
    fn from(error: FileError) -> Self {
        Self::new(file_kind(&error.problem), error.to_string(), error.hint())
    }
}

impl From<RunError> for Failure {
    fn from(error: RunError) -> Self {
        let kind = match &error {
            RunError::File(error) if matches!(error.problem, Problem::Unwritable(_)) => {
                "RunNotWritable"
            }
            RunError::File(error) => file_kind(&error.problem),
            RunError::Learning { error: FederateError::Guard { .. }, .. } => "GuardStopped",
            RunError::Damaged { .. } => "DamagedRun",
            RunError::OtherFormat { .. } => "OtherRunFormat",
            RunError::Busy { .. } => "RunBusy",
            RunError::Exists { .. } => "RunExists",
            RunError::NoRun { .. } => "NoRun",
            RunError::Differs { .. } | RunError::Version { .. } => "OtherRun",
            RunError::Store { .. } => "RunNotWritable",
            _ => BASE,
        };
        Self::new(kind, error.to_string(), run_hint(error.advice()))
    }
}

/// What can be done about an error of a run, by the arguments of this package.
fn run_hint(advice: Advice) -> String {
    let hint = match advice {
        Advice::Hint(hint) => return hint,
        Advice::FindData => "data files are expected next to the federation file",
        Advice::FreeSpace => {
            "free some space and continue with `resume=True`; nothing that was saved is lost"
        }
        Advice::CheckFolder => {
            "check that the folder is writable and has space left, then continue with `resume=True`"
        }
        Advice::Wait => "wait for it, or choose another `run_dir`",
        Advice::Resume => "continue it with `resume=True`, or choose another `run_dir`",
        Advice::RestoreInput => "restore the original input, or choose another `run_dir`",
        Advice::UseThatVersion => "continue with that version, or choose another `run_dir`",
    };
    hint.into()
}

/// The exception for whatever has no kind of its own yet.
const BASE: &str = "FedCompetitorsError";

fn graph_kind(error: &GraphError) -> &'static str {
    match error {
        GraphError::EmptyName => "EmptyName",
        GraphError::NameNotTrimmed { .. } => "NameNotTrimmed",
        GraphError::DoubledParticipant { .. } => "DoubledParticipant",
        GraphError::UnknownParticipant { .. } => "UnknownParticipant",
        GraphError::CompetesWithItself { .. } => "CompetesWithItself",
        GraphError::NegativeBenefit { .. } => "NegativeBenefit",
        GraphError::NotFiniteBenefit { .. } => "NotFiniteBenefit",
        GraphError::TooLargeBenefit { .. } => "TooLargeBenefit",
        GraphError::BenefitToItself { .. } => "BenefitToItself",
        GraphError::DoubledBenefit { .. } => "DoubledBenefit",
        GraphError::UsesItself { .. } => "UsesItself",
        GraphError::DoubledUsage { .. } => "DoubledUsage",
        _ => BASE,
    }
}

fn file_kind(problem: &Problem) -> &'static str {
    match problem {
        Problem::Unreadable(_) => "Unreadable",
        Problem::NotUtf8 => "NotUtf8",
        Problem::Empty => "EmptyFile",
        Problem::OpenQuote => "OpenQuote",
        Problem::Header { .. } => "WrongHeader",
        Problem::Fields { .. } => "WrongFields",
        Problem::NotANumber { .. } => "NotANumber",
        Problem::Graph(error) => graph_kind(error),
        Problem::OfParticipant { error, .. } => graph_kind(error),
        Problem::NoParticipants => "NoParticipants",
        Problem::TooMany { .. } => "TooManyParticipants",
        Problem::TooLittleMemory { .. } => "TooLittleMemory",
        Problem::OtherSize { .. } => "OtherSize",
        Problem::Npy(_) => "UnusableMatrix",
        Problem::NotABit { .. } => "NotABit",
        Problem::Json(_) => "NotJson",
        Problem::Format { .. } => "OtherFormat",
        Problem::Sets { .. } => "WrongSets",
        _ => BASE,
    }
}
