//! `check`: a federation file and its data before anything is trained.

use std::{collections::BTreeMap, path::Path};

use fedcompetitors_files::{Impression, ReadTable, federation::Settings, read_federation, survey};
use fedcompetitors_graphs::shown;
use fedcompetitors_learn::{Column, Part, Targets, Transform, evaluation::FEW_OF_A_CLASS};
use fedcompetitors_record::Session;
use fedcompetitors_report::{DataLine, DataWarning, data_text, plural};
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
    let folder = arguments.data.as_deref().unwrap_or(beside);
    let prepared = Prepared::read(federation, folder)?;
    let unlike = unlike_features(prepared.settings(), folder)?;
    let learners = prepared.learners(Session::Final)?;
    let classes = prepared.settings().classes();
    let lines: Vec<DataLine> = prepared
        .participants()
        .names()
        .zip(prepared.sources())
        .zip(&learners)
        .map(|((name, source), learning)| {
            let unlike = unlike.get(&source.name).map(Vec::as_slice).unwrap_or_default();
            data_line(name, source, learning, &classes, unlike)
        })
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

/// By data file, warnings about columns that look like no features.
type Unlike = BTreeMap<String, Vec<DataWarning>>;

/// The columns that look like identifiers or dates, whether the federation file lists them or not.
fn unlike_features(settings: &Settings, folder: &Path) -> Result<Unlike, Failure> {
    let mut unlike = Unlike::new();
    for file in settings.participants.iter().filter_map(|participant| participant.data.as_ref()) {
        if unlike.contains_key(file) {
            continue;
        }
        let mut columns = survey(&folder.join(file))?.columns;
        if let Some(header) = &settings.data.header {
            columns.iter_mut().zip(header).for_each(|(column, name)| column.name.clone_from(name));
        }
        // Whoever names a column for a transformation or a scale means to learn from it.
        let is_declared = |column: &str| {
            let data = &settings.data;
            data.transform(column) != Transform::None || data.scales.contains_key(column)
        };
        columns.retain(|column| !is_declared(&column.name));
        let warnings = columns.into_iter().filter_map(|column| match column.impression {
            Some(Impression::Identifier) => Some(DataWarning::Identifier(column.name)),
            Some(Impression::Group) => Some(DataWarning::Group(column.name)),
            Some(Impression::Date) => Some(DataWarning::Date(column.name)),
            _ => None,
        });
        unlike.insert(file.clone(), warnings.collect());
    }
    Ok(unlike)
}

fn data_line(
    participant: &str,
    source: &Source,
    learning: &Learning,
    classes: &[Vec<String>],
    unlike: &[DataWarning],
) -> DataLine {
    let table = source.table();
    let mut warnings = table.map(|read| column_warnings(read, unlike)).unwrap_or_default();
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
            for class in 0..*count {
                let found = labels.iter().filter(|&&label| label == class).count();
                if found < FEW_OF_A_CLASS {
                    warnings.push(DataWarning::FewSamples { class: named(class), found });
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
        split: [part(Part::Training), part(Part::Validation)],
        target,
        warnings,
    }
}

/// What looks like a mistake in the columns that are learned from.
fn column_warnings(read: &ReadTable, unlike: &[DataWarning]) -> Vec<DataWarning> {
    let columns = || read.table.names().iter().zip(read.table.columns());
    let is_learned = |warning: &&DataWarning| match warning {
        DataWarning::Identifier(name) | DataWarning::Group(name) | DataWarning::Date(name) => {
            columns()
                .any(|(learned, column)| learned == name && matches!(column, Column::Numbers(_)))
        }
        _ => true,
    };
    let mut warnings: Vec<DataWarning> = unlike.iter().filter(is_learned).cloned().collect();
    let rows = read.table.len() + read.incomplete;
    for ((name, column), &missing) in columns().zip(&read.missing) {
        let name = name.clone();
        if missing == rows {
            warnings.push(DataWarning::Empty(name));
        } else if is_constant(column) {
            warnings.push(DataWarning::Constant(name));
        } else if 2 * missing > rows {
            warnings.push(DataWarning::Missing { column: name, missing, rows });
        }
    }
    warnings
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
