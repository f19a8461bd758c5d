//! The examples, and runs whose tables are used again.

use std::{
    collections::BTreeSet,
    fmt::Write as _,
    thread,
    time::{Duration, Instant},
};

use super::*;

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

/// The example of lenders: written again by `init` from a file of the same form, and as it stands.
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
