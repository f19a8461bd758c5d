//! The memory of a run directory: one `SQLite` file, opened by one run at a time.
//!
//! Everything is written in transactions that end at a stage or at a round, so a run that
//! is killed at any instant finds itself as it was at such a moment. What is too large for that is
//! in files that are there before the database speaks of them.

mod estimates;
mod figures;
mod remote;
#[cfg(test)]
mod tests;
mod trainings;
mod whole;

use std::{
    fs::{File, TryLockError},
    path::{Path, PathBuf},
    str::FromStr,
    thread,
    time::{Duration, Instant},
};

use fedcompetitors_files::{remove_leftovers, sync_folder};
use fedcompetitors_graphs::CompetingGraph;
use fedcompetitors_record::{Session, Status, UnknownName};
use rusqlite::{Connection, OpenFlags, OptionalExtension, Transaction, params, types::Type};
use serde::{Serialize, de::DeserializeOwned};

use crate::RunError;
pub use estimates::{Estimate, title as estimate_title};
pub use figures::StoredPrediction;
pub use remote::NewPlan;
pub use trainings::{
    Checkpoint, Figure, Happened, NewTraining, StoredModel, StoredTraining, WrittenModel,
};
pub use whole::reseal;

/// Says that a database is ours: `FedC`.
const APPLICATION: i32 = 0x4665_6443;

/// The version of `schema.sql`.
const VERSION: i32 = 10;

const SCHEMA: &str = include_str!("store/schema.sql");

/// Which declaration of competitions was heard last.
const LAST_HEARD: &str = "(SELECT ifnull(max(heard), 0) FROM competing)";

/// The name of the database in a run directory.
pub const DATABASE: &str = "run.sqlite";

/// The name of the file that whoever writes there has locked.
const LOCK: &str = "run.lock";

/// How long a run waits for whoever asks whether one is at work already.
const ASKING: Duration = Duration::from_millis(200);

/// Is a run at work in a folder?
pub fn is_at_work(folder: &Path) -> bool {
    let asked = File::open(folder.join(LOCK)).map(|lock| lock.try_lock_shared());
    matches!(asked, Ok(Err(TryLockError::WouldBlock)))
}

/// How long a run that is complete waits for those who read it.
const PATIENCE: Duration = Duration::from_secs(1);

/// An open run directory.
#[derive(Debug)]
pub struct Store {
    path: PathBuf,
    connection: Connection,
    /// Held for as long as the store is open for writing.
    _lock: Option<File>,
}

