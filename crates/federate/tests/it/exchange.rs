//! The guard against a naive twin, faults, and trainings that go on after an interruption.

use std::{collections::BTreeSet, sync::Arc};

use fedcompetitors_federate::{
    FederateError, Federation,
    exchange::{Content, Exchange, IncidentKind, Message, Submission, Transfer},
    faults::{Fault, FaultKind, Faults, Garbage},
    train::{Averaging, Effort, Hypernetworks, Mixed, Mixing, Proximal, Scaffold, Trainer},
};
use fedcompetitors_graphs::{
    BenefitGraph, CompetingGraph, Participants, Reachability, UsageGraph,
    bits::{insert, ones},
};
use fedcompetitors_learn::{Learner, Mlp, NativeLearner, OptimizerSettings, synthetic::Synthetic};
use fedcompetitors_testing::cases;
use proptest::prelude::*;

fn competing(count: usize, pairs: &[(usize, usize)]) -> CompetingGraph {
    let mut builder = CompetingGraph::builder(&Participants::numbered(count));
    pairs.iter().for_each(|&(a, b)| builder.report(a, b).expect("two participants"));
    builder.build()
}

fn bits_of(carried: &BTreeSet<usize>) -> Vec<u64> {
    let mut bits = vec![0];
    carried.iter().for_each(|&who| insert(&mut bits, who));
    bits
}

proptest! {
    #![proptest_config(cases(256))]

    /// Whoever is handed anything by anybody, in any order: the guard fires just where a
    /// naive account of everything that was ever handed over finds a competitor, and the
    /// path it names was really taken.
    #[test]
    fn the_guard_fires_just_where_a_naive_account_finds_a_competitor(
        pairs in prop::collection::vec((0_usize..6, 0_usize..6), 0..8),
        history in prop::collection::vec((0_usize..6, prop::collection::vec(0_usize..6, 1..4)), 1..40),
    ) {
        let pairs: Vec<_> = pairs.into_iter().filter(|(a, b)| a != b).collect();
        let competing = competing(6, &pairs);
        let mut exchange = Exchange::recorded(&competing);
        let mut carried: Vec<BTreeSet<usize>> = (0..6).map(|who| BTreeSet::from([who])).collect();
        let mut handed: Vec<(usize, usize)> = Vec::new();
        for (round, (to, from)) in history.into_iter().enumerate() {
            exchange.begin(round + 1, &[]);
            let bits: Vec<Vec<u64>> = carried.iter().map(bits_of).collect();
            let submission = |who: usize| Submission { values: &[1.0, 2.0], before: &[], carried: &bits[who] };
            let submissions: Vec<_> =
                (0..6).map(|who| from.contains(&who).then(|| submission(who))).collect();
            let messages: Vec<Message> =
                exchange.take(Content::Model, 2, true, &submissions).into_iter().flatten().collect();
            let sum: BTreeSet<usize> = from.iter().flat_map(|&who| carried[who].clone()).collect();
            let rival = sum.iter().find(|&&who| competing.competes(who, to));
            match exchange.deliver(to, Content::Model, &[1.0, 2.0], &messages) {
                Ok(found) => {
                    prop_assert_eq!(rival, None);
                    prop_assert_eq!(ones(&found).collect::<BTreeSet<_>>(), sum.clone());
                    carried[to].extend(sum);
                    handed.extend(from.iter().map(|&who| (who, to)));
                }
                Err(FederateError::Guard { to: named, rival: found, path, .. }) => {
                    let name = |who: usize| competing.participants().name(who).to_owned();
                    prop_assert_eq!(Some(found.clone()), rival.map(|&who| name(who)));
                    prop_assert_eq!(&named, &name(to));
                    prop_assert_eq!(path.first(), Some(&found));
                    prop_assert_eq!(path.last(), Some(&named));
                    let index = |name: &String| competing.participants().find(name).expect("known");
                    let steps: Vec<_> = path.windows(2).map(|w| (index(&w[0]), index(&w[1]))).collect();
                    for step in &steps[..steps.len() - 1] {
                        prop_assert!(handed.contains(step), "{:?} in {:?}", step, path);
                    }
                    prop_assert!(from.contains(&steps[steps.len() - 1].0));
                }
                Err(other) => prop_assert!(false, "{other}"),
            }
        }
    }
}

