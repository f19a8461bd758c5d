//! The committed page, and every computed sentence with made-up figures, where it says that
//! they agree and where it says that they differ.

use std::{fs, path::Path};

use serde_json::{Value, json};
use tempfile::TempDir;

use super::{findings::Findings, *};

/// A method with the figures of each seed, and the paper's.
fn method(name: &str, cells: &[[f64; 2]], paper: &Value) -> Value {
    json!({
        "method": name,
        "cells": cells,
        "paper": paper,
        "gradients": 2000.0,
        "gradients_for_estimation": 0.0,
        "rule": "Adam, rate 0.1, decay 0",
        "plans": [[["v1", "v2"]]],
    })
}

/// Figures of the paper for two participants.
fn papers(first: f64, second: f64) -> Value {
    json!([[first, 0.01], [second, 0.02]])
}

fn document(experiment: &str, methods: &[Value]) -> Value {
    let seeds = methods[0]["cells"].as_array().map_or(0, Vec::len);
    json!({
        "format": "fedcompetitors-experiment/1",
        "experiment": experiment,
        "seeds": (0..seeds).map(|seed| 901 + seed).collect::<Vec<_>>(),
        "participants": ["v1", "v2"],
        "gradients_for_each_participant": 2000,
        "methods": methods,
    })
}

/// A folder of runs with one run that holds this.
fn runs(name: &str, results: &str) -> TempDir {
    let runs = tempfile::tempdir().expect("a folder");
    let folder = runs.path().join("2026-01-01-a").join(name);
    fs::create_dir_all(&folder).expect("a folder");
    fs::write(folder.join("results.json"), results).expect("written");
    runs
}

fn found(experiment: &str, methods: &[Value]) -> Findings {
    let runs = runs(experiment, &document(experiment, methods).to_string());
    let stored = stored::newest(&stored::runs(runs.path()).expect("runs")).expect("good results");
    findings::findings(&stored[0])
}

#[test]
fn the_committed_page_is_that_of_the_stored_results() {
    let bench = Path::new(env!("CARGO_MANIFEST_DIR"));
    let committed = fs::read_to_string(bench.join("../RESULTS.md")).expect("there is a page");
    let made = page(&bench.join("runs")).expect("good results");
    assert!(
        committed == made,
        "RESULTS.md is not what the stored results say; make it anew with\n\
         cargo run --release -p fedcompetitors-bench -- results"
    );
}

const LOCAL: [[f64; 2]; 2] = [[0.20, 0.20], [0.22, 0.22]];

#[test]
fn nearly_all_as_in_the_paper() {
    let found = found(
        "synthetic-strong",
        &[
            method("Local", &LOCAL, &papers(0.23, 0.23)),
            method("FedAvg", &[[4.0, 4.0], [5.0, 5.0]], &papers(5.0, 5.0)),
            method("CE", &[[0.11, 0.13], [0.12, 0.14]], &papers(0.14, 0.14)),
            method("FedCompetitors", &[[0.10, 0.10], [0.11, 0.11]], &papers(0.13, 0.13)),
            method("FedCompetitors, mixing", &[[0.08, 0.08], [0.09, 0.09]], &papers(0.13, 0.13)),
        ],
    );
    let mixing = "FedCompetitors (mixing)";
    assert_eq!(
        found.standing,
        [format!(
            "The lowest mean is that of {mixing}, 0.085; no other is within one standard error of the difference."
        )]
    );
    assert_eq!(
        found.agrees,
        [
            format!("{mixing} has the lowest mean; in the paper it is FedCompetitors (0.13)."),
            "Of the 6 pairs of the paper's methods whose means differ there, 6 are in the same order here.".into(),
            format!("At the paper's figure or better for every participant: Local, FedAvg, CE, FedCompetitors and {mixing}."),
            "These fail, error over 10 times that of Local: FedAvg 21.4 times (the paper's 21.7).".into(),
        ]
    );
    assert_eq!(
        found.differs,
        [format!(
            "{mixing} does not train as in the paper; FedCompetitors, which does, is behind it by 0.0200 ± 0.0000."
        )]
    );
    assert_eq!(found.why.len(), 1);
    assert!(found.why[0].starts_with("Local is better than the paper's by 0.020. "));
    assert!(found.why[0].ends_with(
        "Its optimizer settings: Adam, rate 0.1, decay 0; the number of candidates is not recorded."
    ));
}

