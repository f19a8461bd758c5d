//! The whole page: its head, what it says first, and its sections.

use base64::{Engine, engine::general_purpose::STANDARD};
use fedcompetitors_graphs::shown;
use fedcompetitors_record::{Figure, Rule, Status};
use maud::{DOCTYPE, Markup, PreEscaped, html};
use sha2::{Digest, Sha256};

use super::{
    Page, cards, curves, graphs, is_lost, ledger, proof, refusals, tables,
    text::{name, said},
};
use crate::{
    audit::{finding_text, looked_at},
    figures::{Verdict, evaluation, scores, shown_gain, was_delivered},
    plural,
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
pub fn sections(page: &Page) -> Vec<Section> {
    [
        ("graphs", "Three graphs", graphs::section(&graphs::Drawing::of(page))),
        ("participants", "Participants", cards::section(page)),
        ("methods", "Methods", tables::methods(page.summary())),
        (
            "curves",
            "Learning, round by round",
            curves::section(page, &page.record.curves.iter().collect::<Vec<_>>()),
        ),
        (
            "refusals",
            "What was refused, and why",
            refusals::section(&page.record, page.refused(), 0, &page.folder),
        ),
        ("proof", "Proof, and how to check it", proof::section(page)),
        ("ledger", "Ledger", ledger::section(&page.record)),
        ("plans", "Plans over time", ledger::plans(&page.record)),
        ("about", "About this run", tables::about(&page.record)),
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
pub fn page(page: &Page) -> String {
    let sections = sections(page);
    let html = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(policy());
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="referrer" content="no-referrer";
                meta name="color-scheme" content="light dark";
                title { (shown(&page.summary().name)) " – FedCompetitors" }
                style { (PreEscaped(STYLE)) }
            }
            body {
                a.skip href="#main" { "Skip to the content" }
                (header(page))
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
pub fn header(page: &Page) -> Markup {
    let summary = page.summary();
    let (word, class) = Standing::of(page).shown();
    html! {
        header id="top" {
            p.eyebrow { "Federated learning among competitors" }
            h1 { (name(if summary.name.is_empty() { "A run without a name" } else { &summary.name })) }
            p.facts {
                span class=(format!("standing {class}")) { (word) }
                @if !summary.participants.is_empty() {
                    span { (plural(summary.participants.len(), "participant", "participants")) }
                    span { (plural(page.record.competing.len(), "competing pair", "competing pairs")) }
                }
                @if let Some(own) = summary.own() {
                    span { (said(&own.name)) }
                    span { "rule " (own.rule) }
                }
                @if let Some(evaluation) = evaluation(summary) { span { (evaluation) } }
            }
            (verdict(page))
            (tiles(page))
        }
    }
}

/// The state of a run: its status, unless something is wrong.
#[derive(Clone, Copy)]
enum Standing {
    Complete,
    WithIncidents,
    Running,
    Interrupted,
    Stopped,
    FailsAudit,
    Damaged,
}

impl Standing {
    fn of(page: &Page) -> Self {
        match page.summary().status {
            _ if !page.record.problems.is_empty() => Self::Damaged,
            _ if !page.summary().stops.is_empty() => Self::Stopped,
            _ if !page.findings().is_empty() => Self::FailsAudit,
            Status::Complete => Self::Complete,
            Status::WithIncidents => Self::WithIncidents,
            _ if page.is_at_work => Self::Running,
            _ => Self::Interrupted,
        }
    }

    /// Its words and their class.
    fn shown(self) -> (&'static str, &'static str) {
        match self {
            Self::Complete => ("✓ complete", "good"),
            Self::WithIncidents => ("! complete, with incidents", "warning"),
            Self::Running => ("… running", "neutral"),
            Self::Interrupted => ("‖ interrupted", "warning"),
            Self::Stopped => ("✕ stopped by the guard", "bad"),
            Self::FailsAudit => ("✕ fails the audit", "bad"),
            Self::Damaged => ("✕ damaged", "bad"),
        }
    }
}

/// Was the rule kept, as far as anybody can tell now?
fn verdict(page: &Page) -> Markup {
    let (problems, findings) = (&page.record.problems, page.findings());
    html! {
        @if !problems.is_empty() {
            div.verdict.bad role="alert" {
                p.headline { "This record is damaged: what this page shows may be wrong or missing." }
                ul { @for problem in problems { li { (said(problem)) } } }
                p { "Restore the folder from a backup, or start a new run in another folder." }
            }
        }
        @if !findings.is_empty() {
            div.verdict.bad role="alert" {
                p.headline { "The audit found " (plural(findings.len(), "problem", "problems")) "." }
                ul { @for finding in findings.iter().take(MOST_FINDINGS) { li { (said(&finding_text(finding))) } } }
                @if findings.len() > MOST_FINDINGS {
                    p { "and " (findings.len() - MOST_FINDINGS) " more: " code { "fedcompetitors audit " (said(&page.folder)) } " lists all." }
                }
            }
        } @else if let Some(audit) = page.audit().filter(|_| page.is_sound()) {
            div.verdict.good {
                p.headline { (headline(audit.rule)) }
                p { "The rule " (audit.rule) " was kept. " (said(&looked_at(audit))) " The record is consistent." }
            }
        }
        @match Standing::of(page) {
            Standing::Running if page.is_unaudited() => p.note { "The run is in progress. The audit follows when it has ended." },
            Standing::Running => p.note { "The run is in progress: this page shows what was recorded when it was made." },
            _ if page.is_unaudited() => p.note { "The audit is in progress: its result will appear here." },
            Standing::Interrupted => p.note { "The run was stopped before its end; resume it with " code { "fedcompetitors run … --resume" } "." },
            _ => {}
        }
    }
}

/// What an audit that has found nothing says first.
fn headline(rule: Rule) -> &'static str {
    match rule {
        Rule::Paths => "No participant's data reached a competitor.",
        Rule::Messages => "No participant received a message that carries a competitor's data.",
    }
}

/// Findings that are named at the top.
const MOST_FINDINGS: usize = 20;

/// The figures that people ask for first.
fn tiles(page: &Page) -> Markup {
    let summary = page.summary();
    let verdicts: Vec<Verdict> =
        cards::gains(summary).into_iter().filter_map(Verdict::of).collect();
    let count = |wanted| verdicts.iter().filter(|verdict| **verdict == wanted).count();
    let own = summary.own().and_then(|own| scores(summary, own));
    let mean = own.map(|scores| scores.mean.gain).filter(|_| !verdicts.is_empty());
    let value = |found: Figure| found.value().map_or(Figure::Undefined, Figure::Value);
    html! {
        div.tiles {
            @if let Some(mean) = mean {
                (ledger::tile(&shown_gain(value(mean)), &format!("mean gain over Local ({})", said(&summary.metric.name))))
                (ledger::tile(&format!("{} of {}", count(Verdict::Better), verdicts.len()), "participants are better off"))
                (ledger::tile(&count(Verdict::Worse).to_string(), "worse off"))
            }
            @if !is_lost(&page.record, &page.record.usage) {
                @let withheld = page.record.usage.iter().filter(|edge| !was_delivered(summary, edge.0, edge.1)).count();
                @let what = if withheld == 0 { "edges in the plan".to_owned() } else {
                    format!("edges in the plan; over {withheld} of them nothing was delivered")
                };
                (ledger::tile(&page.record.usage.len().to_string(), &what))
                (ledger::tile(&page.refused().len().to_string(), "useful edges refused"))
            }
        }
        @if let Some(why) = page.why_no_gain() {
            p.note { "No gain over Local is shown: " (why) "." }
        }
    }
}
