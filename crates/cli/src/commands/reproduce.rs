//! `reproduce`: the paper's tables.

mod cifar10;
mod eicu;

use std::{
    fs,
    path::Path,
    sync::Mutex,
    time::{Duration, Instant},
};

use fedcompetitors_experiments::{
    Estimates, Experiment, Method, MethodResult, Progress, Results, Setting,
};
use fedcompetitors_federate::FederateError;
use fedcompetitors_files::{FileError, Problem, atomically, make_folder, write_json};
use fedcompetitors_graphs::{BenefitGraph, CompetingGraph, Participants, UsageGraph};
use fedcompetitors_learn::OptimizerSettings;
use fedcompetitors_report::{
    Agreement, DrawnPlan, MethodFigures, SyntheticFigures, choice_text, drawn_plans_text,
};
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::{Value, json};

use crate::{
    Failure, Outcome,
    arguments::{ReproduceArguments, SettingName, TableFormat},
    output::{print, tell},
};

pub fn reproduce(arguments: &ReproduceArguments) -> Result<Outcome, Failure> {
    if arguments.budget.is_some() && arguments.setting != SettingName::Cifar10 {
        let error = "`--budget` is only for `cifar10`".to_owned();
        let hint = "use `--evaluations` for the other experiments".to_owned();
        return Err(Failure::Usage { error, hint });
    }
    if arguments.images.is_some() && arguments.setting != SettingName::Cifar10 {
        let error = "`--images` is only for `cifar10`".to_owned();
        let hint = "omit it: the other experiments have no images".to_owned();
        return Err(Failure::Usage { error, hint });
    }
    if !arguments.methods.is_empty() && arguments.setting != SettingName::Cifar10 {
        let error = "`--methods` is only for `cifar10`".to_owned();
        let hint = "omit it: the other experiments run all their methods".to_owned();
        return Err(Failure::Usage { error, hint });
    }
    let setting = match (arguments.setting, &arguments.data) {
        (SettingName::Eicu, Some(data)) => return eicu::reproduce(arguments, data),
        (SettingName::Cifar10, Some(data)) => return cifar10::reproduce(arguments, data),
        (SettingName::SyntheticStrong, None) => Setting::Strong,
        (SettingName::SyntheticWeak, None) => Setting::Weak,
        _ => {
            let error = "`--data` is only for `eicu` and `cifar10`".to_owned();
            let hint = "omit `--data`: synthetic data is generated".to_owned();
            return Err(Failure::Usage { error, hint });
        }
    };
    let mut experiment = Experiment::new(setting, arguments.seeds.unwrap_or(5));
    experiment.measure = arguments.measure;
    experiment.evaluations = arguments.evaluations.unwrap_or(experiment.evaluations);
    experiment.rules = rules(arguments).unwrap_or(experiment.rules);
    // Better now than when the work is done.
    if let Some(folder) = &arguments.out {
        check_writable(folder)?;
    }
    let start = Instant::now();
    let results = run(arguments.threads, |progress| experiment.run(progress))?;
    let table = figures(&results).table();
    let (text, markdown) = (table.text(), table.markdown());
    let shown = format!("{text}\n{}", drawn_plans_text(&plans(&results)));
    show(arguments, &Written { text, markdown, json: results_json(&results) }, &shown)?;
    tell(&format!("{:.0} seconds", start.elapsed().as_secs_f64()));
    Ok(Outcome::Done)
}

/// The one rule that was asked for, if so.
fn rules(arguments: &ReproduceArguments) -> Option<Vec<OptimizerSettings>> {
    let (rate, decay) = (arguments.rate?, arguments.decay?);
    Some(vec![OptimizerSettings::Adam { rate, decay }])
}

/// A table in each form.
struct Written {
    text: String,
    markdown: String,
    json: Value,
}

