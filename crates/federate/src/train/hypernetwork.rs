//! Personal hypernetworks, as in the paper: for each participant one over itself and its
//! collaborators.
//!
//! A collaborator evaluates gradients at a model that carries the participant's other
//! collaborators, so information also flows between those, who may compete. This is for
//! simulations and for coordinators who compute on data they are trusted with;
//! [`Mixing`](super::Mixing) is for everybody else.

use fedcompetitors_graphs::{UsageGraph, bits::ones};
use fedcompetitors_learn::{Hypernetwork, Part, kernels, simplex};

use super::{Effort, Keeper, LOOK, Trainer, average::without_decay};
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
}

impl Default for Hypernetworks {
    fn default() -> Self {
        Self { hidden: 100, ray_rate: 0.01, ray_every: 10 }
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
        (0..federation.len())
            .map(|owner| {
                let mut members = vec![owner];
                members.extend(ones(usage.collaborators(owner)));
                self.train_one(federation, &members, effort)
            })
            .collect()
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
        let owner = members[0];
        let shared = federation.shared();
        let (rule, decay) = without_decay(effort.rule);
        let mut stream = federation.stream("personal hypernetwork", owner);
        let mut network = Hypernetwork::new(members.len(), self.hidden, shared, rule, &mut stream);
        let initial = federation.initial(owner);
        network.start_from(&initial[..shared], VARIATION);
        let mut ray = by_samples(federation, members);
        let mut keeper = Keeper::new(owner);
        let mut model = initial;
        let mut gradient = vec![0.0; model.len()];
        for step in 0..effort.evaluations {
            let on_ray = members.len() > 1 && step % (self.ray_every + 1) == self.ray_every;
            network.make(&ray, &mut model[..shared]);
            if on_ray {
                federation.gradient(owner, Part::Validation, &model, &mut gradient)?;
                let slope = network.ray_gradient(&ray, &gradient[..shared]);
                kernels::add_scaled(&mut ray, -self.ray_rate, &slope);
                simplex::project(&mut ray);
            } else {
                // One member, drawn by the ray, stands for the ray-weighted sum of all: the
                // same gradient on average, at the price of one.
                let member = members[drawn(&ray, stream.unit() as f32)];
                federation.gradient(member, Part::Training, &model, &mut gradient)?;
                kernels::add_scaled(&mut gradient[..shared], decay, &model[..shared]);
                network.step(&ray, &gradient[..shared], 1.0);
            }
            if step % LOOK == LOOK - 1 {
                network.make(&ray, &mut model[..shared]);
                keeper.offer(federation, &model)?;
            }
        }
        network.make(&ray, &mut model[..shared]);
        keeper.offer(federation, &model)?;
        Ok(keeper.best())
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
