//! A federation file, run by the program and by each participant alone with scikit-learn on the same rows,
//! kept with what it was run on.

use std::{
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

/// The peers, by their names in figures.
pub const PEERS: [&str; 2] = ["LogisticRegressionCV", "HistGradientBoosting"];

/// Participants whose models are as good as they can be alone.
const LOCAL: &str = "local";

/// Runs the file, and the peers on the rows of its folds.
///
/// # Errors
/// If the program or a peer does not end well, or if something cannot be read or written.
pub fn run(arguments: &FederationArguments) -> Result<(), Failure> {
    let FederationArguments { file, data, python, save, name } = arguments;
    let folder = data.clone().unwrap_or_else(|| file.parent().unwrap_or(Path::new("")).to_owned());
    let program = program()?;
    let run = tempfile::tempdir()?;
    let out = run.path().join("run");
    let mut command = Command::new(&program);
    command.arg("run").arg(file).arg("--data").arg(&folder).arg("--out").arg(&out);
    let (seconds, ended) = timed(|| ended(&mut command));
    ended?;
    self::ended(Command::new(&program).arg("export").arg(&out))?;
    let exported = out.join("export");
    let figures = fs::read_to_string(exported.join("figures.csv"))?;
    let local = outputs(&exported.join("predictions.csv"))?;

    let federation = read_federation(file).map_err(|error| told(&error))?;
    let prepared = Prepared::read(federation, &folder)?;
    let mut peer = Peer::start(python, run.path())?;
    let peers = peer_figures(&prepared, &local, &mut peer)?;

    let kept = save.join("federations").join(name);
    make_folder(&kept).map_err(|error| told(&error))?;
    let origin = origin(&format!("fedcompetitors run {}", file.display()));
    let participants = prepared.participants().len();
    let made = format!(
        "{origin}date: {}\nseconds: {seconds:.1}\nfederation: {}\nparticipants: {participants}\n",
        today(),
        prepared.settings().name
    );
    for (name, text) in [
        ("figures.csv", figures + &peers),
        ("made.txt", made),
        ("federation.toml", fs::read_to_string(file)?),
    ] {
        atomically(&kept.join(name), |writer| writer.write_all(text.as_bytes()))
            .map_err(|error| told(&error))?;
    }
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

/// What the method `local` has predicted, by session and participant, in the order of the tested rows.
type Outputs = std::collections::BTreeMap<(String, String), Vec<f64>>;

fn outputs(path: &Path) -> Result<Outputs, Failure> {
    let mut table = csv::Reader::from_path(path)?;
    let mut found = Outputs::new();
    for line in table.records() {
        let line = line?;
        if &line[0] == LOCAL {
            let of = (line[1].to_owned(), line[2].to_owned());
            found.entry(of).or_default().push(line[5].parse()?);
        }
    }
    Ok(found)
}

/// The lines that `figures.csv` would have for the peers.
fn peer_figures(prepared: &Prepared, local: &Outputs, peer: &mut Peer) -> Result<String, Failure> {
    let count = prepared.participants().len();
    let methods = 1 + PEERS.len();
    let mut folds: Vec<Vec<Vec<TestFold>>> = vec![vec![Vec::new(); methods]; count];
    for session in prepared.sessions() {
        let Session::Fold { repeat, .. } = session else { continue };
        let splits = prepared.splits(session);
        for (at, learning) in prepared.learners(session)?.iter().enumerate() {
            let rows: Vec<usize> = splits[at].test.iter().map(|&row| row as usize).collect();
            if rows.is_empty() {
                continue;
            }
            let name = prepared.participants().name(at).to_owned();
            let own = local.get(&(session.to_string(), name)).cloned().unwrap_or_default();
            let mut all = vec![own];
            let task = peer.task(&learning.learner)?;
            for method in PEERS {
                all.push(peer.ask(method, &task)?);
            }
            for (method, outputs) in folds[at].iter_mut().zip(all) {
                method.push(TestFold { repeat: repeat as usize, rows: rows.clone(), outputs });
            }
        }
    }
    let predictions = prepared.sources().iter().zip(folds);
    let predictions = predictions
        .map(|(source, folds)| Predictions::new(source.targets().clone(), None, folds))
        .collect::<Result<Vec<_>, LearnError>>()?;
    let comparison = Comparison::new(predictions, 0, prepared.settings().seed)?;
    let metric = prepared.metric().0;
    let scores = comparison.scores(metric);
    let lines = PEERS.iter().zip(&scores[1..]);
    Ok(lines.map(|(method, scores)| lines_of(prepared, method, metric.title(), scores)).collect())
}

fn lines_of(prepared: &Prepared, method: &str, metric: &str, scores: &MethodScores) -> String {
    let line = |participant: &str, score: &Score| {
        let of = |figure: &Figure| {
            let interval = figure.interval();
            let text =
                |value: Option<f64>| value.map(|value| value.to_string()).unwrap_or_default();
            [
                text(figure.value()),
                text(interval.map(|interval| interval.low)),
                text(interval.map(|interval| interval.high)),
            ]
            .join(",")
        };
        format!("{method},{metric},{participant},{},{}\n", of(&score.value), of(&score.gain))
    };
    let names = prepared.participants().names();
    let own = names.zip(&scores.participants).map(|(name, score)| line(name, score));
    std::iter::once(line("", &scores.mean)).chain(own).collect()
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
