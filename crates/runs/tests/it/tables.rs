//! Participants' files: what becomes of them, and that nobody else's file has a say in it.

use std::{fmt::Write as _, fs, path::Path};

use fedcompetitors_files::parse_federation;
use fedcompetitors_learn::{Learner, Part, Samples};
use fedcompetitors_record::Session;
use fedcompetitors_runs::{Prepared, RunError, audit, read_model};
use fedcompetitors_testing::cases;
use proptest::prelude::*;

use super::run_into;

/// A federation of two with these keys in `[data]`.
fn federation(data: &str) -> String {
    format!(
        r#"
name = "tables"
[task]
target = "ill"
[data]
{data}
[training]
rounds = 2
local-steps = 2
[[participants]]
name = "A"
data = "a.csv"
competes-with = ["B"]
[[participants]]
name = "B"
data = "b.csv"
"#
    )
}

const COLUMNS: [&str; 5] = ["ward", "age", "cost", "dose", "ill"];

const CATEGORIES: &str = "categories = { ward = [\"x\", \"y\"] }";

/// B's table, of odd numbers: large ones, gaps, ties.
fn of_b() -> Vec<[String; 5]> {
    (0..40_u32)
        .map(|row| {
            let age = if row % 7 == 0 { "?".into() } else { (20 + row * 37 % 61).to_string() };
            let cost = format!("${:.2}", f64::from(row * row % 29).exp());
            let dose = if row == 3 { "3e38".into() } else { (row % 4).to_string() };
            let ward = if row % 2 == 0 { "x" } else { "y" };
            [ward.into(), age, cost, dose, (row / 2 % 2).to_string()]
        })
        .collect()
}

/// A table as a file, with its columns in this order.
fn written(rows: &[[String; 5]], order: &[usize]) -> String {
    let mut text = order.iter().map(|&at| COLUMNS[at]).collect::<Vec<_>>().join(",") + "\n";
    for row in rows {
        let values: Vec<&str> = order.iter().map(|&at| &row[at][..]).collect();
        let _ = writeln!(text, "{}", values.join(","));
    }
    text
}

fn prepared(data: &str, a: &str, b: &str) -> Result<Prepared, RunError> {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("a.csv"), a).expect("written");
    fs::write(folder.path().join("b.csv"), b).expect("written");
    let federation = parse_federation(Path::new("tables.toml"), &federation(data))?;
    Prepared::read(federation, folder.path())
}

/// Everything that is made of a participant's file, bit by bit.
fn bits(prepared: &Prepared, participant: usize) -> Result<Vec<u32>, RunError> {
    let learning = &prepared.learners(Session::Final)?[participant];
    let parts = Part::ALL.iter().flat_map(|&part| learning.learner.part(part).features());
    Ok(parts.map(|value| value.to_bits()).collect())
}

/// Whatever can be said in `[data]` about columns.
const SETTINGS: [&str; 5] = [
    "",
    "features = [\"dose\", \"ward\", \"cost\"]",
    "log = [\"cost\"]\nrank = [\"dose\"]\nincomplete = \"leave-out\"",
    "scales = { age = { mean = 50, deviation = 9 }, dose = { min = 0, max = 3 } }\nclip = 2",
    "scaling = \"none\"\nlog = [\"cost\"]\nindicators = false",
];

fn row_of_a() -> impl Strategy<Value = [String; 5]> {
    let number = || {
        prop::sample::select(vec!["?", "", "0", "-7.5", "1e30", "3", "$1000", "-0"])
            .prop_map(String::from)
    };
    let ward = prop::sample::select(vec!["x", "y", "?"]).prop_map(String::from);
    (ward, number(), number(), number(), 0..2_u8)
        .prop_map(|(ward, age, cost, dose, ill)| [ward, age, cost, dose, ill.to_string()])
}

proptest! {
    #![proptest_config(cases(48))]

    /// Of two worlds that differ in A's file, B's samples are the same, and the order of the columns in
    /// A's file changes not even A's own.
    #[test]
    fn a_file_concerns_its_participant_only(
        a in prop::collection::vec(row_of_a(), 12..60),
        other in prop::collection::vec(row_of_a(), 12..60),
        order in Just((0..5).collect::<Vec<usize>>()).prop_shuffle(),
        setting in prop::sample::select(&SETTINGS[..]),
    ) {
        let keys = format!("{CATEGORIES}\n{setting}");
        let b = written(&of_b(), &[0, 1, 2, 3, 4]);
        let one = prepared(&keys, &written(&a, &[0, 1, 2, 3, 4]), &b);
        let turned = prepared(&keys, &written(&a, &order), &b);
        let two = prepared(&keys, &written(&other, &order), &b);
        if setting.contains("leave-out") && [&one, &turned, &two].iter().any(|found| found.is_err()) {
            // Where all rows have gaps, a participant has no data.
            return Ok(());
        }
        let (one, turned, two) = (one.expect("good"), turned.expect("good"), two.expect("good"));
        prop_assert_eq!(one.features(), two.features());
        match (bits(&one, 1), bits(&two, 1)) {
            (Ok(found), Ok(same)) => prop_assert_eq!(found, same),
            _ => prop_assert!(setting.contains("leave-out"), "too few rows are left"),
        }
        prop_assert_eq!(bits(&one, 0).ok(), bits(&turned, 0).ok());
    }
}

