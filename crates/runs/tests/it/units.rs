//! Runs on values to predict: nothing but figures depends on their unit.

use std::{fmt::Write as _, fs, path::Path};

use fedcompetitors_files::parse_federation;
use fedcompetitors_graphs::random::Stream;
use fedcompetitors_learn::{Learner, Part, Targets};
use fedcompetitors_record::{Session, Summary};
use fedcompetitors_runs::{Prepared, read_model, summary};

use super::run_into;

const NAMES: [&str; 4] = ["A", "B", "C", "D"];

/// A participant's file, the values to predict times `factor` and with `more` added.
fn table(participant: u64, factor: i64, more: i64) -> String {
    let mut stream = Stream::new(participant, "table", 0);
    let mut text = String::from("x1,x2,x3,y\n");
    for _ in 0..40 + 20 * participant {
        let [a, b, c, noise] = [0; 4].map(|_| stream.unit() - 0.5);
        // Far from zero, and whole, so that single precision has them exactly in both units.
        let y = (4000.0 + 600.0 * a - 300.0 * b + 200.0 * c + 200.0 * noise).round() as i64;
        let _ = writeln!(text, "{a:.4},{b:.4},{c:.4},{}", factor * y + more);
    }
    text
}

/// Prepares and runs a federation in a folder.
fn run(settings: &str, folder: &Path, factor: i64, more: i64) -> (Prepared, Summary) {
    let mut text = format!(
        "{settings}[task]\nkind = \"regression\"\ntarget = \"y\"\n[training]\nrounds = 15\n[evaluation]\nfolds = 2\nreplicates = 100\n"
    );
    for (at, name) in NAMES.into_iter().enumerate() {
        let file = format!("{name}.csv");
        fs::write(folder.join(&file), table(at as u64, factor, more)).expect("written");
        let _ = writeln!(text, "[[participants]]\nname = \"{name}\"\ndata = \"{file}\"");
        text += if at == 0 { "competes-with = [\"B\"]\n" } else { "" };
    }
    let federation = parse_federation(Path::new("units.toml"), &text).expect("good");
    let prepared = Prepared::read(federation, folder).expect("good");
    run_into(&prepared, &folder.join("run"), None).expect("it runs");
    let summary = summary(&folder.join("run")).expect("a record");
    (prepared, summary)
}

fn is_near(a: f64, b: f64, by: f64) -> bool {
    (a - b).abs() <= by * a.abs().max(b.abs()).max(1e-3)
}

/// Targets times 1,000 and with 5,000 added give the same plans and weights, squared errors that are a million
/// times as large, and the same R², with every trainer. All of them are better than a constant prediction.
#[test]
fn the_unit_of_the_target_decides_nothing() {
    let with_layers = ["fedavg", "fedprox", "scaffold", "optimal+mixing", "ce", "local-ensemble"];
    let linear = &with_layers[..5];
    let hypernetworks = ["optimal+hypernetworks", "pooled"];
    for (layers, compare) in [("", linear), ("hidden = [8]", &with_layers[..])] {
        let compare = [compare, &hypernetworks].concat();
        let settings = format!(
            "compare = {compare:?}\n[model]\n{layers}\n[benefit]\n[training.trunks]\nnetworks = 2\n"
        );
        let folders = [0; 2].map(|_| tempfile::tempdir().expect("a folder"));
        let (_, one) = run(&settings, folders[0].path(), 1, 0);
        let (_, other) = run(&settings, folders[1].path(), 1000, 5000);
        for (a, b) in one.methods.iter().zip(&other.methods) {
            let name = &a.name;
            assert_eq!((name, a.edges), (&b.name, b.edges), "{layers}");
            for (a, b) in a.models.iter().zip(&b.models) {
                assert_eq!(a.provenance, b.provenance, "{layers}, {name}");
                assert_eq!(a.parts.len(), b.parts.len(), "{layers}, {name}");
                for (a, b) in a.parts.iter().zip(&b.parts) {
                    assert!(
                        a.0 == b.0 && (a.1 - b.1).abs() < 1e-3,
                        "{layers}, {name}: {a:?} {b:?}"
                    );
                }
            }
            for ((a, b), constant) in a.scores.iter().zip(&b.scores).zip(&one.constant) {
                let (metric, factor) = (&a.metric, if a.metric == "MSE" { 1e6 } else { 1.0 });
                let all = |scores: &fedcompetitors_record::Scores| -> Vec<f64> {
                    let all = scores.participants.iter().chain([&scores.mean]);
                    all.flat_map(|one| [one.value.value(), one.gain.value()]).flatten().collect()
                };
                assert_eq!(all(a).len(), all(b).len());
                // Of single precision, also where a gain is small beside its figures.
                let least = 1e-4 * a.mean.value.value().expect("defined").abs();
                for (a, b) in all(a).into_iter().zip(all(b)) {
                    let is_same = (a - b / factor).abs() <= least.max(1e-4 * a.abs());
                    assert!(is_same, "{layers}, {name}, {metric}: {a} {b}");
                }
                let value = |scores: &fedcompetitors_record::Scores| scores.mean.value.value();
                let (found, constant) = (value(a).expect("one"), value(constant).expect("one"));
                let is_better = if metric == "MSE" { found < constant } else { found > constant };
                assert!(is_better, "{layers}, {name}, {metric}: {found}, constant {constant}");
            }
        }
    }
}

/// Outputs of a model file are in deviations of the training rows, and the file has what brings them back.
#[test]
fn a_model_file_says_the_unit_of_its_outputs() {
    let folder = tempfile::tempdir().expect("a folder");
    let (prepared, _) = run("", folder.path(), 1000, 5000);
    let (about, parameters) =
        read_model(&folder.path().join("run/models/004-d.safetensors")).expect("a model");
    let (mean, deviation) = about.target.expect("numbers are predicted");
    let learning = &prepared.learners(Session::Final).expect("good")[3];
    let own = prepared.sources()[3].targets().chosen(&learning.split.training);
    let Targets::Values(values) = own else { unreachable!("numbers") };
    let count = values.len() as f64;
    let expected = values.iter().map(|&value| f64::from(value)).sum::<f64>() / count;
    let squares = values.iter().map(|&value| (f64::from(value) - expected).powi(2));
    assert!(is_near(mean, expected, 1e-12));
    assert!(is_near(deviation, (squares.sum::<f64>() / count).sqrt(), 1e-12));
    let samples = learning.learner.part(Part::Training);
    let (intercept, weights) = parameters.split_last().expect("an intercept");
    let found = learning.learner.predictions(Part::Training, &parameters);
    let mut errors = 0.0;
    for ((row, found), value) in
        samples.features().chunks_exact(samples.columns()).zip(found).zip(&values)
    {
        let sum: f64 = row.iter().zip(weights).map(|(x, w)| f64::from(x * w)).sum();
        let predicted = (sum + f64::from(*intercept)) * deviation + mean;
        assert!(is_near(predicted, f64::from(found), 1e-5), "{predicted} {found}");
        errors += (predicted - f64::from(*value)).powi(2) / count;
    }
    assert!(errors < 0.3 * deviation * deviation, "{errors}");
    // The loss is in deviations, the metric in the unit of the target.
    let loss = learning.learner.loss(Part::Training, &parameters);
    let metric = learning.learner.metric(Part::Training, &parameters).expect("defined");
    assert!(is_near(loss * deviation * deviation, errors, 1e-4), "{loss} {errors}");
    assert!(is_near(metric, errors, 1e-4), "{metric} {errors}");
}
