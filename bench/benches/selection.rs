//! `cargo bench`: selection, proof and reasons at small and middling sizes.

use divan::{Bencher, black_box};
use fedcompetitors_graphs::{Certificate, refusals};
use fedcompetitors_select::{
    Setting,
    generate::{Shape, instance},
    greedy, paper,
};

fn main() {
    divan::main();
}

fn shape(participants: usize) -> Shape {
    Shape { participants, competing_density: 0.01, benefit_density: 0.2 }
}

#[divan::bench(args = [50, 200, 1000])]
fn select(bencher: Bencher, participants: usize) {
    let (competing, benefit) = instance(shape(participants), 1);
    bencher.bench(|| greedy(Setting::new(black_box(&competing), black_box(&benefit))));
}

#[divan::bench(args = [50, 200])]
fn select_word_for_word(bencher: Bencher, participants: usize) {
    let (competing, benefit) = instance(shape(participants), 1);
    bencher.bench(|| paper::literal(black_box(&competing), black_box(&benefit)));
}

#[divan::bench(args = [50, 200, 1000])]
fn prove(bencher: Bencher, participants: usize) {
    let (competing, benefit) = instance(shape(participants), 1);
    let plan = greedy(Setting::new(&competing, &benefit));
    bencher.bench(|| Certificate::prove(black_box(&competing), black_box(&plan.usage)));
}

#[divan::bench(args = [50, 200, 1000])]
fn give_every_reason(bencher: Bencher, participants: usize) {
    let (competing, benefit) = instance(shape(participants), 1);
    let plan = greedy(Setting::new(&competing, &benefit));
    bencher.bench(|| refusals(black_box(&competing), &benefit, &plan.usage, None).count());
}
