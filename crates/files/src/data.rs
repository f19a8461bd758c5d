//! Participants' data files, read by the rules of their federation.

mod impression;
mod number;
#[cfg(feature = "parquet")]
mod parquet;
mod problem;
mod source;
mod survey;

use std::{
    collections::{BTreeMap, BTreeSet},
    io::Read,
    path::Path,
};

use csv::ByteRecord;
use fedcompetitors_graphs::nearest;
use fedcompetitors_learn::{Column, Table, Targets};

use crate::{FileError, Problem, graphs::open};
use number::NoNumber;
use source::{check_names, check_width, text};

pub(crate) use number::number;
pub(crate) use source::{DataRecords, Origin, column_names};

pub use impression::Impression;
pub use problem::DataProblem;
pub use survey::{ColumnSurvey, Survey, count_values, parse_survey, survey};

/// How the files of a federation are to be read.
///
/// Whoever makes the rules sees to it that they don't contradict themselves: no column or
/// category is named twice, and no text means two classes. Values are compared with the
/// texts here without the white space around them, and `1.0` is the same as `1`: some
/// programs write whole numbers one way, some the other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DataRules {
    /// Names of the columns where files have no header line.
    pub header: Option<Vec<String>>,
    /// The column that is to be predicted.
    pub target: String,
    /// What the target's texts mean.
    pub meaning: TargetMeaning,
    /// Columns that are no features but are read as texts, each with the place that names it.
    pub beside: Vec<(String, &'static str)>,
    /// Columns that are not used.
    pub ignore: Vec<String>,
    /// If given, exactly these columns, in this order, are the features. Otherwise they are all that
    /// are left, in the order of `header` or, without that, of their names: the order of the columns in one
    /// participant's file changes nothing.
    pub use_only: Option<Vec<String>>,
    /// Categorical columns with their declared categories; all others are numbers.
    pub categories: BTreeMap<String, Vec<String>>,
    /// A category that is not declared counts as missing instead of being an error.
    pub other: bool,
    /// Texts that mean "missing" in every column.
    pub missing: Vec<String>,
    /// Further ones in single columns.
    pub missing_in: BTreeMap<String, Vec<String>>,
    /// What becomes of rows with missing features.
    pub incomplete: Incomplete,
    /// Further columns that a file must have, each with the place that names it.
    pub named: Vec<(String, &'static str)>,
}

/// What the texts of the target mean.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TargetMeaning {
    /// They are numbers.
    Number,
    /// For each class the texts that mean it.
    Classes(Vec<Vec<String>>),
}

/// What becomes of rows with missing features.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Incomplete {
    /// They are kept, and encoding fills them in.
    Fill,
    /// They are left out.
    LeaveOut,
    /// They are an error.
    Refuse,
}

/// A participant's table as it was read.
#[derive(Debug, Clone, PartialEq)]
pub struct ReadTable {
    /// The rows that can be used.
    pub table: Table,
    /// The number of each of them in the file, counted from 1 below the header.
    pub rows: Vec<u32>,
    /// Their texts in the columns of [`DataRules::beside`], column after column.
    pub beside: Vec<Vec<String>>,
    /// How many rows were left out because a feature is missing.
    pub incomplete: usize,
    /// How many rows were left out because the target is missing, whatever else they say.
    pub without_target: usize,
    /// For each feature column how many values are missing, in all rows with a target.
    pub missing: Vec<usize>,
}

/// Reads a participant's data file: CSV, plain or compressed with gzip, or Parquet.
///
/// With `only`, a column and a value, just the rows that have this value there belong to
/// the participant, and the column is not a feature unless `use_only` asks for it.
///
/// # Errors
/// If the file cannot be read, or is not as the rules say.
pub fn read_table(
    path: &Path,
    participant: &str,
    rules: &DataRules,
    only: Option<(&str, &str)>,
) -> Result<ReadTable, FileError> {
    parse_table(path, open(path)?, participant, rules, only)
}

