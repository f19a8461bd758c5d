//! Benchmarks that a person can run: ratios against a twin in one run, raw figures kept.
//!
//! `cargo run --release -p fedcompetitors-bench -- selection`

mod record;
mod selection;

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
}

fn main() -> ExitCode {
    let Benchmark::Selection { save, largest } = Benchmark::parse();
    let measurements = selection::run(largest);
    match save.map(|folder| record::save(&folder, "selection", &measurements)) {
        Some(Err(error)) => {
            eprintln!("error: {error}\nhint: {}", error.hint());
            ExitCode::FAILURE
        }
        _ => ExitCode::SUCCESS,
    }
}
