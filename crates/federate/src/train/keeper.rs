//! Keeps what a participant's own validation data likes.

use fedcompetitors_learn::{Part, kernels};
use serde::{Deserialize, Serialize};

use super::Kept;
use crate::{FederateError, Federation};

/// How much of a mean the newest model makes up.
const NEWEST: f32 = 0.5;

/// By how much of a standard error a loss may lie above the least and still be as good.
const TOLERANCE: f64 = 0.5;

/// The best model of a participant so far.
///
/// Validation data may be few samples, and of many models on a bumpy way it would like one
/// for no reason but chance. So running means of the models are looked at, and the last of
/// those is kept whose loss can hardly be told from the least.
#[derive(Debug, Serialize, Deserialize)]
pub struct Keeper {
    participant: usize,
    mean: Vec<f32>,
    least: f64,
    loss: f64,
    kept: Vec<f32>,
    /// Whose data it carries.
    carried: Vec<u64>,
}

impl Keeper {
    /// Keeps what there is to begin with, until something is offered.
    pub fn new(participant: usize, start: &[f32]) -> Self {
        let none = f64::INFINITY;
        Self {
            participant,
            mean: Vec::new(),
            least: none,
            loss: none,
            kept: start.to_vec(),
            carried: Vec::new(),
        }
    }

    /// Keeps the mean that ends with these parameters, which carry these participants'
    /// data, if nothing before was clearly better.
    ///
    /// # Errors
    /// If its loss is no number.
    pub fn offer(
        &mut self,
        federation: &Federation<'_>,
        parameters: &[f32],
        carried: &[u64],
    ) -> Result<(), FederateError> {
        if self.mean.is_empty() {
            self.mean.extend_from_slice(parameters);
        } else {
            kernels::scale(&mut self.mean, 1.0 - NEWEST);
            kernels::add_scaled(&mut self.mean, NEWEST, parameters);
        }
        let loss = federation.loss(self.participant, Part::Validation, &self.mean)?;
        let samples = federation.learner(self.participant).samples(Part::Validation);
        // A mean of so many losses is off by about this part of itself.
        let error = 1.0 / (samples.max(1) as f64).sqrt();
        self.least = self.least.min(loss);
        if loss <= self.least + TOLERANCE * error * self.least.abs() {
            self.loss = loss;
            self.kept.clone_from(&self.mean);
            // What models carry only grows, so the newest speaks for the whole mean.
            self.carried = carried.to_vec();
        }
        Ok(())
    }

    /// The least validation loss on the way.
    pub fn least(&self) -> f64 {
        self.least
    }

    /// The validation loss of what was kept.
    pub fn loss(&self) -> f64 {
        self.loss
    }

    /// What was kept.
    pub fn kept(&self) -> Kept<'_> {
        Kept { parameters: &self.kept, carried: &self.carried }
    }
}
