//! scikit-learn in a process of its own (`bench/peers/scikit-learn`), which answers tasks.

use std::{
    fs,
    io::{BufRead, BufReader, Write},
    path::{Path, PathBuf},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
};

use fedcompetitors_learn::{Samples, Targets};
use serde_json::json;

use crate::Failure;

/// What it can do, by the names in figures.
pub const PEERS: [&str; 2] = ["LogisticRegressionCV", "HistGradientBoosting"];

/// The process.
pub struct Peer {
    process: Child,
    asks: ChildStdin,
    answers: BufReader<ChildStdout>,
    rows: PathBuf,
}

/// Rows in the peer's file.
pub struct Task {
    columns: usize,
    known: usize,
}

impl Peer {
    /// Starts it; it keeps the rows of tasks in this folder.
    ///
    /// # Errors
    /// If there is no such Python.
    pub fn start(python: &Path, folder: &Path) -> Result<Self, Failure> {
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

    /// Writes the rows that it knows, part after part, and those that it is to predict.
    ///
    /// # Errors
    /// If they are not of two classes, or cannot be written.
    pub fn task(&self, known: &[&Samples], tested: &Samples) -> Result<Task, Failure> {
        let mut bytes = Vec::new();
        let columns = tested.columns();
        for samples in known.iter().chain([&tested]) {
            let Targets::Classes { labels, .. } = samples.targets() else {
                return Err("the peers predict classes only".into());
            };
            for (row, label) in samples.features().chunks_exact(columns).zip(labels) {
                bytes.extend(row.iter().chain([&(*label as f32)]).flat_map(|x| x.to_le_bytes()));
            }
        }
        fs::write(&self.rows, bytes)?;
        Ok(Task { columns, known: known.iter().map(|samples| samples.len()).sum() })
    }

    /// What a method predicts for a task.
    ///
    /// # Errors
    /// If it does not answer.
    pub fn ask(&mut self, method: &str, task: &Task) -> Result<Vec<f64>, Failure> {
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
