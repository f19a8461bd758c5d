//! Benchmarks that a person can run: ratios against a twin in one run, raw figures kept.
//!
//! `cargo run --release -p fedcompetitors-bench -- selection`

mod best;
mod record;
mod selection;
mod timing;

use std::{path::PathBuf, process::ExitCode};

use clap::Parser;
use peak_alloc::PeakAlloc;

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
}

fn main() -> ExitCode {
    let (name, save, measurements) = match Benchmark::parse() {
        Benchmark::Selection { save, largest } => ("selection", save, selection::run(largest)),
        Benchmark::Optimal { save, instances } => ("optimal", save, best::run(instances)),
    };
    match save.map(|folder| record::save(&folder, name, &measurements)) {
        Some(Err(error)) => {
            eprintln!("error: {error}\nhint: {}", error.hint());
            ExitCode::FAILURE
        }
        _ => ExitCode::SUCCESS,
    }
}
