//! Hidden layers, heads that are fitted to them, and ensembles, against brute force.

use std::sync::Arc;

use fedcompetitors_graphs::random::Stream;
use fedcompetitors_learn::{
    Accuracy, Activations, Auc, Cnn, Ensemble, Learner, Loss, Metric, Mlp, Model, Mse,
    NativeLearner, Part, Samples, Targets, Work,
};

const SLOPE: f32 = 0.2;

/// What is to be predicted in a test.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Kind {
    Values,
    Binary,
    /// Of five classes these occur.
    Classes(&'static [u32]),
}

fn samples(kind: Kind, rows: usize, columns: usize, stream: &mut Stream) -> Samples {
    let features: Vec<f32> = (0..rows * columns).map(|_| stream.unit() as f32 - 0.5).collect();
    let score = |row: &[f32]| row[0] - 2.0 * row[1] * row[1] + 0.1;
    let scores: Vec<f32> = features.chunks_exact(columns).map(score).collect();
    let targets = match kind {
        Kind::Values => Targets::Values(scores.iter().map(|score| 7.0 + 3.0 * score).collect()),
        Kind::Binary => {
            let labels = scores.iter().map(|&score| u32::from(score > 0.0)).collect();
            Targets::Classes { labels, count: 2 }
        }
        Kind::Classes(occurring) => {
            // About as many of each.
            let borders: &[f32] = if occurring.len() == 2 { &[-0.07] } else { &[-0.21, 0.07] };
            let above = |score: f32| borders.iter().filter(|&&border| score > border).count();
            let label = |score: &f32| occurring[above(*score).min(occurring.len() - 1)];
            Targets::Classes { labels: scores.iter().map(label).collect(), count: 5 }
        }
    };
    Samples::new(features, columns, targets).expect("samples")
}

fn learner(kind: Kind, rows: [usize; 3], hidden: &[usize], stream: &mut Stream) -> NativeLearner {
    let columns = 4;
    let (loss, metric, outputs): (_, &'static dyn Metric, _) = match kind {
        Kind::Values => (Loss::SquaredError, &Mse, 1),
        Kind::Binary => (Loss::BinaryCrossEntropy { weights: [1.0, 1.0] }, &Auc, 1),
        Kind::Classes(_) => (Loss::CrossEntropy, &Accuracy, 5),
    };
    let model = Mlp::new(&[&[columns], hidden, &[outputs]].concat(), SLOPE);
    let parts = rows.map(|rows| samples(kind, rows, columns, stream));
    NativeLearner::from_parts(Arc::new(model), loss, metric, parts).expect("a learner")
}

/// A network of this learner with random parameters.
fn network(learner: &NativeLearner, stream: &mut Stream) -> Vec<f32> {
    learner.initial(stream)[..learner.model().trunk()].to_vec()
}

#[test]
fn activations_are_those_of_the_last_two_hidden_layers() {
    let widths = [4, 7, 3, 5, 2];
    let model = Mlp::new(&widths, SLOPE);
    let mut stream = Stream::new(1, "activations", 0);
    let parameters = model.initial(&mut stream);
    let rows = samples(Kind::Values, 9, 4, &mut stream);
    let mut found = Vec::new();
    let trunk = &parameters[..model.trunk()];
    model.activations(trunk, rows.features(), &mut Work::default(), &mut found);
    let mut expected = Vec::new();
    for row in rows.features().chunks_exact(4) {
        let (mut values, mut rest) = (row.to_vec(), trunk);
        for (at, pair) in widths.windows(2).enumerate().take(3) {
            let (layer, more) = rest.split_at((pair[0] + 1) * pair[1]);
            let weight = |input: usize, output: usize| layer[input * pair[1] + output];
            let unit = |output: usize| {
                let sum: f32 =
                    (0..pair[0]).map(|input| weight(input, output) * values[input]).sum();
                let value = sum + weight(pair[0], output);
                if value < 0.0 { SLOPE * value } else { value }
            };
            values = (0..pair[1]).map(unit).collect();
            rest = more;
            if at > 0 {
                expected.extend_from_slice(&values);
            }
        }
        assert!(rest.is_empty());
    }
    assert_eq!((model.hidden(), found.len()), (8, expected.len()));
    assert!(found.iter().zip(&expected).all(|(a, b)| (a - b).abs() < 1e-5));
}

