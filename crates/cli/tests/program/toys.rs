//! A policy, an estimator, a trainer and a metric are added to a copy of the sources, each as a file, its
//! `mod` and its place in the registry. Nothing else changes, and the program, federation files, Python
//! and `docs/methods.md` have them.

use std::{collections::BTreeMap, env, process::Command};

use super::*;

/// Each toy: its file below `toys`, the folder of its registry, and its entry there.
const TOYS: [(&str, &str, &str); 4] = [
    ("policy.rs", "crates/select/src/policies", "&toy::Toy"),
    ("estimator.rs", "crates/federate/src/estimate", "&toy::KIND"),
    ("trainer.rs", "crates/federate/src/train", "&toy::KIND"),
    ("metric.rs", "crates/learn/src/metrics", "&toy::Toy"),
];

/// What the build and the Python package need.
const SOURCES: [&str; 8] = [
    "Cargo.toml",
    "Cargo.lock",
    "crates",
    "bench",
    ":!bench/runs",
    "fuzz",
    "examples",
    "python/fedcompetitors",
];

const FEDERATION: &str = r#"
name = "toys"
compare = ["greedy+mixing"]
[task]
metric = "toy-error"
[benefit]
estimator = "toy-guess"
[benefit.toy-guess]
guess = 0.5
[selection]
policy = "toy-plan"
[training]
trainer = "toy-relay"
rounds = 4
[training.toy-relay]
share = 0.4
[[participants]]
name = "A"
generate = { samples = 80 }
competes-with = ["B"]
[[participants]]
name = "B"
generate = { samples = 40 }
[[participants]]
name = "C"
generate = { samples = 60 }
"#;

const PYTHON: &str = "
import json, fedcompetitors as fc
kinds = ['policy', 'estimator', 'trainer', 'metric']
print(json.dumps([name for kind in kinds for name in fc.entries(kind) if name.startswith('toy-')]))
toys = [('estimator', 'toy-guess'), ('trainer', 'toy-relay')]
print(json.dumps([fc.default_settings(kind, name) for kind, name in toys]))
";

type Files = BTreeMap<PathBuf, Vec<u8>>;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the sources")
}

/// The sources, by their paths below the root.
fn sources() -> Files {
    let root = root();
    let listed = Command::new("git")
        .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard", "--"])
        .args(SOURCES)
        .current_dir(&root)
        .output()
        .expect("git lists the sources");
    assert!(listed.status.success(), "{}", text(&listed.stderr));
    let names = text(&listed.stdout);
    let paths = names.split_terminator('\0').map(PathBuf::from);
    paths.filter_map(|path| Some((path.clone(), fs::read(root.join(path)).ok()?))).collect()
}

/// A module with one more entry at the end of the list that its `fn entries` returns.
fn listed(module: &str, entry: &str) -> String {
    let function = module.find("fn entries()").expect("a registry");
    let after = function + module[function..].find("\n    }\n").expect("the end of the function");
    let list = function + module[function..after].rfind("&[").expect("a list");
    let end = list + module[list..].find(']').expect("the end of the list");
    let (before, after) = module.split_at(end);
    if before.trim_end().ends_with(',') {
        format!("{before}    {entry},\n        {after}")
    } else {
        format!("{before}, {entry}{after}")
    }
}

fn add_toys(files: &mut Files) {
    let toys = root().join("crates/cli/tests/program/toys");
    for (file, folder, entry) in TOYS {
        let toy = fs::read(toys.join(file)).expect("a toy");
        assert!(files.insert(format!("{folder}/toy.rs").into(), toy).is_none());
        let registry = files.get_mut(&PathBuf::from(format!("{folder}/mod.rs"))).expect("a module");
        let module = text(registry);
        let changed = listed(&module, entry).replacen("\nmod ", "\nmod toy;\nmod ", 1);
        let new = changed.lines().filter(|line| !module.lines().any(|old| old == *line));
        assert_eq!(new.count(), 2, "{folder}: its `mod` and its line in the registry");
        *registry = changed.into_bytes();
    }
}

/// Makes a folder contain these files and no others. What is there already keeps its time, so that it
/// is not built again.
fn write(files: &Files, folder: &Path) {
    let known = folder.with_extension("list");
    for old in fs::read_to_string(&known).unwrap_or_default().lines() {
        if !files.contains_key(Path::new(old)) {
            let _ = fs::remove_file(folder.join(old));
        }
    }
    for (path, content) in files {
        let path = folder.join(path);
        if fs::read(&path).ok().as_ref() != Some(content) {
            fs::create_dir_all(path.parent().expect("a folder")).expect("created");
            fs::write(&path, content).expect("written");
        }
    }
    let names: Vec<_> = files.keys().map(|path| path.display().to_string()).collect();
    fs::write(&known, names.join("\n")).expect("written");
}