#[test]
fn features_come_by_name_unless_they_are_listed() {
    let b = of_b();
    let features = |keys: &str| {
        let keys = format!("{CATEGORIES}\n{keys}");
        let prepared =
            prepared(&keys, &written(&b, &[4, 2, 0, 1, 3]), &written(&b, &[0, 1, 2, 3, 4]));
        prepared.expect("good").features().join(", ")
    };
    assert_eq!(
        features(""),
        "age, age is missing, cost, cost is missing, dose, dose is missing, ward=x, ward=y"
    );
    assert_eq!(features("indicators = false"), "age, cost, dose, ward=x, ward=y");
    assert_eq!(features("incomplete = \"leave-out\""), "age, cost, dose, ward=x, ward=y");
    assert_eq!(
        features("features = [\"ward\", \"dose\"]"),
        "ward=x, ward=y, dose, dose is missing"
    );
}

/// Columns that say nothing, and numbers as large as they come.
#[test]
fn odd_columns_are_encoded() {
    let rows: Vec<[String; 5]> = (0..20_u32)
        .map(|row| {
            let dose = if row % 2 == 0 { "3.4e38" } else { "-3.4e38" };
            ["x".into(), "7".into(), "?".into(), dose.into(), (row / 2 % 2).to_string()]
        })
        .collect();
    let text = written(&rows, &[0, 1, 2, 3, 4]);
    for setting in SETTINGS.iter().filter(|setting| !setting.contains("leave-out")) {
        let prepared = prepared(&format!("{CATEGORIES}\n{setting}"), &text, &text).expect("good");
        let learning = &prepared.learners(Session::Final).expect("finite")[0];
        let samples = learning.learner.part(Part::Training);
        let features = prepared.features();
        let column = |name: &str| {
            let at = features.iter().position(|feature| feature == name);
            at.map(|at| samples.features().iter().skip(at).step_by(samples.columns()))
        };
        let is = |name: &str, value: f32| {
            column(name)
                .is_none_or(|mut column| column.all(|found| found.to_bits() == value.to_bits()))
        };
        assert!(is("cost", 0.0) && is("cost is missing", 1.0), "{setting}");
        assert!(is("age is missing", 0.0), "{setting}");
        if !setting.contains("none") && !setting.contains("age =") {
            assert!(is("age", 0.0), "{setting}");
        }
        let own = learning.learner.linear().expect("a linear model");
        let zero = own.rows().rare_columns(5);
        let always = features.iter().position(|name| name == "cost").map(|at| zero.contains(&at));
        assert!(always.unwrap_or(true), "a constant column is rare");
    }
    // Unlimited, they leave the numbers that there are: an error that names the participant.
    let keys =
        format!("{CATEGORIES}\nclip = inf\nscales = {{ dose = {{ mean = 0, deviation = 1e-9 }} }}");
    let prepared = prepared(&keys, &text, &text).expect("good");
    let error = prepared.learners(Session::Final).expect_err("not finite").to_string();
    assert!(error.contains("\"A\"") && error.contains("is not a finite number"), "{error}");
}

#[test]
fn a_single_row_is_too_few() {
    let one = written(&of_b()[..1], &[0, 1, 2, 3, 4]);
    let others = written(&of_b(), &[0, 1, 2, 3, 4]);
    let error = prepared(CATEGORIES, &one, &others).expect_err("too few").to_string();
    assert!(error.contains("\"A\"") && error.contains("too few"), "{error}");
}

#[test]
fn columns_that_are_named_must_be_there() {
    let text = written(&of_b(), &[0, 1, 2, 3, 4]);
    for (keys, place) in [
        ("log = [\"costs\"]", "`log`"),
        ("rank = [\"costs\"]", "`rank`"),
        ("scales = { costs = { min = 0, max = 1 } }", "`scales`"),
    ] {
        let error = prepared(&format!("{CATEGORIES}\n{keys}"), &text, &text).expect_err("no such");
        let told = error.to_string();
        assert!(
            told.ends_with(&format!(
                "a.csv, line 1: participant \"A\": there is no column \"costs\" (named in {place})"
            )),
            "{told}"
        );
    }
}