/// Prints a table as it was asked for, on a terminal with more besides, and writes its files.
fn show(
    arguments: &ReproduceArguments,
    written: &Written,
    on_terminal: &str,
) -> Result<(), Failure> {
    print(|output| match arguments.format {
        TableFormat::Text => output.write_all(on_terminal.as_bytes()),
        TableFormat::Markdown => output.write_all(written.markdown.as_bytes()),
        TableFormat::Json => write_json(output, &written.json),
    })?;
    match &arguments.out {
        Some(folder) => write_all(folder, written),
        None => Ok(()),
    }
}

/// Runs the experiment on so many threads, showing how far it is.
fn run<T: Send>(
    threads: Option<u16>,
    experiment: impl Fn(Progress<'_>) -> Result<T, FederateError> + Sync,
) -> Result<T, Failure> {
    let style = ProgressStyle::with_template("{bar:40} {pos} of {len} runs, {eta} left")
        .unwrap_or_else(|_| ProgressStyle::default_bar());
    let bar = ProgressBar::new(0).with_style(style);
    // Threads may tell in any order; the bar only ever goes forward.
    let furthest = Mutex::new(0);
    let progress = |done: usize, total: usize| {
        let mut furthest = furthest.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if *furthest == 0 {
            // Nothing is shown before it is known how much there is to do.
            bar.set_length(total as u64);
            bar.enable_steady_tick(Duration::from_millis(500));
        }
        *furthest = done.max(*furthest);
        bar.set_position(*furthest as u64);
    };
    let results = on_threads(threads, || experiment(&progress));
    bar.finish_and_clear();
    Ok(results?)
}

/// Does something on so many threads.
fn on_threads<T: Send>(threads: Option<u16>, work: impl Fn() -> T + Sync) -> T {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads.unwrap_or(0).into()).build();
    match pool {
        Ok(pool) => pool.install(&work),
        // Without a pool of its own it takes the common one.
        Err(_) => work(),
    }
}

/// The values of the table.
fn figures(results: &Results) -> SyntheticFigures {
    let methods = results.methods.iter().map(|result| {
        let paper = results.setting.paper(result.method).into_iter().flatten();
        let paper = paper.map(|(mean, deviation)| (mean, Some(deviation)));
        method_figures(result, paper.collect())
    });
    SyntheticFigures {
        setting: results.setting.name().to_owned(),
        participants: results.competing.participants().names().map(str::to_owned).collect(),
        budget: results.budget,
        rules: results.rules,
        methods: methods.collect(),
        agreements: agreements(&results.estimates),
    }
}

fn method_figures(result: &MethodResult, paper: Vec<(f64, Option<f64>)>) -> MethodFigures {
    MethodFigures {
        name: result.method.name().to_owned(),
        cells: result.cells.clone(),
        paper,
        gradients: result.evaluations,
        estimation: result.estimation,
        choice: choice(result),
    }
}

/// What validation data chose.
fn choice(result: &MethodResult) -> String {
    let (rate, momentum, decay) = match result.rule {
        OptimizerSettings::Adam { rate, decay } => (rate, None, decay),
        OptimizerSettings::Sgd { rate, momentum, decay } => (rate, Some(momentum), decay),
    };
    choice_text(rate, momentum, decay, &result.trainer)
}

/// How well each estimate ranks helpers, where that was measured.
fn agreements(estimates: &[Estimates]) -> Vec<Agreement> {
    let measured = estimates.iter().flat_map(|estimates| &estimates.agreements);
    let mut by_source: Vec<Agreement> = Vec::new();
    for (source, correlation) in measured {
        let Some(correlation) = *correlation else { continue };
        match by_source.iter_mut().find(|entry| entry.source == source.name()) {
            Some(entry) => entry.correlations.push(correlation),
            None => by_source.push(Agreement {
                source: source.name().to_owned(),
                correlations: vec![correlation],
            }),
        }
    }
    by_source
}

/// Who competes, by name.
fn named_pairs(competing: &CompetingGraph) -> Vec<(String, String)> {
    let name = |at| competing.participants().name(at).to_owned();
    competing.pairs().map(|(a, b)| (name(a), name(b))).collect()
}

