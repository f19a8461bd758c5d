//! A participant of a hypernetwork: the parameters that the network makes are shared, the head is its own.

use fedcompetitors_learn::{Batch, Optimizer, OptimizerSettings, Part};
use serde::{Deserialize, Serialize};

use crate::{FederateError, Site};

/// A model whose shared parameters come from elsewhere, and whose head is trained here.
#[derive(Serialize, Deserialize)]
pub struct Headed {
    pub participant: usize,
    /// The shared parameters, which a hypernetwork makes, and behind them the head.
    pub model: Vec<f32>,
    pub gradient: Vec<f32>,
    head: Optimizer,
}

impl Headed {
    pub fn new(site: &Site<'_>, rule: OptimizerSettings) -> Self {
        let model = site.initial();
        let head = Optimizer::new(rule, model.len() - site.shared());
        Self { participant: site.index(), gradient: vec![0.0; model.len()], model, head }
    }

    /// The gradient of its own loss, by all of its model.
    pub fn gradient(
        &mut self,
        site: &Site<'_>,
        part: Part,
        batch: Batch<'_>,
    ) -> Result<f64, FederateError> {
        site.gradient(part, batch, &self.model, &mut self.gradient)
    }

    /// A step of the head along the last gradient: as large as if it trained alone, whatever
    /// its part in the ray.
    pub fn step_head(&mut self, shared: usize) {
        if self.model.len() > shared {
            self.head.step(&mut self.model[shared..], &self.gradient[shared..]);
        }
    }
}
