//! `run` and `demo`: from a federation file to everybody's own model.

use std::{
    env,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use fedcompetitors_federate::faults::{Fault, FaultKind, Faults, Garbage};
use fedcompetitors_files::{
    FederationFile, atomically,
    federation::{FaultName, read_faults},
    parse_federation, read_benefit, read_federation_under,
};
use fedcompetitors_graphs::{BenefitGraph, Participants};
use fedcompetitors_record::Status;
use fedcompetitors_report::{refusal_in_rows, refusal_text, run_markdown, run_text};
use fedcompetitors_runs::{self as runs, Options, Prepared, Progress, Step};
use indicatif::{ProgressBar, ProgressStyle};

use super::report::{page_path, write_page};
use crate::{
    Failure, Outcome,
    arguments::{DemoArguments, RunArguments},
    interrupt::advise,
    output::{print, shown_path, tell, warn},
};

/// The demonstration, compiled in: nothing to download, nothing to find.
const DEMO: &str = include_str!("../../../../examples/demo/federation.toml");

/// How often a run keeps where it is.
const CHECKPOINT: Duration = Duration::from_secs(1);

pub fn run(arguments: &RunArguments) -> Result<Outcome, Failure> {
    let path = &arguments.federation;
    let mut federation = read_federation_under(path, arguments.rule)?;
    if let Some(repeats) = arguments.repeats {
        federation.settings.evaluation.repeats = repeats;
    }
    if let Some(rounds) = arguments.rounds {
        federation.settings.training.rounds = rounds;
    }
    let beside = path.parent().unwrap_or(Path::new("."));
    let given = given_benefits(&federation, beside)?;
    let folder = match &arguments.out {
        Some(folder) => folder.clone(),
        None => PathBuf::from(format!("{}-run", name_of(path))),
    };
    let advice = format!(
        "stopped; resume with: fedcompetitors run {} --out {} --resume, and all other options as before",
        shown_path(path),
        shown_path(&folder)
    );
    advise(advice);
    if arguments.resume && runs::status(&folder)?.is_none() {
        tell(&format!("{} contains no run to resume: starting a new one", shown_path(&folder)));
    }
    let faults = match &arguments.faults {
        Some(path) => Some(scripted(path, federation.competing.participants())?),
        None => None,
    };
    let prepared = Prepared::read(federation, arguments.data.as_deref().unwrap_or(beside))?;
    to_the_end(&prepared, &folder, arguments.resume, faults.as_ref(), given)
}

/// What a federation file is called: as its folder, if the file has the name that all have.
fn name_of(path: &Path) -> String {
    let stem = path.file_stem().map_or("federation".into(), |stem| stem.to_string_lossy());
    let folder = path.parent().and_then(Path::file_name).map(|name| name.to_string_lossy());
    match folder {
        Some(folder) if stem == "federation" => folder.into_owned(),
        _ => stem.into_owned(),
    }
}

pub fn demo(arguments: &DemoArguments) -> Result<Outcome, Failure> {
    let path = Path::new("examples/demo/federation.toml");
    let prepared = Prepared::read(parse_federation(path, DEMO)?, Path::new("."))?;
    // Shown once more if it was run before.
    let outcome = to_the_end(&prepared, &arguments.out, true, None, None)?;
    if arguments.open {
        open_in_browser(&page_path(&arguments.out));
    }
    Ok(outcome)
}

fn to_the_end(
    prepared: &Prepared,
    folder: &Path,
    resume: bool,
    faults: Option<&(Faults, String)>,
    given: Option<BenefitGraph>,
) -> Result<Outcome, Failure> {
    let before = runs::status(folder)?.filter(|status| resume && *status != Status::Running);
    let start = Instant::now();
    let bar = ProgressBar::new(0);
    let style = ProgressStyle::with_template("{bar:30} {percent:>3} %, {eta} left: {msg}");
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    let competing = prepared.competing();
    let are_rows = prepared.settings().estimator().benefits_are_rows();
    let explain = if are_rows { refusal_in_rows } else { refusal_text };
    runs::run(
        prepared,
        &Options {
            folder,
            resume,
            faults: faults.map(|(faults, text)| (faults, text.as_str())),
            given,
            checkpoint: checkpoint(),
            explain: &|refusal| explain(competing, refusal),
            progress: &|progress| show(&bar, progress),
        },
    )?;
    bar.finish_and_clear();
    if let Some(status) = before {
        tell(&format!(
            "the run in {} was already {status}; these are its results",
            shown_path(folder)
        ));
    }
    let (summary, record) = (runs::summary(folder)?, runs::record(folder)?);
    let path = folder.join("report.md");
    atomically(&path, |writer| writer.write_all(run_markdown(&record).as_bytes()))?;
    print(|output| output.write_all(run_text(&summary).as_bytes()))?;
    tell(&format!(
        "finished in {:.1} s; models and record are in {}",
        start.elapsed().as_secs_f64(),
        shown_path(folder)
    ));
    let page = write_page(folder, &page_path(folder))?;
    let is_clean = summary.methods.iter().all(|method| method.incidents.is_empty());
    Ok(if is_clean { page } else { Outcome::Finding })
}

/// Opens a page in the browser. That there is none is no failure: the page is there to be opened.
fn open_in_browser(page: &Path) {
    if let Err(error) = open::that_detached(page) {
        warn(&format!("no browser can be started ({error}); open {} yourself", shown_path(page)));
    }
}

/// How often a run keeps where it is; tests want that more often.
fn checkpoint() -> Duration {
    let asked = env::var("FEDCOMPETITORS_CHECKPOINT_SECONDS").ok();
    let asked = asked.and_then(|seconds| seconds.parse().ok());
    asked.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok()).unwrap_or(CHECKPOINT)
}

fn show(bar: &ProgressBar, progress: &Progress<'_>) {
    // A thousand steps for each training, however many rounds it has.
    let (done, all) = progress.trainings;
    let part = (1000 * progress.rounds.0).checked_div(progress.rounds.1).unwrap_or(0);
    bar.set_length(1000 * all as u64);
    bar.set_position((1000 * done + part) as u64);
    bar.set_message(match progress.step {
        Step::Estimate(estimator) => format!("{estimator}: who would help whom"),
        Step::Plan(method) => format!("{method}: who may learn from whom"),
        Step::Train(method) => method.to_owned(),
    });
}

/// The benefits of the file that a federation file names.
pub fn given_benefits(
    federation: &FederationFile,
    beside: &Path,
) -> Result<Option<BenefitGraph>, Failure> {
    match federation.settings.estimator().file() {
        None => Ok(None),
        Some(file) => {
            let participants = federation.competing.participants();
            Ok(Some(read_benefit(&beside.join(file), participants)?))
        }
    }
}

fn scripted(path: &Path, participants: &Participants) -> Result<(Faults, String), Failure> {
    let (entries, text) = read_faults(path, participants)?;
    let faults = entries.into_iter().map(|(participant, entry)| Fault {
        participant,
        kind: match entry.does {
            FaultName::Missing => FaultKind::Missing,
            FaultName::SendsNan => FaultKind::Sends(Garbage::Nan),
            FaultName::SendsWrongLength => FaultKind::Sends(Garbage::WrongLength),
            FaultName::SendsHuge => FaultKind::Sends(Garbage::Huge),
        },
        first: entry.first,
        last: entry.last,
    });
    Ok((Faults(faults.collect()), text))
}
