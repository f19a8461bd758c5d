//! A card for each participant: what it gains, from whom it learned, whose data never came
//! near it, and its model.

use std::collections::BTreeSet;

use fedcompetitors_record::{Cell, Spread, Summary};
use maud::{Markup, html};

use super::{
    Page,
    graphs::has_nodes,
    text::{at, name, names, said},
};
use crate::{
    figures::{self, LITTLE, figure, local, seeds, shown_gain, shown_spread, was_offered, weights},
    plural,
};

/// Collaborators that are drawn before the rest is listed.
const DRAWN: usize = 8;

/// Names that are listed before the rest is folded away.
const LISTED: usize = 12;

/// The section.
pub fn section(page: &Page) -> Markup {
    let (summary, gains) = (page.summary(), gains(page.summary()));
    let widest = gains
        .iter()
        .flatten()
        .map(|gain| gain.mean.abs() + gain.deviation)
        .filter(|reach| reach.is_finite())
        .fold(2.0 * LITTLE, f64::max);
    let is_open = has_nodes(summary);
    html! {
        @if let Some(why) = page.why_no_gain() {
            p.note { "No gain is shown: " (why) "." }
        } @else {
            p.note {
                "Gain: how much better the participant's model is on its own test data than its Local model ("
                (said(&summary.metric.name)) @if seeds(summary) > 1 { ", mean ± deviation over the seeds" }
                "). Within ±" (LITTLE) " a gain counts as about the same."
            }
        }
        div.cards {
            @for (participant, gain) in gains.iter().enumerate() {
                (card(page, participant, *gain, widest, is_open))
            }
        }
    }
}

/// Everybody's gain with the federation's own method: mean and deviation.
pub fn gains(summary: &Summary) -> Vec<Option<Spread>> {
    let gain = |at: usize| summary.own().and_then(|own| figures::gain(summary, own, at));
    (0..summary.participants.len()).map(gain).collect()
}

/// How somebody fares: a word for it, and its class.
pub fn verdict(gain: f64) -> (&'static str, &'static str) {
    if gain > LITTLE {
        ("better off", "better")
    } else if gain < -LITTLE {
        ("worse off", "worse")
    } else {
        ("about the same", "same")
    }
}

fn card(
    page: &Page,
    participant: usize,
    gain: Option<Spread>,
    widest: f64,
    is_open: bool,
) -> Markup {
    let summary = page.summary();
    let (one, seeds) = (&summary.participants[participant], seeds(summary));
    let (own, local) = (summary.own(), local(summary));
    let [with, alone] = [own, local].map(|method| figure(method?, participant));
    html! {
        details.card id=(format!("participant-{}", participant + 1)) open[is_open] {
            summary {
                h3 { (name(&one.name)) }
                @if let Some(Spread { mean, .. }) = gain {
                    @let (word, class) = verdict(mean);
                    span class=(format!("gain {class}")) { (shown_gain(gain, seeds)) " " small { (word) } }
                }
            }
            @if gain.is_some() { (interval(gain, widest)) }
            dl {
                @if with.is_some() {
                    div {
                        dt { (said(&summary.metric.name)) }
                        dd {
                            @if alone.is_some() && local.map(|method| &method.name) != own.map(|method| &method.name) {
                                span.quiet { "alone " } (shown_spread(alone, seeds)) span.quiet { " → with others " }
                            }
                            (shown_spread(with, seeds))
                        }
                    }
                }
                div {
                    dt { "Samples" }
                    dd { (super::text::count(one.samples as u64)) }
                }
                div {
                    dt { "Learned from" }
                    dd { (collaborators(summary, participant)) }
                }
                (never(page, participant))
                (model(summary, participant))
            }
        }
    }
}

/// Mean and deviation of a gain as a dot on a line; nothing is in the middle.
fn interval(gain: Option<Spread>, widest: f64) -> Markup {
    let is_finite = |gain: &Spread| gain.mean.is_finite() && gain.deviation.is_finite();
    let Some(Spread { mean, deviation, .. }) = gain.filter(is_finite) else {
        return html! {};
    };
    let x = |value: f64| at(100.0 + 94.0 * (value / widest).clamp(-1.0, 1.0));
    let (word, class) = verdict(mean);
    let label = format!("gain {}, {word}", shown_gain(gain, 2));
    html! {
        svg.interval.(class) viewBox="0 0 200 22" role="img" aria-label=(label) {
            title { (label) }
            path.axis d="M2 11H198" {}
            path.zero d="M100 3V19" {}
            path.reach d=(format!("M{} 11H{}", x(mean - deviation), x(mean + deviation))) {}
            circle cx=(x(mean)) cy="11" r="4.5" {}
        }
    }
}

