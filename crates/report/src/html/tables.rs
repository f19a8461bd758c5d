//! The methods side by side, and what the run is.

use maud::{Markup, html};

use super::{
    View,
    text::{lines, name, said},
};
use crate::run::{LITTLE, shown_spread, spread};

/// A table whose first column names its rows and whose others are numbers.
pub fn figures(label: &str, headings: &[String], rows: &[Vec<String>]) -> Markup {
    html! {
        div.scroll tabindex="0" role="region" aria-label=(label) {
            table.figures {
                thead { tr { @for heading in headings { th scope="col" { (heading) } } } }
                tbody {
                    @for row in rows {
                        tr {
                            @for (at, cell) in row.iter().enumerate() {
                                @if at == 0 { th scope="row" { bdi { (cell) } } } @else { td { (cell) } }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// The methods side by side.
pub fn methods(view: &View) -> Markup {
    let run = &view.run;
    if run.methods.is_empty() {
        return html! { p.note { "No training has begun, or none can be read." } };
    }
    let metric = said(&run.metric);
    let headings =
        ["method", &metric, "gain over Local", "better off", "worse off", "gradients", "moved"]
            .map(str::to_owned);
    let said_row = |row: Vec<String>| row.iter().map(|cell| said(cell)).collect::<Vec<_>>();
    let rows: Vec<Vec<String>> = run.comparison().into_iter().map(said_row).collect();
    let mut all_headings = vec!["participant".to_owned()];
    all_headings.extend(run.methods.iter().map(|method| said(&method.name)));
    let everybody: Vec<Vec<String>> = run
        .participants
        .iter()
        .enumerate()
        .map(|(at, one)| {
            let mut row = vec![fedcompetitors_graphs::shown(&one.name).into_owned()];
            let figures =
                |method: &crate::RunMethod| shown_spread(spread(&method.of(at)), run.seeds());
            row.extend(run.methods.iter().map(figures));
            row
        })
        .collect();
    html! {
        p.note { (said(&run.legend().replace('\n', " "))) }
        (figures("The methods", &headings, &rows))
        p.note {
            "Better and worse off: participants whose mean gain is beyond ±" (LITTLE)
            ". Gradients: for each participant, estimates included. "
            @if run.methods.iter().any(|method| method.is_reference) {
                "A reference breaks the rule and is shown only for comparison."
            }
        }
        @for sentence in &run.plans { p { (said(sentence)) } }
        details {
            summary { "Every participant with every method" }
            (figures("Every participant with every method", &all_headings, &everybody))
        }
    }
}

/// What the run is: seeds, versions, settings.
pub fn about(view: &View) -> Markup {
    let seeds: Vec<String> = view.seeds.iter().map(ToString::to_string).collect();
    let methods: Vec<&str> = view.run.methods.iter().map(|method| method.name.as_str()).collect();
    let facts = [
        ("Federation", name(&view.run.name), view.run.name.is_empty()),
        ("Methods", html! { (said(&methods.join(", "))) }, methods.is_empty()),
        ("Seeds", html! { (seeds.join(", ")) }, seeds.is_empty()),
        ("Program", html! { "fedcompetitors " (said(&view.program)) }, view.program.is_empty()),
    ];
    let nothing = if view.problems.is_empty() { "not known yet" } else { "cannot be read" };
    html! {
        dl.facts {
            @for (what, known, is_empty) in &facts {
                div { dt { (what) } dd { @if *is_empty { (nothing) } @else { (known) } } }
            }
        }
        @if !view.federation.is_empty() {
            details {
                summary { "All settings, with every default written out" }
                pre tabindex="0" { code { (lines(&view.federation)) } }
            }
        }
    }
}
