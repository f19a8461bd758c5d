//! The program as its users meet it: what it prints, how it ends.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Output,
};

use assert_cmd::cargo::cargo_bin_cmd;
use serde_json::Value;

fn hospitals(file: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../examples/hospitals")
        .join(file)
        .display()
        .to_string()
}

/// An edge that the example's plan must not have, with and without its benefit.
const LEAK: &str = "{\"from\": \"University\", \"to\": \"General\", \"benefit\": 0.28}";
const LEAK_WITHOUT_BENEFIT: &str = "{\"from\": \"University\", \"to\": \"General\"}";

/// A folder of its own for each test.
struct Desk(tempfile::TempDir);

impl Desk {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("a folder"))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).expect("written");
    }

    /// Runs the program in this folder.
    fn run(&self, arguments: &[&str]) -> Output {
        cargo_bin_cmd!("fedcompetitors")
            .current_dir(self.0.path())
            .args(arguments)
            .output()
            .expect("it runs")
    }

    /// Makes the plan of the example.
    fn plan(&self) {
        let output = self.run(&[
            "select",
            "--competing",
            &hospitals("competing.csv"),
            "--benefit",
            &hospitals("benefit.csv"),
            "--out",
            "plan.json",
        ]);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    }

    /// Adds an edge to the example's plan by hand, as the file `name`: General learns from
    /// University, which carries the data of General's rival.
    fn plan_with_a_leak(&self, name: &str, edge: &str) {
        let plan = fs::read_to_string(self.path("plan.json")).expect("written");
        let usage = "\"usage\": [\n    ";
        let edited = plan.replacen(usage, &format!("{usage}{edge},\n    "), 1);
        assert_ne!(edited, plan);
        self.write(name, &edited);
    }

    /// Verifies a plan against the example's competing graph.
    fn verify(&self, plan: &str, more: &[&str]) -> Output {
        let competing = hospitals("competing.csv");
        self.run(&[&["verify", "--competing", &competing, "--plan", plan], more].concat())
    }

    fn explain(&self, from: &str, to: &str, more: &[&str]) -> Output {
        let (competing, benefit) = (hospitals("competing.csv"), hospitals("benefit.csv"));
        let arguments = [
            "explain",
            "--competing",
            &competing,
            "--benefit",
            &benefit,
            "--plan",
            "plan.json",
            from,
            to,
        ];
        self.run(&[&arguments, more].concat())
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("UTF-8")
}

/// Everything that a user sees of a call.
fn seen(output: &Output) -> String {
    format!(
        "{}--- stderr\n{}--- exit status {}",
        text(&output.stdout),
        text(&output.stderr),
        output.status.code().expect("it ended by itself")
    )
}

fn select(format: &[&str]) -> Output {
    let (competing, benefit) = (hospitals("competing.csv"), hospitals("benefit.csv"));
    Desk::new()
        .run(&[&["select", "--competing", &competing, "--benefit", &benefit], format].concat())
}

/// Can no plan have more, up to rounding?
fn is_proven(plan: &Value) -> bool {
    let number = |key: &str| plan[key].as_f64().expect("a number");
    number("upper_bound") <= number("welfare") * (1.0 + 1e-6)
}

#[test]
fn the_example_as_a_table() {
    insta::assert_snapshot!(seen(&select(&["--refusals"])));
}

#[test]
fn the_example_as_csv() {
    insta::assert_snapshot!(seen(&select(&["--format", "csv"])));
    insta::assert_snapshot!(seen(&select(&["--format", "csv", "--refusals"])));
}

#[test]
fn the_example_as_json_is_the_plan_that_out_writes() {
    let output = select(&["--format", "json"]);
    insta::assert_snapshot!(seen(&output));
    let desk = Desk::new();
    desk.plan();
    assert_eq!(fs::read(desk.path("plan.json")).expect("written"), output.stdout);

    let plan: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let count = |field: &str| plan[field].as_array().expect("a list").len();
    assert_eq!(count("usage") + count("refused"), 30, "every useful edge is used or refused");
    assert!(count("refused") > 0);
}