/// The participants from which one has learned, with their weights.
pub fn collaborators(summary: &Summary, participant: usize) -> Markup {
    let parts = figures::collaborators(summary, participant);
    if parts.is_empty() {
        return html! {
            @if first_cell(summary, participant).is_none() { "not known yet" }
            @else if was_offered(summary, participant) { "nobody: on its validation data its own model was better" }
            @else { "nobody" }
        };
    }
    let own = summary.own().and_then(|own| weights(own, participant).remove(&participant));
    let (drawn, rest) = parts.split_at(parts.len().min(DRAWN));
    html! {
        ul.parts {
            @for &(other, part) in drawn {
                li { (bar(part)) span.part { (format!("{part:.2}")) } " " (name(summary.name_of(other))) }
            }
            @if let Some(part) = own {
                li.own { (bar(part)) span.part { (format!("{part:.2}")) } " its own" }
            }
        }
        @if !rest.is_empty() {
            details {
                summary { "and " (plural(rest.len(), "other", "others")) }
                p {
                    @for (place, &(other, part)) in rest.iter().enumerate() {
                        @if place > 0 { ", " }
                        (name(summary.name_of(other))) " " (format!("{part:.2}"))
                    }
                }
            }
        }
    }
}

fn bar(part: f32) -> Markup {
    let width = at(100.0 * f64::from(part).clamp(0.0, 1.0));
    html! {
        svg.bar viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true" {
            rect.ground width="100" height="8" {}
            rect.filled width=(width) height="8" {}
        }
    }
}

/// Whose data never came near a participant's model.
fn never(page: &Page, participant: usize) -> Markup {
    let rivals: BTreeSet<usize> = page
        .record
        .competing
        .iter()
        .filter_map(|&(a, b, _)| match participant {
            one if one == a => Some(b),
            one if one == b => Some(a),
            _ => None,
        })
        .collect();
    let carries = carries(page.summary(), participant);
    let has = |other: &usize| carries.as_ref().is_some_and(|carries| carries.contains(other));
    let (touched, apart): (Vec<usize>, Vec<usize>) = rivals.iter().partition(|other| has(other));
    let count = page.summary().participants.len();
    let others: Vec<usize> = (0..count)
        .filter(|other| *other != participant && !rivals.contains(other) && !has(other))
        .collect();
    let near: Vec<usize> = (0..count)
        .filter(|other| *other == participant || (!rivals.contains(other) && has(other)))
        .collect();
    let list = |all: &[usize]| names(all.iter().map(|&other| page.name(other)));
    html! {
        @if !touched.is_empty() {
            div.alarm {
                dt { "Carries data of a competitor" }
                dd { (list(&touched)) "; see the plan's changes and the audit" }
            }
        }
        div {
            dt { "Competitors" }
            dd {
                @if rivals.is_empty() { "none" }
                @else if carries.is_none() { (list(&apart)) }
                @else if !apart.is_empty() { (list(&apart)) span.quiet {
                    @if page.is_sound() { ": none of their data is in its model" } @else { ": by the record, none of their data is in its model" }
                } }
            }
        }
        @if carries.is_some() && !others.is_empty() {
            div {
                dt { "Also no data of" }
                dd {
                    @if others.len() <= LISTED { (list(&others)) } @else {
                        details {
                            summary { (plural(others.len(), "participant", "participants")) }
                            // Whichever list is shorter: there is one on every card.
                            @if others.len() <= near.len() { p { (list(&others)) } } @else {
                                p { "All participants but its competitors and " (list(&near)) "." }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// A participant's cell of the first finished seed, whose models have files.
fn first_cell(summary: &Summary, participant: usize) -> Option<&Cell> {
    let (_, cells) = summary.own()?.cells.first()?;
    Some(&cells[participant])
}

/// The participants whose data a participant's models carry, with any of the seeds.
fn carries(summary: &Summary, participant: usize) -> Option<BTreeSet<usize>> {
    let own = summary.own().filter(|own| !own.cells.is_empty())?;
    let cells = own.cells.iter().map(|(_, cells)| &cells[participant]);
    Some(cells.flat_map(|cell| cell.provenance.iter().copied()).collect())
}

/// A participant's model.
pub fn model(summary: &Summary, participant: usize) -> Markup {
    let Some(model) = first_cell(summary, participant) else {
        return html! {};
    };
    html! {
        div {
            dt { "Model" }
            dd {
                @if let Some(file) = &model.file { code { (said(file)) } br; }
                span.hash { "SHA-256 " code { (said(&model.hash)) } }
            }
        }
    }
}
