//! A federation file, run by the program and by each participant alone with scikit-learn on the same rows,
//! kept with what it was run on.

use std::{
    collections::BTreeMap,
    fs,
    io::{BufRead, BufReader, Write},
    path::{Path, PathBuf},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
};

use fedcompetitors_files::{atomically, make_folder, read_federation};
use fedcompetitors_learn::{
    LearnError, NativeLearner, Part, Targets,
    evaluation::{Comparison, MethodScores, Predictions, TestFold},
};
use fedcompetitors_record::{Figure, Score, Session};
use fedcompetitors_runs::Prepared;
use serde_json::json;

use crate::{
    Failure,
    experiment::program,
    record::{origin, today},
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

/// What each federation file is run with, beside its own method: the baselines, the paper's way, mixing, evidence
/// under the rule `messages`, and one model for all as a reference.
const METHODS: [&str; 10] = [
    "local",
    "fedavg",
    "fedprox",
    "scaffold",
    "ce",
    "greedy+hypernetworks",
    "greedy+mixing",
    "optimal+evidence",
    "friends+evidence",
    "pooled",
];

/// The peers, by their names in figures.
pub const PEERS: [&str; 2] = ["LogisticRegressionCV", "HistGradientBoosting"];

/// What gains are counted from.
const LOCAL: &str = "local";

/// What does not count where the best method is looked for: it breaks the rule.
const REFERENCE: &str = "pooled";

/// The columns of what is kept for each method.
pub const COLUMNS: [&str; 9] =
    ["method", "participant", "value", "low", "high", "gain", "gain_low", "gain_high", "behind"];

/// Runs the file with all methods, and the peers on the rows of its folds.
///
/// # Errors
/// If the program or a peer does not end well, or if something cannot be read or written.
pub fn run(arguments: &FederationArguments) -> Result<(), Failure> {
    let FederationArguments { file, data, python, save, name } = arguments;
    let beside = file.parent().unwrap_or(Path::new(""));
    let folder = data.clone().unwrap_or_else(|| beside.to_owned());
    let program = program()?;
    let temporary = tempfile::tempdir()?;
    let mut federation = read_federation(file).map_err(|error| told(&error))?;
    let settings = &mut federation.settings;
    settings.compare = METHODS.map(str::to_owned).to_vec();
    if let Some(competing) = &mut settings.competing {
        let path = fs::canonicalize(beside.join(&*competing))?;
        *competing = path.to_string_lossy().into_owned();
    }
    let whole = temporary.path().join("federation.toml");
    fs::write(&whole, toml::to_string(settings)?)?;
    let out = temporary.path().join("run");
    let mut command = Command::new(&program);
    command.arg("run").arg(&whole).arg("--data").arg(&folder).arg("--out").arg(&out);
    let (seconds, ended) = timed(|| ended(&mut command));
    ended?;
    self::ended(Command::new(&program).arg("export").arg(&out))?;

    let prepared = Prepared::read(federation, &folder)?;
    let names: Vec<&str> = METHODS.into_iter().chain(PEERS).collect();
    let ours = outputs(&out.join("export").join("predictions.csv"))?;
    let mut peer = Peer::start(python, temporary.path())?;
    let predictions = predictions(&prepared, &ours, &mut peer)?;
    let kept = save.join("federations").join(name);
    make_folder(&kept).map_err(|error| told(&error))?;
    write_figures(&kept.join("figures.csv"), &prepared, &names, predictions)?;
    let origin = origin(&format!("bench federation {}", file.display()));
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
fn ended(command: &mut Command) -> Result<(), Failure> {
    let output = command.output()?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    Err(format!("`{command:?}` ended with {}\nhint: it said: {said}", output.status).into())
}

/// What each method has predicted, by method, session and participant, in the order of the tested rows.
type Outputs = BTreeMap<(String, String, String), Vec<f64>>;

fn outputs(path: &Path) -> Result<Outputs, Failure> {
    let mut table = csv::Reader::from_path(path)?;
    let mut found = Outputs::new();
    for line in table.records() {
        let line = line?;
        let of = (line[0].to_owned(), line[1].to_owned(), line[2].to_owned());
        found.entry(of).or_default().push(line[5].parse()?);
    }
    Ok(found)
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
            for method in METHODS {
                let of = (method.to_owned(), session.to_string(), participant.to_owned());
                let found = ours.get(&of).ok_or_else(|| format!("no predictions of {of:?}"))?;
                all.push(found.clone());
            }
            let task = peer.task(&learning.learner)?;
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
        line("", &scores.mean, standard_errors(&behind.mean.gain))?;
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

/// By how many of its standard errors a difference is below 0. A 95 % interval is 3.92 of them wide.
fn standard_errors(difference: &Figure) -> String {
    let found = difference.interval().filter(|interval| interval.high > interval.low);
    let found = found.map(|interval| -interval.value * 3.92 / (interval.high - interval.low));
    found.map_or("0".into(), |behind| behind.to_string())
}

/// scikit-learn, which answers tasks.
struct Peer {
    process: Child,
    asks: ChildStdin,
    answers: BufReader<ChildStdout>,
    rows: PathBuf,
}

/// Rows in the peer's file.
struct Task {
    columns: usize,
    known: usize,
}

impl Peer {
    fn start(python: &Path, folder: &Path) -> Result<Self, Failure> {
        let script = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("peers")
            .join("scikit-learn")
            .join("alone.py");
        let mut process = Command::new(python)
            .arg(script)
            // Small fits are slower on several threads.
            .env("OMP_NUM_THREADS", "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| {
                let hint = "bench/peers/scikit-learn/README.md says how to make its environment";
                format!("{}: {error}\nhint: {hint}", python.display())
            })?;
        let asks = process.stdin.take().ok_or("the peer takes no tasks")?;
        let answers = BufReader::new(process.stdout.take().ok_or("the peer gives no answers")?);
        Ok(Self { process, asks, answers, rows: folder.join("rows.bin") })
    }

    /// Writes a participant's rows: those that it knows and those that are tested, each with its class.
    fn task(&self, learner: &NativeLearner) -> Result<Task, Failure> {
        let mut bytes = Vec::new();
        let mut counts = [0, 0];
        let columns = learner.part(Part::Training).columns();
        for (part, known) in [(Part::Training, 0), (Part::Validation, 0), (Part::Test, 1)] {
            let samples = learner.part(part);
            let Targets::Classes { labels, .. } = samples.targets() else {
                return Err("the peers predict classes only".into());
            };
            counts[known] += labels.len();
            for (row, label) in samples.features().chunks_exact(columns).zip(labels) {
                bytes.extend(row.iter().chain([&(*label as f32)]).flat_map(|x| x.to_le_bytes()));
            }
        }
        fs::write(&self.rows, bytes)?;
        Ok(Task { columns, known: counts[0] })
    }

    fn ask(&mut self, method: &str, task: &Task) -> Result<Vec<f64>, Failure> {
        let Task { columns, known } = task;
        let ask =
            json!({ "method": method, "file": self.rows, "columns": columns, "known": known });
        writeln!(self.asks, "{ask}")?;
        let mut line = String::new();
        self.answers.read_line(&mut line)?;
        Ok(serde_json::from_str(&line).map_err(|error| format!("the peer's answer: {error}"))?)
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
