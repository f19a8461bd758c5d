//! A participant that trains a model of its own between two exchanges.

use fedcompetitors_graphs::random::Stream;
use fedcompetitors_learn::{Batch, Optimizer, OptimizerSettings, Part, kernels, shuffle};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::{EarlyStopping, Effort, VALIDATE_EVERY};
use crate::{FederateError, Site};

/// The state of a participant in training. A linear model has the decay that its own cross-validation
/// prefers, other models that of the settings.
#[derive(Serialize, Deserialize)]
pub struct Descent {
    pub parameters: Vec<f32>,
    pub early_stopping: EarlyStopping,
    optimizer: Optimizer,
    decay: f32,
    /// The parameters that decay, from the first on.
    decaying: usize,
    batches: Batches,
    /// Steps since the last validation.
    since_validation: usize,
    #[serde(skip)]
    pub gradient: Vec<f32>,
}

impl Descent {
    pub fn new(site: &Site<'_>, effort: Effort) -> Self {
        Self::started(site, effort, site.initial(), BATCHES)
    }

    /// A training that starts from these parameters; the purpose sets its batches apart.
    pub fn started(site: &Site<'_>, effort: Effort, parameters: Vec<f32>, purpose: &str) -> Self {
        let (rule, decay) = without_decay(effort.rule);
        let learner = site.learner();
        let (decay, decaying) = match learner.linear() {
            Some(own) => {
                let decay = own.decay(learner.samples(Part::Training)) as f32;
                (decay.min(most_decay(rule)), own.rows().coefficients())
            }
            None => (decay, parameters.len()),
        };
        Self {
            early_stopping: EarlyStopping::new(&parameters),
            optimizer: Optimizer::new(rule, parameters.len()),
            decay,
            decaying,
            batches: Batches::for_purpose(site, effort.batch, purpose),
            since_validation: 0,
            gradient: Vec::new(),
            parameters,
        }
    }

    /// One step along the gradient of the training loss, decay included, after `correct` has changed
    /// it, given the parameters.
    pub fn step(
        &mut self,
        site: &Site<'_>,
        correct: impl FnOnce(&mut [f32], &[f32]),
    ) -> Result<(), FederateError> {
        self.descend(site)?;
        let Self { parameters, gradient, .. } = self;
        correct(gradient, parameters);
        self.follow();
        Ok(())
    }

    /// Computes the gradient of the training loss at the parameters, decay included, on the next
    /// batch.
    pub fn descend(&mut self, site: &Site<'_>) -> Result<(), FederateError> {
        let Self { parameters, decay, decaying, batches, gradient, .. } = self;
        gradient.resize(parameters.len(), 0.0);
        site.gradient(Part::Training, batches.next(), parameters, gradient)?;
        kernels::add_scaled(&mut gradient[..*decaying], *decay, &parameters[..*decaying]);
        Ok(())
    }

    /// One step along the gradient, as it is now.
    pub fn follow(&mut self) {
        self.optimizer.step(&mut self.parameters, &self.gradient);
        self.since_validation += 1;
    }

    /// Validates the model, which carries these participants' data, every [`VALIDATE_EVERY`] steps, and in the end
    /// once more if steps were made since.
    pub fn validate(
        &mut self,
        site: &Site<'_>,
        carried: &[u64],
        in_the_end: bool,
    ) -> Result<(), FederateError> {
        if self.since_validation < VALIDATE_EVERY && !(in_the_end && self.since_validation > 0) {
            return Ok(());
        }
        self.since_validation = 0;
        self.early_stopping.evaluate(site, &self.parameters, carried)
    }

    /// The same with this decay of all parameters.
    #[must_use]
    pub fn with_decay(self, decay: f32) -> Self {
        Self { decay, decaying: self.parameters.len(), ..self }
    }

    /// Whether it has made no steps.
    pub fn is_untrained(&self) -> bool {
        self.since_validation == 0 && self.early_stopping.loss().is_infinite()
    }
}

/// Works on all items in parallel. If several fail, the error is that of the first in order.
pub fn each<'a, T: Send + 'a>(
    items: impl IntoParallelIterator<Item = &'a mut T>,
    work: impl Fn(&mut T) -> Result<(), FederateError> + Send + Sync,
) -> Result<(), FederateError> {
    let results: Vec<_> = items.into_par_iter().map(work).collect();
    results.into_iter().collect()
}

/// The purpose of the random stream of a participant's batches.
const BATCHES: &str = "batches";

/// The training samples of a participant in batches, shuffled again for each pass. Samples that do not
/// fill a last batch are left out of the pass.
#[derive(Serialize, Deserialize)]
pub struct Batches {
    /// Empty if all samples are one batch.
    rows: Vec<u32>,
    size: usize,
    done: usize,
    stream: Stream,
}

impl Batches {
    /// A batch as large as the data, or larger, is all of it.
    pub fn new(site: &Site<'_>, size: Option<usize>) -> Self {
        Self::for_purpose(site, size, BATCHES)
    }

    fn for_purpose(site: &Site<'_>, size: Option<usize>, purpose: &str) -> Self {
        let samples = site.samples(Part::Training);
        let size = size.map_or(samples, |size| size.clamp(1, samples.max(1)));
        let rows = if size < samples { (0..samples as u32).collect() } else { Vec::new() };
        let stream = site.stream(purpose);
        // With nothing left, the first batch shuffles.
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

/// The largest decay with which steps cannot overshoot.
fn most_decay(rule: OptimizerSettings) -> f32 {
    match rule {
        OptimizerSettings::Sgd { rate, .. } => 1.0 / rate,
        // Its steps are as long as the rate, whatever the gradient.
        OptimizerSettings::Adam { .. } => f32::INFINITY,
    }
}

/// The optimizer settings and, apart from them, the decay: as part of the loss it means the same to
/// every trainer.
pub fn without_decay(rule: OptimizerSettings) -> (OptimizerSettings, f32) {
    match rule {
        OptimizerSettings::Sgd { rate, momentum, decay } => {
            (OptimizerSettings::Sgd { rate, momentum, decay: 0.0 }, decay)
        }
        OptimizerSettings::Adam { rate, decay } => {
            (OptimizerSettings::Adam { rate, decay: 0.0 }, decay)
        }
    }
}
