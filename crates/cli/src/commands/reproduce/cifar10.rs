//! `reproduce cifar10`: small images, two classes for each participant.

use std::{
    fs,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use fedcompetitors_experiments::{
    Method,
    cifar10::{
        BATCH, Budget, Chosen, Cifar10Experiment, Cifar10Row, Draw, Kept, NETWORKS, Piece,
        RATES_TRIED, paper,
    },
};
use fedcompetitors_files::{FileError, atomically, make_folder, read_cifar10, write_json};
use fedcompetitors_record::Spread;
use fedcompetitors_report::{ExperimentRow, ExperimentTable};
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::{Value, json};

use super::{Written, check_writable, on_threads, show};
use crate::{
    Failure, Outcome,
    arguments::{BudgetName, ReproduceArguments},
    output::tell,
};

/// What the classes are called.
const CLASSES: [&str; 10] =
    ["plane", "car", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"];

pub fn reproduce(arguments: &ReproduceArguments, data: &Path) -> Result<Outcome, Failure> {
    let budget = match arguments.budget {
        None | Some(BudgetName::Short) => Budget::Short,
        Some(BudgetName::Full) => Budget::Full,
    };
    if arguments.measure || arguments.rate.is_some() {
        let error = "`cifar10` does not take `--measure`, `--rate` or `--decay`".to_owned();
        let hint =
            "omit them; `--budget` sets how long it trains, and validation data chooses the rates"
                .to_owned();
        return Err(Failure::Usage { error, hint });
    }
    let images = read_cifar10(data)?;
    let graphs = arguments.seeds.unwrap_or(budget.graphs());
    let images_each = arguments.images.map(|images| images as usize);
    let mut experiment =
        Cifar10Experiment { images_each, ..Cifar10Experiment::new(images, graphs, budget) };
    if !arguments.methods.is_empty() {
        experiment.methods.retain(|method| arguments.methods.contains(method));
    }
    if let Some(evaluations) = arguments.evaluations {
        experiment.evaluations = evaluations;
    }
    let size = &Size {
        name: match arguments.evaluations {
            Some(evaluations) => format!("{evaluations}-gradient"),
            None => budget.name().to_owned(),
        },
        evaluations: experiment.evaluations,
        images: images_each,
    };
    let start = Instant::now();
    let draws = experiment.draws()?;
    let store = arguments.out.as_deref().map(|folder| Store::open(folder, size)).transpose()?;
    if let Some(store) = &store {
        draws.iter().try_for_each(|draw| store.write_split(draw))?;
    }
    for draw in &draws {
        tell(&draw_text(draw));
    }
    let rows = run(arguments.threads, &experiment, &draws, store.as_ref())?;
    let table = table(size, &draws, &rows);
    let written = Written {
        text: table.text(),
        markdown: table.markdown(),
        json: results_json(size, &draws, &rows),
    };
    show(arguments, &written, &written.text)?;
    tell(&format!("{:.0} seconds", start.elapsed().as_secs_f64()));
    Ok(Outcome::Done)
}

/// How much is spent, and on how many images.
struct Size {
    /// What the budget is called.
    name: String,
    /// Gradients for each participant and method.
    evaluations: usize,
    /// Images of each class that a participant has; all where absent.
    images: Option<usize>,
}

impl Size {
    /// The paper's figure for a method: it has all images.
    fn paper(&self, method: Method) -> Option<(f64, f64)> {
        if self.images.is_some() { None } else { paper(method) }
    }
}

/// Trainings that are done, each in a file of its own.
struct Store {
    folder: PathBuf,
}

impl Store {
    /// Pieces of one budget and number of images are in one folder: those of another are another
    /// experiment's.
    fn open(folder: &Path, size: &Size) -> Result<Self, Failure> {
        check_writable(folder)?;
        let images = size.images.map_or(String::new(), |images| format!("-{images}-images"));
        let folder = folder.join(format!("pieces-{}{images}", size.name));
        make_folder(&folder)?;
        Ok(Self { folder })
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{name}.json"))
    }

    /// What cannot be read is done again.
    fn recall(&self, name: &str) -> Option<Piece> {
        serde_json::from_slice(&fs::read(self.path(name)).ok()?).ok()
    }

    fn keep(&self, name: &str, piece: &Piece) -> Result<(), FileError> {
        atomically(&self.path(name), |writer| Ok(serde_json::to_writer(writer, piece)?))
    }

    /// Which images are whose, with the hash that says whether it is still the same.
    fn write_split(&self, draw: &Draw) -> Result<(), Failure> {
        let split = json!({
            "format": "fedcompetitors-split/1",
            "seed": draw.seed,
            "hash": draw.hash(),
            "classes": draw.split.classes,
            "rows": draw.split.rows,
        });
        let path = self.path(&format!("{}-split", draw.seed));
        Ok(atomically(&path, |writer| write_json(writer, &split))?)
    }
}

fn run(
    threads: Option<u16>,
    experiment: &Cifar10Experiment,
    draws: &[Draw],
    store: Option<&Store>,
) -> Result<Vec<Cifar10Row>, Failure> {
    let style = ProgressStyle::with_template("{bar:40} {percent} %, {eta} left: {msg}")
        .unwrap_or_else(|_| ProgressStyle::default_bar());
    let bar = ProgressBar::new(0).with_style(style);
    bar.enable_steady_tick(Duration::from_millis(500));
    let told = |done: usize, total: usize, doing: &str| {
        bar.set_length(total as u64);
        bar.set_position(done as u64);
        bar.set_message(doing.to_owned());
    };
    let kept = Kept {
        recall: &|name| store.and_then(|store| store.recall(name)),
        keep: &|name, piece| store.map_or(Ok(()), |store| store.keep(name, piece)),
    };
    let rows = on_threads(threads, || experiment.run(draws, &kept, &told));
    bar.finish_and_clear();
    Ok(rows?)
}

/// Who has what and who competes, in a draw.
fn draw_text(draw: &Draw) -> String {
    let participants = draw.competing.participants();
    let name = |at| participants.name(at);
    let holdings: Vec<String> = draw
        .split
        .classes
        .iter()
        .zip(&draw.split.rows)
        .enumerate()
        .map(|(at, (classes, [own, validation, test]))| {
            let classes: Vec<_> = classes.iter().map(|&at| CLASSES[usize::from(at)]).collect();
            let (own, validation, test) = (own.len(), validation.len(), test.len());
            format!("  {}: {}: {own} + {validation} + {test}", name(at), classes.join(", "))
        })
        .collect();
    let pairs: Vec<_> =
        draw.competing.pairs().map(|(a, b)| format!("{} and {}", name(a), name(b))).collect();
    let competing = if pairs.is_empty() { "nobody".to_owned() } else { pairs.join(", ") };
    format!(
        "seed {}: images for training, validation and the test (split {}…):\n{}\n  competing: {competing}",
        draw.seed,
        &draw.hash()[..16],
        holdings.join("\n")
    )
}

/// The mean over the participants, draw by draw, in percent.
fn means(row: &Cifar10Row) -> Vec<f64> {
    let mean = |piece: &Piece| 100.0 * piece.test.iter().sum::<f64>() / piece.test.len() as f64;
    row.pieces.iter().map(mean).collect()
}

fn table(size: &Size, draws: &[Draw], rows: &[Cifar10Row]) -> ExperimentTable {
    let images = size
        .images
        .map_or(String::new(), |images| format!(", {images} images of a class for each"));
    let graphs = match draws.len() {
        1 => "one graph: spread unknown".to_owned(),
        count => format!("{count} graphs"),
    };
    let shown = rows.iter().map(|row| {
        let spread = Spread::of(&means(row));
        ExperimentRow {
            method: row.method.name().to_owned(),
            cells: vec![(spread.mean, spread.deviation)],
            paper: size.paper(row.method).map(|(mean, d)| (mean, Some(d))).into_iter().collect(),
            mean: (spread.mean, spread.error),
        }
    });
    ExperimentTable {
        title: format!("cifar10, {} budget{images}, {graphs}.", size.name),
        metric: "Test accuracy in percent, mean over the participants: ± its deviation over the graphs, and ± the\nstandard error of its mean."
            .into(),
        columns: vec!["over the graphs".into()],
        rows: shown.collect(),
        remarks: remarks(size, rows),
    }
}

fn remarks(size: &Size, rows: &[Cifar10Row]) -> Vec<String> {
    let mut remarks = vec![standings(rows)];
    remarks.push(format!(
        "Every method: at most {} gradients of {BATCH} images for each participant on average, estimation included;\nrates chosen among {} by validation data of a draw that is not in the table, with the whole budget{}.",
        size.evaluations,
        RATES_TRIED,
        numbers_of_networks(rows)
    ));
    remarks.extend(rows.iter().map(|row| {
        let mean = |of: fn(&Piece) -> usize| {
            row.pieces.iter().map(of).sum::<usize>() as f64 / row.pieces.len().max(1) as f64
        };
        let edges = mean(|piece| piece.usage.len());
        format!(
            "  {}: {:.0} gradients, {:.0} of them to estimate benefits; {}; {edges:.0} of 90 edges.",
            row.method.name(),
            mean(|piece| piece.gradients.0),
            mean(|piece| piece.gradients.1),
            chosen_text(row.chosen)
        )
    }));
    remarks
}

/// Among which numbers of networks validation data chose, where there are methods of several.
fn numbers_of_networks(rows: &[Cifar10Row]) -> String {
    if rows.iter().all(|row| row.chosen.networks.is_none()) {
        return String::new();
    }
    let [most, middle, least] = NETWORKS.map(|networks| networks + 1);
    format!(",\nthen the number of networks among {most}, {middle} and {least}")
}

fn chosen_text(Chosen { rate, networks }: Chosen) -> String {
    let networks = networks.map(|networks| format!(", {} networks", networks + 1));
    format!("rate {rate}{}", networks.unwrap_or_default())
}

/// Who is best, who cannot be told from the best, and whether the best plan is worth it.
fn standings(rows: &[Cifar10Row]) -> String {
    let mean = |row: &Cifar10Row| Spread::of(&means(row)).mean;
    let Some(best) = rows.iter().max_by(|a, b| mean(a).total_cmp(&mean(b))) else {
        return String::new();
    };
    if best.pieces.len() < 2 {
        return format!("Highest mean: {}, with one graph.", best.method.name());
    }
    let others = rows.iter().filter(|row| row.method != best.method);
    let ties: Vec<String> = others
        .filter_map(|row| {
            let behind = Spread::of_differences(&means(best), &means(row));
            (behind.mean <= behind.error).then(|| {
                format!("{} (−{:.2} ± {:.2})", row.method.name(), behind.mean, behind.error)
            })
        })
        .collect();
    let tied = if ties.is_empty() {
        "no other within one standard error of the difference, graph by graph".to_owned()
    } else {
        format!("a tie, within one standard error of the difference, with {}", ties.join(", "))
    };
    format!("Highest mean: {}; {tied}.", best.method.name())
}

fn results_json(size: &Size, draws: &[Draw], rows: &[Cifar10Row]) -> Value {
    let names: Vec<&str> =
        draws.first().map_or(Vec::new(), |draw| draw.competing.participants().names().collect());
    let methods: Vec<Value> = rows
        .iter()
        .map(|row| {
            let figures = size
                .paper(row.method)
                .map(|(mean, deviation)| json!({ "mean": mean, "deviation": deviation }));
            let cells: Vec<_> = row.pieces.iter().map(|piece| &piece.test).collect();
            let gradients = |of: fn(&Piece) -> usize| row.pieces.iter().map(of).max().unwrap_or(0);
            let plans: Vec<Value> = row
                .pieces
                .iter()
                .map(|piece| {
                    piece.usage.iter().map(|&(a, b)| json!([names[a], names[b]])).collect()
                })
                .collect();
            json!({
                "method": row.method.name(),
                "cells": cells,
                "paper": figures,
                "gradients": gradients(|piece| piece.gradients.0),
                "gradients_for_estimation": gradients(|piece| piece.gradients.1),
                "rule": format!("Adam, {}", chosen_text(row.chosen)),
                "plans": plans,
            })
        })
        .collect();
    let splits: Vec<Value> = draws
        .iter()
        .map(|draw| {
            let pairs: Vec<_> = draw.competing.pairs().map(|(a, b)| [names[a], names[b]]).collect();
            json!({
                "seed": draw.seed,
                "hash": draw.hash(),
                "classes": draw.split.classes,
                "competing": pairs,
            })
        })
        .collect();
    json!({
        "format": "fedcompetitors-experiment/1",
        "experiment": "cifar10",
        "metric": "test accuracy",
        "budget": size.name,
        "images_of_a_class": size.images,
        "seeds": draws.iter().map(|draw| draw.seed).collect::<Vec<_>>(),
        "participants": names,
        "gradients_for_each_participant": size.evaluations,
        "batch": BATCH,
        "draws": splits,
        "methods": methods,
    })
}
