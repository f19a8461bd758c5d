//! Parquet files, as other programs write them: read as the same rows in a CSV file would
//! be, and refused with a reason where that cannot be.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use fedcompetitors_files::{DataRules, parse_table, read_table, survey};

use super::data::{self, texts};

/// What is in `city.parquet`.
const CITY: &str = "age,pain,dose,smokes,cost,ill\n\
    40,none,1.5,1,1,no\n\
    ,much,0,0,2,yes\n\
    60,,2,,3,2\n\
    70,none,,1,,\n\
    80,much,4,0,5,1\n";

/// As for the same rows in CSV files; a 0 is a number here.
fn rules() -> DataRules {
    DataRules { missing: texts(&[""]), missing_in: BTreeMap::new(), ..data::rules() }
}

fn stored(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/parquet").join(name)
}

#[test]
fn it_is_read_as_the_same_rows_in_csv() {
    let from_csv = parse_table(Path::new("city.csv"), CITY.as_bytes(), "City", &rules(), None);
    let from_parquet = read_table(&stored("city.parquet"), "City", &rules(), None);
    assert_eq!(from_parquet.expect("good"), from_csv.expect("good"));
    let only = Some(("pain", "much"));
    let some = read_table(&stored("city.parquet"), "City", &rules(), only).expect("good");
    assert_eq!(some.table.len(), 2);
    let survey = survey(&stored("city.parquet")).expect("good");
    let names: Vec<&str> = survey.columns.iter().map(|column| &*column.name).collect();
    assert_eq!(names.join(","), CITY.lines().next().expect("a header"));
}

#[test]
fn what_no_table_can_hold_is_refused_by_name() {
    let error = read_table(&stored("nested.parquet"), "City", &rules(), None).expect_err("lists");
    assert!(
        error.to_string().ends_with("the column \"visits\" contains lists or records"),
        "{error}"
    );
}

#[test]
fn damage_is_an_error_never_a_panic() {
    let whole = fs::read(stored("city.parquet")).expect("there");
    let read = |bytes: &[u8]| parse_table(Path::new("city"), bytes, "City", &rules(), None);
    for length in 4..whole.len() {
        assert!(read(&whole[..length]).is_err(), "cut after {length} bytes");
    }
    for at in 4..whole.len() {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x15;
        // The values may be others now: a Parquet file need not carry a checksum.
        let _ = read(&bytes);
    }
}
