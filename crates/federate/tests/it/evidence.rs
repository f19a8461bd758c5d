//! Learning by evidence between participants: who gets what, and what follows from whom.

use std::sync::Arc;

use fedcompetitors_federate::{
    FederateError, Federation,
    estimate::{self, Estimator, Inputs},
    exchange::{Content, Exchange, IncidentKind, Transfer},
    faults::{Fault, FaultKind, Faults, Garbage},
    train::{Effort, Evidence, Trainer},
};
use fedcompetitors_graphs::{
    BenefitGraph, CompetingGraph, Participants, UsageGraph, bits::ones, random::Stream,
};
use fedcompetitors_learn::{
    Auc, Learner, Loss, Mlp, Mse, NativeLearner, OptimizerSettings, Samples, Split, Targets,
    shuffle,
};
use fedcompetitors_testing::repeat;
use rand_distr::{Distribution, StandardNormal};

const FEATURES: usize = 6;

fn normal(stream: &mut Stream) -> f64 {
    StandardNormal.sample(stream.source())
}

/// A participant with logistic labels of a task.
fn learner(task: &[f64], rows: usize, hidden: &[usize], stream: &mut Stream) -> NativeLearner {
    learner_of(task, rows, hidden, stream, &|label, _| label)
}

/// The same with labels and rows that are changed.
fn learner_of(
    task: &[f64],
    rows: usize,
    hidden: &[usize],
    stream: &mut Stream,
    changed: &dyn Fn(u32, &mut [f32]) -> u32,
) -> NativeLearner {
    let mut features = Vec::new();
    let labels = (0..rows).map(|_| {
        let row: Vec<f64> = task.iter().map(|_| normal(stream)).collect();
        let score: f64 = row.iter().zip(task).map(|(a, b)| a * b).sum();
        let label = u32::from(stream.unit() < 1.0 / (1.0 + (-score).exp()));
        let mut row: Vec<f32> = row.iter().map(|&value| value as f32).collect();
        let label = changed(label, &mut row);
        features.extend(row);
        label
    });
    let targets = Targets::Classes { labels: labels.collect(), count: 2 };
    let samples = Samples::new(features, task.len(), targets).expect("samples");
    let split = Split::new(samples.targets(), 0.2, 0.2, stream).expect("enough rows");
    let model = Mlp::new(&[&[task.len()], hidden, &[1]].concat(), 0.2);
    let loss = Loss::BinaryCrossEntropy { weights: [1.0, 1.0] };
    NativeLearner::new(Arc::new(model), loss, &Auc, &samples, &split).expect("a learner")
}

/// Participants of two opposite tasks in turn, with random competitions.
struct Case {
    competing: CompetingGraph,
    learners: Vec<NativeLearner>,
}

/// The task of a participant in [`Case::new`].
fn task_of(participant: usize) -> usize {
    participant % 2
}

impl Case {
    /// The data of one participant can be drawn again.
    fn new(seed: u64, count: usize, redrawn: Option<usize>) -> Self {
        let mut stream = Stream::new(seed, "case", 0);
        let task: Vec<f64> = (0..FEATURES).map(|_| normal(&mut stream)).collect();
        let opposite: Vec<f64> = task.iter().map(|value| -value).collect();
        let mut competing = CompetingGraph::builder(&Participants::numbered(count));
        for (a, b) in (0..count).flat_map(|a| (a + 1..count).map(move |b| (a, b))) {
            if stream.unit() < 0.3 {
                competing.report(a, b).expect("two participants");
            }
        }
        let learners = (0..count).map(|at| {
            let purpose = if redrawn == Some(at) { "other data" } else { "data" };
            let mut stream = Stream::new(seed, purpose, at as u64);
            let task = [&task, &opposite][task_of(at)];
            learner(task, [80, 150, 300][at % 3], &[], &mut stream)
        });
        Self { competing: competing.build(), learners: learners.collect() }
    }

