//! `reproduce cifar10`: small images, two classes for each participant.

use std::{
    fs,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use fedcompetitors_experiments::{
    Method,
    cifar10::{
        BATCH, Budget, Cifar10Experiment, Cifar10Row, Draw, Kept, NETWORKS, Piece, RATES_TRIED,
        paper,
    },
};
use fedcompetitors_files::{FileError, atomically, make_folder, read_cifar10, write_json};
use fedcompetitors_report::{Holding, ImageDraw, ImageFigures, ImageMethod, image_draw_text};
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::{Value, json};

use super::{Written, check_writable, named_pairs, on_threads, show};
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
        tell(&image_draw_text(&drawn(draw)));
    }
    let rows = run(arguments.threads, &experiment, &draws, store.as_ref())?;
    let table = figures(size, &draws, &rows).table();
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

/// The values that a draw is shown by.
fn drawn(draw: &Draw) -> ImageDraw {
    let names = draw.competing.participants().names();
    let holdings = names.zip(&draw.split.classes).zip(&draw.split.rows);
    let holdings = holdings.map(|((name, classes), rows)| Holding {
        name: name.to_owned(),
        classes: classes.iter().map(|&at| CLASSES[usize::from(at)]).collect(),
        images: rows.each_ref().map(Vec::len),
    });
    ImageDraw {
        seed: draw.seed,
        hash: draw.hash(),
        holdings: holdings.collect(),
        competing: named_pairs(&draw.competing),
    }
}

/// The values of the table.
fn figures(size: &Size, draws: &[Draw], rows: &[Cifar10Row]) -> ImageFigures {
    let methods = rows.iter().map(|row| {
        let mean = |of: fn(&Piece) -> usize| {
            row.pieces.iter().map(of).sum::<usize>() as f64 / row.pieces.len().max(1) as f64
        };
        ImageMethod {
            name: row.method.name().to_owned(),
            cells: row.pieces.iter().map(|piece| piece.test.clone()).collect(),
            paper: size.paper(row.method),
            gradients: mean(|piece| piece.gradients.0),
            estimation: mean(|piece| piece.gradients.1),
            edges: mean(|piece| piece.usage.len()),
            rate: row.chosen.rate,
            networks: row.chosen.networks.map(|networks| networks + 1),
        }
    });
    ImageFigures {
        budget: size.name.clone(),
        gradients: size.evaluations,
        batch: BATCH,
        rates: RATES_TRIED,
        networks: NETWORKS.map(|networks| networks + 1).to_vec(),
        images: size.images,
        graphs: draws.len(),
        methods: methods.collect(),
    }
}

fn results_json(size: &Size, draws: &[Draw], rows: &[Cifar10Row]) -> Value {
    let names: Vec<&str> =
        draws.first().map_or(Vec::new(), |draw| draw.competing.participants().names().collect());
    let shown = figures(size, draws, rows);
    let methods: Vec<Value> = rows
        .iter()
        .zip(&shown.methods)
        .map(|(row, shown)| {
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
                "rule": format!("Adam, {}", shown.chosen()),
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