/// Six participants; two groups, and one that only takes.
pub struct Case {
    pub competing: CompetingGraph,
    pub learners: Vec<NativeLearner>,
    pub usage: UsageGraph,
}

impl Case {
    pub fn new() -> Self {
        let synthetic =
            Synthetic { samples: vec![40; 6], negated: vec![false; 6], ..Synthetic::weak() };
        let learners = synthetic.learners(3, 20, 10).expect("learners");
        let competing = competing(6, &[(0, 3), (1, 4), (2, 3)]);
        let mut usage = UsageGraph::builder(competing.participants());
        for (from, to) in [(0, 1), (1, 0), (0, 2), (2, 1), (1, 2), (3, 4), (4, 3), (4, 5)] {
            usage.add(from, to).expect("new");
        }
        Self { competing, learners, usage: usage.build() }
    }

    /// The same participants with linear models.
    pub fn linear() -> Self {
        let Self { competing, learners, usage } = Self::new();
        let linear = |learner: &NativeLearner| {
            learner.with_model(Arc::new(Mlp::new(&[20, 1], 0.2))).expect("a linear model")
        };
        Self { competing, learners: learners.iter().map(linear).collect(), usage }
    }

    pub fn federation(&self) -> Federation<'_> {
        let learners = self.learners.iter().map(|learner| learner as &dyn Learner).collect();
        Federation::new(&self.competing, learners, 5).expect("one learner each")
    }
}

pub fn no_benefit(usage: &UsageGraph) -> BenefitGraph {
    BenefitGraph::builder(usage.participants()).build()
}

fn effort(local_steps: usize) -> Effort {
    let rule = OptimizerSettings::Adam { rate: 0.01, decay: 0.001 };
    Effort { evaluations: 90, local_steps, rule, batch: Some(16) }
}

/// Where the one that mixes gradients stands among the trainers.
const GRADIENTS: usize = 5;

/// A trainer under test.
#[derive(Debug)]
struct Tried {
    trainer: Box<dyn Trainer>,
    local_steps: usize,
    /// Whether participants send numbers, not their data.
    sends_numbers: bool,
}

fn trainers() -> Vec<Tried> {
    fn tried(trainer: impl Trainer + 'static, local_steps: usize) -> Tried {
        Tried { trainer: Box::new(trainer), local_steps, sends_numbers: true }
    }
    let mixing = Mixing::default();
    let hypernetworks = Hypernetworks { hidden: 8, ..Hypernetworks::default() };
    vec![
        tried(Averaging {}, 7),
        tried(Proximal { pull: 0.1 }, 7),
        tried(Scaffold {}, 7),
        tried(mixing.clone(), 5),
        tried(Mixing { mix: Mixed::Updates, against_drift: false, ..mixing }, 5),
        tried(Mixing { mix: Mixed::Gradients, ..mixing }, 5),
        Tried { sends_numbers: false, ..tried(hypernetworks, 5) },
    ]
}

/// Everything that came out of a training.
#[derive(Debug, PartialEq)]
struct Ended {
    models: Vec<Vec<f32>>,
    carried: Vec<Vec<usize>>,
    transfers: Vec<Transfer>,
    missing: Vec<(usize, usize, IncidentKind)>,
    evaluations: u64,
}

