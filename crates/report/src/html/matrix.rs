//! A graph of many participants as a matrix.

use std::fmt::Write;

use fedcompetitors_graphs::shown;
use maud::{Markup, html};

use super::graphs::{Drawing, Edge, Graph};
use crate::plural;

/// A filled cell.
pub struct Cell<'a> {
    /// Who helps.
    pub row: usize,
    /// Who is helped.
    pub column: usize,
    /// How strong: 0 (refused) to 3.
    pub level: usize,
    /// What it stands for.
    pub edge: &'a Edge,
}

/// Up to so many cells each is a mark with words of its own; beyond, each row is one. A page
/// with a hundred thousand marks takes a browser longer than anybody waits.
pub const MOST_MARKS: usize = 1_500;

/// What is seen of how strong a cell is.
const LEVELS: [&str; 4] = ["level0", "level1", "level2", "level3"];

/// Names that a row's words list before the rest is counted.
const NAMED: usize = 12;

/// A graph with its participants in this order.
pub fn drawing(
    drawing: &Drawing<'_>,
    graph: &Graph,
    cells: &[Cell<'_>],
    shown_order: &[usize],
) -> Markup {
    let count = shown_order.len();
    let mut place = vec![0; count];
    shown_order.iter().enumerate().for_each(|(at, &one)| place[one] = at);
    let mut sorted: Vec<&Cell<'_>> = cells.iter().collect();
    sorted.sort_by_key(|cell| (place[cell.row], place[cell.column]));
    let label = format!("{}: {}", graph.title, plural(cells.len(), "cell", "cells"));
    html! {
        svg.matrix.(graph.id) viewBox=(format!("0 0 {count} {count}")) role="group" aria-label=(label)
            shape-rendering="crispEdges" {
            rect.ground width=(count) height=(count) {}
            @if sorted.len() <= MOST_MARKS {
                @for cell in &sorted {
                    @let why = if graph.is_directed { drawing.why(cell.row, cell.column) } else { None };
                    (linked(why.as_deref(), &html! {
                        path role="img" class=(LEVELS[cell.level]) d=(path(&[place[cell.column]], place[cell.row])) {
                            title { ((graph.words)(drawing, cell.edge)) }
                        }
                    }))
                }
            } @else {
                @for row in sorted.chunk_by(|a, b| a.row == b.row) {
                    (whole_row(drawing, row, &place))
                }
            }
        }
    }
}

/// A mark that leads to why it is there, where somebody can tell.
pub fn linked(why: Option<&str>, mark: &Markup) -> Markup {
    html! {
        @if let Some(why) = why { a href=(why) data-swap { (mark) } } @else { (mark) }
    }
}

fn whole_row(drawing: &Drawing<'_>, row: &[&Cell<'_>], place: &[usize]) -> Markup {
    let from = row[0].row;
    let mut label = format!("{}: ", shown(drawing.name(from)));
    let others = row.iter().take(NAMED).map(|cell| shown(drawing.name(cell.column)));
    label.push_str(&others.collect::<Vec<_>>().join(", "));
    if row.len() > NAMED {
        let _ = write!(label, " and {} others", row.len() - NAMED);
    }
    html! {
        g role="img" {
            title { (label) }
            @for level in 0..LEVELS.len() {
                @let columns = {
                    let cells = row.iter().filter(|cell| cell.level == level);
                    let mut columns: Vec<usize> = cells.map(|cell| place[cell.column]).collect();
                    // In a record that somebody has changed a cell may be there twice.
                    columns.dedup();
                    columns
                };
                @if !columns.is_empty() {
                    path class=(LEVELS[level]) d=(path(&columns, place[from])) {}
                }
            }
        }
    }
}

/// Cells of one row as one line as wide as a row, neighbours together. Every length is told from
/// the end of the one before, which makes a page of ten thousand cells half as long.
fn path(columns: &[usize], row: usize) -> String {
    let mut path = String::new();
    let mut end = None;
    for run in columns.chunk_by(|a, b| a + 1 == *b) {
        let _ = match end {
            None => write!(path, "M{} {row}.5h{}", run[0], run.len()),
            Some(end) => write!(path, "m{} 0h{}", run[0] - end, run.len()),
        };
        end = Some(run[0] + run.len());
    }
    path
}
