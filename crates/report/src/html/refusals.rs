//! What would have been useful and was refused, and why.

use maud::{Markup, html};

use super::{
    Refused, View,
    text::{name, said},
};
use crate::plural;

/// Refusals that are all spread out; more are folded by participant.
const SPREAD: usize = 12;

/// Refusals that the page has room for.
const MOST: usize = 3_000;

/// The section; so many more were refused than the view has reasons for.
pub fn section(view: &View, unexplained: usize) -> Markup {
    let all = &view.refusals;
    if view.is_lost(all) {
        return html! { p { "The refusals cannot be read." } };
    }
    if all.is_empty() {
        return html! { p { "No useful edge was refused." } };
    }
    let shown = &all[..all.len().min(MOST)];
    html! {
        p.note {
            (plural(all.len() + unexplained, "useful edge was", "useful edges were")) " refused"
            @if view.run.seeds() > 1 { " with the first seed" }
            ". Each would have helped; the number is its benefit."
        }
        @for group in shown.chunk_by(|a, b| a.helped == b.helped) {
            (folded(view, group, all.len() <= SPREAD))
        }
        @if all.len() > MOST {
            p.note {
                "This page shows the first " (MOST) "; " code { "fedcompetitors export " (said(&view.folder)) }
                " writes all of them."
            }
        }
        @if unexplained > 0 {
            p.note { "… and " (unexplained) " more: choose two participants above to ask why." }
        }
    }
}

fn folded(view: &View, group: &[Refused], is_open: bool) -> Markup {
    html! {
        details.refused id=(format!("refused-{}", group[0].helped + 1)) open[is_open] {
            summary {
                (name(view.name(group[0].helped))) span.quiet { " may not learn from " (plural(group.len(), "participant", "participants")) }
            }
            ul { @for one in group { li { (said(&one.why)) "." } } }
        }
    }
}
