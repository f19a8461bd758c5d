//! Tests of run directories: what they store, what the audit finds, what is recorded of remote participants.

mod evaluation;
mod evidence;
mod interference;
mod ledger;
mod runs;
mod tables;
mod units;

use std::{path::Path, time::Duration};

use fedcompetitors_graphs::BenefitGraph;
use fedcompetitors_runs::{Options, Prepared, RunError, run};

/// Runs a federation into a folder, without faults and with a checkpoint after every round.
fn run_into(
    prepared: &Prepared,
    folder: &Path,
    given: Option<BenefitGraph>,
) -> Result<(), RunError> {
    let options = Options {
        folder,
        resume: false,
        faults: None,
        given,
        checkpoint: Duration::ZERO,
        explain: &|_| String::new(),
        progress: &|_| {},
    };
    run(prepared, &options)
}
