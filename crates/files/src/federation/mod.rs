//! The federation file: who takes part, with which data and which rivals, what is to be
//! learned and how. One TOML file that a consortium can read, agree on and keep.
//!
//! `docs/federation-file.md` explains every key; every key but the participants' names and,
//! where there are data files, the target has a default.

mod check;
mod components;
mod faults;
mod listing;
mod methods;
mod problem;
mod settings;

use std::{fs, path::Path};

use fedcompetitors_graphs::{Choice, CompetingGraph, Rule};

use crate::{FileError, Problem, read_competing};

pub use faults::{FaultEntry, FaultName, read_faults};
pub use fedcompetitors_learn::TaskKind;
pub use listing::{ListedDefault, ListedEntry, ListedSetting, Listing, listings};
pub use methods::{Method, SHORT_NAMES, ShortName};
pub use problem::FederationProblem;
pub use settings::{
    Benefit, Class, Data, DeclaredScale, Evaluation, Generate, IncompleteRows, Model,
    OptimizerName, Other, Participant, Rows, Scaling, Selection, Settings, Task, Training, written,
};

/// A federation file that makes sense in itself. The data files were not looked at.
#[derive(Debug, Clone, PartialEq)]
pub struct FederationFile {
    /// What the file says.
    pub settings: Settings,
    /// Who competes, by everybody's own report and by the competing file.
    pub competing: CompetingGraph,
}

/// Reads a federation file, and the competing file that it names, which lies beside it.
///
/// # Errors
/// If one cannot be read or does not make sense.
pub fn read_federation(path: &Path) -> Result<FederationFile, FileError> {
    read_federation_under(path, None)
}

/// The same with a rule that replaces the file's, if one is given.
///
/// # Errors
/// If a file cannot be read, or does not make sense under that rule.
pub fn read_federation_under(
    path: &Path,
    rule: Option<Choice<Rule>>,
) -> Result<FederationFile, FileError> {
    let bytes = fs::read(path).map_err(|error| FileError::new(path, Problem::Unreadable(error)))?;
    let text = str::from_utf8(&bytes).map_err(|_| FileError::new(path, Problem::NotUtf8))?;
    let mut federation = parse(path, text, rule)?;
    if let Some(file) = &federation.settings.competing {
        let file = path.parent().unwrap_or(Path::new(".")).join(file);
        let participants = federation.competing.participants().clone();
        let listed = read_competing(&file, &participants)?;
        let reports: Vec<_> = listed.all_reports().collect();
        federation.competing = federation
            .competing
            .declared(&reports)
            .map_err(|error| FileError::new(&file, error))?;
    }
    Ok(federation)
}

/// Reads a federation file from its text; no file that it names is looked at.
///
/// # Errors
/// If it does not make sense.
pub fn parse_federation(path: &Path, text: &str) -> Result<FederationFile, FileError> {
    parse(path, text, None)
}

fn parse(path: &Path, text: &str, rule: Option<Choice<Rule>>) -> Result<FederationFile, FileError> {
    let settings = check::read_settings(path, text, rule)?;
    let competing = check::check(path, text, &settings)?;
    Ok(FederationFile { settings, competing })
}
