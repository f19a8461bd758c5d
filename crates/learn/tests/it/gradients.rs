//! Every gradient against differences of the function itself.
//!
//! Models and losses are looked at through a learner, as everybody does. A model's losses
//! are sums of `f32`, so the differences are taken along few chosen directions, layer by
//! layer: along the gradient with each coordinate scaled at random (a wrong coordinate
//! anywhere changes that slope), and along single coordinates.

use std::{ops::Range, sync::Arc};

use fedcompetitors_graphs::random::Stream;
use fedcompetitors_learn::{
    Accuracy, Batch, Cnn, Hypernetwork, Learner, Loss, Metric, Mlp, Model, Mse, NativeLearner,
    OptimizerSettings, Part, Samples, Targets,
};

fn numbers(stream: &mut Stream, count: usize) -> Vec<f32> {
    (0..count).map(|_| (2.0 * stream.unit() - 1.0) as f32).collect()
}

fn learner(model: impl Model + 'static, loss: Loss, count: usize, seed: u64) -> NativeLearner {
    let mut stream = Stream::new(seed, "samples", 0);
    let features = numbers(&mut stream, count * model.inputs());
    let mut classes = |classes: u32| Targets::Classes {
        labels: (0..count).map(|_| stream.below(u64::from(classes)) as u32).collect(),
        count: classes,
    };
    let (targets, metric): (_, &dyn Metric) = match loss {
        Loss::SquaredError => (Targets::Values(numbers(&mut stream, count)), &Mse),
        Loss::CrossEntropy => (classes(model.outputs() as u32), &Accuracy),
        Loss::BinaryCrossEntropy { .. } => (classes(2), &Accuracy),
    };
    let samples = Samples::new(features, model.inputs(), targets).expect("finite samples");
    let parts = [samples.clone(), samples.clone(), samples];
    NativeLearner::from_parts(Arc::new(model), loss, metric, parts)
        .expect("a model that fits the samples")
}

/// Ways to go for a difference: with long ones the loss bends, with short ones it is
/// rounded to nothing.
const STEPS: [f64; 5] = [1e-2, 3e-3, 1e-3, 3e-4, 1e-4];

/// How far the slope of the loss along a direction is from this one, by differences of
/// losses.
///
/// ReLU and pooling have corners, and near one the slopes of its two sides are both right,
/// but not their mean: the best of several differences counts, each of them to both sides
/// and to either. The second number is the last of them, for messages.
fn distance(learner: &NativeLearner, at: &[f32], direction: &[f64], slope: f64) -> (f64, f64) {
    let squares: f64 = direction.iter().map(|d| d * d).sum();
    let side = |step: f64| {
        let moved: Vec<f32> =
            at.iter().zip(direction).map(|(p, d)| (f64::from(*p) + step * d) as f32).collect();
        // The way that was really gone, after rounding.
        let gone = |(m, (p, d)): (&f32, (&f32, &f64))| (f64::from(*m) - f64::from(*p)) * d;
        let gone: f64 = moved.iter().zip(at.iter().zip(direction)).map(gone).sum();
        (learner.loss(Part::Training, &moved), gone / squares)
    };
    let here = (learner.loss(Part::Training, at), 0.0);
    let mut best = (f64::INFINITY, f64::NAN);
    for step in STEPS {
        let (above, below) = (side(step), side(-step));
        for (from, to) in [(below, above), (here, above), (below, here)] {
            let difference = (to.0 - from.0) / (to.1 - from.1);
            best = (best.0.min((difference - slope).abs()), difference);
        }
    }
    best
}

