//! What if: the form, what was changed, what each would get then, and the plan that follows.
//!
//! All of it is in the address, so a link shows the same to whoever opens it, and the form works
//! without a script.

use fedcompetitors_graphs::shown;
use fedcompetitors_record::{Record, Refused, Summary};
use maud::{Markup, html};

use super::{
    Page,
    graphs::{self, Drawing},
    live::{footer, shell},
    refusals,
    text::{name, said},
};
use crate::{
    Effect, Worth, number, plural,
    what_if::{signed, worth_text},
};

/// A change that is asked about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Changed {
    /// What, in a sentence.
    pub what: String,
    /// The same question without it.
    pub undo: String,
}

/// A question and its answer.
#[derive(Debug, Clone)]
pub struct WhatIf<'a> {
    /// The run that the question is about.
    pub run: &'a Page,
    /// The participants and graphs as they would be, with the plan that would follow.
    pub then: Record,
    /// Useful edges that would be refused, each with its reason.
    pub refused: Vec<Refused>,
    /// The number of further edges that would be refused.
    pub unexplained: usize,
    /// The address of the same question about an edge, without the numbers of its ends.
    pub ask: String,
    /// The policies that can be chosen, and which one is.
    pub policies: Vec<(String, bool)>,
    /// The objectives that can be chosen, and which one is.
    pub objectives: Vec<(String, bool)>,
    /// What is changed.
    pub changes: Vec<Changed>,
    /// What was asked before, as fields of the form.
    pub fields: Vec<(String, String)>,
    /// The pair that was asked about last.
    pub pair: Option<(usize, usize)>,
    /// Why one may or may not learn from another, if that was asked.
    pub answer: Option<String>,
    /// What each gets, and would get.
    pub effects: Vec<Effect>,
    /// The plan as it is.
    pub now: Worth,
    /// The plan as it would be.
    pub worth: Worth,
    /// Seconds that a search for the best plan was given; nothing where there was none.
    pub searched: Option<f64>,
}

/// The page.
pub fn what_if_page(asked: &WhatIf<'_>) -> String {
    let (run, then) = (asked.run.summary(), &asked.then);
    let (first_usage, ask) = (asked.run.first_usage(), Some(asked.ask.as_str()));
    let content = html! {
        header id="top" {
            p.eyebrow { a href="./" { "← the run" } }
            h1 { "What if? " span.quiet { (name(&run.name)) } }
            p.note {
                "Change who competes, who takes part or who would help whom, and see what each would get. "
                "The run itself does not change, and the plan is made as if no data had flowed yet. The address contains the whole question: send it to anyone who should see the same."
            }
        }
        main id="main" tabindex="-1" {
            (form(asked))
            section id="changes" aria-labelledby="changes-title" {
                h2 id="changes-title" { "Changed" }
                @if asked.changes.is_empty() { p { "Nothing: this is the federation as it is." } } @else {
                    ul { @for change in &asked.changes { li { (said(&change.what)) " " a href=(change.undo) data-swap { "undo" } } } }
                }
            }
            @if let Some(answer) = &asked.answer {
                section id="answer" aria-labelledby="answer-title" {
                    h2 id="answer-title" { "Why" }
                    p role="status" { (said(answer)) }
                }
            }
            section id="effects" aria-labelledby="effects-title" {
                h2 id="effects-title" { "What each would get" }
                (effects(asked))
            }
            section id="graphs" aria-labelledby="graphs-title" {
                h2 id="graphs-title" { "The plan then" }
                p.note {
                    @if graphs::has_links(then) { "Each edge of the second and third graph links to the reason why it is used or not." }
                    @else { "There are too many edges for links: choose two participants above to ask about the edge between them." }
                }
                (graphs::section(&Drawing { record: then, first_usage, ask }))
            }
            section id="refusals" aria-labelledby="refusals-title" {
                h2 id="refusals-title" { "What would be refused, and why" }
                (refusals::section(then, &asked.refused, asked.unexplained, &asked.run.folder))
            }
        }
        (footer())
    };
    shell(&format!("What if? {}", shown(&run.name)), "../../", &content)
}

