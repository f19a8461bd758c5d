//! A card for each participant: what it gains, from whom it learned, whose data never came
//! near it, and its model.

use std::collections::BTreeSet;

use fedcompetitors_record::{Figure, Interval, Model, Role, Summary};
use maud::{Markup, html};

use super::{
    Page,
    graphs::has_nodes,
    text::{at, name, names, said},
};
use crate::{
    figures::{
        self, LITTLE, Verdict, evaluation, local, score, shown_figure, shown_gain, was_offered,
        weights,
    },
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
        .map(|&gain| ends(gain))
        .filter_map(|ends| ends.map(|found| [found.value, found.low, found.high]))
        .flatten()
        .map(f64::abs)
        .filter(|reach| reach.is_finite())
        .fold(2.0 * LITTLE, f64::max);
    let is_open = has_nodes(summary);
    html! {
        @if let Some(why) = page.why_no_gain() {
            p.note { "No gain is shown: " (why) "." }
        } @else {
            p.note {
                "Gain: how much better the participant's models are on its own rows than its Local models ("
                (said(&summary.metric.name)) @if let Some(rows) = evaluation(summary) { ", " (rows) }
                ")."
                @if gains.iter().any(|gain| gain.interval().is_some()) { " In brackets: its 95 % interval." }
            }
        }
        div.cards {
            @for (participant, gain) in gains.iter().enumerate() {
                (card(page, participant, *gain, widest, is_open))
            }
        }
    }
}

/// Everybody's gain with the federation's own method.
pub fn gains(summary: &Summary) -> Vec<Figure> {
    let gain =
        |at: usize| summary.own().map(|own| figures::gain(summary, own, at)).unwrap_or_default();
    (0..summary.participants.len()).map(gain).collect()
}

/// The class of a verdict in the style sheet.
pub fn class(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Better => "better",
        Verdict::Worse => "worse",
        Verdict::Unclear => "same",
    }
}

fn card(page: &Page, participant: usize, gain: Figure, widest: f64, is_open: bool) -> Markup {
    let summary = page.summary();
    let one = &summary.participants[participant];
    let (own, local) = (summary.own(), local(summary));
    let [with, alone] = [own, local].map(|method| Some(score(summary, method?, participant).value));
    html! {
        details.card id=(format!("participant-{}", participant + 1)) open[is_open] {
            summary {
                h3 { (name(&one.name)) }
                @if let Some(verdict) = Verdict::of(gain) {
                    span class=(format!("gain {}", class(verdict))) { (shown_gain(gain)) " " small { (verdict.word()) } }
                }
            }
            (interval(gain, widest))
            dl {
                @if let Some(with) = with {
                    div {
                        dt { (said(&summary.metric.name)) }
                        dd {
                            @if let Some(alone) = alone.filter(|_| local.is_some_and(|method| method.role != Role::Own)) {
                                span.quiet { "alone " } (shown_figure(alone)) span.quiet { " → with others " }
                            }
                            (shown_figure(with))
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

/// A figure with both ends of its interval; itself, where that is not known.
fn ends(gain: Figure) -> Option<Interval> {
    let value = gain.value()?;
    Some(gain.interval().unwrap_or(Interval { value, low: value, high: value }))
}

/// A gain and its interval as a dot on a line; nothing is in the middle.
fn interval(gain: Figure, widest: f64) -> Markup {
    let (Some(verdict), Some(Interval { value, low, high })) = (Verdict::of(gain), ends(gain))
    else {
        return html! {};
    };
    if ![value, low, high].iter().all(|end| end.is_finite()) {
        return html! {};
    }
    let x = |value: f64| at(100.0 + 94.0 * (value / widest).clamp(-1.0, 1.0));
    let label = format!("gain {}, {}", shown_gain(gain), verdict.word());
    html! {
        svg.interval.(class(verdict)) viewBox="0 0 200 22" role="img" aria-label=(label) {
            title { (label) }
            path.axis d="M2 11H198" {}
            path.zero d="M100 3V19" {}
            path.reach d=(format!("M{} 11H{}", x(low), x(high))) {}
            circle cx=(x(value)) cy="11" r="4.5" {}
        }
    }
}

/// The participants from which one has learned, with their weights.
pub fn collaborators(summary: &Summary, participant: usize) -> Markup {
    let parts = figures::collaborators(summary, participant);
    if parts.is_empty() {
        return html! {
            @if final_model(summary, participant).is_none() { "not known yet" }
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

/// A participant's final model with the federation's own method.
fn final_model(summary: &Summary, participant: usize) -> Option<&Model> {
    summary.own()?.models.get(participant)
}

/// The participants whose data a participant's model carries.
fn carries(summary: &Summary, participant: usize) -> Option<BTreeSet<usize>> {
    Some(final_model(summary, participant)?.provenance.iter().copied().collect())
}

/// A participant's model.
pub fn model(summary: &Summary, participant: usize) -> Markup {
    let Some(model) = final_model(summary, participant) else {
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
