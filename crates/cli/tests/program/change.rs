//! Plans that change over time, as an operator meets them.

use std::{fs, path::Path, process::Output};

use assert_cmd::cargo::cargo_bin_cmd;

use super::seen;

const COMPETING: &str = "a,b\nSt Mary,General\n";
const BENEFIT: &str = "from,to,benefit\nSt Mary,City,0.3\nCity,North,0.4\nNorth,General,0.2\n";

struct Case(tempfile::TempDir);

impl Case {
    /// St Mary helps City, City helps North, North helps General, St Mary's competitor.
    fn new() -> Self {
        let case = Self(tempfile::tempdir().expect("a folder"));
        case.write("competing.csv", COMPETING);
        case.write("benefit.csv", BENEFIT);
        case
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.0.path().join(name), text).expect("written");
    }

    fn run(&self, command: &str, more: &[&str]) -> Output {
        let files = ["--competing", "competing.csv", "--benefit", "benefit.csv"];
        let mut program = cargo_bin_cmd!("fedcompetitors");
        program.current_dir(self.0.path()).arg(command).args(files).args(more);
        program.output().expect("it runs")
    }

    fn select(&self) {
        assert!(
            self.run("select", &["--policy", "optimal", "--out", "plan.json"]).status.success()
        );
    }

    /// A change of `plan.json`, written over it.
    fn change(&self, command: &str, more: &[&str]) -> String {
        let plan = ["--plan", "plan.json", "--out", "plan.json", "--policy", "optimal"];
        seen(&self.run(command, &[&plan, more].concat()))
    }

    fn verify(&self) -> i32 {
        let mut program = cargo_bin_cmd!("fedcompetitors");
        program.current_dir(self.0.path());
        let output = program
            .args(["verify", "--competing", "competing.csv", "--plan", "plan.json"])
            .output();
        output.expect("it runs").status.code().expect("it ends")
    }
}

/// St Mary's data went to North last month. Now City has left: by its edges alone a plan
/// could let General learn from North, but North still carries St Mary's data.
#[test]
fn history_counts() {
    let case = Case::new();
    case.select();
    insta::assert_snapshot!(case.change("leave", &["City"]));
    let explain = ["--plan", "plan.json", "North", "General"];
    insta::assert_snapshot!(seen(&case.run("explain", &explain)));
    assert_eq!(case.verify(), 0);
    // Once North begins again from its own data, nothing stands in the way.
    insta::assert_snapshot!(case.change("replan", &["--restart", "North"]));
    assert_eq!(case.verify(), 0);
    insta::assert_snapshot!(fs::read_to_string(case.0.path().join("plan.json")).expect("written"));
}

#[test]
fn a_plan_that_nobody_trained_by_leaves_no_traces() {
    let case = Case::new();
    case.select();
    insta::assert_snapshot!(case.change("leave", &["--untrained", "City"]));
}

#[test]
fn newcomers_join_and_who_has_left_returns() {
    let case = Case::new();
    case.select();
    case.change("leave", &["City"]);
    insta::assert_snapshot!(case.change("join", &["City"]));
    case.write("benefit.csv", &format!("{BENEFIT}South,North,0.1\nNorth,South,0.1\n"));
    insta::assert_snapshot!(case.change("join", &["South"]));
    insta::assert_snapshot!(case.change("join", &["South"]));
    insta::assert_snapshot!(case.change("leave", &["Sud"]));
    assert_eq!(case.verify(), 0);
}

/// A competition that the past has violated cannot be planned away.
#[test]
fn a_competition_declared_too_late_is_reported() {
    let case = Case::new();
    case.select();
    let before = fs::read(case.0.path().join("plan.json")).expect("written");
    insta::assert_snapshot!(case.change("declare", &["City", "St Mary"]));
    assert_eq!(fs::read(case.0.path().join("plan.json")).expect("still there"), before);
    insta::assert_snapshot!(case.change("declare", &["--restart", "City", "City", "St Mary"]));
    assert_eq!(case.verify(), 0);
}

/// A plan whose edges keep the rule but whose past does not is refused.
#[test]
fn the_past_is_verified_too() {
    let case = Case::new();
    case.select();
    case.change("leave", &["City"]);
    // `select` begins from nothing, and would forget why this must not be.
    insta::assert_snapshot!(seen(&case.run("select", &["--out", "plan.json"])));
    let path = case.0.path().join("plan.json");
    let plan = fs::read_to_string(&path).expect("written");
    let edge = "{\"from\": \"North\", \"to\": \"General\", \"benefit\": 0.2}";
    let edited = plan.replacen("\"usage\": []", &format!("\"usage\": [{edge}]"), 1);
    assert_ne!(edited, plan);
    fs::write(Path::new(&path), edited).expect("written");
    assert_eq!(case.verify(), 1);
    let explain = ["--plan", "plan.json", "North", "General"];
    insta::assert_snapshot!(seen(&case.run("explain", &explain)));
}

/// Declared once, a competition counts, whatever becomes of the competing file.
#[test]
fn a_declared_competition_is_remembered() {
    let case = Case::new();
    case.write("benefit.csv", "from,to,benefit\nCity,North,0.4\nSouth,\"Lake, Inc\",0.1\n");
    assert!(case.run("select", &["--policy", "none", "--out", "plan.json"]).status.success());
    insta::assert_snapshot!(case.change("declare", &["City", "North"]));
    insta::assert_snapshot!(case.change("declare", &["Lake, Inc", "North"]));
    insta::assert_snapshot!(case.change("declare", &["North", "City"]));
    // St Mary is gone, and somebody tidies the file.
    case.change("leave", &["St Mary"]);
    case.write("competing.csv", "a,b\n");
    insta::assert_snapshot!(case.change("replan", &[]));
    assert_eq!(case.verify(), 0);
    insta::assert_snapshot!(case.change("replan", &["--reconciled", "North", "City"]));
    let plan = fs::read_to_string(case.0.path().join("plan.json")).expect("written");
    assert!(plan.contains("St Mary") && !plan.contains("\"City\",\n      \"North\""));
}

/// Who has left cannot be asked to begin again: its past is told, and stops nothing.
#[test]
fn what_those_carry_who_have_left_is_told() {
    let case = Case::new();
    case.select();
    case.change("leave", &["City"]);
    insta::assert_snapshot!(case.change("declare", &["City", "St Mary"]));
    assert_eq!(case.verify(), 0);
    insta::assert_snapshot!(case.change("leave", &["City"]));
    insta::assert_snapshot!(case.change("join", &["Nowhere"]));
    case.write("benefit.csv", &format!("{BENEFIT}Hill,North,0.1\n"));
    insta::assert_snapshot!(case.change("replan", &[]));
}

#[test]
fn a_breach_by_the_past_can_be_read_by_programs() {
    let case = Case::new();
    case.select();
    insta::assert_snapshot!(case.change("declare", &["City", "St Mary", "--format", "json"]));
}
