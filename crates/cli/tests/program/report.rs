//! The page about a run: of finished, running, broken, hostile and large ones.

use std::fmt::Write as _;

use fedcompetitors_graphs::{BenefitGraph, CompetingGraph, Participants};
use fedcompetitors_record::{Content, Direction, IncidentKind, Metric};
use fedcompetitors_runs::{About, Final, Ledger, Told};
use fedcompetitors_testing::repeat;

use super::{
    runs::{SMALL, run_small},
    *,
};

fn page(sandbox: &Sandbox, path: &str) -> String {
    let page = fs::read_to_string(sandbox.path(path)).expect("a page");
    assert!(page.starts_with("<!DOCTYPE html>") && page.ends_with("</html>"), "{path}");
    page
}

pub fn tamper(sandbox: &Sandbox, statements: &str) {
    let database = rusqlite::Connection::open(sandbox.path("run/run.sqlite")).expect("a database");
    database.execute_batch(&format!("PRAGMA foreign_keys = OFF; {statements}")).expect("a change");
}

/// Changes the record and computes its hashes again.
pub fn cheat(sandbox: &Sandbox, statements: &str) {
    tamper(sandbox, statements);
    fedcompetitors_runs::reseal(&sandbox.path("run")).expect("sealed");
}

/// As if the first training were on its way.
const UNFINISHED: &str = "UPDATE run SET value = 'running' WHERE key = 'status';
    UPDATE trainings SET gradients = NULL WHERE id = 1;
    DELETE FROM models WHERE training = 1;
    DELETE FROM trainings WHERE id > 1;";

#[test]
fn a_finished_run_is_one_page_and_its_commands_work() {
    let sandbox = Sandbox::new();
    assert_eq!(sandbox.run(&["demo", "--out", "demo"]).status.code(), Some(0));
    let output = sandbox.run(&["report", "demo"]);
    assert_eq!(seen(&output), "--- stderr\nreport: demo/report.html\n--- exit status 0");
    let first = page(&sandbox, "demo/report.html");
    for words in [
        "eight hospitals in three cities",
        "✓ complete",
        "No participant's data reached a competitor.",
        "North University would help",
        "may not learn from",
        "+0.087 (+0.038 to +0.141)",
        "models/001-north-university.safetensors",
    ] {
        assert!(first.contains(words), "{words}");
    }
    let again = sandbox.run(&["report", "demo", "--output", "elsewhere.html"]);
    assert_eq!(again.status.code(), Some(0));
    assert!(page(&sandbox, "elsewhere.html") == first, "same run, same bytes");
    // What the page tells people to do.
    assert!(first.contains("fedcompetitors export demo --to checked\n"));
    assert_eq!(sandbox.run(&["export", "demo", "--to", "checked"]).status.code(), Some(0));
    let [competing, plan, certificate] = ["competing.csv", "plan.json", "certificate.json"]
        .map(|file| format!("checked/proof/{file}"));
    let verified = sandbox.run(&[
        "verify",
        "--competing",
        &competing,
        "--plan",
        &plan,
        "--against",
        &certificate,
    ]);
    assert_eq!(verified.status.code(), Some(0), "{}", seen(&verified));
}

#[test]
fn a_run_on_its_way_has_a_page() {
    let sandbox = Sandbox::new();
    sandbox.write("small.toml", SMALL);
    assert_eq!(run_small(&sandbox, &[]).status.code(), Some(0));
    cheat(&sandbox, UNFINISHED);
    let output = sandbox.run(&["report", "run"]);
    assert_eq!(output.status.code(), Some(0), "{}", seen(&output));
    let interrupted = page(&sandbox, "run/report.html");
    assert!(interrupted.contains("‖ interrupted") && interrupted.contains("--resume"));
    assert!(interrupted.contains("no training is done yet"));
    // Another process has the folder and is in the middle of a change.
    let lock = fs::File::open(sandbox.path("run/run.lock")).expect("a lock");
    lock.lock().expect("locked");
    let writer = rusqlite::Connection::open(sandbox.path("run/run.sqlite")).expect("a database");
    writer
        .execute_batch(
            "PRAGMA journal_mode = WAL; BEGIN IMMEDIATE; DELETE FROM usage; DELETE FROM benefits;",
        )
        .expect("a change");
    let output = sandbox.run(&["report", "run"]);
    assert_eq!(output.status.code(), Some(0), "{}", seen(&output));
    let running = page(&sandbox, "run/report.html");
    assert!(running.contains("… running") && running.contains("in the direction of the data"));
}