#[test]
fn refusals_can_be_left_out() {
    let output = select(&["--format", "json", "--no-refusals"]);
    let plan: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert!(plan.get("refused").is_none());
}

#[test]
fn the_best_plan_of_the_example() {
    insta::assert_snapshot!(seen(&select(&["--policy", "optimal"])));
    insta::assert_snapshot!(seen(&select(&["--policy", "cliques"])));
    let json = select(&["--policy", "optimal", "--format", "json"]);
    let plan: Value = serde_json::from_slice(&json.stdout).expect("JSON");
    assert!(is_proven(&plan));
}

#[test]
fn policies_are_put_side_by_side() {
    let (competing, benefit) = (hospitals("competing.csv"), hospitals("benefit.csv"));
    let desk = Desk::new();
    let arguments = ["compare", "--competing", &competing, "--benefit", &benefit];
    let output = desk.run(&arguments);
    assert_eq!(output.status.code(), Some(0));
    assert!(text(&output.stdout).contains("proven to be the best"), "{}", text(&output.stdout));
    let output = desk.run(&[&arguments[..], &["--format", "json"]].concat());
    let rows: Vec<Value> = serde_json::from_slice(&output.stdout).expect("JSON");
    let names: Vec<_> = rows.iter().map(|row| row["policy"].as_str().expect("a name")).collect();
    assert_eq!(names, ["optimal", "greedy", "egoists", "coalitions", "cliques", "none"]);
    for row in rows {
        assert_eq!(row["keeps_the_rule"], true);
        assert!(row["welfare"].as_f64() <= Some(5.58 + 1e-9));
    }
}

/// Every example is read, compared by all policies, and found to keep the rule.
#[test]
fn every_example_runs() {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let mut run = 0;
    for entry in fs::read_dir(examples).expect("the examples") {
        let folder = entry.expect("an entry").path();
        if !folder.join("benefit.csv").exists() {
            continue;
        }
        let file = |name: &str| folder.join(name).display().to_string();
        let output = Desk::new().run(&[
            "compare",
            "--competing",
            &file("competing.csv"),
            "--benefit",
            &file("benefit.csv"),
            "--participants",
            &file("participants.txt"),
            "--format",
            "json",
        ]);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        let rows: Vec<Value> = serde_json::from_slice(&output.stdout).expect("JSON");
        assert!(rows.iter().all(|row| row["keeps_the_rule"] == true));
        assert!(is_proven(&rows[0]));
        run += 1;
    }
    assert_eq!(run, 4);
}

#[test]
fn what_if_and_prices() {
    let ask = |more: &[&str]| seen(&select(&[&["--policy", "optimal"], more].concat()));
    insta::assert_snapshot!(ask(&["--without", "University"]));
    insta::assert_snapshot!(ask(&["--if-competing", "University", "General"]));
    insta::assert_snapshot!(ask(&["--if-independent", "St Mary", "General", "--format", "json"]));
    insta::assert_snapshot!(ask(&["--if-independent", "St Mary", "Genral"]));
    let (competing, benefit) = (hospitals("competing.csv"), hospitals("benefit.csv"));
    let arguments = ["price", "--competing", &competing, "--benefit", &benefit];
    insta::assert_snapshot!(seen(&Desk::new().run(&arguments)));
    let output = Desk::new().run(&[&arguments[..], &["--format", "json"]].concat());
    let prices: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(prices["prices"].as_array().expect("a list").len(), 4);
}

