//! The paper's estimator: a hypernetwork that knows everybody's model for every preference,
//! and for each participant the preference that its validation data likes best.
//!
//! Everybody sees models that everybody has trained, competitors included: this is for
//! simulations and trusted coordinators.

use fedcompetitors_graphs::BenefitGraph;
use fedcompetitors_learn::{Hypernetwork, Part, Rule, kernels, simplex};

use super::{Estimator, graph, search};
use crate::{FederateError, Federation};

/// The joint Pareto hypernetwork.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct JointHypernetwork {
    /// The width of its hidden layers.
    pub hidden: usize,
    /// Steps, each on a ray of its own.
    pub steps: usize,
    /// How they are made.
    pub rule: Rule,
    /// The parameter of the Dirichlet distribution that rays come from.
    pub concentration: f64,
    /// Steps on each participant's own ray.
    pub ray_steps: usize,
    /// How strongly they are drawn to the sample counts.
    pub pull: f32,
    /// Entries below this are no benefit.
    pub threshold: f64,
}

impl Default for JointHypernetwork {
    fn default() -> Self {
        Self {
            hidden: 100,
            steps: 400,
            rule: Rule::Adam { rate: 0.003, decay: 0.0 },
            concentration: 0.2,
            ray_steps: 50,
            pull: 1.4,
            threshold: 0.1,
        }
    }
}

/// How much of the parameters depends on the ray to begin with.
const VARIATION: f32 = 0.1;

impl Estimator for JointHypernetwork {
    fn name(&self) -> &'static str {
        "hypernetwork"
    }

    fn estimate(&self, federation: &Federation<'_>) -> Result<BenefitGraph, FederateError> {
        let mut network = self.train(federation)?;
        let columns = (0..federation.len())
            .map(|to| self.tune(federation, &mut network, to))
            .collect::<Result<Vec<_>, _>>()?;
        Ok(graph(federation, &columns, self.threshold))
    }
}

impl JointHypernetwork {
    /// Descends the ray-weighted sum of everybody's losses, for one random ray after the
    /// other.
    fn train(&self, federation: &Federation<'_>) -> Result<Hypernetwork, FederateError> {
        let (count, shared) = (federation.len(), federation.shared());
        let mut stream = federation.stream("joint hypernetwork", 0);
        let mut network = Hypernetwork::new(count, self.hidden, shared, self.rule, &mut stream);
        let mut models: Vec<Vec<f32>> = (0..count).map(|a| federation.initial(a)).collect();
        network.start_from(&models[0][..shared], VARIATION);
        let mut rays = federation.stream("rays", 0);
        let mut parameters = vec![0.0; shared];
        let mut sum = vec![0.0; shared];
        for _ in 0..self.steps {
            let ray = simplex::dirichlet(count, self.concentration, &mut rays);
            network.make(&ray, &mut parameters);
            sum.fill(0.0);
            for (participant, &part) in ray.iter().enumerate() {
                let model = &mut models[participant];
                model[..shared].copy_from_slice(&parameters);
                let mut gradient = vec![0.0; model.len()];
                federation.gradient(participant, Part::Training, model, &mut gradient)?;
                kernels::add_scaled(&mut sum, part, &gradient[..shared]);
            }
            network.step(&ray, &sum, 1.0);
        }
        Ok(network)
    }

    /// The ray that a participant's validation data likes best, the network staying as it
    /// is; the entries of its competitors are 0.
    fn tune(
        &self,
        federation: &Federation<'_>,
        network: &mut Hypernetwork,
        to: usize,
    ) -> Result<Vec<(usize, f64)>, FederateError> {
        let shared = federation.shared();
        let mut model = federation.initial(to);
        let mut gradient = vec![0.0; model.len()];
        let mut ray = vec![0.0; federation.len()];
        let weighed = search(federation, to, self.ray_steps, self.pull, |members, weights| {
            for (&member, &weight) in members.iter().zip(weights) {
                ray[member] = weight;
            }
            network.make(&ray, &mut model[..shared]);
            let loss = federation.gradient(to, Part::Validation, &model, &mut gradient)?;
            let slopes = network.ray_gradient(&ray, &gradient[..shared]);
            Ok((loss, members.iter().map(|&member| slopes[member]).collect()))
        })?;
        Ok(weighed.into_iter().map(|weighed| (weighed.member, weighed.weight)).collect())
    }
}
