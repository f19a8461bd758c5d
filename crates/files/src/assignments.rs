//! Which rows are tested in which fold.

use std::{
    collections::{BTreeMap, BTreeSet},
    io::Read,
    path::Path,
};

use fedcompetitors_graphs::Participants;

use crate::{
    FileError, Problem,
    graphs::open,
    tables::{Header, each_record},
};

/// The folds in which rows are tested.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assignments {
    /// The number of folds of each repeat.
    pub folds: u32,
    /// For each repeat and participant the fold of each row, counted from 0; none for rows that are
    /// never tested.
    pub repeats: Vec<Vec<Vec<Option<u32>>>>,
}

/// As many repeats, and as many folds, as a federation file can ask for.
const MOST: u32 = 1000;

/// Reads in which fold each row is tested, as `fedcompetitors export` writes it. `numbers` are the
/// numbers of each participant's rows in its data file.
///
/// # Errors
/// If the file cannot be read, or does not fit the participants and their rows.
pub fn read_assignments(
    path: &Path,
    participants: &Participants,
    numbers: &[Vec<u32>],
) -> Result<Assignments, FileError> {
    parse_assignments(path, open(path)?, participants, numbers)
}

/// Reads the same from anything that can be read; `path` names it in errors.
///
/// # Errors
/// As [`read_assignments`].
pub fn parse_assignments(
    path: &Path,
    table: impl Read,
    participants: &Participants,
    numbers: &[Vec<u32>],
) -> Result<Assignments, FileError> {
    let header = Header {
        columns: ["participant", "repeat", "row", "fold"],
        exported: &[],
        expected: "participant,repeat,row,fold",
    };
    let mut found: BTreeMap<(u32, usize, usize), u32> = BTreeMap::new();
    each_record(path, table, &header, |_, fields| {
        let [name, repeat, row, fold] = fields;
        let participant = participants.find(name)?;
        let number = |what, text: &str, most| match text.trim().parse::<u32>() {
            Ok(number) if (1..=most).contains(&number) => Ok(number),
            _ => Err(Problem::NotAPlace {
                participant: name.to_owned(),
                what,
                text: text.to_owned(),
            }),
        };
        let (repeat, row) = (number("repeat", repeat, MOST)?, number("row", row, u32::MAX)?);
        let fold = number("fold", fold, MOST)?;
        let at = numbers[participant]
            .binary_search(&row)
            .map_err(|_| Problem::NoSuchRow { participant: name.to_owned(), row })?;
        match found.insert((repeat, participant, at), fold - 1) {
            None => Ok(()),
            Some(_) => Err(Problem::DoubledRow { participant: name.to_owned(), row, repeat }),
        }
    })?;
    let repeats: BTreeSet<u32> = found.keys().map(|key| key.0).collect();
    let folds = found.values().max().map_or(0, |last| last + 1);
    if repeats.is_empty() {
        return Err(FileError::new(path, Problem::Empty));
    }
    if let Some(missing) = (1..).zip(&repeats).find(|(number, found)| number != *found) {
        return Err(FileError::new(path, Problem::NoRepeat { repeat: missing.0 }));
    }
    let of = |repeat: &u32| {
        let rows = |(participant, rows): (usize, &Vec<u32>)| {
            let fold = |at: usize| found.get(&(*repeat, participant, at)).copied();
            (0..rows.len()).map(fold).collect()
        };
        numbers.iter().enumerate().map(rows).collect()
    };
    Ok(Assignments { folds, repeats: repeats.iter().map(of).collect() })
}
