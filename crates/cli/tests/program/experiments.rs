//! The paper's experiments, as the program runs them.

use super::*;

/// A small run of the paper's experiment: a figure for every method and participant, and
/// files that hold the same.
#[test]
fn an_experiment_runs_and_is_written() {
    let sandbox = Sandbox::new();
    let small = ["--seeds", "1", "--evaluations", "500", "--rate", "0.03", "--decay", "0.001"];
    let arguments = ["reproduce", "synthetic-weak", "--format", "json", "--out", "results"];
    let output = sandbox.run(&[&arguments[..], &small].concat());
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
    let written = fs::read(sandbox.path("results/results.json")).expect("written");
    assert_eq!(written, output.stdout);
    let table = fs::read_to_string(sandbox.path("results/table.md")).expect("written");
    assert!(table.contains("| FedCompetitors, mixing |"));
    assert!(
        fs::read_to_string(sandbox.path("results/table.txt")).expect("written").contains("paper's")
    );
}

#[test]
fn an_experiment_that_cannot_be_is_refused() {
    let run = |more: &[&str]| seen(&Sandbox::new().run(&[&["reproduce"], more].concat()));
    insta::assert_snapshot!(run(&["synthetic-week"]));
    insta::assert_snapshot!(run(&["synthetic-weak", "--seeds", "0"]));
    insta::assert_snapshot!(run(&["synthetic-weak", "--evaluations", "100"]));
    insta::assert_snapshot!(run(&["synthetic-weak", "--rate", "0.1"]));
    insta::assert_snapshot!(run(&["cifar10"]));
    insta::assert_snapshot!(run(&["cifar10", "--data", "nowhere"]));
    insta::assert_snapshot!(run(&["cifar10", "--data", "nowhere", "--measure"]));
    insta::assert_snapshot!(run(&["synthetic-weak", "--budget", "full"]));
    // A rate with which everything diverges is told, with whom it happened to first.
    let wild = ["synthetic-weak", "--seeds", "1", "--evaluations", "500", "--rate", "1e30"];
    insta::assert_snapshot!(run(&[&wild[..], &["--decay", "0"]].concat()));
}
