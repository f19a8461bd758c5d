//! `bench experiment`, with a made-up program beside it.

#![cfg(unix)]

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::Path,
    process::{Command, Output},
};

fn bench(program: &Path, arguments: &[&str]) -> Output {
    Command::new(program).arg("experiment").args(arguments).output().expect("it runs")
}

/// One test, as a program that another thread is about to start could not be written to.
#[test]
fn runs_the_program_and_records_where_results_come_from() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name);
    fs::copy(env!("CARGO_BIN_EXE_bench"), at("bench")).expect("copied");
    let save = at("runs");
    let save = save.to_str().expect("a plain name");
    let told = |output: &Output| String::from_utf8_lossy(&output.stderr).into_owned();

    let output = bench(&at("bench"), &["--", "synthetic-weak"]);
    assert!(!output.status.success());
    let error = told(&output);
    assert!(error.contains("fedcompetitors: there is no such program\nhint: build it"), "{error}");

    // It writes what it is told into the folder that it is told; `eicu` fails.
    let script = "#!/bin/sh\necho \"got $*\"\ntest \"$2\" != eicu || exit 3\n\
                  for last; do :; done\nmkdir -p \"$last\"\necho '{}' > \"$last/results.json\"\n";
    fs::write(at("fedcompetitors"), script).expect("written");
    fs::set_permissions(at("fedcompetitors"), fs::Permissions::from_mode(0o755)).expect("set");

    let arguments = ["--save", save, "--name", "weak-2", "--", "synthetic-weak", "--seeds", "2"];
    let output = bench(&at("bench"), &arguments);
    assert!(output.status.success(), "{}", told(&output));
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(printed, format!("got reproduce synthetic-weak --seeds 2 --out {save}/weak-2\n"));
    let made = fs::read_to_string(at("runs/weak-2/made.txt")).expect("recorded");
    let keys: Vec<&str> = made.lines().filter_map(|line| Some(line.split_once(": ")?.0)).collect();
    assert_eq!(keys, ["command", "commit", "compiler", "processor", "threads", "date", "seconds"]);
    assert!(made.starts_with("command: fedcompetitors reproduce synthetic-weak --seeds 2\n"));

    let refused = [
        (&["--save", save, "--", "eicu"][..], "ended with exit status: 3"),
        (&["--save", save, "--", "synthetic-weak", "--out", "x"], "`--out` is for this program"),
        (&["--save", save, "--", "--seeds", "2"], "no experiment is named"),
    ];
    for (arguments, problem) in refused {
        let output = bench(&at("bench"), arguments);
        let error = told(&output);
        assert!(!output.status.success() && error.contains(problem), "{error}");
        assert!(error.contains("\nhint: "), "{error}");
    }
    assert!(!at("runs/eicu").exists());
}
