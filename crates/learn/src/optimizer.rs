//! How parameters follow gradients.

use serde::{Deserialize, Serialize};

use crate::kernels::{self, AdamStep};

/// A rule for steps.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub enum OptimizerSettings {
    /// Gradient descent with momentum: `v = m·v + g`, `p −= rate · v`.
    Sgd {
        /// The learning rate.
        rate: f32,
        /// How much of the last step goes on.
        momentum: f32,
        /// How much of each parameter is added to its gradient.
        decay: f32,
    },
    /// Adam, with the usual constants 0.9, 0.999 and 10⁻⁸.
    Adam {
        /// The learning rate.
        rate: f32,
        /// How much of each parameter is added to its gradient.
        decay: f32,
    },
}

const FIRST_DECAY: f32 = 0.9;
const SECOND_DECAY: f32 = 0.999;
const EPSILON: f32 = 1e-8;

/// A rule with what it remembers of the steps so far.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Optimizer {
    rule: OptimizerSettings,
    steps: u32,
    pub(crate) first: Vec<f32>,
    /// Only Adam has two.
    pub(crate) second: Vec<f32>,
}

impl Optimizer {
    /// No steps yet, for so many parameters.
    pub fn new(rule: OptimizerSettings, parameters: usize) -> Self {
        let second = match rule {
            OptimizerSettings::Sgd { .. } => Vec::new(),
            OptimizerSettings::Adam { .. } => vec![0.0; parameters],
        };
        Self { rule, steps: 0, first: vec![0.0; parameters], second }
    }

    /// One step.
    ///
    /// # Panics
    /// If there are more or fewer parameters than it was made for.
    pub fn step(&mut self, parameters: &mut [f32], gradient: &[f32]) {
        assert_eq!(parameters.len(), self.first.len(), "one memory for each parameter");
        let step = self.begin_step();
        step.apply(parameters, gradient, &mut self.first, &mut self.second);
    }

    /// Counts a step, which may then be made piece by piece.
    pub(crate) fn begin_step(&mut self) -> OneStep {
        self.steps += 1;
        let power = |base: f32| f64::from(base).powi(i32::try_from(self.steps).unwrap_or(i32::MAX));
        match self.rule {
            OptimizerSettings::Sgd { rate, momentum, decay } => {
                OneStep::Sgd { rate, momentum, decay }
            }
            OptimizerSettings::Adam { rate, decay } => OneStep::Adam(AdamStep {
                rate: (f64::from(rate) / (1.0 - power(FIRST_DECAY))) as f32,
                first_decay: FIRST_DECAY,
                second_decay: SECOND_DECAY,
                second_correction: (1.0 / (1.0 - power(SECOND_DECAY))) as f32,
                epsilon: EPSILON,
                decay,
            }),
        }
    }
}

/// One step of a rule, ready to be made.
#[derive(Debug, Clone, Copy)]
pub(crate) enum OneStep {
    Sgd { rate: f32, momentum: f32, decay: f32 },
    Adam(AdamStep),
}

impl OneStep {
    /// Makes it for some of the parameters and what is remembered of them.
    pub fn apply(
        self,
        parameters: &mut [f32],
        gradient: &[f32],
        first: &mut [f32],
        second: &mut [f32],
    ) {
        match self {
            Self::Sgd { rate, momentum, decay } => {
                kernels::momentum_step(parameters, gradient, first, rate, momentum, decay);
            }
            Self::Adam(step) => kernels::adam_step(parameters, gradient, first, second, step),
        }
    }
}
