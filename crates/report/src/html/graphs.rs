//! The three graphs side by side: who competes, who would help whom, who learns from whom.
//!
//! Few participants are drawn as nodes and edges, many as matrices; everybody is at the same
//! place in all three. Every mark has a name that pointers show and screen readers read, and a
//! table says the same in words.

use std::collections::BTreeSet;

use fedcompetitors_graphs::shown;
use fedcompetitors_record::{Record, Summary};
use maud::{Markup, html};

use super::{
    Page, is_lost,
    layout::{COLUMNS, FONT, HEIGHT, MOST_NODES, Place, WIDTH, places},
    matrix::{self, Cell},
    order::order,
    text::{at, listed, name, names, short},
};
use crate::{
    figures::{was_delivered, weights},
    plural, worth,
};

/// The graphs of a federation.
#[derive(Clone, Copy)]
pub struct Drawing<'a> {
    /// The participants and their graphs.
    pub record: &'a Record,
    /// The plan that sets the order of participants in matrices.
    pub first_usage: &'a [(usize, usize)],
    /// An address that explains an edge, with the numbers of helper and helped added; none where
    /// nothing answers.
    pub ask: Option<&'a str>,
}

impl<'a> Drawing<'a> {
    /// The graphs of a run.
    pub fn of(page: &'a Page) -> Self {
        Self { record: &page.record, first_usage: page.first_usage(), ask: None }
    }

    /// The address that explains an edge.
    pub fn why(&self, from: usize, to: usize) -> Option<String> {
        self.ask.map(|ask| format!("{ask}{}-{}", from + 1, to + 1))
    }

    /// The name of a participant.
    pub fn name(&self, participant: usize) -> &'a str {
        self.record.summary.name_of(participant)
    }

    fn count(&self) -> usize {
        self.record.summary.participants.len()
    }
}

/// One of the three graphs.
pub struct Graph {
    /// Part of the ids of what is drawn.
    pub id: &'static str,
    pub title: &'static str,
    /// What the marks mean.
    legend: Markup,
    edges: Vec<Edge>,
    /// What an edge says, in words. They are made for what is drawn alone: ten thousand edges
    /// of a matrix have no words each.
    pub words: fn(&Drawing<'_>, &Edge) -> String,
    pub is_directed: bool,
}

/// One edge of it.
pub struct Edge {
    pub from: usize,
    pub to: usize,
    /// What is told of it, if anything: since when, how much, or which part.
    value: Option<f64>,
    /// How strong it is, from 0 to 1.
    pub strength: f64,
    /// Is it something that did not come to be?
    pub is_refused: bool,
}

/// The section.
pub fn section(drawing: &Drawing<'_>) -> Markup {
    let Drawing { record, .. } = drawing;
    if is_lost(record, &record.summary.participants) {
        return html! { p { "The participants cannot be read." } };
    }
    let graphs = [competing(record), benefit(record), usage(record)];
    let is_small = has_nodes(&record.summary);
    let waits = !is_small && has_no_order(drawing);
    let shown_order = if is_small || waits { Vec::new() } else { matrix_order(drawing) };
    html! {
        div.graphs {
            @for graph in &graphs {
                figure.graph id=(format!("graph-{}", graph.id)) {
                    figcaption {
                        h3 { (graph.title) }
                        p.legend { (graph.legend) }
                    }
                    @if is_small { (nodes(drawing, graph)) } @else if !waits {
                        (matrix::drawing(drawing, graph, &cells(graph), &shown_order))
                    }
                }
            }
        }
        @if waits {
            p.note { "The matrices are drawn once there is a plan, which sets the order of the participants." }
        } @else if !is_small {
            p.note {
                "Rows are helpers, columns are the helped. All three matrices have the same order: participants that learn from the same helpers stand together, so that groups show as blocks. The matrix of competitors is symmetric."
            }
        }
        details {
            summary { "The same as a table" }
            (table(drawing, &shown_order))
        }
    }
}

/// Is the plan still to come by which matrices are ordered? Drawn before, they would be drawn
/// anew then, with everybody elsewhere.
fn has_no_order(drawing: &Drawing<'_>) -> bool {
    let Drawing { record, ask, .. } = drawing;
    ask.is_none() && record.certificate.is_empty() && record.problems.is_empty()
}

/// Those who learn from the same participants together; where nobody learns from anybody, those
/// whom the same ones would help.
fn matrix_order(drawing: &Drawing<'_>) -> Vec<usize> {
    if drawing.first_usage.is_empty() {
        order(drawing.count(), drawing.record.benefit.iter().map(|&(from, to, _)| (from, to)))
    } else {
        order(drawing.count(), drawing.first_usage.iter().copied())
    }
}

fn cells(graph: &Graph) -> Vec<Cell<'_>> {
    let mut cells: Vec<Cell<'_>> = Vec::with_capacity(graph.edges.len());
    for edge in &graph.edges {
        let level = level(edge);
        cells.push(Cell { row: edge.from, column: edge.to, level, edge });
        if !graph.is_directed {
            cells.push(Cell { row: edge.to, column: edge.from, level, edge });
        }
    }
    cells
}