    fn federation(&self) -> Federation<'_> {
        let learners = self.learners.iter().map(|learner| learner as &dyn Learner).collect();
        Federation::new(&self.competing, learners, 1).expect("one learner each")
    }

    /// Everybody may learn from everybody that it does not compete with.
    fn friends(&self) -> UsageGraph {
        let count = self.learners.len();
        let mut usage = UsageGraph::builder(self.competing.participants());
        for (from, to) in (0..count).flat_map(|from| (0..count).map(move |to| (from, to))) {
            if from != to && !self.competing.competes(from, to) {
                usage.add(from, to).expect("new");
            }
        }
        usage.build()
    }

    fn benefits(&self) -> BenefitGraph {
        let mut exchange = Exchange::new(&self.competing);
        let estimator = estimate::Evidence::default();
        let found = estimator.estimate(&self.federation(), &mut exchange, Inputs::default());
        found.expect("an estimate").benefit
    }
}

fn effort() -> Effort {
    let rule = OptimizerSettings::Adam { rate: 0.01, decay: 0.0 };
    Effort { evaluations: 1, local_steps: 1, rule, batch: None }
}

/// What came out of a training.
#[derive(Debug, PartialEq)]
struct Ended {
    models: Vec<Vec<f32>>,
    carried: Vec<Vec<usize>>,
    parts: Vec<Vec<(usize, f32)>>,
    transfers: Vec<Transfer>,
    incidents: Vec<(usize, usize, IncidentKind)>,
}

fn run(case: &Case, trainer: &Evidence, faults: &Faults) -> Ended {
    let (federation, usage) = (case.federation(), case.friends());
    let benefit = BenefitGraph::builder(case.competing.participants()).build();
    let mut training = trainer.begin(&federation, &usage, &benefit, effort());
    let mut exchange = Exchange::recorded(&case.competing);
    let (mut transfers, mut incidents) = (Vec::new(), Vec::new());
    while training.done() < training.rounds() {
        // Saved and read back before each round.
        training = trainer.resume(&training.save()).expect("just saved");
        let played = faults.of_round(training.done() + 1);
        exchange.begin(training.done() + 1, &played.absent);
        training.round(&federation, &mut exchange, &played).expect("a round");
        let (moved, wrong) = exchange.drain();
        transfers.extend(moved);
        incidents.extend(wrong.iter().map(|one| (one.round, one.participant, one.kind)));
    }
    let all = 0..federation.len();
    Ended {
        models: all.clone().map(|a| training.best(a).parameters.to_vec()).collect(),
        carried: all.clone().map(|a| ones(training.best(a).carried).collect()).collect(),
        parts: all.map(|a| training.parts(a)).collect(),
        transfers,
        incidents,
    }
}

/// Everybody commits before anybody receives, and each message carries its sender's data alone.
#[test]
fn summaries_are_committed_before_anything_is_received() {
    let case = Case::new(1, 7, None);
    let ended = run(&case, &Evidence::default(), &Faults::default());
    let committed: Vec<&Transfer> = ended.transfers.iter().filter(|t| t.from.is_some()).collect();
    assert_eq!(committed.len(), 7);
    for (at, transfer) in committed.iter().enumerate() {
        assert_eq!((transfer.from, transfer.round), (Some(at), 1));
        assert_eq!((transfer.content, &*transfer.provenance), (Content::Summary, &[at][..]));
    }
    let received: Vec<&Transfer> = ended.transfers.iter().filter(|t| t.to.is_some()).collect();
    assert!(received.iter().all(|transfer| transfer.round == 2 && transfer.made_of.len() > 1));
    // At most one sum each, of those with its own task that it does not compete with.
    for to in 0..7 {
        let sums: Vec<_> = received.iter().filter(|transfer| transfer.to == Some(to)).collect();
        assert!(sums.len() <= 1);
        let sources: Vec<usize> = sums.iter().flat_map(|sum| sum.provenance.clone()).collect();
        for &from in &sources {
            assert_eq!(task_of(from), task_of(to), "{from} → {to}");
            assert!(!case.competing.competes(from, to));
        }
        let mut carried = [&sources[..], &[to]].concat();
        carried.sort_unstable();
        assert_eq!(ended.carried[to], carried);
        let sum: f32 = ended.parts[to].iter().map(|part| part.1).sum();
        assert!((sum - 1.0).abs() < 1e-6);
    }
    assert!(!received.is_empty());
}

