//! A run: from a federation file to a model for each participant, stage by stage, every stage
//! stored.
//!
//! For each session and each method: who would help whom, who may learn from whom, the proof, the
//! training, the models, and in the end the figures of all sessions together. All of it goes through the store of a run directory,
//! so a run that was killed resumes where it was and ends with the same bytes.

#![forbid(unsafe_code)]

mod audit;
mod error;
mod export;
mod figures;
mod ledger;
mod methods;
mod models;
mod prepare;
mod record;
mod splits;
mod stamp;
mod store;
mod summary;
mod training;

use std::{path::Path, time::Duration};

use fedcompetitors_federate::{exchange::hex, faults::Faults, saved};
use fedcompetitors_graphs::{BenefitGraph, CompetingGraph, Refusal};
use fedcompetitors_learn::{Part, evaluation::has_few_of_a_class};
use fedcompetitors_record::{Session, Status};
use sha2::{Digest, Sha256};

use store::{Store, StoredSource, StoredSplit};
use training::Trainings;

pub use audit::audit;
pub use error::{Advice, RunError};
pub use export::{Proof, export, proof, write_metrics};
pub use ledger::{About, Final, Ledger, Stand, Told};
pub use models::{ModelFile, read_model};
pub use prepare::{Learning, Prepared, Source};
pub use record::record;
pub use stamp::{Stamp, stamp};
pub use store::{is_at_work, reseal};
pub use summary::summary;

/// How to run.
pub struct Options<'a> {
    /// The run directory.
    pub folder: &'a Path,
    /// Go on with what is there?
    pub resume: bool,
    /// What goes wrong, with the text that it was read from.
    pub faults: Option<(&'a Faults, &'a str)>,
    /// Benefits that are given, for the estimator of that name.
    pub given: Option<BenefitGraph>,
    /// How long to go on before the next checkpoint.
    pub checkpoint: Duration,
    /// Explains in words why an edge was refused.
    pub explain: &'a dyn Fn(&Refusal) -> String,
    /// Is told what happens.
    pub progress: &'a (dyn Fn(&Progress<'_>) + Sync),
}

/// What happens on the way.
#[derive(Debug, Clone, Copy)]
pub struct Progress<'a> {
    /// Trainings that are done, and all of them.
    pub trainings: (usize, usize),
    /// Rounds of this one that are done, and all of them.
    pub rounds: (usize, usize),
    /// What is being done.
    pub step: Step<'a>,
}

