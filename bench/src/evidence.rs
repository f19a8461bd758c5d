//! Learning by evidence: its Local beside scikit-learn's with the same strengths and number of folds, and whole
//! runs by the number of participants, rows and columns.

use std::{fmt::Write as _, path::Path, time::Duration};

use fedcompetitors_files::parse_federation;
use fedcompetitors_graphs::random::Stream;
use fedcompetitors_learn::{
    Dependence, Generated, Outcome, Samples, Split, Targets,
    linear::{Own, Rows},
};
use fedcompetitors_runs::{Options, Prepared, run as run_federation};

use crate::{
    Failure, MEMORY,
    record::Row,
    scikit::{PEERS, Peer},
    timing::{best, middle, timed},
};

/// Turns of either side.
const TURNS: usize = 3;

/// The participants, rows and columns of the comparison with scikit-learn.
const SIZE: Size = Size { participants: 20, rows: 1000, columns: 100 };

/// The folds of the evaluation, and those inside for choices.
const FOLDS: u32 = 5;

/// The columns of what is kept of whole runs.
pub const GROWTH_COLUMNS: &[&str] = &["participants", "rows", "columns", "seconds", "mebibytes"];

#[derive(Debug, Clone, Copy)]
struct Size {
    participants: usize,
    rows: usize,
    columns: usize,
}

const fn size(participants: usize, rows: usize, columns: usize) -> Size {
    Size { participants, rows, columns }
}

/// Whole runs: more participants, more rows, more columns.
const GROWTH: [Size; 8] = [
    size(20, 1000, 50),
    SIZE,
    size(20, 1000, 200),
    size(20, 250, 100),
    size(20, 4000, 100),
    size(10, 1000, 100),
    size(50, 1000, 100),
    size(100, 1000, 100),
];

/// The seconds of Local and of the peer, each on one thread, for all participants and folds. Those of the peer
/// include reading the rows and predicting the tested ones, a small part.
///
/// # Errors
/// If the peer does not answer.
pub fn local(python: &Path) -> Result<Vec<Row>, Failure> {
    let folder = tempfile::tempdir()?;
    let mut peer = Peer::start(python, folder.path())?;
    let parts = parts(SIZE)?;
    let what = format!("{} fits with cross-validation, {} columns", parts.len(), SIZE.columns);
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    let mut rows = Vec::new();
    for turn in 0..TURNS {
        let (seconds, ()) = timed(|| {
            for (known, _) in &parts {
                std::hint::black_box(own(known).parameters());
            }
        });
        ours.push(seconds);
        let (seconds, answered) = timed(|| {
            for (known, tested) in &parts {
                let task = peer.task(&[known], tested)?;
                peer.ask(PEERS[0], &task)?;
            }
            Ok::<_, Failure>(())
        });
        answered?;
        theirs.push(seconds);
        for (side, seconds) in [("ours", ours[turn]), (PEERS[0], theirs[turn])] {
            rows.push(vec![what.clone(), side.into(), turn.to_string(), format!("{seconds:e}")]);
        }
    }
    let times = [middle(&theirs) / middle(&ours), best(&theirs) / best(&ours)];
    println!("{what}: {:.1} s, {} {:.1} s", middle(&ours), PEERS[0], middle(&theirs));
    println!("{:.1} times faster in the middle, {:.1} times at best", times[0], times[1]);
    Ok(rows)
}

/// The rows of each participant and fold: those that are known, and those that are tested.
fn parts(size: Size) -> Result<Vec<(Samples, Samples)>, Failure> {
    let mut parts = Vec::new();
    for participant in 0..size.participants {
        let kind = participant as u64 % 3;
        let generated = Generated {
            samples: size.rows,
            features: size.columns,
            kind,
            difference: 0.5,
            own: 0.2,
            noise: 1.0,
        };
        let samples = generated.draw(Outcome::Classes(2), 5, participant)?;
        let mut stream = Stream::new(5, "folds", participant as u64);
        for split in Split::folds(samples.targets(), FOLDS as usize, 0.2, &mut stream)? {
            let known = [&split.training[..], &split.validation].concat();
            parts.push((samples.chosen(&known)?, samples.chosen(&split.test)?));
        }
    }
    Ok(parts)
}

fn own(samples: &Samples) -> Own {
    let features = samples.features().iter().map(|&value| f64::from(value));
    let Targets::Classes { labels, .. } = samples.targets() else {
        unreachable!("classes were asked for")
    };
    let rows = Rows::with_classes(features, samples.columns(), labels, 1);
    Own::new(rows, FOLDS, &Dependence::None)
}

/// Seconds and memory of whole runs with one repeat of five folds.
///
/// # Errors
/// If a run fails.
pub fn growth() -> Result<Vec<Row>, Failure> {
    GROWTH.into_iter().map(whole).collect()
}

fn whole(size: Size) -> Result<Row, Failure> {
    let Size { participants, rows, columns } = size;
    let folder = tempfile::tempdir()?;
    let federation = parse_federation(Path::new("growth.toml"), &federation(size))?;
    let prepared = Prepared::read(federation, folder.path())?;
    MEMORY.reset_peak_usage();
    let options = Options {
        folder: &folder.path().join("run"),
        resume: false,
        faults: None,
        given: None,
        checkpoint: Duration::from_secs(60),
        explain: &|_| String::new(),
        progress: &|_| {},
    };
    let (seconds, done) = timed(|| run_federation(&prepared, &options));
    done?;
    let mebibytes = MEMORY.peak_usage() as f64 / f64::from(1 << 20);
    println!("{participants} × {rows} × {columns}: {seconds:.1} s, {mebibytes:.0} MiB");
    let numbers = [participants, rows, columns].map(|number| number.to_string());
    Ok([&numbers[..], &[format!("{seconds:.3}"), format!("{mebibytes:.0}")]].concat())
}

/// Three kinds of tasks; about one pair in eight competes.
fn federation(size: Size) -> String {
    let Size { participants, rows, columns } = size;
    let mut text = String::from("name = \"growth\"\nseed = 5\n[evaluation]\nfolds = 5\n");
    let mut stream = Stream::new(5, "competing", 0);
    for a in 0..participants {
        let competitors: Vec<String> = (a + 1..participants)
            .filter(|_| stream.unit() < 0.12)
            .map(|b| format!("\"P{b}\""))
            .collect();
        let _ = write!(
            text,
            "[[participants]]\nname = \"P{a}\"\ncompetes-with = [{}]\n\
             generate = {{ samples = {rows}, features = {columns}, kind = {}, difference = 0.5, own = 0.2 }}\n",
            competitors.join(", "),
            a % 3
        );
    }
    text
}
