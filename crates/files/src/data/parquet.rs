//! Parquet files, read as the table of texts that the same data would be in a CSV file, so
//! that one set of rules holds for both.

use std::{
    io::{self, Write},
    panic,
};

use bytes::Bytes;
use parquet::{
    basic::Repetition,
    errors::ParquetError,
    file::reader::{FileReader, SerializedFileReader},
    record::Field,
    schema::types::Type,
};

use super::DataProblem;

/// The rows with a header line before them, as CSV.
///
/// The library checks most of what a file says, and panics where it trusts one that is
/// damaged; here that is an error like any other.
pub(super) fn as_csv(file: Vec<u8>) -> Result<Vec<u8>, DataProblem> {
    panic::catch_unwind(|| read(file)).unwrap_or_else(|_| {
        Err(DataProblem::Damaged(io::Error::other("it says what cannot be of its own parts")))
    })
}

fn read(file: Vec<u8>) -> Result<Vec<u8>, DataProblem> {
    let reader = SerializedFileReader::new(Bytes::from(file)).map_err(damaged)?;
    let schema = reader.metadata().file_metadata().schema();
    let columns = schema.get_fields();
    if let Some(column) = columns.iter().find(|column| !is_flat(column)) {
        return Err(DataProblem::Nested { column: column.name().to_owned() });
    }
    let mut csv = csv::Writer::from_writer(Vec::new());
    csv.write_record(columns.iter().map(|column| column.name())).map_err(unwritten)?;
    let mut text = Vec::new();
    for row in reader.get_row_iter(None).map_err(damaged)? {
        for (_, field) in row.map_err(damaged)?.get_column_iter() {
            text.clear();
            write_field(&mut text, field).map_err(DataProblem::Damaged)?;
            csv.write_field(&text).map_err(unwritten)?;
        }
        csv.write_record(None::<&[u8]>).map_err(unwritten)?;
    }
    csv.into_inner().map_err(|error| DataProblem::Damaged(error.into_error()))
}

/// Has a column one value in each row?
fn is_flat(column: &Type) -> bool {
    column.is_primitive() && column.get_basic_info().repetition() != Repetition::REPEATED
}

/// A value as a CSV file would say it. NaN is what most programs write for a value that is
/// missing, and an empty text is what CSV files have there.
fn write_field(text: &mut Vec<u8>, field: &Field) -> io::Result<()> {
    match field {
        Field::Null => Ok(()),
        Field::Float(value) if value.is_nan() => Ok(()),
        Field::Double(value) if value.is_nan() => Ok(()),
        Field::Bool(value) => write!(text, "{}", u8::from(*value)),
        Field::Float(value) => write!(text, "{value}"),
        Field::Double(value) => write!(text, "{value}"),
        Field::Str(value) => text.write_all(value.as_bytes()),
        Field::Bytes(value) => text.write_all(value.data()),
        other => write!(text, "{other}"),
    }
}

fn damaged(error: ParquetError) -> DataProblem {
    DataProblem::Damaged(io::Error::other(error))
}

fn unwritten(error: csv::Error) -> DataProblem {
    DataProblem::Damaged(error.into())
}
