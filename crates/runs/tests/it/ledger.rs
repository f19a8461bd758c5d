//! The ledger of remote participants against a naive account: interruptions, late declarations and plans
//! that change.

use std::{collections::BTreeSet, fs, path::Path};

use fedcompetitors_federate::{
    FederateError,
    exchange::{Content, IncidentKind},
};
use fedcompetitors_graphs::{BenefitGraph, CompetingGraph, Participants};
use fedcompetitors_record::{Direction, Finding, Flaw, Metric, Status};
use fedcompetitors_runs::{About, Final, Ledger, RunError, Told, audit, reseal};
use fedcompetitors_testing::cases;
use proptest::prelude::*;
use rusqlite::Connection;
use tempfile::TempDir;

const COUNT: usize = 4;

fn about() -> About {
    About {
        name: "test".into(),
        settings: "rounds = 3\n".into(),
        metric: Metric { name: "loss".into(), direction: Direction::Lower },
        seed: 1,
        rounds: 3,
        policy: "optimal".into(),
    }
}

fn competing(pairs: &[(usize, usize)]) -> CompetingGraph {
    let mut builder = CompetingGraph::builder(&Participants::numbered(COUNT));
    pairs.iter().for_each(|&(a, b)| builder.report(a, b).expect("two participants"));
    builder.build()
}

fn nothing_helps() -> BenefitGraph {
    BenefitGraph::builder(&Participants::numbered(COUNT)).build()
}

/// The text of a plan with these edges.
fn plan(edges: &[(usize, usize)]) -> String {
    let names = Participants::numbered(COUNT);
    let names: Vec<&str> = names.names().collect();
    let usage: Vec<_> = edges
        .iter()
        .map(|&(from, to)| serde_json::json!({"from": names[from], "to": names[to]}))
        .collect();
    serde_json::json!({
        "format": "fedcompetitors-plan/1", "policy": "optimal", "participants": names,
        "usage": usage, "welfare": 0.0, "upper_bound": 0.0,
    })
    .to_string()
}

fn follow(ledger: &mut Ledger, edges: &[(usize, usize)], why: &str) {
    let said = |_: &CompetingGraph, _: &_| String::new();
    ledger.follow((&plan(edges), "{}", why), &nothing_helps(), &said).expect("a plan");
}

fn begun(folder: &Path, pairs: &[(usize, usize)], edges: &[(usize, usize)]) -> Ledger {
    let sources = vec![("elsewhere".to_owned(), 10); COUNT];
    let mut ledger = Ledger::begin(folder, about(), competing(pairs), &sources).expect("begun");
    ledger.begin_estimate(1).expect("begun");
    ledger.end_estimate(&nothing_helps(), 1).expect("estimated");
    follow(&mut ledger, edges, "the first plan");
    ledger
}

/// A round in which everybody sends its model and some are handed sums of them.
fn round(
    ledger: &mut Ledger,
    number: usize,
    deliveries: &[(usize, Vec<usize>)],
) -> Result<(), RunError> {
    ledger.begin_round(number);
    let values: Vec<[f32; 2]> = (0..COUNT).map(|who| [number as f32, who as f32]).collect();
    let submissions: Vec<_> = values.iter().map(|model| Some((&model[..], &[][..]))).collect();
    let entries = ledger.collect(Content::Model, 2, &submissions)?;
    for (to, from) in deliveries {
        let made_of: Vec<u64> = from.iter().map(|&who| entries[who].expect("accepted")).collect();
        ledger.deliver(*to, Content::Model, &[0.5, 0.5], &made_of)?;
    }
    ledger.keep(number.to_le_bytes().to_vec())?;
    let kept: Vec<(u64, &[f32])> = entries
        .iter()
        .zip(&values)
        .map(|(entry, model)| (entry.expect("accepted"), &model[..]))
        .collect();
    ledger.keep_models(&kept)
}

