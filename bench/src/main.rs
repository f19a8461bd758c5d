//! Benchmarks that a person can run: ratios against a twin in one run, raw figures kept.
//!
//! `cargo run --release -p fedcompetitors-bench -- selection`

mod best;
mod evidence;
mod experiment;
mod federation;
mod learning;
mod record;
mod results;
mod scikit;
mod selection;
mod timing;

use std::{path::PathBuf, process::ExitCode};

use clap::Parser;
use fedcompetitors_files::FileError;
use peak_alloc::PeakAlloc;

use crate::{
    federation::FederationArguments,
    learning::Whole,
    record::{Measurement, Row, SELECTION_COLUMNS},
};

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

/// Benchmarks of FedCompetitors.
#[derive(Debug, Parser)]
enum Benchmark {
    /// The paper's selection: against its own text, at growing sizes, and its proof.
    Selection {
        /// A folder to keep the raw figures in, such as bench/runs/2026-11-15-laptop.
        #[arg(long, value_name = "DIR")]
        save: Option<PathBuf>,
        /// The largest number of participants.
        #[arg(long, value_name = "N", default_value_t = 10_000)]
        largest: usize,
    },
    /// The best plan: greedy, local search, optimal, bound and seconds, by size.
    Optimal {
        /// A folder to keep the raw figures in.
        #[arg(long, value_name = "DIR")]
        save: Option<PathBuf>,
        /// Random instances of each shape.
        #[arg(long, value_name = "N", default_value_t = 20)]
        instances: u64,
    },
    /// Learning: steps and a whole experiment against the same in PyTorch.
    Learning {
        /// A folder to keep the raw figures in.
        #[arg(long, value_name = "DIR")]
        save: Option<PathBuf>,
        /// The Python of an environment with the peer's requirements.
        #[arg(long, value_name = "PATH")]
        python: PathBuf,
        /// The folder with the files of CIFAR-10, to compare its steps, too; `fedcompetitors
        /// data fetch cifar10` gets them.
        #[arg(long, value_name = "DIR")]
        cifar10: Option<PathBuf>,
        /// Federations of the whole experiment.
        #[arg(long, value_name = "N", default_value_t = 2)]
        seeds: u64,
        /// Gradients for each participant and method of the whole experiment.
        #[arg(long, value_name = "N", default_value_t = 2000)]
        evaluations: usize,
    },
    /// Learning by evidence: Local beside scikit-learn, and whole runs by size.
    Evidence {
        /// A folder to keep the raw figures in.
        #[arg(long, value_name = "DIR")]
        save: Option<PathBuf>,
        /// The Python of an environment with the peer's requirements.
        #[arg(long, value_name = "PATH")]
        python: PathBuf,
    },
    /// One of the program's experiments, kept with command, commit, machine and seconds. Build
    /// the program first.
    Experiment {
        /// A folder to keep the results in, such as bench/runs/2026-11-15-laptop.
        #[arg(long, value_name = "DIR")]
        save: Option<PathBuf>,
        /// What to call the results there, if not as the experiment, such as eicu-demo.
        #[arg(long, value_name = "NAME")]
        name: Option<String>,
        /// What `fedcompetitors reproduce` gets, the experiment first.
        #[arg(last = true, required = true, value_name = "ARGS")]
        arguments: Vec<String>,
    },
    /// A federation file with all its methods, and each participant alone with scikit-learn.
    Federation(FederationArguments),
    /// The page of results, made from the newest that are stored.
    Results {
        /// The folder of runs, one folder each, whose names begin with the date.
        #[arg(long, value_name = "DIR", default_value = "bench/runs")]
        runs: PathBuf,
        /// The page to write.
        #[arg(long, value_name = "FILE", default_value = "RESULTS.md")]
        out: PathBuf,
    },
}

/// Why something could not be done.
type Failure = Box<dyn std::error::Error + Send + Sync>;

/// What is wrong with a file, and what to do about it.
fn told(error: &FileError) -> Failure {
    format!("{error}\nhint: {}", error.hint()).into()
}

fn main() -> ExitCode {
    match run(Benchmark::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(benchmark: Benchmark) -> Result<(), Failure> {
    let rows = |measurements: Vec<Measurement>| measurements.iter().map(Measurement::row).collect();
    let (name, save, columns, rows): (_, _, _, Vec<Row>) = match benchmark {
        Benchmark::Selection { save, largest } => {
            ("selection", save, SELECTION_COLUMNS, rows(selection::run(largest)))
        }
        Benchmark::Optimal { save, instances } => {
            ("optimal", save, SELECTION_COLUMNS, rows(best::run(instances)))
        }
        Benchmark::Learning { save, python, cifar10, seeds, evaluations } => {
            let whole = Whole { seeds, evaluations };
            let rows = learning::run(&python, whole, cifar10.as_deref())?;
            ("learning", save, learning::COLUMNS, rows)
        }
        Benchmark::Evidence { save, python } => {
            let growth = evidence::growth()?;
            if let Some(folder) = &save {
                record::save(folder, "evidence-growth", evidence::GROWTH_COLUMNS, &growth)
                    .map_err(|error| told(&error))?;
            }
            ("evidence", save, learning::COLUMNS, evidence::local(&python)?)
        }
        Benchmark::Experiment { save, name, arguments } => {
            return experiment::run(save.as_deref(), name.as_deref(), &arguments);
        }
        Benchmark::Federation(arguments) => return federation::run(&arguments),
        Benchmark::Results { runs, out } => return results::write(&runs, &out),
    };
    if let Some(folder) = save {
        record::save(&folder, name, columns, &rows).map_err(|error| told(&error))?;
    }
    Ok(())
}
