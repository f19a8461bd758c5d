//! Learning from friends' hidden layers: who gets what, what follows from whom, and whether it helps.

use std::sync::Arc;

use fedcompetitors_federate::{
    FederateError, Federation,
    estimate::{self, Estimator, Inputs},
    exchange::{Content, Exchange, IncidentKind, Transfer},
    faults::{Fault, FaultKind, Faults, Garbage},
    train::{Averaging, Effort, Local, Trainer, Trunks},
};
use fedcompetitors_graphs::{
    BenefitGraph, CompetingGraph, Participants, UsageGraph, bits::ones, random::Stream,
};
use fedcompetitors_learn::{
    Auc, Layers, Learner, LinearKind, Loss, Mlp, Model, ModelKind, NativeLearner,
    OptimizerSettings, Part, Samples, Targets,
};
use fedcompetitors_testing::repeat;
use rand_distr::{Distribution, StandardNormal};
use rayon::ThreadPoolBuilder;

const FEATURES: usize = 6;

fn normal(stream: &mut Stream) -> f64 {
    StandardNormal.sample(stream.source())
}

/// A task: the label is the sign of a random network's output.
fn teacher(seed: u64) -> (Mlp, Vec<f32>) {
    let network = Mlp::new(&[FEATURES, 12, 1], 0.0);
    let mut stream = Stream::new(seed, "teacher", 0);
    let parameters = (0..network.parameters()).map(|_| normal(&mut stream) as f32).collect();
    (network, parameters)
}

/// These many rows for training, validation and the test.
fn learner(
    seed: u64,
    rows: [usize; 3],
    one_class: bool,
    hidden: &[usize],
    stream: &mut Stream,
) -> NativeLearner {
    let (network, parameters) = teacher(seed);
    let part = |rows: usize| {
        let features: Vec<f32> = (0..rows * FEATURES).map(|_| normal(stream) as f32).collect();
        let mut work = fedcompetitors_learn::Work::default();
        let labels = features.chunks_exact(FEATURES).map(|row| {
            network.forward(&parameters, row, &mut work);
            u32::from(work.outputs()[0] > 0.0 && !one_class)
        });
        let targets = Targets::Classes { labels: labels.collect(), count: 2 };
        Samples::new(features, FEATURES, targets).expect("samples")
    };
    let parts = rows.map(part);
    let model = Mlp::new(&[&[FEATURES], hidden, &[1]].concat(), 0.2);
    let loss = Loss::BinaryCrossEntropy { weights: [1.0, 1.0] };
    NativeLearner::from_parts(Arc::new(model), loss, &Auc, parts).expect("a learner")
}

const HIDDEN: [usize; 2] = [16, 8];

/// Five networks: of 100 gradients each of them has 20, so that trunks are sent in round 2 and delivered in round 3.
fn five_networks() -> Trunks {
    Trunks { networks: Some(4), ..Trunks::default() }
}

/// Participants of one task with random competitions.
struct Case {
    competing: CompetingGraph,
    learners: Vec<NativeLearner>,
}

impl Case {
    /// The data of one participant can be drawn again.
    fn new(seed: u64, rows: &[[usize; 3]], redrawn: Option<usize>) -> Self {
        let mut stream = Stream::new(seed, "case", 0);
        let count = rows.len();
        let mut competing = CompetingGraph::builder(&Participants::numbered(count));
        for (a, b) in (0..count).flat_map(|a| (a + 1..count).map(move |b| (a, b))) {
            if stream.unit() < 0.25 {
                competing.report(a, b).expect("two participants");
            }
        }
        let learners = rows.iter().enumerate().map(|(at, &rows)| {
            let purpose = if redrawn == Some(at) { "other data" } else { "data" };
            learner(seed, rows, false, &HIDDEN, &mut Stream::new(seed, purpose, at as u64))
        });
        Self { competing: competing.build(), learners: learners.collect() }
    }

    fn federation(&self) -> Federation<'_> {
        let learners = self.learners.iter().map(|learner| learner as &dyn Learner).collect();
        Federation::new(&self.competing, learners, 1).expect("one learner each")
    }

    /// A plan: everybody learns from everybody that it does not compete with, or from nobody.
    fn plan(&self, friends: bool) -> UsageGraph {
        let count = self.learners.len();
        let mut usage = UsageGraph::builder(self.competing.participants());
        for (from, to) in (0..count).flat_map(|from| (0..count).map(move |to| (from, to))) {
            if friends && from != to && !self.competing.competes(from, to) {
                usage.add(from, to).expect("new");
            }
        }
        usage.build()
    }

    fn test_loss(&self, ended: &Ended) -> f64 {
        let losses = self.learners.iter().zip(&ended.models);
        let losses = losses.map(|(learner, model)| learner.loss(Part::Test, model));
        losses.sum::<f64>() / self.learners.len() as f64
    }
}