fn finish(ledger: &mut Ledger) -> bool {
    let parameters = [1.0, 2.0];
    let models: Vec<Final<'_>> = (0..COUNT)
        .map(|who| Final { parameters: &parameters, parts: vec![(who, 1.0)], entry: None })
        .collect();
    let told = (0..COUNT)
        .map(|participant| Told {
            participant,
            split: "test".into(),
            metric: "loss".into(),
            value: Some(0.5),
        })
        .collect();
    ledger.finish(&models, &[("weights".into(), vec![2])], told, 30).expect("finished")
}

fn findings(folder: &Path) -> Vec<Finding> {
    audit(folder, None, None).expect("it can be read").findings
}

#[test]
fn a_run_from_plan_to_models_passes_the_audit() {
    let folder = TempDir::new().expect("a folder");
    let mut ledger = begun(folder.path(), &[(0, 2)], &[(0, 1), (1, 0)]);
    round(&mut ledger, 1, &[(1, vec![0, 1]), (0, vec![0, 1])]).expect("allowed");
    ledger.begin_round(2);
    ledger.incident(3, IncidentKind::Missing).expect("noted");
    round(&mut ledger, 3, &[(0, vec![1])]).expect("allowed");
    assert_eq!(ledger.carries(0).collect::<Vec<_>>(), [0, 1]);
    assert_eq!(ledger.carries(2).collect::<Vec<_>>(), [2]);
    assert!(finish(&mut ledger), "somebody was missing");
    drop(ledger);
    let found = audit(folder.path(), Some(&competing(&[(0, 2)])), None).expect("it can be read");
    assert_eq!(found.findings, []);
    assert_eq!((found.trainings, found.models, found.transfers), (1, 4, 11));
    assert_eq!(found.status, Status::WithIncidents);
}

#[test]
fn what_carries_a_competitors_data_does_not_go() {
    let folder = TempDir::new().expect("a folder");
    let mut ledger = begun(folder.path(), &[(0, 2)], &[(0, 1)]);
    round(&mut ledger, 1, &[(1, vec![0, 1])]).expect("allowed");
    // Through a friend: 1 was handed 0's data and would hand it to 2.
    let error = round(&mut ledger, 2, &[(2, vec![1, 2])]).expect_err("refused");
    let RunError::Learning { error: FederateError::Guard { path, .. }, .. } = &error else {
        panic!("the guard, and not {error}");
    };
    let names = Participants::numbered(COUNT);
    assert_eq!(*path, [0, 1, 2].map(|who| names.name(who).to_owned()));
    drop(ledger);
    let found = findings(folder.path());
    assert!(matches!(&found[..], [Finding::Stopped { .. }]), "{found:?}");
}

#[test]
fn nobody_is_handed_what_nobody_has_sent() {
    let folder = TempDir::new().expect("a folder");
    let mut ledger = begun(folder.path(), &[], &[]);
    ledger.begin_round(1);
    let refused = ledger.deliver(0, Content::Model, &[1.0], &[99]).expect_err("refused");
    assert_eq!(refused.to_string(), "the ledger has no accepted message 99");
    let early = ledger.end_estimate(&nothing_helps(), 1).expect_err("nothing was begun");
    assert_eq!(early.to_string(), "`end_estimate` needs `begin_estimate` first");
}