/// A network for images without its last layer, and a head that is that layer, is the network.
#[test]
fn an_ensemble_of_one_network_with_its_own_last_layer_is_the_network() {
    let model = Cnn::new(16, 3, 2);
    let mut stream = Stream::new(2, "activations", 0);
    let parameters = model.initial(&mut stream);
    let features: Vec<f32> = (0..5 * 768).map(|_| stream.unit() as f32 - 0.5).collect();
    let targets = Targets::Classes { labels: vec![0, 1, 0, 1, 1], count: 2 };
    let samples = Samples::new(features, 768, targets).expect("samples");
    let parts = [(); 3].map(|()| samples.clone());
    let learner =
        NativeLearner::from_parts(Arc::new(model.clone()), Loss::CrossEntropy, &Accuracy, parts);
    let learner = learner.expect("a learner");
    let (trunk, last) = parameters.split_at(model.trunk());
    // The last but one layer has no part in it.
    let ensemble = [trunk, &[0.0; 240], last].concat();
    let network = learner.loss(Part::Test, &parameters);
    assert!((learner.loss(Part::Test, &ensemble) - network).abs() < 1e-6);
}

#[test]
fn a_head_fits_and_its_loss_is_that_of_the_ensemble() {
    let kinds = [Kind::Values, Kind::Binary, Kind::Classes(&[1, 3]), Kind::Classes(&[0, 2, 4])];
    for (at, kind) in kinds.into_iter().enumerate() {
        for hidden in [&[20][..], &[20, 10]] {
            let mut stream = Stream::new(3, "head", at as u64);
            let learner = learner(kind, [60, 40, 200], hidden, &mut stream);
            let trunks: Vec<_> = (0..3).map(|_| network(&learner, &mut stream)).collect();
            let of: Vec<_> = trunks.iter().map(|trunk| learner.activations(trunk)).collect();
            let head = learner.head(&of.iter().collect::<Vec<_>>());
            let trunks: Vec<&[f32]> = trunks.iter().map(|trunk| &trunk[..]).collect();
            let ensemble = learner.ensemble(&trunks, &head);
            let loss = learner.loss(Part::Validation, &ensemble);
            assert!((loss - head.loss).abs() < 1e-3 * (1.0 + loss), "{kind:?}: {loss} {head:?}");
            // Far better than a constant.
            let constant = match kind {
                Kind::Values => 0.8,
                Kind::Binary | Kind::Classes(&[_, _]) => 0.69,
                Kind::Classes(_) => 1.09,
            };
            let test = learner.loss(Part::Test, &ensemble);
            assert!(test < 0.8 * constant, "{kind:?} {hidden:?}: {test}");
            let tensors = learner.tensors(ensemble.len());
            let size: usize =
                tensors.iter().map(|(_, shape)| shape.iter().product::<usize>()).sum();
            assert_eq!(size, ensemble.len());
            assert_eq!(tensors[0].0, "network1.layer1.weights");
            let shape = Ensemble::with_parameters(&**learner.model(), ensemble.len());
            assert_eq!(shape.map(|shape| shape.networks()), Some(3));
        }
    }
}

/// Nothing is known of a participant with one row of each part, or of one class, and nothing fails.
#[test]
fn a_head_of_almost_nothing_is_finite() {
    for (rows, kind) in [
        ([1, 1, 1], Kind::Values),
        ([1, 1, 1], Kind::Binary),
        ([1, 1, 1], Kind::Classes(&[2])),
        ([30, 10, 10], Kind::Classes(&[2])),
    ] {
        let mut stream = Stream::new(4, "head", 0);
        let learner = learner(kind, rows, &[6, 5], &mut stream);
        let trunk = network(&learner, &mut stream);
        let of: Activations = learner.activations(&trunk);
        let head = learner.head(&[&of, &of]);
        let ensemble = learner.ensemble(&[&trunk, &trunk], &head);
        assert!(head.loss.is_finite() && ensemble.iter().all(|value| value.is_finite()));
        if let Kind::Classes(_) = kind {
            assert_eq!(learner.metric(Part::Test, &ensemble), Some(1.0), "the only class");
        }
    }
}

