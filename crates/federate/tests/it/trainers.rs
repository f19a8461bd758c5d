//! Trainers against their equations, and against what must not flow.

use std::{
    collections::HashSet,
    sync::{
        Mutex,
        atomic::{AtomicU64, Ordering},
    },
};

use fedcompetitors_federate::{
    FederateError, Federation,
    estimate::{Estimator, Inputs, JointHypernetwork},
    exchange::Exchange,
    kinds::Models,
    train::{
        Averaging, Effort, Hypernetworks, Mixed, Mixing, Proximal, Scaffold, Trainer, TrainerKind,
        Weights,
    },
};
use fedcompetitors_graphs::{
    BenefitGraph, Choice, CompetingGraph, Entry, Participants, Reachability, Registry, Rule,
    UsageGraph, random::Stream,
};
use fedcompetitors_learn::{
    Batch, LearnError, Learner, OptimizerSettings, Part, synthetic::Synthetic,
};
use fedcompetitors_select::{Effort as Search, Objective, Policy, Setting};
use fedcompetitors_testing::repeat;

/// Wants parameters to be `goal`: loss ½ Σ s (x − goal)², with slope s of its own.
struct Bowl {
    goal: Vec<f32>,
    slope: f32,
    samples: usize,
    /// Parameters that are shared; the rest is its head.
    shared: usize,
    /// Whether it says what it thinks of a model, or likes every look better.
    honest: bool,
    looks: AtomicU64,
}

impl Bowl {
    fn new(goal: [f32; 3], slope: f32, samples: usize) -> Self {
        let (goal, shared) = (goal.to_vec(), 3);
        Self { goal, slope, samples, shared, honest: false, looks: AtomicU64::new(0) }
    }

    fn honest(self) -> Self {
        Self { honest: true, ..self }
    }

    fn with_head(mut self, head: &[f32]) -> Self {
        self.goal.extend_from_slice(head);
        self
    }
}

impl Learner for Bowl {
    fn parameters(&self) -> usize {
        self.goal.len()
    }

