//! Early stopping: a participant's best model so far, by the loss on its own validation data.

use fedcompetitors_learn::{Part, kernels};
use serde::{Deserialize, Serialize};

use super::Best;
use crate::{FederateError, Site};

/// The weight of the newest model in the running mean.
const NEWEST: f32 = 0.5;

/// The fraction of a standard error by which a loss may exceed the least and still count as equal.
const TOLERANCE: f64 = 0.5;

/// The best model of a participant so far.
///
/// Validation data may be a few samples, and of many models on a bumpy path it would prefer one by
/// chance. So running means of the models are evaluated, and the last of those is kept whose loss
/// can hardly be told from the least.
#[derive(Debug, Serialize, Deserialize)]
pub struct EarlyStopping {
    mean: Vec<f32>,
    least: f64,
    loss: f64,
    best: Vec<f32>,
    /// The participants whose data it carries, as a set of bits.
    carried: Vec<u64>,
}

impl EarlyStopping {
    /// The start is the best model until another one is evaluated.
    pub fn new(start: &[f32]) -> Self {
        let none = f64::INFINITY;
        Self {
            mean: Vec::new(),
            least: none,
            loss: none,
            best: start.to_vec(),
            carried: Vec::new(),
        }
    }

    /// Evaluates the running mean that ends with these parameters, which carry these participants'
    /// data, and keeps it unless an earlier one was clearly better.
    ///
    /// # Errors
    /// If its loss is not finite.
    pub fn evaluate(
        &mut self,
        site: &Site<'_>,
        parameters: &[f32],
        carried: &[u64],
    ) -> Result<(), FederateError> {
        if self.mean.is_empty() {
            self.mean.extend_from_slice(parameters);
        } else {
            kernels::scale(&mut self.mean, 1.0 - NEWEST);
            kernels::add_scaled(&mut self.mean, NEWEST, parameters);
        }
        let loss = site.loss(Part::Validation, &self.mean)?;
        let samples = site.samples(Part::Validation);
        // The relative error of a mean of that many losses, roughly.
        let error = 1.0 / (samples.max(1) as f64).sqrt();
        self.least = self.least.min(loss);
        if loss <= self.least + TOLERANCE * error * self.least.abs() {
            self.loss = loss;
            self.best.clone_from(&self.mean);
            // What models carry only grows, so the newest carries what the whole mean does.
            self.carried = carried.to_vec();
        }
        Ok(())
    }

    /// The least validation loss so far.
    pub fn least(&self) -> f64 {
        self.least
    }

    /// The validation loss of the best model.
    pub fn loss(&self) -> f64 {
        self.loss
    }

    /// The best model.
    pub fn best(&self) -> Best<'_> {
        Best { parameters: &self.best, carried: &self.carried }
    }
}
