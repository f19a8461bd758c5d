//! The program as its users meet it: what it prints, how it ends.

mod architecture;
mod change;
#[cfg(unix)]
mod documents;
mod examples;
mod experiments;
mod fetch;
mod hospitals;
mod init;
mod manners;
mod plans;
mod proofs;
mod report;
mod rule;
mod runs;
mod serve;
mod toys;

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
struct Sandbox(tempfile::TempDir);

impl Sandbox {
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
    Sandbox::new()
        .run(&[&["select", "--competing", &competing, "--benefit", &benefit], format].concat())
}

/// These bytes cut off, or with some of them inverted, at a place that depends on the case.
fn damaged(whole: &[u8], case: usize) -> Vec<u8> {
    let mut bytes = whole.to_vec();
    let at = (case * 7919 + 13) * 97 % bytes.len();
    if case.is_multiple_of(3) {
        bytes.truncate(at);
    } else {
        let end = (at + 64).min(bytes.len());
        bytes[at..end].iter_mut().for_each(|byte| *byte = !*byte);
    }
    bytes
}

/// Can no plan have more, up to rounding?
fn is_proven(plan: &Value) -> bool {
    let number = |key: &str| plan[key].as_f64().expect("a number");
    number("upper_bound") <= number("welfare") * (1.0 + 1e-6)
}