#[test]
fn what_the_guard_stopped_and_what_was_changed_comes_first() {
    let sandbox = Sandbox::new();
    sandbox.write("small.toml", SMALL);
    assert_eq!(run_small(&sandbox, &[]).status.code(), Some(0));
    tamper(&sandbox, "INSERT INTO usage VALUES (1, 0, 1);");
    let output = sandbox.run(&["report", "run"]);
    assert_eq!(output.status.code(), Some(1), "{}", seen(&output));
    let changed = page(&sandbox, "run/report.html");
    assert!(changed.contains("✕ fails the audit"));
    assert!(changed.contains("the plan connects &quot;A&quot; with its competitor &quot;B&quot;"));
    assert!(!changed.contains("Nobody's data came"));
    tamper(
        &sandbox,
        "INSERT INTO stops VALUES ('final', 'optimal+mixing', 3, 'the guard stopped <it>');",
    );
    assert_eq!(sandbox.run(&["report", "run"]).status.code(), Some(1));
    let stopped = page(&sandbox, "run/report.html");
    assert!(stopped.contains("✕ stopped by the guard"));
    assert!(stopped.contains("round 3: the guard stopped &lt;it&gt;"));
}

/// Whatever is cut off or turned round: a page that says so, or all is as it was.
#[test]
fn a_broken_run_has_a_page_that_says_so() {
    let sandbox = Sandbox::new();
    sandbox.write("small.toml", SMALL);
    assert_eq!(run_small(&sandbox, &[]).status.code(), Some(0));
    assert_eq!(sandbox.run(&["report", "run"]).status.code(), Some(0));
    let sound = page(&sandbox, "run/report.html");
    let whole = fs::read(sandbox.path("run/run.sqlite")).expect("a database");
    let mut partly = 0;
    for case in 0..repeat(24) as usize {
        fs::write(sandbox.path("run/run.sqlite"), damaged(&whole, case)).expect("written");
        let output = sandbox.run(&["report", "run"]);
        let told = text(&output.stderr);
        assert!(!told.contains("panicked"), "case {case}: {told}");
        let page = page(&sandbox, "run/report.html");
        if output.status.code() == Some(0) {
            assert!(page == sound, "case {case}: turned bytes can only hide where nothing stands");
        } else {
            assert_eq!(output.status.code(), Some(1), "case {case}: {told}");
            let is_told =
                page.contains("This record is damaged") || page.contains("The audit found");
            assert!(is_told && !page.contains("Nobody's data came"), "case {case}");
            partly += usize::from(page.contains("quoted"));
        }
    }
    assert!(partly > 3, "of {partly} only was anything read");
    fs::write(sandbox.path("run/run.sqlite"), b"not a database").expect("written");
    assert_eq!(sandbox.run(&["report", "run"]).status.code(), Some(1));
    let nothing = page(&sandbox, "run/report.html");
    assert!(nothing.contains("✕ damaged") && nothing.contains("The participants cannot be read."));
    // What is lost must not pass for none.
    assert!(!nothing.contains("Nothing useful was refused") && !nothing.contains("0 participants"));
}