#[test]
fn nothing_as_in_the_paper() {
    let found = found(
        "synthetic-weak",
        &[
            method("Local", &[[0.20, 0.90], [0.22, 0.92]], &papers(0.23, 0.80)),
            method("FedAvg", &[[0.10, 0.10], [0.11, 0.11]], &papers(9.0, 9.0)),
            method("SCAFFOLD", &[[8.0, 8.0], [9.0, 9.0]], &papers(0.12, 0.12)),
            method("FedCompetitors", &[[0.30, 0.30], [0.32, 0.32]], &papers(0.11, 0.11)),
        ],
    );
    assert!(found.agrees.iter().all(|told| !told.contains("lowest mean")), "{:?}", found.agrees);
    assert_eq!(
        found.differs,
        [
            "FedAvg has the lowest mean, while in the paper it is FedCompetitors (0.11); behind it here: FedCompetitors by 0.2050 ± 0.0050.",
            "In the other order: FedAvg is ahead of Local (0.105 and 0.560; the paper's 9.00 and 0.52); \
             Local is ahead of SCAFFOLD (0.560 and 8.500; the paper's 0.52 and 0.12); \
             FedAvg is ahead of SCAFFOLD (0.105 and 8.500; the paper's 9.00 and 0.12); \
             FedAvg is ahead of FedCompetitors (0.105 and 0.310; the paper's 9.00 and 0.11).",
            "Worse than the paper's: Local: v2 0.910 (the paper's 0.80 ± 0.02); \
             SCAFFOLD: v1 8.500 (the paper's 0.12 ± 0.01), v2 8.500 (the paper's 0.12 ± 0.02); \
             FedCompetitors: v1 0.310 (the paper's 0.11 ± 0.01), v2 0.310 (the paper's 0.11 ± 0.02).",
            "Less than half of the paper's error: FedAvg 0.105 (the paper's 9.00).",
            "Fail only here, error over 10 times that of Local: SCAFFOLD 15.2 times (the paper's 0.2).",
            "Fail only in the paper, error over 10 times that of Local: FedAvg 0.2 times (the paper's 17.5).",
        ]
    );
    assert!(found.why[0].starts_with(
        "Local is worse than the paper's by 0.045; worse for v2, better for the others. "
    ));
    assert!(found.why[1].ends_with("FedAvg: Adam, rate 0.1, decay 0."), "{:?}", found.why);
}

#[test]
fn ties_and_equal_rows() {
    let equal = [[0.10, 0.10], [0.12, 0.12]];
    let found = found(
        "synthetic-strong",
        &[
            method("Local", &LOCAL, &papers(0.23, 0.23)),
            method("SCAFFOLD", &[[0.09, 0.10], [0.12, 0.12]], &papers(0.17, 0.17)),
            method("CE", &equal, &papers(0.14, 0.14)),
            method("FedCompetitors", &equal, &papers(0.13, 0.13)),
        ],
    );
    let others = "CE (behind by 0.0025 ± 0.0025) and FedCompetitors (behind by 0.0025 ± 0.0025)";
    assert_eq!(
        found.standing,
        [format!(
            "The lowest mean is that of SCAFFOLD, 0.107; a tie, within one standard error of the difference, with {others}."
        )]
    );
    assert_eq!(
        found.agrees[0],
        "FedCompetitors is in a tie with the lowest mean; in the paper the lowest is FedCompetitors (0.13)."
    );
    assert_eq!(
        found.differs,
        ["In a tie here: CE and SCAFFOLD; FedCompetitors and SCAFFOLD; FedCompetitors and CE."]
    );
    assert_eq!(
        found.why[1],
        "CE and FedCompetitors have the same figures, as their plans are the same in each of the runs."
    );
}

/// The paper's own way is the best, and another of ours is as good.
#[test]
fn the_papers_own_way_leads() {
    let found = found(
        "synthetic-strong",
        &[
            method("Local", &LOCAL, &papers(0.23, 0.23)),
            method("FedCompetitors", &[[0.10, 0.10], [0.11, 0.11]], &papers(0.13, 0.13)),
            method("FedCompetitors, mixing", &[[0.10, 0.10], [0.12, 0.12]], &papers(0.13, 0.13)),
        ],
    );
    assert_eq!(
        found.agrees[0],
        "FedCompetitors has the lowest mean, in a tie with FedCompetitors (mixing); in the paper it is FedCompetitors (0.13)."
    );
    assert!(found.differs.is_empty(), "{:?}", found.differs);
}

