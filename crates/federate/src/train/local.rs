//! A participant that trains a model of its own between two exchanges.

use fedcompetitors_graphs::{bits, random::Stream};
use fedcompetitors_learn::{Batch, Optimizer, Part, Rule, kernels, shuffle};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::{Effort, Keeper, LOOK};
use crate::{FederateError, Federation};

/// What a participant has while it trains.
#[derive(Serialize, Deserialize)]
pub struct Local {
    pub participant: usize,
    pub parameters: Vec<f32>,
    /// Whose data they carry: its own, and what came with what it was handed.
    pub carried: Vec<u64>,
    pub keeper: Keeper,
    optimizer: Optimizer,
    decay: f32,
    batches: Batches,
    /// Steps since its validation data last looked.
    unlooked: usize,
    #[serde(skip)]
    pub gradient: Vec<f32>,
}

impl Local {
    pub fn new(federation: &Federation<'_>, participant: usize, effort: Effort) -> Self {
        let parameters = federation.initial(participant);
        let (rule, decay) = without_decay(effort.rule);
        Self {
            participant,
            keeper: Keeper::new(participant, &parameters),
            optimizer: Optimizer::new(rule, parameters.len()),
            decay,
            batches: Batches::new(federation, participant, effort.batch),
            unlooked: 0,
            gradient: Vec::new(),
            carried: federation.own(participant),
            parameters,
        }
    }

    /// One step along the gradient of the training loss, the decay's included, after
    /// `correct` has had its way with it (given also where the model stands).
    pub fn step(
        &mut self,
        federation: &Federation<'_>,
        correct: impl FnOnce(&mut [f32], &[f32]),
    ) -> Result<(), FederateError> {
        self.descend(federation)?;
        let Self { parameters, gradient, .. } = self;
        correct(gradient, parameters);
        self.follow();
        Ok(())
    }

    /// The gradient of the training loss where the model stands, the decay's included, on the
    /// next batch.
    pub fn descend(&mut self, federation: &Federation<'_>) -> Result<(), FederateError> {
        let Self { participant, parameters, decay, batches, gradient, .. } = self;
        gradient.resize(parameters.len(), 0.0);
        federation.gradient_on(
            *participant,
            Part::Training,
            batches.next(),
            parameters,
            gradient,
        )?;
        kernels::add_scaled(gradient, *decay, parameters);
        Ok(())
    }

    /// One step along that gradient, as it is by now.
    pub fn follow(&mut self) {
        self.optimizer.step(&mut self.parameters, &self.gradient);
        self.unlooked += 1;
    }

    /// Lets its validation data look at the model as it is, if it is time: after some steps,
    /// and in the end at whatever it has not seen. That is its own affair, so it also looks
    /// while it is out of reach.
    pub fn look(
        &mut self,
        federation: &Federation<'_>,
        in_the_end: bool,
    ) -> Result<(), FederateError> {
        if self.unlooked < LOOK && !(in_the_end && self.unlooked > 0) {
            return Ok(());
        }
        self.unlooked = 0;
        self.keeper.offer(federation, &self.parameters, &self.carried)
    }

    /// Notes what came with something that it was handed.
    pub fn receive(&mut self, carried: &[u64]) {
        bits::union(&mut self.carried, carried);
    }
}

/// Works on all of them in parallel. If several fail, the first in order is heard of.
pub fn each<'a, T: Send + 'a>(
    items: impl IntoParallelIterator<Item = &'a mut T>,
    work: impl Fn(&mut T) -> Result<(), FederateError> + Send + Sync,
) -> Result<(), FederateError> {
    let results: Vec<_> = items.into_par_iter().map(work).collect();
    results.into_iter().collect()
}

/// The training samples of a participant in batches, in a new order each time all have had
/// their turn. What is left behind the last whole batch waits for another order.
#[derive(Serialize, Deserialize)]
pub struct Batches {
    /// Nothing if all samples are one batch.
    rows: Vec<u32>,
    size: usize,
    done: usize,
    stream: Stream,
}

impl Batches {
    /// A batch as large as the data, or larger, is all of it.
    pub fn new(federation: &Federation<'_>, participant: usize, size: Option<usize>) -> Self {
        let samples = federation.learner(participant).samples(Part::Training);
        let size = size.map_or(samples, |size| size.clamp(1, samples.max(1)));
        let rows = if size < samples { (0..samples as u32).collect() } else { Vec::new() };
        let stream = federation.stream("batches", participant);
        // The first batch finds that nothing is left, and shuffles.
        Self { done: rows.len(), rows, size, stream }
    }

    pub fn next(&mut self) -> Batch<'_> {
        if self.rows.is_empty() {
            return Batch::All;
        }
        if self.done + self.size > self.rows.len() {
            shuffle(&mut self.rows, &mut self.stream);
            self.done = 0;
        }
        self.done += self.size;
        Batch::Rows(&self.rows[self.done - self.size..self.done])
    }
}

/// The rule and, apart from it, its decay: as part of the loss it means the same to every
/// trainer.
pub fn without_decay(rule: Rule) -> (Rule, f32) {
    match rule {
        Rule::Sgd { rate, momentum, decay } => (Rule::Sgd { rate, momentum, decay: 0.0 }, decay),
        Rule::Adam { rate, decay } => (Rule::Adam { rate, decay: 0.0 }, decay),
    }
}
