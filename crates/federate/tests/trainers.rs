//! Trainers against their equations, and against what must not flow.

use std::sync::atomic::{AtomicU64, Ordering};

use fedcompetitors_federate::{
    FederateError, Federation,
    train::{Averaging, Correction, Effort, Hypernetworks, Mixing, Trainer, Weights},
};
use fedcompetitors_graphs::{
    CompetingGraph, Participants, Reachability, UsageGraph, random::Stream,
};
use fedcompetitors_learn::{Batch, LearnError, Learner, Part, Rule};

/// Wants parameters to be `goal`: loss ½ Σ s (x − goal)², with slope s of its own.
struct Bowl {
    goal: Vec<f32>,
    slope: f32,
    samples: usize,
    looks: AtomicU64,
}

impl Bowl {
    fn new(goal: [f32; 3], slope: f32, samples: usize) -> Self {
        Self { goal: goal.to_vec(), slope, samples, looks: AtomicU64::new(0) }
    }
}

impl Learner for Bowl {
    fn parameters(&self) -> usize {
        self.goal.len()
    }

    fn shared(&self) -> usize {
        self.goal.len()
    }

    fn samples(&self, _: Part) -> usize {
        self.samples
    }

    fn initial(&self, _: &mut Stream) -> Vec<f32> {
        vec![0.5; self.goal.len()]
    }

    fn gradient(&self, _: Part, _: Batch<'_>, parameters: &[f32], gradient: &mut [f32]) -> f64 {
        for ((gradient, x), goal) in gradient.iter_mut().zip(parameters).zip(&self.goal) {
            *gradient = self.slope * (x - goal);
        }
        f64::from(parameters.iter().sum::<f32>())
    }

    /// Less at every look, so that the last model is kept.
    fn loss(&self, _: Part, parameters: &[f32]) -> f64 {
        let finite = f64::from(parameters.iter().sum::<f32>()) * 0.0;
        finite - self.looks.fetch_add(1, Ordering::Relaxed) as f64
    }

    fn metric(&self, _: Part, _: &[f32]) -> Option<f64> {
        None
    }
}

fn bowls() -> Vec<Bowl> {
    vec![
        Bowl::new([1.0, 2.0, -1.0], 0.5, 300),
        Bowl::new([-1.0, 0.0, 3.0], 1.5, 100),
        Bowl::new([0.0, 4.0, 0.5], 1.0, 200),
    ]
}

fn graph(count: usize, edges: &[(usize, usize)]) -> UsageGraph {
    let mut usage = UsageGraph::builder(&Participants::numbered(count));
    edges.iter().for_each(|&(from, to)| usage.add(from, to).expect("two participants"));
    usage.build()
}

fn everybody() -> UsageGraph {
    graph(3, &[(0, 1), (1, 0), (0, 2), (2, 0), (1, 2), (2, 1)])
}

const RATE: f32 = 0.1;

fn train(
    trainer: &dyn Trainer,
    bowls: &[Bowl],
    usage: &UsageGraph,
    evaluations: usize,
) -> Vec<Vec<f32>> {
    let competing = CompetingGraph::builder(usage.participants()).build();
    let learners = bowls.iter().map(|bowl| bowl as &dyn Learner).collect();
    let federation = Federation::new(&competing, learners, 1).expect("one learner each");
    let rule = Rule::Sgd { rate: RATE, momentum: 0.0, decay: 0.0 };
    let models = trainer.train(&federation, usage, Effort { evaluations, rule });
    assert_eq!(federation.evaluations(), (evaluations * bowls.len()) as u64);
    models.expect("it does not diverge")
}

fn close(found: &[f32], expected: &[f64]) {
    for (found, expected) in found.iter().zip(expected) {
        assert!((f64::from(*found) - expected).abs() < 1e-5, "{found} instead of {expected}");
    }
}