/// A price that is not proven is a range that holds the truth.
#[test]
fn prices_without_time_are_ranges() {
    let desk = Desk::new();
    desk.run(&["generate", "--participants", "24", "--seed", "3", "--out", "in"]);
    let price = |more: &[&str]| -> Value {
        let files = ["price", "--competing", "in/competing.csv", "--benefit", "in/benefit.csv"];
        let output = desk.run(&[&files[..], &["--format", "json"], more].concat());
        serde_json::from_slice(&output.stdout).expect("JSON")
    };
    let (rough, exact) = (price(&["--time-limit", "0"]), price(&["--time-limit", "600"]));
    let rows = |prices: &Value| prices["prices"].as_array().expect("a list").clone();
    let number = |value: &Value| value.as_f64().expect("a number");
    let mut wide = 0;
    for row in rows(&exact) {
        let costs = number(&row["costs"]["least"]);
        assert!((number(&row["costs"]["most"]) - costs).abs() < 1e-5, "proven");
        let same = rows(&rough).into_iter().find(|other| other["pair"] == row["pair"]);
        let range = &same.expect("the same pairs")["costs"];
        assert!(number(&range["least"]) <= costs + 1e-5 && costs <= number(&range["most"]) + 1e-5);
        wide += usize::from(number(&range["most"]) > costs + 0.1);
    }
    assert!(wide > 0);
}

#[test]
fn an_objective_is_for_the_optimal_policy() {
    insta::assert_snapshot!(seen(&select(&["--objective", "max-min"])));
    insta::assert_snapshot!(seen(&select(&["--gap", "-1"])));
    let (competing, benefit) = (hospitals("competing.csv"), hospitals("benefit.csv"));
    let arguments =
        ["compare", "--competing", &competing, "--benefit", &benefit, "--objective", "max-min"];
    let text = text(&Desk::new().run(&arguments).stdout);
    // Seconds differ.
    let header = text.lines().next().expect("a header").to_owned();
    let last = text.lines().last().expect("a last line").to_owned();
    insta::assert_snapshot!(format!("{header}\n{last}"));
}

/// A small run of the paper's experiment: a figure for every method and participant, and
/// files that hold the same.
#[test]
fn an_experiment_runs_and_is_written() {
    let desk = Desk::new();
    let small = ["--seeds", "1", "--evaluations", "500", "--rate", "0.03", "--decay", "0.001"];
    let arguments = ["reproduce", "synthetic-weak", "--format", "json", "--out", "results"];
    let output = desk.run(&[&arguments[..], &small].concat());
    assert!(output.status.success(), "{}", text(&output.stderr));
    let results: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let methods = results["methods"].as_array().expect("a list");
    let names: Vec<&str> = methods.iter().filter_map(|row| row["method"].as_str()).collect();
    let expected = [
        "Local",
        "FedAvg",
        "FedProx",
        "SCAFFOLD",
        "CE",
        "FedCompetitors",
        "FedCompetitors, mixing",
    ];
    assert_eq!(names, expected);
    for row in methods {
        let cells = row["cells"][0].as_array().expect("one seed");
        assert_eq!(cells.len(), 8);
        assert!(cells.iter().all(|cell| cell.as_f64().is_some_and(|mse| mse > 0.0 && mse < 100.0)));
        assert_eq!(row["gradients"].as_f64(), Some(500.0), "{}", row["method"]);
        assert_eq!(row["paper"].as_array().map(Vec::len), Some(8));
    }
    let written = fs::read(desk.path("results/results.json")).expect("written");
    assert_eq!(written, output.stdout);
    let table = fs::read_to_string(desk.path("results/table.md")).expect("written");
    assert!(table.contains("| FedCompetitors, mixing |"));
    assert!(
        fs::read_to_string(desk.path("results/table.txt")).expect("written").contains("paper's")
    );
}

#[test]
fn an_experiment_that_cannot_be_is_refused() {
    let run = |more: &[&str]| seen(&Desk::new().run(&[&["reproduce"], more].concat()));
    insta::assert_snapshot!(run(&["synthetic-week"]));
    insta::assert_snapshot!(run(&["synthetic-weak", "--seeds", "0"]));
    insta::assert_snapshot!(run(&["synthetic-weak", "--evaluations", "100"]));
    insta::assert_snapshot!(run(&["synthetic-weak", "--rate", "0.1"]));
    // A rate with which everything diverges is told, with whom it happened to first.
    let wild = ["synthetic-weak", "--seeds", "1", "--evaluations", "500", "--rate", "1e30"];
    insta::assert_snapshot!(run(&[&wild[..], &["--decay", "0"]].concat()));
}