fn level(edge: &Edge) -> usize {
    match edge {
        Edge { is_refused: true, .. } => 0,
        Edge { strength, .. } if *strength < 0.34 => 1,
        Edge { strength, .. } if *strength < 0.67 => 2,
        _ => 3,
    }
}

fn competing(record: &Record) -> Graph {
    let edges = record.competing.iter().map(|&(a, b, since)| {
        let since = (since > 0).then_some(since as f64);
        Edge { from: a, to: b, value: since, strength: 1.0, is_refused: false }
    });
    let pairs = plural(record.competing.len(), "pair", "pairs");
    Graph {
        id: "competing",
        title: "Who competes",
        legend: html! { (key("competing", false)) " " (pairs) ", who may never learn from each other" },
        edges: edges.collect(),
        words: |drawing, edge| {
            let late = edge.value.map(|since| format!(", since round {since}")).unwrap_or_default();
            let [a, b] = [edge.from, edge.to].map(|one| shown(drawing.name(one)));
            format!("{a} and {b} compete{late}")
        },
        is_directed: false,
    }
}

fn benefit(record: &Record) -> Graph {
    let delivered = |edge: &&(usize, usize)| was_delivered(&record.summary, edge.0, edge.1);
    let used: BTreeSet<(usize, usize)> = record.usage.iter().filter(delivered).copied().collect();
    let most = record.benefit.iter().map(|edge| edge.2).filter(|value| value.is_finite());
    let most = most.fold(f64::MIN_POSITIVE, f64::max);
    let edges = record.benefit.iter().map(|&(from, to, value)| {
        let is_refused = !record.usage.is_empty() && !used.contains(&(from, to));
        let strength = if value.is_finite() { (value / most).clamp(0.0, 1.0) } else { 1.0 };
        Edge { from, to, value: Some(value), strength, is_refused }
    });
    Graph {
        id: "benefit",
        title: "Who would help whom",
        legend: html! {
            @if is_lost(record, &record.benefit) { "cannot be read" }
            @else if record.benefit.is_empty() { "nothing was estimated" } @else {
                (key("benefit", false)) " used, "
                (key("benefit", true)) " not used; "
                (if has_nodes(&record.summary) { "wider means more" } else { "darker means more" })
            }
        },
        edges: edges.collect(),
        words: |drawing, edge| {
            let [helper, helped] = [edge.from, edge.to].map(|one| shown(drawing.name(one)));
            let value = edge.value.unwrap_or_default();
            let much = worth(drawing.record, (edge.from, edge.to), value);
            let lost = if edge.is_refused { ", not used" } else { "" };
            format!("{helper} would help {helped} ({much}){lost}")
        },
        is_directed: true,
    }
}

