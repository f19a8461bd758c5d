//! A federation file, run by the program and by each participant alone with scikit-learn on the same rows,
//! kept with what it was run on.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use fedcompetitors_files::{atomically, make_folder, read_federation};
use fedcompetitors_learn::{
    LearnError, Part,
    evaluation::{Comparison, MethodScores, Predictions, TestFold},
};
use fedcompetitors_record::{Figure, Score, Session};
use fedcompetitors_runs::Prepared;

use crate::{
    Failure,
    experiment::program,
    record::{origin, today},
    scikit::{PEERS, Peer},
    timing::timed,
    told,
};

/// What is run.
#[derive(Debug, clap::Args)]
pub struct FederationArguments {
    /// The federation file.
    pub file: PathBuf,
    /// The folder with the data, if not that of the file.
    #[arg(long, value_name = "DIR")]
    pub data: Option<PathBuf>,
    /// How often all is repeated with new folds, if not as in the file.
    #[arg(long, value_name = "N")]
    pub repeats: Option<u32>,
    /// The Python of an environment with the peer's requirements.
    #[arg(long, value_name = "PATH")]
    pub python: PathBuf,
    /// A folder to keep the figures in, such as bench/runs/2026-11-15-laptop.
    #[arg(long, value_name = "DIR")]
    pub save: PathBuf,
    /// What to call the federation there.
    #[arg(long, value_name = "NAME")]
    pub name: String,
}

/// What each federation file is run with: the baselines, the paper's way, mixing, evidence under both rules,
/// and one model for all as a reference; each with its rate, which was chosen on other, made-up federations
/// (`bench/federations/README.md`). Local, evidence and pooled are exact fits, on which the rate has no effect.
const METHODS: [(&str, f32); 10] = [
    ("local", 0.03),
    ("fedavg", 0.1),
    ("fedprox", 0.1),
    ("scaffold", 0.01),
    ("ce", 0.01),
    ("greedy+hypernetworks", 0.01),
    ("greedy+mixing", 0.03),
    ("optimal+evidence", 0.03),
    ("friends+evidence", 0.03),
    ("pooled", 0.03),
];

/// What gains are counted from.
const LOCAL: &str = "local";

/// A reference: it breaks the rule and is never the best.
const REFERENCE: &str = "pooled";

/// The columns of what is kept for each method.
pub const COLUMNS: [&str; 9] =
    ["method", "participant", "value", "low", "high", "gain", "gain_low", "gain_high", "behind"];

/// Runs the file with all methods, and the peers on the rows of its folds.
///
/// # Errors
/// If the program or a peer fails, or if something cannot be read or written.
pub fn run(arguments: &FederationArguments) -> Result<(), Failure> {
    let FederationArguments { file, data, repeats, python, save, name } = arguments;
    let beside = file.parent().unwrap_or(Path::new(""));
    let folder = data.clone().unwrap_or_else(|| beside.to_owned());
    let program = program()?;
    let temporary = tempfile::tempdir()?;
    let mut federation = read_federation(file).map_err(|error| told(&error))?;
    if let Some(repeats) = *repeats {
        federation.settings.evaluation.repeats = repeats;
    }
    let mut ours = Outputs::new();
    let mut seconds = 0.0;
    let mut rates: Vec<f32> = METHODS.iter().map(|method| method.1).collect();
    rates.sort_by(f32::total_cmp);
    rates.dedup();
    for rate in rates {
        let mut settings = federation.settings.clone();
        let methods = METHODS.iter().filter(|method| method.1.total_cmp(&rate).is_eq());
        settings.compare = methods.map(|method| method.0.to_owned()).collect();
        settings.training.rate = rate;
        if let Some(competing) = &mut settings.competing {
            let path = fs::canonicalize(beside.join(&*competing))?;
            *competing = path.to_string_lossy().into_owned();
        }
        let whole = temporary.path().join("federation.toml");
        fs::write(&whole, toml::to_string(&settings)?)?;
        let out = temporary.path().join(format!("run-{rate}"));
        let mut command = Command::new(&program);
        command.arg("run").arg(&whole).arg("--data").arg(&folder).arg("--out").arg(&out);
        let (taken, ended) = timed(|| run_to_end(&mut command));
        ended?;
        seconds += taken;
        run_to_end(Command::new(&program).arg("export").arg(&out))?;
        outputs(&out.join("export").join("predictions.csv"), &settings.compare, &mut ours)?;
    }

    let prepared = Prepared::read(federation, &folder)?;
    let names: Vec<&str> = METHODS.iter().map(|method| method.0).chain(PEERS).collect();
    let mut peer = Peer::start(python, temporary.path())?;
    let predictions = predictions(&prepared, &ours, &mut peer)?;
    let kept = save.join("federations").join(name);
    make_folder(&kept).map_err(|error| told(&error))?;
    write_figures(&kept.join("figures.csv"), &prepared, &names, predictions)?;
    let repeats = prepared.settings().evaluation.repeats;
    let origin =
        origin(&format!("bench federation {} --repeats {repeats} --name {name}", file.display()));
    let metric = prepared.metric().0;
    let evaluation = &prepared.settings().evaluation;
    let made = format!(
        "{origin}date: {}\nseconds: {seconds:.1}\nfederation: {}\nparticipants: {}\nrepeats: {}\nfolds: {}\nmetric: {}\nhigher is better: {}\n",
        today(),
        prepared.settings().name,
        prepared.participants().len(),
        evaluation.repeats,
        prepared.settings().folds(),
        metric.title(),
        metric.more_is_better(),
    );
    atomically(&kept.join("made.txt"), |writer| writer.write_all(made.as_bytes()))
        .map_err(|error| told(&error))?;
    println!("{name}: {seconds:.1} s");
    Ok(())
}

