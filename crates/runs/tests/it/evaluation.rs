//! Evaluations as the federation file asks for them: groups, time, assignments, outputs that are not finite.

use std::{collections::BTreeSet, fmt::Write as _, fs, path::Path};

use fedcompetitors_files::parse_federation;
use fedcompetitors_graphs::random::Stream;
use fedcompetitors_learn::{Dependence, Division, Split, Targets};
use fedcompetitors_record::{Figure, Score, Session};
use fedcompetitors_runs::{Prepared, RunError, export, read_model, summary};

use super::run_into;

/// Two participants with the files `a.csv` and `b.csv`, and these lines on top and in `[evaluation]`.
fn federation(top: &str, evaluation: &str) -> String {
    format!(
        r#"
name = "evaluated"
{top}
[task]
kind = "binary"
target = "ill"
[evaluation]
replicates = 100
{evaluation}
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

/// A folder with the files of both participants.
fn folder_with([a, b]: [&str; 2]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("a.csv"), a).expect("written");
    fs::write(folder.path().join("b.csv"), b).expect("written");
    folder
}

fn prepared(folder: &Path, text: &str) -> Result<Prepared, RunError> {
    Prepared::read(parse_federation(Path::new("evaluated.toml"), text)?, folder)
}

/// Runs a federation into the folder `run`.
fn run_in(folder: &Path, text: &str) -> Result<(), RunError> {
    run_into(&prepared(folder, text)?, &folder.join("run"), None)
}

/// Thirty patients with four rows each, which are all alike but for their order in the file.
fn patients(seed: u64) -> String {
    let mut stream = Stream::new(seed, "patients", 0);
    let mut number = || stream.below(1000) as f64 / 500.0 - 1.0;
    let patients: Vec<Vec<f64>> = (0..30).map(|_| (0..12).map(|_| number()).collect()).collect();
    let columns: Vec<String> = (0..12).map(|at| format!("x{at}")).collect();
    let mut text = format!("patient,{},ill\n", columns.join(","));
    for row in 0..120 {
        let patient = row * 7 % 30;
        let values: Vec<String> = patients[patient].iter().map(f64::to_string).collect();
        // Nothing is to be learned from the features.
        let _ = writeln!(text, "p{patient},{},{}", values.join(","), patient % 2);
    }
    text
}

/// The patients of these rows of a file.
fn patients_of(text: &str, rows: &[u32]) -> BTreeSet<String> {
    let lines: Vec<&str> = text.lines().skip(1).collect();
    let patient = |row: &u32| lines[*row as usize].split(',').next().unwrap_or_default().to_owned();
    rows.iter().map(patient).collect()
}

#[test]
fn rows_of_a_group_stay_together() {
    let files = [patients(1), patients(2)];
    let folder = folder_with([&files[0], &files[1]]);
    let text = federation("", "groups = \"patient\"\nfolds = 3\nrepeats = 2");
    let prepared = prepared(folder.path(), &text).expect("good");
    assert_eq!(prepared.sessions().len(), 1 + 2 * 3);
    assert!(!prepared.features().iter().any(|name| name.contains("patient")));
    for (participant, text) in files.iter().enumerate() {
        for session in prepared.sessions() {
            let Split { training, validation, test } = &prepared.splits(session)[participant];
            let [training, validation, test] =
                [training, validation, test].map(|rows| patients_of(text, rows));
            assert_eq!(training.len() + validation.len() + test.len(), 30, "{session}");
            assert_eq!(test.is_empty(), session == Session::Final);
        }
    }
}

/// Penalties are chosen by folds that keep groups together. By rows, a model that remembers patients seems
/// to predict them, and has large coefficients.
#[test]
fn choices_inside_a_participant_keep_groups_together() {
    let size_of_model = |evaluation: &str| {
        let folder = folder_with([&patients(1), &patients(2)]);
        let top =
            "[selection]\npolicy = \"none\"\n[training]\ntrainer = \"local\"\n[data]\nignore = []";
        let top = if evaluation.contains("groups") {
            top.to_owned()
        } else {
            top.replace("[]", "[\"patient\"]")
        };
        run_in(folder.path(), &federation(&top, &format!("folds = 3\n{evaluation}")))
            .expect("it runs");
        let file = folder.path().join("run/models/001-a.safetensors");
        let (_, parameters) = read_model(&file).expect("a model");
        parameters.iter().map(|value| value * value).sum::<f32>().sqrt()
    };
    let (by_row, by_patient) = (size_of_model(""), size_of_model("groups = \"patient\""));
    assert!(by_patient < by_row / 4.0, "{by_patient} {by_row}");
}

#[test]
fn later_rows_test() {
    // Times in no order, some of them equal.
    let rows = |seed: u64| {
        let mut stream = Stream::new(seed, "times", 0);
        let mut text = "day,x,ill\n".to_owned();
        for _ in 0..100 {
            let (day, x) = (stream.below(60), stream.below(100));
            let _ = writeln!(text, "{day},{x},{}", stream.below(2));
        }
        text
    };
    let files = [rows(1), rows(2)];
    let folder = folder_with([&files[0], &files[1]]);
    let prepared =
        prepared(folder.path(), &federation("", "time = \"day\"\nfolds = 4")).expect("good");
    for (participant, text) in files.iter().enumerate() {
        let days: Vec<u32> = text
            .lines()
            .skip(1)
            .map(|line| line.split(',').next().unwrap_or_default().parse().expect("a day"))
            .collect();
        let mut last = None;
        for session in prepared.sessions() {
            let Split { training, validation, test } = &prepared.splits(session)[participant];
            let ends = |rows: &[u32]| {
                let days = || rows.iter().map(|&row| days[row as usize]);
                (days().min().expect("rows"), days().max().expect("rows"))
            };
            let (training, validation) = (ends(training), ends(validation));
            assert!(training.1 < validation.0, "{session}");
            if session == Session::Final {
                assert!(test.is_empty());
                continue;
            }
            let test = ends(test);
            assert!(validation.1 < test.0, "{session}");
            // Each fold tests later rows than the one before.
            assert!(last.is_none_or(|last| last < test.0), "{session}");
            last = Some(test.1);
        }
        assert_eq!(last, days.iter().max().copied());
    }
}

/// A run with the exported folds of another one, and its seed, has its splits and all its figures.
#[test]
fn exported_assignments_reproduce_a_run() {
    // A row without a target is not counted among the rows, but has a number.
    let with_gap = patients(1).replacen(",1\n", ",\n", 1);
    let figures = |folder: &Path| fs::read(folder.join("tables/figures.csv")).expect("figures");
    for (keys, dealt) in [
        ("groups = \"patient\"", "folds = 3\nrepeats = 2"),
        ("groups = \"patient\"", "folds = 1\ntest = 0.3\nrepeats = 2"),
        ("", "folds = 3\nrepeats = 2"),
        ("", "folds = 1\ntest = 0.3\nrepeats = 2"),
    ] {
        let [one, other] = [0; 2].map(|_| folder_with([&with_gap, &patients(2)]));
        let (one, other) = (one.path(), other.path());
        let ignored = if keys.is_empty() { "[data]\nignore = [\"patient\"]" } else { "" };
        let top = format!("seed = 5\ncompare = [\"fedavg\"]\n{ignored}");
        let dealt = federation(&top, &format!("{keys}\n{dealt}"));
        run_in(one, &dealt).expect("it runs");
        export(&one.join("run"), &one.join("tables")).expect("exported");
        fs::copy(one.join("tables/assignments.csv"), other.join("folds.csv")).expect("copied");
        let read = federation(&top, &format!("{keys}\nassignments = \"folds.csv\""));
        let (of_dealt, of_read) =
            (prepared(one, &dealt).expect("good"), prepared(other, &read).expect("good"));
        assert_eq!(of_dealt.sessions(), of_read.sessions());
        for session in of_dealt.sessions() {
            assert_eq!(of_dealt.splits(session), of_read.splits(session), "{keys}, {session}");
        }
        run_in(other, &read).expect("it runs");
        export(&other.join("run"), &other.join("tables")).expect("exported");
        assert!(figures(one) == figures(other), "{keys}");
    }
}

/// Where a file has a group in several folds, its rows are tested where the file says so, and in no other
/// part of the same fold.
#[test]
fn assigned_groups_may_be_in_several_folds() {
    let groups = vec![0, 0, 0, 1, 1, 2, 2, 3, 3, 4];
    let fold_of = [0, 1, 9, 0, 0, 1, 1, 1, 1, 9].map(|fold| (fold < 9).then_some(fold));
    let targets = Targets::Values(vec![0.0; groups.len()]);
    let division = Division { folds: 2, test: 0.2, validation: 0.3 };
    let mut stream = Stream::new(1, "assigned", 0);
    let splits =
        Split::as_assigned(&targets, &Dependence::Groups(groups), &fold_of, division, &mut stream);
    for (fold, split) in (0..).zip(splits.expect("enough")) {
        let mut all = [&split.training[..], &split.validation, &split.test].concat();
        all.sort_unstable();
        assert_eq!(all, (0..10).collect::<Vec<u32>>());
        assert!(split.test.iter().all(|&row| fold_of[row as usize] == Some(fold)));
        assert_eq!(split.test.len(), if fold == 0 { 3 } else { 5 });
    }
}

/// An output that overflows costs the figures that need it, not the run.
#[test]
fn outputs_that_are_not_finite_leave_figures_undefined() {
    let rows = |seed: u64, extreme: Option<usize>| {
        let mut stream = Stream::new(seed, "extreme", 0);
        let mut text = "x,ill\n".to_owned();
        for row in 0..60 {
            let ill = row % 2;
            let x = (stream.below(2000) as f64 / 1000.0 - 1.0) + 1.5 * (ill as f64) - 0.75;
            match extreme {
                Some(at) if at == row => writeln!(text, "2.8e38,{ill}"),
                _ => writeln!(text, "{x},{ill}"),
            }
            .expect("a text");
        }
        text
    };
    let folder = folder_with([&rows(1, Some(7)), &rows(2, None)]);
    let top =
        "compare = [\"local\", \"none+averaging\"]\n[training]\nrounds = 2\n[data]\nclip = inf";
    run_in(folder.path(), &federation(top, "folds = 3")).expect("it runs");
    let found = summary(&folder.path().join("run")).expect("a record");
    assert_eq!(found.status.name(), "complete");
    let scores = |method: &str| {
        let method = found.methods.iter().find(|one| one.name == method).expect("a method");
        assert!(method.scores.len() > 3, "{} metrics", method.scores.len());
        method.scores.clone()
    };
    let own = found.own().expect("a method").name.clone();
    for scores in [scores(&own), scores("local")].iter().flatten() {
        assert_eq!(scores.participants[0], Score::default(), "{}", scores.metric);
        assert_eq!(scores.mean, Score::default(), "{}", scores.metric);
        assert!(scores.participants[1].value.value().is_some(), "{}", scores.metric);
    }
    for scores in scores("none+averaging") {
        // Its own figures are there; what they are compared with is not.
        assert!(scores.participants[0].value.value().is_some(), "{}", scores.metric);
        assert!(scores.mean.value.value().is_some(), "{}", scores.metric);
        assert_eq!(scores.participants[0].gain, Figure::Undefined, "{}", scores.metric);
        assert_eq!(scores.mean.gain, Figure::Undefined, "{}", scores.metric);
    }
}
