//! The sessions of a run, and how everybody's rows are divided in each.

use std::{collections::BTreeMap, path::Path};

use fedcompetitors_files::{
    Assignments,
    federation::{Evaluation, Settings},
    read_assignments,
};
use fedcompetitors_graphs::random::Stream;
use fedcompetitors_learn::{Dependence, Division, LearnError, Split};
use fedcompetitors_record::Session;

use crate::{Prepared, RunError, Source};

/// The columns that say how rows depend on each other, each with the place that names it.
pub fn beside(evaluation: &Evaluation) -> Vec<(String, &'static str)> {
    let named = |column: &Option<String>, place| column.clone().map(|column| (column, place));
    [named(&evaluation.groups, "in `groups`"), named(&evaluation.time, "in `time`")]
        .into_iter()
        .flatten()
        .collect()
}

/// How rows depend on each other, by their texts in those columns.
pub fn dependence(evaluation: &Evaluation, beside: &[Vec<String>]) -> Dependence {
    let Some(texts) = beside.first() else {
        return Dependence::None;
    };
    let in_order = |mut all: Vec<&str>| -> Vec<u32> {
        if evaluation.time.is_some()
            && let Some(numbers) = numbers(texts)
        {
            let mut order = numbers.clone();
            order.sort_by(f64::total_cmp);
            order.dedup();
            let place = |number: &f64| order.partition_point(|other| other < number) as u32;
            return numbers.iter().map(place).collect();
        }
        all.sort_unstable();
        all.dedup();
        texts
            .iter()
            .map(|text| all.partition_point(|other| *other < text.as_str()) as u32)
            .collect()
    };
    let places = in_order(texts.iter().map(String::as_str).collect());
    if evaluation.time.is_some() { Dependence::Time(places) } else { Dependence::Groups(places) }
}

/// Times as numbers, where all of them are.
fn numbers(texts: &[String]) -> Option<Vec<f64>> {
    let number = |text: &String| text.parse().ok().filter(|number: &f64| number.is_finite());
    texts.iter().map(number).collect()
}

/// For each session how everybody's rows are divided. What cannot be divided is refused before
/// anything is computed.
pub fn all(prepared: &Prepared, folder: &Path) -> Result<BTreeMap<Session, Vec<Split>>, RunError> {
    let settings = prepared.settings();
    let assignments = match &settings.evaluation.assignments {
        None => None,
        Some(file) => {
            let numbers = |source: &Source| {
                (0..source.samples_count() as u32).map(|row| source.number_of(row)).collect()
            };
            let numbers: Vec<Vec<u32>> = prepared.sources().iter().map(numbers).collect();
            Some(read_assignments(&folder.join(file), prepared.participants(), &numbers)?)
        }
    };
    let mut splits: BTreeMap<Session, Vec<Split>> = BTreeMap::new();
    for (participant, source) in prepared.sources().iter().enumerate() {
        let own = of_participant(prepared, (participant, source), assignments.as_ref())
            .map_err(|error| prepared.of(participant, error))?;
        for (session, split) in own {
            splits.entry(session).or_default().push(split);
        }
    }
    Ok(splits)
}

/// How the rows of a participant are divided in each session.
fn of_participant(
    prepared: &Prepared,
    (participant, source): (usize, &Source),
    assignments: Option<&Assignments>,
) -> Result<Vec<(Session, Split)>, LearnError> {
    let settings = prepared.settings();
    let (targets, dependence) = (source.targets(), &source.dependence);
    let stream = |session| Stream::new(prepared.seed(session), "split", participant as u64);
    let mut all = vec![(
        Session::Final,
        Split::without_test(
            targets,
            dependence,
            settings.data.validation,
            &mut stream(Session::Final),
        )?,
    )];
    let repeats = assignments.map_or(settings.evaluation.repeats, |all| all.repeats.len() as u32);
    for repeat in 1..=repeats {
        let mut stream = stream(Session::Fold { repeat, fold: 1 });
        let division = division(settings, assignments);
        let splits = match assignments {
            None => Split::evaluation(targets, dependence, division, &mut stream)?,
            Some(all) => {
                let fold_of = &all.repeats[repeat as usize - 1][participant];
                Split::as_assigned(targets, dependence, fold_of, division, &mut stream)?
            }
        };
        let sessions = (1..).map(|fold| Session::Fold { repeat, fold });
        all.extend(sessions.zip(splits));
    }
    Ok(all)
}

fn division(settings: &Settings, assignments: Option<&Assignments>) -> Division {
    Division {
        folds: assignments.map_or(settings.folds(), |all| all.folds) as usize,
        test: settings.evaluation.test,
        validation: settings.data.validation,
    }
}
