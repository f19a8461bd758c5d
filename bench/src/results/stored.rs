//! Stored results, read and checked: `<date>-<machine>/<experiment>/results.json`, with
//! `made.txt` beside it where `bench experiment` has made them.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use fedcompetitors_files::{FileError, Problem};
use fedcompetitors_record::Spread;
use serde::Deserialize;

use super::kinds::{Better, KINDS, Kind};
use crate::{Failure, record::Made, told};

/// What is read.
const FORMAT: &str = "fedcompetitors-experiment/1";

/// One experiment as it was stored.
#[derive(Debug)]
pub struct Stored {
    /// Which of the paper's.
    pub kind: &'static Kind,
    /// The folder of the run, such as `2026-11-15-laptop`.
    pub run: String,
    /// The folder in it.
    pub name: String,
    /// How much of the paper's training it had, where that differs.
    pub budget: Option<String>,
    /// Which data, where there are several.
    pub data: Option<String>,
    /// How many images of each class a participant has, where that was chosen.
    pub images: Option<u64>,
    /// With which seeds.
    pub seeds: Vec<u64>,
    /// Who takes part.
    pub participants: Vec<String>,
    /// Gradients that each method may take for each participant.
    pub gradients: u64,
    /// Among how many rules validation data chose, where the table says so.
    pub rules: Option<usize>,
    /// The methods, in the order of the table.
    pub methods: Vec<Method>,
    /// Where it comes from.
    pub made: Made,
}

/// A method's figures, in the paper's unit.
#[derive(Debug, Clone)]
pub struct Method {
    /// What it is called.
    pub name: String,
    /// For each seed the figure of each participant.
    pub cells: Vec<Vec<f64>>,
    /// The paper's figures for it.
    pub paper: Option<Paper>,
    /// Gradients that it took for each participant.
    pub gradients: f64,
    /// How many of them to estimate benefits.
    pub estimation: f64,
    /// What validation data chose.
    pub rule: String,
    /// Who learned from whom, for each seed; empty if that was not stored.
    pub plans: Vec<serde_json::Value>,
}

/// The paper's figures for a method.
#[derive(Debug, Clone)]
pub struct Paper {
    /// The mean over the participants.
    pub mean: f64,
    /// Its deviation, where the paper has one.
    pub deviation: Option<f64>,
    /// Each participant's, with a deviation where the paper has one; empty if the paper
    /// only has the mean.
    pub cells: Vec<(f64, Option<f64>)>,
}

impl Method {
    /// Its mean over the participants, seed by seed.
    pub fn seed_means(&self) -> Vec<f64> {
        self.cells.iter().map(|cells| cells.iter().sum::<f64>() / cells.len() as f64).collect()
    }

    /// The mean over the participants, as it scatters over the seeds.
    pub fn mean(&self) -> Spread {
        Spread::of(&self.seed_means())
    }

    /// A participant's figure.
    pub fn of_participant(&self, a: usize) -> Spread {
        Spread::of(&self.cells.iter().map(|cells| cells[a]).collect::<Vec<_>>())
    }

    /// The name under which the paper has it: our other ways to train along a plan have a
    /// comma in their names.
    pub fn family(&self) -> &str {
        self.name.split(", ").next().unwrap_or(&self.name)
    }

    /// Whether the paper has this very method.
    pub fn is_papers(&self) -> bool {
        self.paper.is_some() && self.family() == self.name
    }
}

impl Stored {
    /// By how much the first method is worse than the second, seed by seed.
    pub fn behind(&self, a: &Method, b: &Method) -> Spread {
        match self.kind.better {
            Better::Lower => Spread::of_differences(&a.seed_means(), &b.seed_means()),
            Better::Higher => Spread::of_differences(&b.seed_means(), &a.seed_means()),
        }
    }

    /// What sets it apart from others of its kind.
    pub fn size(&self) -> String {
        match (&self.data, &self.budget, self.images) {
            (_, _, Some(images)) => format!("{images} images of a class"),
            (Some(data), _, _) => data.clone(),
            (None, Some(budget), _) => format!("{budget} budget"),
            (None, None, None) => self.name.clone(),
        }
    }

