//! The eICU Collaborative Research Database: from its raw tables to a table for each
//! participant, who predicts whether a patient dies in the hospital.
//!
//! Read are `patient`, `hospital`, `apacheApsVar` (the physiology of the first day) and
//! `apachePredVar` (chronic diseases), as `.csv` or `.csv.gz`. Columns are found whatever
//! the case of their letters: the full database writes `hospitalID`, the demo `hospitalid`.
//!
//! Nothing is used that is known only after the first day: no discharge, no length of stay.
//! `apachePatientResult` is not read at all. It holds outcomes and predictions of them, and
//! its scores are sums of the physiology that is used anyway.
//!
//! A patient is one row, in all of the data: the first unit stay of its first hospital stay.
//! Otherwise the same person would be learned from in one fold and tested in another, or by
//! one participant and another. Left out, and counted, are patients of whom it is not known
//! whether they died, or whose stay has no physiology of the first day.

mod features;
mod participants;
mod problem;
mod source;

use std::{
    collections::{BTreeMap, BTreeSet, btree_map::Entry},
    path::Path,
};

use crate::FileError;
use features::{FEATURES, From, Value};
use source::{RawTable, find_table};

pub use participants::{Cohort, Hospitals};
pub use problem::EicuProblem;

/// The hospitals of the paper, five large and five small, as participants 1 to 10.
pub const PAPER_HOSPITALS: [u32; 10] = [300, 148, 365, 413, 183, 154, 301, 184, 152, 391];

/// The patients of a database, one row each.
#[derive(Debug, Clone, PartialEq)]
pub struct Eicu {
    patients: Vec<Patient>,
    hospitals: BTreeMap<u32, Hospital>,
    /// How many patients are left out because it is not known whether they died.
    pub without_outcome: usize,
    /// How many of the others are left out because nothing was measured on the first day.
    pub without_physiology: usize,
}

/// A patient's first stay.
#[derive(Debug, Clone, PartialEq)]
struct Patient {
    hospital: u32,
    died: bool,
    values: Vec<Value>,
}

/// What is known of a hospital.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Hospital {
    region: String,
    teaching: String,
    beds: String,
}

/// A unit stay as the table of patients tells it.
struct Stay {
    /// Whose stay it is.
    person: String,
    /// By what a person's stays are put into order: the year, the hospital stay and which
    /// unit stay of that it is. The years are all that the database tells of the order of
    /// hospital stays; within a year the number of the stay decides, which knows nothing of
    /// how it ended.
    order: (u32, u32, u32),
    /// The number of the unit stay.
    unit: u32,
    hospital: u32,
    died: Option<bool>,
    values: Vec<Value>,
}

/// Reads the tables in a folder.
///
/// # Errors
/// If a table is missing, cannot be read or is not as it should be.
pub fn read_eicu(folder: &Path) -> Result<Eicu, FileError> {
    let hospitals = read_hospitals(folder)?;
    let stays = read_stays(folder, &hospitals)?;
    let physiology = read_values(folder, "apacheApsVar", From::Physiology)?;
    let chronic = read_values(folder, "apachePredVar", From::Chronic)?;
    let unknown: Vec<Value> =
        features::of(From::Chronic).map(|feature| feature.kind.missing()).collect();

    let mut eicu =
        Eicu { patients: Vec::new(), hospitals, without_outcome: 0, without_physiology: 0 };
    for stay in first_stays(stays) {
        let Some(died) = stay.died else {
            eicu.without_outcome += 1;
            continue;
        };
        let Some(measured) = physiology.get(&stay.unit) else {
            eicu.without_physiology += 1;
            continue;
        };
        let mut values = stay.values;
        values.extend_from_slice(measured);
        values.extend_from_slice(chronic.get(&stay.unit).unwrap_or(&unknown));
        debug_assert_eq!(values.len(), FEATURES.len());
        eicu.patients.push(Patient { hospital: stay.hospital, died, values });
    }
    Ok(eicu)
}

