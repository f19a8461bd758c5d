//! A participant as it sees itself.

use std::sync::atomic::{AtomicU64, Ordering};

use fedcompetitors_graphs::{bits, random::Stream};
use fedcompetitors_learn::{Batch, LearnError, Learner, Part};

use crate::FederateError;

/// The purpose of the random stream of the initial parameters.
const INITIAL: &str = "initial parameters";

/// A participant's own view: its learner, its place in the list of participants and its random streams. It has
/// nothing of the other participants.
#[derive(Clone, Copy)]
pub struct Site<'a> {
    learner: &'a dyn Learner,
    name: &'a str,
    index: usize,
    /// The number of participants.
    participants: usize,
    seed: u64,
    evaluations: &'a AtomicU64,
}

impl<'a> Site<'a> {
    /// The view of the participant at this index of `participants`. Each gradient adds one to `evaluations`.
    pub fn new(
        (name, index): (&'a str, usize),
        participants: usize,
        learner: &'a dyn Learner,
        seed: u64,
        evaluations: &'a AtomicU64,
    ) -> Self {
        Self { learner, name, index, participants, seed, evaluations }
    }

    /// Its learner, whose gradients are not counted.
    pub fn learner(&self) -> &'a dyn Learner {
        self.learner
    }

    /// Its place in the list of participants.
    pub fn index(&self) -> usize {
        self.index
    }

    /// Its name.
    pub fn name(&self) -> &'a str {
        self.name
    }

    /// The number of its parameters that may be shared.
    pub fn shared(&self) -> usize {
        self.learner.shared()
    }

    /// The number of samples in a part of its data.
    pub fn samples(&self, part: Part) -> usize {
        self.learner.samples(part)
    }

    /// Its random stream for a purpose.
    pub fn stream(&self, purpose: &str) -> Stream {
        Stream::new(self.seed, purpose, self.index as u64)
    }

    /// Its initial parameters; the shared ones are the same for all participants.
    pub fn initial(&self) -> Vec<f32> {
        let mut parameters = self.learner.initial(&mut self.stream(INITIAL));
        let common = self.learner.initial(&mut Stream::new(self.seed, INITIAL, 0));
        let shared = self.shared();
        parameters[..shared].copy_from_slice(&common[..shared]);
        parameters
    }

    /// A gradient on a batch of a part of its data; it is counted.
    ///
    /// # Errors
    /// If the loss is not finite.
    pub fn gradient(
        &self,
        part: Part,
        batch: Batch<'_>,
        parameters: &[f32],
        gradient: &mut [f32],
    ) -> Result<f64, FederateError> {
        self.evaluations.fetch_add(1, Ordering::Relaxed);
        self.check(self.learner.gradient(part, batch, parameters, gradient))
    }

    /// The loss on a part of its data.
    ///
    /// # Errors
    /// If it is not finite.
    pub fn loss(&self, part: Part, parameters: &[f32]) -> Result<f64, FederateError> {
        self.check(self.learner.loss(part, parameters))
    }

    /// The loss, if it is finite.
    ///
    /// # Errors
    /// If it is NaN or infinite: nothing may be learned from that.
    pub fn check(&self, loss: f64) -> Result<f64, FederateError> {
        if loss.is_finite() {
            return Ok(loss);
        }
        let participant = self.name.to_owned();
        Err(FederateError::Participant { participant, error: LearnError::Diverged })
    }

    /// The provenance of a model that it has trained alone, as a set of bits.
    pub fn own(&self) -> Vec<u64> {
        bits::only(self.index, self.participants)
    }
}
