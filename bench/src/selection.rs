//! The paper's selection: how much faster than its own text, how it grows, what memory
//! it takes, and what the proof costs.
//!
//! Machines are noisy: everything is repeated, the twins take turns, and both the best
//! and the middle time are printed.

use fedcompetitors_graphs::{BenefitGraph, Certificate, CompetingGraph};
use fedcompetitors_select::{
    Setting,
    generate::{Shape, instance},
    greedy, greedy_usage, paper,
};

use crate::{
    MEMORY,
    record::Measurement,
    timing::{best, middle, timed},
};

/// Runs everything, prints a summary, returns the raw figures.
pub fn run(largest: usize) -> Vec<Measurement> {
    let mut measurements = Vec::new();
    println!("Against the paper's text, word for word, 200 participants:");
    for (competing_density, benefit_density) in [(0.01, 0.2), (0.2, 0.5)] {
        against_the_paper(
            Shape { participants: 200, competing_density, benefit_density },
            &mut measurements,
        );
    }
    println!("\nGrowth, 1 % competition, 20 % benefits (best of 5, in brackets the middle):");
    let sizes: Vec<usize> = (0..4).rev().map(|halvings| largest >> halvings).collect();
    let shape =
        |participants| Shape { participants, competing_density: 0.01, benefit_density: 0.2 };
    let mut points = Vec::new();
    for participants in sizes {
        let seconds = grown(shape(participants), &mut measurements);
        points.push((participants as f64, seconds));
    }
    println!("  time grows with n to the power {:.2}", exponent(&points));
    measurements
}

fn against_the_paper(shape: Shape, measurements: &mut Vec<Measurement>) {
    let (competing, benefit) = instance(shape, 1);
    let (mut literal, mut fast) = (Vec::new(), Vec::new());
    for repetition in 0..9 {
        let (seconds, usage) = timed(|| paper::literal(&competing, &benefit));
        literal.push(seconds);
        measurements.push(seconds_of("paper word for word", shape, repetition, seconds));
        for within in 0..9 {
            let (seconds, same) = timed(|| greedy_usage(Setting::new(&competing, &benefit)));
            assert_eq!(same, usage, "the twins must agree");
            fast.push(seconds);
            measurements.push(seconds_of(
                "greedy usage graph",
                shape,
                repetition * 9 + within,
                seconds,
            ));
        }
    }
    println!(
        "  competition {:>4} %, benefits {:>2} %: {:.1} ms and {:.3} ms (middle): {:.0} times faster; best of each: {:.0} times",
        shape.competing_density * 100.0,
        shape.benefit_density * 100.0,
        middle(&literal) * 1e3,
        middle(&fast) * 1e3,
        middle(&literal) / middle(&fast),
        best(&literal) / best(&fast),
    );
}

/// Measures one size and returns the best time of a selection.
fn grown(shape: Shape, measurements: &mut Vec<Measurement>) -> f64 {
    let (competing, benefit) = instance(shape, 1);
    let mut seconds = [const { Vec::new() }; 3];
    for repetition in 0..5 {
        let times = once(&competing, &benefit, shape, repetition, measurements);
        for (list, time) in seconds.iter_mut().zip(times) {
            list.push(time);
        }
    }
    let bits = memory(&competing, &benefit, shape, measurements);
    let [select, prove, check] =
        seconds.map(|list| format!("{:7.3} s ({:.3} s)", best(&list), middle(&list)));
    println!(
        "  {:>6} participants, {:>9} benefits: select {select}, prove {prove}, check {check}, memory {bits:.2} bits a pair",
        shape.participants,
        benefit.len(),
    );
    measurements
        .iter()
        .filter(|m| m.what == "greedy" && m.shape == shape)
        .map(|m| m.value)
        .fold(f64::INFINITY, f64::min)
}

fn once(
    competing: &CompetingGraph,
    benefit: &BenefitGraph,
    shape: Shape,
    repetition: usize,
    measurements: &mut Vec<Measurement>,
) -> [f64; 3] {
    let (select, plan) = timed(|| greedy(Setting::new(competing, benefit)));
    let (prove, certificate) = timed(|| Certificate::prove(competing, &plan.usage));
    let certificate = certificate.expect("the plan keeps the rule");
    let (check, result) = timed(|| certificate.check(competing, &plan.usage));
    assert_eq!(result, Ok(()));
    for (what, seconds) in [("greedy", select), ("prove", prove), ("check certificate", check)] {
        measurements.push(seconds_of(what, shape, repetition, seconds));
    }
    [select, prove, check]
}

/// Most bits that a selection held beyond its input, its result included, for each
/// ordered pair.
fn memory(
    competing: &CompetingGraph,
    benefit: &BenefitGraph,
    shape: Shape,
    measurements: &mut Vec<Measurement>,
) -> f64 {
    MEMORY.reset_peak_usage();
    let before = MEMORY.current_usage();
    let plan = greedy(Setting::new(competing, benefit));
    let held = MEMORY.peak_usage() - before;
    drop(plan);
    let bits = held as f64 * 8.0 / (shape.participants as f64).powi(2);
    measurements.push(Measurement {
        what: "greedy memory",
        shape,
        repetition: 0,
        value: bits,
        unit: "bits a pair",
    });
    bits
}

fn seconds_of(what: &'static str, shape: Shape, repetition: usize, seconds: f64) -> Measurement {
    Measurement { what, shape, repetition, value: seconds, unit: "s" }
}

/// The slope of log time over log size, by least squares.
fn exponent(points: &[(f64, f64)]) -> f64 {
    let logs: Vec<(f64, f64)> = points.iter().map(|(n, t)| (n.ln(), t.ln())).collect();
    let count = logs.len() as f64;
    let (mean_x, mean_y) =
        logs.iter().fold((0.0, 0.0), |sum, p| (sum.0 + p.0 / count, sum.1 + p.1 / count));
    let (above, below) = logs.iter().fold((0.0, 0.0), |sum, (x, y)| {
        (sum.0 + (x - mean_x) * (y - mean_y), sum.1 + (x - mean_x).powi(2))
    });
    above / below
}