fn usage(record: &Record) -> Graph {
    let own = record.summary.own();
    let weights = |helped: usize| own.map(|own| weights(own, helped)).unwrap_or_default();
    let weights: Vec<_> = (0..record.summary.participants.len()).map(weights).collect();
    let edges = record.usage.iter().map(|&(from, to)| {
        let part = weights[to].get(&from).copied().map(f64::from);
        let is_refused = !was_delivered(&record.summary, from, to);
        Edge { from, to, value: part, strength: part.unwrap_or(0.5), is_refused }
    });
    let edges: Vec<Edge> = edges.collect();
    let withheld = edges.iter().filter(|edge| edge.is_refused).count();
    Graph {
        id: "usage",
        title: "Who learns from whom",
        legend: html! {
            @if is_lost(record, &record.usage) { "cannot be read" }
            @else if record.usage.is_empty() { "nobody learns from anybody" } @else {
                (key("usage", false)) " "
                (plural(edges.len() - withheld, "edge", "edges")) ", in the direction of the data"
                @if withheld > 0 {
                    "; " (key("usage", true)) " " (withheld) " in the plan, but nothing was delivered"
                }
            }
        },
        edges,
        words: |drawing, edge| {
            let how = edge.value.map(|part| format!(" (weight {part:.2})")).unwrap_or_default();
            let [helper, helped] = [edge.from, edge.to].map(|one| shown(drawing.name(one)));
            if edge.is_refused {
                return format!("in the plan, but nothing of {helper} was delivered to {helped}");
            }
            format!("{helped} learns from {helper}{how}")
        },
        is_directed: true,
    }
}

/// What a mark looks like. It is for the eye: the words beside it say the same.
fn key(kind: &str, is_refused: bool) -> Markup {
    let refused = if is_refused { " refused" } else { "" };
    html! {
        svg.key viewBox="0 0 28 10" aria-hidden="true" {
            g class=(format!("edge {kind}{refused}")) { path.line d="M1 5H27" stroke-width="2.5" {} }
        }
    }
}

fn nodes(drawing: &Drawing<'_>, graph: &Graph) -> Markup {
    let places = places(drawing.count());
    let label = format!("{}: {}", graph.title, plural(graph.edges.len(), "edge", "edges"));
    // What is drawn later lies above: what came to be, and what is strong.
    let mut edges: Vec<&Edge> = graph.edges.iter().collect();
    edges.sort_by(|a, b| {
        (!a.is_refused).cmp(&!b.is_refused).then(a.strength.total_cmp(&b.strength))
    });
    html! {
        svg.nodes viewBox=(format!("0 0 {WIDTH} {HEIGHT}")) role="group" aria-label=(label) {
            @for edge in edges {
                (self::edge(drawing, graph, edge, &places))
            }
            @for (participant, place) in places.iter().enumerate() {
                @let name = drawing.name(participant);
                g.node role="img" aria-label=(shown(name)) {
                    title { (shown(name)) }
                    circle cx=(at(place.x)) cy=(at(place.y)) r="5" {}
                    text x=(at(place.label_x())) y=(at(place.y)) dy="0.34em" font-size=(FONT)
                        text-anchor=(if place.is_right { "start" } else { "end" }) {
                        (short(name, COLUMNS))
                    }
                }
            }
        }
    }
}

/// From a node's middle to where edges begin and end.
const AROUND: f64 = 7.0;

fn edge(drawing: &Drawing<'_>, graph: &Graph, edge: &Edge, places: &[Place]) -> Markup {
    let (from, to) = (places[edge.from], places[edge.to]);
    let width = if edge.is_refused { "1.2".into() } else { at(1.0 + 2.5 * edge.strength) };
    let refused = if edge.is_refused { " refused" } else { "" };
    let (line, tip) = if graph.is_directed { bent(&from, &to) } else { straight(&from, &to) };
    let why = if graph.is_directed { drawing.why(edge.from, edge.to) } else { None };
    let label = (graph.words)(drawing, edge);
    let mark = html! {
        g class=(format!("edge {}{refused}", graph.id)) role="img" aria-label=(label) {
            title { (label) }
            // Nobody hits a dotted line with a pointer.
            @if why.is_some() { path.reach d=(line) {} }
            path.line d=(line) stroke-width=(width) {}
            @if let Some(tip) = tip { path.tip d=(tip) {} }
        }
    };
    matrix::linked(why.as_deref(), &mark)
}

fn straight(from: &Place, to: &Place) -> (String, Option<String>) {
    (format!("M{} {}L{} {}", at(from.x), at(from.y), at(to.x), at(to.y)), None)
}