/// A competition that is declared late: what had flowed before is no breach, what flows
/// afterwards is. The audit is told so by the record, and says otherwise when that is changed.
#[test]
fn a_late_declaration_counts_from_the_next_round_on() {
    let folder = TempDir::new().expect("a folder");
    let mut ledger = begun(folder.path(), &[], &[(0, 1), (1, 0)]);
    round(&mut ledger, 1, &[(1, vec![0, 1]), (0, vec![0, 1])]).expect("they do not compete yet");
    ledger.declare(competing(&[(0, 1)]), 2).expect("declared");
    follow(&mut ledger, &[], "0 now competes with 1");
    round(&mut ledger, 2, &[]).expect("nothing flows");
    assert!(!finish(&mut ledger));
    drop(ledger);
    assert_eq!(findings(folder.path()), []);
    let database = Connection::open(folder.path().join("run.sqlite")).expect("a database");
    let plans: Vec<(u64, String)> = database
        .prepare("SELECT round, why FROM plans ORDER BY id")
        .and_then(|mut all| all.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect())
        .expect("plans");
    assert_eq!(plans, [(1, "the first plan".into()), (2, "0 now competes with 1".into())]);
    // Had it been known from the beginning, the first round would have been a breach, and
    // the first plan one that connects competitors.
    database.execute("UPDATE competing SET since = 0, heard = 0", []).expect("changed");
    let found = findings(folder.path());
    let breaches = found.iter().filter(|one| matches!(one, Finding::Breach { .. })).count();
    assert_eq!(breaches, 2, "{found:?}");
    let flaws = found.iter().filter_map(|one| match one {
        Finding::Flaw { flaw, .. } => Some(flaw),
        _ => None,
    });
    let flaws: Vec<&Flaw> = flaws.collect();
    assert!(flaws.iter().any(|flaw| matches!(flaw, Flaw::PlanConnects(..))), "{found:?}");
    assert!(flaws.contains(&&Flaw::Altered), "{found:?}");
}

#[test]
fn what_flows_after_a_late_declaration_is_refused() {
    let folder = TempDir::new().expect("a folder");
    let mut ledger = begun(folder.path(), &[], &[(0, 1)]);
    round(&mut ledger, 1, &[(1, vec![0, 1])]).expect("they do not compete yet");
    ledger.declare(competing(&[(0, 2)]), 2).expect("declared");
    // 1 carries 0's data since the first round.
    assert!(round(&mut ledger, 2, &[(2, vec![1])]).is_err());
}

#[test]
fn a_run_goes_on_where_it_was() {
    let folder = TempDir::new().expect("a folder");
    assert!(Ledger::resume(folder.path(), about()).expect("read").is_none());
    let mut ledger = begun(folder.path(), &[(0, 2)], &[(0, 1)]);
    round(&mut ledger, 1, &[(1, vec![0, 1])]).expect("allowed");
    drop(ledger);
    let other = About { settings: "rounds = 4\n".into(), ..about() };
    assert!(matches!(Ledger::resume(folder.path(), other), Err(RunError::Differs { .. })));
    let (mut ledger, stand) = Ledger::resume(folder.path(), about()).expect("read").expect("a run");
    assert_eq!((stand.round, stand.is_complete), (1, false));
    assert_eq!(stand.state, 1_usize.to_le_bytes());
    assert_eq!(stand.plan, Some(plan(&[(0, 1)])));
    assert_eq!(stand.benefit, Some(nothing_helps()));
    let kept: Vec<_> = stand.kept.iter().map(|one| (one.from(), one.values().to_vec())).collect();
    assert_eq!(kept[3], (3, vec![1.0, 3.0]));
    // It still knows that 1 carries 0's data, and what was kept may be handed on.
    assert_eq!(ledger.carries(1).collect::<Vec<_>>(), [0, 1]);
    ledger.begin_round(2);
    // What 1 had sent by then it sent before it was handed anything.
    ledger.deliver(2, Content::Model, &[1.0, 1.0], &[stand.kept[1].entry()]).expect("allowed");
    assert!(round(&mut ledger, 2, &[(2, vec![1])]).is_err());
    // A run that has its folder already is not begun again.
    drop(ledger);
    let again = Ledger::begin(folder.path(), about(), competing(&[]), &[]);
    assert!(matches!(again, Err(RunError::Exists { .. })));
}