/// Told to stop, a search gives the best plan so far, with its bound.
#[cfg(unix)]
#[test]
fn an_interrupted_search_gives_its_best_plan() {
    use std::process::{Command, Stdio};
    let desk = Desk::new();
    desk.run(&["generate", "--participants", "120", "--out", "in"]);
    let child = Command::new(assert_cmd::cargo::cargo_bin!("fedcompetitors"))
        .current_dir(desk.0.path())
        .args(["select", "--competing", "in/competing.csv", "--benefit", "in/benefit.csv"])
        .args(["--policy", "optimal", "--time-limit", "600", "--format", "json", "--no-refusals"])
        .stdout(Stdio::piped())
        .spawn()
        .expect("it starts");
    std::thread::sleep(std::time::Duration::from_millis(1500));
    let kill = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(kill.expect("kill runs").success());
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(0));
    let plan: Value = serde_json::from_slice(&output.stdout).expect("a whole plan");
    assert!(plan["welfare"].as_f64() > Some(0.0));
    assert!(plan["upper_bound"].as_f64() > plan["welfare"].as_f64());
}

#[test]
fn a_plan_is_proven_and_its_certificate_checked() {
    let desk = Desk::new();
    desk.plan();
    let output = desk.verify("plan.json", &["--certificate", "certificate.json"]);
    insta::assert_snapshot!(seen(&output));
    let printed = desk.verify("plan.json", &["--format", "json"]).stdout;
    assert_eq!(fs::read(desk.path("certificate.json")).expect("written"), printed);
    insta::assert_snapshot!(seen(&desk.verify("plan.json", &["--against", "certificate.json"])));

    let printed = text(&printed);
    let set_of_st_mary = "\"St Mary\", \"reaches\": [";
    let tampered = printed.replacen(set_of_st_mary, &format!("{set_of_st_mary}\"General\", "), 1);
    assert_ne!(tampered, printed);
    desk.write("tampered.json", &tampered);
    let output = desk.verify("plan.json", &["--against", "tampered.json"]);
    assert_eq!(output.status.code(), Some(1));
    insta::assert_snapshot!(seen(&output));
    let output = desk.verify("plan.json", &["--against", "tampered.json", "--format", "json"]);
    let verdict: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(verdict["holds"], false);
}

#[test]
fn a_plan_changed_by_hand_is_refused_with_the_path() {
    let desk = Desk::new();
    desk.plan();
    for (name, edge) in [("edited.json", LEAK), ("no-benefit.json", LEAK_WITHOUT_BENEFIT)] {
        desk.plan_with_a_leak(name, edge);
        assert_eq!(desk.verify(name, &[]).status.code(), Some(1));
    }
    insta::assert_snapshot!(seen(&desk.verify("edited.json", &[])));
    insta::assert_snapshot!(seen(&desk.verify("edited.json", &["--format", "json"])));
    assert!(!desk.path("certificate.json").exists());
}

#[test]
fn every_kind_of_answer_is_explained() {
    let desk = Desk::new();
    desk.plan();
    for (from, to) in [
        ("University", "Carrow Clinic"),
        ("University", "General"),
        ("University", "Lakeside"),
        ("General", "Harbour"),
        ("Carrow Clinic", "Borough Clinic"),
        ("General", "Aldin Clinic"),
        ("Borough Clinic", "Lakeside"),
        ("Carrow Clinic", "St Mary"),
        ("St Mary", "St Mary"),
    ] {
        let output = desk.explain(from, to, &[]);
        insta::assert_snapshot!(format!("explain_{from}_{to}").replace(' ', "_"), seen(&output));
    }
    insta::assert_snapshot!(seen(&desk.explain("University", "Lakeside", &["--format", "json"])));
    insta::assert_snapshot!(seen(&desk.explain("Universty", "Lakeside", &[])));
}