/// Compares the gradient of each layer with differences; the tolerance is a part of its
/// norm.
fn check(name: &str, learner: &NativeLearner, layers: &[Range<usize>], tolerance: f64) {
    let mut stream = Stream::new(7, name, 0);
    let parameters = learner.initial(&mut stream);
    assert_eq!(layers.last().map(|layer| layer.end), Some(parameters.len()), "all layers");
    let mut gradient = vec![0.0; parameters.len()];
    let loss = learner.gradient(Part::Training, Batch::All, &parameters, &mut gradient);
    let alone = learner.loss(Part::Training, &parameters);
    assert!((loss - alone).abs() < 1e-6 * alone.abs(), "{name}: loss {loss}, alone {alone}");
    for layer in layers {
        let size = norm(&gradient[layer.clone()]);
        assert!(size > 1e-4, "{name}, {layer:?}: a gradient of {size} shows nothing");
        let mut directions = Vec::new();
        for _ in 0..4 {
            let mut direction = vec![0.0; parameters.len()];
            for at in layer.clone() {
                direction[at] = f64::from(gradient[at]) * (0.5 + stream.unit()) / size;
            }
            directions.push(direction);
        }
        for _ in 0..12 {
            let mut direction = vec![0.0; parameters.len()];
            direction[layer.start + stream.below(layer.len() as u64) as usize] = 1.0;
            directions.push(direction);
        }
        for direction in &directions {
            let found: f64 = gradient.iter().zip(direction).map(|(g, d)| f64::from(*g) * d).sum();
            let (error, last) = distance(learner, &parameters, direction, found);
            assert!(
                error < tolerance * size,
                "{name}, {layer:?} (norm {size}): {found}, {error} away from differences ({last})"
            );
        }
    }
}

fn norm(values: &[f32]) -> f64 {
    values.iter().map(|value| f64::from(*value).powi(2)).sum::<f64>().sqrt()
}

/// Weights and biases, layer after layer, of so many numbers.
fn ranges(sizes: &[usize]) -> Vec<Range<usize>> {
    let mut first = 0;
    sizes
        .iter()
        .map(|size| {
            first += size;
            first - size..first
        })
        .collect()
}

fn perceptron_layers(widths: &[usize]) -> Vec<Range<usize>> {
    let sizes: Vec<_> = widths.windows(2).flat_map(|w| [w[0] * w[1], w[1]]).collect();
    ranges(&sizes)
}

const BINARY: Loss = Loss::BinaryCrossEntropy { weights: [0.7, 2.5] };

#[test]
fn perceptrons_with_one_output() {
    for loss in [Loss::SquaredError, BINARY] {
        for widths in [&[5, 1][..], &[5, 9, 1], &[19, 70, 1], &[5, 33, 8, 1], &[5, 8, 1, 1]] {
            for slope in [0.0, 0.1] {
                // More rows than a tile has.
                let learner = learner(Mlp::new(widths, slope), loss, 300, 1);
                let name = format!("{widths:?}, {slope}, {loss:?}");
                check(&name, &learner, &perceptron_layers(widths), 5e-3);
            }
        }
    }
}

#[test]
fn perceptrons_with_several_outputs() {
    for widths in [&[6, 3][..], &[6, 17, 4], &[3, 20, 12, 5], &[3, 4, 1, 2]] {
        for slope in [0.0, 0.1] {
            let learner = learner(Mlp::new(widths, slope), Loss::CrossEntropy, 300, 2);
            let name = format!("{widths:?}, {slope}");
            check(&name, &learner, &perceptron_layers(widths), 5e-3);
        }
    }
}

fn convolutional_layers(channels: usize, flat: usize, classes: usize) -> Vec<Range<usize>> {
    let dense = [flat, 120, 84, classes];
    let mut sizes = vec![16 * 25 * channels, 16, 32 * 25 * 16, 32];
    sizes.extend(dense.windows(2).flat_map(|w| [w[0] * w[1], w[1]]));
    ranges(&sizes)
}

#[test]
fn convolutional_networks() {
    // The smallest side, an odd one, and two that fill the blocks of the kernel.
    for (side, channels, flat) in [(16, 1, 32), (17, 2, 32), (28, 1, 16 * 32), (32, 3, 25 * 32)] {
        let losses = [(Loss::CrossEntropy, 4), (Loss::SquaredError, 1), (BINARY, 1)];
        // Large ones take long, and the losses have been looked at by then.
        let count = if side > 20 { 1 } else { losses.len() };
        for (loss, outputs) in losses.into_iter().take(count) {
            // More images than a tile has.
            let learner = learner(Cnn::new(side, channels, outputs), loss, 18, 3);
            let name = format!("{side}, {channels}, {loss:?}");
            let layers = convolutional_layers(channels, flat, outputs);
            // Moving a filter passes many corners.
            check(&name, &learner, &layers, 1.5e-2);
        }
    }
}