/// With weights that make classes equal, the odds of a head are those of equal classes.
#[test]
fn a_head_counts_classes_by_their_weights() {
    let mut stream = Stream::new(5, "head", 0);
    let columns = 4;
    let rows = samples(Kind::Values, 300, columns, &mut stream);
    let labels: Vec<u32> = (0..300).map(|_| u32::from(stream.unit() < 0.1)).collect();
    let targets = Targets::Classes { labels: labels.clone(), count: 2 };
    let rows = Samples::new(rows.features().to_vec(), columns, targets).expect("samples");
    let loss = Loss::balanced(&labels);
    let parts = [(); 3].map(|()| rows.clone());
    let model = Arc::new(Mlp::new(&[columns, 3, 1], SLOPE));
    let learner = NativeLearner::from_parts(model, loss, &Auc, parts).expect("a learner");
    let trunk = network(&learner, &mut stream);
    let head = learner.head(&[&learner.activations(&trunk)]);
    // Features say nothing, so the mean weighted loss is that of even odds.
    assert!((head.loss - 0.693).abs() < 0.03, "{}", head.loss);
}

/// The exact fit of a linear model counts classes by their weights as a head does: only its intercept changes.
#[test]
fn an_exact_fit_counts_classes_by_their_weights() {
    let mut stream = Stream::new(6, "weights", 0);
    let columns = 3;
    let rows = samples(Kind::Values, 400, columns, &mut stream);
    let labels = rows.features().chunks(columns).map(|row| {
        let odds = -2.0 + f64::from(row[0]);
        u32::from(stream.unit() < 1.0 / (1.0 + (-odds).exp()))
    });
    let labels: Vec<u32> = labels.collect();
    let made = |labels: &[u32], loss| {
        let targets = Targets::Classes { labels: labels.to_vec(), count: 2 };
        let rows = Samples::new(rows.features().to_vec(), columns, targets).expect("samples");
        let parts = [(); 3].map(|()| rows.clone());
        let model = Arc::new(Mlp::new(&[columns, 1], SLOPE));
        NativeLearner::from_parts(model, loss, &Auc, parts).expect("a learner")
    };
    let Loss::BinaryCrossEntropy { weights } = Loss::balanced(&labels) else {
        unreachable!("two classes")
    };
    let odds = (weights[1] / weights[0]).ln();
    assert!(odds > 1.0);
    let of = |labels: &[u32], weights| {
        let learner = made(labels, Loss::BinaryCrossEntropy { weights });
        let own = learner.linear().expect("linear");
        let (with_evidence, _) = own.with_evidence(&own.summary(0));
        (
            own.parameters(),
            with_evidence,
            own.summary(0),
            learner.predictions(Part::Test, &own.parameters()),
        )
    };
    let (plain, balanced) = (of(&labels, [1.0, 1.0]), of(&labels, weights));
    for (plain, balanced) in [(&plain.0, &balanced.0), (&plain.1, &balanced.1)] {
        assert_eq!(plain[..columns], balanced[..columns]);
        assert!((plain[columns] + odds - balanced[columns]).abs() < 1e-6);
    }
    assert_eq!(plain.2, balanced.2, "summaries do not depend on weights");
    // By the fit both classes are equally probable on average, as far as they can be.
    let weighted = |scores: &[f32], weights: [f32; 2]| -> f64 {
        let each = scores.iter().zip(&labels).map(|(score, &label)| {
            let slope = 1.0 / (1.0 + f64::from(-score).exp()) - f64::from(label);
            slope * f64::from(weights[label as usize]) / labels.len() as f64
        });
        each.sum()
    };
    assert!(weighted(&balanced.3, weights).abs() < 0.05);
    assert!(weighted(&plain.3, weights).abs() > 0.2);
    // One class has no odds.
    let one = vec![0; labels.len()];
    assert_eq!(of(&one, [1.0, 1.0]).0, of(&one, [0.5, 200.0]).0);
}
