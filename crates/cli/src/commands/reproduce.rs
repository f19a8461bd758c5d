//! `reproduce`: the paper's tables.

mod cifar10;
mod eicu;

use std::{
    fmt::Write as _,
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
use fedcompetitors_graphs::{BenefitGraph, Participants, UsageGraph};
use fedcompetitors_learn::OptimizerSettings;
use fedcompetitors_record::Spread;
use fedcompetitors_report::{ExperimentRow, ExperimentTable};
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
    let table = table(&results);
    let (text, markdown) = (table.text(), table.markdown());
    let shown = format!("{text}\n{}", plans_text(&results));
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

/// The mean over the participants, seed by seed.
fn seed_means(result: &MethodResult) -> Vec<f64> {
    result.cells.iter().map(|cells| cells.iter().sum::<f64>() / cells.len() as f64).collect()
}

fn table(results: &Results) -> ExperimentTable {
    let participants = results.competing.participants();
    let rows = results.methods.iter().map(|result| {
        let cells = (0..participants.len()).map(|a| {
            let spread = Spread::of(&result.cells.iter().map(|cells| cells[a]).collect::<Vec<_>>());
            (spread.mean, spread.deviation)
        });
        let mean = Spread::of(&seed_means(result));
        let paper = results.setting.paper(result.method).into_iter().flatten();
        ExperimentRow {
            method: result.method.name().to_owned(),
            cells: cells.collect(),
            paper: paper.map(|(mean, deviation)| (mean, Some(deviation))).collect(),
            mean: (mean.mean, mean.error),
        }
    });
    let seeds = results.methods.first().map_or(0, |result| result.cells.len());
    ExperimentTable {
        title: match seeds {
            1 => format!("{}, one seed: spread unknown.", results.setting.name()),
            _ => format!("{}, {seeds} seeds.", results.setting.name()),
        },
        metric: "Test MSE of each participant, mean ± deviation over the seeds; the last column is the mean over\n\
                 the participants ± its standard error."
            .into(),
        columns: participants.names().map(str::to_owned).collect(),
        rows: rows.collect(),
        remarks: remarks(results),
    }
}

fn remarks(results: &Results) -> Vec<String> {
    let mut remarks = vec![standings(results)];
    let chosen = if results.rules > 1 {
        format!(
            "; rate and decay chosen among {} by\nvalidation data of two federations that are not in the table",
            results.rules
        )
    } else {
        String::new()
    };
    remarks.push(format!(
        "Every method: at most {} gradients for each participant on average, estimation included{chosen}.",
        results.budget
    ));
    remarks.extend(results.methods.iter().map(cost_text));
    remarks.extend(agreement_texts(&results.estimates));
    remarks
}

/// How many gradients a method took, and what validation data chose for it.
fn cost_text(result: &MethodResult) -> String {
    let estimation = if result.estimation > 0.0 {
        format!(", {:.0} of them to estimate benefits", result.estimation)
    } else {
        String::new()
    };
    format!(
        "  {}: {:.0} gradients{estimation}; {}.",
        result.method.name(),
        result.evaluations,
        choice_text(result)
    )
}

/// How well each estimate ranks helpers, where that was measured.
fn agreement_texts(estimates: &[Estimates]) -> Vec<String> {
    let agreements = estimates.iter().flat_map(|estimates| &estimates.agreements);
    let mut by_source: Vec<(&str, Vec<f64>)> = Vec::new();
    for (source, agreement) in agreements {
        let Some(agreement) = agreement else { continue };
        match by_source.iter_mut().find(|entry| entry.0 == source.name()) {
            Some(entry) => entry.1.push(*agreement),
            None => by_source.push((source.name(), vec![*agreement])),
        }
    }
    let told = by_source.iter().map(|(source, agreements)| {
        let spread = Spread::of(agreements);
        format!(
            "Rank correlation of the {source} estimate with measured gains: {:.2} ± {:.2}.",
            spread.mean, spread.deviation
        )
    });
    told.collect()
}

/// Who is best, and who cannot be told from the best.
fn standings(results: &Results) -> String {
    let mean = |result: &MethodResult| Spread::of(&seed_means(result)).mean;
    let best = results.methods.iter().min_by(|a, b| mean(a).total_cmp(&mean(b)));
    let Some(best) = best else {
        return String::new();
    };
    if results.estimates.len() < 2 {
        return format!("Lowest mean: {}, in one seed.", best.method.name());
    }
    let ties: Vec<String> = results
        .methods
        .iter()
        .filter(|other| other.method != best.method)
        .filter_map(|other| {
            let difference = Spread::of_differences(&seed_means(other), &seed_means(best));
            (difference.mean <= difference.error).then(|| {
                format!(
                    "{} (+{:.4} ± {:.4})",
                    other.method.name(),
                    difference.mean,
                    difference.error
                )
            })
        })
        .collect();
    let tied = if ties.is_empty() {
        "no other within one standard error of the difference, seed by seed".to_owned()
    } else {
        format!("a tie, within one standard error of the difference, with {}", ties.join(", "))
    };
    format!("Lowest mean: {}; {tied}.", best.method.name())
}

/// What validation data chose.
fn choice_text(result: &MethodResult) -> String {
    let rule = rule_text(result.rule);
    if result.trainer.is_empty() { rule } else { format!("{rule}, {}", result.trainer) }
}

fn rule_text(rule: OptimizerSettings) -> String {
    match rule {
        OptimizerSettings::Adam { rate, decay } => format!("Adam, rate {rate}, decay {decay}"),
        OptimizerSettings::Sgd { rate, momentum, decay } => {
            format!("SGD, rate {rate}, momentum {momentum}, decay {decay}")
        }
    }
}

/// The benefits and plans of each seed.
fn plans_text(results: &Results) -> String {
    let mut text = String::from("Who learns from whom (benefit), seed by seed:\n");
    for (at, estimates) in results.estimates.iter().enumerate() {
        for result in results.methods.iter().filter(|result| result.method.source().is_some()) {
            let edges = edges_text(benefit_of(estimates, result.method), &result.plans[at]);
            let (seed, method) = (estimates.seed, result.method.name());
            let _ = writeln!(text, "  seed {seed}, {method}: {edges}");
        }
    }
    text
}

fn benefit_of(estimates: &Estimates, method: Method) -> Option<&BenefitGraph> {
    let found = estimates.benefits.iter().find(|found| Some(found.0) == method.source());
    found.map(|found| &found.1)
}

fn edges_text(benefit: Option<&BenefitGraph>, usage: &UsageGraph) -> String {
    let participants = usage.participants();
    let columns = (0..participants.len()).filter_map(|to| {
        let helpers: Vec<String> = usage
            .edges()
            .filter(|edge| edge.1 == to)
            .map(|(from, _)| match benefit {
                Some(benefit) => {
                    format!("{} ({:.2})", participants.name(from), benefit.benefit(from, to))
                }
                None => participants.name(from).to_owned(),
            })
            .collect();
        (!helpers.is_empty()).then(|| format!("{} ← {}", participants.name(to), helpers.join(" ")))
    });
    columns.collect::<Vec<_>>().join("; ")
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
        "rule": choice_text(result),
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
