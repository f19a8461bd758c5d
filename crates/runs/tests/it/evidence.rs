//! Runs with models without hidden layers: odd data, and settings that must reach the exact fits.

use std::{collections::BTreeSet, fmt::Write as _, fs, path::Path};

use fedcompetitors_files::parse_federation;
use fedcompetitors_graphs::random::Stream;
use fedcompetitors_learn::{Dependence, Part, Targets};
use fedcompetitors_record::{Disclosure, Session};
use fedcompetitors_runs::{Prepared, RunError, audit, read_model, summary, write_metrics};

use super::run_into;

/// A run in a folder of its own.
struct Case {
    folder: tempfile::TempDir,
    prepared: Prepared,
}

impl Case {
    /// Prepares a federation of participants with these files, in the order of their names.
    fn new(settings: &str, files: &[(&str, String)]) -> Result<Self, RunError> {
        let folder = tempfile::tempdir().expect("a folder");
        let mut text = settings.to_owned();
        for (name, content) in files {
            fs::write(folder.path().join(format!("{name}.csv")), content).expect("written");
            let _ = writeln!(text, "[[participants]]\nname = \"{name}\"\ndata = \"{name}.csv\"");
        }
        let federation = parse_federation(Path::new("test.toml"), &text)?;
        let prepared = Prepared::read(federation, folder.path())?;
        Ok(Self { folder, prepared })
    }

    fn run(&self) -> std::path::PathBuf {
        let folder = self.folder.path().join("run");
        run_into(&self.prepared, &folder, None).expect("it runs");
        assert!(audit(&folder, None, None).expect("a record").findings.is_empty());
        folder
    }
}

/// Rows of `x1 … xN`, what they belong to, a time, and a class that follows `x1`.
fn table(seed: u64, rows: usize, columns: usize, class: impl Fn(usize, f64) -> u32) -> String {
    let mut stream = Stream::new(seed, "table", 0);
    let names: Vec<String> = (1..=columns).map(|column| format!("x{column}")).collect();
    let mut text = format!("{},who,when,y\n", names.join(","));
    for row in 0..rows {
        let values: Vec<f64> = (0..columns).map(|_| stream.unit() - 0.5).collect();
        let score = 6.0 * values[0] - 1.5;
        let odds = 1.0 / (1.0 + (-score).exp());
        let _ = writeln!(
            text,
            "{},{},{},{}",
            values.iter().map(|value| format!("{value:.4}")).collect::<Vec<_>>().join(","),
            row / 3,
            (row * 7) % rows / 2 + 8,
            class(row, odds - stream.unit()),
        );
    }
    text
}

fn drawn(_: usize, above: f64) -> u32 {
    u32::from(above > 0.0)
}

/// Under `pooled`, rows depend on each other as they do for their owners: a group stays the group of one
/// participant, and times have one order.
#[test]
fn pooled_rows_keep_groups_and_times() {
    let files = [("A", table(1, 30, 2, drawn)), ("B", table(2, 24, 2, drawn))];
    let other = |key: &str| if key == "groups" { "when" } else { "who" };
    for (key, column, place) in [("groups", "who", 2), ("time", "when", 3)] {
        let settings = format!(
            "[task]\ntarget = \"y\"\n[data]\nignore = [\"{}\"]\n[evaluation]\nfolds = 3\n{key} = \"{column}\"\n",
            other(key)
        );
        let case = Case::new(&settings, &files).expect("good");
        for session in case.prepared.sessions() {
            let learners = case.prepared.learners(session).expect("good");
            let pooled = case.prepared.pooled(&learners).expect("one shape");
            let mut texts: Vec<(usize, u32)> = Vec::new();
            for part in [Part::Training, Part::Validation] {
                for (at, (one, (_, file))) in learners.iter().zip(&files).enumerate() {
                    for &row in one.split.rows(part) {
                        let line = file.lines().nth(row as usize + 1).expect("a row");
                        let text = line.split(',').nth(place).expect("a column");
                        texts.push((at, text.parse().expect("a number")));
                    }
                }
            }
            let units = match (key, pooled.dependence()) {
                ("groups", Dependence::Groups(units)) | ("time", Dependence::Time(units)) => units,
                (_, other) => panic!("{other:?}"),
            };
            assert_eq!(units.len(), texts.len());
            for (a, of_a) in units.iter().zip(&texts) {
                for (b, of_b) in units.iter().zip(&texts) {
                    if key == "groups" {
                        assert_eq!(a == b, of_a == of_b);
                    } else {
                        assert_eq!(a.cmp(b), of_a.1.cmp(&of_b.1));
                    }
                }
            }
        }
    }
}

