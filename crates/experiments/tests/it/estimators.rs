//! Who helps whom, on the paper's synthetic settings: equal helpers get about equal
//! benefit, harmful ones none.

use fedcompetitors_experiments::{Experiment, Setting};
use fedcompetitors_federate::{
    FederateError, Federation,
    estimate::{Estimator, Given, Inputs, JointHypernetwork, Measured, Mixture, agreement},
    exchange::{Content, Exchange, Transfer},
};
use fedcompetitors_graphs::{BenefitGraph, CompetingGraph};
use fedcompetitors_learn::{Learner, NativeLearner};

fn estimate(
    estimator: &dyn Estimator,
    competing: &CompetingGraph,
    data: &[NativeLearner],
    seed: u64,
) -> BenefitGraph {
    let learners = data.iter().map(|learner| learner as &dyn Learner).collect();
    let federation = Federation::new(competing, learners, seed).expect("one learner each");
    estimate_with(estimator, &federation, Inputs::default())
}

fn estimate_with(
    estimator: &dyn Estimator,
    federation: &Federation<'_>,
    inputs: Inputs<'_>,
) -> BenefitGraph {
    let mut exchange = Exchange::new(federation.competing());
    estimator.estimate(federation, &mut exchange, inputs).expect("it does not diverge").benefit
}

/// The helpers of each participant.
fn helpers(benefit: &BenefitGraph) -> Vec<Vec<usize>> {
    let count = benefit.participants().len();
    (0..count)
        .map(|to| (0..count).filter(|&from| benefit.benefit(from, to) > 0.0).collect())
        .collect()
}

#[test]
fn opposite_tasks_do_not_help_and_equal_ones_help_equally() {
    let competing = Setting::Strong.competing();
    for seed in [20, 21] {
        let data = Setting::Strong.synthetic().learners(seed, 20, 100).expect("enough samples");
        let partners: Vec<Vec<usize>> = (0..8).map(|to: usize| vec![to ^ 1]).collect();
        let found = helpers(&estimate(&Mixture::default(), &competing, &data, seed));
        assert_eq!(found, partners);
        // The joint hypernetwork is less sure: it may take one for a helper who is none.
        let found = helpers(&estimate(&JointHypernetwork::default(), &competing, &data, seed));
        assert!(found.iter().zip(&partners).all(|(found, partner)| found.contains(&partner[0])));
        assert!(found.iter().flatten().count() <= 9, "{found:?}");
        let benefit = estimate(&Mixture::default(), &competing, &data, seed);
        for to in 0..8 {
            assert!((0.35..0.65).contains(&benefit.benefit(to ^ 1, to)), "about half each");
        }
    }
}

/// With batches they take as many gradients, of fewer samples, and find the same.
#[test]
fn batches_are_enough_to_tell_opposites() {
    let competing = Setting::Strong.competing();
    let data = Setting::Strong.synthetic().learners(22, 20, 100).expect("enough samples");
    let partners: Vec<Vec<usize>> = (0..8).map(|to: usize| vec![to ^ 1]).collect();
    let learners = data.iter().map(|learner| learner as &dyn Learner).collect();
    let federation = Federation::new(&competing, learners, 22).expect("one learner each");
    let inputs = Inputs { batch: Some(200), given: None };
    let estimators: [&dyn Estimator; 3] =
        [&Mixture::default(), &Measured::default(), &JointHypernetwork::default()];
    for estimator in estimators {
        let benefit = estimate_with(estimator, &federation, inputs);
        assert_eq!(helpers(&benefit), partners, "{estimator:?}");
    }
    let batched = estimate_with(&Mixture::default(), &federation, inputs);
    let whole = estimate(&Mixture::default(), &competing, &data, 22);
    assert_ne!(batched, whole, "batches are used");
}

#[test]
fn the_large_help_the_small_in_equal_parts() {
    let competing = Setting::Weak.competing();
    let large = [0, 1, 4, 5];
    for seed in [20, 21] {
        let data = Setting::Weak.synthetic().learners(seed, 20, 100).expect("enough samples");
        let benefit = estimate(&Mixture::default(), &competing, &data, seed);
        for to in 0..8 {
            let from_large: Vec<f64> = large
                .iter()
                .filter(|&&from| from != to && !competing.competes(from, to))
                .map(|&from| benefit.benefit(from, to))
                .collect();
            let (least, most) =
                from_large.iter().fold((f64::INFINITY, 0.0), |(least, most): (f64, f64), &b| {
                    (least.min(b), most.max(b))
                });
            assert!(least > 0.2 && most < 2.0 * least, "to {to}: {from_large:?}");
            for from in (0..8).filter(|from| !large.contains(from)) {
                assert!(benefit.benefit(from, to) < 0.05, "a small one helps little");
            }
        }
    }
}