fn effort(evaluations: usize) -> Effort {
    let rule = OptimizerSettings::Adam { rate: 0.01, decay: 0.0 };
    Effort { evaluations, local_steps: 10, rule, batch: Some(16) }
}

/// What came out of a training.
#[derive(Debug, PartialEq)]
struct Ended {
    models: Vec<Vec<f32>>,
    carried: Vec<Vec<usize>>,
    parts: Vec<Vec<(usize, f32)>>,
    transfers: Vec<Transfer>,
    incidents: Vec<(usize, IncidentKind)>,
}

/// Trains to the end; where asked for, the state is saved and read back before each round.
fn run(
    case: &Case,
    trainer: &dyn Trainer,
    usage: &UsageGraph,
    evaluations: usize,
    (faults, resumes): (&Faults, bool),
) -> Ended {
    let federation = case.federation();
    let benefit = BenefitGraph::builder(case.competing.participants()).build();
    let mut training = trainer.begin(&federation, usage, &benefit, effort(evaluations));
    let mut exchange = Exchange::recorded(&case.competing);
    let (mut transfers, mut incidents) = (Vec::new(), Vec::new());
    while training.done() < training.rounds() {
        if resumes {
            training = trainer.resume(&training.save()).expect("just saved");
        }
        let played = faults.of_round(training.done() + 1);
        exchange.begin(training.done() + 1, &played.absent);
        training.round(&federation, &mut exchange, &played).expect("a round");
        let (moved, wrong) = exchange.drain();
        transfers.extend(moved);
        incidents.extend(wrong.iter().map(|one| (one.participant, one.kind)));
    }
    assert!(federation.evaluations() <= (evaluations * federation.len()) as u64);
    let all = 0..federation.len();
    Ended {
        models: all.clone().map(|a| training.best(a).parameters.to_vec()).collect(),
        carried: all.clone().map(|a| ones(training.best(a).carried).collect()).collect(),
        parts: all.map(|a| training.parts(a)).collect(),
        transfers,
        incidents,
    }
}

fn ends(case: &Case, trainer: &dyn Trainer, friends: bool, evaluations: usize) -> Ended {
    run(case, trainer, &case.plan(friends), evaluations, (&Faults::default(), false))
}

/// Everybody commits before anybody receives, and each message carries its sender's data alone.
#[test]
fn trunks_are_committed_before_anything_is_received() {
    let case = Case::new(1, &[[30, 15, 20]; 6], None);
    let ended = ends(&case, &five_networks(), true, 100);
    let committed: Vec<&Transfer> = ended.transfers.iter().filter(|t| t.from.is_some()).collect();
    assert_eq!(committed.len(), 6);
    for (at, transfer) in committed.iter().enumerate() {
        assert_eq!((transfer.from, transfer.round), (Some(at), 2));
        assert_eq!((transfer.content, &*transfer.provenance), (Content::Trunk, &[at][..]));
    }
    let received: Vec<&Transfer> = ended.transfers.iter().filter(|t| t.to.is_some()).collect();
    assert!(received.iter().all(|transfer| transfer.round == 3));
    for to in 0..6 {
        let friends: Vec<usize> =
            (0..6).filter(|&from| from != to && !case.competing.competes(from, to)).collect();
        let from: Vec<usize> = received
            .iter()
            .filter(|transfer| transfer.to == Some(to))
            .flat_map(|transfer| transfer.provenance.clone())
            .collect();
        assert_eq!(from, friends, "each of its friends' once");
        let mut carried = [&friends[..], &[to]].concat();
        carried.sort_unstable();
        assert_eq!(ended.carried[to], carried);
        let sum: f32 = ended.parts[to].iter().map(|part| part.1).sum();
        assert!((sum - 1.0).abs() < 1e-6);
        assert!(ended.parts[to].iter().all(|(who, _)| carried.contains(who)));
    }
    assert!(!received.is_empty());
}