#[test]
fn without_figures_of_the_paper() {
    let found = found(
        "eicu",
        &[
            method("Local", &[[0.70, 0.70], [0.70, 0.71]], &Value::Null),
            method("FedProx", &[[0.80, 0.80], [0.80, 0.81]], &Value::Null),
            method("CE", &[[0.60, 0.60], [0.60, 0.61]], &Value::Null),
            method("FedCompetitors, mixing", &[[0.75, 0.65], [0.65, 0.75]], &Value::Null),
        ],
    );
    assert_eq!(
        found.standing,
        [
            "The highest mean is that of FedProx, 0.802; no other is within the 95 % interval of the difference.",
            "Behind it: FedCompetitors (mixing) by 0.1025 ± 0.0318.",
            "Better than Local: FedProx (0.1000 ± 0.0000).",
            "In a tie with Local: FedCompetitors (mixing) (-0.0025 ± 0.0318).",
            "Worse than Local: CE (-0.1000 ± 0.0000).",
        ]
    );
    assert!(found.agrees.is_empty() && found.differs.is_empty() && found.why.is_empty());
}

/// Stored as parts of 1, in the paper as percents, and there only as means.
#[test]
fn accuracies_of_images() {
    let mean = |mean: f64| json!({ "mean": mean, "deviation": 0.3 });
    let methods = [
        method("Local", &[[0.90, 0.91], [0.91, 0.92]], &mean(89.99)),
        method("FedAvg", &[[0.80, 0.81], [0.81, 0.82]], &mean(85.0)),
        method("FedCompetitors", &[[0.93, 0.94], [0.94, 0.95]], &mean(92.0)),
        method("Unknown", &[[0.5, 0.5], [0.5, 0.5]], &Value::Null),
    ];
    let found = found("cifar10", &methods);
    assert_eq!(
        found.agrees,
        [
            "FedCompetitors has the highest mean; in the paper it is FedCompetitors (92.00).",
            "Of the 3 pairs of the paper's methods whose means differ there, 3 are in the same order here.",
            "At the paper's figure or better in the mean: Local and FedCompetitors.",
        ]
    );
    assert_eq!(
        found.differs,
        ["Worse than the paper's: FedAvg: mean 81.00 (the paper's 85.00 ± 0.30)."]
    );

    let mut document = document("cifar10", &methods);
    document["budget"] = json!("short");
    let runs = runs("cifar10-short", &document.to_string());
    let folder = runs.path().join("2026-01-01-a/cifar10-short");
    fs::write(folder.join("made.txt"), "commit: abc\nseconds: 61\n").expect("written");
    fs::write(folder.join("table.txt"), "Rate and decay chosen among 4 by\n").expect("written");
    let page = page(runs.path()).expect("good results");
    for part in [
        "### cifar10-short\n\nBudget: short.\n",
        "| Local | 91.00 ± 0.71 | 89.99 ± 0.30 | 2000 | – | Adam, rate 0.1, decay 0 |",
        "| Unknown | 50.00 ± 0.00 | – |",
        "Its optimizer settings were chosen by validation data among 4: Adam, rate 0.1, decay 0.",
        "| cifar10-short | 901 to 902 | 2000 | 61 | not recorded | not recorded | abc | not recorded | not recorded |",
        "## Hospitals\n\nDeaths in hospital, predicted from the data of the first day; each seed draws new folds for cross-validation.\n\nNo results are stored yet.\n",
        "No times are stored yet.",
    ] {
        assert!(page.contains(part), "{part}\nis not in\n{page}");
    }
}

/// By the number of images, all of them last; results without one of the methods are not in it.
#[test]
fn gains_by_the_number_of_images() {
    let of = |budget: &str, images: Value, trunks: [[f64; 2]; 2]| {
        let methods = [
            method("Local", &[[0.80, 0.80], [0.82, 0.82]], &Value::Null),
            method("Local, ensemble", &[[0.83, 0.83], [0.83, 0.83]], &Value::Null),
            method("FedCompetitors, trunks", &trunks, &Value::Null),
        ];
        let mut document = document("cifar10", &methods);
        document["budget"] = json!(budget);
        document["images_of_a_class"] = images;
        document.to_string()
    };
    let all = of("2000-gradient", Value::Null, [[0.82, 0.82], [0.83, 0.83]]);
    let runs = runs("cifar10-all-images", &all);
    let some = of("2000-gradient", json!(60), [[0.84, 0.84], [0.86, 0.86]]);
    let without = document("cifar10", &[method("Local", &[[0.8, 0.8]], &Value::Null)]);
    for (name, results) in [("cifar10-60-images", some), ("cifar10-short", without.to_string())] {
        let folder = runs.path().join("2026-01-01-a").join(name);
        fs::create_dir_all(&folder).expect("a folder");
        fs::write(folder.join("results.json"), results).expect("written");
    }
    let page = page(runs.path()).expect("good results");
    let table = "| 60 | 2000 | 81.00 | 83.00 | 85.00 | +4.00 ± 0.00 | +2.00 ± 1.00 |\n\
                 | all (2500) | 2000 | 81.00 | 83.00 | 82.50 | +1.50 ± 0.50 | -0.50 ± 0.50 |\n\n### ";
    assert!(page.contains(table), "{page}");
}

