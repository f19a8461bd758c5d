//! `reproduce eicu`: deaths in hospitals.

use std::{fmt::Write as _, path::Path, time::Instant};

use fedcompetitors_experiments::{
    MethodResult,
    eicu::{EicuExperiment, EicuResults, FOLDS, paper},
};
use fedcompetitors_files::{Eicu, FileError, Hospitals, Problem, read_eicu};
use fedcompetitors_record::Spread;
use fedcompetitors_report::{ExperimentRow, ExperimentTable};
use serde_json::{Value, json};

use super::{
    Written, agreement_texts, check_writable, cost_text, estimates_json, method_json, rules, run,
    seed_means, show,
};
use crate::{Failure, Outcome, arguments::ReproduceArguments, output::tell};

/// How often everything is cross-validated if it is not said.
const REPEATS: u64 = 10;

/// What figures of groups are worth.
const NOT_COMPARABLE: &str =
    "eICU demo, groups of hospitals; not comparable with the paper's figures";

pub fn reproduce(arguments: &ReproduceArguments, data: &Path) -> Result<Outcome, Failure> {
    let eicu = read_eicu(data)?;
    let hospitals = eicu.participants().map_err(|problem| FileError {
        path: data.to_owned(),
        line: None,
        problem: Problem::Eicu(problem),
    })?;
    let mut experiment = EicuExperiment::new(hospitals, arguments.seeds.unwrap_or(REPEATS));
    experiment.measure = arguments.measure;
    experiment.evaluations = arguments.evaluations.unwrap_or(experiment.evaluations);
    experiment.rules = rules(arguments).unwrap_or(experiment.rules);
    // Better now than when the work is done.
    if let Some(folder) = &arguments.out {
        check_writable(folder)?;
    }
    let start = Instant::now();
    let results = run(arguments.threads, |progress| experiment.run(progress))?;
    let (hospitals, seconds) = (&experiment.hospitals, start.elapsed().as_secs_f64());
    let (table, gains) = (table(&eicu, hospitals, &results), gains(hospitals, &results));
    let written = Written {
        text: format!("{}\n{}", table.text(), gains.text()),
        markdown: format!("{}\n{}", table.markdown(), gains.markdown()),
        json: results_json(&eicu, hospitals, &results),
    };
    show(arguments, &written, &written.text)?;
    tell(&format!("{seconds:.0} seconds"));
    Ok(Outcome::Done)
}

fn whose(hospitals: &Hospitals) -> &'static str {
    if hospitals.as_in_paper { "eICU, the paper's hospitals" } else { NOT_COMPARABLE }
}

/// The cells of a method: for each participant the mean of its values and their 95 % interval.
fn cells(values: &[Vec<f64>]) -> Vec<(f64, f64)> {
    let participants = values.first().map_or(0, Vec::len);
    let one = |a: usize| {
        let spread = Spread::of(&values.iter().map(|cells| cells[a]).collect::<Vec<_>>());
        (spread.mean, spread.interval)
    };
    (0..participants).map(one).collect()
}

fn table(eicu: &Eicu, hospitals: &Hospitals, results: &EicuResults) -> ExperimentTable {
    let rows = results.methods.iter().map(|result| {
        let mean = Spread::of(&seed_means(result));
        let figures = paper(result.method).filter(|_| hospitals.as_in_paper);
        ExperimentRow {
            method: result.method.name().to_owned(),
            cells: cells(&result.cells),
            paper: figures.map(|of| of.map(|auc| (auc, None)).to_vec()).unwrap_or_default(),
            mean: (mean.mean, mean.interval),
        }
    });
    let repeats = results.methods.first().map_or(0, |result| result.cells.len());
    let title = match repeats {
        1 => format!("{}, {FOLDS} folds once: spread unknown.", whose(hospitals)),
        _ => format!("{}, {FOLDS} folds, {repeats} repeats.", whose(hospitals)),
    };
    ExperimentTable {
        title,
        metric: "Test AUC of deaths in hospital, mean ± half of the 95 % interval over the repeats; the last\n\
                 column is the mean over the participants. All repeats have the same patients: the interval\n\
                 shows the variation from splits and training, not from other patients, which is larger."
            .into(),
        columns: results.competing.participants().names().map(str::to_owned).collect(),
        rows: rows.collect(),
        remarks: remarks(eicu, hospitals, results),
    }
}