/// Whatever a participant's data are, no bit of its competitors' models, messages and benefits depends
/// on them.
#[test]
fn nothing_of_a_competitor_is_in_a_model() {
    let rows = [[30, 12, 5], [25, 10, 5], [40, 15, 5], [30, 12, 5], [20, 10, 5]];
    let mut rivals = 0;
    for seed in 0..u64::from(repeat(4)) {
        let (first, second) = (Case::new(seed, &rows, None), Case::new(seed, &rows, Some(0)));
        let (one, other) = (
            ends(&first, &Trunks::default(), true, 150),
            ends(&second, &Trunks::default(), true, 150),
        );
        let estimated = |case: &Case| {
            let estimator = estimate::Trunks { steps: 20, ..estimate::Trunks::default() };
            let mut exchange = Exchange::new(&case.competing);
            let federation = case.federation();
            let found = estimator.estimate(&federation, &mut exchange, Inputs::default());
            found.expect("benefits").benefit
        };
        let (benefit, changed) = (estimated(&first), estimated(&second));
        assert_ne!(one.models[0], other.models[0]);
        for rival in ones(first.competing.competitors(0)) {
            rivals += 1;
            assert_eq!(one.models[rival], other.models[rival], "seed {seed}");
            assert_eq!(one.parts[rival], other.parts[rival], "seed {seed}");
            let received = |of: &Ended| -> Vec<[u8; 32]> {
                let to = of.transfers.iter().filter(|transfer| transfer.to == Some(rival));
                to.map(|transfer| transfer.hash).collect()
            };
            assert_eq!(received(&one), received(&other), "seed {seed}");
            let helpers = |of: &BenefitGraph| -> Vec<(usize, u64)> {
                of.helpers(rival).map(|(from, value)| (from, value.to_bits())).collect()
            };
            assert_eq!(helpers(&benefit), helpers(&changed), "seed {seed}");
        }
    }
    assert!(rivals > 0);
}

#[test]
fn the_same_comes_out_with_any_number_of_threads_and_after_an_interruption() {
    let case = Case::new(3, &[[30, 15, 5]; 4], None);
    for trainer in [&Trunks::default() as &dyn Trainer, &Local::default()] {
        let with = |threads: usize, resumes: bool| {
            let pool = ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
            let run = || run(&case, trainer, &case.plan(true), 123, (&Faults::default(), resumes));
            pool.install(run)
        };
        let expected = with(1, false);
        assert_eq!(expected, with(3, false));
        assert_eq!(expected, with(2, true));
    }
}

/// On one task, friends' hidden layers are worth more than as many own networks. (Seeds 1 to 4.)
#[test]
fn friends_of_one_task_help_more_than_an_ensemble() {
    let (mut one, mut control, mut friends) = (0.0, 0.0, 0.0);
    for seed in 1..=4 {
        let case = Case::new(seed, &[[60, 30, 500]; 8], None);
        one += case.test_loss(&ends(&case, &Local::default(), false, 1000));
        control += case.test_loss(&ends(&case, &Trunks::default(), false, 1000));
        friends += case.test_loss(&ends(&case, &Trunks::default(), true, 1000));
    }
    assert!(friends < 0.95 * control && control < one, "{one} {control} {friends}");
}

/// A small gradient budget trains two networks, which are then better than five. (Seeds 1 to 4.)
#[test]
fn a_small_budget_is_not_divided_among_many_networks() {
    let (mut by_budget, mut five) = (0.0, 0.0);
    for seed in 1..=4 {
        let case = Case::new(seed, &[[60, 30, 500]; 8], None);
        by_budget += case.test_loss(&ends(&case, &Trunks::default(), true, 300));
        five += case.test_loss(&ends(&case, &five_networks(), true, 300));
    }
    assert!(by_budget < 0.97 * five, "{by_budget} {five}");
}

/// A participant with a row of each part, or with one class, learns like everybody.
#[test]
fn a_participant_with_hardly_any_data_ends() {
    let mut case = Case::new(5, &[[40, 20, 20], [1, 1, 1], [30, 10, 10], [40, 20, 20]], None);
    case.learners[2] = learner(5, [30, 10, 10], true, &HIDDEN, &mut Stream::new(5, "data", 2));
    for trainer in [&Trunks::default() as &dyn Trainer, &Local::default()] {
        let ended = ends(&case, trainer, true, 100);
        for (learner, model) in case.learners.iter().zip(&ended.models) {
            assert!(model.iter().all(|value| value.is_finite()));
            assert!(learner.loss(Part::Test, model).is_finite());
        }
    }
}

