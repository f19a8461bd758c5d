//! Why a run cannot go on.

use std::{
    io,
    path::{Path, PathBuf},
};

use fedcompetitors_files::{FileError, Problem};
use fedcompetitors_graphs::shown;

use fedcompetitors_federate::FederateError;

/// Why a run cannot begin, go on, or be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// A file cannot be used.
    #[error(transparent)]
    File(Box<FileError>),
    /// A participant's data file is out of reach.
    #[error("participant \"{}\": {} cannot be read: {error}", shown(.participant), shown(&.path.display().to_string()))]
    DataFile {
        /// Whose.
        participant: String,
        /// Which.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// Participants cannot learn.
    #[error("{}{error}", of(.training.as_deref()))]
    Learning {
        /// In which training: method and seed.
        training: Option<String>,
        /// Why.
        error: FederateError,
    },
    /// Two participants' files have different columns.
    #[error("participant \"{}\" has a column \"{}\" that \"{}\" does not have", shown(.with), shown(.column), shown(.without))]
    Columns {
        /// Who has it.
        with: String,
        /// Who does not.
        without: String,
        /// The column.
        column: String,
    },
    /// The model has too many coefficients for an estimator or a trainer.
    #[error(
        "the {kind} `{name}` takes at most {most} coefficients where {}, and the model has {coefficients}{}",
        if *.folds > 1 { "rows are tested in folds" } else { "a part of the rows is held out for the test" },
        if *.outputs > 1 { format!(" ({} features for each of {outputs} classes)", coefficients / outputs) } else { String::new() }
    )]
    TooManyCoefficients {
        /// What it is.
        kind: &'static str,
        /// Its name.
        name: String,
        /// The most coefficients.
        most: usize,
        /// Features times outputs.
        coefficients: usize,
        /// The outputs.
        outputs: usize,
        /// The number of folds; 1 for a part that is held out.
        folds: u32,
        /// The most coefficients where a part is held out.
        held_out: usize,
        /// Whether columns of numbers have indicators of missing values, each with a coefficient.
        indicators: bool,
    },
    /// The database cannot be read or written.
    #[error("{}: {error}", shown(&.path.display().to_string()))]
    Store {
        /// Which.
        path: PathBuf,
        /// Why.
        error: Box<rusqlite::Error>,
    },
    /// The database or something that it speaks of is not as it was written.
    #[error("{}: {}", shown(&.path.display().to_string()), shown(.what))]
    Damaged {
        /// What is damaged.
        path: PathBuf,
        /// How.
        what: String,
    },
    /// The record has the format of another version of the program.
    #[error("{}: the record has format {found}{}; this program reads format {supported}", shown(&.path.display().to_string()), written_by(.program))]
    OtherFormat {
        /// Which.
        path: PathBuf,
        /// Its format.
        found: i32,
        /// The format that this program reads.
        supported: i32,
        /// The version that wrote it; empty where the record does not say.
        program: String,
    },
    /// Somebody else is at work there.
    #[error("another run is writing to {}", shown(&.folder.display().to_string()))]
    Busy {
        /// Where.
        folder: PathBuf,
    },
    /// There is a run already.
    #[error("{} already contains a run", shown(&.folder.display().to_string()))]
    Exists {
        /// Where.
        folder: PathBuf,
    },
    /// There is none.
    #[error("{} contains no run", shown(&.folder.display().to_string()))]
    NoRun {
        /// Where.
        folder: PathBuf,
    },
    /// What is to be gone on with has changed.
    #[error("the run in {} was started with {what}", shown(&.folder.display().to_string()))]
    Differs {
        /// Where.
        folder: PathBuf,
        /// With what else.
        what: String,
    },
    /// The ledger has no accepted message of this number.
    #[error("the ledger has no accepted message {entry}")]
    UnknownEntry {
        /// The number.
        entry: u64,
    },
    /// A call came before the one that it needs.
    #[error("`{call}` needs `{needed}` first")]
    OutOfOrder {
        /// The call.
        call: &'static str,
        /// What it needs.
        needed: &'static str,
    },
    /// What is to be gone on with was begun by another version of the program.
    #[error("the run in {} was started by {}, but this is {now}", shown(&.folder.display().to_string()), shown(.then))]
    Version {
        /// Where.
        folder: PathBuf,
        /// By which.
        then: String,
        /// Which one this is.
        now: String,
    },
}

