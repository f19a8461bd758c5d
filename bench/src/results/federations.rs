//! Federations that were run with all methods and beside scikit-learn (`bench federation`), read back.

use std::path::{Path, PathBuf};

use fedcompetitors_files::{FileError, Problem};

use super::stored::{entries, last};
use crate::{Failure, federation::COLUMNS, record::Made, told};

/// The folder of a run in which they are.
pub const FOLDER: &str = "federations";

/// In the order of the page; others follow by name.
const ORDER: [&str; 6] = ["eicu-demo", "heart", "banks", "one-task", "two-tasks", "many-tasks"];

/// One federation with the figures of each method.
#[derive(Debug)]
pub struct Federation {
    /// The run's folder.
    pub run: String,
    /// The folder in it.
    pub name: String,
    /// Each method.
    pub methods: Vec<Method>,
    /// Where it comes from.
    pub made: Made,
}

/// A method's figures.
#[derive(Debug)]
pub struct Method {
    /// What it is called.
    pub name: String,
    /// The mean over the participants.
    pub mean: Score,
    /// Each participant by name.
    pub participants: Vec<(String, Score)>,
    /// By how many standard errors it is behind the best that keeps the rule, if that is defined.
    pub behind: Option<f64>,
}

/// A figure and its gain over Local, each with the ends of its interval where it has one.
#[derive(Debug, Clone, Copy)]
pub struct Score {
    /// The figure.
    pub value: [Option<f64>; 3],
    /// The gain.
    pub gain: [Option<f64>; 3],
}

impl Federation {
    /// What it is about.
    pub fn title(&self) -> &str {
        self.made.get("federation").unwrap_or(&self.name)
    }

    /// The metric, with the direction in which it is better.
    pub fn metric(&self) -> String {
        let arrow = if self.made.get("higher is better") == Some("false") { '↓' } else { '↑' };
        format!("{} {arrow}", self.made.get("metric").unwrap_or_default())
    }
}

/// Of every federation the newest, in the order of the page.
pub fn newest(runs: &[PathBuf]) -> Result<Vec<Federation>, Failure> {
    let mut found: Vec<Federation> = Vec::new();
    for run in runs {
        let folder = run.join(FOLDER);
        if !folder.is_dir() {
            continue;
        }
        for folder in entries(&folder)? {
            let name = last(&folder);
            if !found.iter().any(|one| one.name == name) {
                found.push(read(last(run), name, &folder)?);
            }
        }
    }
    let place = |name: &str| ORDER.iter().position(|one| *one == name).unwrap_or(ORDER.len());
    found.sort_by(|a, b| (place(&a.name), &a.name).cmp(&(place(&b.name), &b.name)));
    Ok(found)
}

fn read(run: String, name: String, folder: &Path) -> Result<Federation, Failure> {
    let path = folder.join("figures.csv");
    let wrong = |line: Option<u64>, problem: String| {
        told(&FileError { path: path.clone(), line, problem: Problem::Json(problem) })
    };
    let mut table =
        csv::Reader::from_path(&path).map_err(|error| wrong(None, error.to_string()))?;
    let header = table.headers().map_err(|error| wrong(Some(1), error.to_string()))?;
    if header != COLUMNS[..] {
        return Err(wrong(Some(1), format!("the header is not {}", COLUMNS.join(","))));
    }
    let mut methods: Vec<Method> = Vec::new();
    for line in table.records() {
        let line = line.map_err(|error| wrong(None, error.to_string()))?;
        let place = line.position().map(csv::Position::line);
        let number = |at: usize| -> Result<Option<f64>, Failure> {
            let text = &line[at];
            if text.is_empty() {
                return Ok(None);
            }
            text.parse().map(Some).map_err(|_| wrong(place, format!("\"{text}\" is not a number")))
        };
        let score = Score {
            value: [number(2)?, number(3)?, number(4)?],
            gain: [number(5)?, number(6)?, number(7)?],
        };
        if line[1].is_empty() {
            let (name, behind) = (line[0].to_owned(), number(8)?);
            methods.push(Method { name, mean: score, participants: Vec::new(), behind });
        } else if let Some(method) = methods.last_mut().filter(|method| method.name == line[0]) {
            method.participants.push((line[1].to_owned(), score));
        } else {
            return Err(wrong(place, "a participant without a mean before it".into()));
        }
    }
    if methods.is_empty() {
        return Err(wrong(None, "no methods".into()));
    }
    let made = Made::read(&folder.join("made.txt")).map_err(|error| told(&error))?;
    Ok(Federation { run, name, methods, made })
}