/// Reads a participant's data from anything that can be read; the path names it in errors.
///
/// # Errors
/// As [`read_table`].
pub fn parse_table(
    path: &Path,
    source: impl Read,
    participant: &str,
    rules: &DataRules,
    only: Option<(&str, &str)>,
) -> Result<ReadTable, FileError> {
    let origin = Origin { path, participant: Some(participant) };
    let mut records = DataRecords::new(origin, source)?;
    let (line, header) = match &rules.header {
        Some(names) => (None, check_names(names).map(|()| names.clone())),
        None => match records.next()? {
            Some((line, record)) => (Some(line), column_names(record)),
            None => return Err(FileError::new(path, Problem::Empty)),
        },
    };
    let mut reading = header
        .and_then(|header| Reading::new(header, rules, only))
        .map_err(|problem| origin.wrong(line, problem))?;
    while let Some((line, record)) = records.next()? {
        reading.take(record).map_err(|problem| origin.wrong(Some(line), problem))?;
    }
    reading.finish().map_err(|problem| origin.wrong(None, problem))
}

/// A table while it is read.
struct Reading<'r> {
    header: Vec<String>,
    rules: &'r DataRules,
    /// Which rows are the participant's: the column and what it says in them.
    only: Option<(usize, &'r str)>,
    target: Target<'r>,
    features: Vec<Feature<'r>>,
    /// Columns that are no features, with the texts that are missing there and those that were read.
    beside: Vec<Beside<'r>>,
    /// Rows of anybody.
    seen: u32,
    rows: usize,
    kept: Vec<u32>,
    incomplete: usize,
    without_target: usize,
}

impl<'r> Reading<'r> {
    fn new(
        header: Vec<String>,
        rules: &'r DataRules,
        only: Option<(&'r str, &'r str)>,
    ) -> Result<Self, DataProblem> {
        let find = |column: &str, named| {
            header.iter().position(|name| name == column).ok_or_else(|| {
                DataProblem::UnknownColumn {
                    column: column.to_owned(),
                    named,
                    nearest: nearest(column, header.iter().map(String::as_str)),
                }
            })
        };
        let target = find(&rules.target, "as the target")?;
        let only = match only {
            Some((column, value)) => {
                Some((find(column, "to select the participant's rows")?, value))
            }
            None => None,
        };
        let mut unused = BTreeSet::from([target]);
        unused.extend(only.map(|(column, _)| column));
        let beside = rules
            .beside
            .iter()
            .map(|(column, named)| {
                let missing = missing_texts(column, rules);
                Ok(Beside { at: find(column, named)?, missing, texts: Vec::new() })
            })
            .collect::<Result<Vec<_>, DataProblem>>()?;
        unused.extend(beside.iter().map(|column| column.at));
        for column in &rules.ignore {
            unused.insert(find(column, "in `ignore`")?);
        }
        for column in rules.categories.keys() {
            find(column, "in `categories`")?;
        }
        for column in rules.missing_in.keys() {
            find(column, "in `missing-in`")?;
        }
        for (column, named) in &rules.named {
            find(column, named)?;
        }
        let features: Vec<usize> = if let Some(columns) = &rules.use_only {
            columns.iter().map(|column| find(column, "in `features`")).collect::<Result<_, _>>()?
        } else {
            let mut all: Vec<usize> = (0..header.len()).filter(|at| !unused.contains(at)).collect();
            if rules.header.is_none() {
                all.sort_by_key(|&at| &header[at]);
            }
            all
        };
        if features.contains(&target) {
            return Err(DataProblem::TargetIsFeature { column: rules.target.clone() });
        }
        if features.is_empty() {
            return Err(DataProblem::NoFeatures);
        }
        Ok(Self {
            target: Target::new(target, rules),
            features: features.iter().map(|&at| Feature::new(at, &header[at], rules)).collect(),
            header,
            rules,
            only,
            beside,
            seen: 0,
            rows: 0,
            kept: Vec::new(),
            incomplete: 0,
            without_target: 0,
        })
    }