/// For each person the first of its stays, in the order of their numbers: rows must not
/// depend on how a file is sorted.
fn first_stays(stays: Vec<Stay>) -> Vec<Stay> {
    let mut first: BTreeMap<String, Stay> = BTreeMap::new();
    for stay in stays {
        match first.entry(stay.person.clone()) {
            Entry::Vacant(place) => {
                place.insert(stay);
            }
            Entry::Occupied(mut place) => {
                if stay.order < place.get().order {
                    place.insert(stay);
                }
            }
        }
    }
    let mut stays: Vec<Stay> = first.into_values().collect();
    stays.sort_by_key(|stay| stay.unit);
    stays
}

fn read_hospitals(folder: &Path) -> Result<BTreeMap<u32, Hospital>, FileError> {
    let path = find_table(folder, "hospital")?;
    let table = RawTable::open(&path)?;
    let [id, region, teaching, beds] =
        table.columns(["hospitalID", "region", "teachingStatus", "numBedsCategory"])?;
    let mut hospitals = BTreeMap::new();
    table.each_row(false, |row| {
        let text = |column| -> Result<String, EicuProblem> { Ok(row.text(column)?.to_owned()) };
        let (number, hospital) = (
            row.whole(id)?,
            Hospital { region: text(region)?, teaching: text(teaching)?, beds: text(beds)? },
        );
        match hospitals.insert(number, hospital) {
            Some(_) => Err(EicuProblem::Doubled { column: "hospitalID", id: number }),
            None => Ok(()),
        }
    })?;
    Ok(hospitals)
}

fn read_stays(folder: &Path, hospitals: &BTreeMap<u32, Hospital>) -> Result<Vec<Stay>, FileError> {
    let path = find_table(folder, "patient")?;
    let table = RawTable::open(&path)?;
    let [unit_stay, hospital_stay, visit, year, person, hospital, status] = table.columns([
        "patientUnitStayID",
        "patientHealthSystemStayID",
        "unitVisitNumber",
        "hospitalDischargeYear",
        "uniquePid",
        "hospitalID",
        "hospitalDischargeStatus",
    ])?;
    let columns = table.features(From::Admission)?;
    let mut stays = Vec::new();
    let mut seen = BTreeSet::new();
    table.each_row(false, |row| {
        let id = row.whole(unit_stay)?;
        if !seen.insert(id) {
            return Err(EicuProblem::Doubled { column: "patientUnitStayID", id });
        }
        let at = row.whole(hospital)?;
        if !hospitals.contains_key(&at) {
            return Err(EicuProblem::UnknownHospital { id: at });
        }
        let died = match row.text(status)? {
            "Expired" => Some(true),
            "Alive" => Some(false),
            "" => None,
            other => return Err(EicuProblem::Status { text: other.to_owned() }),
        };
        stays.push(Stay {
            person: row.known(person)?.to_owned(),
            order: (row.whole(year)?, row.whole(hospital_stay)?, row.whole(visit)?),
            unit: id,
            hospital: at,
            died,
            values: row.values(&columns)?,
        });
        Ok(())
    })?;
    Ok(stays)
}

/// The features that a table of unit stays holds.
fn read_values(
    folder: &Path,
    name: &'static str,
    from: From,
) -> Result<BTreeMap<u32, Vec<Value>>, FileError> {
    let path = find_table(folder, name)?;
    let table = RawTable::open(&path)?;
    let [unit_stay] = table.columns(["patientUnitStayID"])?;
    let columns = table.features(from)?;
    let mut found = BTreeMap::new();
    table.each_row(from == From::Chronic, |row| {
        let id = row.whole(unit_stay)?;
        match found.insert(id, row.values(&columns)?) {
            Some(_) => Err(EicuProblem::Doubled { column: "patientUnitStayID", id }),
            None => Ok(()),
        }
    })?;
    Ok(found)
}
