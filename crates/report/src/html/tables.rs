//! The methods side by side, and what the run is.

use fedcompetitors_record::{Record, Summary};
use maud::{Markup, html};

use super::text::{lines, name, said};
use crate::{
    figures::{comparison, evaluation, everybody, further, further_columns, legend},
    run::notes,
    status::{disclosure_lines, plan_lines},
};

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
pub fn methods(summary: &Summary) -> Markup {
    if summary.methods.is_empty() {
        return html! { p.note { "No training has begun, or none can be read." } };
    }
    let metric = said(&summary.metric.name);
    let headings =
        ["method", &metric, "gain over Local", "better off", "worse off", "gradients", "moved"]
            .map(str::to_owned);
    let said_row = |row: Vec<String>| row.iter().map(|cell| said(cell)).collect::<Vec<_>>();
    let rows: Vec<Vec<String>> = comparison(summary).into_iter().map(said_row).collect();
    let mut all_headings = vec!["participant".to_owned()];
    all_headings.extend(summary.methods.iter().map(|method| said(&method.name)));
    html! {
        p.note { (said(&legend(summary).replace('\n', " "))) }
        (figures("The methods", &headings, &rows))
        p.note {
            "Better and worse off: participants whose whole interval of the gain is above or below 0. Gradients: for each participant, estimates included. Moved: all messages of one training and its estimate, sent and delivered; of the run's own method the training with all rows, of the others that of the first fold."
        }
        @for note in notes(summary) { p.note { (said(&note)) } }
        @for sentence in plan_lines(summary) { p { (said(&sentence)) } }
        @for sentence in disclosure_lines(summary) { p { (said(&sentence)) } }
        details {
            summary { "Every participant with every method" }
            (figures("Every participant with every method", &all_headings, &everybody(summary)))
        }
        @let further = further(summary);
        @if !further.is_empty() {
            @let columns = further_columns(summary).iter().map(|column| said(column)).collect();
            @let headings = [vec!["mean over the participants".to_owned()], columns].concat();
            details {
                summary { "Further figures" }
                (figures("Further figures", &headings, &further))
            }
        }
    }
}

/// What the run is: evaluation, versions, settings.
pub fn about(record: &Record) -> Markup {
    let summary = &record.summary;
    let evaluation = evaluation(summary);
    let methods: Vec<&str> = summary.methods.iter().map(|method| method.name.as_str()).collect();
    let facts = [
        ("Federation", name(&summary.name), summary.name.is_empty()),
        ("Methods", html! { (said(&methods.join(", "))) }, methods.is_empty()),
        (
            "Figures from",
            html! { @if let Some(rows) = &evaluation { (rows) } },
            evaluation.is_none(),
        ),
        ("Program", html! { "fedcompetitors " (said(&record.program)) }, record.program.is_empty()),
    ];
    let nothing = if record.problems.is_empty() { "not known yet" } else { "cannot be read" };
    html! {
        dl.facts {
            @for (what, known, is_empty) in &facts {
                div { dt { (what) } dd { @if *is_empty { (nothing) } @else { (known) } } }
            }
        }
        @if !summary.federation.is_empty() {
            details {
                summary { "All settings, with every default written out" }
                pre tabindex="0" { code { (lines(&summary.federation)) } }
            }
        }
    }
}