#[test]
fn an_edge_that_only_the_plan_leaves_out_is_explained() {
    let desk = Desk::new();
    desk.plan();
    let plan = fs::read_to_string(desk.path("plan.json")).expect("written");
    let edge = "    {\"from\": \"Harbour\", \"to\": \"Borough Clinic\", \"benefit\": 0.44},\n";
    assert!(plan.contains(edge));
    desk.write("plan.json", &plan.replace(edge, ""));
    insta::assert_snapshot!(seen(&desk.explain("Harbour", "Borough Clinic", &[])));
}

#[test]
fn a_plan_that_breaks_the_rule_explains_nothing() {
    let desk = Desk::new();
    desk.plan();
    desk.plan_with_a_leak("plan.json", LEAK);
    let output = desk.explain("St Mary", "Harbour", &[]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stdout).contains("breaks the rule"));
}

#[test]
fn the_same_federation_as_tables_and_as_matrices_gives_the_same_plan() {
    let desk = Desk::new();
    for format in ["csv", "npy"] {
        let output = desk.run(&[
            "generate",
            "--participants",
            "70",
            "--seed",
            "3",
            "--out",
            format,
            "--format",
            format,
        ]);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        let (competing, benefit) =
            (format!("{format}/competing.{format}"), format!("{format}/benefit.{format}"));
        let list = format!("{format}/participants.txt");
        let out = format!("{format}.json");
        let output = desk.run(&[
            "select",
            "--competing",
            &competing,
            "--benefit",
            &benefit,
            "--participants",
            &list,
            "--out",
            &out,
        ]);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    }
    let read = |name: &str| fs::read(desk.path(name)).expect("written");
    assert_eq!(read("csv.json"), read("npy.json"));
    // The matrices need no list: the paper's names are theirs.
    let output = desk.run(&[
        "select",
        "--competing",
        "npy/competing.npy",
        "--benefit",
        "npy/benefit.npy",
        "--format",
        "json",
    ]);
    assert_eq!(output.stdout, read("npy.json"));
}

#[test]
fn generating_twice_gives_the_same_bytes() {
    let desk = Desk::new();
    for folder in ["one", "two"] {
        let output =
            desk.run(&["generate", "--participants", "12", "--seed", "8", "--out", folder]);
        assert_eq!(output.status.code(), Some(0));
    }
    for file in ["competing.csv", "benefit.csv", "participants.txt"] {
        let read = |folder: &str| fs::read(desk.path(folder).join(file)).expect("written");
        assert_eq!(read("one"), read("two"));
    }
}

#[test]
fn how_a_call_fails_is_told_and_coded() {
    let desk = Desk::new();
    desk.plan();
    desk.write("benefit.csv", "from,to,benefit\nCity,North,-1\n");
    desk.write("competing.csv", "a,b\nCity,Nort\n");
    desk.write("good.csv", "from,to,benefit\nCity,North,1\n");
    let select =
        |benefit| desk.run(&["select", "--competing", "competing.csv", "--benefit", benefit]);
    // A misspelt rival is allowed, but pointed out.
    insta::assert_snapshot!(seen(&select("good.csv")));
    insta::assert_snapshot!(seen(&select("benefit.csv")));
    insta::assert_snapshot!(seen(&select("absent.csv")));
    let output = desk.run(&[
        "select",
        "--competing",
        "competing.csv",
        "--benefit",
        "good.csv",
        "--out",
        "no/such/plan.json",
    ]);
    insta::assert_snapshot!(seen(&output));
    let output =
        desk.run(&["generate", "--participants", "4", "--competing-density", "1.5", "--out", "x"]);
    insta::assert_snapshot!(seen(&output));
    assert_eq!(desk.run(&["selekt"]).status.code(), Some(2));
    // The plan is older than the competing file: somebody in it is unknown to the plan.
    insta::assert_snapshot!(seen(&desk.run(&[
        "verify",
        "--competing",
        "competing.csv",
        "--plan",
        "plan.json"
    ])));
}

