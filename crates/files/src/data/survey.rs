//! A first look at a data file of which nothing is known yet.

use std::{
    collections::{BTreeMap, BTreeSet},
    io::Read,
    path::Path,
};

use csv::ByteRecord;
use fedcompetitors_graphs::nearest;

use super::{
    DataProblem,
    impression::{Impression, Judge},
    number::number,
    plain,
    source::{DataRecords, Origin, check_width, column_names, text},
};
use crate::{FileError, Problem, graphs::open};

/// Texts that usually mean that a value is missing, in any case.
const USUAL_MISSING: [&str; 6] = ["", "?", "NA", "N/A", "NaN", "null"];

/// A column of more different texts than this hardly holds categories.
const MOST_DISTINCT: usize = 20;

/// What a data file looks like.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Survey {
    /// Does its first line name the columns? Where that line holds nothing but numbers, or
    /// texts that mean missing, it is taken for data, and the columns are called `column 1`,
    /// `column 2`, ….
    pub header: bool,
    /// How many rows there are.
    pub rows: usize,
    /// The columns, in their order.
    pub columns: Vec<ColumnSurvey>,
}

/// What a column of a data file looks like.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ColumnSurvey {
    /// What it is called.
    pub name: String,
    /// How many rows have a value that does not look missing.
    pub values: usize,
    /// The different values, whole numbers without zeros behind a point, if they are at most 20: in numeric order if all are numbers.
    pub distinct: Option<Vec<String>>,
    /// How many values are no numbers.
    pub texts: usize,
    /// The first of those, with its line.
    pub first_text: Option<(u64, String)>,
    /// The texts that look missing, as they are written.
    pub missing: Vec<String>,
    /// What the column seems to hold, if there are enough values to tell.
    pub impression: Option<Impression>,
}

impl ColumnSurvey {
    /// A column without values.
    pub fn empty(name: &str) -> Self {
        Looks::new(name.to_owned()).finish()
    }

    /// Are all values numbers? (Of no values, all are.)
    pub fn is_of_numbers(&self) -> bool {
        self.texts == 0
    }
}

/// Has a first look at a data file, plain or compressed.
///
/// # Errors
/// If it cannot be read or is no table.
pub fn survey(path: &Path) -> Result<Survey, FileError> {
    parse_survey(path, open(path)?)
}

/// Has a first look at anything that can be read; the path names it in errors.
///
/// # Errors
/// As [`survey`].
pub fn parse_survey(path: &Path, source: impl Read) -> Result<Survey, FileError> {
    let origin = Origin { path, participant: None };
    let mut records = DataRecords::new(origin, source)?;
    let Some((line, first)) = records.next()? else {
        return Err(FileError::new(path, Problem::Empty));
    };
    let wrong = |line| move |problem| origin.wrong(Some(line), problem);
    let header = !looks_like_data(first);
    let names = names(first, header).map_err(wrong(line))?;
    let mut columns: Vec<Looks> = names.into_iter().map(Looks::new).collect();
    let mut rows = 0;
    if !header {
        rows += 1;
        look(&mut columns, line, first).map_err(wrong(line))?;
    }
    while let Some((line, record)) = records.next()? {
        rows += 1;
        look(&mut columns, line, record).map_err(wrong(line))?;
    }
    Ok(Survey { header, rows, columns: columns.into_iter().map(Looks::finish).collect() })
}

/// Counts the rows of a data file by the value of a column; rows without a value do not count. Two texts are
/// one value if a participant's `rows` would select both.
///
/// # Errors
/// If the file cannot be read or is no table, or if it has no such column.
pub fn count_values(path: &Path, column: &str) -> Result<BTreeMap<String, u64>, FileError> {
    let origin = Origin { path, participant: None };
    let mut records = DataRecords::new(origin, open(path)?)?;
    let mut counts = BTreeMap::new();
    let mut place = None;
    while let Some((line, record)) = records.next()? {
        let wrong = |problem| origin.wrong(Some(line), problem);
        let (at, width) = if let Some(place) = place {
            place
        } else {
            let header = !looks_like_data(record);
            let names = names(record, header).map_err(wrong)?;
            let at = names.iter().position(|name| name == column).ok_or_else(|| {
                wrong(DataProblem::UnknownColumn {
                    column: column.to_owned(),
                    named: "with --by",
                    nearest: nearest(column, names.iter().map(String::as_str)),
                })
            })?;
            place = Some((at, names.len()));
            if header {
                continue;
            }
            (at, names.len())
        };
        check_width(record, width).map_err(wrong)?;
        let value = text(record, at, column).map_err(wrong)?;
        if !looks_missing(value) {
            *counts.entry(plain(value).to_owned()).or_default() += 1;
        }
    }
    match place {
        Some(_) => Ok(counts),
        None => Err(FileError::new(path, Problem::Empty)),
    }
}

/// The names of the columns: those of the header line, or numbers.
fn names(first: &ByteRecord, header: bool) -> Result<Vec<String>, DataProblem> {
    if header {
        column_names(first)
    } else {
        Ok((1..=first.len()).map(|number| format!("column {number}")).collect())
    }
}

fn looks_missing(text: &str) -> bool {
    USUAL_MISSING.iter().any(|usual| usual.eq_ignore_ascii_case(text))
}

/// Is there a number, and no word?
fn looks_like_data(record: &ByteRecord) -> bool {
    let texts = || record.iter().map(|bytes| str::from_utf8(bytes).unwrap_or("a word").trim());
    texts().any(|text| number(text).is_ok())
        && texts().all(|text| looks_missing(text) || number(text).is_ok())
}

fn look(columns: &mut [Looks], line: u64, record: &ByteRecord) -> Result<(), DataProblem> {
    check_width(record, columns.len())?;
    for (at, column) in columns.iter_mut().enumerate() {
        let value = text(record, at, &column.name)?;
        column.look(line, value);
    }
    Ok(())
}

/// A column while it is looked at.
struct Looks {
    name: String,
    values: usize,
    distinct: Option<BTreeSet<String>>,
    texts: usize,
    first_text: Option<(u64, String)>,
    missing: BTreeSet<String>,
    judge: Judge,
}

impl Looks {
    fn new(name: String) -> Self {
        let (distinct, missing) = (Some(BTreeSet::new()), BTreeSet::new());
        let judge = Judge::new();
        Self { name, values: 0, distinct, texts: 0, first_text: None, missing, judge }
    }

    fn look(&mut self, line: u64, value: &str) {
        if looks_missing(value) {
            if !self.missing.contains(value) {
                self.missing.insert(value.to_owned());
            }
            return;
        }
        self.values += 1;
        self.judge.take(value);
        if number(value).is_err() {
            self.texts += 1;
            self.first_text.get_or_insert_with(|| (line, value.to_owned()));
        }
        let value = plain(value);
        if let Some(distinct) = &mut self.distinct
            && !distinct.contains(value)
        {
            distinct.insert(value.to_owned());
            if distinct.len() > MOST_DISTINCT {
                self.distinct = None;
            }
        }
    }

    fn finish(self) -> ColumnSurvey {
        let distinct = self.distinct.map(|distinct| {
            let mut texts: Vec<String> = distinct.into_iter().collect();
            if self.texts == 0 {
                let value = |text: &String| number(text).unwrap_or(0.0);
                texts.sort_by(|a, b| value(a).total_cmp(&value(b)));
            }
            texts
        });
        let missing = self.missing.into_iter().collect();
        let Self { name, values, texts, first_text, .. } = self;
        let impression = self.judge.finish(&name);
        ColumnSurvey { name, values, distinct, texts, first_text, missing, impression }
    }
}