/// With a participant's own decay, gradient descent ends where its own exact fit is.
#[test]
fn the_own_decay_is_the_ridge_of_the_own_fit() {
    for (loss, outputs) in [
        (Loss::SquaredError, 1),
        (Loss::BinaryCrossEntropy { weights: [1.0, 1.0] }, 1),
        (Loss::CrossEntropy, 3),
    ] {
        let count = 40;
        let learner = learner(Mlp::linear(5, outputs), loss, count, 3);
        let own = learner.linear().expect("a linear model");
        let fitted = own.rows().in_units(own.best());
        let mut gradient = vec![0.0; fitted.len()];
        learner.gradient(Part::Training, Batch::All, &fitted, &mut gradient);
        let coefficients = own.rows().coefficients();
        // Training and validation rows are the same here.
        let decay = own.decay(2 * count) as f32;
        assert!(fitted[..coefficients].iter().any(|value| value.abs() > 0.001));
        for (slope, value) in gradient.iter().zip(&fitted[..coefficients]) {
            assert!((slope + decay * value).abs() < 1e-5, "{loss:?}: {slope} {value} {decay}");
        }
        // What is left of intercepts' slopes is their own slight ridge.
        assert!(gradient[coefficients..].iter().all(|slope| slope.abs() < 1e-4), "{loss:?}");
    }
}

#[test]
fn own_heads_are_the_last_layer() {
    let whole = Cnn::new(32, 3, 10);
    assert_eq!((whole.inputs(), whole.outputs()), (3072, 10));
    assert_eq!(whole.parameters(), 1216 + 12832 + 96120 + 10164 + 850);
    assert_eq!(whole.shared(), whole.parameters());
    assert_eq!(whole.clone().with_own_head().parameters(), whole.parameters());
    assert_eq!(whole.clone().with_own_head().shared(), whole.parameters() - 850);
    let linear = Mlp::linear(7, 3);
    assert_eq!((linear.shared(), linear.with_own_head().shared()), (24, 21), "all but intercepts");
}

#[test]
#[should_panic(expected = "at least 16")]
fn images_may_be_too_small() {
    let _ = Cnn::new(15, 1, 2);
}

/// A hypernetwork as its documentation describes it, in `f64`.
struct Reference {
    rays: usize,
    hidden: usize,
    /// Weights and biases of the two hidden layers, one row for each input; then for each
    /// made parameter its weights and its bias.
    parameters: Vec<f64>,
}

impl Reference {
    /// Draws the same numbers.
    fn new(rays: usize, hidden: usize, made: usize, stream: &mut Stream) -> Self {
        let mut parameters: Vec<f64> = Mlp::new(&[rays, hidden, hidden], 0.0)
            .initial(stream)
            .into_iter()
            .map(f64::from)
            .collect();
        let most = 1.0 / (hidden as f64).sqrt();
        let head = (0..made * (hidden + 1)).map(|_| (2.0 * stream.unit() - 1.0) * most);
        parameters.extend(head.map(|weight| f64::from(weight as f32)));
        Self { rays, hidden, parameters }
    }

    fn made(&self, ray: &[f64]) -> Vec<f64> {
        let (first, rest) = self.parameters.split_at((self.rays + 1) * self.hidden);
        let (second, head) = rest.split_at((self.hidden + 1) * self.hidden);
        let layer = |inputs: &[f64], parameters: &[f64]| {
            let mut sums = parameters[inputs.len() * self.hidden..].to_vec();
            for (input, weights) in inputs.iter().zip(parameters.chunks(self.hidden)) {
                sums.iter_mut().zip(weights).for_each(|(sum, weight)| *sum += input * weight);
            }
            sums.into_iter().map(|sum| sum.max(0.0)).collect::<Vec<f64>>()
        };
        let mut inner = layer(&layer(ray, first), second);
        inner.push(1.0);
        let row = |row: &[f64]| row.iter().zip(&inner).map(|(w, i)| w * i).sum();
        head.chunks(self.hidden + 1).map(row).collect()
    }

    /// A function of what is made for a ray.
    fn value(&self, ray: &[f64]) -> f64 {
        self.made(ray).iter().enumerate().map(|(at, p)| 0.5 * (p - target(at)).powi(2)).sum()
    }

