//! What has moved, what went wrong, and how the plan changed.

use maud::{Markup, html};

use super::{
    LedgerLine, PlanStep, View,
    tables::figures,
    text::{count, name, said},
};
use crate::{plural, run::size};

/// The section of the ledger.
pub fn section(view: &View) -> Markup {
    let sum = |of: fn(&LedgerLine) -> u64| view.ledger.iter().map(of).sum::<u64>();
    let (sent, delivered) = (sum(|line| line.sent.0), sum(|line| line.delivered.0));
    let bytes = sum(|line| line.sent.1) + sum(|line| line.delivered.1);
    let headings = ["of", "sent to the coordinator", "bytes", "delivered", "bytes"];
    let row = |line: &LedgerLine| {
        let (sent, delivered) = (line.sent, line.delivered);
        vec![said(&line.of), count(sent.0), size(sent.1), count(delivered.0), size(delivered.1)]
    };
    let rows: Vec<Vec<String>> = view.ledger.iter().map(row).collect();
    if view.is_lost(&view.ledger) {
        return html! { p { "The ledger cannot be read." } };
    }
    html! {
        div.tiles {
            (tile(&count(sent + delivered), "transfers, all in the ledger"))
            (tile(&count(delivered), "deliveries, all checked by the guard"))
            (tile(&size(bytes), "moved, all seeds together"))
            (tile(&view.incidents.iter().map(|kind| kind.1).sum::<usize>().to_string(), "incidents"))
            (tile(&view.stops.len().to_string(), "stopped by the guard"))
        }
        @if !rows.is_empty() { (figures("The ledger", &headings.map(str::to_owned), &rows)) }
        @if !view.incidents.is_empty() {
            h3 { "Incidents" }
            ul {
                @for (kind, often, who) in &view.incidents {
                    li { (said(kind)) ": " (plural(*often, "time", "times")) ", " (plural(*who, "participant", "participants")) }
                }
            }
            @if !view.run.incidents.is_empty() {
                details {
                    summary { "All incidents" }
                    ul { @for line in &view.run.incidents { li { (said(line)) } } }
                }
            }
        }
        @if !view.stops.is_empty() {
            h3 { "Stopped by the guard" }
            ul { @for stop in &view.stops { li { (said(stop)) } } }
        }
        @if !view.run.flows.is_empty() {
            h3 { "Flows outside the ledger" }
            ul { @for flow in &view.run.flows { li { (said(flow)) } } }
        }
    }
}

/// A number with what it counts.
pub fn tile(number: &str, what: &str) -> Markup {
    html! { div.tile { strong { (number) } span { (what) } } }
}

/// The section of the plan's changes.
pub fn plans(view: &View) -> Markup {
    html! {
        @if view.plans.len() < 2 {
            p {
                @if view.is_lost(&view.usage) { "The plan cannot be read. " }
                @else if view.usage.is_empty() && view.plans.is_empty() { "There is no plan, or one by which nobody learns from anybody. " }
                @else { "One plan was followed from the first round to the last. " }
                @if view.run.seeds() > 1 { "Each seed has its own plan; this page shows that of the first seed, whose models are in files." }
            }
        }
        @if !view.plans.is_empty() {
            ol.plans {
                @for step in &view.plans { (plan(view, step)) }
            }
        }
    }
}

/// Edges that are named before the rest is counted.
const NAMED: usize = 20;

fn plan(view: &View, step: &PlanStep) -> Markup {
    let edges = |title: &str, edges: &[(usize, usize)]| {
        html! {
            @if !edges.is_empty() {
                p {
                    span.quiet { (title) } " "
                    @for (place, &(from, to)) in edges.iter().take(NAMED).enumerate() {
                        @if place > 0 { ", " }
                        (name(view.name(from))) " → " (name(view.name(to)))
                    }
                    @if edges.len() > NAMED { " and " (edges.len() - NAMED) " others" }
                }
            }
        }
    };
    html! {
        li {
            h3 { "From round " (step.round) }
            p { (said(&step.why)) @if !step.why.ends_with('.') { "." } " " span.quiet { (plural(step.edges, "edge", "edges")) } }
            (edges("added:", &step.added))
            (edges("removed:", &step.removed))
        }
    }
}