/// `balanced` reaches exact fits: rare positives are predicted as often as the others, and no calibration is
/// shown, as none is meant.
#[test]
fn balanced_classes_count_the_same_in_exact_fits() {
    let files: Vec<(&str, String)> = ["A", "B", "C"]
        .into_iter()
        .zip(1..)
        .map(|(name, seed)| (name, table(seed, 120, 2, drawn)))
        .collect();
    let run = |balanced: bool| {
        let settings = format!(
            "compare = [\"pooled\"]\n[task]\ntarget = \"y\"\nbalanced = {balanced}\n[data]\nignore = [\"who\", \"when\"]\nindicators = false\n[evaluation]\nfolds = 2\nreplicates = 100\n"
        );
        let case = Case::new(&settings, &files).expect("good");
        let folder = case.run();
        let summary = summary(&folder).expect("a record");
        let titles: Vec<String> =
            summary.methods[0].scores.iter().map(|scores| scores.metric.clone()).collect();
        let model = read_model(&folder.join("models/001-a.safetensors")).expect("a model").1;
        let learning = &case.prepared.learners(Session::Final).expect("good")[0];
        let part = learning.learner.part(Part::Training);
        let Targets::Classes { labels, .. } = part.targets() else { unreachable!("classes") };
        let ones = labels.iter().filter(|&&label| label == 1).count() as f32;
        (model, (labels.len() as f32 - ones) / ones, titles)
    };
    let ((plain, _, shown), (balanced, ratio, hidden)) = (run(false), run(true));
    assert!(ratio > 1.5, "{ratio}");
    let (last, coefficients) = plain.split_last().expect("an intercept");
    assert_eq!(*coefficients, balanced[..coefficients.len()]);
    assert!((last + ratio.ln() - balanced[coefficients.len()]).abs() < 1e-5);
    assert!(shown.iter().any(|title| title.contains("calibration")));
    assert!(!hidden.iter().any(|title| title.contains("calibration")));
}

/// Exact fits use the validation rows, so no figure on them is kept; trainers by gradients, and networks, have one.
#[test]
fn exact_fits_have_no_validation_figures() {
    let files: Vec<(&str, String)> = ["A", "B", "C"]
        .into_iter()
        .zip(1..)
        .map(|(name, seed)| (name, table(seed, 60, 2, drawn)))
        .collect();
    // With hidden layers the default is `trunks`, and its control stands beside it.
    let networks = ["fedavg", "local", "local-ensemble", "optimal+trunks"];
    for (layers, validated, methods) in
        [("", &["fedavg"][..], 3), ("hidden = [4]", &networks[..], 4)]
    {
        let settings = format!(
            "compare = [\"fedavg\", \"optimal+local\"]\n[task]\ntarget = \"y\"\n[data]\nignore = [\"who\", \"when\"]\n[model]\n{layers}\n[training]\nrounds = 4\n[evaluation]\nfolds = 2\nreplicates = 100\n"
        );
        let case = Case::new(&settings, &files).expect("good");
        let mut table = Vec::new();
        write_metrics(&case.run(), &mut table).expect("a record").expect("written");
        let table = String::from_utf8(table).expect("text");
        let of = |split: &str| -> BTreeSet<String> {
            let lines = table.lines().filter(|line| line.split(',').any(|field| field == split));
            let is_of = |method: &&String| method.as_str() != "optimal+local";
            let methods = lines.filter_map(|line| line.split(',').nth(1).map(str::to_owned));
            methods.collect::<BTreeSet<_>>().iter().filter(is_of).cloned().collect()
        };
        let expected: BTreeSet<String> = validated.iter().map(|&name| name.to_owned()).collect();
        assert_eq!(of("validation"), expected, "{table}");
        assert_eq!(of("test").len(), methods, "{table}");
    }
}

