//! Keeps what a participant's own validation data likes best.

use fedcompetitors_learn::Part;

use crate::{FederateError, Federation};

/// The best model of a participant so far.
pub struct Keeper {
    participant: usize,
    loss: f64,
    parameters: Vec<f32>,
}

impl Keeper {
    /// Nothing kept yet.
    pub fn new(participant: usize) -> Self {
        Self { participant, loss: f64::INFINITY, parameters: Vec::new() }
    }

    /// Keeps these parameters if they are better than what there was.
    ///
    /// # Errors
    /// If their loss is no number.
    pub fn offer(
        &mut self,
        federation: &Federation<'_>,
        parameters: &[f32],
    ) -> Result<(), FederateError> {
        let loss = federation.loss(self.participant, Part::Validation, parameters)?;
        if loss < self.loss {
            self.loss = loss;
            self.parameters.clear();
            self.parameters.extend_from_slice(parameters);
        }
        Ok(())
    }

    /// The validation loss of what was kept.
    pub fn loss(&self) -> f64 {
        self.loss
    }

    /// What was kept.
    pub fn best(self) -> Vec<f32> {
        self.parameters
    }
}
