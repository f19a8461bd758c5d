//! Which runs there are. A run is found by its name in the list of what the folder holds; no
//! path is ever made of an address.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use fedcompetitors_graphs::Participants;
use fedcompetitors_report::{html::Listed, status_name};
use fedcompetitors_runs::{self as runs, RunError};

use super::{guard::encoded, live::Live};
use crate::Failure;

/// Runs that are read for the list; one that has more is told how many are left out.
const MOST_LISTED: usize = 200;

/// The name of the database in a run's folder.
const DATABASE: &str = "run.sqlite";

/// The runs that are served.
pub struct Runs {
    folder: PathBuf,
    /// The name of the only run, if the folder itself is one.
    single: Option<String>,
    open: Mutex<BTreeMap<String, Arc<Live>>>,
}

impl Runs {
    /// The runs of a folder.
    ///
    /// # Errors
    /// If it is neither a run nor a folder that can be listed.
    pub fn open(folder: &Path) -> Result<Self, Failure> {
        let out_of_reach = |_| RunError::NoRun { folder: folder.to_owned() };
        let whole = fs::canonicalize(folder).map_err(out_of_reach)?;
        let single = is_run(&whole).then(|| {
            let name = whole.file_name().map(|name| name.to_string_lossy().into_owned());
            name.unwrap_or_else(|| "run".into())
        });
        let runs = Self { folder: whole, single, open: Mutex::default() };
        if runs.single.is_none() && runs.names().is_empty() {
            return Err(RunError::NoRun { folder: folder.to_owned() }.into());
        }
        Ok(runs)
    }

    /// The only run, if the folder is one itself.
    pub fn single(&self) -> Option<&str> {
        self.single.as_deref()
    }

    /// Participants by name, who are to have pages of their own.
    ///
    /// # Errors
    /// If there is nobody of that name, or more than one run.
    pub fn participants(&self, names: &[String]) -> Result<Vec<(usize, String)>, Failure> {
        if names.is_empty() {
            return Ok(Vec::new());
        }
        if self.single.is_none() {
            return Err(Failure::Usage {
                error: "a participant's own page belongs to one run, but this is a folder of runs"
                    .into(),
                hint: "serve a run directory, or omit `--as`".into(),
            });
        }
        let summary = runs::summary(&self.folder)?;
        let known = Participants::new(summary.participants.iter().map(|one| &one.name))?;
        let find = |name: &String| Ok((known.find(name)?, name.clone()));
        names.iter().map(find).collect()
    }

    /// The runs with their folders, by name. A folder elsewhere that a link leads to is none.
    fn names(&self) -> BTreeMap<String, PathBuf> {
        if let Some(name) = &self.single {
            return BTreeMap::from([(name.clone(), self.folder.clone())]);
        }
        let Ok(entries) = fs::read_dir(&self.folder) else {
            return BTreeMap::new();
        };
        let is_folder = |entry: &fs::DirEntry| entry.file_type().is_ok_and(|what| what.is_dir());
        entries
            .flatten()
            .filter(|entry| is_folder(entry) && is_run(&entry.path()))
            .filter_map(|entry| {
                Some((OsString::into_string(entry.file_name()).ok()?, entry.path()))
            })
            .collect()
    }

    /// The page of a run; nothing if there is none of that name.
    pub fn find(&self, name: &str) -> Option<Arc<Live>> {
        let folder = self.names().remove(name)?;
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        Some(Arc::clone(open.entry(name.to_owned()).or_insert_with(|| Live::begin(folder))))
    }

    /// The folder's own name.
    pub fn title(&self) -> String {
        self.folder.file_name().map_or("/".into(), |name| name.to_string_lossy().into_owned())
    }

    /// All runs as the list shows them, and how many more there are.
    pub fn listed(&self) -> (Vec<Listed>, usize) {
        let names = self.names();
        let unlisted = names.len().saturating_sub(MOST_LISTED);
        let listed = names.into_iter().take(MOST_LISTED).map(|(name, folder)| {
            let address = format!("run/{}/", encoded(&name));
            match runs::summary(&folder) {
                Ok(summary) => Listed {
                    folder: name,
                    address,
                    participants: summary.participants.len(),
                    standing: status_name(summary.status, runs::is_at_work(&folder)).into(),
                    name: Some(summary.name),
                },
                Err(error) => {
                    let standing = match error {
                        RunError::Damaged { .. } => "damaged",
                        RunError::OtherFormat { .. } => "of another version",
                        _ => "cannot be read",
                    };
                    Listed {
                        folder: name,
                        address,
                        name: None,
                        standing: standing.into(),
                        participants: 0,
                    }
                }
            }
        });
        (listed.collect(), unlisted)
    }
}

/// Is there a run in a folder, and not only a link to one?
fn is_run(folder: &Path) -> bool {
    fs::symlink_metadata(folder.join(DATABASE)).is_ok_and(|about| about.is_file())
}