#[test]
fn one_seed_says_so() {
    let found = found("eicu", &[method("Local", &[[0.7, 0.8]], &Value::Null)]);
    assert_eq!(
        found.standing,
        ["The highest mean is that of Local, 0.750, with one seed: spread unknown."]
    );
}

#[test]
fn the_newest_is_shown_and_the_rest_is_mentioned() {
    let old = document("eicu", &[method("Local", &[[0.7, 0.7]], &Value::Null)]);
    let runs = runs("eicu-demo", &old.to_string());
    for name in ["eicu-demo", "eicu-demo-again"] {
        let folder = runs.path().join("2026-01-02-a").join(name);
        fs::create_dir_all(&folder).expect("a folder");
        let new = document("eicu", &[method("Local", &[[0.8, 0.8]], &Value::Null)]);
        fs::write(folder.join("results.json"), new.to_string()).expect("written");
    }
    let page = page(runs.path()).expect("good results");
    assert!(page.contains("| Local | 0.800 |") && !page.contains("| Local | 0.700 |"), "{page}");
    assert!(page.contains(
        "Also stored and not shown: `2026-01-02-a/eicu-demo-again` and `2026-01-01-a/eicu-demo`."
    ));
}

#[test]
fn damage_is_named() {
    let good = document("eicu", &[method("Local", &[[0.7, 0.7]], &Value::Null)]);
    let changed = |key: &str, value: Value| {
        let mut document = good.clone();
        document[key] = value;
        document.to_string()
    };
    let cases = [
        ("{\"format\": \"fedcomp".to_owned(), "line 1"),
        ("{}".to_owned(), "missing field `format`"),
        (changed("format", json!("another/1")), "the format is \"another/1\""),
        (changed("experiment", json!("cifar10")), "\"cifar10\" instead of \"eicu\""),
        (changed("seeds", json!([1, 2])), "Local: 1 rows of cells instead of 2"),
        (changed("participants", json!(["v1"])), "a row without a cell for each participant"),
        (changed("methods", json!([])), "there is no method \"Local\""),
        (
            changed("methods", json!([method("Local", &[[0.7, 0.7]], &json!([0.7]))])),
            "1 figures of the paper",
        ),
    ];
    for (results, problem) in cases {
        let runs = runs("eicu", &results);
        let error = page(runs.path()).expect_err("damaged").to_string();
        for part in ["eicu/results.json", problem, "\nhint: "] {
            assert!(error.contains(part), "{part}\nis not in\n{error}");
        }
    }
}

#[test]
fn what_is_missing_is_named() {
    let runs = tempfile::tempdir().expect("a folder");
    let told = |runs: &Path| page(runs).expect_err("nothing there").to_string();
    assert!(told(&runs.path().join("nowhere")).contains("nowhere"));
    assert!(told(runs.path()).contains("no stored results\nhint: "));
    fs::create_dir_all(runs.path().join("2026-01-01-a/synthetic-weak")).expect("a folder");
    let error = told(runs.path());
    assert!(
        error.contains("synthetic-weak/results.json") && error.contains("hint: make it with"),
        "{error}"
    );
}

/// The table of the README: Local, the best baseline, and evidence under both rules.
#[test]
fn the_readme_has_the_stored_figures() {
    let bench = Path::new(env!("CARGO_MANIFEST_DIR"));
    let readme = fs::read_to_string(bench.join("../README.md")).expect("there is a README");
    let (_, table) = readme.split_once("| federation | Local |").expect("there is a table");
    let rows: Vec<&str> = table.lines().skip(2).take_while(|line| line.starts_with('|')).collect();
    let runs = stored::runs(&bench.join("runs")).expect("runs");
    let federations = federations::newest(&runs).expect("good figures");
    assert_eq!(rows.len(), federations.len());
    for (row, federation) in rows.iter().zip(&federations) {
        let of = |name: &str| {
            let method = federation.methods.iter().find(|method| method.name == name);
            method.and_then(|method| method.mean.value[0]).expect("a figure")
        };
        let baselines =
            ["fedavg", "fedprox", "scaffold", "ce", "greedy+hypernetworks", "greedy+mixing"];
        let best = baselines.into_iter().map(of).fold(0.0, f64::max);
        let expected = [of("local"), best, of("optimal+evidence"), of("friends+evidence")];
        let cells = row.split('|').skip(2).map(|cell| cell.trim().trim_start_matches('*'));
        for (cell, expected) in cells.zip(expected) {
            assert!(cell.starts_with(&format!("{expected:.3}")), "{row}: {expected:.3}");
        }
    }
}
