//! The store beside its readers.

use fedcompetitors_record::Status;
use std::path::PathBuf;

use fedcompetitors_graphs::{BenefitGraph, Participants};
use fedcompetitors_record::Session;

use super::*;
use fedcompetitors_federate::exchange::Exchange;

fn one_file(folder: &Path) -> bool {
    // The 19th byte of the file says how it is written: 1 beside a journal, 2 with a log.
    let bytes = std::fs::read(folder.join(DATABASE)).expect("a database");
    bytes[18] == 1 && !folder.join("run.sqlite-wal").exists()
}

fn stands(store: &mut Store, status: &str) {
    let say = "INSERT OR REPLACE INTO run VALUES ('status', ?)";
    store.change(|transaction| transaction.execute(say, [status])).expect("said");
}

fn begun() -> (tempfile::TempDir, PathBuf, Store) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("run");
    let mut store = Store::open(&path).expect("opened");
    stands(&mut store, "running");
    (folder, path, store)
}

#[test]
fn whoever_reads_sees_one_moment() {
    let (_folder, path, mut store) = begun();
    let reader = Store::read(&path).expect("read");
    stands(&mut store, "complete");
    assert_eq!(reader.said("status").expect("read").as_deref(), Some("running"));
    let later = Store::read(&path).expect("read");
    assert_eq!(later.said("status").expect("read").as_deref(), Some("complete"));
}

#[test]
fn a_run_ends_while_somebody_reads_it() {
    let (_folder, path, mut store) = begun();
    let reader = Store::read(&path).expect("read");
    store.finish(Status::Complete).expect("it ends");
    drop(store);
    drop(reader);
    assert!(!one_file(&path));
    let again = Store::open(&path).expect("opened");
    assert_eq!(again.said("status").expect("read").as_deref(), Some("complete"));
    again.become_one_file(Duration::ZERO).expect("it becomes one");
    assert!(one_file(&path));
}

/// A look with the intent to write changes nothing where the run is complete.
#[test]
fn a_complete_run_stays_one_file() {
    let (_folder, path, mut store) = begun();
    assert!(!one_file(&path), "beside readers");
    store.finish(Status::Complete).expect("it ends");
    drop(store);
    assert!(one_file(&path));
    let before = std::fs::read(path.join(DATABASE)).expect("a database");
    drop(Store::open(&path).expect("opened"));
    assert_eq!(std::fs::read(path.join(DATABASE)).expect("a database"), before);
}

/// An estimate that the guard has stopped leaves what had moved, until one comes to its end.
#[test]
fn a_stopped_estimate_is_on_record() {
    let (_folder, _path, mut store) = begun();
    let participants = Participants::numbered(2);
    let competing = CompetingGraph::builder(&participants).build();
    let source = |name: &str| StoredSource {
        name: name.into(),
        hash: String::new(),
        samples: 1,
        few: false,
    };
    store.begin(&[], &competing, &[source("a"), source("b")]).expect("begun");
    let mut exchange = Exchange::recorded(&competing);
    exchange.begin(1, &[]);
    exchange.entrust(0);
    let (transfers, _) = exchange.drain();
    let count = |store: &Store, table: &str| -> u64 {
        let query = format!("SELECT count(*) FROM {table}");
        store.rows(&query, [], |row| row.get(0)).expect("counted")[0]
    };
    for _ in 0..2 {
        store.stop_estimate(Session::Final, "mixture", (3, "stopped"), &transfers).expect("kept");
        assert_eq!((count(&store, "stops"), count(&store, "estimate_ledger")), (1, 1));
        assert!(store.estimate(&participants, Session::Final, "mixture").expect("read").is_none());
    }
    let benefit = BenefitGraph::builder(&participants).build();
    let estimate = Estimate { benefit, related: Vec::new(), gradients: 7, before: 1 };
    store.add_estimate(Session::Final, "mixture", &estimate, &[]).expect("kept");
    assert_eq!((count(&store, "stops"), count(&store, "estimate_ledger")), (0, 0));
    let found = store
        .estimate(&participants, Session::Final, "mixture")
        .expect("read")
        .expect("it is there");
    assert_eq!(found.gradients, 7);
}
