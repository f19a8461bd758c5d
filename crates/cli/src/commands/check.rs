//! `check`: a federation file and its data before anything is trained.

use std::path::Path;

use fedcompetitors_files::read_federation;
use fedcompetitors_graphs::shown;
use fedcompetitors_learn::{Column, Part, Targets};
use fedcompetitors_report::{DataLine, data_text, plural};
use fedcompetitors_runs::{Learning, Prepared, Source};

use super::run::given_benefits;
use crate::{
    Failure, Outcome,
    arguments::CheckArguments,
    output::{print, shown_path},
};

pub fn check(arguments: &CheckArguments) -> Result<Outcome, Failure> {
    let path = &arguments.federation;
    let beside = path.parent().unwrap_or(Path::new("."));
    let federation = read_federation(path)?;
    given_benefits(&federation, beside)?;
    let prepared = Prepared::read(federation, arguments.data.as_deref().unwrap_or(beside))?;
    let learners = prepared.learners(prepared.settings().seed)?;
    let classes = prepared.settings().classes();
    let lines: Vec<DataLine> = prepared
        .participants()
        .names()
        .zip(prepared.sources())
        .zip(&learners)
        .map(|((name, source), learning)| data_line(name, source, learning, &classes))
        .collect();
    let competing = prepared.competing();
    let name = |who: usize| shown(competing.participants().name(who)).into_owned();
    let pairs: Vec<String> =
        competing.pairs().map(|(a, b)| format!("{} and {}", name(a), name(b))).collect();
    let text = data_text(&lines, prepared.features().len());
    print(|output| {
        writeln!(
            output,
            "{} is valid: {}{}.\n\n{text}",
            shown_path(path),
            plural(pairs.len(), "competing pair", "competing pairs"),
            match pairs.len() {
                0 => String::new(),
                1..=MOST_PAIRS => format!(" ({})", pairs.join(", ")),
                _ => format!(" ({}, …)", pairs[..MOST_PAIRS].join(", ")),
            }
        )
    })?;
    Ok(Outcome::Done)
}

/// Competing pairs that are named.
const MOST_PAIRS: usize = 12;

/// Samples of a class below which a figure is chance.
const FEW: usize = 5;

fn data_line(
    participant: &str,
    source: &Source,
    learning: &Learning,
    classes: &[Vec<String>],
) -> DataLine {
    let table = source.table();
    let mut warnings = Vec::new();
    if let Some(read) = table {
        let rows = read.table.len() + read.incomplete;
        for ((name, column), &missing) in
            read.table.names().iter().zip(read.table.columns()).zip(&read.missing)
        {
            let name = shown(name);
            if missing == rows {
                warnings.push(format!("the column `{name}` has no values"));
            } else if is_constant(column) {
                warnings.push(format!("the column `{name}` is constant"));
            } else if 2 * missing > rows {
                warnings
                    .push(format!("the column `{name}` is missing in {missing} of {rows} rows"));
            }
        }
    }
    let part = |part| learning.split.rows(part).len();
    let target = match source.targets() {
        Targets::Values(values) => {
            let count = values.len() as f64;
            let mean = values.iter().map(|&value| f64::from(value)).sum::<f64>() / count;
            let squares = values.iter().map(|&value| (f64::from(value) - mean).powi(2));
            format!("{mean:.3} ± {:.3}", (squares.sum::<f64>() / count).sqrt())
        }
        Targets::Classes { labels, count } => {
            let named = |class: u32| -> String {
                classes.get(class as usize).map_or(class.to_string(), |texts| texts.join("/"))
            };
            for (what, rows) in [("training", Part::Training), ("test", Part::Test)] {
                let rows = learning.split.rows(rows);
                for class in 0..*count {
                    let found = rows.iter().filter(|&&row| labels[row as usize] == class).count();
                    if found == 0 {
                        warnings.push(format!("no sample of class {} for {what}", named(class)));
                    } else if found < FEW {
                        warnings.push(format!(
                            "only {} of class {} for {what}",
                            plural(found, "sample", "samples"),
                            named(class)
                        ));
                    }
                }
            }
            let counts = (0..*count).map(|class| {
                let found = labels.iter().filter(|&&label| label == class).count();
                format!("{}: {found}", named(class))
            });
            counts.collect::<Vec<_>>().join(", ")
        }
    };
    DataLine {
        participant: participant.to_owned(),
        source: source.name.clone(),
        samples: source.samples_count(),
        left_out: table.map_or(0, |read| read.incomplete + read.without_target),
        missing: table.map_or(0, |read| read.missing.iter().sum()),
        split: [part(Part::Training), part(Part::Validation), part(Part::Test)],
        target,
        warnings,
    }
}

fn is_constant(column: &Column) -> bool {
    match column {
        Column::Numbers(values) => {
            let mut present = values.iter().flatten().map(|value| value.to_bits());
            present.next().is_none_or(|first| present.all(|value| value == first))
        }
        Column::Categories { codes, .. } => {
            let mut present = codes.iter().flatten();
            present.next().is_none_or(|first| present.all(|code| code == first))
        }
    }
}