/// Trains to the end, saved and read back before each of these rounds.
fn run(case: &Case, tried: &Tried, faults: &Faults, breaks: &[usize]) -> Ended {
    let federation = case.federation();
    let Tried { trainer, local_steps, .. } = tried;
    let (benefit, effort) = (no_benefit(&case.usage), effort(*local_steps));
    let mut training = trainer.begin(&federation, &case.usage, &benefit, effort);
    let mut exchange = Exchange::recorded(&case.competing);
    let (mut transfers, mut incidents) = (Vec::new(), Vec::new());
    while training.done() < training.rounds() {
        if breaks.contains(&training.done()) {
            training = trainer.resume(&training.save()).expect("just saved");
            let saved = exchange.save();
            exchange = Exchange::recorded(&case.competing);
            exchange.recall(&saved).expect("just saved");
        }
        let played = faults.of_round(training.done() + 1);
        exchange.begin(training.done() + 1, &played.absent);
        training.round(&federation, &mut exchange, &played).expect("a round");
        let (moved, wrong) = exchange.drain();
        transfers.extend(moved);
        incidents.extend(wrong);
    }
    let kept = |participant| training.best(participant);
    Ended {
        models: (0..6).map(|a| kept(a).parameters.to_vec()).collect(),
        carried: (0..6).map(|a| ones(kept(a).carried).collect()).collect(),
        transfers,
        missing: incidents.iter().map(|i| (i.round, i.participant, i.kind)).collect(),
        evaluations: federation.evaluations(),
    }
}

#[test]
fn a_training_that_was_interrupted_ends_with_the_same_bytes() {
    let case = Case::new();
    let nothing = Faults::default();
    for trainer in trainers() {
        let whole = run(&case, &trainer, &nothing, &[]);
        assert_eq!(whole.evaluations, 6 * 90, "{trainer:?}");
        for breaks in [vec![0], vec![1], vec![2, 3], vec![4], (0..100).collect()] {
            assert_eq!(run(&case, &trainer, &nothing, &breaks), whole, "{trainer:?}");
        }
        let Tried { trainer: own, local_steps, .. } = &trainer;
        let (benefit, effort) = (no_benefit(&case.usage), effort(*local_steps));
        let plain = own.train(&case.federation(), &case.usage, &benefit, effort).expect("it ends");
        assert_eq!(plain, whole.models, "{trainer:?}: the ledger changes nothing");
        assert!(own.resume(b"something else").is_err());
    }
}

/// What models carry is what the plan allows, and what the ledger says went to them.
#[test]
fn provenance_follows_the_ledger() {
    let case = Case::new();
    let reach = Reachability::of(&case.usage);
    for trainer in trainers() {
        let Ended { carried, transfers, .. } = run(&case, &trainer, &Faults::default(), &[]);
        let by_entry = |entry: u64| &transfers[entry as usize - 1];
        for transfer in &transfers {
            assert_eq!(by_entry(transfer.entry), transfer, "entries are counted from 1");
            if let Some(to) = transfer.to {
                let parts = transfer.made_of.iter().flat_map(|&e| &by_entry(e).provenance);
                let union: BTreeSet<usize> = parts.copied().collect();
                assert_eq!(transfer.provenance, union.iter().copied().collect::<Vec<_>>());
                assert!(union.iter().all(|&who| who == to || reach.reaches(who, to)));
            }
        }
        for (who, carried) in carried.iter().enumerate() {
            assert!(carried.contains(&who));
            let got = |from: usize| {
                transfers.iter().any(|t| t.to == Some(who) && t.provenance.contains(&from))
            };
            assert!(carried.iter().all(|&from| from == who || got(from)), "{trainer:?}");
        }
        assert!(carried.iter().any(|carried| carried.len() > 1), "somebody learned something");
    }
}

fn fault(participant: usize, kind: FaultKind, first: usize, last: usize) -> Fault {
    Fault { participant, kind, first, last }
}

