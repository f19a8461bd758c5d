//! The whole page: its head, what it says first, and its sections.

use base64::{Engine, engine::general_purpose::STANDARD};
use fedcompetitors_graphs::shown;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use sha2::{Digest, Sha256};

use super::{
    Standing, View, cards, curves, graphs, ledger, proof, refusals, tables,
    text::{name, said},
};
use crate::{
    plural,
    run::{LITTLE, shown_gain, spread},
};

pub(super) const STYLE: &str = include_str!("style.css");

/// A part of the page.
pub struct Section {
    /// Its id: the same for every run and every moment.
    pub id: &'static str,
    /// What it is called.
    pub title: &'static str,
    /// The whole `section`, with that id.
    pub markup: Markup,
}

/// The sections of the page in their order.
pub fn sections(view: &View) -> Vec<Section> {
    [
        ("graphs", "Three graphs", graphs::section(view)),
        ("participants", "Participants", cards::section(view)),
        ("methods", "Methods", tables::methods(view)),
        ("curves", "Learning, round by round", curves::section(view)),
        ("refusals", "What was refused, and why", refusals::section(view, 0)),
        ("proof", "Proof, and how to check it", proof::section(view)),
        ("ledger", "Ledger", ledger::section(view)),
        ("plans", "Plans over time", ledger::plans(view)),
        ("about", "About this run", tables::about(view)),
    ]
    .map(|(id, title, content)| {
        let heading = format!("{id}-title");
        let markup = html! {
            section id=(id) aria-labelledby=(heading) {
                h2 id=(heading) { (title) }
                (content)
            }
        };
        Section { id, title, markup }
    })
    .into()
}

/// The page, one file that needs nothing else.
pub fn page(view: &View) -> String {
    let sections = sections(view);
    let html = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(policy());
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="referrer" content="no-referrer";
                meta name="color-scheme" content="light dark";
                title { (shown(&view.run.name)) " – FedCompetitors" }
                style { (PreEscaped(STYLE)) }
            }
            body {
                a.skip href="#main" { "Skip to the content" }
                (header(view))
                nav aria-label="Contents" {
                    ul { @for section in &sections { li { a href=(format!("#{}", section.id)) { (section.title) } } } }
                }
                main id="main" tabindex="-1" {
                    @for section in &sections { (section.markup) }
                }
                footer {
                    p {
                        "Made by " code { "fedcompetitors report" } " from the record in the run's folder. "
                        "The same run gives the same page. It loads nothing and runs no script."
                    }
                }
            }
        }
    };
    html.into_string()
}

/// Nothing may be loaded, sent or run; the one style sheet is known by its hash.
fn policy() -> String {
    let hash = STANDARD.encode(Sha256::digest(STYLE));
    format!("default-src 'none'; style-src 'sha256-{hash}'; base-uri 'none'; form-action 'none'")
}

/// What the page says first.
pub fn header(view: &View) -> Markup {
    let run = &view.run;
    let (word, class) = standing(view.standing);
    let seeds: Vec<String> = view.seeds.iter().map(ToString::to_string).collect();
    html! {
        header id="top" {
            p.eyebrow { "Federated learning among competitors" }
            h1 { (name(if run.name.is_empty() { "A run without a name" } else { &run.name })) }
            p.facts {
                span class=(format!("standing {class}")) { (word) }
                @if view.count() > 0 {
                    span { (plural(view.count(), "participant", "participants")) }
                    span { (plural(view.competing.len(), "competing pair", "competing pairs")) }
                }
                @if !view.own_method().is_empty() { span { (said(view.own_method())) } }
                @if !view.seeds.is_empty() {
                    span { (if seeds.len() == 1 { "seed " } else { "seeds " }) (seeds.join(", ")) }
                }
            }
            (verdict(view))
            (tiles(view))
        }
    }
}

fn standing(standing: Standing) -> (&'static str, &'static str) {
    match standing {
        Standing::Complete => ("✓ complete", "good"),
        Standing::WithIncidents => ("! complete, with incidents", "warning"),
        Standing::Running => ("… running", "neutral"),
        Standing::Interrupted => ("‖ interrupted", "warning"),
        Standing::Stopped => ("✕ stopped by the guard", "bad"),
        Standing::Doubted => ("✕ fails the audit", "bad"),
        Standing::Damaged => ("✕ damaged", "bad"),
    }
}

/// Was the rule kept, as far as anybody can tell now?
fn verdict(view: &View) -> Markup {
    html! {
        @if !view.problems.is_empty() {
            div.verdict.bad role="alert" {
                p.headline { "This record is damaged: what this page shows may be wrong or missing." }
                ul { @for problem in &view.problems { li { (said(problem)) } } }
                p { "Restore the folder from a backup, or start a new run in another folder." }
            }
        }
        @if !view.audit.findings.is_empty() {
            div.verdict.bad role="alert" {
                p.headline { "The audit found " (plural(view.audit.findings.len(), "problem", "problems")) "." }
                ul { @for finding in view.audit.findings.iter().take(MOST_FINDINGS) { li { (said(finding)) } } }
                @if view.audit.findings.len() > MOST_FINDINGS {
                    p { "and " (view.audit.findings.len() - MOST_FINDINGS) " more: " code { "fedcompetitors audit " (said(&view.folder)) } " lists all." }
                }
            }
        } @else if view.is_sound() {
            div.verdict.good {
                p.headline { "No participant's data reached a competitor." }
                p { (said(&view.audit.looked_at)) " The record is consistent." }
            }
        }
        @match view.standing {
            Standing::Running if view.audit.is_later => p.note { "The run is in progress. The audit follows when it has ended." },
            Standing::Running => p.note { "The run is in progress: this page shows what was recorded when it was made." },
            _ if view.audit.is_later => p.note { "The audit is in progress: its result will appear here." },
            Standing::Interrupted => p.note { "The run was stopped before its end; resume it with " code { "fedcompetitors run … --resume" } "." },
            _ => {}
        }
    }
}

/// Findings that are named at the top.
const MOST_FINDINGS: usize = 20;

/// The figures that people ask for first.
fn tiles(view: &View) -> Markup {
    let gains: Vec<f64> = cards::gains(view).into_iter().flatten().map(|gain| gain.0).collect();
    let count = |wanted: fn(f64) -> bool| gains.iter().filter(|gain| wanted(**gain)).count();
    html! {
        div.tiles {
            @if let Some((mean, _)) = spread(&gains) {
                (ledger::tile(&shown_gain(Some((mean, 0.0)), 1), &format!("mean gain over Local ({})", said(&view.run.metric))))
                (ledger::tile(&format!("{} of {}", count(|gain| gain > LITTLE), gains.len()), "participants are better off"))
                (ledger::tile(&count(|gain| gain < -LITTLE).to_string(), "worse off"))
            }
            @if !view.is_lost(&view.usage) {
                (ledger::tile(&view.usage.len().to_string(), "edges in the plan"))
                (ledger::tile(&view.refusals.len().to_string(), "useful edges refused"))
            }
        }
        @if let Some(why) = view.why_no_gain() {
            p.note { "No gain over Local is shown: " (why) "." }
        }
    }
}