/// What a model's file says is enough to make its inputs from the data file.
#[test]
fn a_model_file_says_how_its_inputs_are_made() {
    let keys = format!(
        "{CATEGORIES}\nfeatures = [\"age\", \"cost\", \"dose\"]\nlog = [\"cost\"]\nrank = [\"dose\"]\nclip = 1.5"
    );
    let (rows, folder) = (of_b(), tempfile::tempdir().expect("a folder"));
    let text = written(&rows, &[0, 1, 2, 3, 4]);
    fs::write(folder.path().join("a.csv"), &text).expect("written");
    fs::write(folder.path().join("b.csv"), &text).expect("written");
    let federation = parse_federation(Path::new("tables.toml"), &federation(&keys)).expect("good");
    let prepared = Prepared::read(federation, folder.path()).expect("good");
    run_into(&prepared, &folder.path().join("run"), None).expect("it runs");
    let file = folder.path().join("run/models/002-b.safetensors");
    let (about, _) = read_model(&file).expect("a model");
    assert_eq!(about.clip, Some(1.5));
    let (scales, fills) = (about.scales.expect("scales"), about.fills.expect("fills"));
    let columns = ["age", "cost", "dose"];
    let input = |column: usize, text: &str| -> (f64, f64) {
        let name = columns[column];
        let text = text.trim_start_matches('$');
        let value = text.parse::<f32>().ok().map(f64::from).map(|value| {
            if about.logs.iter().any(|log| log == name) {
                (1.0 + value.abs()).ln() * value.signum()
            } else if let Some(knots) = about.ranks.get(name) {
                let next = knots.iter().position(|knot| knot.0 >= value).expect("its own");
                assert!((knots[next].0 - value).abs() < 1e-9 * value.abs().max(1.0));
                knots[next].1
            } else {
                value
            }
        });
        let (mean, deviation) = scales[column];
        let scaled = (value.unwrap_or(fills[column]) - mean) / deviation;
        (scaled.clamp(-1.5, 1.5), f64::from(u8::from(value.is_none())))
    };
    let learning = &prepared.learners(Session::Final).expect("good")[1];
    let training: &Samples = learning.learner.part(Part::Training);
    for (at, &row) in learning.split.training.iter().enumerate() {
        let found = &training.features()[at * 6..][..6];
        let expected = (0..3).flat_map(|column| {
            let (value, missing) = input(column, &rows[row as usize][column + 1]);
            [value, missing]
        });
        for (found, expected) in found.iter().zip(expected) {
            assert!((f64::from(*found) - expected).abs() < 1e-4, "{found} {expected}");
        }
    }
}

/// The model of a participant that uses friends' hidden layers is one file, from which it can be used.
#[test]
fn an_ensemble_is_kept_in_a_model_file() {
    let text = r#"
name = "networks"
[model]
hidden = [8, 6]
[benefit]
estimator = "trunks"
[benefit.trunks]
steps = 10
threshold = 0.0
[training]
trainer = "trunks"
rounds = 6
[training.trunks]
networks = 2
[[participants]]
name = "A"
generate = { samples = 80 }
competes-with = ["B"]
[[participants]]
name = "B"
generate = { samples = 60 }
[[participants]]
name = "C"
generate = { samples = 60 }
"#;
    let folder = tempfile::tempdir().expect("a folder");
    let federation = parse_federation(Path::new("networks.toml"), text).expect("good");
    let prepared = Prepared::read(federation, folder.path()).expect("good");
    run_into(&prepared, &folder.path().join("run"), None).expect("it runs");
    let learners = prepared.learners(Session::Final).expect("good");
    let mut most = 0;
    for (file, learning) in ["001-a", "002-b", "003-c"].iter().zip(&learners) {
        let file = folder.path().join(format!("run/models/{file}.safetensors"));
        let (about, parameters) = read_model(&file).expect("a model");
        let tensors = learning.learner.tensors(parameters.len());
        assert_eq!(about.tensors, tensors.into_iter().map(|tensor| tensor.0).collect::<Vec<_>>());
        assert_eq!(about.tensors.last().map(String::as_str), Some("head.intercepts"));
        assert!(learning.learner.loss(Part::Validation, &parameters).is_finite());
        // Its own three networks, and one of each helper.
        let networks = about.tensors.iter().filter(|name| name.ends_with("layer1.weights")).count();
        assert_eq!(networks, 2 + about.provenance.len());
        most = most.max(networks);
    }
    assert!(most > 3, "somebody learns from others");
    assert!(audit(&folder.path().join("run"), None, None).expect("a record").findings.is_empty());
}