/// Runs a command to its end.
fn run_to_end(command: &mut Command) -> Result<(), Failure> {
    let output = command.output()?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    Err(format!("`{command:?}` ended with {}: {said}", output.status).into())
}

/// What each method has predicted, by method, session and participant: the number of each tested row, and the
/// output.
type Outputs = BTreeMap<(String, String, String), Vec<(u32, f64)>>;

/// Adds those of these methods.
fn outputs(path: &Path, methods: &[String], found: &mut Outputs) -> Result<(), Failure> {
    let mut table = csv::Reader::from_path(path)?;
    for line in table.records() {
        let line = line?;
        let of = (line[0].to_owned(), line[1].to_owned(), line[2].to_owned());
        if methods.contains(&of.0) {
            found.entry(of).or_default().push((line[3].parse()?, line[5].parse()?));
        }
    }
    Ok(())
}

/// What our methods and the peers have predicted for each participant.
fn predictions(
    prepared: &Prepared,
    ours: &Outputs,
    peer: &mut Peer,
) -> Result<Vec<Predictions>, Failure> {
    let count = prepared.participants().len();
    let mut folds: Vec<Vec<Vec<TestFold>>> =
        vec![vec![Vec::new(); METHODS.len() + PEERS.len()]; count];
    for session in prepared.sessions() {
        let Session::Fold { repeat, .. } = session else { continue };
        let splits = prepared.splits(session);
        for (at, learning) in prepared.learners(session)?.iter().enumerate() {
            let rows: Vec<usize> = splits[at].test.iter().map(|&row| row as usize).collect();
            if rows.is_empty() {
                continue;
            }
            let participant = prepared.participants().name(at);
            let mut all = Vec::new();
            for (method, _) in METHODS {
                let of = (method.to_owned(), session.to_string(), participant.to_owned());
                let found = ours.get(&of).ok_or_else(|| format!("no predictions of {of:?}"))?;
                let numbers =
                    splits[at].test.iter().map(|&row| prepared.sources()[at].number_of(row));
                if !found.iter().map(|(row, _)| *row).eq(numbers) {
                    return Err(format!("predictions of {of:?} are for other rows").into());
                }
                all.push(found.iter().map(|(_, output)| *output).collect());
            }
            let part = |part| learning.learner.part(part);
            let known = [part(Part::Training), part(Part::Validation)];
            let task = peer.task(&known, part(Part::Test))?;
            for method in PEERS {
                all.push(peer.ask(method, &task)?);
            }
            for (method, outputs) in folds[at].iter_mut().zip(all) {
                method.push(TestFold { repeat: repeat as usize, rows: rows.clone(), outputs });
            }
        }
    }
    let all = prepared.sources().iter().zip(folds);
    let all = all.map(|(source, folds)| Predictions::new(source.targets().clone(), None, folds));
    Ok(all.collect::<Result<_, LearnError>>()?)
}

/// Writes the figures of all methods: the means, and those of each participant. `behind` is by how many
/// standard errors of the difference a method is behind the best that keeps the rule, row for row.
fn write_figures(
    path: &Path,
    prepared: &Prepared,
    names: &[&str],
    predictions: Vec<Predictions>,
) -> Result<(), Failure> {
    let metric = prepared.metric().0;
    let seed = prepared.settings().seed;
    let local = names.iter().position(|&name| name == LOCAL).unwrap_or(0);
    let scores = Comparison::new(predictions.clone(), local, seed)?.scores(metric);
    let gain = |scores: &MethodScores| scores.mean.gain.value().unwrap_or(f64::NEG_INFINITY);
    let best = (0..METHODS.len())
        .filter(|&at| names[at] != REFERENCE)
        .max_by(|&a, &b| gain(&scores[a]).total_cmp(&gain(&scores[b])))
        .unwrap_or(local);
    let behind = Comparison::new(predictions, best, seed)?.scores(metric);
    let mut table = csv::Writer::from_writer(Vec::new());
    table.write_record(COLUMNS)?;
    for ((name, scores), behind) in names.iter().zip(&scores).zip(&behind) {
        let mut line = |participant: &str, score: &Score, behind: String| {
            let mut fields = vec![(*name).to_owned(), participant.to_owned()];
            fields.extend(numbers(&score.value));
            fields.extend(numbers(&score.gain));
            fields.push(behind);
            table.write_record(fields)
        };
        let is_best = *name == names[best];
        let behind = if is_best { "0".into() } else { standard_errors(&behind.mean.gain) };
        line("", &scores.mean, behind)?;
        for (participant, score) in prepared.participants().names().zip(&scores.participants) {
            line(participant, score, String::new())?;
        }
    }
    let text = table.into_inner().map_err(|error| error.to_string())?;
    atomically(path, |writer| writer.write_all(&text)).map_err(|error| told(&error))
}

/// A figure with its interval, as far as they are defined.
fn numbers(figure: &Figure) -> [String; 3] {
    let text = |value: Option<f64>| value.map(|value| value.to_string()).unwrap_or_default();
    let interval = figure.interval();
    [
        text(figure.value()),
        text(interval.map(|interval| interval.low)),
        text(interval.map(|interval| interval.high)),
    ]
}

/// By how many of its standard errors a difference is below 0; empty if it has no interval. A 95 % interval
/// is 3.92 of them wide.
fn standard_errors(difference: &Figure) -> String {
    let found = difference.interval().filter(|interval| interval.high > interval.low);
    let found = found.map(|interval| -interval.value * 3.92 / (interval.high - interval.low));
    found.map(|behind| behind.to_string()).unwrap_or_default()
}