impl Store {
    /// Opens a run directory to write to it; makes the database where there is none.
    pub fn open(folder: &Path) -> Result<Self, RunError> {
        fedcompetitors_files::make_folder(folder)?;
        // The name of the folder, too, is to outlive a power cut.
        let parent = folder.parent().filter(|parent| !parent.as_os_str().is_empty());
        sync_folder(parent.unwrap_or(Path::new(".")))?;
        let lock_path = folder.join(LOCK);
        let unwritable = |error| RunError::unwritable(&lock_path, error);
        let lock = File::options()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&lock_path)
            .map_err(unwritable)?;
        let start = Instant::now();
        loop {
            match lock.try_lock() {
                Ok(()) => break,
                // Somebody may only be asking whether a run is at work.
                Err(TryLockError::WouldBlock) if start.elapsed() < ASKING => {
                    thread::sleep(ASKING / 10);
                }
                Err(TryLockError::WouldBlock) => {
                    return Err(RunError::Busy { folder: folder.to_owned() });
                }
                Err(TryLockError::Error(error)) => return Err(unwritable(error)),
            }
        }
        // Nobody else is at work here: what is half written was left by a run that was killed.
        remove_leftovers(folder);
        remove_leftovers(&folder.join(crate::models::FOLDER));
        remove_leftovers(&folder.join(remote::KEPT));
        let path = folder.join(DATABASE);
        let connection = Connection::open(&path).map_err(|error| stored(&path, error))?;
        let store = Self { path, connection, _lock: Some(lock) };
        store.run("PRAGMA synchronous = FULL;")?;
        if store.is_new()? {
            store.go_on()?;
            store.run(&format!(
                "BEGIN IMMEDIATE; {SCHEMA}
                 PRAGMA application_id = {APPLICATION}; PRAGMA user_version = {VERSION}; COMMIT;"
            ))?;
        } else {
            store.identify()?;
            store.check_pages()?;
        }
        store.run("PRAGMA foreign_keys = ON;")?;
        Ok(store)
    }

    /// Opens a run directory to read it; a run may go on meanwhile. Pages are checked only as
    /// they are read: a checkpoint can be larger than all the rest.
    pub fn read(folder: &Path) -> Result<Self, RunError> {
        let path = folder.join(DATABASE);
        if !path.is_file() {
            return Err(RunError::NoRun { folder: folder.to_owned() });
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection =
            Connection::open_with_flags(&path, flags).map_err(|error| stored(&path, error))?;
        let store = Self { path, connection, _lock: None };
        store.identify()?;
        // The first SELECT chooses the moment: all that is read is of that one.
        store.run("BEGIN; SELECT count(*) FROM run;")?;
        Ok(store)
    }

    /// Opens a run directory to read whatever can be read of it, with what is wrong with it.
    pub fn read_what_can_be(folder: &Path) -> Result<(Self, Option<String>), RunError> {
        match Self::read(folder) {
            Ok(store) => Ok((store, None)),
            Err(RunError::Damaged { path, what }) => {
                let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
                let connection = Connection::open_with_flags(&path, flags)
                    .map_err(|error| stored(&path, error))?;
                Ok((Self { path, connection, _lock: None }, Some(what)))
            }
            Err(error) => Err(error),
        }
    }

    /// Gets ready to write beside readers. Not before it is known that the run goes on: one
    /// that is complete stays the one plain file that it is.
    pub fn go_on(&self) -> Result<(), RunError> {
        self.run("PRAGMA journal_mode = WAL;")
    }

    /// Is there nothing yet? Whoever was killed while it made its database has left an empty
    /// one, as all of it is made in one change.
    fn is_new(&self) -> Result<bool, RunError> {
        let tables = self
            .connection
            .query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get::<_, u64>(0));
        Ok(tables.map_err(|error| self.stored(error))? == 0)
    }

    /// Is this one of our databases, of this version?
    fn identify(&self) -> Result<(), RunError> {
        let number = |pragma: &str| -> Result<i32, RunError> {
            self.connection
                .query_row(&format!("PRAGMA {pragma}"), [], |row| row.get(0))
                .map_err(|error| self.stored(error))
        };
        if number("application_id")? != APPLICATION {
            return Err(self.damaged("it is not the database of a run".into()));
        }
        let found = number("user_version")?;
        if found == VERSION {
            return Ok(());
        }
        let (path, program) = (self.path.clone(), self.said("program").ok().flatten());
        let program = program.unwrap_or_default();
        Err(RunError::OtherFormat { path, found, supported: VERSION, program })
    }

    /// Checks every page of the database, which reads all of it.
    pub fn check_pages(&self) -> Result<(), RunError> {
        let found: String = self
            .connection
            .query_row("PRAGMA quick_check(1)", [], |row| row.get(0))
            .map_err(|error| self.stored(error))?;
        if found == "ok" { Ok(()) } else { Err(self.damaged(found)) }
    }

    /// Says that something here is not as it was written.
    pub fn damaged(&self, what: String) -> RunError {
        RunError::Damaged { path: self.path.clone(), what }
    }

    fn stored(&self, error: rusqlite::Error) -> RunError {
        stored(&self.path, error)
    }

    fn run(&self, statements: &str) -> Result<(), RunError> {
        self.connection.execute_batch(statements).map_err(|error| self.stored(error))
    }

    /// One whole change, or none, with the hashes that show damage.
    fn change<T>(
        &mut self,
        work: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<T>,
    ) -> Result<T, RunError> {
        let path = &self.path;
        let transaction = self.connection.transaction().map_err(|error| stored(path, error))?;
        let result = work(&transaction).map_err(|error| stored(path, error))?;
        whole::seal(&transaction).map_err(|error| stored(path, error))?;
        transaction.commit().map_err(|error| stored(path, error))?;
        Ok(result)
    }

    /// Something that the run says of itself.
    pub fn said(&self, key: &str) -> Result<Option<String>, RunError> {
        self.connection
            .query_row("SELECT value FROM run WHERE key = ?", [key], |row| row.get(0))
            .optional()
            .map_err(|error| self.stored(error))
    }

    /// Begins a run: what it is, who takes part, who competes.
    pub fn begin(
        &mut self,
        said: &[(&str, &str)],
        competing: &CompetingGraph,
        sources: &[StoredSource],
    ) -> Result<(), RunError> {
        let participants = competing.participants();
        self.change(|transaction| {
            for (key, value) in said {
                transaction.execute("INSERT INTO run VALUES (?, ?)", [key, value])?;
            }
            let mut insert =
                transaction.prepare("INSERT INTO participants VALUES (?, ?, ?, ?, ?, ?)")?;
            for (id, (name, source)) in participants.names().zip(sources).enumerate() {
                let StoredSource { name: file, hash, samples, few } = source;
                insert.execute(params![id, name, file, hash, samples, few])?;
            }
            let mut insert = transaction.prepare("INSERT INTO competing (a, b) VALUES (?, ?)")?;
            for (a, b) in competing.all_reports() {
                insert.execute(params![a, b])?;
            }
            Ok(())
        })
    }

    /// The rows of a query.
    pub fn rows<T>(
        &self,
        query: &str,
        parameters: impl rusqlite::Params,
        read: impl FnMut(&rusqlite::Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>, RunError> {
        let mut statement =
            self.connection.prepare_cached(query).map_err(|error| self.stored(error))?;
        let rows = statement.query_map(parameters, read).map_err(|error| self.stored(error))?;
        rows.collect::<Result<_, _>>().map_err(|error| self.stored(error))
    }

    /// The names of the columns of a query.
    pub fn columns(&self, query: &str) -> Result<Vec<String>, RunError> {
        let statement =
            self.connection.prepare_cached(query).map_err(|error| self.stored(error))?;
        Ok(statement.column_names().map(str::to_owned).collect())
    }

    /// Keeps which samples are for what, for each participant.
    pub fn add_splits(&mut self, session: Session, splits: &[StoredSplit]) -> Result<(), RunError> {
        let session = session.to_string();
        self.change(|transaction| {
            let mut insert = transaction
                .prepare("INSERT OR REPLACE INTO splits VALUES (?, ?, ?, ?, ?, ?, ?)")?;
            for (participant, split) in splits.iter().enumerate() {
                let ([training, validation, test], hash) = (split.counts, &split.hash);
                let tested = json(&split.tested);
                insert.execute(params![
                    session,
                    participant,
                    training,
                    validation,
                    test,
                    hash,
                    tested
                ])?;
            }
            Ok(())
        })
    }

    /// Ends the run: from now on the database is one file, unless somebody reads it.
    pub fn finish(&mut self, status: Status) -> Result<(), RunError> {
        self.change(|transaction| {
            transaction
                .execute("INSERT OR REPLACE INTO run VALUES ('status', ?)", [status.name()])?;
            Ok(())
        })?;
        self.become_one_file(PATIENCE)
    }

    /// Makes the database one plain file. Whoever reads it for longer than this prevents that,
    /// which does no harm: all is kept, and the next one who opens it to write tries again.
    pub fn become_one_file(&self, patience: Duration) -> Result<(), RunError> {
        use rusqlite::ErrorCode::{DatabaseBusy, DatabaseLocked};
        let start = Instant::now();
        loop {
            match self.connection.execute_batch("PRAGMA journal_mode = DELETE;") {
                Err(error)
                    if matches!(error.sqlite_error_code(), Some(DatabaseBusy | DatabaseLocked)) =>
                {
                    if start.elapsed() >= patience {
                        return Ok(());
                    }
                    thread::sleep(Duration::from_millis(20));
                }
                result => return result.map_err(|error| self.stored(error)),
            }
        }
    }
}

/// Where a participant's data comes from.
#[derive(Debug, Clone)]
pub struct StoredSource {
    /// The file, or that it is generated.
    pub name: String,
    /// The SHA-256 of what was read.
    pub hash: String,
    /// The number of samples.
    pub samples: usize,
    /// Whether a class has so few rows that figures say little.
    pub few: bool,
}

/// Which samples of a participant are for what in a session.
#[derive(Debug)]
pub struct StoredSplit {
    /// How many train, choose and test.
    pub counts: [usize; 3],
    /// The SHA-256 of the rows.
    pub hash: String,
    /// The numbers, in their file, of the rows that test.
    pub tested: Vec<u32>,
}

fn stored(path: &Path, error: rusqlite::Error) -> RunError {
    use rusqlite::ErrorCode::{DatabaseCorrupt, NotADatabase};
    match error.sqlite_error_code() {
        Some(DatabaseCorrupt | NotADatabase) => {
            RunError::Damaged { path: path.to_owned(), what: error.to_string() }
        }
        None if matches!(error, rusqlite::Error::FromSqlConversionFailure(..)) => {
            RunError::Damaged { path: path.to_owned(), what: error.to_string() }
        }
        _ => RunError::Store { path: path.to_owned(), error: Box::new(error) },
    }
}

/// The value that a column names. A record that was changed may name anything.
pub fn named<T: FromStr<Err = UnknownName>>(
    row: &rusqlite::Row<'_>,
    column: usize,
) -> rusqlite::Result<T> {
    row.get::<_, String>(column)?.parse().map_err(|error: UnknownName| {
        rusqlite::Error::FromSqlConversionFailure(column, Type::Text, Box::new(error))
    })
}

/// Plain data as JSON.
pub fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

/// Plain data from JSON, which may have been tampered with.
pub fn from_json<T: DeserializeOwned>(text: &str) -> Option<T> {
    serde_json::from_str(text).ok()
}

/// The edges of a plan, by name, from the text of its file.
pub fn plan_edges(plan: &str) -> Option<Vec<(String, String)>> {
    let plan: serde_json::Value = from_json(plan)?;
    let end = |edge: &serde_json::Value, end: &str| Some(edge.get(end)?.as_str()?.to_owned());
    let edges = plan.get("usage")?.as_array()?.iter();
    edges.map(|edge| Some((end(edge, "from")?, end(edge, "to")?))).collect()
}