/// A participant that is missing or sends garbage is left out, and the others learn on.
#[test]
fn the_others_learn_without_one() {
    let case = Case::new(6, &[[30, 15, 20]; 5], None);
    let (round, to) = (2, |a: usize| (0..5).filter(move |&b| b != a));
    for (kind, incident) in [
        (FaultKind::Missing, Some(IncidentKind::Missing)),
        (FaultKind::Sends(Garbage::Nan), Some(IncidentKind::NotFinite)),
        (FaultKind::Sends(Garbage::WrongLength), Some(IncidentKind::WrongLength)),
        (FaultKind::Sends(Garbage::Huge), None),
    ] {
        let faults = Faults(vec![Fault { participant: 1, kind, first: round, last: round }]);
        let plan = case.plan(true);
        let ended = run(&case, &five_networks(), &plan, 100, (&faults, false));
        let incidents: Vec<_> = incident.into_iter().map(|incident| (1, incident)).collect();
        assert_eq!(ended.incidents, incidents);
        for other in to(1) {
            assert!(incident.is_none() || !ended.carried[other].contains(&1));
            let loss = case.learners[other].loss(Part::Test, &ended.models[other]);
            assert!(loss.is_finite() && loss < 5.0, "{kind:?}: {loss}");
        }
    }
    // Who is away when trunks are delivered learns alone.
    let away = Fault { participant: 1, kind: FaultKind::Missing, first: 3, last: 3 };
    let plan = case.plan(true);
    let ended = run(&case, &five_networks(), &plan, 100, (&Faults(vec![away]), false));
    assert_eq!(ended.carried[1], [1]);
    assert_eq!(ended.parts[1], [(1, 1.0)]);
}

/// Who is away when trunks are committed sends none later, when it has received those of others.
#[test]
fn a_trunk_is_not_committed_late() {
    let case = Case::new(6, &[[30, 15, 20]; 5], None);
    let late = Fault { participant: 1, kind: FaultKind::Missing, first: 1, last: 2 };
    let plan = case.plan(true);
    let ended = run(&case, &five_networks(), &plan, 100, (&Faults(vec![late]), false));
    assert!(ended.transfers.iter().all(|transfer| transfer.from != Some(1)));
    assert!(ended.transfers.iter().any(|transfer| transfer.to == Some(1)));
    for other in [0, 2, 3, 4] {
        assert!(!ended.carried[other].contains(&1));
    }
}

/// Alone, linear models are fitted exactly, and networks are at least as good on validation data as the
/// network that gradient descent found.
#[test]
fn local_fits_linear_models_exactly() {
    let mut case = Case::new(7, &[[40, 20, 20]; 3], None);
    let network = ends(&case, &Local { decays: vec![0.0] }, false, 200);
    assert!(network.transfers.is_empty());
    assert_eq!(network.carried, [[0], [1], [2]]);
    case.learners = (0..3)
        .map(|at| learner(7, [40, 20, 20], false, &[], &mut Stream::new(7, "data", at)))
        .collect();
    let linear = ends(&case, &Local::default(), false, 200);
    for (learner, model) in case.learners.iter().zip(&linear.models) {
        assert_eq!(*model, learner.linear().expect("linear").parameters());
    }
}

/// Averages of linear models are made of coefficients alone: base rates differ.
#[test]
fn intercepts_stay_everybodys_own() {
    let mut stream = Stream::new(9, "rates", 0);
    let learners = [0.1, 0.8].map(|rate| {
        let part = |rows: usize| {
            let features: Vec<f32> =
                (0..rows * FEATURES).map(|_| normal(&mut stream) as f32).collect();
            let labels = (0..rows).map(|_| u32::from(stream.unit() < rate)).collect();
            let targets = Targets::Classes { labels, count: 2 };
            Samples::new(features, FEATURES, targets).expect("samples")
        };
        let parts = [300, 100, 100].map(part);
        let model = LinearKind.build(FEATURES, 1, &Layers::default());
        let loss = Loss::BinaryCrossEntropy { weights: [1.0, 1.0] };
        NativeLearner::from_parts(model, loss, &Auc, parts).expect("a learner")
    });
    let competing = CompetingGraph::builder(&Participants::numbered(2)).build();
    let case = Case { competing, learners: learners.into() };
    let ended = ends(&case, &Averaging {}, true, 400);
    let (one, other) = (&ended.models[0], &ended.models[1]);
    assert_eq!(one.len(), FEATURES + 1);
    assert!(one[FEATURES] < -1.5 && other[FEATURES] > 0.8, "{ended:?}");
    assert!(ended.transfers.iter().all(|transfer| transfer.bytes == 4 * FEATURES as u64));
}

#[test]
fn models_without_hidden_layers_are_refused_by_name() {
    let mut case = Case::new(8, &[[20, 10, 10]; 3], None);
    case.learners = (0..3)
        .map(|at| learner(8, [20, 10, 10], false, &[], &mut Stream::new(8, "data", at)))
        .collect();
    let benefit = BenefitGraph::builder(case.competing.participants()).build();
    let plan = case.plan(true);
    let ended = Trunks::default().train(&case.federation(), &plan, &benefit, effort(50));
    let error = FederateError::NoHiddenLayers { participant: "v1".to_owned() };
    assert_eq!(ended.expect_err("refused"), error);
    let mut exchange = Exchange::new(&case.competing);
    let estimate =
        estimate::Trunks::default().estimate(&case.federation(), &mut exchange, Inputs::default());
    assert_eq!(estimate.expect_err("refused"), error);
}
