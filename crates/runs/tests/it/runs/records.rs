//! What a run directory remembers, and whom it lets go on.

use std::{fs, time::Duration};

use fedcompetitors_federate::FederateError;
use fedcompetitors_record::{Finding, Flaw, Session, Status};
use fedcompetitors_runs::{Advice, RunError, audit, export, record, summary, write_metrics};

use super::{Case, FEDERATION};

/// A checkpoint says nothing of its form: only the version that wrote it may read it.
#[test]
fn another_version_does_not_go_on() {
    let case = Case::new(FEDERATION);
    case.cheat("UPDATE run SET value = 'version 0.0.9 with checkpoints 0' WHERE key = 'program'");
    case.cheat("UPDATE run SET value = 'running' WHERE key = 'status'");
    let error = case.resume(FEDERATION).expect_err("it is another version");
    let told = error.to_string();
    assert!(
        told.contains("was started by version 0.0.9 with checkpoints 0, but this is"),
        "{told}"
    );
    assert_eq!(error.advice(), Advice::UseThatVersion);
}

/// The guard stops a training whose plan was tampered with. What moved until then and that it was
/// stopped stay on record, until a resumed run gets past.
#[test]
fn a_stop_of_the_guard_is_kept() {
    let case = Case::new(FEDERATION);
    let exported = |name: &str| {
        let into = case.path().join(name);
        export(&case.path(), &into).expect("exported");
        fs::read(into.join("ledger.csv")).expect("a ledger")
    };
    let expected = exported("before");
    // Begun and not a round done, by a plan that brings A's data to C by way of B and D.
    // Mixing gives models with the next round's request, one step of that way in a round.
    case.cheat(
        "CREATE TABLE plan AS SELECT * FROM usage WHERE training = 1;
         DELETE FROM usage WHERE training = 1;
         INSERT INTO usage VALUES (1, 0, 1), (1, 1, 3), (1, 3, 2);
         UPDATE trainings SET gradients = NULL, hash = NULL, entries = 0 WHERE id = 1;
         DELETE FROM ledger WHERE training = 1;
         DELETE FROM metrics WHERE training = 1;
         DELETE FROM models WHERE training = 1;
         UPDATE run SET value = 'running' WHERE key = 'status';",
    );
    // From the start, from the start with a checkpoint on the way, and from that checkpoint.
    for (time, pause) in
        [("first", Duration::MAX), ("second", Duration::ZERO), ("third", Duration::ZERO)]
    {
        let error = case.run_with(FEDERATION, true, pause).expect_err("the guard fires");
        let RunError::Learning { error: FederateError::Guard { round, .. }, .. } = &error else {
            panic!("{error}");
        };
        assert_eq!(*round, 4, "{time}");
        let (entries, last) =
            case.ask("SELECT count(*), max(round) FROM ledger WHERE training = 1");
        assert!(entries > 8, "{time}: {entries}");
        assert_eq!(last, 4, "{time}");
        let (handed, _) = case.ask(
            "SELECT count(*), 0 FROM ledger WHERE training = 1 AND round = 4 AND receiver = 1",
        );
        assert_eq!(handed, 2, "{time}: what was handed over before the stop is there");
        let found = summary(&case.path()).expect("it can be read");
        assert_eq!(found.status, Status::Stopped);
        assert_eq!((found.stops.len(), found.stops[0].round), (1, 4));
        assert!(found.stops[0].message.contains("the guard stopped a delivery to \"C\""));
        let found = audit(&case.path(), None, None).expect("it can be read");
        let stopped = |finding: &Finding| matches!(finding, Finding::Stopped { .. });
        assert_eq!(found.findings.iter().filter(|finding| stopped(finding)).count(), 1);
        let of_plan = |finding: &Finding| {
            matches!(finding, Finding::Flaw { flaw: Flaw::PlanConnects(..), .. })
        };
        assert!(found.findings.iter().all(|one| stopped(one) || of_plan(one)), "{found:?}");
    }
    case.cheat(
        "DELETE FROM usage WHERE training = 1; DELETE FROM checkpoints;
         INSERT INTO usage SELECT * FROM plan; DROP TABLE plan;",
    );
    case.resume(FEDERATION).expect("it gets past");
    let found = audit(&case.path(), None, None).expect("it can be read");
    assert_eq!(found.findings, []);
    assert_eq!(found.status, Status::Complete);
    assert_eq!(summary(&case.path()).expect("it can be read").stops, []);
    assert_eq!(exported("after"), expected);
}

/// Pages that follow a run ask for its saved rounds twice a second. A checkpoint can be large, and
/// only a run that resumes reads and hashes it.
#[test]
fn saved_rounds_are_read_without_the_checkpoint() {
    let case = Case::new(FEDERATION);
    case.cheat(
        "UPDATE run SET value = 'running' WHERE key = 'status';
         UPDATE trainings SET gradients = NULL, hash = NULL WHERE id = 1;
         DELETE FROM models WHERE training = 1;
         INSERT INTO checkpoints VALUES (1, 2, 40, zeroblob(100000), zeroblob(9), x'00');",
    );
    let found = record(&case.path()).expect("it can be read");
    assert_eq!(found.problems, [""; 0]);
    assert_eq!(found.summary.unfinished.map(|one| (one.done, one.rounds)), Some((2, 4)));
    let found = summary(&case.path()).expect("it can be read");
    assert_eq!(found.unfinished.map(|one| one.done), Some(2));
    let error = case.resume(FEDERATION).expect_err("the checkpoint is not the one that was saved");
    assert!(error.to_string().contains("the checkpoint of round 2 was changed"), "{error}");
}

