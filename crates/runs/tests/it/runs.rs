//! Runs: what their directories remember, and what the audit makes of it.

mod audit;
mod damaged;
mod records;

use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use fedcompetitors_files::parse_federation;
use fedcompetitors_runs::{Options, Prepared, RunError, reseal, run};
use rusqlite::Connection;

const FEDERATION: &str = r#"
name = "audited"
[benefit]
estimator = "mixture"
[evaluation]
folds = 1
[training]
trainer = "mixing"
rounds = 4
local-steps = 2
[[participants]]
name = "A"
generate = { samples = 30 }
competes-with = ["C"]
[[participants]]
name = "B"
generate = { samples = 30 }
[[participants]]
name = "C"
generate = { samples = 30 }
[[participants]]
name = "D"
generate = { samples = 30 }
[[participants]]
name = "E"
generate = { samples = 30 }
competes-with = ["D"]
"#;

/// A run in a folder of its own.
struct Case(tempfile::TempDir);

impl Case {
    fn new(text: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let case = Self(folder);
        case.run(text).expect("it runs");
        case
    }

    /// The same run once more, to do something else to it.
    fn copy(&self) -> Self {
        let copy = Self(tempfile::tempdir().expect("a folder"));
        fs::create_dir_all(copy.path().join("models")).expect("folders");
        for place in ["", "models"] {
            // A run that has not ended has no models.
            for entry in fs::read_dir(self.path().join(place)).into_iter().flatten() {
                let file = entry.expect("an entry").path();
                if let Some(name) = file.file_name().filter(|_| file.is_file()) {
                    fs::copy(&file, copy.path().join(place).join(name)).expect("copied");
                }
            }
        }
        copy
    }

    fn path(&self) -> PathBuf {
        self.0.path().join("run")
    }

    fn run(&self, text: &str) -> Result<(), RunError> {
        self.run_with(text, false, Duration::ZERO)
    }

    /// Goes on with what is there; the rounds until it ends or is stopped are kept together.
    fn resume(&self, text: &str) -> Result<(), RunError> {
        self.run_with(text, true, Duration::MAX)
    }

    fn run_with(&self, text: &str, resume: bool, checkpoint: Duration) -> Result<(), RunError> {
        let federation = parse_federation(Path::new("audited.toml"), text)?;
        let prepared = Prepared::read(federation, Path::new("."))?;
        run(
            &prepared,
            &Options {
                folder: &self.path(),
                resume,
                faults: None,
                given: None,
                checkpoint,
                explain: &|_| "a reason".into(),
                progress: &|_| {},
            },
        )
    }

    /// Changes the record.
    fn tamper(&self, statements: &str) {
        let database = Connection::open(self.path().join("run.sqlite")).expect("a database");
        database
            .execute_batch(&format!("PRAGMA foreign_keys = OFF; {statements}"))
            .expect("a change");
    }

    /// Changes the record and computes its hashes again, as a cheat would who knows the program.
    fn cheat(&self, statements: &str) {
        self.tamper(statements);
        reseal(&self.path()).expect("sealed");
    }

    /// Two numbers that the record holds.
    fn ask(&self, query: &str) -> (usize, usize) {
        let database = Connection::open(self.path().join("run.sqlite")).expect("a database");
        database.query_row(query, [], |row| Ok((row.get(0)?, row.get(1)?))).expect("a row")
    }
}