#[test]
fn hostile_names_cannot_touch_the_terminal() {
    let desk = Desk::new();
    desk.write(
        "benefit.csv",
        "from,to,benefit\n\"\u{1b}]0;pwned\u{7}\",\"<script>\nalert(1)</script>\",1\n",
    );
    desk.write("competing.csv", "a,b\n\"\u{1b}]0;pwned\u{7}\",\"\u{202e}evil\"\n");
    let output = desk.run(&[
        "select",
        "--competing",
        "competing.csv",
        "--benefit",
        "benefit.csv",
        "--refusals",
    ]);
    let printed = text(&output.stdout) + &text(&output.stderr);
    assert_eq!(output.status.code(), Some(0));
    assert!(!printed.contains(['\u{1b}', '\u{7}', '\u{202e}']), "{printed:?}");
}

#[cfg(unix)]
#[test]
fn a_reader_that_goes_away_is_no_failure() {
    use std::process::{Command, Stdio};
    let desk = Desk::new();
    desk.run(&["generate", "--participants", "300", "--out", "."]);
    let mut child = Command::new(assert_cmd::cargo::cargo_bin!("fedcompetitors"))
        .current_dir(desk.0.path())
        .args([
            "select",
            "--competing",
            "competing.csv",
            "--benefit",
            "benefit.csv",
            "--format",
            "json",
        ])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    drop(child.stdout.take());
    let output = child.wait_with_output().expect("it ends");
    assert_eq!((output.status.code(), text(&output.stderr)), (Some(0), String::new()));
}

/// The verdict is the exit status, whatever becomes of the words.
#[cfg(unix)]
#[test]
fn a_finding_is_told_even_if_nobody_listens() {
    use std::process::{Command, Stdio};
    let desk = Desk::new();
    desk.plan();
    desk.plan_with_a_leak("edited.json", LEAK_WITHOUT_BENEFIT);
    let verify = || {
        let mut command = Command::new(assert_cmd::cargo::cargo_bin!("fedcompetitors"));
        let competing = hospitals("competing.csv");
        command.current_dir(desk.0.path());
        command.args(["verify", "--competing", &competing, "--plan", "edited.json"]);
        command
    };
    let mut child =
        verify().stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("it starts");
    drop(child.stdout.take());
    assert_eq!(child.wait().expect("it ends").code(), Some(1));
    let full = || fs::File::options().write(true).open("/dev/full");
    if let Ok(full) = full() {
        let status = verify().stdout(Stdio::null()).stderr(full).status().expect("it ends");
        assert_eq!(status.code(), Some(1));
    }
    if let Ok(full) = full() {
        let status = verify().stdout(full).stderr(Stdio::null()).status().expect("it ends");
        assert_eq!(status.code(), Some(4));
    }
}

#[test]
fn what_was_read_is_not_written_over() {
    let desk = Desk::new();
    desk.plan();
    desk.write("competing.csv", "a,b\n");
    desk.write("benefit.csv", "from,to,benefit\nCity,North,1\n");
    let output = desk.run(&[
        "select",
        "--competing",
        "competing.csv",
        "--benefit",
        "benefit.csv",
        "--out",
        "./benefit.csv",
    ]);
    insta::assert_snapshot!(seen(&output));
    assert_eq!(desk.verify("plan.json", &["--certificate", "plan.json"]).status.code(), Some(2));
    assert!(fs::read_to_string(desk.path("benefit.csv")).expect("still there").starts_with("from"));
}

#[cfg(unix)]
#[test]
fn links_stay_and_permissions_are_kept() {
    use std::os::unix::fs::PermissionsExt;
    let desk = Desk::new();
    desk.write("real.json", "old");
    let mode = |mode| fs::Permissions::from_mode(mode);
    fs::set_permissions(desk.path("real.json"), mode(0o600)).expect("ours");
    std::os::unix::fs::symlink("real.json", desk.path("plan.json")).expect("a link");
    desk.plan();
    assert!(desk.path("plan.json").is_symlink());
    let real = fs::metadata(desk.path("real.json")).expect("there");
    assert_eq!(real.permissions().mode() & 0o777, 0o600);
    assert!(real.len() > 3, "the target was written");
}