/// The plan of each method that has one, seed by seed.
fn plans(results: &Results) -> Vec<DrawnPlan<'_>> {
    let mut plans = Vec::new();
    for (at, estimates) in results.estimates.iter().enumerate() {
        for result in results.methods.iter().filter(|result| result.method.source().is_some()) {
            plans.push(DrawnPlan {
                seed: estimates.seed,
                method: result.method.name(),
                benefit: benefit_of(estimates, result.method),
                usage: &result.plans[at],
            });
        }
    }
    plans
}

fn benefit_of(estimates: &Estimates, method: Method) -> Option<&BenefitGraph> {
    let found = estimates.benefits.iter().find(|found| Some(found.0) == method.source());
    found.map(|found| &found.1)
}

fn results_json(results: &Results) -> Value {
    let participants = results.competing.participants();
    let methods: Vec<Value> = results
        .methods
        .iter()
        .map(|result| {
            method_json(participants, result, &json!(results.setting.paper(result.method)))
        })
        .collect();
    json!({
        "format": "fedcompetitors-experiment/1",
        "experiment": results.setting.name(),
        "metric": "test MSE",
        "participants": participants.names().collect::<Vec<_>>(),
        "gradients_for_each_participant": results.budget,
        "methods": methods,
        "estimates": estimates_json(&results.estimates),
    })
}

fn method_json(participants: &Participants, result: &MethodResult, paper: &Value) -> Value {
    json!({
        "method": result.method.name(),
        "cells": result.cells,
        "paper": paper,
        "gradients": result.evaluations,
        "gradients_for_estimation": result.estimation,
        "rule": choice(result),
        "plans": result.plans.iter().map(|plan| edges_json(participants, plan)).collect::<Vec<_>>(),
    })
}

fn estimates_json(estimates: &[Estimates]) -> Vec<Value> {
    let one = |estimates: &Estimates| {
        let benefits: Vec<Value> = estimates
            .benefits
            .iter()
            .map(|(source, benefit, gradients)| {
                json!({
                    "estimator": source.name(),
                    "gradients": gradients,
                    "benefit": benefit_json(benefit),
                })
            })
            .collect();
        let agreements: Vec<Value> = estimates
            .agreements
            .iter()
            .map(|(source, agreement)| {
                json!({ "estimator": source.name(), "rank_correlation": agreement })
            })
            .collect();
        json!({ "seed": estimates.seed, "benefits": benefits, "agreements": agreements })
    };
    estimates.iter().map(one).collect()
}

fn edges_json(participants: &Participants, usage: &UsageGraph) -> Value {
    let name = |index| participants.name(index);
    usage.edges().map(|(from, to)| json!([name(from), name(to)])).collect()
}

fn benefit_json(benefit: &BenefitGraph) -> Value {
    let participants = benefit.participants();
    (0..participants.len())
        .flat_map(|to| {
            benefit.helpers(to).map(move |(from, value)| {
                json!({ "from": participants.name(from), "to": participants.name(to), "benefit": value })
            })
        })
        .collect()
}

/// Makes the folder if it is not there, and sees that files can be written in it.
fn check_writable(folder: &Path) -> Result<(), Failure> {
    make_folder(folder)?;
    let probe = folder.join(".fedcompetitors-writes-here");
    let written = fs::write(&probe, "").and_then(|()| fs::remove_file(&probe));
    written.map_err(|error| FileError {
        path: folder.to_owned(),
        line: None,
        problem: Problem::Unwritable(error),
    })?;
    Ok(())
}

/// The table in each form, in a folder.
fn write_all(folder: &Path, written: &Written) -> Result<(), Failure> {
    let text = |name: &str, text: &str| {
        atomically(&folder.join(name), |writer| writer.write_all(text.as_bytes()))
    };
    text("table.txt", &written.text)?;
    text("table.md", &written.markdown)?;
    atomically(&folder.join("results.json"), |writer| write_json(writer, &written.json))?;
    Ok(())
}