    /// Everybody alone.
    pub fn local(&self) -> Option<&Method> {
        self.methods.iter().find(|method| method.name == "Local")
    }

    /// The method with the best mean.
    pub fn best(&self) -> Option<&Method> {
        let by_mean = |a: &&Method, b: &&Method| {
            let order = a.mean().mean.total_cmp(&b.mean().mean);
            if self.kind.better == Better::Lower { order } else { order.reverse() }
        };
        self.methods.iter().min_by(by_mean)
    }

    /// Whether the paper has figures to compare with.
    pub fn is_comparable(&self) -> bool {
        self.methods.iter().any(|method| method.paper.is_some())
    }
}

/// The folders of runs, the newest first: their names begin with the date.
pub fn runs(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let mut runs: Vec<PathBuf> =
        entries(folder)?.into_iter().filter(|path| path.is_dir()).collect();
    runs.sort();
    runs.reverse();
    Ok(runs)
}

/// What lies in a folder, in order.
pub fn entries(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let unreadable = |error| told(&unreadable(folder, error));
    let mut paths = Vec::new();
    for entry in fs::read_dir(folder).map_err(unreadable)? {
        paths.push(entry.map_err(unreadable)?.path());
    }
    paths.sort();
    Ok(paths)
}

/// The last part of a path, as text.
pub fn last(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// Of every experiment the newest, in the order of the page.
pub fn newest(runs: &[PathBuf]) -> Result<Vec<Stored>, Failure> {
    let mut found = Vec::new();
    for kind in &KINDS {
        for name in kind.folders {
            if let Some(folder) =
                runs.iter().map(|run| run.join(name)).find(|folder| folder.is_dir())
            {
                found.push(read(kind, &folder)?);
            }
        }
    }
    Ok(found)
}

/// Other results of the runs, which the page only mentions.
pub fn others(runs: &[PathBuf], shown: &[Stored]) -> Result<Vec<String>, Failure> {
    let mut others = Vec::new();
    for run in runs {
        for folder in entries(run)?.iter().filter(|path| path.join("results.json").is_file()) {
            let (run, name) = (last(run), last(folder));
            if !shown.iter().any(|stored| stored.run == run && stored.name == name) {
                others.push(format!("{run}/{name}"));
            }
        }
    }
    Ok(others)
}

fn unreadable(path: &Path, error: io::Error) -> FileError {
    FileError { path: path.to_owned(), line: None, problem: Problem::Unreadable(error) }
}

/// Reads one experiment's folder.
fn read(kind: &'static Kind, folder: &Path) -> Result<Stored, Failure> {
    let path = folder.join("results.json");
    let text = fs::read_to_string(&path).map_err(|error| {
        let error = unreadable(&path, error);
        let arguments = format!("experiment --save DIR -- {} …", kind.experiment);
        format!(
            "{error}\nhint: make it with `cargo run --release -p fedcompetitors-bench -- {arguments}`, or remove its folder"
        )
    })?;
    let document: Document = serde_json::from_str(&text).map_err(|error| {
        let line = Some(error.line() as u64);
        told(&FileError { path: path.clone(), line, problem: Problem::Json(error.to_string()) })
    })?;
    let wrong = |problem| told(&FileError { path: path.clone(), line: None, problem });
    if document.format != FORMAT {
        return Err(wrong(Problem::Format { found: document.format, expected: FORMAT }));
    }
    if document.experiment != kind.experiment {
        let name = document.experiment;
        let problem = format!("the experiment is \"{name}\" instead of \"{}\"", kind.experiment);
        return Err(wrong(Problem::Json(problem)));
    }
    let stored = Stored {
        kind,
        run: folder.parent().map(last).unwrap_or_default(),
        name: last(folder),
        seeds: document.seeds(),
        budget: document.budget,
        data: document.data,
        images: document.images_of_a_class,
        participants: document.participants,
        gradients: document.gradients_for_each_participant,
        rules: rules(folder),
        methods: document.methods.into_iter().map(|method| method.read(kind.factor)).collect(),
        made: Made::read(&folder.join("made.txt")).map_err(|error| told(&error))?,
    };
    check(&stored).map_err(|problem| wrong(Problem::Json(problem)))?;
    Ok(stored)
}

/// Among how many rules validation data chose. Of all that is stored only the table tells.
fn rules(folder: &Path) -> Option<usize> {
    let table = fs::read_to_string(folder.join("table.txt")).ok()?;
    table.split_once("chosen among ")?.1.split_whitespace().next()?.parse().ok()
}

/// Whether there is a figure wherever one is expected.
fn check(stored: &Stored) -> Result<(), String> {
    let participants = stored.participants.len();
    if participants == 0 || stored.seeds.is_empty() {
        return Err("no participants or no seeds".into());
    }
    if stored.local().is_none() {
        return Err("there is no method \"Local\" to compare with".into());
    }
    for method in &stored.methods {
        let name = &method.name;
        if method.cells.len() != stored.seeds.len() {
            let (found, expected) = (method.cells.len(), stored.seeds.len());
            return Err(format!("{name}: {found} rows of cells instead of {expected}"));
        }
        if method.cells.iter().any(|cells| cells.len() != participants) {
            return Err(format!("{name}: a row without a cell for each participant"));
        }
        let papers = method.paper.as_ref().map_or(0, |paper| paper.cells.len());
        if papers != 0 && papers != participants {
            return Err(format!("{name}: {papers} figures of the paper instead of {participants}"));
        }
    }
    Ok(())
}

/// `results.json`, as far as the page needs it.
#[derive(Deserialize)]
struct Document {
    format: String,
    experiment: String,
    budget: Option<String>,
    data: Option<String>,
    images_of_a_class: Option<u64>,
    #[serde(default)]
    seeds: Vec<u64>,
    participants: Vec<String>,
    gradients_for_each_participant: u64,
    methods: Vec<MethodDocument>,
    #[serde(default)]
    estimates: Vec<EstimateDocument>,
}

#[derive(Deserialize)]
struct MethodDocument {
    method: String,
    cells: Vec<Vec<f64>>,
    paper: Option<PaperDocument>,
    gradients: f64,
    #[serde(default)]
    gradients_for_estimation: f64,
    rule: String,
    #[serde(default)]
    plans: Vec<serde_json::Value>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum PaperDocument {
    Mean { mean: f64, deviation: Option<f64> },
    CellsWithDeviations(Vec<(f64, f64)>),
    Cells(Vec<f64>),
}

#[derive(Deserialize)]
struct EstimateDocument {
    seed: u64,
}

impl Document {
    /// Older results have their seeds in the estimates alone, with folds more than once.
    fn seeds(&self) -> Vec<u64> {
        let mut seeds = self.seeds.clone();
        if seeds.is_empty() {
            seeds.extend(self.estimates.iter().map(|estimate| estimate.seed));
            seeds.dedup();
        }
        seeds
    }
}

impl MethodDocument {
    fn read(self, factor: f64) -> Method {
        let row = |row: Vec<f64>| row.into_iter().map(|cell| cell * factor).collect();
        Method {
            name: self.method,
            cells: self.cells.into_iter().map(row).collect(),
            paper: self.paper.map(PaperDocument::read),
            gradients: self.gradients,
            estimation: self.gradients_for_estimation,
            rule: self.rule,
            plans: self.plans,
        }
    }
}

impl PaperDocument {
    fn read(self) -> Paper {
        let of = |cells: Vec<(f64, Option<f64>)>| {
            let mean = cells.iter().map(|cell| cell.0).sum::<f64>() / cells.len().max(1) as f64;
            Paper { mean, deviation: None, cells }
        };
        match self {
            Self::Mean { mean, deviation } => Paper { mean, deviation, cells: Vec::new() },
            Self::CellsWithDeviations(cells) => {
                of(cells.into_iter().map(|(mean, deviation)| (mean, Some(deviation))).collect())
            }
            Self::Cells(cells) => of(cells.into_iter().map(|mean| (mean, None)).collect()),
        }
    }
}
