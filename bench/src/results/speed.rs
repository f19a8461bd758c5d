//! Stored times of the same work, done here and by a peer: every CSV file of a run with the
//! columns that `bench learning` writes.

use std::path::{Path, PathBuf};

use fedcompetitors_files::{FileError, Problem};
use fedcompetitors_record::Spread;

use super::stored::{entries, last};
use crate::{
    Failure,
    learning::COLUMNS,
    record::Made,
    timing::{best, middle},
    told,
};

/// The times of one file.
#[derive(Debug)]
pub struct Speed {
    /// The run's folder and the file in it.
    pub file: String,
    /// One line for each thing to do and peer.
    pub lines: Vec<Line>,
    /// Where they come from.
    pub made: Made,
}

/// One thing to do, here and by a peer.
#[derive(Debug)]
pub struct Line {
    /// What was done.
    pub what: String,
    /// Who else did it.
    pub peer: String,
    /// Seconds of each of our turns.
    pub ours: Vec<f64>,
    /// Seconds of each of its turns.
    pub theirs: Vec<f64>,
}

impl Line {
    /// How many times faster we are, middle against middle and best against best.
    pub fn times(&self) -> (f64, f64) {
        (middle(&self.theirs) / middle(&self.ours), best(&self.theirs) / best(&self.ours))
    }

    /// The same in the mean, with its standard error where turns were enough to have one.
    pub fn times_in_the_mean(&self) -> (f64, Option<f64>) {
        let (ours, theirs) = (Spread::of(&self.ours), Spread::of(&self.theirs));
        let times = theirs.mean / ours.mean;
        let error = times * (theirs.error / theirs.mean).hypot(ours.error / ours.mean);
        (times, (self.ours.len() > 2 && self.theirs.len() > 2).then_some(error))
    }
}

/// Of every file name the newest, by name.
pub fn newest(runs: &[PathBuf]) -> Result<Vec<Speed>, Failure> {
    let mut files: Vec<PathBuf> = Vec::new();
    for run in runs {
        for path in entries(run)? {
            let is_new = !files.iter().any(|file| file.file_name() == path.file_name());
            if is_new && has_times(&path) {
                files.push(path);
            }
        }
    }
    files.sort_by_key(|path| last(path));
    files.iter().map(|path| read(path)).collect()
}

/// Whether it is a table with the columns of times. Others are none of this module's business.
fn has_times(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "csv")
        && csv::Reader::from_path(path)
            .is_ok_and(|mut table| table.headers().is_ok_and(|found| found == COLUMNS))
}

fn read(path: &Path) -> Result<Speed, Failure> {
    let wrong = |line, problem: String| {
        told(&FileError { path: path.to_owned(), line, problem: Problem::Json(problem) })
    };
    let mut turns: Vec<Turn> = Vec::new();
    let mut table = csv::Reader::from_path(path).map_err(|error| wrong(None, error.to_string()))?;
    for record in table.records() {
        let record = record.map_err(|error| wrong(None, error.to_string()))?;
        let line = record.position().map(csv::Position::line);
        let seconds = record[3].parse().ok().filter(|&seconds: &f64| seconds > 0.0);
        let seconds =
            seconds.ok_or_else(|| wrong(line, "the seconds are not a number above 0".into()))?;
        turns.push(Turn { what: record[0].to_owned(), side: record[1].to_owned(), seconds });
    }
    let lines = lines(&turns);
    if lines.is_empty() {
        return Err(wrong(None, "no work was timed on both sides".into()));
    }
    let made = Made::read(&path.with_extension("txt")).map_err(|error| told(&error))?;
    let run = path.parent().map(last).unwrap_or_default();
    Ok(Speed { file: format!("{run}/{}", last(path)), lines, made })
}

struct Turn {
    what: String,
    side: String,
    seconds: f64,
}

/// What each peer did, in the order of the file, beside ours.
fn lines(turns: &[Turn]) -> Vec<Line> {
    let mut lines: Vec<Line> = Vec::new();
    for turn in turns.iter().filter(|turn| turn.side != "ours") {
        match lines.iter_mut().find(|line| line.what == turn.what && line.peer == turn.side) {
            Some(line) => line.theirs.push(turn.seconds),
            None => lines.push(Line {
                what: turn.what.clone(),
                peer: turn.side.clone(),
                ours: turns
                    .iter()
                    .filter(|ours| ours.side == "ours" && ours.what == turn.what)
                    .map(|ours| ours.seconds)
                    .collect(),
                theirs: vec![turn.seconds],
            }),
        }
    }
    lines.retain(|line| !line.ours.is_empty());
    lines
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn the_mean_has_its_error() {
        let line = |ours: &[f64], theirs: &[f64]| Line {
            what: "step".into(),
            peer: "PyTorch".into(),
            ours: ours.to_vec(),
            theirs: theirs.to_vec(),
        };
        let (times, error) = line(&[1.0, 2.0, 3.0], &[4.0, 4.0, 4.0]).times_in_the_mean();
        assert!((times - 2.0).abs() < 1e-12);
        // The error of ours is 1/√3 of 2.
        assert!((error.expect("enough turns") - 2.0 / 12_f64.sqrt()).abs() < 1e-12);
        assert_eq!(line(&[1.0, 2.0], &[3.0, 3.0, 3.0]).times_in_the_mean(), (2.0, None));
    }

    #[test]
    fn the_newest_times_of_both_sides() {
        let folder = tempfile::tempdir().expect("a folder");
        let [old, new] = ["2026-01-01-a", "2026-01-02-a"].map(|run| folder.path().join(run));
        for run in [&old, &new] {
            fs::create_dir(run).expect("a folder");
            fs::write(run.join("selection.csv"), "what,value\nx,1\n").expect("written");
        }
        let times = |run: &Path, name: &str, seconds: &str| {
            let text = format!("what,side,turn,seconds\nstep,ours,0,2\nstep,PyTorch,0,{seconds}\n");
            fs::write(run.join(name), text).expect("written");
        };
        times(&old, "learning.csv", "4");
        times(&new, "learning.csv", "6");
        times(&old, "gpu-learning.csv", "1");
        let runs = [new.clone(), old];
        let found = newest(&runs).expect("good files");
        let told: Vec<(&str, f64)> =
            found.iter().map(|speed| (&speed.file[..], speed.lines[0].times().0)).collect();
        let expected = [("2026-01-01-a/gpu-learning.csv", 0.5), ("2026-01-02-a/learning.csv", 3.0)];
        assert_eq!(told, expected);
        assert_eq!(found[0].made.get("commit"), None);

        times(&new, "learning.csv", "soon");
        let error = newest(&runs).expect_err("no number").to_string();
        assert!(error.contains("learning.csv, line 3") && error.contains("\nhint: "), "{error}");
    }
}