#[test]
fn of_everybody_the_last_is_kept_and_at_the_end_nothing() {
    let folder = TempDir::new().expect("a folder");
    let mut ledger = begun(folder.path(), &[], &[(0, 1)]);
    let kept = folder.path().join("kept");
    let files = || fs::read_dir(&kept).expect("a folder").count();
    for number in 1..=3 {
        round(&mut ledger, number, &[(1, vec![0, 1])]).expect("allowed");
        // What is older is forgotten, but for 1's last model without 0's data.
        assert_eq!(files(), COUNT + usize::from(number > 1));
    }
    // One round later somebody was missing: of that one the file stays that was there.
    ledger.begin_round(4);
    let late = [4.0, 4.0];
    let mut submissions = vec![None; COUNT];
    submissions[1] = Some((&late[..], &[][..]));
    let entries = ledger.collect(Content::Model, 2, &submissions).expect("taken");
    ledger.keep(Vec::new()).expect("kept");
    ledger.keep_models(&[(entries[1].expect("accepted"), &late)]).expect("kept");
    drop(ledger);
    let (mut ledger, stand) = Ledger::resume(folder.path(), about()).expect("read").expect("a run");
    let values: Vec<_> = stand.kept.into_iter().map(|one| one.values().to_vec()).collect();
    assert_eq!(values, [[3.0, 0.0], [4.0, 4.0], [3.0, 2.0], [3.0, 3.0]]);
    assert_eq!(files(), COUNT + 1);
    finish(&mut ledger);
    assert!(!kept.exists());
}

/// For whom a competition is declared too late: since when it carries the other one's data, and
/// its last model without, also after an interruption.
#[test]
fn the_last_model_without_somebodys_data_is_kept() {
    let folder = TempDir::new().expect("a folder");
    let mut ledger = begun(folder.path(), &[], &[(0, 1), (2, 1)]);
    round(&mut ledger, 1, &[]).expect("allowed");
    round(&mut ledger, 2, &[(1, vec![0, 1])]).expect("allowed");
    round(&mut ledger, 3, &[(1, vec![2, 1])]).expect("allowed");
    round(&mut ledger, 4, &[]).expect("allowed");
    drop(ledger);
    let (mut ledger, stand) = Ledger::resume(folder.path(), about()).expect("read").expect("a run");
    assert_eq!(stand.kept[1].values(), [4.0, 1.0]);
    let since = |other| ledger.carries_since(1, other).expect("read");
    assert_eq!([since(0), since(2), since(3)], [Some(2), Some(3), None]);
    let last = |others: &[usize]| {
        let found = ledger.last_without(1, others).expect("read").expect("one");
        (found.1, found.2, ledger.provenance(found.0).expect("kept"))
    };
    assert_eq!(last(&[]), (4, vec![4.0, 1.0], vec![0, 1, 2]));
    assert_eq!(last(&[2, 3]), (3, vec![3.0, 1.0], vec![0, 1]));
    assert_eq!(last(&[0]), (2, vec![2.0, 1.0], vec![1]));
    assert_eq!(ledger.last_without(1, &[1]).expect("read"), None, "its own data is in all");
    ledger.declare(competing(&[(0, 1)]), 5).expect("declared");
    follow(&mut ledger, &[(2, 1)], "0 now competes with 1");
    ledger.begin_round(5);
    let (clean, _, values) = ledger.last_without(1, &[0]).expect("read").expect("one");
    ledger.deliver(1, Content::Model, &values, &[clean]).expect("allowed");
    // Everybody's model in the end carries what it carried when it came.
    let models: Vec<Final<'_>> = stand
        .kept
        .iter()
        .map(|one| {
            let (entry, parameters) =
                if one.from() == 1 { (clean, &values[..]) } else { (one.entry(), one.values()) };
            Final { parameters, parts: vec![(one.from(), 1.0)], entry: Some(entry) }
        })
        .collect();
    let unknown = Final { parameters: &values, parts: Vec::new(), entry: Some(99) };
    let tensors = [("weights".to_owned(), vec![2])];
    assert!(ledger.finish(&[unknown], &tensors, Vec::new(), 1).is_err(), "nobody has sent that");
    ledger.finish(&models, &tensors, Vec::new(), 1).expect("finished");
    drop(ledger);
    assert_eq!(findings(folder.path()), []);
    let database = Connection::open(folder.path().join("run.sqlite")).expect("a database");
    let provenance: String = database
        .query_row("SELECT provenance FROM models WHERE participant = 1", [], |row| row.get(0))
        .expect("a model");
    assert_eq!(provenance, "[1]");
}

