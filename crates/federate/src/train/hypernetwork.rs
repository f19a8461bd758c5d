//! Personal hypernetworks, as in the paper: for each participant one over itself and its
//! collaborators.
//!
//! A collaborator evaluates gradients at a model that carries the participant's other
//! collaborators, so information also flows between those, who may compete. This is for
//! simulations and for coordinators who compute on data they are trusted with;
//! [`Mixing`](super::Mixing) is for everybody else.

use fedcompetitors_graphs::{UsageGraph, bits::ones, random::Stream};
use fedcompetitors_learn::{Hypernetwork, Part, kernels, simplex};
use rayon::prelude::*;

use super::{
    Effort, Keeper, LOOK, Trainer, is_clearly_less,
    local::{Batches, without_decay},
    trial_steps,
};
use crate::{FederateError, Federation};

/// Training with a hypernetwork for each participant.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Hypernetworks {
    /// The width of its hidden layers.
    pub hidden: usize,
    /// The rate of the steps on the ray.
    pub ray_rate: f32,
    /// Steps on the weights between two on the ray.
    pub ray_every: usize,
    /// Hundredths of the budget for which everybody first trains alone, to see later whether
    /// its collaborators do it good: whoever was clearly better off goes on alone.
    pub trial_percent: usize,
}

impl Default for Hypernetworks {
    fn default() -> Self {
        Self { hidden: 100, ray_rate: 0.01, ray_every: 10, trial_percent: 3 }
    }
}

/// How much of the parameters depends on the ray to begin with.
const VARIATION: f32 = 0.1;

impl Trainer for Hypernetworks {
    fn name(&self) -> &'static str {
        "hypernetwork"
    }

    fn train(
        &self,
        federation: &Federation<'_>,
        usage: &UsageGraph,
        effort: Effort,
    ) -> Result<Vec<Vec<f32>>, FederateError> {
        let models: Vec<_> = (0..federation.len())
            .into_par_iter()
            .map(|owner| {
                let mut members = vec![owner];
                members.extend(ones(usage.collaborators(owner)));
                self.train_one(federation, members, effort)
            })
            .collect();
        models.into_iter().collect()
    }
}

impl Hypernetworks {
    /// The model of the first of these participants, learned from all of them.
    fn train_one(
        &self,
        federation: &Federation<'_>,
        members: Vec<usize>,
        effort: Effort,
    ) -> Result<Vec<f32>, FederateError> {
        let trial = trial_steps(self.trial_percent, effort.evaluations);
        if members.len() == 1 || trial == 0 {
            let mut only = Personal::new(self, federation, members, effort);
            only.train(federation, effort.evaluations)?;
            return Ok(only.keeper.kept());
        }
        let mut chosen = Personal::new(self, federation, vec![members[0]], effort);
        let mut other = Personal::new(self, federation, members, effort);
        chosen.train(federation, trial)?;
        other.train(federation, trial)?;
        if !is_clearly_less(chosen.keeper.loss(), other.keeper.loss()) {
            std::mem::swap(&mut chosen, &mut other);
        }
        chosen.train(federation, effort.evaluations - 2 * trial)?;
        let best = if other.keeper.loss() < chosen.keeper.loss() { other } else { chosen };
        Ok(best.keeper.kept())
    }
}

/// A participant's hypernetwork while it learns.
struct Personal {
    settings: Hypernetworks,
    /// The owner first.
    members: Vec<usize>,
    batches: Vec<Batches>,
    ray: Vec<f32>,
    network: Hypernetwork,
    decay: f32,
    keeper: Keeper,
    model: Vec<f32>,
    gradient: Vec<f32>,
    stream: Stream,
    steps: usize,
}

impl Personal {
    fn new(
        settings: &Hypernetworks,
        federation: &Federation<'_>,
        members: Vec<usize>,
        effort: Effort,
    ) -> Self {
        let (owner, shared) = (members[0], federation.shared());
        let (rule, decay) = without_decay(effort.rule);
        let mut stream = federation.stream("personal hypernetwork", owner);
        let mut network =
            Hypernetwork::new(members.len(), settings.hidden, shared, rule, &mut stream);
        let model = federation.initial(owner);
        network.start_from(&model[..shared], VARIATION);
        let batches = members.iter().map(|&a| Batches::new(federation, a, effort.batch));
        Self {
            settings: *settings,
            batches: batches.collect(),
            ray: by_samples(federation, &members),
            members,
            network,
            decay,
            keeper: Keeper::new(owner),
            gradient: vec![0.0; model.len()],
            model,
            stream,
            steps: 0,
        }
    }

    /// So many steps more.
    fn train(&mut self, federation: &Federation<'_>, steps: usize) -> Result<(), FederateError> {
        let shared = federation.shared();
        for left in (0..steps).rev() {
            self.step(federation)?;
            self.steps += 1;
            if self.steps.is_multiple_of(LOOK) || left == 0 {
                self.network.make(&self.ray, &mut self.model[..shared]);
                self.keeper.offer(federation, &self.model)?;
            }
        }
        Ok(())
    }

    /// A step on the ray now and then, on the weights else.
    fn step(&mut self, federation: &Federation<'_>) -> Result<(), FederateError> {
        let (owner, shared) = (self.members[0], federation.shared());
        let Self { settings, members, ray, network, model, gradient, .. } = self;
        network.make(ray, &mut model[..shared]);
        let turn = settings.ray_every + 1;
        if members.len() > 1 && self.steps % turn == turn - 1 {
            federation.gradient(owner, Part::Validation, model, gradient)?;
            let slope = network.ray_gradient(ray, &gradient[..shared]);
            kernels::add_scaled(ray, -settings.ray_rate, &slope);
            simplex::project(ray);
        } else {
            // One member, drawn by the ray, stands for the ray-weighted sum of all: the
            // same gradient on average, at the price of one.
            let member = drawn(ray, self.stream.unit() as f32);
            let batch = self.batches[member].next();
            federation.gradient_on(members[member], Part::Training, batch, model, gradient)?;
            kernels::add_scaled(&mut gradient[..shared], self.decay, &model[..shared]);
            network.step(ray, &gradient[..shared]);
        }
        Ok(())
    }
}

/// Which entry of a ray a number from 0 to 1 falls on.
fn drawn(ray: &[f32], number: f32) -> usize {
    let mut left = number * ray.iter().sum::<f32>();
    for (at, part) in ray.iter().enumerate() {
        if left < *part {
            return at;
        }
        left -= part;
    }
    // Rounding may leave a little behind the last one.
    ray.iter().rposition(|&part| part > 0.0).unwrap_or(0)
}

/// A ray that gives everybody as much as it has training samples.
pub(crate) fn by_samples(federation: &Federation<'_>, members: &[usize]) -> Vec<f32> {
    let samples = |&a: &usize| federation.learner(a).samples(Part::Training) as f32;
    let total: f32 = members.iter().map(samples).sum();
    members.iter().map(|a| samples(a) / total).collect()
}