/// A step of a run, with the name of its estimator or method.
#[derive(Debug, Clone, Copy)]
pub enum Step<'a> {
    /// An estimate of who would help whom.
    Estimate(&'a str),
    /// A plan of who may learn from whom.
    Plan(&'a str),
    /// A training.
    Train(&'a str),
}

/// Runs a federation to its end.
///
/// # Errors
/// If the folder holds another run, if training diverges, if the guard fires, or if
/// something cannot be written. What was saved stays, and the run can be resumed.
pub fn run(prepared: &Prepared, options: &Options<'_>) -> Result<(), RunError> {
    let mut store = Store::open(options.folder)?;
    begin_or_check(&mut store, prepared, options)?;
    if options.resume {
        store.check_hashes()?;
        models::check(&store, options.folder)?;
    }
    if summary::status(&store)? != Status::Running {
        // Where somebody was reading as it ended, it is not one file yet.
        return store.become_one_file(Duration::ZERO);
    }
    // Whoever only looks at what is complete may be of any version.
    let (then, now) = (store.said("program")?, program());
    if then.as_ref() != Some(&now) {
        let then = then.unwrap_or("an unknown version".into());
        return Err(RunError::Version { folder: options.folder.to_owned(), then, now });
    }
    store.go_on()?;
    let settings = prepared.settings();
    let methods = settings.methods();
    let sessions = prepared.sessions();
    let all = 1 + methods.len() * (sessions.len() - 1);
    let mut done = 0;
    for &session in &sessions {
        let learners = prepared.learners(session)?;
        let splits = prepared.sources().iter().zip(&learners);
        let splits: Vec<_> = splits.map(|(source, one)| split_line(source, one)).collect();
        store.add_splits(session, &splits)?;
        // Whoever only compares needs no final models.
        let methods = if session == Session::Final { &methods[..1] } else { &methods[..] };
        for &method in methods {
            let name = method.name();
            let tell = |rounds: (usize, usize), step: Step<'_>| {
                (options.progress)(&Progress { trainings: (done, all), rounds, step });
            };
            let trainings =
                Trainings { prepared, learners: &learners, session, options, tell: &tell };
            trainings.train(&mut store, method).map_err(|error| match error {
                RunError::Learning { error, .. } => {
                    let training = Some(format!("{name}, {session}"));
                    RunError::Learning { training, error }
                }
                error => error,
            })?;
            done += 1;
        }
    }
    store.add_figures(&figures::all(prepared, &store)?)?;
    let incidents = store.rows("SELECT count(*) FROM incidents", [], |row| row.get::<_, u64>(0))?;
    let is_clean = incidents.first() == Some(&0);
    store.finish(if is_clean { Status::Complete } else { Status::WithIncidents })
}

/// Begins a run in an empty folder; in another one, is it this run?
fn begin_or_check(
    store: &mut Store,
    prepared: &Prepared,
    options: &Options<'_>,
) -> Result<(), RunError> {
    let settings = prepared.settings();
    let text = settings.to_toml();
    let faults = options.faults.map_or("", |(_, text)| text);
    let benefits = options.given.as_ref().map(benefit_hash).unwrap_or_default();
    let sources: Vec<_> = prepared
        .sources()
        .iter()
        .map(|source| StoredSource {
            name: source.name.clone(),
            hash: source.hash.clone(),
            samples: source.samples_count(),
            few: has_few_of_a_class(source.targets()),
        })
        .collect();
    let folder = options.folder.to_owned();
    if store.said("federation")?.is_some() {
        if !options.resume {
            return Err(RunError::Exists { folder });
        }
        let same = |key: &str, now: &str, what: &str| -> Result<(), RunError> {
            if store.said(key)?.as_deref() == Some(now) {
                return Ok(());
            }
            Err(RunError::Differs { folder: folder.clone(), what: what.into() })
        };
        same("federation", &text, "another federation file")?;
        same("faults", faults, "other faults")?;
        same("benefits", &benefits, "other given benefits")?;
        same("competing", &competing_hash(prepared.competing()), "other competitions")?;
        let stored: Vec<(String, String)> =
            store.rows("SELECT name, source_hash FROM participants ORDER BY id", [], |row| {
                Ok((row.get(0)?, row.get(1)?))
            })?;
        for ((name, hash), now) in stored.iter().zip(&sources) {
            if *hash != now.hash {
                let what = format!("other data of participant \"{name}\"");
                return Err(RunError::Differs { folder, what });
            }
        }
        return Ok(());
    }
    store.begin(
        &[
            ("federation", &text),
            ("name", &settings.name),
            ("faults", faults),
            ("benefits", &benefits),
            ("competing", &competing_hash(prepared.competing())),
            ("metric", prepared.metric().title()),
            ("direction", prepared.direction().name()),
            ("features", &store::json(&prepared.features())),
            ("program", &program()),
            ("status", Status::Running.name()),
        ],
        prepared.competing(),
        &sources,
    )
}

/// The version of the program, and of the states that it saves: another one would go on to
/// other bytes, or read states as what they are not.
fn program() -> String {
    format!("version {} with checkpoints {}", env!("CARGO_PKG_VERSION"), saved::VERSION)
}

/// The status of the run in a folder; none if no run can be read there.
///
/// # Errors
/// If its record has the format of another version.
pub fn status(folder: &Path) -> Result<Option<Status>, RunError> {
    match Store::read(folder).and_then(|store| summary::status(&store)) {
        Ok(status) => Ok(Some(status)),
        Err(error @ RunError::OtherFormat { .. }) => Err(error),
        Err(_) => Ok(None),
    }
}

fn competing_hash(competing: &CompetingGraph) -> String {
    let reports: Vec<_> = competing.all_reports().collect();
    hex(&Sha256::digest(store::json(&reports)))
}

fn benefit_hash(benefit: &BenefitGraph) -> String {
    let edges = (0..benefit.participants().len())
        .flat_map(|to| benefit.helpers(to).map(move |(from, value)| (from, to, value.to_bits())));
    hex(&Sha256::digest(store::json(&edges.collect::<Vec<_>>())))
}

/// How many samples of a participant are for what, and the hash of which.
fn split_line(source: &Source, learning: &Learning) -> StoredSplit {
    let mut hasher = Sha256::new();
    for part in Part::ALL {
        let rows = learning.split.rows(part);
        hasher.update((rows.len() as u64).to_le_bytes());
        rows.iter().for_each(|row| hasher.update(row.to_le_bytes()));
    }
    let counts = Part::ALL.map(|part| learning.split.rows(part).len());
    let number = |row: &u32| source.number_of(*row);
    let tested = learning.split.test.iter().map(number).collect();
    StoredSplit { counts, hash: hex(&hasher.finalize()), tested }
}