/// Told to end while it writes, the program leaves nothing behind.
#[cfg(unix)]
#[test]
fn an_interrupted_write_leaves_no_traces() {
    use std::{
        io::Read,
        process::{Command, Stdio},
        time::Duration,
    };
    let desk = Desk::new();
    desk.run(&["generate", "--participants", "700", "--out", "in"]);
    fs::create_dir(desk.path("out")).expect("a folder");
    let mut child = Command::new(assert_cmd::cargo::cargo_bin!("fedcompetitors"))
        .current_dir(desk.0.path())
        .args(["select", "--competing", "in/competing.csv", "--benefit", "in/benefit.csv"])
        .args(["--out", "out/plan.json"])
        .stdout(Stdio::piped())
        .spawn()
        .expect("it starts");
    // The reasons of so many refusals take a while; the file is begun before.
    let begun = || fs::read_dir(desk.path("out")).expect("a folder").count() > 0;
    while !begun() && child.try_wait().expect("ours").is_none() {
        std::thread::sleep(Duration::from_millis(1));
    }
    let killed = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(killed.expect("kill runs").success() || child.try_wait().expect("ours").is_some());
    let mut output = Vec::new();
    child.stdout.take().expect("piped").read_to_end(&mut output).expect("read");
    let code = child.wait().expect("it ends").code();
    let left: Vec<_> = fs::read_dir(desk.path("out"))
        .expect("a folder")
        .map(|e| e.expect("an entry").file_name())
        .collect();
    // On a very fast machine it may have been done.
    if code == Some(0) {
        assert_eq!(left, ["plan.json"]);
    } else {
        assert_eq!((code, left.len()), (Some(130), 0), "{left:?}");
    }
}

#[test]
fn completions_and_manual_pages_are_made() {
    let desk = Desk::new();
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let output = desk.run(&["completions", shell]);
        assert!(text(&output.stdout).contains("explain"), "{shell}");
    }
    let page = text(&desk.run(&["manual"]).stdout);
    assert!(page.contains(".TH fedcompetitors 1") && page.contains("Exit status"), "{page}");
    assert_eq!(desk.run(&["manual", "--out", "man"]).status.code(), Some(0));
    let select = fs::read_to_string(desk.path("man/fedcompetitors-select.1")).expect("written");
    assert!(select.contains("\\-\\-competing"));
}

#[test]
fn help_is_as_written() {
    let desk = Desk::new();
    insta::assert_snapshot!(text(&desk.run(&["--help"]).stdout));
    insta::assert_snapshot!(text(&desk.run(&["select", "--help"]).stdout));
}

/// The commands of the README, as a reader would paste them.
#[cfg(unix)]
#[test]
fn the_commands_of_the_readme_work() {
    use std::process::Command;
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let readme = fs::read_to_string(root.join("README.md")).expect("the README");
    let desk = Desk::new();
    std::os::unix::fs::symlink(root.join("examples"), desk.path("examples")).expect("a link");
    let program = Path::new(assert_cmd::cargo::cargo_bin!("fedcompetitors"));
    let folders = std::env::var("PATH").unwrap_or_default();
    let path = format!("{}:{folders}", program.parent().expect("a folder").display());
    let mut run = 0;
    for line in readme.lines() {
        let command = line.replace("cargo run --release -- ", "fedcompetitors ");
        if !command.starts_with("fedcompetitors ") {
            continue;
        }
        if command.contains("| jq") && Command::new("jq").arg("--version").output().is_err() {
            eprintln!("skipped, as jq is not installed: {command}");
            continue;
        }
        let shell = Command::new("sh")
            .args(["-c", &command])
            .current_dir(desk.0.path())
            .env("PATH", &path)
            .output()
            .expect("a shell");
        assert!(shell.status.success(), "{command}\n{}", text(&shell.stderr));
        assert!(!shell.stdout.is_empty(), "{command}");
        run += 1;
    }
    assert!(run >= 4, "only {run} commands were found");
}
