//! A raw table: found, unpacked, its columns known by name.

use std::path::{Path, PathBuf};

use csv::ByteRecord;
use fedcompetitors_graphs::nearest;

use super::{
    EicuProblem,
    features::{self, Feature, From, Kind, Value},
};
use crate::{
    FileError, Problem,
    data::{DataRecords, Origin, column_names, number},
    graphs::open,
};

/// What `> 89` is taken for.
const HIDDEN_AGE: f32 = 90.0;

/// The file of a table in a folder, plain or compressed.
pub(super) fn find_table(folder: &Path, table: &'static str) -> Result<PathBuf, FileError> {
    ["csv", "csv.gz"]
        .into_iter()
        .map(|ending| folder.join(format!("{table}.{ending}")))
        .find(|path| path.exists())
        .ok_or_else(|| FileError::new(folder, EicuProblem::NoTable { table }))
}

/// A table on its way in, its header read.
pub(super) struct RawTable<'p> {
    path: &'p Path,
    header_line: u64,
    header: Vec<String>,
    records: DataRecords<'p>,
}

/// A column with its name for errors.
#[derive(Clone, Copy)]
pub(super) struct Place {
    at: usize,
    name: &'static str,
}

/// A feature with its column.
pub(super) type FeaturePlace = (Place, &'static Feature);

impl<'p> RawTable<'p> {
    pub fn open(path: &'p Path) -> Result<Self, FileError> {
        let origin = Origin { path, participant: None };
        let mut records = DataRecords::new(origin, open(path)?)?;
        let Some((header_line, record)) = records.next()? else {
            return Err(FileError::new(path, Problem::Empty));
        };
        let header =
            column_names(record).map_err(|problem| origin.wrong(Some(header_line), problem))?;
        Ok(Self { path, header_line, header, records })
    }

    /// Where these columns are, whatever the case of their letters.
    pub fn columns<const N: usize>(
        &self,
        names: [&'static str; N],
    ) -> Result<[Place; N], FileError> {
        let mut places = [Place { at: 0, name: "" }; N];
        for (place, name) in places.iter_mut().zip(names) {
            *place = self.column(name)?;
        }
        Ok(places)
    }

    fn column(&self, name: &'static str) -> Result<Place, FileError> {
        if let Some(at) = self.header.iter().position(|column| column.eq_ignore_ascii_case(name)) {
            return Ok(Place { at, name });
        }
        let lower: Vec<String> = self.header.iter().map(|column| column.to_lowercase()).collect();
        let nearest = nearest(&name.to_lowercase(), lower.iter().map(String::as_str))
            .and_then(|found| lower.iter().position(|column| *column == found))
            .map(|at| self.header[at].clone());
        let problem = EicuProblem::NoColumn { column: name, nearest };
        Err(FileError::at_line(self.path, self.header_line, problem))
    }

    /// Where the features of this table are.
    pub fn features(&self, from: From) -> Result<Vec<FeaturePlace>, FileError> {
        features::of(from).map(|feature| Ok((self.column(feature.column)?, feature))).collect()
    }

    /// Hands over row by row. With `longer`, rows may have more values than there are
    /// columns, which some copies of `apachePredVar` do; elsewhere a comma without quotes
    /// would have moved every value behind it.
    pub fn each_row(
        mut self,
        longer: bool,
        mut take: impl FnMut(Row<'_>) -> Result<(), EicuProblem>,
    ) -> Result<(), FileError> {
        let expected = self.header.len();
        while let Some((line, record)) = self.records.next()? {
            let found = record.len();
            let taken = if found < expected || (found > expected && !longer) {
                Err(EicuProblem::Fields { found, expected })
            } else {
                take(Row(record))
            };
            taken.map_err(|problem| FileError::at_line(self.path, line, problem))?;
        }
        Ok(())
    }
}

/// A row of a table.
#[derive(Clone, Copy)]
pub(super) struct Row<'r>(&'r ByteRecord);

impl<'r> Row<'r> {
    /// A value without the white space around it.
    pub fn text(self, place: Place) -> Result<&'r str, EicuProblem> {
        let text = str::from_utf8(&self.0[place.at]);
        text.map(str::trim).map_err(|_| EicuProblem::NotUtf8 { column: place.name })
    }

    /// A text that must be there.
    pub fn known(self, place: Place) -> Result<&'r str, EicuProblem> {
        match self.text(place)? {
            "" => Err(EicuProblem::Missing { column: place.name }),
            text => Ok(text),
        }
    }

    /// A whole number that must be there.
    pub fn whole(self, place: Place) -> Result<u32, EicuProblem> {
        let text = self.known(place)?;
        let not_whole = |_| EicuProblem::NotWhole { column: place.name, text: text.to_owned() };
        text.parse().map_err(not_whole)
    }

    /// Everything that this table tells of a patient.
    pub fn values(self, features: &[FeaturePlace]) -> Result<Vec<Value>, EicuProblem> {
        features.iter().map(|(place, feature)| self.value(*place, feature)).collect()
    }

    fn value(self, place: Place, feature: &Feature) -> Result<Value, EicuProblem> {
        let text = self.text(place)?;
        if text.is_empty() {
            return Ok(feature.kind.missing());
        }
        let read = || {
            let not_a_number =
                |_| EicuProblem::NotANumber { column: place.name, text: text.to_owned() };
            number(text).map_err(not_a_number)
        };
        Ok(match feature.kind {
            Kind::Category(categories) => {
                let place = categories.iter().position(|(_, texts)| texts.contains(&text));
                Value::Category(place.map(|place| place as u32))
            }
            Kind::Age if text.starts_with('>') => Value::Number(Some(HIDDEN_AGE)),
            Kind::Within(least, most) => {
                Value::Number(Some(read()?).filter(|value| (least..=most).contains(value)))
            }
            Kind::Age => Value::Number(Some(read()?)),
            Kind::Number => Value::Number(Some(read()?).filter(|&value| !is_minus_one(value))),
        })
    }
}

/// Is it the number by which the tables of APACHE say that there is none?
#[expect(clippy::float_cmp, reason = "it is written as -1, which is exact")]
fn is_minus_one(value: f32) -> bool {
    value == -1.0
}
