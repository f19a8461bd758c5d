//! `reproduce eicu`: deaths in hospitals.

use std::{path::Path, time::Instant};

use fedcompetitors_experiments::{
    MethodResult,
    eicu::{EicuExperiment, EicuResults, FOLDS, paper},
};
use fedcompetitors_files::{Eicu, FileError, Hospitals, Problem, read_eicu};
use fedcompetitors_report::{Cohort, HospitalFigures, hospitals_title};
use serde_json::{Value, json};

use super::{
    Written, agreements, check_writable, estimates_json, method_figures, method_json, named_pairs,
    rules, run, show,
};
use crate::{Failure, Outcome, arguments::ReproduceArguments, output::tell};

/// How often everything is cross-validated if it is not said.
const REPEATS: u64 = 10;

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
    let figures = figures(&eicu, hospitals, &results);
    let (table, gains) = (figures.table(), figures.gains_table());
    let written = Written {
        text: format!("{}\n{}", table.text(), gains.text()),
        markdown: format!("{}\n{}", table.markdown(), gains.markdown()),
        json: results_json(&eicu, hospitals, &results),
    };
    show(arguments, &written, &written.text)?;
    tell(&format!("{seconds:.0} seconds"));
    Ok(Outcome::Done)
}

/// The values of the tables.
fn figures(eicu: &Eicu, hospitals: &Hospitals, results: &EicuResults) -> HospitalFigures {
    let names = results.competing.participants().names();
    let cohorts = names.zip(&hospitals.cohorts).map(|(name, cohort)| Cohort {
        name: name.to_owned(),
        about: cohort.about.clone(),
        patients: cohort.table.len(),
        deaths: cohort.deaths,
        hospitals: cohort.hospitals,
    });
    let methods = results.methods.iter().map(|result| {
        let paper = paper(result.method).filter(|_| hospitals.as_in_paper);
        let paper = paper.map(|of| of.map(|auc| (auc, None)).to_vec());
        method_figures(result, paper.unwrap_or_default())
    });
    let gains = gains_over_local(results).into_iter();
    HospitalFigures {
        as_in_paper: hospitals.as_in_paper,
        cohorts: cohorts.collect(),
        left_out: (eicu.without_outcome, eicu.without_physiology),
        competing: named_pairs(&results.competing),
        folds: FOLDS,
        budget: results.budget,
        rules: results.rules,
        methods: methods.collect(),
        gains: gains.map(|(result, gains)| (result.method.name().to_owned(), gains)).collect(),
        agreements: agreements(&results.estimates),
    }
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
        "data": hospitals_title(hospitals.as_in_paper),
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