/// Whatever a participant's data are, no bit of its competitors' models and messages depends on them: of
/// benefits that are estimated, too, as far as they are for those competitors.
#[test]
fn nothing_of_a_competitor_is_in_a_model() {
    for seed in 0..u64::from(repeat(8)) {
        let (first, second) = (Case::new(seed, 6, None), Case::new(seed, 6, Some(0)));
        let ended = |case| run(case, &Evidence::default(), &Faults::default());
        let (one, other) = (ended(&first), ended(&second));
        let (benefit, changed) = (first.benefits(), second.benefits());
        assert_ne!(one.models[0], other.models[0]);
        for rival in ones(first.competing.competitors(0)) {
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
}

/// The helpers of one task are found, and more of a helper's rows are worth more, up to a bound.
#[test]
fn benefits_are_numbers_of_rows() {
    let case = Case::new(2, 7, None);
    let benefit = case.benefits();
    let mut found = 0;
    for to in 0..7 {
        for (from, value) in benefit.helpers(to) {
            assert_eq!(task_of(from), task_of(to));
            let rows = case.learners[from].linear().expect("linear").rows().len();
            assert!(value > 1.0 && value <= rows as f64, "{from} → {to}: {value}");
            found += 1;
        }
    }
    assert!(found >= 6, "{found}");
}

#[test]
fn a_sum_with_a_single_source_is_delivered_only_where_that_is_allowed() {
    let mut found = 0;
    for seed in 0..6 {
        let case = Case::new(seed, 5, None);
        let sources = |single_source| {
            let trainer = Evidence { single_source, ..Evidence::default() };
            let ended = run(&case, &trainer, &Faults::default());
            let received = ended.transfers.into_iter().filter(|transfer| transfer.to.is_some());
            received.map(|transfer| transfer.made_of.len()).collect::<Vec<_>>()
        };
        assert!(sources(false).iter().all(|&count| count > 1));
        found += sources(true).iter().filter(|&&count| count == 1).count();
    }
    assert!(found > 0, "some sum has a single source");
}

/// A participant with one class has nothing to say: it is nobody's source, counts for no second source and is
/// worth nothing.
#[test]
fn a_participant_with_one_class_is_no_source() {
    let mut case = Case::new(3, 4, None);
    case.competing = CompetingGraph::builder(&Participants::numbered(4)).build();
    let task = [1.0, -1.0, 0.5, 0.0, 0.0, 0.3];
    let drawn = |at: u64, changed: &dyn Fn(u32, &mut [f32]) -> u32| {
        learner_of(&task, 150, &[], &mut Stream::new(3, "one class", at), changed)
    };
    let one_class = |class| move |_, _: &mut [f32]| class;
    case.learners = vec![
        drawn(0, &|label, _| label),
        drawn(1, &|label, _| label),
        drawn(2, &one_class(0)),
        drawn(3, &one_class(1)),
    ];
    let benefit = case.benefits();
    for to in 0..4 {
        let helpers: Vec<usize> = benefit.helpers(to).map(|(from, _)| from).collect();
        let expected: &[usize] = [&[1][..], &[0], &[], &[]][to];
        assert_eq!(helpers, expected, "{to}");
    }
    let ended = run(&case, &Evidence::default(), &Faults::default());
    assert!(ended.transfers.iter().all(|transfer| transfer.to.is_none()));
    for to in 0..4 {
        assert_eq!(ended.models[to], case.learners[to].linear().expect("linear").parameters());
    }
    let trainer = Evidence { single_source: true, ..Evidence::default() };
    let ended = run(&case, &trainer, &Faults::default());
    let received =
        ended.transfers.iter().filter_map(|transfer| transfer.to.zip(transfer.made_of.first()));
    assert_eq!(received.collect::<Vec<_>>(), [(0, &2), (1, &1)]);
}

/// A participant that is missing or sends garbage is left out, and the others learn on.
#[test]
fn the_others_learn_without_one() {
    let case = Case::new(1, 7, None);
    let clean = run(&case, &Evidence::default(), &Faults::default());
    let fault = |kind| Faults(vec![Fault { participant: 2, kind, first: 1, last: 1 }]);
    for (kind, incident) in [
        (FaultKind::Missing, IncidentKind::Missing),
        (FaultKind::Sends(Garbage::Nan), IncidentKind::NotFinite),
        (FaultKind::Sends(Garbage::WrongLength), IncidentKind::WrongLength),
    ] {
        let ended = run(&case, &Evidence::default(), &fault(kind));
        assert_eq!(ended.incidents, [(1, 2, incident)]);
        for to in (0..7).filter(|&to| to != 2) {
            assert!(!ended.carried[to].contains(&2));
            if !clean.carried[to].contains(&2) && !case.competing.competes(2, to) {
                continue;
            }
            assert!(ended.models[to].iter().all(|value| value.is_finite()));
        }
    }
    // Who is away when sums are delivered keeps what it has fitted alone.
    let away = Faults(vec![Fault { participant: 2, kind: FaultKind::Missing, first: 2, last: 2 }]);
    let ended = run(&case, &Evidence::default(), &away);
    assert_eq!(ended.carried[2], [2]);
    assert_eq!(ended.models[2], case.learners[2].linear().expect("linear").parameters());
}

/// Who is away when summaries are committed sends none later, is in no sum, and without a summary of its own it
/// receives none: nobody can answer after it has seen what others say.
#[test]
fn a_summary_is_not_committed_late() {
    let case = Case::new(1, 7, None);
    let clean = run(&case, &Evidence::default(), &Faults::default());
    let receives = |to: &usize| clean.carried[*to].len() > 1;
    let participant = (0..7).find(receives).expect("somebody receives something");
    let late = Faults(vec![Fault { participant, kind: FaultKind::Missing, first: 1, last: 1 }]);
    let ended = run(&case, &Evidence::default(), &late);
    let of_it = |transfer: &&Transfer| {
        transfer.from == Some(participant) || transfer.to == Some(participant)
    };
    assert_eq!(ended.transfers.iter().find(of_it), None);
    assert!((0..7).all(|to| to == participant || !ended.carried[to].contains(&participant)));
    let own = case.learners[participant].linear().expect("linear").parameters();
    assert_eq!(ended.models[participant], own);
    assert!(ended.transfers.iter().any(|transfer| transfer.to.is_some()), "the others learn on");
}

/// The order of participants changes nothing but their names. Sums over participants are added in their order,
/// so bits may differ: benefits to 1e-9, models in single precision to 1e-5.
#[test]
fn the_order_of_participants_does_not_matter() {
    let count = 7;
    for seed in 0..u64::from(repeat(4)) {
        let case = Case::new(seed, count, None);
        let mut order: Vec<u32> = (0..count as u32).collect();
        shuffle(&mut order, &mut Stream::new(seed, "order", 0));
        let order: Vec<usize> = order.into_iter().map(|at| at as usize).collect();
        // What was participant `order[at]` is now participant `at`.
        let again = Case::new(seed, count, None);
        let mut learners: Vec<Option<NativeLearner>> =
            again.learners.into_iter().map(Some).collect();
        let mut competing = CompetingGraph::builder(&Participants::numbered(count));
        for a in 0..count {
            for b in (a + 1..count).filter(|&b| case.competing.competes(order[a], order[b])) {
                competing.report(a, b).expect("two participants");
            }
        }
        let turned = Case {
            competing: competing.build(),
            learners: order.iter().filter_map(|&at| learners[at].take()).collect(),
        };
        let (benefit, other) = (case.benefits(), turned.benefits());
        for to in 0..count {
            for from in (0..count).filter(|&from| from != to) {
                let expected = benefit.benefit(order[from], order[to]);
                let found = other.benefit(from, to);
                assert!((found - expected).abs() <= 1e-9 * expected, "{found} {expected}");
            }
        }
        let ended = |case| run(case, &Evidence::default(), &Faults::default());
        let (expected, found) = (ended(&case), ended(&turned));
        for at in 0..count {
            let mut carried: Vec<usize> = found.carried[at].iter().map(|&of| order[of]).collect();
            carried.sort_unstable();
            assert_eq!(carried, expected.carried[order[at]]);
            for (found, expected) in found.models[at].iter().zip(&expected.models[order[at]]) {
                assert!((found - expected).abs() < 1e-5, "{found} {expected}");
            }
            let mut parts: Vec<(usize, f32)> =
                found.parts[at].iter().map(|&(of, part)| (order[of], part)).collect();
            let mut as_expected = expected.parts[order[at]].clone();
            parts.sort_by_key(|part| part.0);
            as_expected.sort_by_key(|part| part.0);
            for (found, expected) in parts.iter().zip(&as_expected) {
                assert!(found.0 == expected.0 && (found.1 - expected.1).abs() < 1e-5);
            }
        }
    }
}

/// Targets in another unit change models by that unit and nothing else. The unit is a power of two, so that
/// targets are rounded in the same way.
#[test]
fn the_unit_of_targets_changes_nothing_else() {
    const UNIT: f32 = 1024.0;
    let in_unit = |unit: f32| {
        let mut case = Case::new(5, 5, None);
        let task = [1.0, -2.0, 0.5, 0.0, 0.3, 0.0];
        let learners = (0..5_u64).map(|at| {
            let mut stream = Stream::new(5, "numbers", at);
            let rows = 60 + 20 * at as usize;
            let features: Vec<f32> =
                (0..rows * FEATURES).map(|_| normal(&mut stream) as f32).collect();
            let values = features.chunks_exact(FEATURES).map(|row| {
                let value: f64 = row.iter().zip(&task).map(|(a, b)| f64::from(*a) * b).sum();
                unit * (3.0 + value + normal(&mut stream)) as f32
            });
            let targets = Targets::Values(values.collect());
            let samples = Samples::new(features, FEATURES, targets).expect("samples");
            let split = Split::new(samples.targets(), 0.2, 0.2, &mut stream).expect("rows");
            let model = Arc::new(Mlp::new(&[FEATURES, 1], 0.2));
            NativeLearner::new(model, Loss::SquaredError, &Mse, &samples, &split).expect("fits")
        });
        case.learners = learners.collect();
        case
    };
    let (small, large) = (in_unit(1.0), in_unit(UNIT));
    let (benefit, other) = (small.benefits(), large.benefits());
    let ended = |case| run(case, &Evidence::default(), &Faults::default());
    let (expected, found) = (ended(&small), ended(&large));
    assert_eq!(found.carried, expected.carried);
    assert!(found.carried.iter().any(|carried| carried.len() > 2), "somebody learns from others");
    for to in 0..5 {
        for from in (0..5).filter(|&from| from != to) {
            let (found, expected) = (other.benefit(from, to), benefit.benefit(from, to));
            assert!((found - expected).abs() <= 1e-9 * expected, "{found} {expected}");
        }
        for (found, expected) in found.models[to].iter().zip(&expected.models[to]) {
            assert!((found / UNIT - expected).abs() < 1e-6, "{found} {expected}");
        }
        for (found, expected) in found.parts[to].iter().zip(&expected.parts[to]) {
            assert!(found.0 == expected.0 && (found.1 - expected.1).abs() < 1e-6);
        }
    }
}

/// What a participant claims of its data cannot outweigh everybody else's.
#[test]
fn a_summary_of_far_too_many_rows_is_bounded() {
    let case = Case::new(1, 7, None);
    let huge = FaultKind::Sends(Garbage::Huge);
    let faults = Faults(vec![Fault { participant: 2, kind: huge, first: 1, last: 1 }]);
    let clean = run(&case, &Evidence::default(), &Faults::default());
    let ended = run(&case, &Evidence::default(), &faults);
    for (at, (with, without)) in ended.models.iter().zip(&clean.models).enumerate() {
        let far = with.iter().zip(without).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
        assert!(far < 0.5, "{at}: {far}");
    }
}

#[test]
fn models_with_hidden_layers_are_refused_by_name() {
    let mut case = Case::new(1, 4, None);
    let task = [1.0; FEATURES];
    case.learners =
        (0..4).map(|at| learner(&task, 60, &[5], &mut Stream::new(1, "hidden", at))).collect();
    let benefit = BenefitGraph::builder(case.competing.participants()).build();
    let ended = Evidence::default().train(&case.federation(), &case.friends(), &benefit, effort());
    let participant = "v1".to_owned();
    assert_eq!(ended.expect_err("refused"), FederateError::NotLinear { participant });
}