#[test]
fn what_is_given_is_taken() {
    let competing = Setting::Weak.competing();
    let data = Setting::Weak.synthetic().learners(20, 20, 10).expect("enough samples");
    let mut benefit = BenefitGraph::builder(competing.participants());
    benefit.add(0, 1, 0.25).expect("a benefit");
    let benefit = benefit.build();
    let learners = data.iter().map(|learner| learner as &dyn Learner).collect();
    let federation = Federation::new(&competing, learners, 20).expect("one learner each");
    let inputs = Inputs { batch: None, given: Some(&benefit) };
    let found = estimate_with(&Given::default(), &federation, inputs);
    assert_eq!(helpers(&found), helpers(&benefit));
    assert_eq!(agreement(&competing, &benefit, &found), Some(1.0));
}

#[test]
fn measured_gains_agree_with_the_mixture() {
    let competing = Setting::Strong.competing();
    let data = Setting::Strong.synthetic().learners(22, 20, 100).expect("enough samples");
    let measured = Measured { steps: 100, ..Measured::default() };
    let measured = estimate(&measured, &competing, &data, 22);
    let mixture = estimate(&Mixture::default(), &competing, &data, 22);
    let agreement = agreement(&competing, &measured, &mixture).expect("not all equal");
    assert!(agreement > 0.8, "{agreement}");
}

/// Whatever an estimate moves is on record: who sent and got what, and made of what; nothing of
/// a competitor's.
#[test]
fn estimates_have_a_ledger() {
    let competing = Setting::Weak.competing();
    let data = Setting::Weak.synthetic().learners(20, 20, 10).expect("enough samples");
    let learners = || data.iter().map(|learner| learner as &dyn Learner).collect();
    let federation = Federation::new(&competing, learners(), 20).expect("one learner each");
    let moved = |estimator: &dyn Estimator| {
        let mut exchange = Exchange::recorded(&competing);
        estimator
            .estimate(&federation, &mut exchange, Inputs::default())
            .expect("it does not diverge");
        let (transfers, incidents) = exchange.drain();
        assert_eq!(incidents, []);
        for transfer in transfers.iter().filter(|transfer| transfer.to.is_some()) {
            let to = transfer.to.expect("it has one");
            assert!(transfer.provenance.iter().all(|&from| !competing.competes(from, to)));
            let senders = transfer.made_of.iter().map(|&entry| transfers[entry as usize - 1].from);
            assert!(senders.eq([Some(to)].into_iter().chain(
                transfer.provenance.iter().filter(|&&from| from != to).map(|&from| Some(from))
            )));
        }
        let count = |content: Content, is_sent: bool| {
            let alike = |one: &&Transfer| one.content == content && one.from.is_some() == is_sent;
            transfers.iter().filter(alike).count()
        };
        (
            [Content::Data, Content::Model, Content::Gradient].map(|content| count(content, true)),
            count(Content::Model, false),
        )
    };
    let mixture = Mixture { probe_steps: 2, search_steps: 3, ..Mixture::default() };
    assert_eq!(moved(&mixture), ([0, 8, 24], 24));
    let pairs = 8 * 7 - 2 * competing.pairs().count();
    assert_eq!(moved(&Measured { steps: 2, ..Measured::default() }), ([8, 0, 0], pairs));
    let joint = JointHypernetwork { steps: 2, ray_steps: 1, ..JointHypernetwork::default() };
    assert_eq!(moved(&joint), ([8, 0, 0], 0));

    // An estimator that does not know of a competition is stopped.
    let nobody = CompetingGraph::builder(competing.participants()).build();
    let unaware = Federation::new(&nobody, learners(), 20).expect("one learner each");
    let estimators: [&dyn Estimator; 2] = [&mixture, &Measured { steps: 2, ..Measured::default() }];
    for estimator in estimators {
        let result =
            estimator.estimate(&unaware, &mut Exchange::new(&competing), Inputs::default());
        assert!(matches!(result, Err(FederateError::Guard { .. })), "{estimator:?}");
    }
}

/// The same figures, to the last bit, on one thread and on two.
#[test]
fn an_experiment_does_not_depend_on_threads() {
    let mut experiment = Experiment::new(Setting::Weak, 1);
    experiment.rules.truncate(1);
    experiment.evaluations = 500;
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
        let results = pool.install(|| experiment.run(&|_, _| {})).expect("it does not diverge");
        let methods = results.methods.iter();
        methods.map(|result| (result.cells.clone(), result.plans.clone())).collect::<Vec<_>>()
    };
    assert_eq!(run(1), run(2));
}
