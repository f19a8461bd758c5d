//! The program `fedcompetitors`.
//!
//! Data goes to standard output, everything else to standard error. How a call can end
//! is decided here, in [`Outcome`] and [`Failure`], and nowhere else.

mod arguments;
mod commands;
mod output;

use std::{io, process::ExitCode};

use clap::Parser;
use fedcompetitors_files::{FileError, Problem};

use crate::arguments::{Arguments, Command};

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
    /// A file is wrong (exit status 3) or out of reach (exit status 4).
    File(FileError),
    /// A name on the command line is unknown: exit status 3.
    Name(fedcompetitors_graphs::GraphError),
    /// Standard output cannot be written to: exit status 4.
    Output(io::Error),
}

impl Failure {
    fn status(&self) -> u8 {
        match self {
            Self::File(error) => match error.problem {
                Problem::Unreadable(_) | Problem::Unwritable(_) => 4,
                _ => 3,
            },
            Self::Name(_) => 3,
            Self::Output(_) => 4,
        }
    }

    fn report(&self) {
        match self {
            Self::File(error) => eprintln!("error: {error}\nhint: {}", error.hint()),
            Self::Name(error) => eprintln!("error: {error}\nhint: {}", error.hint()),
            Self::Output(error) => {
                eprintln!(
                    "error: standard output cannot be written to: {error}\nhint: check where it goes"
                );
            }
        }
    }
}

impl From<FileError> for Failure {
    fn from(error: FileError) -> Self {
        Self::File(error)
    }
}

impl From<fedcompetitors_graphs::GraphError> for Failure {
    fn from(error: fedcompetitors_graphs::GraphError) -> Self {
        Self::Name(error)
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Output(error)
    }
}

fn main() -> ExitCode {
    let result = match Arguments::parse().command {
        Command::Select(arguments) => commands::select(&arguments),
        Command::Verify(arguments) => commands::verify(&arguments),
        Command::Explain(arguments) => commands::explain(&arguments),
        Command::Generate(arguments) => commands::generate(&arguments),
        Command::Completions { shell } => commands::completions(shell),
        Command::Manual { out } => commands::manual(out.as_deref()),
    };
    match result {
        Ok(Outcome::Done) => ExitCode::SUCCESS,
        Ok(Outcome::Finding) => ExitCode::from(1),
        // Whoever reads has seen enough: `fedcompetitors … | head` is no failure.
        Err(Failure::Output(error)) if error.kind() == io::ErrorKind::BrokenPipe => {
            ExitCode::SUCCESS
        }
        Err(failure) => {
            failure.report();
            ExitCode::from(failure.status())
        }
    }
}