#[test]
fn numbers_that_were_changed_are_not_gone_on_with() {
    let folder = TempDir::new().expect("a folder");
    let mut ledger = begun(folder.path(), &[], &[(0, 1)]);
    round(&mut ledger, 1, &[(1, vec![0, 1])]).expect("allowed");
    drop(ledger);
    let files = fs::read_dir(folder.path().join("kept")).expect("a folder");
    let file = files.map(|file| file.expect("a file").path()).min().expect("a file");
    let right = fs::read(&file).expect("numbers");
    let mut changed = right.clone();
    changed[0] ^= 1;
    let longer = [&right[..], &[0]].concat();
    for wrong in [&changed[..], &longer, &right[..4], &[]] {
        fs::write(&file, wrong).expect("written");
        let found = Ledger::resume(folder.path(), about());
        assert!(matches!(&found, Err(RunError::Damaged { path, .. }) if *path == file));
    }
    fs::remove_file(&file).expect("removed");
    assert!(matches!(
        Ledger::resume(folder.path(), about()),
        Err(RunError::Damaged { path, .. }) if path == file
    ));
    fs::write(&file, right).expect("written");
    assert!(Ledger::resume(folder.path(), about()).expect("read").is_some());
}

/// Killed between an estimate and the plan that is made of it: it is made again, and of several
/// the last one counts.
#[test]
fn an_estimate_may_be_made_again() {
    let folder = TempDir::new().expect("a folder");
    let sources = vec![("elsewhere".to_owned(), 10); COUNT];
    let mut ledger =
        Ledger::begin(folder.path(), about(), competing(&[]), &sources).expect("begun");
    let helps = |from: usize, value: f64| {
        let mut benefit = BenefitGraph::builder(&Participants::numbered(COUNT));
        benefit.add(from, 3, value).expect("a benefit");
        benefit.build()
    };
    for value in [0.5, 0.25] {
        ledger.begin_estimate(1).expect("begun");
        ledger.end_estimate(&helps(0, value), 1).expect("estimated");
    }
    let found =
        |folder: &Path| Ledger::resume(folder, about()).expect("read").expect("a run").1.benefit;
    drop(ledger);
    assert_eq!(found(folder.path()), Some(helps(0, 0.25)));
    let mut ledger = Ledger::resume(folder.path(), about()).expect("read").expect("a run").0;
    ledger.begin_estimate(4).expect("begun");
    ledger.end_estimate(&helps(1, 0.75), 1).expect("estimated");
    // One that is interrupted does not count, and what it has shown is on record.
    ledger.begin_estimate(4).expect("begun");
    ledger.begin_round(1);
    let submissions = vec![Some((&[1.0, 2.0][..], &[][..])); COUNT];
    let entries = ledger.collect(Content::Model, 2, &submissions).expect("taken");
    let made_of = [0, 1].map(|who: usize| entries[who].expect("accepted"));
    ledger.deliver(1, Content::Model, &[1.0, 2.0], &made_of).expect("allowed");
    ledger.keep_estimate().expect("kept");
    drop(ledger);
    assert_eq!(found(folder.path()), Some(helps(1, 0.75)));
    let database = Connection::open(folder.path().join("run.sqlite")).expect("a database");
    let told: Vec<(String, u64, u64)> = database
        .prepare("SELECT estimator, entries, before FROM estimates ORDER BY id")
        .and_then(|mut all| {
            all.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?.collect()
        })
        .expect("estimates");
    let told: Vec<_> = told.iter().map(|(label, entries, at)| (&**label, *entries, *at)).collect();
    let again = "mixture before round 4";
    let expected = [("mixture, earlier 1", 0, 1), ("mixture", 0, 1)];
    assert_eq!(told[..2], expected);
    assert_eq!(
        told[2..],
        [("mixture before round 4, earlier 3", 0, 4), (again, COUNT as u64 + 1, 1)]
    );
    assert_eq!(findings(folder.path()), []);
}