#[test]
fn what_cannot_be_done_is_told_with_a_hint() {
    let sandbox = Sandbox::new();
    sandbox.write("small.toml", SMALL);
    assert_eq!(run_small(&sandbox, &[]).status.code(), Some(0));
    let outputs = [
        sandbox.run(&["report", "nowhere"]),
        sandbox.run(&["report", "run", "--output", "no/such/folder.html"]),
        sandbox.run(&["report", "run", "--output", "run/run.sqlite"]),
    ];
    insta::assert_snapshot!(outputs.iter().map(seen).collect::<Vec<_>>().join("\n\n"), @r"
    --- stderr
    error: nowhere contains no run
    hint: give a folder that `fedcompetitors run` has written
    --- exit status 2

    --- stderr
    error: no/such/folder.html: cannot be written: there is no such folder
    hint: check that the folder exists, is writable and has space left
    --- exit status 4

    --- stderr
    error: run/run.sqlite is an input file and would be overwritten
    hint: choose another output file
    --- exit status 2
    ");
}

/// A run whose names mean no good.
pub fn run_hostile(sandbox: &Sandbox) {
    let hostile = SMALL
        .replace("name = \"small\"", r#"name = "</title><script>alert(1)</script>""#)
        .replace("name = \"A\"", r#"name = "<script>alert(1)</script>""#)
        .replace("name = \"C/\\u2603 \\\"quoted\\\"\"", &format!("name = \"{}\"", "W".repeat(200)))
        .replace("name = \"D\"", r#"name = "evil\u202Eexe.\u0007""#)
        .replace("\"B\"", r#""\"><img src=x onerror=alert(1)>""#);
    sandbox.write("small.toml", &hostile);
    let output = run_small(sandbox, &[]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
}

#[test]
fn hostile_names_stay_names() {
    let sandbox = Sandbox::new();
    run_hostile(&sandbox);
    assert_eq!(sandbox.run(&["report", "run"]).status.code(), Some(0));
    let page = page(&sandbox, "run/report.html");
    for raw in ["<script", "<img", "\u{202e}", "\u{7}"] {
        assert!(!page.contains(raw), "{raw:?}");
    }
    for shown in
        ["&lt;script&gt;alert(1)&lt;/script&gt;", "&quot;&gt;&lt;img", "evil\\u{202e}exe.\\u{7}"]
    {
        assert!(page.contains(shown), "{shown}");
    }
}

/// A run of so many participants in groups of those who see the same.
pub fn run_many(sandbox: &Sandbox, count: usize) {
    let mut federation = String::from(
        "name = \"many\"\ncompare = [\"local\"]\n[selection]\npolicy = \"greedy\"\n\
         [benefit]\nestimator = \"given\"\n[benefit.given]\nfile = \"benefit.csv\"\n\
         [evaluation]\nfolds = 1\n[training]\ntrainer = \"mixing\"\nrounds = 8\nlocal-steps = 1\n",
    );
    let mut benefit = String::from("from,to,benefit\n");
    for a in 0..count {
        let rival = (a * 7 + 11) % count;
        let rival = if rival == a { (a + 1) % count } else { rival };
        let _ = writeln!(
            federation,
            "[[participants]]\nname = \"Hospital {a}\"\ngenerate = {{ samples = 30 }}\n\
             competes-with = [\"Hospital {rival}\"]"
        );
        for b in (0..count).filter(|&b| b != a && (b % 12 == a % 12 || (a + b * 3) % 97 == 0)) {
            let _ = writeln!(benefit, "Hospital {a},Hospital {b},0.{}", 1 + (a + b) % 9);
        }
    }
    sandbox.write("many.toml", &federation);
    sandbox.write("benefit.csv", &benefit);
    let output = sandbox.run(&["run", "many.toml", "--out", "run"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
}

/// Three hundred take a page that can be sent by mail.
#[test]
fn three_hundred_participants_have_a_page() {
    let sandbox = Sandbox::new();
    run_many(&sandbox, 300);
    assert_eq!(sandbox.run(&["report", "run"]).status.code(), Some(0));
    let page = page(&sandbox, "run/report.html");
    assert_eq!(page.matches("viewBox=\"0 0 300 300\"").count(), 3);
    assert!(page.len() < 5_000_000, "{} bytes", page.len());
}

/// A run of remote participants: nobody trained alone, and the plan
/// changed on the way.
#[test]
fn a_run_without_local_says_why_there_is_no_gain() {
    let sandbox = Sandbox::new();
    let participants = Participants::new(["Anna", "Ben", "Cleo"]).expect("valid");
    let mut competing = CompetingGraph::builder(&participants);
    competing.report(0, 1).expect("two");
    let mut benefit = BenefitGraph::builder(&participants);
    benefit.add(0, 2, 0.5).expect("two");
    let benefit = benefit.build();
    let about = About {
        name: "elsewhere".into(),
        settings: "rounds = 2\n".into(),
        metric: Metric { name: "loss".into(), direction: Direction::Lower },
        seed: 1,
        rounds: 2,
        policy: "optimal".into(),
    };
    let sources = ["at home", "at home", "at home"].map(|source| (source.to_owned(), 10));
    let folder = sandbox.path("run");
    let mut ledger = Ledger::begin(&folder, about, competing.build(), &sources).expect("begun");
    ledger.begin_estimate(1).expect("begun");
    ledger.end_estimate(&benefit, 1).expect("kept");
    let plan = |usage: &str, welfare: f64| {
        format!(
            "{{\"format\": \"fedcompetitors-plan/1\", \"policy\": \"optimal\", \
             \"participants\": [\"Anna\", \"Ben\", \"Cleo\"], \"usage\": [{usage}], \
             \"welfare\": {welfare}, \"upper_bound\": 0.5}}"
        )
    };
    let edge = "{\"from\": \"Anna\", \"to\": \"Cleo\", \"benefit\": 0.5}";
    let explain = |_: &CompetingGraph, _: &_| String::from("because");
    for (round, usage) in [(1, ""), (2, edge)] {
        let why = if round == 1 { "the first plan" } else { "Cleo has asked for it" };
        let text = plan(usage, if round == 1 { 0.0 } else { 0.5 });
        ledger.follow((&text, "{}", why), &benefit, &explain).expect("followed");
        ledger.begin_round(round);
        let values = [1.0_f32, 2.0];
        let submissions = [Some((&values[..], &values[..])), None, None];
        let entries = ledger.collect(Content::Model, 2, &submissions).expect("taken");
        ledger.incident(1, IncidentKind::Missing).expect("noted");
        if round == 2 {
            let entry = entries[0].expect("accepted");
            ledger.deliver(2, Content::Model, &values, &[entry]).expect("delivered");
        }
        let told = |participant| Told {
            participant,
            split: "validation".into(),
            metric: "loss".into(),
            value: Some(1.0 / round as f64),
        };
        ledger.tell(vec![told(0), told(2)]);
    }
    let values = [1.0_f32, 2.0];
    let submission = Some((&values[..], &values[..]));
    let last = ledger.collect(Content::Model, 2, &[submission, None, submission]).expect("taken");
    let parts = [vec![(0, 1.0)], vec![(1, 1.0)], vec![(0, 0.5), (2, 0.5)]];
    let models = parts.into_iter().zip(last);
    let models: Vec<_> =
        models.map(|(parts, entry)| Final { parameters: &values, parts, entry }).collect();
    ledger.finish(&models, &[("w".into(), vec![2])], Vec::new(), 2).expect("finished");
    drop(ledger);
    let output = sandbox.run(&["report", "run"]);
    let page = page(&sandbox, "run/report.html");
    assert_eq!(output.status.code(), Some(0), "{}", seen(&output));
    for words in [
        "! complete, with incidents",
        "the run did not include Local",
        "was missing: 2 times, 1 participant",
        "From round 2",
        "Cleo has asked for it.",
        "Cleo learns from Anna (weight 0.50)",
    ] {
        assert!(page.contains(words), "{words}");
    }
}
