//! Losses, gradients and steps against those that `vectors/record.py` recorded from
//! PyTorch.

use std::sync::Arc;

use fedcompetitors_learn::{
    Accuracy, Batch, Cnn, Learner, Loss, Mlp, Model, NativeLearner, Optimizer, OptimizerSettings,
    Part, Samples, Targets,
};
use serde::Deserialize;

#[derive(Deserialize)]
struct Case {
    model: ModelOf,
    loss: LossOf,
    samples: usize,
    targets: Vec<f32>,
    value: f64,
    gradient: Vector,
    trajectories: Vec<Trajectory>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
enum ModelOf {
    Mlp { widths: Vec<usize>, slope: f32 },
    Cnn { side: usize, channels: usize, classes: usize },
}

#[derive(Debug, Deserialize)]
struct LossOf {
    kind: String,
    weights: [f32; 2],
}

/// Each `every`-th number of a vector, and the sum of all with generated weights.
#[derive(Deserialize)]
struct Vector {
    every: usize,
    picked: Vec<f64>,
    sum: f64,
    norm: f64,
}

#[derive(Deserialize)]
struct Trajectory {
    rule: RuleOf,
    losses: Vec<f64>,
    end: Vector,
}

#[derive(Debug, Deserialize)]
struct RuleOf {
    kind: String,
    rate: f32,
    momentum: f32,
    decay: f32,
}

/// The numbers of `generated` in `record.py`.
fn generated(seed: u32, count: usize) -> Vec<f32> {
    let mut state = seed;
    (0..count)
        .map(|_| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 16) as f32 / 32768.0 - 1.0
        })
        .collect()
}

impl ModelOf {
    fn build(&self) -> Arc<dyn Model> {
        match self {
            Self::Mlp { widths, slope } => Arc::new(Mlp::new(widths, *slope)),
            Self::Cnn { side, channels, classes } => Arc::new(Cnn::new(*side, *channels, *classes)),
        }
    }

    /// (inputs of a unit, parameters) of each layer.
    fn layers(&self) -> Vec<(usize, usize)> {
        let dense = |widths: &[usize]| -> Vec<_> {
            widths.windows(2).map(|pair| (pair[0], (pair[0] + 1) * pair[1])).collect()
        };
        match self {
            Self::Mlp { widths, .. } => dense(widths),
            Self::Cnn { side, channels, classes } => {
                let left = ((side - 4) / 2 - 4) / 2;
                let mut layers = vec![(25 * channels, (25 * channels + 1) * 16), (400, 401 * 32)];
                layers.extend(dense(&[left * left * 32, 120, 84, *classes]));
                layers
            }
        }
    }

    /// The numbers of `initial` in `record.py`.
    fn initial(&self) -> Vec<f32> {
        let layers = self.layers();
        let mut values = generated(2, layers.iter().map(|(_, count)| count).sum());
        let mut rest = &mut values[..];
        for (inputs, count) in layers {
            let (layer, behind) = rest.split_at_mut(count);
            let scale = (2.0 / (inputs as f64).sqrt()).log2().floor().exp2() as f32;
            layer.iter_mut().for_each(|value| *value *= scale);
            rest = behind;
        }
        values
    }
}

impl Case {
    fn loss(&self) -> Loss {
        match &self.loss.kind[..] {
            "squared error" => Loss::SquaredError,
            "cross-entropy" => Loss::CrossEntropy,
            "binary cross-entropy" => Loss::BinaryCrossEntropy { weights: self.loss.weights },
            other => panic!("loss {other}"),
        }
    }

    fn learner(&self) -> NativeLearner {
        let (model, loss) = (self.model.build(), self.loss());
        let classes = |count| Targets::Classes {
            #[expect(clippy::cast_sign_loss, reason = "labels are recorded as numbers")]
            labels: self.targets.iter().map(|label| *label as u32).collect(),
            count,
        };
        let targets = match loss {
            Loss::SquaredError => Targets::Values(self.targets.clone()),
            Loss::CrossEntropy => classes(model.outputs() as u32),
            Loss::BinaryCrossEntropy { .. } => classes(2),
        };
        let features = generated(1, self.samples * model.inputs());
        let samples = Samples::new(features, model.inputs(), targets).expect("finite samples");
        let parts = [samples.clone(), samples.clone(), samples];
        NativeLearner::from_parts(model, loss, &Accuracy, parts)
            .expect("a model that fits the samples")
    }

    fn name(&self) -> String {
        format!("{:?}, {}", self.model, self.loss.kind)
    }
}

impl RuleOf {
    fn rule(&self) -> OptimizerSettings {
        let Self { rate, momentum, decay, .. } = *self;
        match &self.kind[..] {
            "sgd" => OptimizerSettings::Sgd { rate, momentum, decay },
            "adam" => OptimizerSettings::Adam { rate, decay },
            other => panic!("rule {other}"),
        }
    }
}

impl Vector {
    /// Each number up to a part of the largest, and the sum up to a part of the norm.
    fn assert_is(&self, found: &[f32], tolerance: f64, name: &str) {
        let most = self.picked.iter().fold(0.0_f64, |most, value| most.max(value.abs()));
        assert_eq!(found.len().div_ceil(self.every), self.picked.len(), "{name}: length");
        for (at, (found, expected)) in
            found.iter().step_by(self.every).zip(&self.picked).enumerate()
        {
            let error = (f64::from(*found) - expected).abs();
            let at = at * self.every;
            assert!(error <= tolerance * most, "{name}: {found} at {at}, recorded {expected}");
        }
        let weights = generated(4, found.len());
        let products = found.iter().zip(&weights).map(|(f, w)| f64::from(*f) * f64::from(*w));
        let sum: f64 = products.sum();
        let error = (sum - self.sum).abs();
        assert!(error <= tolerance * self.norm, "{name}: sum {sum}, recorded {}", self.sum);
    }
}

fn assert_close(found: f64, expected: f64, name: &str) {
    assert!((found - expected).abs() <= 1e-5 * expected.abs(), "{name}: {found}, not {expected}");
}

fn cases() -> Vec<Case> {
    let cases: Vec<Case> = serde_json::from_str(include_str!("vectors/vectors.json"))
        .expect("the file is as record.py writes it");
    assert!(cases.len() >= 11, "all that was recorded");
    cases
}

#[test]
fn gradients_are_those_of_pytorch() {
    for case in cases() {
        let (learner, parameters) = (case.learner(), case.model.initial());
        let mut gradient = vec![0.0; parameters.len()];
        let value = learner.gradient(Part::Training, Batch::All, &parameters, &mut gradient);
        assert_close(value, case.value, &case.name());
        case.gradient.assert_is(&gradient, 1e-5, &case.name());
    }
}

#[test]
fn steps_are_those_of_pytorch() {
    for case in cases() {
        let learner = case.learner();
        assert_eq!(case.trajectories.len(), 2);
        for trajectory in &case.trajectories {
            let name = format!("{}, {:?}", case.name(), trajectory.rule);
            let mut parameters = case.model.initial();
            let mut gradient = vec![0.0; parameters.len()];
            let mut optimizer = Optimizer::new(trajectory.rule.rule(), parameters.len());
            for expected in &trajectory.losses {
                let value =
                    learner.gradient(Part::Training, Batch::All, &parameters, &mut gradient);
                assert_close(value, *expected, &name);
                optimizer.step(&mut parameters, &gradient);
            }
            trajectory.end.assert_is(&parameters, 1e-5, &name);
        }
    }
}
