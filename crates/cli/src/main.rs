//! The program `fedcompetitors`.
//!
//! Data goes to standard output, everything else to standard error. How a call can end
//! is decided here, in [`Outcome`] and [`Failure`], and nowhere else.

#![forbid(unsafe_code)]

mod arguments;
mod commands;
mod interrupt;
mod output;
mod serve;

use std::{io, net::SocketAddr, process::ExitCode};

use clap::Parser;
use fedcompetitors_experiments::ExperimentError;
use fedcompetitors_federate::FederateError;
use fedcompetitors_files::{EicuProblem, FileError, Problem};
use fedcompetitors_runs::{Advice, RunError};

use crate::{
    arguments::{Arguments, Command},
    output::tell,
};

/// How a call ended that did its work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    /// Done: exit status 0.
    Done,
    /// Done, and something was found that somebody must look at: exit status 1.
    Finding,
}

/// Why a call could not do its work. Bad usage, exit status 2, is told by the parser of
/// the command line.
#[derive(Debug)]
enum Failure {
    /// A file is wrong (exit status 3) or out of reach (exit status 4); sometimes the
    /// command knows better than the reader what to do about it.
    File { error: Box<FileError>, hint: Option<String> },
    /// A name on the command line is unknown: exit status 2.
    Name(fedcompetitors_graphs::GraphError),
    /// What was asked for makes no sense: exit status 2.
    Usage { error: String, hint: String },
    /// Participants cannot learn: exit status 3.
    Learning(FederateError),
    /// A file that was fetched is not the one that it should be: exit status 3.
    Damaged { error: String, hint: String },
    /// A file cannot be fetched: exit status 4.
    Network { error: String, hint: String },
    /// A run cannot begin, go on or be read: exit status 3, or 4 where something is out of
    /// reach.
    Run(Box<RunError>),
    /// An address cannot be listened on: exit status 4.
    Listen { address: SocketAddr, error: io::Error },
    /// Standard output cannot be written to: exit status 4.
    Output(io::Error),
}

impl Failure {
    fn status(&self) -> u8 {
        match self {
            Self::File { error, .. } => file_status(error),
            Self::Run(error) => match &**error {
                RunError::File(error) => file_status(error),
                RunError::Busy { .. } | RunError::Exists { .. } | RunError::NoRun { .. } => 2,
                RunError::Store { .. } | RunError::DataFile { .. } => 4,
                _ => 3,
            },
            Self::Name(_) | Self::Usage { .. } => 2,
            Self::Learning(_) | Self::Damaged { .. } => 3,
            Self::Network { .. } | Self::Listen { .. } | Self::Output(_) => 4,
        }
    }

    fn report(&self) {
        let (error, hint) = match self {
            Self::File { error, hint } => {
                (error.to_string(), hint.clone().unwrap_or_else(|| error.hint()))
            }
            Self::Name(error) => (error.to_string(), error.hint()),
            Self::Usage { error, hint }
            | Self::Damaged { error, hint }
            | Self::Network { error, hint } => (error.clone(), hint.clone()),
            Self::Learning(error) => (error.to_string(), error.hint().into()),
            Self::Run(error) => (error.to_string(), run_hint(error.advice())),
            Self::Listen { address, error } => (
                format!("cannot listen on {address}: {error}"),
                "choose another address with --listen; port 0 takes any free port".into(),
            ),
            Self::Output(error) => (
                format!("cannot write to standard output: {error}"),
                "check where the output is redirected to".into(),
            ),
        };
        tell(&format!("error: {error}\nhint: {hint}"));
    }
}

/// What can be done about an error of a run, by the options of this program.
fn run_hint(advice: Advice) -> String {
    let hint = match advice {
        Advice::Hint(hint) => return hint,
        Advice::FindData => {
            "data files are expected next to the federation file, or in the folder given with --data"
        }
        Advice::FreeSpace => {
            "free some space and continue with --resume; nothing that was saved is lost"
        }
        Advice::CheckFolder => {
            "check that the folder is writable and has space left, then continue with --resume"
        }
        Advice::Wait => "wait for it, or choose another folder with --out",
        Advice::Resume => "continue it with --resume, or choose another folder with --out",
        Advice::RestoreInput => "restore the original input, or choose another folder with --out",
        Advice::UseThatVersion => "continue with that version, or choose another folder with --out",
    };
    hint.into()
}

fn file_status(error: &FileError) -> u8 {
    match error.problem {
        Problem::Unreadable(_)
        | Problem::Unwritable(_)
        | Problem::Eicu(EicuProblem::NoTable { .. }) => 4,
        _ => 3,
    }
}

impl From<RunError> for Failure {
    fn from(error: RunError) -> Self {
        Self::Run(Box::new(error))
    }
}

impl From<FileError> for Failure {
    fn from(error: FileError) -> Self {
        Self::File { error: Box::new(error), hint: None }
    }
}

impl From<fedcompetitors_graphs::GraphError> for Failure {
    fn from(error: fedcompetitors_graphs::GraphError) -> Self {
        Self::Name(error)
    }
}

impl From<FederateError> for Failure {
    fn from(error: FederateError) -> Self {
        Self::Learning(error)
    }
}

impl From<ExperimentError> for Failure {
    fn from(error: ExperimentError) -> Self {
        match error {
            ExperimentError::Learning(error) => error.into(),
            ExperimentError::File(error) => error.into(),
        }
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Output(error)
    }
}

fn main() -> ExitCode {
    interrupt::listen();
    let result = match Arguments::parse().command {
        Command::Demo(arguments) => commands::demo(&arguments),
        Command::Run(arguments) => commands::run(&arguments),
        Command::Init(arguments) => commands::init(&arguments),
        Command::Check(arguments) => commands::check(&arguments),
        Command::Status(arguments) => commands::status(&arguments),
        Command::Metrics(arguments) => commands::metrics(&arguments),
        Command::Export(arguments) => commands::export(&arguments),
        Command::Audit(arguments) => commands::audit(&arguments),
        Command::Report(arguments) => commands::report::report(&arguments),
        Command::Serve(arguments) => serve::serve(&arguments),
        Command::Select(arguments) => commands::select(&arguments),
        Command::Compare(arguments) => commands::compare(&arguments),
        Command::Price(arguments) => commands::price(&arguments),
        Command::Join(arguments) => commands::join(&arguments),
        Command::Leave(arguments) => commands::leave(&arguments),
        Command::Declare(arguments) => commands::declare(&arguments),
        Command::Replan(arguments) => commands::replan(&arguments),
        Command::Verify(arguments) => commands::verify(&arguments),
        Command::Explain(arguments) => commands::explain(&arguments),
        Command::Reproduce(arguments) => commands::reproduce(&arguments),
        Command::List(arguments) => commands::list(&arguments),
        Command::Generate(arguments) => commands::generate(&arguments),
        Command::Data { command } => commands::data(&command),
        Command::Completions { shell } => commands::completions(shell),
        Command::Manual { out } => commands::manual(out.as_deref()),
    };
    match result {
        Ok(Outcome::Done) => ExitCode::SUCCESS,
        Ok(Outcome::Finding) => ExitCode::from(1),
        Err(failure) => {
            failure.report();
            ExitCode::from(failure.status())
        }
    }
}