fn remarks(eicu: &Eicu, hospitals: &Hospitals, results: &EicuResults) -> Vec<String> {
    let mut remarks = vec![standings(results)];
    let names = results.competing.participants().names();
    for (name, cohort) in names.zip(&hospitals.cohorts) {
        let (patients, deaths) = (cohort.table.len(), cohort.deaths);
        let mut line = format!("  {name}: {}: {patients} patients, {deaths} deaths", cohort.about);
        if cohort.hospitals > 1 {
            let _ = write!(line, ", {} hospitals", cohort.hospitals);
        }
        remarks.push(line + ".");
    }
    remarks.push(format!(
        "One row per patient, from the first stay; left out: {} without a known outcome, {} without\nphysiology of the first day.",
        eicu.without_outcome, eicu.without_physiology
    ));
    let pairs: Vec<String> = results
        .competing
        .pairs()
        .map(|(a, b)| {
            let name = |at| results.competing.participants().name(at);
            format!("{} and {}", name(a), name(b))
        })
        .collect();
    remarks.push(format!("Competing: {}.", pairs.join(", ")));
    remarks.push(format!(
        "Logistic regression for every method, deaths and survivors weighted equally; at most {} gradients\nfor each participant on average, estimation included.",
        results.budget
    ));
    if results.rules > 1 {
        remarks.push(format!(
            "Rate and decay chosen among {} by validation loss in two other repeats\nwith the same patients (there are no others).",
            results.rules
        ));
    }
    remarks.extend(results.methods.iter().map(cost_text));
    remarks.extend(agreement_texts(&results.estimates));
    remarks
}

/// Who is best, and who cannot be told from the best.
fn standings(results: &EicuResults) -> String {
    let mean = |result: &MethodResult| Spread::of(&seed_means(result)).mean;
    let Some(best) = results.methods.iter().max_by(|a, b| mean(a).total_cmp(&mean(b))) else {
        return String::new();
    };
    let name = best.method.name();
    if best.cells.len() < 2 {
        return format!("Highest mean: {name}, in one repeat.");
    }
    let others = results.methods.iter().filter(|other| other.method != best.method);
    let ties: Vec<String> = others
        .filter_map(|other| {
            let behind = Spread::of_differences(&seed_means(best), &seed_means(other));
            (behind.mean <= behind.interval).then(|| {
                format!("{} (−{:.3} ± {:.3})", other.method.name(), behind.mean, behind.interval)
            })
        })
        .collect();
    let tied = if ties.is_empty() {
        "the interval of its lead over any other, repeat by repeat, is above 0".to_owned()
    } else {
        format!("a tie, as the interval of the lead contains 0, with {}", ties.join(", "))
    };
    format!("Highest mean: {name}; {tied}.")
}

/// What everybody gains over learning alone, repeat by repeat.
fn gains_over_local(results: &EicuResults) -> Vec<(&MethodResult, Vec<Vec<f64>>)> {
    let Some((local, others)) = results.methods.split_first() else {
        return Vec::new();
    };
    let gain = |(ours, alone): (&Vec<f64>, &Vec<f64>)| {
        ours.iter().zip(alone).map(|(ours, alone)| ours - alone).collect()
    };
    let of = |result: &MethodResult| result.cells.iter().zip(&local.cells).map(gain).collect();
    others.iter().map(|result| (result, of(result))).collect()
}

fn gains(hospitals: &Hospitals, results: &EicuResults) -> ExperimentTable {
    let rows = gains_over_local(results).into_iter().map(|(result, gains)| {
        let means: Vec<f64> =
            gains.iter().map(|of| of.iter().sum::<f64>() / of.len() as f64).collect();
        let mean = Spread::of(&means);
        ExperimentRow {
            method: result.method.name().to_owned(),
            cells: cells(&gains),
            paper: Vec::new(),
            mean: (mean.mean, mean.interval),
        }
    });
    ExperimentTable {
        title: format!("Gain over Local. {}.", whose(hospitals)),
        metric:
            "Test AUC minus that of Local in the same repeat, mean ± half of the 95 % interval."
                .into(),
        columns: results.competing.participants().names().map(str::to_owned).collect(),
        rows: rows.collect(),
        remarks: Vec::new(),
    }
}

fn results_json(eicu: &Eicu, hospitals: &Hospitals, results: &EicuResults) -> Value {
    let participants = results.competing.participants();
    let cohorts: Vec<Value> = hospitals
        .cohorts
        .iter()
        .map(|cohort| {
            json!({
                "about": cohort.about,
                "hospitals": cohort.hospitals,
                "patients": cohort.table.len(),
                "deaths": cohort.deaths,
            })
        })
        .collect();
    let methods: Vec<Value> = results
        .methods
        .iter()
        .map(|result| {
            let figures = paper(result.method).filter(|_| hospitals.as_in_paper);
            method_json(participants, result, &json!(figures))
        })
        .collect();
    let gains: Vec<Value> = gains_over_local(results)
        .into_iter()
        .map(|(result, gains)| json!({ "method": result.method.name(), "cells": gains }))
        .collect();
    json!({
        "format": "fedcompetitors-experiment/1",
        "experiment": "eicu",
        "data": whose(hospitals),
        "comparable_with_paper": hospitals.as_in_paper,
        "metric": "test AUC",
        "folds": FOLDS,
        "participants": participants.names().collect::<Vec<_>>(),
        "cohorts": cohorts,
        "patients_without_outcome": eicu.without_outcome,
        "patients_without_physiology": eicu.without_physiology,
        "gradients_for_each_participant": results.budget,
        "methods": methods,
        "gains_over_local": gains,
        "estimates": estimates_json(&results.estimates),
    })
}
