//! A participant's own page: what concerns it, and nothing of whom others compete with.
//!
//! Reasons for refusals name who competes, so none is repeated here: that the rule does not allow
//! an edge is all that is said, but where the participant has named the other itself. Under the rule
//! `messages` only competitors are refused, so those that it has not named are not listed at all.

use fedcompetitors_graphs::shown;
use fedcompetitors_record::{Curve, Refused, Rule};
use maud::{Markup, html};

use super::{
    Page, cards, curves,
    live::{follows, footer, shell},
    text::{count, name, names, said},
};
use crate::{
    figures::{Verdict, local, score, shown_figure, shown_gain},
    worth,
};

/// The page of one participant.
pub fn own_page(page: &Page, participant: usize, version: &str) -> String {
    let content = html! {
        (own_part(page, participant))
        (follows(version, "own/events"))
        (footer())
    };
    shell(&shown(page.name(participant)), "", &content)
}

/// All of that page that changes.
pub fn own_part(page: &Page, participant: usize) -> Markup {
    let (record, summary) = (&page.record, page.summary());
    let one = &summary.participants[participant];
    let gain = cards::gains(summary)[participant];
    let [with, alone] = [summary.own(), local(summary)]
        .map(|method| Some(score(summary, method?, participant).value));
    // Those that it has named itself; that others have named it is theirs to tell.
    let named: Vec<&str> = record
        .reports
        .iter()
        .filter(|(who, _)| *who == participant)
        .map(|(_, whom)| page.name(*whom))
        .collect();
    let rule = summary.own().map_or(Rule::Paths, |own| own.rule);
    let has_named = |whom: usize| record.reports.contains(&(participant, whom));
    let is_shown = |one: &&Refused| {
        one.helped == participant && (rule == Rule::Paths || has_named(one.helper))
    };
    let refused: Vec<(usize, f64)> = page
        .refused()
        .iter()
        .filter(is_shown)
        .map(|refused| {
            let benefit = record
                .benefit
                .iter()
                .find(|edge| (edge.0, edge.1) == (refused.helper, participant));
            (refused.helper, benefit.map_or(0.0, |edge| edge.2))
        })
        .collect();
    // The scale of others' pictures would tell of them.
    let curves = record.curves.iter().filter(|curve| curve.participant == participant);
    let curves: Vec<&Curve> = curves.collect();
    html! {
        main id="main" tabindex="-1" {
            header id="top" {
                p.eyebrow { "Federated learning among competitors" }
                h1 { (name(&one.name)) }
                p.facts {
                    span { (name(&summary.name)) }
                    @if let Some(verdict) = Verdict::of(gain) {
                        span class=(format!("gain {}", cards::class(verdict))) { (shown_gain(gain)) " " small { (verdict.word()) } }
                    }
                }
                p.note { "This page is only for you. It does not show who else competes with whom." }
            }
            section id="you" aria-labelledby="you-title" {
                h2 id="you-title" { "You" }
                dl.facts {
                    @if let Some(with) = with {
                        div {
                            dt { (said(&summary.metric.name)) }
                            dd {
                                @if let Some(alone) = alone {
                                    span.quiet { "alone " } (shown_figure(alone)) span.quiet { " → with others " }
                                }
                                (shown_figure(with))
                            }
                        }
                    }
                    div { dt { "Samples" } dd { (count(one.samples as u64)) } }
                    div { dt { "Learned from" } dd { (cards::collaborators(summary, participant)) } }
                    div {
                        dt { "Competitors" }
                        dd {
                            @if named.is_empty() { "none" } @else { (names(named.iter().copied())) }
                            span.quiet { " (as you have declared)" }
                        }
                    }
                    (cards::model(summary, participant))
                }
            }
            section id="curves" aria-labelledby="curves-title" {
                h2 id="curves-title" { "Learning, round by round" }
                (curves::section(page, &curves))
            }
            section id="refusals" aria-labelledby="refusals-title" {
                h2 id="refusals-title" { "What was refused" }
                @if refused.is_empty() { p { (nobody_refused(rule)) } } @else {
                    p.note { "They would have helped you, by the benefit in brackets. " (why_refused(rule)) }
                    ul {
                        @for (helper, benefit) in &refused {
                            li {
                                (name(page.name(*helper))) " (" (worth(record, (*helper, participant), *benefit)) "): "
                                @if has_named(*helper) { "you compete, as you have declared." } @else { "the rule does not allow it." }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Why somebody who would have helped was refused.
fn why_refused(rule: Rule) -> &'static str {
    match rule {
        Rule::Paths => {
            "The rule does not allow it: data would have reached a competitor, directly or through others. This page does not show who competes with whom."
        }
        Rule::Messages => {
            "The rule `messages` does not allow it: nobody receives a message with a competitor's data. This page lists only competitors that you have declared."
        }
    }
}

/// What is said where the page lists no refusal.
fn nobody_refused(rule: Rule) -> &'static str {
    match rule {
        Rule::Paths => "Nobody who would have helped you was refused.",
        Rule::Messages => "No competitor that you have declared would have helped you.",
    }
}