/// Everything is judged by what was declared when it was made, though all of it is of one round.
#[test]
fn a_declaration_counts_from_when_it_was_heard() {
    let folder = TempDir::new().expect("a folder");
    let mut ledger = begun(folder.path(), &[], &[(0, 1)]);
    let shown = |ledger: &mut Ledger| {
        ledger.begin_estimate(1).expect("begun");
        ledger.begin_round(1);
        let submissions = vec![Some((&[1.0, 2.0][..], &[][..])); COUNT];
        let entries = ledger.collect(Content::Model, 2, &submissions).expect("taken");
        let made_of = [0, 1].map(|who: usize| entries[who].expect("accepted"));
        let passed = ledger.deliver(1, Content::Model, &[1.0, 2.0], &made_of);
        ledger.keep_estimate().expect("kept");
        passed
    };
    shown(&mut ledger).expect("they do not compete yet");
    ledger.declare(competing(&[(0, 1)]), 1).expect("declared");
    ledger.break_off_estimate().expect("broken off");
    assert_eq!(findings(folder.path()), [], "the plan that follows is not made yet");
    follow(&mut ledger, &[], "0 now competes with 1");
    assert_eq!(findings(folder.path()), []);
    // The next ones are judged by it.
    let database = Connection::open(folder.path().join("run.sqlite")).expect("a database");
    database.execute("UPDATE plans SET known = 1 WHERE id = 1", []).expect("changed");
    database.execute("UPDATE estimates SET known = 1 WHERE entries > 0", []).expect("changed");
    let found = findings(folder.path());
    assert!(found.iter().any(|one| matches!(one, Finding::Breach { .. })), "{found:?}");
    assert!(
        found.iter().any(|one| matches!(one, Finding::Flaw { flaw: Flaw::PlanConnects(..), .. }))
    );
    assert!(shown(&mut ledger).is_err(), "the guard knows at once");
}

/// Killed behind the files and before the database knew of them: they are gone when the run
/// goes on. What is not ours stays.
#[test]
fn what_a_killed_run_has_left_is_removed_and_nothing_else() {
    let folder = TempDir::new().expect("a folder");
    let mut ledger = begun(folder.path(), &[], &[(0, 1)]);
    round(&mut ledger, 1, &[]).expect("allowed");
    drop(ledger);
    let kept = folder.path().join("kept");
    for name in ["1-999.f32", "2-1.f32", "notes.f32", "1-999.txt"] {
        fs::write(kept.join(name), "left").expect("written");
    }
    let mut ledger = Ledger::resume(folder.path(), about()).expect("read").expect("a run").0;
    let is_left = |name: &str| kept.join(name).exists();
    assert!(!is_left("1-999.f32") && !is_left("2-1.f32"));
    finish(&mut ledger);
    assert_eq!(fs::read_dir(&kept).expect("a folder").count(), 2);
    assert!(is_left("notes.f32") && is_left("1-999.txt"));
}

#[test]
fn a_run_that_is_killed_on_its_last_step_is_complete() {
    let folder = TempDir::new().expect("a folder");
    let mut ledger = begun(folder.path(), &[], &[(0, 1)]);
    round(&mut ledger, 1, &[]).expect("allowed");
    finish(&mut ledger);
    drop(ledger);
    let database = Connection::open(folder.path().join("run.sqlite")).expect("a database");
    database
        .execute_batch("UPDATE run SET value = 'running' WHERE key = 'status';")
        .expect("as it was before the last step");
    drop(database);
    reseal(folder.path()).expect("sealed");
    let (_, stand) = Ledger::resume(folder.path(), about()).expect("read").expect("a run");
    assert!(stand.is_complete);
    let found = audit(folder.path(), None, None).expect("it can be read");
    assert_eq!((found.status, found.findings), (Status::Complete, vec![]));
}