/// A look at a run reads no checkpoint, so it shows a run whose checkpoint is damaged; whatever
/// builds on the whole record refuses it.
#[test]
fn a_damaged_checkpoint_is_found_where_all_is_read() {
    let case = Case::new(FEDERATION);
    case.tamper(&format!(
        "UPDATE run SET value = 'running' WHERE key = 'status';
         UPDATE trainings SET gradients = NULL, hash = NULL WHERE id = 1;
         DELETE FROM models WHERE training = 1;
         INSERT INTO checkpoints VALUES (1, 2, 40, x'{}', x'00', x'00');",
        "ab".repeat(80_000)
    ));
    let path = case.path().join("run.sqlite");
    let mut bytes = fs::read(&path).expect("a database");
    let page = usize::from(u16::from_be_bytes([bytes[16], bytes[17]]));
    // A page in the midst of the checkpoint begins with the number of the next one.
    let in_checkpoint = |page: &[u8]| page[4..].iter().all(|&byte| byte == 0xab);
    let at = bytes.chunks(page).position(in_checkpoint).expect("such a page");
    bytes[at * page..][..4].fill(0xff);
    fs::write(&path, bytes).expect("written");

    let shown = summary(&case.path()).expect("shown");
    assert_eq!(shown.unfinished.map(|one| one.done), Some(2));
    let shown = record(&case.path()).expect("shown");
    assert_eq!(shown.problems, [""; 0]);
    let metrics = write_metrics(&case.path(), &mut Vec::new()).map(|_| ());
    let into = case.path().join("export");
    let exported = export(&case.path(), &into);
    let audited = audit(&case.path(), None, None).map(|_| ());
    for result in [metrics, exported, audited, case.resume(FEDERATION)] {
        let error = result.expect_err("damaged");
        assert!(matches!(error, RunError::Damaged { .. }), "{error}");
    }
}

/// Whatever is counted by participant is refused where it does not add up, and figures that
/// were changed are not shown.
#[test]
fn a_damaged_record_is_refused() {
    let whole = Case::new(FEDERATION);
    let refused = |statements: &str, words: &str| {
        let case = whole.copy();
        case.tamper(statements);
        let error = summary(&case.path()).expect_err(statements);
        assert!(error.to_string().contains(words), "{error}");
    };
    refused("DELETE FROM participants WHERE id = 2", "participant 2 is missing");
    refused("UPDATE competing SET b = 9", "there is no participant 9");
    refused("DELETE FROM models WHERE participant = 4", "not one model for each participant");
    refused("UPDATE models SET parts = '[[9,0.5]]'", "there is no participant 9");
    refused("UPDATE models SET provenance = '[9]'", "there is no participant 9");
    refused("UPDATE models SET parts = 'x'", "this cannot be read: x");
    refused("UPDATE flows SET pairs = '[[0,9]]'", "there is no participant 9");
    refused("INSERT INTO refusals VALUES (1, 9, 0, '')", "there is no participant 9");
    refused("INSERT INTO incidents VALUES (1, 1, 1, 9, 'missing')", "there is no participant 9");
    refused("UPDATE run SET value = 'finished' WHERE key = 'status'", "\"finished\" is unknown");
    for statements in [
        "UPDATE metrics SET value = 0.99 WHERE participant = 0 AND round = 4",
        "UPDATE participants SET name = 'F' WHERE id = 0",
        "UPDATE ledger SET bytes = bytes + 1 WHERE entry = 3",
        "UPDATE trainings SET hash = NULL WHERE id = 1",
        "UPDATE run SET value = 'another' WHERE key = 'name'",
        "DELETE FROM splits",
    ] {
        let case = whole.copy();
        case.tamper(statements);
        let metrics = write_metrics(&case.path(), &mut Vec::new());
        let into = case.path().join("export");
        for result in [metrics.map(|_| ()), export(&case.path(), &into), case.resume(FEDERATION)] {
            let error = result.expect_err(statements);
            assert!(error.to_string().contains("it was changed after it was written"), "{error}");
        }
        assert!(!into.exists(), "nothing is written");
    }
}

/// How good each plan is stands in the record; where there is no plan, nothing does.
#[test]
fn plans_are_kept_with_their_bound() {
    let case = Case::new(&format!("compare = [\"fedavg\", \"pooled\"]\n{FEDERATION}"));
    let found = summary(&case.path()).expect("it can be read");
    for method in &found.methods {
        let fold = Session::Fold { repeat: 1, fold: 1 };
        let sessions: Vec<Session> = method.plans.iter().map(|plan| plan.0).collect();
        let expected: &[Session] = match method.name.as_str() {
            "pooled" => &[],
            // Only the federation's own method has final models, and a final plan.
            "optimal+mixing" => &[Session::Final, fold],
            _ => &[fold],
        };
        assert_eq!(sessions, expected, "{}", method.name);
        for (_, plan) in &method.plans {
            assert!(plan.upper_bound >= plan.welfare, "{}: {plan:?}", method.name);
            if method.policy == "optimal" {
                assert!(plan.welfare > 0.0 && plan.upper_bound <= plan.welfare * (1.0 + 1e-6));
            }
        }
    }
}
