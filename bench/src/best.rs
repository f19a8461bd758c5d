//! The best plan: how far greedy and local search fall short of it, how well it is
//! proven, and how long that takes.

use std::time::{Duration, Instant};

use fedcompetitors_select::{
    Effort, Setting,
    generate::{Shape, instance},
    greedy, local_search, optimal,
};

use crate::{
    record::Measurement,
    timing::{middle, timed},
};

/// Participants, competition, benefits, seconds, and the part of the instances to run.
const SHAPES: [(usize, f64, f64, u64, u64); 7] = [
    (10, 0.2, 0.5, 10, 1),
    (20, 0.1, 0.3, 10, 1),
    (20, 0.2, 0.5, 10, 1),
    (30, 0.1, 0.3, 10, 1),
    (30, 0.2, 0.5, 10, 4),
    (50, 0.05, 0.2, 10, 4),
    (100, 0.05, 0.1, 60, 10),
];

/// Runs every shape, prints a table, returns the raw figures.
pub fn run(instances: u64) -> Vec<Measurement> {
    let mut measurements = Vec::new();
    println!(
        "{:>12} {:>9} {:>8} {:>10}  {:>7} {:>12} {:>9}  {:>8} {:>8}  {:>9} {:>9}",
        "participants",
        "competing",
        "benefits",
        "instances",
        "greedy",
        "local search",
        "optimal",
        "gap",
        "largest",
        "seconds",
        "largest"
    );
    for (participants, competing_density, benefit_density, seconds, part) in SHAPES {
        let shape = Shape { participants, competing_density, benefit_density };
        let count = (instances / part).max(1);
        let mut columns = [const { Vec::new() }; 5];
        for seed in 1..=count {
            let row = measure(shape, seed, seconds, &mut measurements);
            for (column, value) in columns.iter_mut().zip(row) {
                column.push(value);
            }
        }
        let mean = |list: &[f64]| list.iter().sum::<f64>() / list.len() as f64;
        let largest = |list: &[f64]| list.iter().copied().fold(0.0, f64::max);
        let [greedy, local, best, gap, time] = &columns;
        println!(
            "{participants:>12} {:>7} % {:>6} % {count:>10}  {:>5.1} % {:>10.1} % {:>9.2}  {:>6.2} % {:>6.2} %  {:>9.4} {:>9.4}",
            competing_density * 100.0,
            benefit_density * 100.0,
            mean(greedy) * 100.0,
            mean(local) * 100.0,
            mean(best),
            middle(gap) * 100.0,
            largest(gap) * 100.0,
            middle(time),
            largest(time),
        );
    }
    println!(
        "Greedy and local search: mean part of the best plan's welfare. Gap and seconds: middle and largest."
    );
    measurements
}

/// Greedy's and local search's part of the best welfare, that welfare, its gap, seconds.
fn measure(shape: Shape, seed: u64, limit: u64, measurements: &mut Vec<Measurement>) -> [f64; 5] {
    let (competing, benefit) = instance(shape, seed);
    let start = greedy(Setting::new(&competing, &benefit)).welfare;
    let effort = Effort { seed, ..Effort::default() };
    let local = local_search(Setting::new(&competing, &benefit), effort, 300).welfare;
    let deadline = Instant::now() + Duration::from_secs(limit);
    let (seconds, plan) = timed(|| {
        optimal(Setting::new(&competing, &benefit), Effort { deadline: Some(deadline), ..effort })
    });
    let gap = plan.upper_bound / plan.welfare - 1.0;
    let figures = [
        ("greedy", start, "welfare"),
        ("local search", local, "welfare"),
        ("optimal", plan.welfare, "welfare"),
        ("bound", plan.upper_bound, "welfare"),
        ("optimal", seconds, "s"),
    ];
    for (what, value, unit) in figures {
        measurements.push(Measurement { what, shape, repetition: seed as usize, value, unit });
    }
    [start / plan.welfare, local / plan.welfare, plan.welfare, gap, seconds]
}
