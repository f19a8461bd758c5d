//! Personal hypernetworks, as in the paper: for each participant one over itself and its
//! collaborators.
//!
//! A collaborator evaluates gradients at a model that carries the participant's other
//! collaborators, so information also flows between those, who may compete. This is for
//! simulations and for coordinators who compute on data they are trusted with;
//! [`Mixing`](super::Mixing) is for everybody else.

use fedcompetitors_graphs::{UsageGraph, bits::ones, random::Stream};
use fedcompetitors_learn::{Batch, Hypernetwork, Part, kernels, simplex};
use rayon::prelude::*;

use super::{
    Effort, Keeper, LOOK, Trainer,
    headed::Headed,
    is_clearly_less,
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
pub(crate) const VARIATION: f32 = 0.1;

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
                self.train_one(federation, &members, effort)
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
        members: &[usize],
        effort: Effort,
    ) -> Result<Vec<f32>, FederateError> {
        let trial = trial_steps(self.trial_percent, effort.evaluations);
        if members.len() == 1 || trial == 0 {
            let mut only = Personal::new(self, federation, members, effort);
            only.train(federation, effort.evaluations)?;
            return Ok(only.keeper.kept());
        }
        let mut chosen = Personal::new(self, federation, &members[..1], effort);
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
    members: Vec<Headed>,
    batches: Vec<Batches>,
    ray: Vec<f32>,
    network: Hypernetwork,
    decay: f32,
    keeper: Keeper,
    stream: Stream,
    steps: usize,
}

impl Personal {
    fn new(
        settings: &Hypernetworks,
        federation: &Federation<'_>,
        members: &[usize],
        effort: Effort,
    ) -> Self {
        let (owner, shared) = (members[0], federation.shared());
        let (rule, decay) = without_decay(effort.rule);
        let mut stream = federation.stream("personal hypernetwork", owner);
        let mut network =
            Hypernetwork::new(members.len(), settings.hidden, shared, rule, &mut stream);
        let batches = members.iter().map(|&a| Batches::new(federation, a, effort.batch));
        let headed: Vec<Headed> =
            members.iter().map(|&a| Headed::new(federation, a, rule)).collect();
        network.start_from(&headed[0].model[..shared], VARIATION);
        Self {
            settings: *settings,
            batches: batches.collect(),
            ray: by_samples(federation, members),
            keeper: Keeper::new(owner, &headed[0].model),
            members: headed,
            network,
            decay,
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
                let owner = &mut self.members[0];
                self.network.make(&self.ray, &mut owner.model[..shared]);
                self.keeper.offer(federation, &owner.model)?;
            }
        }
        Ok(())
    }

    /// A step on the ray now and then, on the weights else.
    fn step(&mut self, federation: &Federation<'_>) -> Result<(), FederateError> {
        let shared = federation.shared();
        let Self { settings, members, ray, network, decay, .. } = self;
        let turn = settings.ray_every + 1;
        if members.len() > 1 && self.steps % turn == turn - 1 {
            let owner = &mut members[0];
            network.make(ray, &mut owner.model[..shared]);
            owner.gradient(federation, Part::Validation, Batch::All)?;
            let slope = network.ray_gradient(ray, &owner.gradient[..shared]);
            kernels::add_scaled(ray, -settings.ray_rate, &slope);
            simplex::project(ray);
        } else {
            // One member, drawn by the ray, stands for the ray-weighted sum of all: the
            // same gradient on average, at the price of one.
            let drawn = drawn(ray, self.stream.unit() as f32);
            let member = &mut members[drawn];
            network.make(ray, &mut member.model[..shared]);
            member.gradient(federation, Part::Training, self.batches[drawn].next())?;
            kernels::add_scaled(&mut member.gradient, *decay, &member.model);
            network.step(ray, &member.gradient[..shared]);
            member.step_head(shared);
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