    fn take(&mut self, record: &ByteRecord) -> Result<(), DataProblem> {
        check_width(record, self.header.len())?;
        self.seen += 1;
        let value = |at: usize| text(record, at, &self.header[at]);
        if let Some((column, wanted)) = self.only
            && plain(value(column)?) != plain(wanted)
        {
            return Ok(());
        }
        self.rows += 1;
        let target = value(self.target.at)?;
        if self.target.missing.contains(plain(target)) {
            self.without_target += 1;
            return Ok(());
        }
        self.target.take(&self.header[self.target.at], target)?;
        let mut complete = true;
        for feature in &mut self.features {
            let column = &self.header[feature.at];
            let there = feature.take(column, value(feature.at)?, self.rules.other)?;
            if !there && self.rules.incomplete == Incomplete::Refuse {
                return Err(DataProblem::Missing { column: column.clone() });
            }
            complete &= there;
        }
        if complete || self.rules.incomplete == Incomplete::Fill {
            self.kept.push(self.seen);
            for column in &mut self.beside {
                let text = value(column.at)?;
                if column.missing.contains(plain(text)) {
                    let column = self.header[column.at].clone();
                    return Err(DataProblem::MissingBeside { column });
                }
                column.texts.push(plain(text).to_owned());
            }
        } else {
            let kept = self.kept.len();
            self.target.values.truncate(kept);
            self.features.iter_mut().for_each(|feature| feature.values.truncate(kept));
            self.incomplete += 1;
        }
        Ok(())
    }

    fn finish(self) -> Result<ReadTable, DataProblem> {
        let Self { rows, incomplete, without_target, .. } = self;
        if let Some((column, value)) = self.only
            && rows == 0
        {
            let (column, value) = (self.header[column].clone(), value.to_owned());
            return Err(DataProblem::NobodysRows { column, value });
        }
        if self.kept.is_empty() {
            return Err(DataProblem::NoRows { rows, without_target, incomplete });
        }
        let names = self.features.iter().map(|feature| self.header[feature.at].clone()).collect();
        let missing = self.features.iter().map(|feature| feature.lacking).collect();
        let columns = self.features.into_iter().map(|feature| feature.values.finish()).collect();
        let table = Table::new(names, columns, self.target.finish())?;
        let beside = self.beside.into_iter().map(|column| column.texts).collect();
        Ok(ReadTable { table, rows: self.kept, beside, incomplete, without_target, missing })
    }
}

/// A column that is no feature while it is read.
struct Beside<'r> {
    at: usize,
    missing: BTreeSet<&'r str>,
    texts: Vec<String>,
}

/// The texts that mean "missing" in a column.
fn missing_texts<'r>(column: &str, rules: &'r DataRules) -> BTreeSet<&'r str> {
    let further = rules.missing_in.get(column).into_iter().flatten();
    rules.missing.iter().chain(further).map(|text| plain(text)).collect()
}

/// A whole number without the zeros behind its point; any other text as it is.
pub(crate) fn plain(text: &str) -> &str {
    match text.split_once('.') {
        Some((whole, zeros))
            if !zeros.is_empty()
                && zeros.bytes().all(|byte| byte == b'0')
                && whole
                    .strip_prefix('-')
                    .unwrap_or(whole)
                    .bytes()
                    .all(|byte| byte.is_ascii_digit())
                && whole.ends_with(|c: char| c.is_ascii_digit()) =>
        {
            whole
        }
        _ => text,
    }
}

/// For each text its place in the lists.
fn places<'r>(lists: impl Iterator<Item = &'r [String]>) -> BTreeMap<&'r str, u32> {
    let pairs = (0..).zip(lists);
    pairs.flat_map(|(place, texts)| texts.iter().map(move |text| (plain(text), place))).collect()
}

/// The number that a text says; what it is else becomes a problem by `no_number`.
fn number_in(
    column: &str,
    text: &str,
    no_number: impl FnOnce(String, String) -> DataProblem,
) -> Result<f32, DataProblem> {
    number(text).map_err(|why| {
        let (column, text) = (column.to_owned(), text.to_owned());
        match why {
            NoNumber::Text => no_number(column, text),
            NoNumber::TooLarge => DataProblem::TooLarge { column, text },
        }
    })
}

/// The target while it is read.
struct Target<'r> {
    at: usize,
    missing: BTreeSet<&'r str>,
    values: TargetValues<'r>,
}