    fn shared(&self) -> usize {
        self.shared
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

    /// Less at every look, so that the last model is kept; unless it is honest.
    fn loss(&self, _: Part, parameters: &[f32]) -> f64 {
        if self.honest {
            let squares = parameters.iter().zip(&self.goal).map(|(x, goal)| (x - goal).powi(2));
            return f64::from(0.5 * self.slope * squares.sum::<f32>());
        }
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
    (evaluations, local_steps): (usize, usize),
) -> Vec<Vec<f32>> {
    train_with(trainer, bowls, usage, &no_benefit(usage), (evaluations, local_steps))
}

fn no_benefit(usage: &UsageGraph) -> BenefitGraph {
    BenefitGraph::builder(usage.participants()).build()
}

fn train_with(
    trainer: &dyn Trainer,
    bowls: &[Bowl],
    usage: &UsageGraph,
    benefit: &BenefitGraph,
    (evaluations, local_steps): (usize, usize),
) -> Vec<Vec<f32>> {
    let competing = CompetingGraph::builder(usage.participants()).build();
    let learners = bowls.iter().map(|bowl| bowl as &dyn Learner).collect();
    let federation = Federation::new(&competing, learners, 1).expect("one learner each");
    let rule = OptimizerSettings::Sgd { rate: RATE, momentum: 0.0, decay: 0.0 };
    let effort = Effort { evaluations, local_steps, rule, batch: None };
    let models = trainer.train(&federation, usage, benefit, effort);
    assert_eq!(federation.evaluations(), (evaluations * bowls.len()) as u64);
    models.expect("it does not diverge")
}

fn close(found: &[f32], expected: &[f64]) {
    assert_eq!(found.len(), expected.len());
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
    let models = train(&Averaging {}, &bowls, &everybody(), (20, 4));
    let expected: Vec<f64> =
        (0..3).map(|at| rounds(&bowls, 5, 4, |_, g, _, _| g, |_, _| {}, at)).collect();
    models.iter().for_each(|model| close(model, &expected));
}

#[test]
fn fedprox_follows_its_equation() {
    let bowls = bowls();
    let pull = 0.7;
    let models = train(&Proximal { pull }, &bowls, &everybody(), (20, 4));
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
    let models = train(&Scaffold {}, &bowls, &everybody(), (20, 4));
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
    let trainers: [&dyn Trainer; 2] = [&Scaffold {}, &Mixing::default()];
    for trainer in trainers {
        for (model, bowl) in train(trainer, &bowls, &alone, (20, 5)).iter().zip(&bowls) {
            let expected: Vec<f64> = (0..3)
                .map(|at| rounds(std::slice::from_ref(bowl), 20, 1, |_, g, _, _| g, |_, _| {}, at))
                .collect();
            close(model, &expected);
        }
    }
}

/// Mixing by its definition, one coordinate, with twice the digits: `parts[to][from]`.
/// Each look replaces half of what was kept, as these learners like every look better.
fn mixed(
    bowls: &[Bowl],
    mixing: &Mixing,
    local_steps: usize,
    parts: &[[f64; 3]; 3],
    coordinate: usize,
) -> Vec<f64> {
    let slope = |who: usize, x: f64| {
        let bowl: &Bowl = &bowls[who];
        f64::from(bowl.slope) * (x - f64::from(bowl.goal[coordinate]))
    };
    let rate = mixing.server_rate;
    let mut models = vec![0.5; 3];
    let mut added = [0.0; 3];
    let mut kept: Vec<Option<f64>> = vec![None; 3];
    let look = |kept: &mut Option<f64>, model: f64| {
        *kept = Some(kept.map_or(model, |mean| f64::midpoint(mean, model)));
    };
    let mut done = 0;
    while done < 20 {
        let start = models.clone();
        let mut means = vec![0.0; 3];
        for who in 0..3 {
            for _ in 0..local_steps {
                let gradient = slope(who, models[who]);
                means[who] += gradient / local_steps as f64;
                models[who] -= f64::from(RATE) * (gradient + added[who]);
            }
        }
        done += local_steps;
        let mix = |to: usize, of: &[f64]| -> f64 { (0..3).map(|a| parts[to][a] * of[a]).sum() };
        let ends = models.clone();
        let changes: Vec<f64> = ends.iter().zip(&start).map(|(end, start)| end - start).collect();
        for to in (0..3).filter(|&to| parts[to][to] < 1.0) {
            let target = match mixing.mix {
                Mixed::Models => mix(to, &ends),
                Mixed::Updates => start[to] + mix(to, &changes),
                Mixed::Gradients => start[to] - f64::from(RATE) * mix(to, &means),
            };
            models[to] = start[to] + rate * (target - start[to]);
            added[to] = if mixing.against_drift { mix(to, &means) - means[to] } else { 0.0 };
        }
        if done == 20 {
            kept.iter_mut().zip(&models).for_each(|(kept, &model)| look(kept, model));
        }
    }
    kept.into_iter().flatten().collect()
}

#[test]
fn mixing_follows_its_definition() {
    let bowls = bowls();
    // The second learns from both others, the first from the second.
    let usage = graph(3, &[(0, 1), (2, 1), (1, 0)]);
    let by_samples = [[0.75, 0.25, 0.0], [0.5, 1.0 / 6.0, 1.0 / 3.0], [0.0, 0.0, 1.0]];
    let mut benefit = BenefitGraph::builder(usage.participants());
    for (from, to, value) in [(0, 1, 0.2), (2, 1, 0.4), (1, 0, 0.3)] {
        benefit.add(from, to, value).expect("a benefit");
    }
    let benefit = benefit.build();
    let by_benefit = [[0.7, 0.3, 0.0], [0.2, 0.4, 0.4], [0.0, 0.0, 1.0]];
    let half_own = [[0.5, 0.5, 0.0], [0.3, 0.5, 0.2], [0.0, 0.0, 1.0]];
    let usual = Mixing { checked: false, ..Mixing::default() };
    let cases = [
        (usual.clone(), 2, by_samples),
        (Mixing { against_drift: false, ..usual }, 2, by_samples),
        (Mixing { mix: Mixed::Updates, ..usual }, 2, by_samples),
        (Mixing { mix: Mixed::Updates, server_rate: 1.4, ..usual }, 2, by_samples),
        (Mixing { server_rate: 0.6, ..usual }, 2, by_samples),
        // Gradients are mixed at each step: rounds of one step, in this definition.
        (Mixing { mix: Mixed::Gradients, against_drift: false, ..usual }, 1, by_samples),
        (Mixing { weights: Weights::Benefit, ..usual }, 2, by_benefit),
        (Mixing { own_part: Some(0.5), ..usual }, 2, half_own),
    ];
    for (mixing, local_steps, parts) in cases {
        let models = train_with(&mixing, &bowls, &usage, &benefit, (20, local_steps));
        for at in 0..3 {
            let expected = mixed(&bowls, &mixing, local_steps, &parts, at);
            let found: Vec<f32> = models.iter().map(|model| model[at]).collect();
            close(&found, &expected);
        }
    }
}

/// How many steps a round has changes nothing where gradients are mixed at each.
#[test]
fn gradients_are_mixed_at_every_step() {
    let (bowls, usage) = (bowls(), graph(3, &[(0, 1), (2, 1), (1, 0)]));
    let models = |local_steps| {
        let mixing = Mixing { mix: Mixed::Gradients, ..Mixing::default() };
        train(&mixing, &bowls, &usage, (20, local_steps))
    };
    assert_eq!(models(1), models(5));
}

/// Among those who all learn from each other, mixing is what SCAFFOLD does.
#[test]
fn mixing_inside_a_clique_is_scaffold() {
    let bowls = bowls();
    let mixing = Mixing { checked: false, ..Mixing::default() };
    let expected = train(&Scaffold {}, &bowls, &everybody(), (20, 4));
    for (found, expected) in train(&mixing, &bowls, &everybody(), (20, 4)).iter().zip(expected) {
        close(found, &expected.iter().map(|&x| f64::from(x)).collect::<Vec<_>>());
    }
}

/// Whom its collaborators lead astray notices, and ends as well as alone.
#[test]
fn mixing_never_costs_more_than_noise() {
    let setting = Synthetic { samples: vec![300, 300, 300], ..Synthetic::strong() };
    let setting = Synthetic { negated: vec![false, false, true], ..setting };
    let learners = setting.learners(3, 20, 500).expect("enough samples");
    let participants = Participants::numbered(3);
    let competing = CompetingGraph::builder(&participants).build();
    let test_losses = |trainer: &dyn Trainer, usage: &UsageGraph| -> Vec<f64> {
        let all = learners.iter().map(|learner| learner as &dyn Learner).collect();
        let federation = Federation::new(&competing, all, 3).expect("one learner each");
        let rule = OptimizerSettings::Adam { rate: 0.03, decay: 0.001 };
        let effort = Effort { evaluations: 600, local_steps: 10, rule, batch: None };
        let models = trainer
            .train(&federation, usage, &no_benefit(usage), effort)
            .expect("it does not diverge");
        models.iter().zip(&learners).map(|(model, a)| a.loss(Part::Test, model)).collect()
    };
    let alone = test_losses(&Averaging {}, &graph(3, &[]));
    // The first two have one task, the third the opposite one; all are told to mix.
    let careless = test_losses(&Mixing { checked: false, ..Mixing::default() }, &everybody());
    let careful = test_losses(&Mixing::default(), &everybody());
    for who in 0..3 {
        let (alone, careless, careful) = (alone[who], careless[who], careful[who]);
        assert!(careless > 2.0 * alone, "the plan does harm: {careless} and {alone} alone");
        assert!(careful < 1.25 * alone, "{careful} and {alone} alone");
    }
}

/// Remembers which rows were asked for.
struct Diary {
    bowl: Bowl,
    rows: Mutex<Vec<Option<Vec<u32>>>>,
}

impl Learner for Diary {
    fn parameters(&self) -> usize {
        self.bowl.parameters()
    }

    fn shared(&self) -> usize {
        self.bowl.shared()
    }

    fn samples(&self, part: Part) -> usize {
        self.bowl.samples(part)
    }

    fn initial(&self, stream: &mut Stream) -> Vec<f32> {
        self.bowl.initial(stream)
    }

    fn gradient(&self, part: Part, batch: Batch<'_>, model: &[f32], gradient: &mut [f32]) -> f64 {
        let rows = match batch {
            Batch::All => None,
            Batch::Rows(rows) => Some(rows.to_vec()),
        };
        self.rows.lock().expect("no panic").push(rows);
        self.bowl.gradient(part, batch, model, gradient)
    }

    fn loss(&self, part: Part, model: &[f32]) -> f64 {
        self.bowl.loss(part, model)
    }

    fn metric(&self, _: Part, _: &[f32]) -> Option<f64> {
        None
    }
}

#[test]
fn batches_go_through_all_samples_and_a_larger_one_is_all() {
    let trainers: [&dyn Trainer; 3] = [
        &Averaging {},
        &Mixing::default(),
        &Hypernetworks { hidden: 4, ..Hypernetworks::default() },
    ];
    for trainer in trainers {
        for (batch, epoch) in [(Some(4), Some(2)), (Some(10), None), (Some(99), None), (None, None)]
        {
            let diary = Diary { bowl: Bowl::new([1.0; 3], 1.0, 10), rows: Mutex::default() };
            let usage = graph(1, &[]);
            let competing = CompetingGraph::builder(usage.participants()).build();
            let federation = Federation::new(&competing, vec![&diary], 1).expect("one learner");
            let rule = OptimizerSettings::Sgd { rate: RATE, momentum: 0.0, decay: 0.0 };
            let effort = Effort { evaluations: 20, local_steps: 10, rule, batch };
            trainer
                .train(&federation, &usage, &no_benefit(&usage), effort)
                .expect("it does not diverge");
            let rows = diary.rows.lock().expect("no panic");
            assert_eq!(rows.len(), 20);
            let Some(batches) = epoch else {
                assert!(rows.iter().all(Option::is_none), "{trainer:?} on {batch:?}");
                continue;
            };
            let mut orders = HashSet::new();
            for epoch in rows.chunks_exact(batches) {
                let seen: Vec<u32> = epoch.iter().flatten().flatten().copied().collect();
                assert_eq!(seen.len(), 8, "two batches of four, and two samples wait");
                assert_eq!(seen.iter().collect::<HashSet<_>>().len(), 8, "none twice");
                orders.insert(seen);
            }
            assert!(orders.len() > 5, "in ever new orders");
        }
    }
}

#[test]
fn any_policy_goes_with_any_trainer() {
    let bowls: Vec<Bowl> = (0..5).map(|a| Bowl::new([a as f32; 3], 1.0, 10 * (a + 1))).collect();
    let participants = Participants::numbered(5);
    let mut competing = CompetingGraph::builder(&participants);
    competing.report(0, 1).expect("two participants");
    competing.report(2, 4).expect("two participants");
    let competing = competing.build();
    let mut benefit = BenefitGraph::builder(&participants);
    for (from, to) in [(0, 2), (2, 0), (3, 0), (1, 3), (4, 1), (1, 4), (3, 2)] {
        benefit.add(from, to, 0.1).expect("a benefit");
    }
    let benefit = benefit.build();
    let setting = Setting::new(&competing, &benefit);
    for policy in Choice::<dyn Policy>::all() {
        let usage = policy.plan(&setting, Objective::Welfare, Search::default()).usage;
        for kind in TrainerKind::entries() {
            let trainer = kind.with_defaults();
            // These learners are neither linear models nor networks; and without a plan against chains a message must
            // carry its sender's data alone.
            let passes_on = policy.rule() == Rule::Messages && !trainer.sends_own_data_only();
            if passes_on || trainer.models() != Models::Any {
                continue;
            }
            let models = train_with(&*trainer, &bowls, &usage, &benefit, (40, 2));
            let finite = models.iter().flatten().all(|parameter| parameter.is_finite());
            assert!(models.len() == 5 && finite, "{} along {policy}", kind.name());
        }
    }
}

/// What a participant's data is changes the models of those whom it reaches along usage
/// edges, and no bit of anybody else's.
#[test]
fn information_flows_along_usage_edges_only() {
    let usual = Mixing::default();
    // The last one averages in groups, which may leave out a helper that the plan allows.
    let trainers: [(&dyn Trainer, usize, bool); 4] = [
        (&usual, 3, true),
        (&Mixing { against_drift: false, ..usual }, 1, true),
        (&Mixing { mix: Mixed::Updates, ..usual }, 2, true),
        (&Scaffold {}, 3, false),
    ];
    for seed in 0..u64::from(repeat(40)) {
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
        for (trainer, local_steps, uses_all) in trainers {
            let before = train(trainer, &draw(None), &usage, (30, local_steps));
            for source in 0..count {
                let after = train(trainer, &draw(Some(source)), &usage, (30, local_steps));
                for who in 0..count {
                    if !reach.reaches(source, who) {
                        assert_eq!(before[who], after[who], "{trainer:?}: {source} to {who}");
                    } else if uses_all {
                        assert_ne!(before[who], after[who], "{trainer:?}: {source} to {who}");
                    }
                }
            }
        }
    }
}

/// Whether somebody takes a mixture, and what is kept, is also decided along usage edges only.
#[test]
fn decisions_are_everybodys_own() {
    let usage = graph(4, &[(0, 1), (1, 0), (2, 1), (2, 3)]);
    let reach = Reachability::of(&usage);
    let trainer = Mixing::default();
    let goals = [1.0_f32, -1.0, 1.0, 1.1];
    let draw = |changed: Option<usize>| -> Vec<Bowl> {
        let goal = |who: usize| goals[who] + if changed == Some(who) { 0.5 } else { 0.0 };
        (0..4).map(|who| Bowl::new([goal(who); 3], 2.0, 100).honest()).collect()
    };
    let before = train(&trainer, &draw(None), &usage, (40, 3));
    // Those with other goals than their helpers leave mixtures.
    for (who, goal) in [(0, 1.0), (1, -1.0), (3, 1.1)] {
        assert!(before[who].iter().all(|x| (x - goal).abs() < 0.1), "{who}: {:?}", before[who]);
    }
    for source in 0..4 {
        let after = train(&trainer, &draw(Some(source)), &usage, (40, 3));
        for who in (0..4).filter(|&who| !reach.reaches(source, who)) {
            assert_eq!(before[who], after[who], "{source} to {who}");
        }
    }
}

/// Heads are trained under a hypernetwork too, each by its owner's data; they may differ in
/// size.
#[test]
fn hypernetworks_leave_heads_to_their_owners() {
    let bowls = vec![
        Bowl::new([1.0; 3], 1.0, 100).with_head(&[2.0]).honest(),
        Bowl::new([1.0; 3], 1.0, 100).with_head(&[-2.0, 3.0]).honest(),
    ];
    let competing = CompetingGraph::builder(&Participants::numbered(2)).build();
    let learners = bowls.iter().map(|bowl| bowl as &dyn Learner).collect();
    let federation = Federation::new(&competing, learners, 1).expect("one learner each");
    let rule = OptimizerSettings::Adam { rate: 0.02, decay: 0.0 };
    let effort = Effort { evaluations: 600, local_steps: 10, rule, batch: None };
    let usage = graph(2, &[(0, 1), (1, 0)]);
    let trainer = Hypernetworks::default();
    let models = trainer.train(&federation, &usage, &no_benefit(&usage), effort).expect("it ends");
    for (model, bowl) in models.iter().zip(&bowls) {
        let near = model.iter().zip(&bowl.goal).all(|(x, goal)| (x - goal).abs() < 0.1);
        assert!(near && model.len() == bowl.goal.len(), "{model:?}");
    }
    let benefit = JointHypernetwork::default()
        .estimate(&federation, &mut Exchange::new(&competing), Inputs::default())
        .expect("it ends")
        .benefit;
    assert!(benefit.benefit(0, 1) > 0.2 && benefit.benefit(1, 0) > 0.2);
}

/// A personal hypernetwork learns from its owner and the owner's collaborators.
#[test]
fn a_personal_hypernetwork_learns_from_collaborators() {
    let bowls: Vec<Bowl> = [1.0, 1.0, -1.0].map(|goal| Bowl::new([goal; 3], 1.0, 100)).into();
    let competing = CompetingGraph::builder(&Participants::numbered(3)).build();
    let learners = bowls.iter().map(|bowl| bowl as &dyn Learner).collect();
    let federation = Federation::new(&competing, learners, 1).expect("one learner each");
    let rule = OptimizerSettings::Adam { rate: 0.01, decay: 0.0 };
    let trainer = Hypernetworks { ray_rate: 0.0, ..Hypernetworks::default() };
    let usage = graph(3, &[(1, 0), (2, 1)]);
    let effort = Effort { evaluations: 400, local_steps: 10, rule, batch: None };
    let models = trainer
        .train(&federation, &usage, &no_benefit(&usage), effort)
        .expect("it does not diverge");
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
    let rule = OptimizerSettings::Sgd { rate: 1e9, momentum: 0.9, decay: 0.0 };
    let effort = Effort { evaluations: 100, local_steps: 5, rule, batch: None };
    let usage = everybody();
    let error = Averaging {}
        .train(&federation, &usage, &no_benefit(&usage), effort)
        .expect_err("it diverges");
    let expected =
        FederateError::Participant { participant: "v1".into(), error: LearnError::Diverged };
    assert_eq!(error, expected);
    assert_eq!(error.hint(), "try a smaller learning rate");
}