/// Rounds of `local` steps, each with the gradient that `corrected` gives, then the mean
/// weighted by samples; with twice the digits, straight from the equations.
fn rounds(
    bowls: &[Bowl],
    count: usize,
    local: usize,
    mut corrected: impl FnMut(usize, f64, f64, f64) -> f64,
    mut after: impl FnMut(f64, &[f64]),
    coordinate: usize,
) -> f64 {
    let total: usize = bowls.iter().map(|bowl| bowl.samples).sum();
    let mut common = 0.5;
    for _ in 0..count {
        let ends: Vec<f64> = bowls
            .iter()
            .enumerate()
            .map(|(who, bowl)| {
                let mut x = common;
                for _ in 0..local {
                    let gradient = f64::from(bowl.slope) * (x - f64::from(bowl.goal[coordinate]));
                    x -= f64::from(RATE) * corrected(who, gradient, x, common);
                }
                x
            })
            .collect();
        after(common, &ends);
        common = ends.iter().zip(bowls).map(|(x, bowl)| x * bowl.samples as f64).sum::<f64>()
            / total as f64;
    }
    common
}

#[test]
fn averages_are_weighted_by_samples() {
    let bowls = bowls();
    let trainer = Averaging { local_steps: 4, correction: Correction::None };
    let models = train(&trainer, &bowls, &everybody(), 20);
    let expected: Vec<f64> =
        (0..3).map(|at| rounds(&bowls, 5, 4, |_, g, _, _| g, |_, _| {}, at)).collect();
    models.iter().for_each(|model| close(model, &expected));
}

#[test]
fn fedprox_follows_its_equation() {
    let bowls = bowls();
    let pull = 0.7;
    let trainer = Averaging { local_steps: 4, correction: Correction::Proximal { pull: 0.7 } };
    let models = train(&trainer, &bowls, &everybody(), 20);
    let proximal = |_: usize, g: f64, x: f64, common: f64| g + pull * (x - common);
    let expected: Vec<f64> =
        (0..3).map(|at| rounds(&bowls, 5, 4, proximal, |_, _| {}, at)).collect();
    models.iter().for_each(|model| close(model, &expected));
}

/// SCAFFOLD with the second of its two updates: cᵢ⁺ = cᵢ − c + (x − yᵢ) / (K η).
#[test]
fn scaffold_follows_its_equations() {
    use std::cell::RefCell;
    let bowls = bowls();
    let trainer = Averaging { local_steps: 4, correction: Correction::ControlVariates };
    let models = train(&trainer, &bowls, &everybody(), 20);
    let weights: Vec<f64> = bowls.iter().map(|bowl| bowl.samples as f64 / 600.0).collect();
    let expected: Vec<f64> = (0..3)
        .map(|at| {
            let controls = RefCell::new((vec![0.0; 3], 0.0));
            let corrected = |who: usize, g: f64, _: f64, _: f64| {
                let controls = controls.borrow();
                g + controls.1 - controls.0[who]
            };
            let after = |common: f64, ends: &[f64]| {
                let mut controls = controls.borrow_mut();
                let together = controls.1;
                for (control, end) in controls.0.iter_mut().zip(ends) {
                    *control += (common - end) / (4.0 * f64::from(RATE)) - together;
                }
                controls.1 = controls.0.iter().zip(&weights).map(|(c, w)| c * w).sum();
            };
            rounds(&bowls, 5, 4, corrected, after, at)
        })
        .collect();
    models.iter().for_each(|model| close(model, &expected));
    // It differs from plain averaging.
    let plain = rounds(&bowls, 5, 4, |_, g, _, _| g, |_, _| {}, 0);
    assert!((plain - expected[0]).abs() > 1e-3);
}

#[test]
fn without_edges_everybody_trains_alone() {
    let bowls = bowls();
    let alone = graph(3, &[]);
    let trainers: [&dyn Trainer; 2] = [
        &Averaging { local_steps: 5, correction: Correction::ControlVariates },
        &Mixing { local_steps: 5, weights: Weights::Samples, against_drift: true },
    ];
    for trainer in trainers {
        for (model, bowl) in train(trainer, &bowls, &alone, 30).iter().zip(&bowls) {
            let expected: Vec<f64> = (0..3)
                .map(|at| rounds(std::slice::from_ref(bowl), 30, 1, |_, g, _, _| g, |_, _| {}, at))
                .collect();
            close(model, &expected);
        }
    }
}

