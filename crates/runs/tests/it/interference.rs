//! What a participant gets does not depend on its competitor's rows.

use std::{fmt::Write as _, fs, path::Path};

use fedcompetitors_files::parse_federation;
use fedcompetitors_graphs::{BenefitGraph, random::Stream};
use fedcompetitors_runs::Prepared;
use rusqlite::{Connection, types::Value};

use super::run_into;

const NAMES: [&str; 4] = ["A", "B", "C", "D"];

/// A competes with B. Everybody could help everybody else.
fn federation(top: &str) -> String {
    let mut text = format!(
        "name = \"interference\"\n{top}\n[task]\nkind = \"binary\"\ntarget = \"ill\"\n[evaluation]\nfolds = 3\nreplicates = 100\n"
    );
    for name in NAMES {
        let rivals = if name == "A" { "[\"B\"]" } else { "[]" };
        let _ = writeln!(
            text,
            "[[participants]]\nname = \"{name}\"\ndata = \"{name}.csv\"\ncompetes-with = {rivals}"
        );
    }
    text
}

/// Rows of one task; another task has other signs.
fn rows(seed: u64, count: usize, sign: f64) -> String {
    let mut stream = Stream::new(seed, "rows", 0);
    let mut number = || stream.below(2000) as f64 / 1000.0 - 1.0;
    let mut text = "x,y,z,ill\n".to_owned();
    for _ in 0..count {
        let (x, y, z) = (number(), number(), number());
        let ill = sign * (2.0 * x - y) + 0.8 * number() > 0.0;
        let _ = writeln!(text, "{x},{y},{z},{}", u8::from(ill));
    }
    text
}

/// Runs the federation with these rows of A.
fn run_with(of_a: &str, text: &str, is_given: bool) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("A.csv"), of_a).expect("written");
    for (seed, name) in (1..).zip(&NAMES[1..]) {
        let file = folder.path().join(format!("{name}.csv"));
        fs::write(file, rows(seed, 90, 1.0)).expect("written");
    }
    let federation = parse_federation(Path::new("interference.toml"), text).expect("good");
    let prepared = Prepared::read(federation, folder.path()).expect("good");
    let given = is_given.then(|| {
        let mut given = BenefitGraph::builder(prepared.participants());
        for (from, to) in (0..16).map(|at| (at / 4, at % 4)).filter(|(from, to)| from != to) {
            given.add(from, to, 1.0 + from as f64 / 10.0).expect("a benefit");
        }
        given.build()
    });
    run_into(&prepared, &folder.path().join("run"), given).expect("it runs");
    folder
}

/// What a query finds.
fn ask(folder: &Path, query: &str, who: usize) -> Vec<Vec<Value>> {
    let database = Connection::open(folder.join("run/run.sqlite")).expect("a database");
    let mut query = database.prepare(query).expect("a query");
    let columns = query.column_count();
    let row = |row: &rusqlite::Row<'_>| (0..columns).map(|at| row.get(at)).collect();
    let rows = query.query_map([who], row).expect("rows");
    rows.collect::<Result<_, _>>().expect("rows")
}

/// All that concerns a participant: what it receives, its figures, what its models predict, its model's file.
fn all_of(folder: &Path, who: usize) -> (Vec<Vec<Vec<Value>>>, Vec<u8>) {
    let of_trainings = "JOIN trainings ON trainings.id = training WHERE";
    let queries = [
        format!("SELECT session, method, round, content, bytes, ledger.hash FROM ledger {of_trainings} receiver = ? ORDER BY training, entry"),
        "SELECT session, round, content, bytes, estimate_ledger.hash FROM estimate_ledger JOIN estimates ON estimates.id = estimate WHERE receiver = ? ORDER BY estimate, entry".into(),
        format!("SELECT session, method, round, split, metric, value FROM metrics {of_trainings} participant = ? ORDER BY training, round, split, metric"),
        format!("SELECT session, method, outputs FROM predictions {of_trainings} participant = ? ORDER BY training"),
        "SELECT method, metric, value, low, high, gain, gain_low, gain_high FROM figures WHERE participant = ? ORDER BY id".into(),
        format!("SELECT session, method, models.hash, models.provenance FROM models {of_trainings} participant = ? ORDER BY training"),
    ];
    let found = queries.iter().map(|query| ask(folder, query, who)).collect();
    let name = NAMES[who].to_lowercase();
    let file = folder.join(format!("run/models/{:03}-{name}.safetensors", who + 1));
    (found, fs::read(file).expect("a model"))
}

/// Runs with other rows of A: nothing of B differs, by no bit, though A and a friend of both are others.
fn assert_no_interference(text: &str, is_given: bool) {
    let one = run_with(&rows(9, 60, 1.0), text, is_given);
    // Other rows, of another task, and more of them.
    let other = run_with(&rows(10, 120, -1.0), text, is_given);
    let [of_b, of_b_then] = [&one, &other].map(|folder| all_of(folder.path(), 1));
    let (messages, figures) = (&of_b.0[0], &of_b.0[4]);
    assert!(!messages.is_empty() && !figures.is_empty(), "B receives something");
    assert!(of_b == of_b_then);
    for who in [0, 2] {
        assert!(all_of(one.path(), who) != all_of(other.path(), who), "{}", NAMES[who]);
    }
}

#[test]
fn under_messages_with_everything_computed() {
    let text = federation(
        "rule = \"messages\"\ncompare = [\"local\"]\n[benefit]\nestimator = \"evidence\"\n[training]\ntrainer = \"evidence\"\n[training.evidence]\nsingle-source = true",
    );
    assert_no_interference(&text, false);
}

#[test]
fn under_messages_with_networks() {
    let text = federation(
        "rule = \"messages\"\ncompare = [\"local\"]\n[model]\nhidden = [6]\n[benefit]\nestimator = \"trunks\"\n[benefit.trunks]\nsteps = 20\nthreshold = 0.0\n[training]\ntrainer = \"trunks\"\nrounds = 6\n[training.trunks]\nnetworks = 2",
    );
    assert_no_interference(&text, false);
}

/// Under `paths` the plan depends on everybody, so it is given: here A helps C, and B gets what is left.
#[test]
fn under_paths_with_the_plan_given() {
    let text = federation(
        "compare = [\"local\"]\n[benefit]\nestimator = \"given\"\n[benefit.given]\nfile = \"benefit.csv\"\n[training]\ntrainer = \"evidence\"\n[training.evidence]\nsingle-source = true",
    );
    assert_no_interference(&text, true);
}
