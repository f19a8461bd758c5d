//! Data files before anything is known of their columns.

use std::{
    collections::BTreeSet,
    io::{self, Read},
    path::Path,
};

use csv::ByteRecord;
use flate2::read::MultiGzDecoder;

use super::DataProblem;
use crate::{
    FileError, Problem,
    tables::{Records, peek},
};

/// How every gzip file and every Parquet file begins. A name may say anything.
const GZIP: &[u8] = &[0x1f, 0x8b];
const PARQUET: &[u8] = b"PAR1";

/// Where data come from, for errors.
#[derive(Clone, Copy)]
pub(crate) struct Origin<'p> {
    pub path: &'p Path,
    pub participant: Option<&'p str>,
}

impl Origin<'_> {
    pub fn wrong(self, line: Option<u64>, problem: DataProblem) -> FileError {
        let participant = self.participant.map(str::to_owned);
        let problem = Problem::Data { participant, problem: Box::new(problem) };
        FileError { path: self.path.to_owned(), line, problem }
    }
}

/// The records of a data file, unpacked if need be.
pub(crate) struct DataRecords<'p> {
    origin: Origin<'p>,
    compressed: bool,
    records: Records<'p, Box<dyn Read + 'p>>,
}

impl<'p> DataRecords<'p> {
    pub fn new(origin: Origin<'p>, source: impl Read + 'p) -> Result<Self, FileError> {
        let (start, source) = peek(origin.path, source, PARQUET.len())?;
        let (compressed, parquet) = (start.starts_with(GZIP), start == PARQUET);
        let whole = io::Cursor::new(start).chain(source);
        let source: Box<dyn Read + 'p> = if compressed {
            Box::new(MultiGzDecoder::new(whole))
        } else if parquet {
            Box::new(io::Cursor::new(from_parquet(origin, whole)?))
        } else {
            Box::new(whole)
        };
        let records = Records::new(origin.path, source)
            .map_err(|error| unpacked(origin, compressed, error))?;
        Ok(Self { origin, compressed, records })
    }

    pub fn next(&mut self) -> Result<Option<(u64, &ByteRecord)>, FileError> {
        let (origin, compressed) = (self.origin, self.compressed);
        self.records.next().map_err(|error| unpacked(origin, compressed, error))
    }
}

/// The rows of a Parquet file as CSV.
#[cfg(feature = "parquet")]
fn from_parquet(origin: Origin<'_>, mut source: impl Read) -> Result<Vec<u8>, FileError> {
    let mut file = Vec::new();
    source
        .read_to_end(&mut file)
        .map_err(|error| FileError::new(origin.path, Problem::Unreadable(error)))?;
    super::parquet::as_csv(file).map_err(|problem| origin.wrong(None, problem))
}

#[cfg(not(feature = "parquet"))]
fn from_parquet(origin: Origin<'_>, _: impl Read) -> Result<Vec<u8>, FileError> {
    Err(origin.wrong(None, DataProblem::Parquet))
}

/// What went wrong in unpacking is told as such: the file could be read.
fn unpacked(origin: Origin<'_>, compressed: bool, error: FileError) -> FileError {
    match error.problem {
        Problem::Unreadable(error) if compressed => match error.kind() {
            io::ErrorKind::UnexpectedEof => origin.wrong(None, DataProblem::CutShort),
            io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData => {
                origin.wrong(None, DataProblem::Damaged(error))
            }
            _ => FileError::new(origin.path, Problem::Unreadable(error)),
        },
        _ => error,
    }
}

/// A value without the white space around it.
pub(super) fn text<'r>(
    record: &'r ByteRecord,
    at: usize,
    column: &str,
) -> Result<&'r str, DataProblem> {
    str::from_utf8(&record[at])
        .map(str::trim)
        .map_err(|_| DataProblem::NotUtf8 { column: column.to_owned() })
}

/// The names in a header line.
pub(crate) fn column_names(record: &ByteRecord) -> Result<Vec<String>, DataProblem> {
    if let Some(separator) = other_separator(record) {
        return Err(DataProblem::Separator(separator));
    }
    let names: Vec<String> = (0..record.len())
        .map(|at| Ok(text(record, at, &String::from_utf8_lossy(&record[at]))?.to_owned()))
        .collect::<Result<_, DataProblem>>()?;
    check_names(&names)?;
    Ok(names)
}

/// Is every column the only one of its name?
pub(super) fn check_names(names: &[String]) -> Result<(), DataProblem> {
    let mut seen = BTreeSet::new();
    match names.iter().find(|name| !seen.insert(*name)) {
        Some(column) => Err(DataProblem::DoubledColumn { column: column.clone() }),
        None => Ok(()),
    }
}

/// Has the record a value for each column?
pub(super) fn check_width(record: &ByteRecord, expected: usize) -> Result<(), DataProblem> {
    if record.len() == expected {
        return Ok(());
    }
    Err(match other_separator(record) {
        Some(separator) => DataProblem::Separator(separator),
        None => DataProblem::Fields { found: record.len(), expected },
    })
}

/// What separates the columns where no comma does.
fn other_separator(record: &ByteRecord) -> Option<&'static str> {
    let holds = |byte| record.len() == 1 && record[0].contains(&byte);
    if holds(b'\t') {
        Some("tabs")
    } else if holds(b';') {
        Some("semicolons")
    } else {
        None
    }
}
