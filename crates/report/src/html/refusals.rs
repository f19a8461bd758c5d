//! What would have been useful and was refused, and why.

use fedcompetitors_record::{Record, Refused};
use maud::{Markup, html};

use super::{
    is_lost,
    text::{name, said},
};
use crate::plural;

/// Refusals that are all spread out; more are folded by participant.
const SPREAD: usize = 12;

/// Refusals that the page has room for.
const MOST: usize = 3_000;

/// The section: all edges that were refused, and the number of further ones without a reason.
/// `folder` is the run directory as a word for a command line.
pub fn section(record: &Record, all: &[Refused], unexplained: usize, folder: &str) -> Markup {
    if is_lost(record, all) {
        return html! { p { "The refusals cannot be read." } };
    }
    if all.is_empty() {
        return html! { p { "No useful edge was refused." } };
    }
    let shown = &all[..all.len().min(MOST)];
    html! {
        p.note {
            (plural(all.len() + unexplained, "useful edge was", "useful edges were")) " refused"
            ". Each would have helped, by the benefit in brackets."
        }
        @for group in shown.chunk_by(|a, b| a.helped == b.helped) {
            (folded(record, group, all.len() <= SPREAD))
        }
        @if all.len() > MOST {
            p.note {
                "This page shows the first " (MOST) "; " code { "fedcompetitors export " (said(folder)) }
                " writes all of them."
            }
        }
        @if unexplained > 0 {
            p.note { "… and " (unexplained) " more: choose two participants above to ask why." }
        }
    }
}

fn folded(record: &Record, group: &[Refused], is_open: bool) -> Markup {
    html! {
        details.refused id=(format!("refused-{}", group[0].helped + 1)) open[is_open] {
            summary {
                (name(record.summary.name_of(group[0].helped))) span.quiet { " may not learn from " (plural(group.len(), "participant", "participants")) }
            }
            ul { @for one in group { li { (said(&one.reason)) "." } } }
        }
    }
}
