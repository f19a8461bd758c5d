//! The paper's synthetic settings: polynomial regression with or without opposite signs.

use std::sync::Arc;

use fedcompetitors_graphs::random::Stream;
use rand_distr::{Distribution, StandardNormal};

use crate::{LearnError, Loss, Mlp, Mse, NativeLearner, Samples, Split, Targets, shuffle};

/// Features of a sample.
const FEATURES: usize = 20;

/// Powers of the features that count.
const POWERS: usize = 3;

/// How the paper draws a federation.
#[derive(Debug, Clone, PartialEq)]
pub struct Synthetic {
    /// The samples of each participant.
    pub samples: Vec<usize>,
    /// Whose labels are negated.
    pub negated: Vec<bool>,
    /// How much the participants' true weights differ.
    pub spread: f64,
    /// The deviation of the noise in the labels.
    pub noise: f64,
}

impl Synthetic {
    /// Weakly non-IID: four large and four small participants with nearly one task.
    pub fn weak() -> Self {
        let samples = [2000, 2000, 100, 100, 2000, 2000, 100, 100].to_vec();
        Self { samples, negated: vec![false; 8], spread: 0.01, noise: 0.1 }
    }

    /// Strongly non-IID: eight large participants, four of whom see all labels negated.
    pub fn strong() -> Self {
        let negated = (0..8).map(|participant| participant >= 4).collect();
        Self { samples: vec![2000; 8], negated, ..Self::weak() }
    }

    /// The samples of each participant, and behind them `more` of the same kind.
    ///
    /// # Errors
    /// Never for the settings here: the numbers are finite.
    pub fn draw(&self, seed: u64, more: usize) -> Result<Vec<Samples>, LearnError> {
        let mut stream = Stream::new(seed, "synthetic tasks", 0);
        let common: Vec<f64> = (0..POWERS * FEATURES).map(|_| stream.unit()).collect();
        self.samples
            .iter()
            .zip(&self.negated)
            .enumerate()
            .map(|(participant, (&count, &negated))| {
                let mut stream = Stream::new(seed, "synthetic samples", participant as u64);
                let normal =
                    |stream: &mut Stream| -> f64 { StandardNormal.sample(stream.source()) };
                let weights: Vec<f64> = common
                    .iter()
                    .map(|weight| weight + self.spread * normal(&mut stream))
                    .collect();
                let (mut features, mut labels) = (Vec::new(), Vec::new());
                for _ in 0..count + more {
                    let mut label = 0.0;
                    for feature in 0..FEATURES {
                        let x = 2.0 * stream.unit() - 1.0;
                        let mut power_of_x = 1.0;
                        for power in 0..POWERS {
                            power_of_x *= x;
                            label += weights[power * FEATURES + feature] * power_of_x;
                        }
                        features.push(x as f32);
                    }
                    let label = if negated { -label } else { label };
                    labels.push((label + self.noise * normal(&mut stream)) as f32);
                }
                Samples::new(features, FEATURES, Targets::Values(labels))
            })
            .collect()
    }

    /// The paper's target model.
    pub fn model() -> Mlp {
        Mlp::new(&[FEATURES, 100, 1], 0.2)
    }

    /// A learner for each participant. Of its samples so many in a hundred are for validation,
    /// by the seed; the test is on `test` more that are drawn anew, as the ten or twenty that a small
    /// participant could spare would measure chance.
    ///
    /// # Errors
    /// If a participant has too few samples.
    pub fn learners(
        &self,
        seed: u64,
        validation: usize,
        test: usize,
    ) -> Result<Vec<NativeLearner>, LearnError> {
        let model = Arc::new(Self::model());
        let drawn = self.draw(seed, test)?;
        drawn
            .iter()
            .zip(&self.samples)
            .enumerate()
            .map(|(participant, (samples, &own))| {
                let mut rows: Vec<u32> = (0..own as u32).collect();
                shuffle(&mut rows, &mut Stream::new(seed, "split", participant as u64));
                let held_out = (own * validation / 100).clamp(1, own - 1);
                let training = rows.split_off(held_out);
                let test = (own as u32..samples.len() as u32).collect();
                let split = Split { training, validation: rows, test };
                let model = Arc::clone(&model) as _;
                NativeLearner::new(model, Loss::SquaredError, &Mse, samples, &split)
            })
            .collect()
    }
}
