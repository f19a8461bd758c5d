//! A participant's own page: what concerns it, and nothing of whom others compete with.
//!
//! Reasons for refusals name who competes, so none is repeated here: that the rule does not allow
//! an edge is all that is said, but where the participant has named the other itself.

use fedcompetitors_graphs::shown;
use maud::{Markup, html};

use super::{
    View, cards, curves,
    live::{follows, footer, shell},
    text::{count, name, names, said},
};
use crate::{
    number,
    run::{shown_gain, shown_spread, spread},
};

/// The page of one participant.
pub fn own_page(view: &View, participant: usize, version: &str) -> String {
    let content = html! {
        (own_part(view, participant))
        (follows(version, "own/events"))
        (footer())
    };
    shell(&shown(view.name(participant)), "", &content)
}

/// All of that page that changes.
pub fn own_part(view: &View, participant: usize) -> Markup {
    let one = &view.run.participants[participant];
    let seeds = view.run.seeds();
    let gain = cards::gains(view)[participant];
    let figure = |method: Option<&crate::RunMethod>| {
        method.and_then(|method| spread(&method.of(participant)))
    };
    // Those that it has named itself; that others have named it is theirs to tell.
    let named: Vec<&str> = view
        .reports
        .iter()
        .filter(|(who, _)| *who == participant)
        .map(|(_, whom)| view.name(*whom))
        .collect();
    let refused: Vec<(usize, f64)> = view
        .refusals
        .iter()
        .filter(|refused| refused.helped == participant)
        .map(|refused| {
            let benefit =
                view.benefit.iter().find(|edge| (edge.0, edge.1) == (refused.helper, participant));
            (refused.helper, benefit.map_or(0.0, |edge| edge.2))
        })
        .collect();
    // The scale of others' pictures would tell of them.
    let mut alone = view.clone();
    alone.curves.retain(|curve| curve.participant == participant);
    html! {
        main id="main" tabindex="-1" {
            header id="top" {
                p.eyebrow { "Federated learning among competitors" }
                h1 { (name(&one.name)) }
                p.facts {
                    span { (name(&view.run.name)) }
                    @if let Some((mean, _)) = gain {
                        @let (word, class) = cards::verdict(mean);
                        span class=(format!("gain {class}")) { (shown_gain(gain, seeds)) " " small { (word) } }
                    }
                }
                p.note { "This page is only for you. It does not show who else competes with whom." }
            }
            section id="you" aria-labelledby="you-title" {
                h2 id="you-title" { "You" }
                dl.facts {
                    @if let Some(with) = figure(view.run.methods.first()) {
                        div {
                            dt { (said(&view.run.metric)) }
                            dd {
                                @if let Some(alone) = figure(view.run.local()) {
                                    span.quiet { "alone " } (shown_spread(Some(alone), seeds)) span.quiet { " → with others " }
                                }
                                (shown_spread(Some(with), seeds))
                            }
                        }
                    }
                    div { dt { "Samples" } dd { (count(one.samples as u64)) } }
                    div { dt { "Learned from" } dd { (cards::collaborators(view, participant)) } }
                    div {
                        dt { "Competitors" }
                        dd {
                            @if named.is_empty() { "none" } @else { (names(named.iter().copied())) }
                            span.quiet { " (as you have declared)" }
                        }
                    }
                    (cards::model(view, participant))
                }
            }
            section id="curves" aria-labelledby="curves-title" {
                h2 id="curves-title" { "Learning, round by round" }
                (curves::section(&alone))
            }
            section id="refusals" aria-labelledby="refusals-title" {
                h2 id="refusals-title" { "What was refused" }
                @if refused.is_empty() { p { "Nobody who would have helped you was refused." } } @else {
                    p.note { "They would have helped you; the number is the benefit. The rule does not allow it: data would have reached a competitor, directly or through others. This page does not show who competes with whom." }
                    ul {
                        @for (helper, benefit) in &refused {
                            li {
                                (name(view.name(*helper))) " (" (number(*benefit)) "): "
                                @if view.reports.contains(&(participant, *helper)) { "you compete, as you have declared." } @else { "the rule does not allow it." }
                            }
                        }
                    }
                }
            }
        }
    }
}