/// Killed while participants are at work, and stopped by the guard when it does that round
/// again: what moved then makes room when it goes on once more.
#[test]
fn a_round_that_was_killed_and_then_stopped_is_done_again() {
    let folder = TempDir::new().expect("a folder");
    let resumed = || Ledger::resume(folder.path(), about()).expect("read").expect("a run");
    let mut ledger = begun(folder.path(), &[(0, 2)], &[(0, 1)]);
    round(&mut ledger, 1, &[(1, vec![0, 1])]).expect("allowed");
    drop(ledger);
    let hand_out = |ledger: &mut Ledger, to: usize, of: u64| {
        ledger.begin_round(2);
        ledger.deliver(to, Content::Model, &[1.0, 1.0], &[of])
    };
    let (mut ledger, stand) = resumed();
    let sent = |who: usize| stand.kept[who].entry();
    hand_out(&mut ledger, 3, sent(0)).expect("allowed");
    ledger.keep(Vec::new()).expect("kept");
    drop(ledger);
    let (mut ledger, _) = resumed();
    hand_out(&mut ledger, 1, sent(0)).expect("allowed");
    hand_out(&mut ledger, 2, sent(0)).expect_err("refused");
    drop(ledger);
    assert!(matches!(&findings(folder.path())[..], [Finding::Stopped { .. }]));
    let (mut ledger, _) = resumed();
    hand_out(&mut ledger, 3, sent(3)).expect("allowed");
    ledger.keep(Vec::new()).expect("there is room");
    finish(&mut ledger);
    drop(ledger);
    assert_eq!(findings(folder.path()), []);
}

proptest! {
    #![proptest_config(cases(40))]
    /// Rounds, declarations and interruptions in any order: the ledger lets pass just what a
    /// naive account of everything that was ever handed over lets pass, and the audit of what
    /// is left agrees.
    #[test]
    fn the_book_agrees_with_a_naive_account(
        pairs in prop::collection::vec((0..COUNT, 0..COUNT), 0..3),
        history in prop::collection::vec(
            (0..COUNT, prop::collection::vec(0..COUNT, 1..3), any::<bool>(),
             prop::option::weighted(0.2, (0..COUNT, 0..COUNT))),
            1..6,
        ),
    ) {
        let folder = TempDir::new().expect("a folder");
        let mut known: Vec<_> = pairs.into_iter().filter(|(a, b)| a != b).collect();
        known.sort_unstable();
        known.dedup();
        let mut ledger = begun(folder.path(), &known, &[]);
        let mut carried: Vec<BTreeSet<usize>> = (0..COUNT).map(|who| BTreeSet::from([who])).collect();
        let mut is_stopped = false;
        for (at, (to, from, is_interrupted, declared)) in history.into_iter().enumerate() {
            if is_interrupted && at > 0 {
                drop(ledger);
                ledger = Ledger::resume(folder.path(), about()).expect("read").expect("a run").0;
            }
            let rivals = competing(&known);
            let sum: BTreeSet<usize> = from.iter().flat_map(|&who| carried[who].clone()).collect();
            let is_allowed = !sum.iter().any(|&who| rivals.competes(who, to));
            let passed = round(&mut ledger, at + 1, &[(to, from)]);
            prop_assert_eq!(passed.is_ok(), is_allowed);
            if !is_allowed {
                is_stopped = true;
                break;
            }
            carried[to].extend(sum);
            for (who, all) in carried.iter().enumerate() {
                prop_assert_eq!(ledger.carries(who).collect::<BTreeSet<_>>(), all.clone());
            }
            if let Some((a, b)) = declared && a != b && !known.contains(&(a, b)) {
                known.push((a, b));
                ledger.declare(competing(&known), at + 2).expect("declared");
            }
        }
        if !is_stopped {
            finish(&mut ledger);
        }
        drop(ledger);
        let found = findings(folder.path());
        prop_assert!(!found.iter().any(|one| matches!(one, Finding::Breach { .. })), "{:?}", found);
        let stops = found.iter().filter(|one| matches!(one, Finding::Stopped { .. })).count();
        prop_assert_eq!(stops, usize::from(is_stopped));
        if !is_stopped {
            prop_assert!(found.is_empty(), "{:?}", found);
        }
    }
}
