//! Plans: made, compared, asked about.

use super::*;

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
    let sandbox = Sandbox::new();
    sandbox.plan();
    assert_eq!(fs::read(sandbox.path("plan.json")).expect("written"), output.stdout);

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
    let sandbox = Sandbox::new();
    let arguments = ["compare", "--competing", &competing, "--benefit", &benefit];
    let output = sandbox.run(&arguments);
    assert_eq!(output.status.code(), Some(0));
    assert!(text(&output.stdout).contains("proven to be the best"), "{}", text(&output.stdout));
    let output = sandbox.run(&[&arguments[..], &["--format", "json"]].concat());
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
        let output = Sandbox::new().run(&[
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
    insta::assert_snapshot!(seen(&Sandbox::new().run(&arguments)));
    let output = Sandbox::new().run(&[&arguments[..], &["--format", "json"]].concat());
    let prices: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(prices["prices"].as_array().expect("a list").len(), 4);
}

/// A price that is not proven is a range that holds the truth.
#[test]
fn prices_without_time_are_ranges() {
    let sandbox = Sandbox::new();
    sandbox.run(&["generate", "--participants", "24", "--seed", "3", "--out", "in"]);
    let price = |more: &[&str]| -> Value {
        let files = ["price", "--competing", "in/competing.csv", "--benefit", "in/benefit.csv"];
        let output = sandbox.run(&[&files[..], &["--format", "json"], more].concat());
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
    let text = text(&Sandbox::new().run(&arguments).stdout);
    // Seconds differ.
    let header = text.lines().next().expect("a header").to_owned();
    let last = text.lines().last().expect("a last line").to_owned();
    insta::assert_snapshot!(format!("{header}\n{last}"));
}

/// Three clinics and two large hospitals, benefits in samples.
fn clinics(sandbox: &Sandbox) {
    sandbox.write("competing.csv", "a,b\nNorth,Hill\nSouth,Lake\n");
    sandbox.write(
        "benefit.csv",
        "from,to,benefit\nNorth,South,900\nSouth,North,700\nSouth,Hill,200\nNorth,Lake,150\n\
         Hill,Lake,40\nLake,Hill,30\nDale,South,20\nSouth,Dale,120\nDale,Hill,60\nHill,Dale,25\n",
    );
    sandbox.write(
        "samples.csv",
        "participant,samples\nNorth,4000\nSouth,5000\nHill,50\nLake,80\nDale,60\n",
    );
}

#[test]
fn diminishing_returns_need_sample_counts_and_give_a_value_with_a_bound() {
    let sandbox = Sandbox::new();
    clinics(&sandbox);
    let run = |command: &str, more: &[&str]| {
        let files = [command, "--competing", "competing.csv", "--benefit", "benefit.csv"];
        sandbox.run(&[&files[..], more].concat())
    };
    let aim = ["--objective", "diminishing", "--samples", "samples.csv"];
    let best = [&["--policy", "optimal"], &aim[..]].concat();
    insta::assert_snapshot!(seen(&run("select", &best)));
    let written =
        [&best[..], &["--out", "plan.json", "--no-refusals", "--format", "json"]].concat();
    insta::assert_snapshot!(seen(&run("select", &written)));
    assert_eq!(
        sandbox
            .run(&["verify", "--competing", "competing.csv", "--plan", "plan.json"])
            .status
            .code(),
        Some(0)
    );
    insta::assert_snapshot!(seen(&run(
        "select",
        &[&best[..], &["--if-independent", "North", "Hill"]].concat()
    )));
    let json = ["--if-independent", "North", "Hill", "--format", "json"];
    insta::assert_snapshot!(seen(&run("select", &[&best[..], &json].concat())));
    insta::assert_snapshot!(seen(&run("price", &aim)));
    insta::assert_snapshot!(seen(&run("price", &[&aim[..], &["--format", "json"]].concat())));
    insta::assert_snapshot!(seen(&run("replan", &[&best[..], &["--plan", "plan.json"]].concat())));
    // Seconds differ.
    let compared = text(&run("compare", &aim).stdout);
    let rows: Vec<String> = compared
        .lines()
        .map(|line| line.split_whitespace().take(4).collect::<Vec<_>>().join(" "))
        .take(7)
        .chain(compared.lines().last().map(str::to_owned))
        .collect();
    insta::assert_snapshot!(rows.join("\n"));
    let refused = [
        run("select", &best[..4]),
        run("compare", &aim[..2]),
        run("select", &aim),
        run("select", &["--policy", "optimal", "--samples", "samples.csv"]),
        run("price", &["--objective", "max-min"]),
        run("select", &[&best[..5], &["no-such-file.csv"]].concat()),
        run("select", &[&best[..5], &["benefit.csv"]].concat()),
        run("select", &[&best[..], &["--out", "samples.csv"]].concat()),
    ];
    insta::assert_snapshot!(refused.iter().map(seen).collect::<Vec<_>>().join("\n"));
    sandbox.write("samples.csv", "participant,samples\nNorth,4000\nSouth,5000\nHill,many\n");
    insta::assert_snapshot!(seen(&run("select", &best)));
}

/// The same bytes with any number of threads.
#[test]
fn diminishing_returns_are_the_same_with_any_number_of_threads() {
    let sandbox = Sandbox::new();
    clinics(&sandbox);
    let plans = ["1", "2", "5"].map(|threads| {
        assert_cmd::cargo::cargo_bin_cmd!("fedcompetitors")
            .current_dir(sandbox.0.path())
            .env("RAYON_NUM_THREADS", threads)
            .args(["select", "--competing", "competing.csv", "--benefit", "benefit.csv"])
            .args(["--policy", "optimal", "--objective", "diminishing", "--samples", "samples.csv"])
            .args(["--format", "json"])
            .output()
            .expect("it runs")
            .stdout
    });
    assert!(!plans[0].is_empty() && plans[0] == plans[1] && plans[1] == plans[2]);
}

/// Told to stop, a search gives the best plan so far, with its bound.
#[cfg(unix)]
#[test]
fn an_interrupted_search_gives_its_best_plan() {
    use std::process::{Command, Stdio};
    let sandbox = Sandbox::new();
    sandbox.run(&["generate", "--participants", "120", "--out", "in"]);
    let child = Command::new(assert_cmd::cargo::cargo_bin!("fedcompetitors"))
        .current_dir(sandbox.0.path())
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
fn the_same_federation_as_tables_and_as_matrices_gives_the_same_plan() {
    let sandbox = Sandbox::new();
    for format in ["csv", "npy"] {
        let output = sandbox.run(&[
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
        let output = sandbox.run(&[
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
    let read = |name: &str| fs::read(sandbox.path(name)).expect("written");
    assert_eq!(read("csv.json"), read("npy.json"));
    // The matrices need no list: the paper's names are theirs.
    let output = sandbox.run(&[
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
    let sandbox = Sandbox::new();
    for folder in ["one", "two"] {
        let output =
            sandbox.run(&["generate", "--participants", "12", "--seed", "8", "--out", folder]);
        assert_eq!(output.status.code(), Some(0));
    }
    for file in ["competing.csv", "benefit.csv", "participants.txt"] {
        let read = |folder: &str| fs::read(sandbox.path(folder).join(file)).expect("written");
        assert_eq!(read("one"), read("two"));
    }
}