/// Garbage is refused by name, and nothing of it is in anybody's model: those it would have
/// gone to end as if the sender had sent nothing.
#[test]
fn garbage_is_refused_and_poisons_nothing() {
    let case = Case::new();
    for (garbage, kind) in [
        (Garbage::Nan, IncidentKind::NotFinite),
        (Garbage::WrongLength, IncidentKind::WrongLength),
        (Garbage::Huge, IncidentKind::TooLarge),
    ] {
        for (at, trainer) in trainers().into_iter().enumerate() {
            // Whoever follows other gradients goes elsewhere, but no further than its steps.
            let most = if at == GRADIENTS { 90.0 * 0.01 } else { 0.3 };
            // Rounds of hypernetworks are few and long.
            let sends_numbers = trainer.sends_numbers;
            let rounds = if sends_numbers { 4..=6 } else { 2..=2 };
            let (first, last) = (*rounds.start(), *rounds.end());
            let faults = Faults(vec![fault(0, FaultKind::Sends(garbage), first, last)]);
            let ended = run(&case, &trainer, &faults, &[5]);
            let refused: Vec<_> = ended.missing.iter().filter(|m| m.2 == kind).collect();
            assert!(refused.iter().all(|m| m.1 == 0 && rounds.contains(&m.0)));
            assert!(refused.len() >= rounds.count(), "{trainer:?}: {refused:?}");
            let clean = run(&case, &trainer, &Faults::default(), &[]);
            if sends_numbers {
                for (with, without) in ended.models.iter().zip(&clean.models) {
                    let far =
                        with.iter().zip(without).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
                    assert!(far < most, "{trainer:?}: {far}");
                }
            }
            // Those it has no way to end as ever.
            assert_eq!(ended.models[3..], clean.models[3..], "{trainer:?}");
        }
    }
}

/// Of two who send, the smaller change is the usual one: there is something to compare with
/// from the first round on.
#[test]
fn of_two_who_send_the_larger_cannot_speak_for_itself() {
    let competing = competing(3, &[]);
    let mut exchange = Exchange::new(&competing);
    exchange.begin(1, &[]);
    let bits = [0, 1].map(|who| bits_of(&BTreeSet::from([who])));
    let sized = |who: usize, values| Some(Submission { values, before: &[], carried: &bits[who] });
    let submissions = [sized(0, &[1.0; 4]), sized(1, &[1000.0; 4]), None];
    let taken = exchange.take(Content::Update, 4, true, &submissions);
    assert!(taken[0].is_some() && taken[1].is_none());
    let (_, incidents) = exchange.drain();
    assert_eq!(incidents.len(), 1);
    assert_eq!((incidents[0].participant, incidents[0].kind), (1, IncidentKind::TooLarge));
}

/// Whoever is away whenever the others look still keeps what it has learned.
#[test]
fn whoever_drops_out_before_the_first_look_keeps_what_it_has_learned() {
    let case = Case::new();
    for trainer in trainers().iter().filter(|trainer| trainer.sends_numbers) {
        let faults = Faults(vec![fault(0, FaultKind::Missing, 2, usize::MAX)]);
        let ended = run(&case, trainer, &faults, &[]);
        assert!(ended.carried[0].contains(&0), "{trainer:?}");
    }
}

#[test]
fn rounds_go_on_with_those_who_are_there() {
    let case = Case::new();
    for trainer in trainers() {
        let away = vec![
            fault(0, FaultKind::Missing, 3, 4),
            fault(1, FaultKind::Missing, 1, 2),
            fault(5, FaultKind::Missing, 2, usize::MAX),
        ];
        let faults = Faults(away);
        let ended = run(&case, &trainer, &faults, &[2, 4]);
        assert_eq!(ended, run(&case, &trainer, &faults, &[]), "{trainer:?}");
        let missing: Vec<_> = ended.missing.iter().map(|m| (m.0, m.1)).collect();
        assert_eq!(missing[..5], [(1, 1), (2, 1), (2, 5), (3, 0), (3, 5)]);
        for transfer in &ended.transfers {
            let who = transfer.from.or(transfer.to).expect("one end is a participant");
            assert!(
                !faults.of_round(transfer.round).absent.contains(&who),
                "nobody sends or gets while away"
            );
        }
        assert!(ended.models.iter().flatten().all(|value| value.is_finite()));
        // Whoever joined late has caught up with its group.
        assert!(ended.carried[1].contains(&0), "{trainer:?}");
    }
}

#[test]
fn with_nobody_there_nothing_moves() {
    let case = Case::new();
    let all = (0..6).map(|who| fault(who, FaultKind::Missing, 1, usize::MAX)).collect();
    let all = Faults(all);
    for trainer in trainers() {
        let ended = run(&case, &trainer, &all, &[]);
        assert!(ended.transfers.is_empty());
        assert!(ended.models.iter().flatten().all(|value| value.is_finite()));
    }
}