/// Where Cargo builds the program under test.
fn target() -> PathBuf {
    env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), Into::into)
}

/// Builds the program and the Python glue of a copy of the sources. Dependencies that were built for the
/// program under test are used again; the program itself is not replaced, as `out` is another folder.
fn build(copy: &Path, out: &Path) {
    let mut build = Command::new(env::var("CARGO").unwrap_or("cargo".into()));
    build.args(["build", "--quiet", "--locked", "--offline", "--workspace", "--lib", "--bins"]);
    build.args(["--features", "fedcompetitors-files/parquet"]);
    build.current_dir(copy).env("CARGO_BUILD_BUILD_DIR", target()).env("CARGO_TARGET_DIR", out);
    // Build scripts that watch what Cargo says about the package under test would run again.
    for (name, _) in env::vars_os() {
        if ["CARGO_PKG_", "CARGO_MANIFEST_"]
            .iter()
            .any(|one| name.to_string_lossy().starts_with(one))
        {
            build.env_remove(name);
        }
    }
    // These run for a moment, so they need not be fast.
    for package in fs::read_dir(copy.join("crates")).expect("the crates") {
        let room = package.expect("an entry").file_name().to_string_lossy().into_owned();
        let name =
            if room == "cli" { "fedcompetitors".into() } else { format!("fedcompetitors-{room}") };
        build.args(["--config", &format!("profile.dev.package.{name}.opt-level=0")]);
    }
    let built = build.output().expect("cargo");
    assert!(built.status.success(), "{}", text(&built.stderr));
}

#[test]
fn a_toy_of_each_kind_is_one_file_and_one_line() {
    let toys = target().join("toys");
    let (copy, out) = (toys.join("sources"), toys.join("built"));
    let mut files = sources();
    add_toys(&mut files);
    write(&files, &copy);
    build(&copy, &out);

    let sandbox = Sandbox::new();
    let run = |arguments: &[&str]| {
        let mut program = Command::new(out.join("debug/fedcompetitors"));
        program.current_dir(sandbox.0.path()).args(arguments).output().expect("it runs")
    };
    // The help, and the document: what is new in it is about the toys and their settings.
    let help = text(&run(&["select", "--help"]).stdout);
    assert!(help.contains("- toy-plan:"), "{help}");
    let help = text(&run(&["init", "--help"]).stdout);
    for toy in ["toy-plan", "toy-guess", "toy-relay", "toy-error"] {
        assert!(help.contains(&format!("- {toy}:")), "{toy}: {help}");
    }
    let page = text(&run(&["list", "--format", "markdown"]).stdout);
    let before = fs::read_to_string(root().join("docs/methods.md")).expect("the document");
    let new: Vec<&str> =
        page.lines().filter(|line| !before.lines().any(|other| other == *line)).collect();
    insta::assert_snapshot!(new.join("\n"));

    // The federation file.
    sandbox.write("toys.toml", &FEDERATION.replace("share = 0.4", "share = 1.5"));
    insta::assert_snapshot!(seen(&run(&["check", "toys.toml"])));
    sandbox.write("toys.toml", FEDERATION);
    insta::assert_snapshot!(seen(&run(&["check", "toys.toml"])));
    let ran = run(&["run", "toys.toml", "--out", "run"]);
    assert_eq!(ran.status.code(), Some(0), "{}", seen(&ran));
    insta::assert_snapshot!(text(&ran.stdout));
    let audited = run(&["audit", "run"]);
    assert_eq!(audited.status.code(), Some(0), "{}", seen(&audited));

    python(&copy.join("python"), &out);
}

/// Without the packages that `./check` installs, Python is skipped, but in CI that fails.
fn python(package: &Path, out: &Path) {
    let python = root().join("target/python/bin/python");
    if !python.exists() {
        assert!(env::var_os("CI").is_none(), "no Python packages; ./check installs them");
        eprintln!("skipped: no Python packages; ./check installs them");
        return;
    }
    let library = ["lib_native.so", "lib_native.dylib"].map(|name| out.join("debug").join(name));
    let library = library.iter().find(|path| path.exists()).expect("the Python glue");
    fs::copy(library, package.join("fedcompetitors/_native.abi3.so")).expect("copied");
    let said = Command::new(python)
        .args(["-c", PYTHON])
        .env("PYTHONPATH", package)
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .output()
        .expect("Python");
    assert_eq!(
        text(&said.stdout).trim(),
        "[\"toy-plan\", \"toy-guess\", \"toy-relay\", \"toy-error\"]\n\
         [{\"guess\": 0.125}, {\"share\": 0.25}]",
        "{}",
        text(&said.stderr)
    );
}
