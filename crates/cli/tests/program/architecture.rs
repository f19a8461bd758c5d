//! The drawing in `ARCHITECTURE.md` shows the crates as Cargo sees them.

use std::{
    collections::{BTreeMap, BTreeSet},
    env,
    fmt::Write as _,
    process::Command,
};

use super::*;

type Graph = BTreeMap<String, BTreeSet<String>>;

/// Each crate with the crates of the workspace that it depends on, tests and benchmarks aside.
fn dependencies() -> Graph {
    let output = Command::new(env::var("CARGO").unwrap_or("cargo".into()))
        .args(["metadata", "--format-version=1", "--no-deps", "--locked", "--offline"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo metadata");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let packages: Vec<(String, Value)> = list(&metadata["packages"])
        .into_iter()
        .filter(|package| {
            package["manifest_path"].as_str().is_some_and(|path| path.contains("/crates/"))
        })
        .map(|package| (package["name"].as_str().unwrap_or_default().to_owned(), package))
        .collect();
    packages
        .iter()
        .map(|(name, package)| {
            let used = list(&package["dependencies"]).into_iter().filter_map(|one| {
                let other = one["name"].as_str()?.to_owned();
                let is_ours =
                    one["kind"].is_null() && packages.iter().any(|(name, _)| *name == other);
                is_ours.then(|| room(&other))
            });
            (room(name), used.collect())
        })
        .collect()
}

/// The folder of a crate.
fn room(package: &str) -> String {
    package.strip_prefix("fedcompetitors-").unwrap_or("cli").to_owned()
}

/// All crates that one reaches through others.
fn reached(graph: &Graph, from: &str) -> BTreeSet<String> {
    let mut all = BTreeSet::new();
    let mut ahead: Vec<String> = graph[from].iter().cloned().collect();
    while let Some(next) = ahead.pop() {
        ahead.extend(graph[&next].iter().cloned());
        all.insert(next);
    }
    all
}

/// The drawing: an arrow for each dependency that no chain of others implies.
fn drawing(graph: &Graph) -> String {
    let mut lines = String::from("```mermaid\ngraph TD\n");
    for (name, used) in graph {
        for other in used {
            let is_implied =
                used.iter().any(|via| via != other && reached(graph, via).contains(other));
            if !is_implied {
                let _ = writeln!(lines, "    {name} --> {other}");
            }
        }
    }
    lines + "```\n"
}

#[test]
fn the_drawing_of_the_crates_is_what_cargo_says() {
    let graph = dependencies();
    let expected = drawing(&graph);
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../ARCHITECTURE.md");
    let text = fs::read_to_string(&path).expect("the document");
    let start = text.find("```mermaid\n").expect("a drawing");
    let end = start + text[start..].find("\n```\n").expect("its end") + 5;
    if env::var("INSTA_UPDATE").is_ok_and(|update| update == "always") {
        let written = format!("{}{expected}{}", &text[..start], &text[end..]);
        fs::write(&path, written).expect("written");
        return;
    }
    assert_eq!(text[start..end], expected, "INSTA_UPDATE=always draws it again");
    for name in graph.keys() {
        assert!(text.contains(&format!("| `crates/{name}` |")), "crates/{name} is in the table");
    }
}

/// What the rooms must not know, and nothing that they use may know either.
#[test]
fn rooms_do_not_know_what_they_must_not() {
    let graph = dependencies();
    for (name, others) in [
        ("record", &["graphs", "learn", "files", "federate", "runs"][..]),
        ("audit", &["graphs", "select", "learn", "files", "federate", "runs"]),
        ("select", &["learn", "files"]),
        ("learn", &["select", "federate", "files"]),
        ("federate", &["files", "runs", "report", "cli"]),
        ("report", &["files", "learn", "federate", "runs"]),
        ("files", &["runs", "report", "cli"]),
        ("runs", &["experiments", "report", "cli"]),
    ] {
        let reached = reached(&graph, name);
        for other in others {
            assert!(!reached.contains(*other), "{name} depends on {other}");
        }
    }
    let users = graph.iter().filter(|(_, used)| used.contains("experiments"));
    assert_eq!(users.map(|(name, _)| name.as_str()).collect::<Vec<_>>(), ["cli"]);
}
