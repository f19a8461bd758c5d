//! Has a run kept something new? Told by its files alone, so that whoever watches a run holds
//! nothing open: a connection that stays open would keep the run from becoming one file at its
//! end, and old pages from being cleared on the way.

use std::{fs, path::Path, time::SystemTime};

use super::store::{DATABASE, is_at_work};

/// How the files of a run are at a moment. Two that are equal are of the same record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stamp {
    /// When the database and what was written beside it were last written to, and how long they are.
    files: [Option<(SystemTime, u64)>; 2],
    /// Was a run at work?
    pub is_at_work: bool,
}

/// How the files of a run are now.
pub fn stamp(folder: &Path) -> Stamp {
    let files = [DATABASE.to_owned(), format!("{DATABASE}-wal")].map(|name| {
        let about = fs::metadata(folder.join(name)).ok()?;
        Some((about.modified().ok()?, about.len()))
    });
    Stamp { files, is_at_work: is_at_work(folder) }
}
