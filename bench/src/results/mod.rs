//! `RESULTS.md`, made from what is stored: for each of the paper's experiments its table, what
//! agrees with the paper, what does not and why, and where the figures come from.

mod curve;
mod federations;
mod findings;
mod kinds;
mod overview;
mod page;
mod speed;
mod stored;

use std::path::Path;

use fedcompetitors_files::atomically;

use crate::{Failure, told};
use page::Page;

/// Makes the page of the newest results in the folder of runs.
///
/// # Errors
/// If there are none, or if one cannot be read.
pub fn write(runs: &Path, out: &Path) -> Result<(), Failure> {
    let page = page(runs)?;
    atomically(out, |writer| writer.write_all(page.as_bytes())).map_err(|error| told(&error))
}

fn page(folder: &Path) -> Result<String, Failure> {
    let runs = stored::runs(folder)?;
    let experiments = stored::newest(&runs)?;
    if experiments.is_empty() {
        let hint = "make some with `bench experiment --save DIR -- synthetic-weak`";
        return Err(format!("{}: no stored results\nhint: {hint}", folder.display()).into());
    }
    let others = stored::others(&runs, &experiments)?;
    let (federations, speeds) = (federations::newest(&runs)?, speed::newest(&runs)?);
    Ok(Page { federations, experiments, others, speeds }.markdown())
}

#[cfg(test)]
mod tests;