/// What can be done about an error of a run. Front ends word it: their options have other names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Advice {
    /// The same words for every front end.
    Hint(String),
    /// Put the data files where they are expected.
    FindData,
    /// Free some space, then resume.
    FreeSpace,
    /// Check that the folder can be written to, then resume.
    CheckFolder,
    /// Wait for the other run, or choose another folder.
    Wait,
    /// Resume the run, or choose another folder.
    Resume,
    /// Restore the original input, or choose another folder.
    RestoreInput,
    /// Continue with the version that started the run, or choose another folder.
    UseThatVersion,
}

/// Could a file not be written because the disk is full?
fn is_full(error: &FileError) -> bool {
    matches!(&error.problem, Problem::Unwritable(error) if error.kind() == io::ErrorKind::StorageFull)
}

fn of(training: Option<&str>) -> String {
    training.map(|training| format!("{training}: ")).unwrap_or_default()
}

fn written_by(program: &str) -> String {
    if program.is_empty() {
        String::new()
    } else {
        format!(" and was written by {}", shown(program))
    }
}

impl RunError {
    pub(crate) fn unwritable(path: &Path, error: io::Error) -> Self {
        let problem = Problem::Unwritable(error);
        Self::File(Box::new(FileError { path: path.to_owned(), line: None, problem }))
    }

    /// What is wrong with a record, without its path, for whoever knows which one it is.
    pub fn what(&self) -> String {
        match self {
            Self::Damaged { what, .. } => what.clone(),
            Self::Store { error, .. } => error.to_string(),
            error => error.to_string(),
        }
    }

    /// What can be done about it.
    pub fn advice(&self) -> Advice {
        match self {
            Self::File(error) if is_full(error) => Advice::FreeSpace,
            Self::File(error) => Advice::Hint(error.hint()),
            Self::DataFile { .. } => Advice::FindData,
            Self::Learning { error, .. } => Advice::Hint(error.hint().into()),
            Self::Columns { .. } => Advice::Hint(
                "list the common columns in `features`, or the others in `ignore`".into(),
            ),
            Self::TooManyCoefficients { coefficients, folds, held_out, indicators, .. } => {
                let folds = if *folds > 1 && coefficients <= held_out {
                    "set `folds = 1` in `[evaluation]`; or "
                } else {
                    ""
                };
                let indicators = if *indicators {
                    "set `indicators = false` in `[data]`, which halves the coefficients of number columns; or "
                } else {
                    ""
                };
                Advice::Hint(format!(
                    "{folds}{indicators}list fewer columns in `features`; or set `trainer = \"mixing\"` and `estimator = \"mixture\"`; or give the model hidden layers, such as hidden = [32]"
                ))
            }
            Self::Store { error, .. } => match error.sqlite_error_code() {
                Some(rusqlite::ErrorCode::DiskFull) => Advice::FreeSpace,
                _ => Advice::CheckFolder,
            },
            Self::Damaged { .. } => Advice::Hint(
                "restore the folder from a backup, or start a new run in another folder".into(),
            ),
            Self::OtherFormat { .. } => Advice::Hint(
                "read it with the version of the program that wrote it, or start a new run in another folder".into(),
            ),
            Self::UnknownEntry { .. } => {
                Advice::Hint("give an entry that `collect` returned".into())
            }
            Self::OutOfOrder { needed, .. } => Advice::Hint(format!("call `{needed}` first")),
            Self::NoRun { .. } => {
                Advice::Hint("give a folder that `fedcompetitors run` has written".into())
            }
            Self::Busy { .. } => Advice::Wait,
            Self::Exists { .. } => Advice::Resume,
            Self::Differs { .. } => Advice::RestoreInput,
            Self::Version { .. } => Advice::UseThatVersion,
        }
    }
}

impl From<FileError> for RunError {
    fn from(error: FileError) -> Self {
        Self::File(Box::new(error))
    }
}

impl From<FederateError> for RunError {
    fn from(error: FederateError) -> Self {
        Self::Learning { training: None, error }
    }
}
