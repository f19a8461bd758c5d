//! Runs: from a federation file to models, killed and resumed, with faults, on real forms.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
    fs::{self, File},
    path::Path,
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

/// One mistyped number does not cost a column, and is pointed to.
#[test]
fn init_points_to_what_is_no_number() {
    let sandbox = Sandbox::new();
    fs::create_dir(sandbox.path("towns")).expect("a folder");
    let rows = |name: &str| {
        let row = |at: usize| match (name, at) {
            ("Davos", 5) => "sixty,1\n".to_owned(),
            _ => format!("{},{}\n", 30 + at, at % 2),
        };
        (0..40).fold("age,ill\n".to_owned(), |text, at| text + &row(at))
    };
    sandbox.write("towns/Chur.csv", &rows("Chur"));
    sandbox.write("towns/Davos.csv", &rows("Davos"));
    let output = sandbox.run(&["init", "towns"]);
    assert_eq!(output.status.code(), Some(0));
    let told = text(&output.stderr);
    assert!(
        told.contains("Davos.csv, line 7: `sixty` in the column \"age\" is not a number"),
        "{told}"
    );
    let written = fs::read_to_string(sandbox.path("towns/federation.toml")).expect("written");
    assert!(!written.contains("ignore"), "{written}");
    assert!(written.contains("features = [\"age\"]"), "{written}");
    let check = sandbox.run(&["check", "towns/federation.toml"]);
    assert_eq!(check.status.code(), Some(3), "{}", text(&check.stdout));
    let file = sandbox.run(&["init", "towns/Chur.csv"]);
    assert!(text(&file.stderr).contains("is a file"), "{}", text(&file.stderr));
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

/// From a folder of files to a run, as a newcomer would.
#[test]
fn init_check_run() {
    let sandbox = Sandbox::new();
    fs::create_dir(sandbox.path("city")).expect("a folder");
    for (name, shift) in [("east", 0), ("west", 1), ("north", 2)] {
        let mut table = String::from("age,ward,dose,ill\n");
        for row in 0..60_u32 {
            let (age, dose) = (20 + (row * 7 + shift) % 60, f64::from(row % 9) / 2.0);
            let ward = ["a", "b", "c"][(row % 3) as usize];
            let ill = if (age + row) % 3 == 0 { "yes" } else { "no" };
            let dose = if row % 10 == 0 { "?".to_owned() } else { dose.to_string() };
            let _ = writeln!(table, "{age},{ward},{dose},{ill}");
        }
        sandbox.write(&format!("city/{name}.csv"), &table);
    }
    let output = sandbox.run(&["init", "city"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let written = fs::read_to_string(sandbox.path("city/federation.toml")).expect("written");
    insta::assert_snapshot!("init", written);
    assert_eq!(sandbox.run(&["init", "city"]).status.code(), Some(2), "it is not written over");
    let told = [seen(&output), seen(&sandbox.run(&["check", "city/federation.toml"]))];
    insta::assert_snapshot!("init_leaves_categories_to_people", told.join("\n\n"));
    let output = sandbox.run(&["init", "city", "--with-categories", "--force"]);
    let with = fs::read_to_string(sandbox.path("city/federation.toml")).expect("written");
    assert!(with.contains("ward = [\"a\", \"b\", \"c\"]"), "{with}");
    assert!(text(&output.stderr).contains("lists the categories of ward"));
    insta::assert_snapshot!("check", seen(&sandbox.run(&["check", "city/federation.toml"])));
    let run = sandbox.run(&["run", "city/federation.toml", "--repeats", "1", "--rounds", "2"]);
    assert_eq!(run.status.code(), Some(0), "{}", text(&run.stderr));
    assert!(sandbox.path("city-run/report.md").is_file());
    // What is wrong with data is told with file, line and participant.
    let good = fs::read_to_string(sandbox.path("city/west.csv")).expect("written");
    sandbox.write("city/west.csv", &good[..good.len() - 4]);
    let cut = sandbox.run(&["check", "city/federation.toml"]);
    sandbox.write("city/west.csv", &good.replace("age,ward", "age,Ward"));
    let renamed = sandbox.run(&["check", "city/federation.toml"]);
    sandbox.write("city/west.csv", &good.replace("22,", "twenty-two,"));
    let no_number = sandbox.run(&["check", "city/federation.toml"]);
    fs::remove_file(sandbox.path("city/west.csv")).expect("removed");
    let lost = sandbox.run(&["check", "city/federation.toml"]);
    let seen: Vec<String> = [cut, renamed, no_number, lost].iter().map(seen).collect();
    insta::assert_snapshot!("wrong_data", seen.join("\n\n"));
}

/// What is chosen by name is written, and refused where it does not go together.
#[test]
fn init_writes_what_is_chosen() {
    let sandbox = Sandbox::new();
    fs::create_dir(sandbox.path("city")).expect("a folder");
    for name in ["east", "west"] {
        let rows = (0..40).map(|row| format!("{},{}\n", row * 7 % 30, row / 3 % 2));
        sandbox
            .write(&format!("city/{name}.csv"), &format!("age,ill\n{}", rows.collect::<String>()));
    }
    let init = |choices: &[&str]| {
        let output = sandbox.run(&[&["init", "city", "--force"], choices].concat());
        let written = fs::read_to_string(sandbox.path("city/federation.toml"));
        (output, written.unwrap_or_default())
    };
    let (estimator, policy) = (["--estimator", "mixture"], ["--policy", "greedy"]);
    let (trainer, metric) = (["--trainer", "mixing"], ["--metric", "brier"]);
    let (output, written) = init(&[estimator, policy, trainer, metric].concat());
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    for lines in [
        "metric = \"brier\"\n",
        "[benefit]\nestimator = \"mixture\"\n",
        "[selection]\npolicy = \"greedy\"\n",
        "[training]\ntrainer = \"mixing\"\n",
    ] {
        assert!(written.contains(lines), "{lines}{written}");
    }
    let check = sandbox.run(&["check", "city/federation.toml"]);
    assert_eq!(check.status.code(), Some(0), "{}", text(&check.stderr));
    let networks = init(&["--trainer", "trunks", "--estimator", "trunks"]).1;
    assert!(networks.contains("hidden = [32, 16]"), "{networks}");
    let refused = [
        &["--metric", "mse"][..],
        &["--policy", "friends"],
        &["--trainer", "evidence", "--estimator", "trunks"],
        &["--trainer", "mixin"],
    ];
    let told: Vec<String> = refused.iter().map(|choices| seen(&init(choices).0)).collect();
    insta::assert_snapshot!(told.join("\n\n"));
    assert_eq!(init(&["--metric", "mse"]).1, networks, "nothing was written");
}

/// A table as institutions have them: a number and a name for each row, dates, amounts, notes.
fn real_table(rows: u32, first: u32) -> String {
    let mut table = String::from("visit_id,who,seen,cost,note,age,grade,died\n");
    for row in first..first + rows {
        let cost = f64::from(row % 40) / 4.0;
        let _ = writeln!(
            table,
            "{},P{row},{}.{}.2024,{:.2},\"word {}, more\",{},{},{}",
            1_000_000_007_u64 * u64::from(row % 97 + 1),
            row % 28 + 1,
            row % 12 + 1,
            cost.exp(),
            row % 30,
            20 + row * 13 % 60,
            ["low", "high"][(row % 2) as usize],
            row % 3 / 2
        );
    }
    table
}

/// What cannot be learned from is left out, with the reason, and money comes as logarithms.
#[test]
fn init_looks_at_what_columns_hold() {
    let sandbox = Sandbox::new();
    fs::create_dir(sandbox.path("real")).expect("a folder");
    sandbox.write("real/a.csv", &real_table(60, 0));
    // The same columns in another order, and one that only this file has.
    let mut turned = String::new();
    for (at, line) in real_table(60, 60).lines().enumerate() {
        let (rest, died) = line.rsplit_once(',').expect("columns");
        let ward = if at == 0 { "ward" } else { "7" };
        let _ = writeln!(turned, "{died},{ward},{rest}");
    }
    sandbox.write("real/b.csv", &turned);
    let output = sandbox.run(&["init", "real", "--target", "died"]);
    let written = fs::read_to_string(sandbox.path("real/federation.toml")).expect("written");
    insta::assert_snapshot!("init_real", format!("{}\n\n{written}", seen(&output)));
    // `check` asks about what it would learn, listed or not.
    let by_hand = written.split("[data]").next().expect("a head").to_owned()
        + "[data]\nignore = [\"who\", \"seen\", \"note\", \"grade\"]\n"
        + &written[written.find("\n[[participants]]").expect("participants")..];
    sandbox.write("real/by-hand.toml", &by_hand);
    sandbox.write("real/b.csv", &real_table(60, 60));
    let check = text(&sandbox.run(&["check", "real/by-hand.toml"]).stdout);
    assert!(
        check.contains(
            "  a: the column `visit_id` is learned and looks like an identifier: add it to"
        ),
        "{check}"
    );
    let pinned = by_hand.replace(
        "ignore = [\"who\", \"seen\", \"note\", \"grade\"]",
        "features = [\"visit_id\", \"age\"]",
    );
    sandbox.write("real/by-hand.toml", &pinned);
    let check = text(&sandbox.run(&["check", "real/by-hand.toml"]).stdout);
    assert!(
        check.contains("  b: the column `visit_id` is learned and looks like an identifier"),
        "{check}"
    );
    sandbox.write("real/by-hand.toml", &pinned.replace("\"visit_id\", ", ""));
    let check = text(&sandbox.run(&["check", "real/by-hand.toml"]).stdout);
    assert!(!check.contains("looks like"), "{check}");
}

/// Profits and losses have long tails on both sides: their ranks are proposed, and of amounts without losses the
/// logarithms. The federation runs as it is written.
#[test]
fn init_proposes_ranks_where_logarithms_do_not_help() {
    let sandbox = Sandbox::new();
    fs::create_dir(sandbox.path("firms")).expect("a folder");
    for (name, first) in [("a", 1), ("b", 2)] {
        let mut table = String::from("profit,cost,age,failed\n");
        for row in 0..80 {
            let place = f64::from((row * 37 + first) % 80);
            let far = (-2.0 * ((place % 40.0 + 0.5) / 40.0).ln()).exp();
            let profit = if place < 40.0 { far - 1.0 } else { 1.0 - far };
            let cost = f64::from((row * 13 + first) % 40) / 4.0;
            let _ = writeln!(table, "{profit:.3},{:.2},{},{}", cost.exp(), 20 + row % 50, row % 2);
        }
        sandbox.write(&format!("firms/{name}.csv"), &table);
    }
    let output = sandbox.run(&["init", "firms"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let written = fs::read_to_string(sandbox.path("firms/federation.toml")).expect("written");
    let lines: Vec<&str> = written.lines().collect();
    assert!(
        lines.contains(&"log = [\"cost\"]") && lines.contains(&"rank = [\"profit\"]"),
        "{written}"
    );
    let run = sandbox.run(&["run", "firms/federation.toml", "--repeats", "1"]);
    assert_eq!(run.status.code(), Some(0), "{}", text(&run.stderr));
}

#[test]
fn init_keeps_the_rows_of_a_patient_together() {
    let sandbox = Sandbox::new();
    fs::create_dir(sandbox.path("city")).expect("a folder");
    for (name, each) in [("a", 3), ("b", 4), ("c", 1)] {
        let mut table = String::from("pid,admit_ts,age,ill\n");
        for row in 0..60 {
            let (patient, age) = (9000 + row / each * 7, 40 + row * 7 % 40);
            let time = 1_658_900_760 + row * 7919 % 999_983;
            let _ = writeln!(table, "{patient},{time},{age}.5,{}", row % 2);
        }
        sandbox.write(&format!("city/{name}.csv"), &table);
    }
    let output = sandbox.run(&["init", "city"]);
    let written = fs::read_to_string(sandbox.path("city/federation.toml")).expect("written");
    insta::assert_snapshot!(format!("{}\n\n{written}", seen(&output)));
    let learned = written.replace("features = [", "features = [\"pid\", ");
    let learned = learned.replace("    \"pid\",\n", "");
    sandbox.write("city/learned.toml", &learned.replace("groups = ", "# groups = "));
    let check = seen(&sandbox.run(&["check", "city/learned.toml"]));
    assert!(check.contains("With `groups = \"pid\"` in `[evaluation]`"), "{check}");
    assert_eq!(sandbox.run(&["check", "city/federation.toml"]).status.code(), Some(0));
}

/// Everybody reads the federation file: what one participant alone has changes nothing in it.
#[test]
fn init_copies_nothing_of_a_single_participant() {
    let sandbox = Sandbox::new();
    fs::create_dir(sandbox.path("city")).expect("a folder");
    let table = |rows: u32, wards: [&str; 2]| {
        (0..rows).fold("age,ward,ill\n".to_owned(), |text, row| {
            let ward = wards[(row % 2) as usize];
            text + &format!("{},{ward},{}\n", 20 + row * 7 % 50, row / 3 % 2)
        })
    };
    let mut written = Vec::new();
    for (rows, wards) in [(60, ["x", "y"]), (47, ["x", "rare disease"])] {
        sandbox.write("city/a.csv", &table(rows, wards));
        sandbox.write("city/b.csv", &table(50, ["x", "y"]));
        let output = sandbox.run(&["init", "city", "--force"]);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        written.push(fs::read_to_string(sandbox.path("city/federation.toml")).expect("written"));
    }
    assert_eq!(written[0], written[1]);
}

/// One file for all, and a column that says whose a row is.
#[test]
fn init_makes_participants_of_a_column() {
    let sandbox = Sandbox::new();
    let mut table = String::from("age,clinic,ward,ill\n");
    for row in 0..90 {
        let clinic = ["North", "St \"\"M\"\"", "10.0", ""][row % 10 % 4];
        let ward = ["a", "b"][row / 4 % 2];
        let _ = writeln!(table, "{},\"{clinic}\",{ward},{}", 20 + row * 7 % 50, row / 5 % 2);
    }
    sandbox.write("all.csv", &table);
    let output = sandbox.run(&["init", "all.csv", "--by", "clinic"]);
    let written = fs::read_to_string(sandbox.path("federation.toml")).expect("written");
    insta::assert_snapshot!("init_by", format!("{}\n\n{written}", seen(&output)));
    let check = sandbox.run(&["check", "federation.toml"]);
    assert_eq!(check.status.code(), Some(0), "{}", text(&check.stderr));
    // Every row with a clinic is somebody's.
    let rows: u32 = text(&check.stdout)
        .lines()
        .filter_map(|line| {
            line.split("all.csv").nth(1)?.split_whitespace().next()?.parse::<u32>().ok()
        })
        .sum();
    assert_eq!(rows, 72, "{}", text(&check.stdout));
    let mistakes: [&[&str]; 6] = [
        &["init", "all.csv", "--by", "clinics", "--force"],
        &["init", ".", "--by", "clinic", "--force"],
        &["init", "all.csv", "--force"],
        &["init", "all.csv", "--by", "clinic", "--target", "clinic", "--force"],
        &["init", "none.csv", "--by", "clinic", "--force"],
        &["init", "empty.csv", "--by", "clinic", "--force"],
    ];
    sandbox.write("empty.csv", "age,clinic,ill\n1,,0\n");
    let told: Vec<String> =
        mistakes.iter().map(|arguments| seen(&sandbox.run(arguments))).collect();
    insta::assert_snapshot!("init_by_mistakes", told.join("\n\n"));
}

fn example(file: &str) -> String {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    examples.join(file).display().to_string()
}

/// The hospitals' example on files of the same form.
#[test]
fn the_heart_example_runs() {
    let sandbox = Sandbox::new();
    for (number, name) in ["cleveland", "hungarian", "switzerland", "va"].iter().enumerate() {
        let mut table = String::new();
        for row in 0..40_usize {
            let at = row + 3 * number;
            let age = 30 + at * 7 % 40;
            let chol =
                if *name == "switzerland" { "0".into() } else { (150 + at % 90).to_string() };
            let class = if at % 3 == 0 { 0 } else { at % 5 };
            let _ = writeln!(
                table,
                "{age}.0,{},{}.0,{},{chol},?,{},{},0,{}.5,?,?,?,{class}",
                at % 2,
                1 + at % 4,
                100 + at % 60,
                at % 3,
                90 + at % 80,
                at % 4,
            );
        }
        sandbox.write(&format!("processed.{name}.data"), &table);
    }
    let arguments = ["run", &example("heart/federation.toml"), "--data", ".", "--out", "run"];
    let run = sandbox.run(&[&arguments[..], &["--rounds", "3", "--repeats", "2"]].concat());
    assert_eq!(run.status.code(), Some(0), "{}", text(&run.stderr));
    assert!(text(&run.stdout).contains("4 participants, 1 competing pair; complete."));
    assert_eq!(sandbox.run(&["audit", "run"]).status.code(), Some(0));
}

/// The exported tables of a run are what `select` and `explain` read: the plan is found again, and every edge
/// that was refused is refused for the same reason.
#[test]
fn exported_tables_give_the_plan_and_its_refusals() {
    let sandbox = Sandbox::new();
    assert_eq!(sandbox.run(&["demo", "--out", "demo"]).status.code(), Some(0));
    assert_eq!(sandbox.run(&["export", "demo", "--to", "tables"]).status.code(), Some(0));
    let graphs = ["--competing", "tables/competing.csv", "--benefit", "tables/benefits.csv"];
    let samples = ["--samples", "tables/participants.csv", "--objective", "diminishing"];
    let select = [&["select", "--policy", "optimal", "--format", "json"], &graphs[..], &samples];
    let output = sandbox.run(&select.concat());
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let edges = |plan: &str| -> BTreeSet<(String, String)> {
        let plan: Value = serde_json::from_str(plan).expect("a plan");
        let edge = |edge: &Value| {
            let name = |key: &str| edge[key].as_str().expect("a name").to_owned();
            (name("from"), name("to"))
        };
        plan["usage"].as_array().expect("edges").iter().map(edge).collect()
    };
    let read = |file: &str| fs::read_to_string(sandbox.path(file)).expect("a file");
    let used = edges(&read("tables/proof/plan.json"));
    assert_eq!(edges(&text(&output.stdout)), used);
    let refusals = read("tables/refusals.csv");
    let mut refused = csv::Reader::from_reader(refusals.as_bytes());
    let refused = refused.records().map(|record| record.expect("a record"));
    let refused: Vec<csv::StringRecord> =
        refused.filter(|one| (&one[0], &one[1]) == ("final", "optimal+evidence")).collect();
    assert!(!refused.is_empty() && !used.is_empty());
    let asked = refused.iter().map(|one| (&one[2], &one[3], Some(&one[4])));
    for (from, to, reason) in asked.chain(used.iter().map(|(a, b)| (&**a, &**b, None))) {
        let explain = ["explain", "--plan", "tables/proof/plan.json", "--format", "json", from, to];
        let output = sandbox.run(&[&explain[..], &graphs].concat());
        let answer: Value = serde_json::from_slice(&output.stdout).expect("an answer");
        let Some(reason) = reason else {
            assert_eq!(answer["verdict"], "used", "{from} → {to}");
            continue;
        };
        assert_eq!(answer["verdict"], "refused", "{from} → {to}");
        let pair = answer["because"]["pair"].as_array().expect("two competitors");
        for name in pair.iter().filter_map(Value::as_str) {
            assert!(reason.contains(name), "{name}: {reason}");
        }
    }
}

/// The lenders' example, made anew from a file of the same form, and as it stands.
#[test]
fn the_banks_example_runs() {
    let sandbox = Sandbox::new();
    let mut table = String::from(
        "LoanNr_ChkDgt,Name,City,State,Zip,Bank,BankState,NoEmp,NewExist,CreateJob,RetainedJob,UrbanRural,RevLineCr,LowDoc,MIS_Status,GrAppv,SBA_Appv\n",
    );
    for row in 0..240_usize {
        let bank = ["FIRST", "SECOND, LLC", "THIRD", "TINY"][if row < 237 { row % 3 } else { 3 }];
        let state =
            if bank == "THIRD" { ["NY", "NJ"][row % 2] } else { ["CA", "CA", "NV"][row / 3 % 3] };
        let status = if row % 5 == 0 { "CHGOFF" } else { "P I F" };
        let _ = writeln!(
            table,
            "{row},X,Y,{state},1,\"{bank}\",CA,{},1,0,2,{},N,Y,{status},\"$60,000.00 \",{}",
            row % 20,
            row % 3,
            1000 + row
        );
    }
    sandbox.write("SBAnational.csv", &table);
    let output = sandbox.run(&["data", "banks", "--data", ".", "--out", "banks"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let competing = fs::read_to_string(sandbox.path("banks/competing.csv")).expect("written");
    assert_eq!(competing, "a,b\nFIRST,\"SECOND, LLC\"\n");
    let arguments = ["run", "banks/federation.toml", "--data", ".", "--out", "run"];
    let run = sandbox.run(&[&arguments[..], &["--rounds", "3", "--repeats", "1"]].concat());
    assert_eq!(run.status.code(), Some(0), "{}", text(&run.stderr));
    assert!(text(&run.stdout).contains("3 participants, 1 competing pair; complete."));
    // The file in the repository is what the command writes.
    let head = fs::read_to_string(example("banks/federation.toml")).expect("the example");
    let made = fs::read_to_string(sandbox.path("banks/federation.toml")).expect("written");
    let settings = |text: &str| text.split("\n[[participants]]").next().map(str::to_owned);
    assert_eq!(settings(&head), settings(&made));
}

/// Ten thousand participants in one file are read and checked, and a mistake is found.
#[test]
fn ten_thousand_participants() {
    let sandbox = Sandbox::new();
    let mut federation = String::from("name = \"many\"\n");
    for number in 0..10_000 {
        let _ = write!(
            federation,
            "[[participants]]\nname = \"p{number}\"\ngenerate = {{ samples = 10, features = 2 }}\ncompetes-with = [\"p{}\"]\n",
            (number + 1) % 10_000
        );
    }
    sandbox.write("many.toml", &federation);
    let output = sandbox.run(&["check", "many.toml"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(text(&output.stdout).contains("10000 competing pairs"));
    sandbox.write("many.toml", &federation.replace("[\"p7000\"]", "[\"q7000\"]"));
    let told = text(&sandbox.run(&["check", "many.toml"]).stderr);
    assert!(told.starts_with("error: many.toml, line 28001: participant \"p6999\": the participant \"q7000\" is unknown"), "{told}");
}

/// The program that opens files on this system is asked to open the page; that there is none is a
/// warning.
#[cfg(target_os = "linux")]
#[test]
fn a_demo_opens_its_page() {
    use std::os::unix::fs::PermissionsExt;
    let sandbox = Sandbox::new();
    fs::create_dir_all(sandbox.path("programs")).expect("a folder");
    sandbox
        .write("programs/xdg-open", "#!/bin/sh\necho \"$@\" > opened.new\nmv opened.new opened\n");
    let mode = fs::Permissions::from_mode(0o755);
    fs::set_permissions(sandbox.path("programs/xdg-open"), mode).expect("ours");
    let demo = |path: String| {
        let mut command = assert_cmd::cargo::cargo_bin_cmd!("fedcompetitors");
        command.args(["demo", "--open"]).current_dir(sandbox.0.path()).env("PATH", path);
        command.output().expect("it runs")
    };
    let programs = sandbox.path("programs").display().to_string();
    let output = demo(format!("{programs}:/usr/bin:/bin"));
    assert!(output.status.success(), "{}", text(&output.stderr));
    let begun = Instant::now();
    while !sandbox.path("opened").exists() {
        assert!(begun.elapsed().as_secs() < 60, "nothing was opened");
        thread::sleep(Duration::from_millis(10));
    }
    assert_eq!(
        fs::read_to_string(sandbox.path("opened")).expect("a path"),
        "demo-run/report.html\n"
    );
    let output = demo("/nowhere".into());
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("warning: no browser can be started"));
}