/// A participant with three rows, one with one class, one with constant columns, and more columns than rows:
/// everybody gets a model with finite figures where figures are defined.
#[test]
fn odd_participants_get_models() {
    let constant = |text: String| {
        let lines = text.lines().enumerate().map(|(at, line)| {
            let mut values: Vec<&str> = line.split(',').collect();
            if at > 0 {
                (values[1], values[2]) = ("7", "0.25");
            }
            values.join(",") + "\n"
        });
        lines.collect::<String>()
    };
    let columns = 40;
    let files = [
        ("few", table(1, 3, columns, |row, _| u32::from(row == 1))),
        ("one class", table(2, 60, columns, |_, _| 1)),
        ("constant", constant(table(3, 80, columns, drawn))),
        ("wide", table(4, 25, columns, drawn)),
        ("plain", table(5, 150, columns, drawn)),
    ];
    let settings = "compare = [\"pooled\", \"fedavg\"]\n[task]\ntarget = \"y\"\n[data]\nignore = [\"who\", \"when\"]\n[training]\nrounds = 3\n[evaluation]\nreplicates = 100\n";
    let case = Case::new(settings, &files).expect("three rows are enough");
    let folder = case.run();
    let summary = summary(&folder).expect("a record");
    let own = &summary.methods[0];
    assert_eq!(own.models.len(), files.len());
    // Nobody learns from those who have nothing to say, and they learn from nobody.
    for (at, model) in own.models.iter().enumerate() {
        assert!(at == 1 || !model.provenance.contains(&1), "{:?}", model.provenance);
        assert!(at != 1 || model.provenance == [1], "{:?}", model.provenance);
    }
    for file in fs::read_dir(folder.join("models")).expect("models") {
        let (_, model) = read_model(&file.expect("a file").path()).expect("a model");
        assert!(model.iter().all(|value| value.is_finite()));
    }
    for scores in &summary.methods[0].scores {
        for score in &scores.participants {
            assert!(score.value.value().is_none_or(f64::is_finite));
        }
    }
}

/// Limits of `evidence` are checked before anything is computed, on both sides, by estimator and trainer; the
/// message names numbers of the model and the alternatives.
#[test]
fn too_many_coefficients_are_refused_with_alternatives() {
    let read = |features: usize, outputs: usize, folds: u32, more: &str, sections: &str| {
        let task = if outputs > 1 {
            let classes: Vec<String> = (0..outputs).map(|class| format!("\"{class}\"")).collect();
            format!("kind = \"classes\"\nclasses = [{}]", classes.join(", "))
        } else {
            String::new()
        };
        let participants = ["A", "B"].map(|name| {
            format!(
                "[[participants]]\nname = \"{name}\"\ngenerate = {{ samples = 12, features = {features} }}\n"
            )
        });
        let text = format!(
            "{more}\n[task]\n{task}\n[evaluation]\nfolds = {folds}\n{sections}\n{}",
            participants.concat()
        );
        let federation = parse_federation(Path::new("test.toml"), &text).expect("good");
        Prepared::read(federation, Path::new(".")).map(|_| ()).map_err(|error| {
            let fedcompetitors_runs::Advice::Hint(hint) = error.advice() else {
                panic!("no hint: {error}")
            };
            (error.to_string(), hint)
        })
    };
    let refused = |features, outputs, folds, sections: &str| {
        read(features, outputs, folds, "", sections).expect_err("too many")
    };
    let mixing = "[benefit]\nestimator = \"mixture\"\n[training]\ntrainer = \"mixing\"";
    for (most, outputs, folds) in [(500, 1, 5), (500, 1, 2), (2000, 1, 1), (166, 3, 5), (666, 3, 1)]
    {
        assert_eq!(read(most, outputs, folds, "", ""), Ok(()), "{most} {outputs} {folds}");
        let (message, hint) = refused(most + 1, outputs, folds, "");
        assert!(message.starts_with("the trainer `evidence` takes at most"), "{message}");
        let coefficients = format!("and the model has {}", (most + 1) * outputs);
        assert!(message.contains(&coefficients), "{message}");
        assert_eq!(hint.contains("`folds = 1`"), folds > 1, "{hint}");
        for alternative in
            ["`features`", "`trainer = \"mixing\"` and `estimator = \"mixture\"`", "hidden"]
        {
            assert!(hint.contains(alternative), "{hint}");
        }
        assert_eq!(read(most + 1, outputs, folds, "", mixing), Ok(()));
    }
    assert!(!refused(2001, 1, 5, "").1.contains("folds"), "a hold-out would not be enough");
    let estimated = "[training]\ntrainer = \"averaging\"";
    assert!(refused(501, 1, 5, estimated).0.starts_with("the estimator `evidence`"));
    let compared = read(501, 1, 5, "compare = [\"none+evidence\"]", mixing).expect_err("too many");
    assert!(compared.0.starts_with("the trainer `evidence`"), "{}", compared.0);
    assert_eq!(read(2001, 1, 1, "", "[model]\nhidden = [4]"), Ok(()));
}