/// Bent to the left of its way, so that there and back are two lines; with a tip at its end.
fn bent(from: &Place, to: &Place) -> (String, Option<String>) {
    let (dx, dy) = (to.x - from.x, to.y - from.y);
    let length = dx.hypot(dy).max(1.0);
    let bend = 0.14;
    let (cx, cy) =
        (f64::midpoint(from.x, to.x) + bend * dy, f64::midpoint(from.y, to.y) - bend * dx);
    let toward = |x: f64, y: f64, by: f64| {
        let (dx, dy) = (cx - x, cy - y);
        let length = dx.hypot(dy).max(1.0);
        (x + by * dx / length, y + by * dy / length)
    };
    let around = AROUND.min(length / 4.0);
    let (sx, sy) = toward(from.x, from.y, around);
    let (ex, ey) = toward(to.x, to.y, around);
    let (bx, by) = toward(to.x, to.y, around + 8.0);
    let (px, py) = ((by - ey) * 0.45, (ex - bx) * 0.45);
    let line = format!("M{} {}Q{} {} {} {}", at(sx), at(sy), at(cx), at(cy), at(bx), at(by));
    let tip = format!(
        "M{} {}L{} {}L{} {}Z",
        at(ex),
        at(ey),
        at(bx + px),
        at(by + py),
        at(bx - px),
        at(by - py)
    );
    (line, Some(tip))
}

/// Helpers of one participant that the table names.
const MOST_HELPERS: usize = 25;

/// What the graphs show, in words.
fn table(drawing: &Drawing<'_>, shown_order: &[usize]) -> Markup {
    let (record, count) = (drawing.record, drawing.count());
    let [mut rivals, mut from, mut withheld] = [(); 3].map(|()| vec![Vec::new(); count]);
    let mut helpers = vec![Vec::new(); count];
    for &(a, b, _) in &record.competing {
        rivals[a].push(b);
        rivals[b].push(a);
    }
    record
        .benefit
        .iter()
        .for_each(|&(helper, helped, value)| helpers[helped].push((helper, value)));
    // Who helps most comes first: of many helpers the last ones are not told.
    helpers.iter_mut().for_each(|all| all.sort_by(|a, b| b.1.total_cmp(&a.1)));
    for &(helper, helped) in &record.usage {
        let is_delivered = was_delivered(&record.summary, helper, helped);
        let lists = if is_delivered { &mut from } else { &mut withheld };
        lists[helped].push(helper);
    }
    let list = |all: &[usize]| {
        html! { @if all.is_empty() { "nobody" } @else { (names(all.iter().map(|&one| drawing.name(one)))) } }
    };
    let in_file: Vec<usize> = (0..count).collect();
    let rows = if shown_order.is_empty() { &in_file } else { shown_order };
    html! {
        div.scroll tabindex="0" role="region" aria-label="The three graphs as a table" {
            table {
                thead { tr {
                    th scope="col" { "participant" }
                    th scope="col" { "competes with" }
                    th scope="col" { "would be helped by" }
                    th scope="col" { "learns from" }
                } }
                tbody {
                    @for &one in rows {
                        tr {
                            th scope="row" { (name(drawing.name(one))) }
                            td { (list(&rivals[one])) }
                            td {
                                @if helpers[one].is_empty() { "nobody" }
                                @for (place, (helper, value)) in helpers[one].iter().take(MOST_HELPERS).enumerate() {
                                    @if place > 0 { ", " }
                                    (listed(drawing.name(*helper))) " (" (worth(record, (*helper, one), *value)) ")"
                                }
                                @if helpers[one].len() > MOST_HELPERS {
                                    ", and " (helpers[one].len() - MOST_HELPERS) " more who help less"
                                }
                            }
                            td {
                                (list(&from[one]))
                                @if !withheld[one].is_empty() {
                                    "; in the plan, but nothing was delivered: " (list(&withheld[one]))
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Is this federation drawn with nodes?
pub fn has_nodes(summary: &Summary) -> bool {
    summary.participants.len() <= MOST_NODES
}

/// Has every edge a mark of its own, which can be a link?
pub fn has_links(record: &Record) -> bool {
    has_nodes(&record.summary) || record.benefit.len().max(record.usage.len()) <= matrix::MOST_MARKS
}
