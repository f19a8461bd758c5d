//! What has moved, what went wrong, and how the plan changed.

use std::{collections::BTreeSet, iter};

use fedcompetitors_record::{LedgerLine, PlanStep, Record, Stop, Summary};
use maud::{Markup, html};

use super::{
    is_lost,
    tables::figures,
    text::{count, name, said},
};
use crate::{
    figures::size,
    plural,
    status::{flow_lines, incident_kind, incident_lines},
};

/// The section of the ledger.
pub fn section(record: &Record) -> Markup {
    let summary = &record.summary;
    let sum = |of: fn(&LedgerLine) -> u64| record.ledger.iter().map(of).sum::<u64>();
    let (sent, delivered) = (sum(|line| line.sent.0), sum(|line| line.delivered.0));
    let bytes = sum(|line| line.sent.1) + sum(|line| line.delivered.1);
    let headings = ["of", "sent to the coordinator", "bytes", "delivered", "bytes"];
    let row = |line: &LedgerLine| {
        let (sent, delivered) = (line.sent, line.delivered);
        let of = if line.is_estimate { " (estimate)" } else { "" };
        vec![
            said(&line.of) + of,
            count(sent.0),
            size(sent.1),
            count(delivered.0),
            size(delivered.1),
        ]
    };
    let rows: Vec<Vec<String>> = record.ledger.iter().map(row).collect();
    let (incidents, flows) = (incident_lines(summary), flow_lines(summary));
    if is_lost(record, &record.ledger) {
        return html! { p { "The ledger cannot be read." } };
    }
    html! {
        div.tiles {
            (tile(&count(sent + delivered), "transfers, all in the ledger"))
            (tile(&count(delivered), "deliveries, all checked by the guard"))
            (tile(&size(bytes), "moved, all sessions together"))
            (tile(&record.incidents.iter().map(|kind| kind.1).sum::<usize>().to_string(), "incidents"))
            (tile(&summary.stops.len().to_string(), "stopped by the guard"))
        }
        @if !rows.is_empty() { (figures("The ledger", &headings.map(str::to_owned), &rows)) }
        @if !record.incidents.is_empty() {
            h3 { "Incidents" }
            ul {
                @for (kind, often, who) in &record.incidents {
                    li { (incident_kind(*kind)) ": " (plural(*often, "time", "times")) ", " (plural(*who, "participant", "participants")) }
                }
            }
            @if !incidents.is_empty() {
                details {
                    summary { "All incidents" }
                    ul { @for line in &incidents { li { (said(line)) } } }
                }
            }
        }
        @if !summary.stops.is_empty() {
            h3 { "Stopped by the guard" }
            ul {
                @for Stop { session, method, round, message } in &summary.stops {
                    li { (said(&format!("{method}, {session}, round {round}: {message}."))) }
                }
            }
        }
        @if !flows.is_empty() {
            h3 { "Flows outside the ledger" }
            ul { @for flow in &flows { li { (said(flow)) } } }
        }
    }
}

/// A number with what it counts.
pub fn tile(number: &str, what: &str) -> Markup {
    html! { div.tile { strong { (number) } span { (what) } } }
}

/// The section of the plan's changes.
pub fn plans(record: &Record) -> Markup {
    let before = iter::once(None).chain(record.plans.iter().map(Some));
    html! {
        @if record.plans.len() < 2 {
            p {
                @if is_lost(record, &record.usage) { "The plan cannot be read. " }
                @else if record.usage.is_empty() && record.plans.is_empty() { "There is no plan, or one by which nobody learns from anybody. " }
                @else { "One plan was followed from the first round to the last. " }
            }
        }
        @if !record.plans.is_empty() {
            ol.plans {
                @for (step, before) in record.plans.iter().zip(before) { (plan(&record.summary, step, before)) }
            }
        }
    }
}

/// Edges that are named before the rest is counted.
const NAMED: usize = 20;

/// A plan with its differences from the one before.
fn plan(summary: &Summary, step: &PlanStep, before: Option<&PlanStep>) -> Markup {
    let name_of = |participant: usize| name(summary.name_of(participant));
    let set = |step: &PlanStep| step.usage.iter().copied().collect::<BTreeSet<_>>();
    let now = set(step);
    // The first plan is no change.
    let then = before.map_or_else(|| now.clone(), set);
    let added: Vec<(usize, usize)> = now.difference(&then).copied().collect();
    let removed: Vec<(usize, usize)> = then.difference(&now).copied().collect();
    let edges = |title: &str, edges: &[(usize, usize)]| {
        html! {
            @if !edges.is_empty() {
                p {
                    span.quiet { (title) } " "
                    @for (place, &(from, to)) in edges.iter().take(NAMED).enumerate() {
                        @if place > 0 { ", " }
                        (name_of(from)) " → " (name_of(to))
                    }
                    @if edges.len() > NAMED { " and " (edges.len() - NAMED) " others" }
                }
            }
        }
    };
    html! {
        li {
            h3 { "From round " (step.round) }
            p { (said(&step.why)) @if !step.why.ends_with('.') { "." } " " span.quiet { (plural(now.len(), "edge", "edges")) } }
            (edges("added:", &added))
            (edges("removed:", &removed))
        }
    }
}
