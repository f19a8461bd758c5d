//! How everybody's model fares from round to round, as small pictures with the same axes.

use std::collections::BTreeMap;

use fedcompetitors_graphs::shown;
use fedcompetitors_record::{Curve, Method, Role};
use maud::{Markup, html};

use super::{
    Page,
    graphs::has_nodes,
    text::{at, name, said},
};

const WIDTH: f64 = 220.0;
const HEIGHT: f64 = 110.0;
const LEFT: f64 = 34.0;
const BOTTOM: f64 = 16.0;

/// The axes that all pictures share.
struct Axes {
    rounds: f64,
    low: f64,
    high: f64,
}

impl Axes {
    /// The scale fits what comes after the first few rounds: a model that has learned nothing yet
    /// would press all that matters into one line.
    fn of(curves: &[&Curve]) -> Option<Self> {
        let points = || curves.iter().flat_map(|curve| &curve.points);
        let rounds = points().map(|point| point.0).max()?;
        let later = points().filter(|point| point.0 > rounds / 8 && point.1.is_finite());
        let values: Vec<f64> = later.map(|point| point.1).collect();
        if values.is_empty() {
            return None;
        }
        let (low, high) = (
            values.iter().copied().fold(f64::MAX, f64::min),
            values.iter().copied().fold(f64::MIN, f64::max),
        );
        let margin = ((high - low) * 0.05).max(1e-6);
        Some(Self { rounds: rounds.max(2) as f64, low: low - margin, high: high + margin })
    }

    fn x(&self, round: u64) -> f64 {
        LEFT + (WIDTH - LEFT - 4.0) * (round as f64 - 1.0).max(0.0) / (self.rounds - 1.0)
    }

    fn y(&self, value: f64) -> f64 {
        let part = (value - self.low) / (self.high - self.low);
        4.0 + (HEIGHT - BOTTOM - 4.0) * (1.0 - part.clamp(0.0, 1.0))
    }
}

/// The section, with these curves of the run.
pub fn section(page: &Page, curves: &[&Curve]) -> Markup {
    let summary = page.summary();
    let Some(axes) = Axes::of(curves) else {
        let has_models = summary.own().is_some_and(|own| !own.done.is_empty());
        let note = if has_models {
            "There are no curves: models were fitted to all rows that are not tested, validation rows included."
        } else {
            "There are no figures yet."
        };
        return html! { p.note { (note) } };
    };
    let mut by_participant: BTreeMap<usize, Vec<&Curve>> = BTreeMap::new();
    for &curve in curves {
        by_participant.entry(curve.participant).or_default().push(curve);
    }
    let is_drawn = |method: &&Method| curves.iter().any(|one| one.method == method.name);
    let pictures = html! {
        div.curves {
            @for (&participant, curves) in &by_participant {
                figure.curve {
                    figcaption { (name(page.name(participant))) }
                    (picture(page, participant, curves, &axes))
                }
            }
        }
    };
    html! {
        p.note {
            (said(&summary.metric.name)) " on each participant's own validation data after each round"
            @if summary.sessions.len() > 2 { ", mean over the sessions" }
            "; " (summary.metric.direction.name()) " is better. "
            "The scale fits the later rounds; what lies beyond it is drawn at the edge. "
            @for method in summary.methods.iter().filter(is_drawn) {
                span.nowrap { (key(class(method.role))) " " (shown_method(method)) }
                " "
            }
        }
        @if has_nodes(summary) { (pictures) } @else {
            details { summary { "All " (by_participant.len()) " pictures" } (pictures) }
        }
    }
}

fn shown_method(method: &Method) -> String {
    if method.is_local && method.role != Role::Own {
        "alone (local)".into()
    } else {
        said(&method.name)
    }
}

/// The colour of a method's curves: that of the run's own, or that of another one.
fn class(role: Role) -> &'static str {
    match role {
        Role::Own => "own",
        Role::Baseline | Role::Reference => "other",
    }
}

fn key(class: &str) -> Markup {
    html! {
        svg.key viewBox="0 0 28 10" aria-hidden="true" { path class=(format!("course {class}")) d="M1 5H27" {} }
    }
}

fn picture(page: &Page, participant: usize, curves: &[&Curve], axes: &Axes) -> Markup {
    let course = |curve: &Curve| -> String {
        let points = curve.points.iter().filter(|point| point.1.is_finite());
        let points =
            points.map(|&(round, value)| format!("{} {}", at(axes.x(round)), at(axes.y(value))));
        format!("M{}", points.collect::<Vec<_>>().join("L"))
    };
    let label = |curve: &Curve| {
        let last = curve
            .points
            .last()
            .map_or(String::new(), |point| format!(": {:.3} after round {}", point.1, point.0));
        format!("{}, {}{last}", shown(page.name(participant)), said(&curve.method))
    };
    let class = |curve: &Curve| {
        let method = page.summary().methods.iter().find(|method| method.name == curve.method);
        class(method.map_or(Role::Baseline, |method| method.role))
    };
    let ticks = [axes.low, f64::midpoint(axes.low, axes.high), axes.high];
    html! {
        svg viewBox=(format!("0 0 {WIDTH} {HEIGHT}")) role="group" aria-label=(format!("Learning of {}", shown(page.name(participant)))) {
            @for tick in ticks {
                path.grid d=(format!("M{LEFT} {}H{}", at(axes.y(tick)), WIDTH - 4.0)) {}
                text.tick x=(LEFT - 4.0) y=(at(axes.y(tick))) dy="0.34em" text-anchor="end" { (short_number(tick)) }
            }
            text.tick x=(LEFT) y=(HEIGHT - 3.0) { "1" }
            text.tick x=(WIDTH - 4.0) y=(HEIGHT - 3.0) text-anchor="end" { "round " (axes.rounds) }
            // Its own method lies above.
            @for curve in curves.iter().rev() {
                g role="img" aria-label=(label(curve)) {
                    title { (label(curve)) }
                    path class=(format!("course {}", class(curve))) d=(course(curve)) {}
                }
            }
        }
    }
}

fn short_number(value: f64) -> String {
    if value.abs() >= 1000.0 {
        format!("{value:.0e}")
    } else if value.abs() >= 10.0 {
        format!("{value:.0}")
    } else {
        format!("{value:.2}")
    }
}
