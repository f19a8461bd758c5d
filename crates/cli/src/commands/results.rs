//! `status`, `metrics`, `export` and `audit`: what a run directory says.

use fedcompetitors_files::read_federation;
use fedcompetitors_report::{audit_text, status_text};
use fedcompetitors_runs as runs;

use crate::{
    Failure, Outcome,
    arguments::{AuditArguments, ExportArguments, FolderArguments, MetricsArguments},
    output::{print, shown_path, tell},
};

pub fn status(arguments: &FolderArguments) -> Result<Outcome, Failure> {
    let summary = runs::summary(&arguments.folder)?;
    let is_at_work = runs::is_at_work(&arguments.folder);
    let text = status_text(&summary, is_at_work, &shown_path(&arguments.folder));
    print(|output| output.write_all(text.as_bytes()))?;
    Ok(Outcome::Done)
}

pub fn metrics(arguments: &MetricsArguments) -> Result<Outcome, Failure> {
    let mut table = Vec::new();
    runs::write_metrics(&arguments.folder, &mut table)??;
    print(|output| output.write_all(&table))?;
    Ok(Outcome::Done)
}

pub fn export(arguments: &ExportArguments) -> Result<Outcome, Failure> {
    let into = arguments.to.clone().unwrap_or_else(|| arguments.folder.join("export"));
    runs::export(&arguments.folder, &into)?;
    tell(&format!("wrote all tables to {}", shown_path(&into)));
    Ok(Outcome::Done)
}

pub fn audit(arguments: &AuditArguments) -> Result<Outcome, Failure> {
    let federation = arguments.federation.as_deref().map(read_federation).transpose()?;
    let competing = federation.as_ref().map(|file| &file.competing);
    let rule = federation.as_ref().map(|file| *file.settings.rule);
    let found = runs::audit(&arguments.folder, competing, rule)?;
    let mut text = audit_text(&found);
    if let Some(path) = &arguments.federation {
        text =
            format!("{text}The competitors and the rule were taken from {}.\n", shown_path(path));
    }
    print(|output| output.write_all(text.as_bytes()))?;
    Ok(if found.findings.is_empty() { Outcome::Done } else { Outcome::Finding })
}
