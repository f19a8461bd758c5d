//! The experiment with small images, on few and made-up ones.

use std::{collections::BTreeMap, sync::Mutex};

use fedcompetitors_experiments::{
    Method,
    cifar10::{Budget, Cifar10Experiment, Cifar10Row, Kept, METHODS, Piece},
};
use fedcompetitors_graphs::{CompetingGraph, random::Stream};
use fedcompetitors_learn::Images;

/// Ten classes that differ in the brightness of their stripes.
fn images(each: usize, seed: u64) -> Images {
    let mut stream = Stream::new(seed, "stripes", 0);
    let labels: Vec<u8> = (0..10).cycle().take(10 * each).collect();
    let pixels = labels
        .iter()
        .flat_map(|&class| (0..3 * 256).map(move |at| (class, at)))
        .map(|(class, at)| {
            let bright = if (at / 16) % 10 == usize::from(class) { 160 } else { 40 };
            bright + (stream.bits() % 60) as u8
        })
        .collect();
    Images::new(16, 3, pixels, labels).expect("whole images")
}

fn experiment() -> Cifar10Experiment {
    let images = (images(60, 1), images(10, 2));
    Cifar10Experiment { evaluations: 40, ..Cifar10Experiment::new(images, 1, Budget::Short) }
}

type Pieces = BTreeMap<String, Piece>;

/// Runs it with what is kept already; says what is kept then, and what was done now.
fn run(experiment: &Cifar10Experiment, before: Pieces) -> (Vec<Cifar10Row>, Pieces, Vec<String>) {
    let (kept, done) = (Mutex::new(before), Mutex::new(Vec::new()));
    let rows = experiment.run(
        &experiment.draws().expect("enough images"),
        &Kept {
            recall: &|name| kept.lock().expect("whole").get(name).cloned(),
            keep: &|name, piece| {
                done.lock().expect("whole").push(name.to_owned());
                kept.lock().expect("whole").insert(name.to_owned(), piece.clone());
                Ok(())
            },
        },
        &|done, total, _| assert!(done < total),
    );
    let (kept, done) = (kept.into_inner().expect("whole"), done.into_inner().expect("whole"));
    (rows.expect("it ends"), kept, done)
}

/// Is nobody reached by a competitor's data, along any chain?
fn keeps_the_rule(usage: &[(usize, usize)], competing: &CompetingGraph) -> bool {
    let mut reached = [[false; 10]; 10];
    (0..10).for_each(|a| reached[a][a] = true);
    for _ in 0..10 {
        for &(from, to) in usage {
            reached.iter_mut().for_each(|of| of[to] |= of[from]);
        }
    }
    competing.pairs().all(|(a, b)| !reached[a][b] && !reached[b][a])
}

#[test]
fn a_table_is_made_in_pieces_and_goes_on() {
    let experiment = experiment();
    let draws = experiment.draws().expect("enough images");
    assert_eq!(draws[0].hash(), experiment.draws().expect("enough images")[0].hash());
    let (rows, kept, done) = run(&experiment, Pieces::new());
    assert_eq!(rows.iter().map(|row| row.method).collect::<Vec<_>>(), METHODS);
    // Three rates tried, but for one that differs in its plan alone; twice two other numbers of networks;
    // and one draw.
    assert_eq!(done.len(), (METHODS.len() - 1) * 3 + 4 + METHODS.len());
    for row in &rows {
        assert_eq!(row.pieces.len(), 1);
        for (piece, draw) in row.pieces.iter().zip(&draws) {
            assert!(keeps_the_rule(&piece.usage, &draw.competing), "{}", row.method.name());
            assert_eq!(piece.test.len(), 10);
            assert!(piece.gradients.0 <= 40, "{}: {:?}", row.method.name(), piece.gradients);
            assert_eq!(piece.gradients.1 > 0, row.method.source().is_some());
        }
        let needs_nobody = matches!(row.method, Method::Local | Method::LocalEnsemble);
        assert_eq!(row.pieces.iter().all(|piece| piece.usage.is_empty()), needs_nobody);
    }
    let local = &rows[0].pieces[0];
    assert!(local.test.iter().all(|accuracy| (0.0..=1.0).contains(accuracy)));

    // What is there is not done again, and what is missing comes out the same.
    let mut some = kept.clone();
    let missing: Vec<String> = kept.keys().step_by(5).cloned().collect();
    missing.iter().for_each(|name| drop(some.remove(name)));
    let (again, all, mut done) = run(&experiment, some);
    done.sort();
    assert_eq!(done, missing);
    assert_eq!(all, kept);
    for (again, row) in again.iter().zip(&rows) {
        assert_eq!((again.chosen, &again.pieces), (row.chosen, &row.pieces));
    }
}
