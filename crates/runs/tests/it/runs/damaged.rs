//! A run that was interrupted, and whose record or models are changed before it goes on.

use std::{
    fs,
    panic::{AssertUnwindSafe, catch_unwind},
    path::Path,
    sync::atomic::{AtomicUsize, Ordering},
    time::Duration,
};

use fedcompetitors_files::parse_federation;
use fedcompetitors_record::Finding;
use fedcompetitors_runs::{Options, Prepared, RunError, Step, audit, run};
use rusqlite::{Connection, types::Value};

use super::{Case, FEDERATION};

/// How long trainings took: the one table from which nothing follows.
const UNSEALED: &str = "seconds";

/// A run that is killed in the round of its last training that comes after this many.
fn interrupted(rounds: usize) -> Case {
    let case = Case(tempfile::tempdir().expect("a folder"));
    let text = format!("compare = [\"fedavg\"]\n{FEDERATION}");
    let federation = parse_federation(Path::new("audited.toml"), &text).expect("a federation");
    let prepared = Prepared::read(federation, Path::new(".")).expect("prepared");
    let last = AtomicUsize::new(0);
    let result = catch_unwind(AssertUnwindSafe(|| {
        let progress = |progress: &fedcompetitors_runs::Progress<'_>| {
            let is_last = progress.trainings.0 + 1 == progress.trainings.1;
            if is_last && matches!(progress.step, Step::Train(_)) {
                assert!(last.fetch_add(1, Ordering::Relaxed) < rounds, "killed");
            }
        };
        run(
            &prepared,
            &Options {
                folder: &case.path(),
                resume: false,
                faults: None,
                given: None,
                checkpoint: Duration::ZERO,
                explain: &|_| "a reason".into(),
                progress: &progress,
            },
        )
    }));
    assert!(result.is_err(), "it was killed");
    // What SQLite has not brought together yet is in its log: one file from here on.
    Connection::open(case.path().join("run.sqlite"))
        .and_then(|database| database.execute_batch("PRAGMA journal_mode = DELETE"))
        .expect("one file");
    case
}

fn resumed(case: &Case) -> Result<(), RunError> {
    case.resume(&format!("compare = [\"fedavg\"]\n{FEDERATION}"))
}

/// The tables of a record with their columns.
fn columns(database: &Connection) -> Vec<(String, Vec<String>)> {
    let names = |query: &str| -> Vec<String> {
        let mut names = database.prepare(query).expect("a query");
        let names = names.query_map([], |row| row.get(0)).expect("names");
        names.collect::<Result<_, _>>().expect("names")
    };
    let tables =
        names("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%'");
    let with_columns = |table: String| {
        let columns = names(&format!("SELECT name FROM pragma_table_info('{table}')"));
        (table, columns)
    };
    tables.into_iter().map(with_columns).collect()
}

/// Another value of the same type.
fn other(value: &Value) -> Value {
    match value {
        Value::Null => Value::Integer(1),
        Value::Integer(number) => Value::Integer(number + 1),
        Value::Real(number) => Value::Real(number + 0.25),
        Value::Text(text) => Value::Text(format!("{text}x")),
        Value::Blob(bytes) => Value::Blob([&bytes[..], &[0]].concat()),
    }
}