    /// One step of gradient descent on that function, by differences.
    fn step(&mut self, ray: &[f64], rate: f64) {
        let slopes: Vec<f64> = (0..self.parameters.len())
            .map(|at| {
                let kept = self.parameters[at];
                self.parameters[at] = kept + 1e-6;
                let above = self.value(ray);
                self.parameters[at] = kept - 1e-6;
                let below = self.value(ray);
                self.parameters[at] = kept;
                (above - below) / 2e-6
            })
            .collect();
        for (parameter, slope) in self.parameters.iter_mut().zip(&slopes) {
            *parameter -= rate * slope;
        }
    }
}

fn target(at: usize) -> f64 {
    f64::from((at % 5) as u8) / 4.0 - 0.5
}

fn value_gradient(made: &[f32]) -> Vec<f32> {
    made.iter().enumerate().map(|(at, p)| p - target(at) as f32).collect()
}

const SIZES: [(usize, usize, usize); 3] = [(3, 6, 20), (2, 17, 40), (4, 5, 300)];

const RAYS: [[f64; 4]; 3] = [[0.5, 0.3, 0.2, 0.9], [0.1, 0.8, 0.1, 0.4], [1.0, 0.25, 0.5, 0.125]];

fn plain(rate: f32) -> OptimizerSettings {
    OptimizerSettings::Sgd { rate, momentum: 0.0, decay: 0.0 }
}

fn rounded(values: &[f64]) -> Vec<f32> {
    values.iter().map(|value| *value as f32).collect()
}

fn assert_made(network: &mut Hypernetwork, reference: &Reference, ray: &[f64]) {
    let mut made = vec![0.0; network.made()];
    network.make(&rounded(ray), &mut made);
    for (found, expected) in made.iter().zip(reference.made(ray)) {
        let error = (f64::from(*found) - expected).abs();
        assert!(error < 3e-6 * (1.0 + expected.abs()), "{found}, expected {expected}");
    }
}

#[test]
fn hypernetworks_make_what_they_say() {
    // The last makes its parameters on several threads.
    for (rays, hidden, made) in [SIZES[0], SIZES[1], SIZES[2], (3, 6, 20_000)] {
        let stream = || Stream::new(4, "hypernetwork", 0);
        let mut network = Hypernetwork::new(rays, hidden, made, plain(0.1), &mut stream());
        let reference = Reference::new(rays, hidden, made, &mut stream());
        assert_eq!(network.parameters(), reference.parameters.len());
        for ray in &RAYS {
            assert_made(&mut network, &reference, &ray[..rays]);
        }
    }
}

#[test]
fn hypernetworks_give_the_gradient_by_the_ray() {
    for (rays, hidden, made) in SIZES {
        let stream = || Stream::new(5, "hypernetwork", 0);
        let mut network = Hypernetwork::new(rays, hidden, made, plain(0.1), &mut stream());
        let reference = Reference::new(rays, hidden, made, &mut stream());
        for ray in &RAYS {
            let ray = &ray[..rays];
            let mut parameters = vec![0.0; made];
            network.make(&rounded(ray), &mut parameters);
            let found = network.ray_gradient(&rounded(ray), &value_gradient(&parameters));
            assert!(norm(&found) > 1e-3, "a gradient to look at");
            for at in 0..rays {
                let side = |step: f64| {
                    let mut moved = ray.to_vec();
                    moved[at] += step;
                    reference.value(&moved)
                };
                let expected = (side(1e-6) - side(-1e-6)) / 2e-6;
                let error = (f64::from(found[at]) - expected).abs();
                assert!(error < 1e-5 * norm(&found), "{}, by differences {expected}", found[at]);
            }
        }
    }
}

#[test]
fn hypernetworks_step_down_the_gradient() {
    for (rays, hidden, made) in SIZES {
        let stream = || Stream::new(6, "hypernetwork", 0);
        let mut network = Hypernetwork::new(rays, hidden, made, plain(0.02), &mut stream());
        let mut reference = Reference::new(rays, hidden, made, &mut stream());
        for ray in &RAYS {
            let ray = &ray[..rays];
            let mut parameters = vec![0.0; made];
            network.make(&rounded(ray), &mut parameters);
            let gradient = value_gradient(&parameters);
            // To ask for the gradient by the ray in between changes nothing.
            network.ray_gradient(&rounded(ray), &gradient);
            network.step(&rounded(ray), &gradient);
            reference.step(ray, 0.02);
            for other in &RAYS {
                assert_made(&mut network, &reference, &other[..rays]);
            }
        }
    }
}
