//! `report`: a run as one page to look at.

use std::{
    fs,
    path::{Path, PathBuf},
};

use fedcompetitors_files::atomically;
use fedcompetitors_graphs::shown;
use fedcompetitors_record::Record;
use fedcompetitors_report::{
    html::{self, Audited, Page},
    plural,
};
use fedcompetitors_runs as runs;

use crate::{
    Failure, Outcome,
    arguments::ReportArguments,
    output::{refuse_overwriting, shown_path, tell},
};

pub fn report(arguments: &ReportArguments) -> Result<Outcome, Failure> {
    let folder = &arguments.folder;
    let path = arguments.output.clone().unwrap_or_else(|| page_path(folder));
    refuse_overwriting(Some(&path), &[&folder.join("run.sqlite")])?;
    write_page(folder, &path)
}

/// Where the page of a run is, unless another file is named.
pub fn page_path(folder: &Path) -> PathBuf {
    folder.join("report.html")
}

/// Writes a run as one page and ends with its path.
pub fn write_page(folder: &Path, path: &Path) -> Result<Outcome, Failure> {
    let page = read(folder)?;
    let text = html::page(&page);
    atomically(path, |writer| writer.write_all(text.as_bytes()))?;
    let findings = page.record.problems.len() + page.findings().len();
    if findings > 0 {
        let findings = plural(findings, "finding", "findings");
        tell(&format!("the report shows what is wrong: {findings}"));
    }
    tell(&format!("report: {}", shown_path(path)));
    Ok(if findings == 0 { Outcome::Done } else { Outcome::Finding })
}

/// A run at this moment; another process may be writing it.
fn read(folder: &Path) -> Result<Page, Failure> {
    let record = runs::record(folder)?;
    Ok(audited(folder, record, runs::is_at_work(folder)))
}

/// A record with an audit that is made now.
pub fn audited(folder: &Path, mut record: Record, is_at_work: bool) -> Page {
    let audit = match runs::audit(folder, None, None) {
        Ok(audit) => Audited::Done(audit),
        Err(error) => {
            let what = error.what();
            if !record.problems.contains(&what) {
                record.problems.push(what);
            }
            Audited::Failed
        }
    };
    Page { record, audit, is_at_work, folder: word_for(folder) }
}

/// A record before there is an audit.
pub fn unaudited(folder: &Path, record: Record, is_at_work: bool) -> Page {
    Page { record, audit: Audited::Later, is_at_work, folder: word_for(folder) }
}

/// The folder's own name as a word for a command line: the page is the same wherever the folder
/// lies.
fn word_for(folder: &Path) -> String {
    let whole = fs::canonicalize(folder).unwrap_or_else(|_| folder.to_owned());
    let name = whole.file_name().map(|name| name.to_string_lossy().into_owned());
    match name {
        Some(name) if is_plain(&name) => name,
        Some(name) if shown(&name) == name && !name.starts_with('-') => {
            format!("'{}'", name.replace('\'', r"'\''"))
        }
        _ => "DIR".into(),
    }
}

fn is_plain(name: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    !name.is_empty() && !name.starts_with('-') && name.chars().all(is_plain)
}
