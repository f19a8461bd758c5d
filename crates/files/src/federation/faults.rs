//! A script of faults for a simulation.

use std::{fs, path::Path};

use fedcompetitors_graphs::Participants;
use serde::Deserialize;

use super::{FederationProblem, check};
use crate::{FileError, Problem};

/// What goes wrong with a participant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FaultName {
    /// It is not there.
    Missing,
    /// It sends numbers that are none.
    SendsNan,
    /// It sends one number too few.
    SendsWrongLength,
    /// It sends a change a thousand times too large.
    SendsHuge,
}

/// One of the `[[faults]]`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct FaultEntry {
    /// Who.
    pub participant: String,
    /// What.
    pub does: FaultName,
    /// The first round.
    #[serde(default = "first")]
    pub first: usize,
    /// The last round; to the end, if it is not said.
    #[serde(default = "last")]
    pub last: usize,
}

fn first() -> usize {
    1
}

fn last() -> usize {
    usize::MAX
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Script {
    #[serde(default)]
    faults: Vec<FaultEntry>,
}

/// Reads a script of faults; returns it with its text, each entry with the index of its
/// participant.
///
/// # Errors
/// If it cannot be read, names somebody who does not take part, or means no round.
pub fn read_faults(
    path: &Path,
    participants: &Participants,
) -> Result<(Vec<(usize, FaultEntry)>, String), FileError> {
    let text = fs::read_to_string(path)
        .map_err(|error| FileError::new(path, Problem::Unreadable(error)))?;
    let script: Script = check::read(path, &text)?;
    let found = script.faults.into_iter().map(|entry| {
        let wrong = |problem: Problem| {
            let line = text.lines().position(|line| line.contains(&entry.participant));
            FileError { path: path.to_owned(), line: line.map(|at| at as u64 + 1), problem }
        };
        let index = participants.find(&entry.participant).map_err(|error| wrong(error.into()))?;
        if entry.first == 0 || entry.first > entry.last {
            let problem = FederationProblem::Range {
                participant: Some(entry.participant.clone()),
                key: "first".into(),
                wanted: "at least 1 and not after `last`",
            };
            return Err(wrong(problem.into()));
        }
        Ok((index, entry))
    });
    Ok((found.collect::<Result<_, FileError>>()?, text.clone()))
}
