//! `report`: a run as one page to look at.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use fedcompetitors_files::atomically;
use fedcompetitors_graphs::shown;
use fedcompetitors_record::{self as record, Audit, Record, Status, Stop};
use fedcompetitors_report::{
    html::{self, Audited, Curve, LedgerLine, Model, PlanStep, Refused, Standing, View},
    plural,
};
use fedcompetitors_runs as runs;

use super::results::{finding_text, incident_kind, looked_at, report_of, uncovered_text};
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
    let view = view(folder)?;
    let page = html::page(&view);
    atomically(path, |writer| writer.write_all(page.as_bytes()))?;
    let findings = view.problems.len() + view.audit.findings.len();
    if findings > 0 {
        let findings = plural(findings, "finding", "findings");
        tell(&format!("the report shows what is wrong: {findings}"));
    }
    tell(&format!("report: {}", shown_path(path)));
    Ok(if findings == 0 { Outcome::Done } else { Outcome::Finding })
}

/// A run as its page shows it, at this moment; another process may be writing it.
pub fn view(folder: &Path) -> Result<View, Failure> {
    let record = runs::record(folder)?;
    Ok(audited_view(folder, record, runs::is_at_work(folder)))
}

/// A record as its page shows it, with an audit that is made now.
pub fn audited_view(folder: &Path, mut record: Record, is_at_work: bool) -> View {
    let audited = match runs::audit(folder, None) {
        Ok(audit) => audited(&audit),
        Err(error) => {
            let what = error.what();
            if !record.problems.contains(&what) {
                record.problems.push(what);
            }
            Audited::default()
        }
    };
    filled(record, audited, is_at_work, word_for(folder))
}

/// A record as its page shows it before there is an audit.
pub fn unaudited_view(folder: &Path, record: Record, is_at_work: bool) -> View {
    let audit = Audited { is_later: true, ..Audited::default() };
    filled(record, audit, is_at_work, word_for(folder))
}

fn audited(audit: &Audit) -> Audited {
    let not_replayed = audit
        .references
        .iter()
        .map(|method| format!("Not replayed: {method}, which is for reference only."));
    Audited {
        is_later: false,
        looked_at: looked_at(audit),
        findings: audit.findings.iter().map(finding_text).collect(),
        besides: audit.uncovered.iter().map(uncovered_text).chain(not_replayed).collect(),
    }
}

fn filled(record: Record, audit: Audited, is_at_work: bool, folder: String) -> View {
    let summary = &record.summary;
    let own = summary.methods.first();
    let standing = match summary.status {
        _ if !record.problems.is_empty() => Standing::Damaged,
        _ if !summary.stops.is_empty() => Standing::Stopped,
        _ if !audit.findings.is_empty() => Standing::Doubted,
        Status::Complete => Standing::Complete,
        Status::WithIncidents => Standing::WithIncidents,
        _ if is_at_work => Standing::Running,
        _ => Standing::Interrupted,
    };
    let refused = own.map(|method| method.refused.as_slice()).unwrap_or_default();
    let refusals = refused.iter().map(|one| Refused {
        helper: one.helper,
        helped: one.helped,
        why: one.reason.clone(),
    });
    let incidents = record.incidents.iter().map(|(kind, often, who)| {
        (incident_kind(*kind).trim_matches(',').to_owned(), *often, *who)
    });
    let stops = summary.stops.iter().map(|Stop { seed, method, round, message }| {
        format!("{method}, seed {seed}, round {round}: {message}.")
    });
    View {
        run: report_of(summary),
        standing,
        competing: record.competing.clone(),
        reports: record.reports.clone(),
        benefit: record.benefit.clone(),
        usage: record.usage.clone(),
        first_usage: record.plans.first().map_or(&record.usage, |plan| &plan.usage).clone(),
        refusals: refusals.collect(),
        models: own.map(models).unwrap_or_default(),
        curves: record
            .curves
            .iter()
            .map(|curve| Curve {
                method: curve.method.clone(),
                participant: curve.participant,
                points: curve.points.clone(),
            })
            .collect(),
        ledger: record
            .ledger
            .iter()
            .map(|line| LedgerLine {
                of: format!("{}{}", line.of, if line.is_estimate { " (estimate)" } else { "" }),
                sent: line.sent,
                delivered: line.delivered,
            })
            .collect(),
        incidents: incidents.collect(),
        stops: stops.collect(),
        plans: plan_steps(&record.plans),
        certificate: record.certificate.clone(),
        audit,
        seeds: summary.seeds.clone(),
        federation: summary.federation.clone(),
        program: record.program,
        problems: record.problems,
        folder,
        ask: None,
    }
}

/// Everybody's model: its file is of the first seed, what it carries of any.
fn models(method: &record::Method) -> Vec<Model> {
    let Some((_, first)) = method.cells.first() else {
        return Vec::new();
    };
    let carries = |participant: usize| -> BTreeSet<usize> {
        let cells = method.cells.iter().map(|(_, cells)| &cells[participant]);
        cells.flat_map(|cell| cell.provenance.iter().copied()).collect()
    };
    first
        .iter()
        .enumerate()
        .map(|(participant, cell)| Model {
            file: cell.file.clone(),
            hash: cell.hash.clone(),
            carries: carries(participant).into_iter().collect(),
        })
        .collect()
}

/// Each plan with what is different from the one before.
fn plan_steps(plans: &[record::PlanStep]) -> Vec<PlanStep> {
    let mut before = BTreeSet::new();
    plans
        .iter()
        .enumerate()
        .map(|(at, plan)| {
            let now: BTreeSet<(usize, usize)> = plan.usage.iter().copied().collect();
            let different = |a: &BTreeSet<(usize, usize)>, b: &BTreeSet<(usize, usize)>| {
                // The first plan is no change.
                if at == 0 { Vec::new() } else { a.difference(b).copied().collect() }
            };
            let step = PlanStep {
                round: plan.round,
                why: plan.why.clone(),
                edges: now.len(),
                added: different(&now, &before),
                removed: different(&before, &now),
            };
            before = now;
            step
        })
        .collect()
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