fn form(asked: &WhatIf<'_>) -> Markup {
    let chosen =
        |place: usize| asked.pair.map_or(place, |pair| if place == 0 { pair.0 } else { pair.1 });
    let participants = |id: &str, label: &str, place: usize| {
        html! {
            span.field {
                label for=(id) { (label) }
                // Who was chosen stays, but for an answer about others.
                select id=(id) name=(id) data-keeps[asked.pair.is_none()] {
                    @for (at, one) in asked.then.summary.participants.iter().enumerate() {
                        option value=(at + 1) selected[at == chosen(place)] { (shown(&one.name)) }
                    }
                }
            }
        }
    };
    let options = |id: &str, label: &str, all: &[(String, bool)]| {
        html! {
            span.field {
                label for=(id) { (label) }
                select id=(id) name=(id) {
                    @for (value, is_chosen) in all { option value=(value) selected[*is_chosen] { (value) } }
                }
            }
        }
    };
    html! {
        form.asks id="asks" action="what-if" method="get" data-swap {
            div id="asked" hidden {
                @for (key, value) in &asked.fields { input type="hidden" name=(key) value=(value); }
            }
            fieldset {
                legend { "The plan" }
                (options("policy", "Policy", &asked.policies))
                (options("objective", "Objective of optimal", &asked.objectives))
                button #plan name="do" value="plan" { "Plan" }
            }
            fieldset {
                legend { "Two participants" }
                (participants("a", "First", 0))
                (participants("b", "Second", 1))
                button #compete name="do" value="compete" { "They compete" }
                button #apart name="do" value="apart" { "They do not compete" }
                button #why name="do" value="why" { "Why does the second learn from the first, or why not?" }
                span.field {
                    label for="value" { "Benefit" }
                    input id="value" name="value" type="number" min="0" step="any" value="0.1" data-keeps;
                }
                button #help name="do" value="help" { "Set this benefit from the first to the second" }
            }
            fieldset {
                legend { "Who takes part" }
                button #leave name="do" value="leave" { "The first leaves" }
                span.field {
                    label for="name" { "Newcomer" }
                    input id="name" name="name" type="text" maxlength="200" autocomplete="off";
                }
                button #join name="do" value="join" { "Joins" }
            }
        }
    }
}

fn effects(asked: &WhatIf<'_>) -> Markup {
    let then = &asked.then.summary;
    html! {
        p { (said(&worth_text(&asked.effects, asked.now, asked.worth, false).trim_end().replace('\n', " "))) }
        @if let Some(seconds) = asked.searched {
            p.note {
                "The search for each plan took at most " (number(seconds)) " s. "
                "No plan has a larger welfare than " (number(asked.now.upper_bound)) " now and "
                (number(asked.worth.upper_bound)) " then; " code { "fedcompetitors select" } " can search for longer."
            }
        }
        @if graphs::has_nodes(then) { (table(then, "What each would get", asked.effects.iter())) } @else {
            // Those who notice would be lost among hundreds who do not.
            @let (same, other): (Vec<&Effect>, Vec<&Effect>) =
                asked.effects.iter().partition(|effect| effect.then.is_some_and(|then| class(then - effect.now).is_none()));
            @if !other.is_empty() { (table(then, "Those for whom something would change", other.into_iter())) }
            @if !same.is_empty() {
                details {
                    summary { (plural(same.len(), "participant", "participants")) " would get the same as now" }
                    (table(then, "Those for whom nothing would change", same.into_iter()))
                }
            }
        }
    }
}

fn table<'a>(summary: &Summary, label: &str, effects: impl Iterator<Item = &'a Effect>) -> Markup {
    html! {
        div.scroll tabindex="0" role="region" aria-label=(label) {
            table.figures.plain {
                thead { tr {
                    th scope="col" { "participant" } th scope="col" { "gets" }
                    th scope="col" { "would get" } th scope="col" { "difference" }
                } }
                tbody {
                    @for effect in effects {
                        @let difference = effect.then.map(|then| then - effect.now);
                        tr class=[difference.and_then(class)] {
                            th scope="row" { (name(summary.name_of(effect.participant))) }
                            td { (number(effect.now)) }
                            td { @if let Some(then) = effect.then { (number(then)) } @else { "absent" } }
                            td { @if let Some(difference) = difference { (signed(difference)) } }
                        }
                    }
                }
            }
        }
    }
}

fn class(difference: f64) -> Option<&'static str> {
    if difference.abs() < 1e-9 {
        None
    } else if difference > 0.0 {
        Some("more")
    } else {
        Some("less")
    }
}
