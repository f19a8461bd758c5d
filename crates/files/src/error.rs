//! What can be wrong with a file, and what to do about it.

use std::{
    fmt, io,
    path::{Path, PathBuf},
};

use fedcompetitors_graphs::{GraphError, shown};
use fedcompetitors_select::SampleCountsError;

use crate::{CatalogueProblem, Cifar10Problem, DataProblem, EicuProblem, FederationProblem};

/// A file that cannot be used: which one, where, why.
#[derive(Debug)]
pub struct FileError {
    /// The file as the user named it.
    pub path: PathBuf,
    /// The line, counted from 1, where one line is to blame.
    pub line: Option<u64>,
    /// What is wrong.
    pub problem: Problem,
}

/// What can be wrong with a file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// It cannot be opened or read.
    #[error("cannot be read: {0}")]
    Unreadable(io::Error),
    /// It cannot be written.
    #[error("cannot be written: {0}")]
    Unwritable(io::Error),
    /// It is not UTF-8 text.
    #[error("not UTF-8 text")]
    NotUtf8,
    /// There is nothing in it.
    #[error("the file is empty")]
    Empty,
    /// A quote is opened and never closed.
    #[error("a double quote is opened and never closed")]
    OpenQuote,
    /// Its first line is not the header that it should be.
    #[error("the header is `{}` instead of `{expected}`", shown(.found))]
    Header {
        /// The first line.
        found: String,
        /// What it should be.
        expected: &'static str,
    },
    /// A record has too few or too many fields.
    #[error("{found} {} instead of {expected}", if *found == 1 { "field" } else { "fields" })]
    Fields {
        /// How many there are.
        found: usize,
        /// How many there should be.
        expected: usize,
    },
    /// A benefit is not a number.
    #[error("the benefit from \"{}\" to \"{}\" is not a number: `{}`", shown(.from), shown(.to), shown(.text))]
    NotANumber {
        /// The helper.
        from: String,
        /// The helped.
        to: String,
        /// What is written.
        text: String,
    },
    /// A number of samples is not a number.
    #[error("the sample count of \"{}\" is not a number: `{}`", shown(.participant), shown(.text))]
    NotACount {
        /// Whose samples.
        participant: String,
        /// What is written.
        text: String,
    },
    /// A repeat, row or fold is not a whole number from 1 on, or is too large.
    #[error("the {what} of \"{}\" is not a whole number from 1 on, or is too large: `{}`", shown(.participant), shown(.text))]
    NotAPlace {
        /// Whose row.
        participant: String,
        /// What it should be.
        what: &'static str,
        /// What is written.
        text: String,
    },
    /// A participant has no row with this number.
    #[error("\"{}\" has no row {row}", shown(.participant))]
    NoSuchRow {
        /// The participant.
        participant: String,
        /// The number.
        row: u32,
    },
    /// A row has two folds in one repeat.
    #[error("row {row} of \"{}\" has a second fold in repeat {repeat}", shown(.participant))]
    DoubledRow {
        /// The participant.
        participant: String,
        /// The number of the row.
        row: u32,
        /// The repeat.
        repeat: u32,
    },
    /// Repeats are not numbered 1, 2, ….
    #[error("no row has a fold in repeat {repeat}, but rows have one in a later repeat")]
    NoRepeat {
        /// The missing repeat.
        repeat: u32,
    },
    /// A participant has no number of samples.
    #[error("there is no sample count for \"{}\"", shown(.participant))]
    NoCount {
        /// Whose samples.
        participant: String,
    },
    /// A number of samples cannot be.
    #[error(transparent)]
    Samples(#[from] SampleCountsError),
    /// A participant or an edge is wrong.
    #[error(transparent)]
    Graph(#[from] GraphError),
    /// A participant's entry names somebody who cannot be meant.
    #[error("participant \"{}\": {error}", shown(.participant))]
    OfParticipant {
        /// Whose entry it is.
        participant: String,
        /// What is wrong.
        error: Box<GraphError>,
    },
    /// A federation file does not make sense.
    #[error(transparent)]
    Federation(Box<FederationProblem>),
    /// The files name no participant at all.
    #[error("names no participant")]
    NoParticipants,
    /// More participants than can be handled.
    #[error("{count} participants are more than {most}")]
    TooMany {
        /// How many there are.
        count: usize,
        /// How many there may be.
        most: usize,
    },
    /// The graphs of so many participants don't fit into memory.
    #[error("the graphs of {count} participants need {} MB of memory, more than is available", .bytes / 1_000_000)]
    TooLittleMemory {
        /// How many participants there are.
        count: usize,
        /// How much memory their graphs take.
        bytes: usize,
    },
    /// A matrix is not for this many participants.
    #[error("the matrix is {matrix} × {matrix}, but there are {participants} participants")]
    OtherSize {
        /// Rows of the matrix.
        matrix: usize,
        /// How many participants there are.
        participants: usize,
    },
    /// A file that should be an `.npy` matrix is not one that can be used.
    #[error("is not a usable .npy matrix: {0}")]
    Npy(NpyProblem),
    /// A matrix of competition holds something other than 0 and 1.
    #[error("the entry for \"{}\" and \"{}\" is {value} instead of 0 or 1", shown(.a), shown(.b))]
    NotABit {
        /// Who reports.
        a: String,
        /// On whom.
        b: String,
        /// The entry.
        value: f64,
    },
    /// It is not JSON of the expected form.
    #[error("{}", shown(.0))]
    Json(String),
    /// It is JSON of another format or version.
    #[error("the format is \"{}\" instead of \"{expected}\"", shown(.found))]
    Format {
        /// What the file says.
        found: String,
        /// What it should say.
        expected: &'static str,
    },
    /// A certificate has no set for a participant, or two.
    #[error("{count} sets for the participant \"{}\" instead of one", shown(.name))]
    Sets {
        /// The participant.
        name: String,
        /// How many sets it has.
        count: usize,
    },
    /// A catalogue names something that cannot be fetched.
    #[error(transparent)]
    Catalogue(#[from] CatalogueProblem),
    /// Not a file of CIFAR-10.
    #[error(transparent)]
    Cifar10(#[from] Cifar10Problem),
    /// The tables of eICU cannot be used.
    #[error(transparent)]
    Eicu(#[from] EicuProblem),
    /// A participant's data cannot be used.
    #[error("{}{problem}", of_participant(.participant.as_deref()))]
    Data {
        /// Whose data, where that is known.
        participant: Option<String>,
        /// What is wrong with them.
        problem: Box<DataProblem>,
    },
}

fn of_participant(participant: Option<&str>) -> String {
    participant.map(|name| format!("participant \"{}\": ", shown(name))).unwrap_or_default()
}

/// Why an `.npy` file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum NpyProblem {
    /// It does not begin as `.npy` files do.
    #[error("it does not start with the magic bytes of NumPy")]
    Magic,
    /// A version after 3.
    #[error("its format version is {0}")]
    Version(u8),
    /// The header is not a Python dictionary with the three keys.
    #[error("its header cannot be understood")]
    Header,
    /// Not a square matrix.
    #[error("its shape is {0} instead of n × n")]
    Shape(String),
    /// Not one of the types that are read.
    #[error("its entries are of type {}", shown(.0))]
    Type(String),
    /// The file ends too early.
    #[error("it ends after {found} of {expected} bytes of entries")]
    Short {
        /// The bytes that are there.
        found: u64,
        /// The bytes that should be.
        expected: u64,
    },
    /// The file goes on after the last entry.
    #[error("there is data after its last entry")]
    Long,
}

impl From<FederationProblem> for Problem {
    fn from(problem: FederationProblem) -> Self {
        Self::Federation(Box::new(problem))
    }
}

impl FileError {
    pub(crate) fn new(path: &Path, problem: impl Into<Problem>) -> Self {
        Self { path: path.to_owned(), line: None, problem: problem.into() }
    }

    pub(crate) fn at_line(path: &Path, line: u64, problem: impl Into<Problem>) -> Self {
        Self { path: path.to_owned(), line: Some(line), problem: problem.into() }
    }

    /// What the user can do about it.
    pub fn hint(&self) -> String {
        match &self.problem {
            Problem::Unreadable(error) if error.kind() == io::ErrorKind::NotFound => {
                "check the path; it is relative to the current folder".into()
            }
            Problem::Unreadable(_) => "check that it is a file and that you may read it".into(),
            Problem::Unwritable(_) => {
                "check that the folder exists, is writable and has space left".into()
            }
            Problem::NotUtf8 => "save the file as UTF-8".into(),
            Problem::Empty => "check that it is the right file and complete".into(),
            Problem::OpenQuote => {
                "put a name that contains a double quote in double quotes, and double each quote in it".into()
            }
            Problem::Header { found, .. } if found.contains('\t') => {
                "separate the columns with commas, not tabs".into()
            }
            Problem::Header { found, expected: "a,b" | "from,to,benefit" }
                if found == "a,b" || found == "from,to,benefit" =>
            {
                "the competing and the benefit file seem to be swapped".into()
            }
            Problem::Header { found, expected: "from,to,benefit" }
                if found.starts_with("session,estimator,from,to,benefit") =>
            {
                "use `benefits.csv` of `fedcompetitors export`, which has the benefits of the run's own plan".into()
            }
            Problem::Header { found, .. } if found.contains(';') => {
                "separate the columns with commas, not semicolons".into()
            }
            Problem::Header { expected, .. } => format!("make `{expected}` the first line"),
            Problem::Fields { .. } => {
                "put a name that contains a comma, a quote or a line break in double quotes; write numbers with a decimal point".into()
            }
            Problem::NotANumber { .. } => "write a number with a decimal point, such as 0.25".into(),
            Problem::NotACount { .. } => "write a number above 0, such as 120".into(),
            Problem::NotAPlace { .. } => "repeats, rows and folds are counted from 1, repeats and folds up to 1000".into(),
            Problem::NoSuchRow { .. } => {
                "rows are counted from 1 below the header of the data file; leave out those of other participants and those without a target".into()
            }
            Problem::DoubledRow { .. } => "keep one line for each row and repeat".into(),
            Problem::NoRepeat { .. } => "number the repeats 1, 2, 3, …".into(),
            Problem::NoCount { participant } => format!(
                "add a line for it, such as `{},120`: the file needs one for each participant",
                shown(participant)
            ),
            Problem::Samples(error) => error.hint(),
            Problem::Graph(error) => error.hint(),
            Problem::OfParticipant { error, .. } => error.hint(),
            Problem::Federation(problem) => problem.hint(),
            Problem::NoParticipants => {
                "a federation needs participants: name them in the benefit file, the competing file or a list"
                    .into()
            }
            Problem::TooMany { .. } | Problem::TooLittleMemory { .. } => {
                "the graphs need one bit for every ordered pair; split the federation".into()
            }
            Problem::OtherSize { .. } => {
                "a matrix needs one row and one column for each participant, in the listed order".into()
            }
            Problem::Npy(NpyProblem::Type(_)) => {
                "save it as float64, float32, uint8 or bool: numpy.save(path, matrix.astype(numpy.float64))".into()
            }
            Problem::Npy(_) => "write it with numpy.save, an n × n array".into(),
            Problem::NotABit { .. } => "1 says that the row competes with the column, 0 that it does not".into(),
            Problem::Json(_) => "the file must have the form that `fedcompetitors` writes; write it again if it is cut off".into(),
            Problem::Format { expected, .. } => {
                format!("this program reads \"{expected}\"; write the file again with it")
            }
            Problem::Sets { .. } => "a certificate contains one set for each participant of the plan".into(),
            Problem::Data { problem, .. } => problem.hint(),
            Problem::Catalogue(problem) => problem.hint().into(),
            Problem::Cifar10(problem) => problem.hint(),
            Problem::Eicu(problem) => problem.hint(),
        }
    }
}

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", shown(&self.path.display().to_string()))?;
        if let Some(line) = self.line {
            write!(f, ", line {line}")?;
        }
        write!(f, ": {}", self.problem)
    }
}

impl std::error::Error for FileError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        // The message already tells the problem.
        match &self.problem {
            Problem::Graph(error) => error.source(),
            _ => None,
        }
    }
}