enum TargetValues<'r> {
    Numbers(Vec<f32>),
    Classes { classes: &'r [Vec<String>], place: BTreeMap<&'r str, u32>, labels: Vec<u32> },
}

impl<'r> Target<'r> {
    fn new(at: usize, rules: &'r DataRules) -> Self {
        let values = match &rules.meaning {
            TargetMeaning::Number => TargetValues::Numbers(Vec::new()),
            TargetMeaning::Classes(classes) => TargetValues::Classes {
                classes,
                place: places(classes.iter().map(Vec::as_slice)),
                labels: Vec::new(),
            },
        };
        Self { at, missing: missing_texts(&rules.target, rules), values }
    }

    fn take(&mut self, column: &str, text: &str) -> Result<(), DataProblem> {
        match &mut self.values {
            TargetValues::Numbers(values) => {
                let no_number = |column, text| DataProblem::TargetNotANumber { column, text };
                values.push(number_in(column, text, no_number)?);
            }
            TargetValues::Classes { classes, place, labels } => match place.get(plain(text)) {
                Some(&class) => labels.push(class),
                None => {
                    return Err(DataProblem::UnknownClass {
                        column: column.to_owned(),
                        text: text.to_owned(),
                        declared: classes.concat(),
                    });
                }
            },
        }
        Ok(())
    }

    fn finish(self) -> Targets {
        match self.values {
            TargetValues::Numbers(values) => Targets::Values(values),
            TargetValues::Classes { classes, labels, .. } => {
                Targets::Classes { labels, count: classes.len() as u32 }
            }
        }
    }
}

impl TargetValues<'_> {
    fn truncate(&mut self, rows: usize) {
        match self {
            Self::Numbers(values) => values.truncate(rows),
            Self::Classes { labels, .. } => labels.truncate(rows),
        }
    }
}

/// A feature column while it is read.
struct Feature<'r> {
    at: usize,
    missing: BTreeSet<&'r str>,
    /// How many values were missing.
    lacking: usize,
    values: FeatureValues<'r>,
}

enum FeatureValues<'r> {
    Numbers(Vec<Option<f32>>),
    Categories { names: &'r [String], place: BTreeMap<&'r str, u32>, codes: Vec<Option<u32>> },
}

impl<'r> Feature<'r> {
    fn new(at: usize, column: &str, rules: &'r DataRules) -> Self {
        let values = match rules.categories.get(column) {
            Some(names) => {
                let place = places(names.chunks(1));
                FeatureValues::Categories { names, place, codes: Vec::new() }
            }
            None => FeatureValues::Numbers(Vec::new()),
        };
        Self { at, missing: missing_texts(column, rules), lacking: 0, values }
    }

    /// Takes a value and says whether there is one; `other` as in [`DataRules`].
    fn take(&mut self, column: &str, text: &str, other: bool) -> Result<bool, DataProblem> {
        let missing = self.missing.contains(plain(text));
        let there = match &mut self.values {
            FeatureValues::Numbers(values) => {
                let no_number = |column, text| DataProblem::NotANumber { column, text };
                let number = || number_in(column, text, no_number).map(Some);
                values.push(if missing { None } else { number()? });
                !missing
            }
            FeatureValues::Categories { names, place, codes } => {
                let code = place.get(plain(text)).copied().filter(|_| !missing);
                if code.is_none() && !missing && !other {
                    return Err(DataProblem::UnknownCategory {
                        column: column.to_owned(),
                        text: text.to_owned(),
                        declared: names.to_vec(),
                    });
                }
                codes.push(code);
                code.is_some()
            }
        };
        self.lacking += usize::from(!there);
        Ok(there)
    }
}

impl FeatureValues<'_> {
    fn truncate(&mut self, rows: usize) {
        match self {
            Self::Numbers(values) => values.truncate(rows),
            Self::Categories { codes, .. } => codes.truncate(rows),
        }
    }

    fn finish(self) -> Column {
        match self {
            Self::Numbers(values) => Column::Numbers(values),
            Self::Categories { names, codes, .. } => {
                Column::Categories { names: names.to_vec(), codes }
            }
        }
    }
}