/// What a participant's data is changes the models of those whom it reaches along usage
/// edges, and no bit of anybody else's.
#[test]
fn information_flows_along_usage_edges_only() {
    let trainers: [&dyn Trainer; 3] = [
        &Mixing { local_steps: 3, weights: Weights::Samples, against_drift: true },
        &Mixing { local_steps: 1, weights: Weights::Samples, against_drift: false },
        &Averaging { local_steps: 3, correction: Correction::ControlVariates },
    ];
    for seed in 0..40 {
        let mut stream = Stream::new(seed, "flows", 0);
        let count = 6;
        let mut edges: Vec<(usize, usize)> = Vec::new();
        for from in 0..count {
            edges.extend(
                (0..count).filter(|&to| to != from && stream.unit() < 0.25).map(|to| (from, to)),
            );
        }
        let usage = graph(count, &edges);
        let reach = Reachability::of(&usage);
        let draw = |changed: Option<usize>| -> Vec<Bowl> {
            let mut stream = Stream::new(seed, "goals", 0);
            (0..count)
                .map(|who| {
                    let more = if changed == Some(who) { 5.0 } else { 0.0 };
                    let mut goal = || stream.unit() as f32 * 4.0 + more;
                    Bowl::new([goal(), goal(), goal()], 0.5, 100)
                })
                .collect()
        };
        for trainer in trainers {
            let before = train(trainer, &draw(None), &usage, 30);
            for source in 0..count {
                let after = train(trainer, &draw(Some(source)), &usage, 30);
                for who in 0..count {
                    if !reach.reaches(source, who) {
                        assert_eq!(
                            before[who],
                            after[who],
                            "{}: {source} to {who}",
                            trainer.name()
                        );
                    } else if trainer.name() == "mixing" {
                        assert_ne!(
                            before[who],
                            after[who],
                            "{}: {source} to {who}",
                            trainer.name()
                        );
                    }
                }
            }
        }
    }
}

/// A personal hypernetwork learns from its owner and the owner's collaborators.
#[test]
fn a_personal_hypernetwork_learns_from_collaborators() {
    let bowls: Vec<Bowl> = [1.0, 1.0, -1.0].map(|goal| Bowl::new([goal; 3], 1.0, 100)).into();
    let competing = CompetingGraph::builder(&Participants::numbered(3)).build();
    let learners = bowls.iter().map(|bowl| bowl as &dyn Learner).collect();
    let federation = Federation::new(&competing, learners, 1).expect("one learner each");
    let rule = Rule::Adam { rate: 0.01, decay: 0.0 };
    let trainer = Hypernetworks { ray_rate: 0.0, ..Hypernetworks::default() };
    let usage = graph(3, &[(1, 0), (2, 1)]);
    let effort = Effort { evaluations: 400, rule };
    let models = trainer.train(&federation, &usage, effort).expect("it does not diverge");
    // The first has a collaborator that agrees, the second one that does not, the third none.
    for (model, (least, most)) in models.iter().zip([(0.9, 1.1), (-0.6, 0.6), (-1.1, -0.9)]) {
        assert!(model.iter().all(|x| (least..most).contains(x)), "{models:?}");
    }
}

#[test]
fn a_diverging_training_is_an_error_that_names_the_participant() {
    let bowls = bowls();
    let competing = CompetingGraph::builder(&Participants::numbered(3)).build();
    let learners = bowls.iter().map(|bowl| bowl as &dyn Learner).collect();
    let federation = Federation::new(&competing, learners, 1).expect("one learner each");
    let rule = Rule::Sgd { rate: 1e9, momentum: 0.9, decay: 0.0 };
    let trainer = Averaging { local_steps: 5, correction: Correction::None };
    let effort = Effort { evaluations: 100, rule };
    let error = trainer.train(&federation, &everybody(), effort).expect_err("it diverges");
    let expected =
        FederateError::Participant { participant: "v1".into(), error: LearnError::Diverged };
    assert_eq!(error, expected);
    assert_eq!(error.hint(), "try a smaller learning rate");
}