/// Each column of each table in turn has another value in its last row, and each table loses that row: a run
/// that goes on refuses it, and the audit is not clean.
#[test]
fn whatever_is_changed_in_an_interrupted_run_is_found() {
    let whole = interrupted(3);
    let untouched = whole.copy();
    resumed(&untouched).expect("it goes on");
    let untouched = audit(&untouched.path(), None, None).expect("it can be read");
    assert_eq!(untouched.findings, []);
    let database = Connection::open(whole.path().join("run.sqlite")).expect("a database");
    let mut changes = Vec::new();
    for (table, columns) in columns(&database) {
        let last = format!("rowid = (SELECT max(rowid) FROM {table})");
        let has_rows: bool = database
            .query_row(&format!("SELECT count(*) > 0 FROM {table}"), [], |row| row.get(0))
            .expect("a count");
        if !has_rows || table == UNSEALED {
            continue;
        }
        let has_rowid = database.prepare(&format!("SELECT rowid FROM {table}")).is_ok();
        let last = if has_rowid {
            last
        } else {
            format!("({0}) = (SELECT {0} FROM {table} LIMIT 1)", columns.join(", "))
        };
        changes.push((format!("DELETE FROM {table} WHERE {last}"), Value::Null));
        for column in columns {
            let value: Value = database
                .query_row(&format!("SELECT {column} FROM {table} WHERE {last}"), [], |row| {
                    row.get(0)
                })
                .unwrap_or(Value::Null);
            changes.push((format!("UPDATE {table} SET {column} = ?1 WHERE {last}"), other(&value)));
        }
    }
    let mut tried = 0;
    for (change, value) in &changes {
        let case = whole.copy();
        let database = Connection::open(case.path().join("run.sqlite")).expect("a database");
        database.execute_batch("PRAGMA foreign_keys = OFF").expect("off");
        let parameters: &[&dyn rusqlite::ToSql] =
            if change.contains("?1") { &[value] } else { &[] };
        // Some values are no values of their column.
        if database.execute(change, parameters).unwrap_or(0) == 0 {
            continue;
        }
        drop(database);
        tried += 1;
        let audited = audit(&case.path(), None, None);
        let flawed = |finding: &Finding| matches!(finding, Finding::Flaw { .. });
        // An audit does not read the state from which a run goes on.
        assert!(
            change.contains("UPDATE checkpoints")
                || audited.is_err()
                || audited.is_ok_and(|audit| audit.findings.iter().any(flawed)),
            "{change} {value:?}: the audit does not find it"
        );
        let error = resumed(&case).expect_err(&format!("{change} {value:?}: it goes on"));
        assert!(!matches!(error, RunError::Learning { .. }), "{change}: {error}");
    }
    assert!(tried > 60, "{tried} changes");
}

/// What is done to a model, given another one.
type Harm = fn(&Path, &Path);

/// Models that are gone, cut off or somebody else's are found when a run goes on, whether it is at its end or killed
/// just before.
#[test]
fn a_damaged_model_is_found_by_resume() {
    let whole = Case::new(FEDERATION);
    let killed = whole.copy();
    killed.cheat("UPDATE run SET value = 'running' WHERE key = 'status'");
    let harms: [(&str, Harm); 5] = [
        ("gone", |model, _| fs::remove_file(model).expect("removed")),
        ("cut off", |model, _| {
            let bytes = fs::read(model).expect("read");
            fs::write(model, &bytes[..bytes.len() - 3]).expect("written");
        }),
        ("changed", |model, _| {
            let mut bytes = fs::read(model).expect("read");
            let last = bytes.len() - 1;
            bytes[last] ^= 1;
            fs::write(model, bytes).expect("written");
        }),
        ("described otherwise", |model, _| {
            let text = fs::read(model).expect("read");
            let at = text.windows(7).position(|window| window == b"\"fills\\").expect("a header");
            let mut bytes = text;
            bytes[at + 1] = b'F';
            fs::write(model, bytes).expect("written");
        }),
        ("another's", |model, other| fs::copy(other, model).map(drop).expect("copied")),
    ];
    for case in [&whole, &killed] {
        case.copy().resume(FEDERATION).expect("it goes on");
        for (what, harm) in harms {
            let case = case.copy();
            let mut models: Vec<_> = fs::read_dir(case.path().join("models"))
                .expect("models")
                .map(|entry| entry.expect("an entry").path())
                .collect();
            models.sort();
            harm(&models[1], &models[0]);
            let error = case.resume(FEDERATION).expect_err(what).to_string();
            assert!(error.contains("002-b.safetensors"), "{what}: {error}");
        }
    }
}