/// Sums with a single source are withheld, so a forecast does not count them.
#[test]
fn a_forecast_counts_what_is_delivered() {
    let files =
        ["A", "B"].map(|name| (name, table(if name == "A" { 1 } else { 2 }, 150, 2, drawn)));
    let forecast = |allowed: bool| {
        let settings = format!(
            "[task]\ntarget = \"y\"\n[data]\nignore = [\"who\", \"when\"]\n[evaluation]\nfolds = 1\nreplicates = 100\n[training.evidence]\nsingle-source = {allowed}\n"
        );
        let folder = Case::new(&settings, &files).expect("good");
        let summary = summary(&folder.run()).expect("a record");
        let own = &summary.methods[0];
        let forecast = own.plans.iter().find_map(|(_, plan)| plan.forecast).expect("a forecast");
        (forecast.received, forecast.by_other_rule, own.disclosures.len())
    };
    assert_eq!(forecast(false), (0.0, 0.0, 2));
    let (received, by_other_rule, _) = forecast(true);
    assert!(received > 10.0 && by_other_rule >= received, "{received} {by_other_rule}");
}

/// What a method is said to have moved are the messages of one training with its estimate, not those of all folds.
#[test]
fn what_moved_is_that_of_one_training() {
    let files =
        ["A", "B"].map(|name| (name, table(if name == "A" { 1 } else { 2 }, 150, 2, drawn)));
    let settings = "compare = [\"friends+evidence\"]\n[task]\ntarget = \"y\"\n[data]\nindicators = false\nignore = [\"who\", \"when\"]\n[evaluation]\nfolds = 2\nrepeats = 2\nreplicates = 100\n[training.evidence]\nsingle-source = true\n";
    let folder = Case::new(settings, &files).expect("good");
    let summary = summary(&folder.run()).expect("a record");
    // Of two coefficients, three numbers of their curvature and two more, of four bytes each.
    let message = 4 * (3 + 2);
    for name in ["optimal+evidence", "friends+evidence"] {
        let method = summary.methods.iter().find(|one| one.name == name).expect("a method");
        // Two are sent for the estimate, two for the training, and two are delivered.
        assert_eq!((method.moved.transfers, method.moved.bytes), (6, 6 * message), "{name}");
    }
}

/// Two sources of which each has one column for itself, with nothing in common but their answers: each pair of
/// coefficients would show one of them, so that the record says why nothing is received.
#[test]
fn a_sum_that_is_left_empty_is_said() {
    let only = |text: String, column: usize| {
        let lines = text.lines().enumerate().map(|(at, line)| {
            let mut values: Vec<&str> = line.split(',').collect();
            if at > 0 {
                values[1 - column] = "0";
            }
            values.join(",") + "\n"
        });
        lines.collect::<String>()
    };
    let files = [
        ("A", table(1, 150, 2, drawn)),
        ("B", only(table(2, 150, 2, drawn), 0)),
        ("C", only(table(3, 150, 2, drawn), 1)),
    ];
    let settings = "rule = \"messages\"\n[task]\ntarget = \"y\"\n[data]\nignore = [\"who\", \"when\"]\n[evaluation]\nfolds = 1\nreplicates = 100\n";
    let folder = Case::new(settings, &files).expect("good");
    let summary = summary(&folder.run()).expect("a record");
    let empty = Disclosure::SourcesLeftOut { participant: 0, sources: vec![1, 2], is_empty: true };
    assert!(
        summary.methods[0].disclosures.contains(&empty),
        "{:?}",
        summary.methods[0].disclosures
    );
}
