//! Runs: from a federation file to models, killed and resumed, with faults.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use assert_cmd::cargo::cargo_bin;
use fedcompetitors_testing::repeat;

use super::{report::cheat, *};

/// A small federation with all kinds of trainers, done in a moment.
pub const SMALL: &str = r#"
name = "small"
seed = 7
compare = ["local", "scaffold", "ce", "pooled"]
[data]
validation = 0.2
[evaluation]
folds = 1
test = 0.4
[benefit]
estimator = "mixture"
[training]
trainer = "mixing"
rounds = 12
local-steps = 3
rate = 0.05
batch = 16
[training.hypernetworks]
hidden = 5
[[participants]]
name = "A"
generate = { samples = 80 }
competes-with = ["B"]
[[participants]]
name = "B"
generate = { samples = 40 }
[[participants]]
name = "C/\u2603 \"quoted\""
generate = { samples = 60, kind = 1 }
[[participants]]
name = "D"
generate = { samples = 30 }
competes-with = ["B"]
"#;

/// Every file that a run leaves, with what `export` makes of its record; what tells of time
/// or of the database's own pages is not among them.
fn left_behind(sandbox: &Sandbox, folder: &str) -> BTreeMap<String, Vec<u8>> {
    let output = sandbox.run(&["export", folder, "--to", &format!("{folder}-export")]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let mut files = BTreeMap::new();
    for place in [folder.to_owned(), format!("{folder}/models"), format!("{folder}-export")] {
        for entry in fs::read_dir(sandbox.path(&place)).expect("a folder") {
            let path = entry.expect("an entry").path();
            let name = path.file_name().expect("a name").to_string_lossy().into_owned();
            if path.is_file() && !name.starts_with("run.") {
                files.insert(name, fs::read(path).expect("readable"));
            }
        }
    }
    assert!(files.len() > 15, "{:?}", files.keys());
    files
}

pub fn run_small(sandbox: &Sandbox, more: &[&str]) -> Output {
    sandbox.run(&[&["run", "small.toml", "--out", "run"], more].concat())
}

#[test]
fn a_run_ends_with_everybodys_own_model_and_a_record_that_can_be_audited() {
    let sandbox = Sandbox::new();
    let output = sandbox.run(&["demo", "--out", "demo"]);
    let shown = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(shown.contains("8 participants, 6 competing pairs; complete."), "{shown}");
    assert!(text(&output.stderr).ends_with("report: demo/report.html\n"));
    let page = fs::read_to_string(sandbox.path("demo/report.html")).expect("a page");
    assert!(page.contains("may not learn from") && page.ends_with("</html>"));
    for word in [
        "North Clinic",
        "optimal+evidence",
        "(rule messages)",
        "pooled (reference)",
        "gain",
        "refused",
    ] {
        assert!(shown.contains(word), "{word}: {shown}");
    }
    assert_eq!(fs::read_dir(sandbox.path("demo/models")).expect("models").count(), 8);
    let report = fs::read_to_string(sandbox.path("demo/report.md")).expect("a report");
    assert!(report.contains("may not learn from"), "{report}");
    let audit = sandbox.run(&["audit", "demo"]);
    assert_eq!(audit.status.code(), Some(0));
    assert!(text(&audit.stdout).contains("The rule `paths` was kept"));
    let status = text(&sandbox.run(&["status", "demo"]).stdout);
    assert!(status.starts_with("eight hospitals in three cities: complete; 26 trainings done"));
    let metrics = text(&sandbox.run(&["metrics", "demo", "--format", "csv"]).stdout);
    let header = "run,method,session,participant,round,split,metric,value";
    assert_eq!(metrics.lines().next(), Some(header));
    assert!(metrics.contains("eight hospitals in three cities,local,repeat 1 fold 3,East Clinic,"));
}

/// The counts are those of the rows that a participant trains and chooses on.
#[test]
fn a_run_with_diminishing_returns_says_what_its_plan_is_worth() {
    let sandbox = Sandbox::new();
    let objective = "[selection]\nobjective = \"diminishing\"\n[training]";
    sandbox.write("federation.toml", &SMALL.replacen("[training]", objective, 1));
    let output = sandbox.run(&["run", "federation.toml", "--out", "run"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let status = text(&sandbox.run(&["status", "run"]).stdout);
    assert!(status.contains("value by diminishing returns 0.0"), "{status}");
    assert!(status.contains("no plan has more"), "{status}");
}

/// A federation under `messages` that learns by evidence, in several folds.
const WITH_EVIDENCE: &str = r#"
name = "with evidence"
seed = 7
rule = "messages"
compare = ["local", "optimal+evidence", "pooled"]
[evaluation]
folds = 5
repeats = 2
replicates = 200
[benefit]
estimator = "evidence"
[training]
trainer = "evidence"
[training.evidence]
single-source = true
[[participants]]
name = "A"
generate = { samples = 150, features = 12 }
competes-with = ["B"]
[[participants]]
name = "B"
generate = { samples = 100, features = 12 }
[[participants]]
name = "C"
generate = { samples = 120, features = 12, kind = 1 }
[[participants]]
name = "D"
generate = { samples = 90, features = 12 }
competes-with = ["B"]
[[participants]]
name = "E"
generate = { samples = 60, features = 12 }
"#;

/// Runs a federation with one thread and with two, which leave the same files.
fn with_threads(federation: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("small.toml", federation);
    let run = |threads: &str| {
        let output = assert_cmd::cargo::cargo_bin_cmd!("fedcompetitors")
            .current_dir(sandbox.0.path())
            .env("RAYON_NUM_THREADS", threads)
            .args(["run", "small.toml", "--out", &format!("threads-{threads}/run")])
            .output()
            .expect("it runs");
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        left_behind(&sandbox, &format!("threads-{threads}/run"))
    };
    assert!(run("1") == run("2"));
    sandbox
}

#[test]
fn threads_change_nothing_in_evidence() {
    with_threads(WITH_EVIDENCE);
}

#[test]
fn threads_and_restarts_change_nothing() {
    let sandbox = with_threads(SMALL);
    // A run that is complete stays as it is.
    let database = || fs::read(sandbox.path("threads-1/run/run.sqlite")).expect("a database");
    let before = (left_behind(&sandbox, "threads-1/run"), database());
    let again = sandbox.run(&["run", "small.toml", "--out", "threads-1/run", "--resume"]);
    assert_eq!(again.status.code(), Some(0), "{}", text(&again.stderr));
    assert!((left_behind(&sandbox, "threads-1/run"), database()) == before);
    insta::assert_snapshot!(text(&sandbox.run(&["run", "small.toml", "--out", "threads-1/run"]).stderr), @r"
    error: threads-1/run already contains a run
    hint: continue it with --resume, or choose another folder with --out
    ");
    assert!(database() == before.1, "nor does a run that is refused change it");
}

/// Killed at instants spread over its whole life, a run resumes and ends with the same bytes each
/// time.
#[test]
fn killed_at_any_instant_a_run_resumes_to_the_same_bytes() {
    resumes_to_the_same_bytes(SMALL, repeat(100));
}

#[test]
fn killed_at_any_instant_a_run_with_evidence_resumes_to_the_same_bytes() {
    resumes_to_the_same_bytes(WITH_EVIDENCE, repeat(30));
}

fn resumes_to_the_same_bytes(federation: &str, instants: u32) {
    let sandbox = Sandbox::new();
    sandbox.write("small.toml", federation);
    let start = |resume: bool| {
        let mut command = Command::new(cargo_bin!("fedcompetitors"));
        command.args(["run", "small.toml", "--out", "run"]).args(resume.then_some("--resume"));
        // A checkpoint after every round, so that there are as many states as can be.
        command.env("FEDCOMPETITORS_CHECKPOINT_SECONDS", "0").current_dir(sandbox.0.path());
        command.stdout(Stdio::null()).stderr(Stdio::null());
        command
    };
    let begun = Instant::now();
    assert!(start(false).status().expect("it runs").success());
    let mut whole = begun.elapsed();
    let expected = left_behind(&sandbox, "run");
    let mut killed = 0;
    for instant in 0..instants {
        fs::remove_dir_all(sandbox.path("run")).expect("removed");
        let mut child = start(false).spawn().expect("it runs");
        // Not quite even, so that no beat of the run is always missed.
        let part = (f64::from(instant) + 0.5 * f64::from(instant % 7) / 7.0) / f64::from(instants);
        thread::sleep(whole.mul_f64(part));
        child.kill().expect("killed");
        if child.wait().expect("it ended").success() {
            // The machine has less to do than when the whole was timed.
            whole = whole.mul_f64(0.9);
        } else {
            killed += 1;
        }
        assert!(start(true).status().expect("it runs").success(), "after instant {instant}");
        assert!(left_behind(&sandbox, "run") == expected, "after instant {instant}");
    }
    assert!(2 * killed > instants, "only {killed} of {instants} were still running");
}

/// On a disk that is full nothing that was saved is lost: with space the run goes on.
#[cfg(unix)]
#[test]
fn a_full_disk_is_told_and_survived() {
    let sandbox = Sandbox::new();
    sandbox.write("small.toml", SMALL);
    let program = cargo_bin!("fedcompetitors");
    let expected = {
        assert_eq!(run_small(&sandbox, &[]).status.code(), Some(0));
        let expected = left_behind(&sandbox, "run");
        fs::remove_dir_all(sandbox.path("run")).expect("removed");
        expected
    };
    let mut failures = 0;
    for blocks in [1, 20, 100, 200, 300] {
        // No file may grow beyond so many blocks: what a full disk looks like to a program.
        let script = format!(
            "trap '' XFSZ; ulimit -f {blocks}; exec '{}' run small.toml --out run --resume",
            program.display()
        );
        let output = Command::new("sh")
            .args(["-c", &script])
            .env("FEDCOMPETITORS_CHECKPOINT_SECONDS", "0")
            .current_dir(sandbox.0.path())
            .output()
            .expect("it runs");
        if output.status.code() != Some(0) {
            failures += 1;
            assert_eq!(output.status.code(), Some(4), "{}", text(&output.stderr));
            assert!(text(&output.stderr).contains("\nhint: "), "{}", text(&output.stderr));
        }
    }
    assert!(failures >= 2, "the limit was never reached");
    assert_eq!(run_small(&sandbox, &["--resume"]).status.code(), Some(0));
    assert!(left_behind(&sandbox, "run") == expected);
}

#[test]
fn two_runs_in_one_folder_and_other_surprises() {
    let sandbox = Sandbox::new();
    sandbox.write("small.toml", SMALL);
    assert_eq!(run_small(&sandbox, &[]).status.code(), Some(0));
    let lock = File::open(sandbox.path("run/run.lock")).expect("a lock");
    lock.lock().expect("locked");
    let busy = run_small(&sandbox, &["--resume"]);
    lock.unlock().expect("unlocked");
    let other = SMALL.replace("rounds = 12", "rounds = 13");
    sandbox.write("small.toml", &other);
    let changed = run_small(&sandbox, &["--resume"]);
    sandbox.write("small.toml", SMALL);
    let faults = "[[faults]]\nparticipant = \"A\"\ndoes = \"missing\"\n";
    sandbox.write("faults.toml", faults);
    let faulty = run_small(&sandbox, &["--resume", "--faults", "faults.toml"]);
    let nothing = sandbox.run(&["status", "nowhere"]);
    fs::write(
        sandbox.path("run/run.sqlite"),
        b"SQLite format 3\0 or so, but not really a database",
    )
    .expect("written");
    let damaged = run_small(&sandbox, &["--resume"]);
    let audited = sandbox.run(&["audit", "run"]);
    let outputs = [busy, changed, faulty, nothing, damaged, audited];
    let seen: Vec<String> = outputs.iter().map(seen).collect();
    insta::assert_snapshot!(seen.join("\n\n"));
}

/// A record of another version is not damaged: the message names both versions.
#[test]
fn a_record_of_another_version_is_named() {
    let sandbox = Sandbox::new();
    sandbox.write("small.toml", SMALL);
    assert_eq!(run_small(&sandbox, &[]).status.code(), Some(0));
    let database = rusqlite::Connection::open(sandbox.path("run/run.sqlite")).expect("a database");
    let other =
        "PRAGMA user_version = 8; UPDATE run SET value = 'version 0.0.9' WHERE key = 'program'";
    database.execute_batch(other).expect("a change");
    drop(database);
    let commands = [&["status", "run"][..], &["audit", "run"], &["report", "run"]];
    let mut outputs: Vec<String> =
        commands.iter().map(|command| seen(&sandbox.run(command))).collect();
    outputs.push(seen(&run_small(&sandbox, &["--resume"])));
    assert!(outputs.iter().all(|one| one == &outputs[0]), "{outputs:#?}");
    insta::assert_snapshot!(outputs[0]);
}

/// Whatever is cut off or turned round in the database: never a panic, never success with
/// other figures.
#[test]
fn a_damaged_database_is_noticed() {
    let sandbox = Sandbox::new();
    sandbox.write("small.toml", SMALL);
    assert_eq!(run_small(&sandbox, &[]).status.code(), Some(0));
    let whole = fs::read(sandbox.path("run/run.sqlite")).expect("a database");
    let metrics = sandbox.run(&["metrics", "run"]).stdout;
    for case in 0..repeat(30) as usize {
        fs::write(sandbox.path("run/run.sqlite"), damaged(&whole, case)).expect("written");
        for command in ["status", "audit", "metrics"] {
            let output = sandbox.run(&[command, "run"]);
            let told = text(&output.stderr);
            assert!(!told.contains("panicked"), "case {case}: {told}");
            if output.status.code() != Some(0) {
                assert!(told.is_empty() || told.contains("hint: "), "case {case}: {told}");
            } else if command == "metrics" {
                // Turned bytes can only hide where nothing stands that is shown.
                assert!(output.stdout == metrics, "case {case}");
            }
        }
    }
}

/// That the guard has stopped a training, and that a plan is perhaps not the best, is told
/// wherever somebody would look.
#[test]
fn stops_and_plans_that_may_not_be_the_best_are_told() {
    let sandbox = Sandbox::new();
    sandbox.write("small.toml", SMALL);
    assert_eq!(run_small(&sandbox, &[]).status.code(), Some(0));
    // As if the first training had just begun, by a plan that brings A's data to B by way of C,
    // after a search that was cut off.
    cheat(
        &sandbox,
        "CREATE TABLE plan AS SELECT * FROM usage WHERE training = 1;
         DELETE FROM usage WHERE training = 1;
         INSERT INTO usage VALUES (1, 0, 2), (1, 2, 1);
         UPDATE trainings SET gradients = NULL, entries = 0,
             upper_bound = 1.25 * welfare WHERE id = 1;
         DELETE FROM ledger WHERE training = 1;
         DELETE FROM metrics WHERE training = 1;
         DELETE FROM models WHERE training = 1;
         UPDATE run SET value = 'running' WHERE key = 'status';",
    );
    let audit = text(&sandbox.run(&["audit", "run"]).stdout);
    assert!(
        audit.contains("\nThe run is not complete: it is in progress or was stopped"),
        "{audit}"
    );
    assert_eq!(run_small(&sandbox, &["--resume"]).status.code(), Some(3), "the guard fires");
    let status = text(&sandbox.run(&["status", "run"]).stdout);
    assert!(status.starts_with("small: stopped by the guard; 5 trainings done"), "{status}");
    let stop = "optimal+mixing, final: round 3: the guard stopped a delivery to \"B\"";
    assert!(status.contains(&format!("\nStopped: {stop}")), "{status}");
    let audit = sandbox.run(&["audit", "run"]);
    assert_eq!(audit.status.code(), Some(1));
    let shown = text(&audit.stdout);
    assert!(shown.contains("\nSTOPPED, optimal+mixing, final: round 3: the guard"), "{shown}");
    cheat(
        &sandbox,
        "DELETE FROM usage WHERE training = 1;
         INSERT INTO usage SELECT * FROM plan; DROP TABLE plan;",
    );
    let run = run_small(&sandbox, &["--resume"]);
    assert_eq!(run.status.code(), Some(0), "{}", text(&run.stderr));
    let status = text(&sandbox.run(&["status", "run"]).stdout);
    assert!(!status.contains("topped"), "{status}");
    let report = fs::read_to_string(sandbox.path("run/report.md")).expect("a report");
    for shown in [status, text(&run.stdout), report] {
        let line = "optimal+mixing, final: the plan is within 20.0 % of the best";
        assert!(shown.contains(line), "{shown}");
    }
    // Whoever has the federation file need not believe who competes.
    let audit = sandbox.run(&["audit", "run", "--federation", "small.toml"]);
    assert_eq!(audit.status.code(), Some(0), "{}", text(&audit.stdout));
    assert!(text(&audit.stdout).contains("\nThe run is complete.\n"));
    sandbox.write("other.toml", &SMALL.replacen("competes-with = [\"B\"]", "", 1));
    let audit = sandbox.run(&["audit", "run", "--federation", "other.toml"]);
    assert_eq!(audit.status.code(), Some(1));
    let flaw = "\nflaw in the run: \"A\" and \"B\" compete only according to the record\n";
    assert!(text(&audit.stdout).contains(flaw), "{}", text(&audit.stdout));
}

#[test]
fn faults_are_lived_with_and_named() {
    let sandbox = Sandbox::new();
    sandbox.write("small.toml", SMALL);
    sandbox.write(
        "faults.toml",
        r#"
        # A drops out and returns, D joins late, C sends garbage.
        faults = [
            { participant = "A", does = "missing", first = 4, last = 6 },
            { participant = "D", does = "missing", last = 3 },
            { participant = 'C/☃ "quoted"', does = "sends-nan", first = 5, last = 5 },
            { participant = 'C/☃ "quoted"', does = "sends-huge", first = 7, last = 8 },
        ]
        "#,
    );
    let output = run_small(&sandbox, &["--faults", "faults.toml"]);
    let shown = text(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "the status says so: {}", text(&output.stderr));
    for line in [
        "complete with incidents",
        "A was missing in rounds 4 to 6 (optimal+mixing, final).",
        "D was missing in rounds 1 to 3 (optimal+mixing, final).",
        "C/☃ \"quoted\" sent NaN or infinite values (refused) in round 5 (optimal+mixing, final).",
        "C/☃ \"quoted\" sent values that are far too large (refused) in rounds 7 to 8 (optimal+mixing, final).",
    ] {
        assert!(shown.contains(line), "{line}: {shown}");
    }
    assert_eq!(sandbox.run(&["audit", "run"]).status.code(), Some(0));
    let metrics = text(&sandbox.run(&["metrics", "run"]).stdout);
    assert!(!metrics.to_lowercase().contains("nan"), "nothing is poisoned");
    // Nobody is there at first: then nobody is handed anything either.
    let away =
        |name: &str| format!("[[faults]]\nparticipant = '{name}'\ndoes = \"missing\"\nlast = 1\n");
    let all = ["A", "B", "C/☃ \"quoted\"", "D"].map(away);
    sandbox.write("faults.toml", &all.concat());
    let output = sandbox.run(&["run", "small.toml", "--out", "late", "--faults", "faults.toml"]);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    let audit = sandbox.run(&["audit", "late"]);
    assert_eq!(audit.status.code(), Some(0), "{}", text(&audit.stdout));
    sandbox.write("faults.toml", "[[faults]]\nparticipant = \"E\"\ndoes = \"missing\"\n");
    let unknown = text(&run_small(&sandbox, &["--faults", "faults.toml"]).stderr);
    assert!(unknown.starts_with("error: faults.toml, line 2: the participant \"E\" is unknown"));
    let never = "[[faults]]\nparticipant = \"B\"\ndoes = \"missing\"\nfirst = 12\nlast = 9\n";
    sandbox.write("never.toml", never);
    let output = sandbox.run(&["run", "small.toml", "--out", "other", "--faults", "never.toml"]);
    let told = text(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{told}");
    assert!(told.contains("never.toml, line 2") && told.contains("not after `last`"), "{told}");
}

/// A model that is lost or exchanged is found by the audit.
/// The estimate of a method that is only compared with is paid for like any other.
#[test]
fn a_plan_without_estimate_can_be_compared_with_one_that_has_it() {
    let sandbox = Sandbox::new();
    let compared = SMALL
        .replace("\"local\", \"scaffold\", \"ce\", \"pooled\"", "\"optimal+mixing\"")
        .replace("[data]", "[selection]\npolicy = \"cliques\"\n[data]");
    sandbox.write("small.toml", &compared);
    let output = run_small(&sandbox, &[]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(text(&output.stdout).contains("optimal+mixing"));
}

/// A run that was stopped says how to go on, and is not said to be running.
#[cfg(unix)]
#[test]
fn status_tells_who_is_at_work() {
    let sandbox = Sandbox::new();
    sandbox.write("small.toml", &SMALL.replace("rounds = 12", "rounds = 200000"));
    let mut child = Command::new(cargo_bin("fedcompetitors"))
        .args(["run", "small.toml", "--out", "run"])
        .current_dir(sandbox.path("."))
        .env("FEDCOMPETITORS_CHECKPOINT_SECONDS", "0")
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it runs");
    let status = || text(&sandbox.run(&["status", "run"]).stdout);
    while !status().starts_with("small: running") {
        assert_eq!(child.try_wait().expect("a child"), None, "{}", status());
        thread::sleep(Duration::from_millis(10));
    }
    let interrupt = ["-INT", &child.id().to_string()];
    assert!(Command::new("kill").args(interrupt).status().expect("kill").success());
    let output = child.wait_with_output().expect("it ran");
    assert_eq!(output.status.code(), Some(130));
    assert!(text(&output.stderr).contains("run small.toml --out run --resume"));
    let after = status();
    assert!(after.starts_with("small: interrupted"), "{after}");
    assert!(after.contains("--out run --resume"), "{after}");
}

#[test]
fn the_audit_misses_no_model() {
    let sandbox = Sandbox::new();
    sandbox.write("small.toml", SMALL);
    assert_eq!(run_small(&sandbox, &[]).status.code(), Some(0));
    let models: Vec<_> = fs::read_dir(sandbox.path("run/models"))
        .expect("models")
        .map(|entry| entry.expect("an entry").path())
        .collect();
    let mut models = models;
    models.sort();
    fs::copy(&models[1], &models[0]).expect("copied");
    fs::remove_file(&models[2]).expect("removed");
    let audit = sandbox.run(&["audit", "run"]);
    let shown = text(&audit.stdout);
    assert_eq!(audit.status.code(), Some(1));
    assert!(shown.contains("the file of the model of \"A\", models/001-a.safetensors, is not the one that was trained"), "{shown}");
    assert!(shown.contains("the model of \"C/☃ \"quoted\"\" cannot be read"), "{shown}");
}
