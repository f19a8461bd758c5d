//! The paper's estimator: a hypernetwork that knows everybody's model for every preference,
//! and for each participant the preference that its validation data likes best.
//!
//! Everybody sees models that everybody has trained, competitors included: this is for
//! simulations and trusted coordinators.

use fedcompetitors_graphs::BenefitGraph;
use fedcompetitors_learn::{Batch, Hypernetwork, Part, Rule, kernels, simplex};

use super::{Estimator, Search, candidates, entrust_all, graph};
use crate::{
    FederateError, Federation,
    exchange::Exchange,
    train::{Batches, Headed, VARIATION, each},
};

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
    /// Samples for each gradient of a step; all of them if it is not said.
    pub batch: Option<usize>,
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
            batch: None,
        }
    }
}

impl Estimator for JointHypernetwork {
    fn name(&self) -> &'static str {
        "hypernetwork"
    }

    fn estimate(
        &self,
        federation: &Federation<'_>,
        exchange: &mut Exchange<'_>,
    ) -> Result<BenefitGraph, FederateError> {
        entrust_all(federation, exchange);
        let mut searches: Vec<Search> = (0..federation.len())
            .map(|to| Search::new(federation, candidates(federation, to)))
            .collect();
        // Rays are tuned in the second half of the training, one step now and then: what a
        // network happens to believe at one moment does not decide.
        let first = self.steps / 2;
        let due = |step: usize| (step - first) * self.ray_steps / (self.steps - first).max(1);
        self.train_and(federation, |step, network, members| {
            if step < first {
                return Ok(());
            }
            for _ in due(step)..due(step + 1) {
                for (member, search) in members.iter_mut().zip(&mut searches) {
                    self.tune(federation, network, member, search)?;
                }
            }
            Ok(())
        })?;
        let columns: Vec<Vec<(usize, f64)>> = searches
            .iter()
            .map(|search| search.weights().map(|(who, weight)| (who, f64::from(weight))).collect())
            .collect();
        Ok(graph(federation, &columns, self.threshold))
    }
}

impl JointHypernetwork {
    /// Descends the ray-weighted sum of everybody's losses, for one random ray after the
    /// other.
    ///
    /// # Errors
    /// If training diverges.
    pub fn train(&self, federation: &Federation<'_>) -> Result<Hypernetwork, FederateError> {
        self.train_and(federation, |_, _, _| Ok(()))
    }

    /// The same with something to do after each step.
    fn train_and(
        &self,
        federation: &Federation<'_>,
        mut after: impl FnMut(usize, &mut Hypernetwork, &mut [Headed]) -> Result<(), FederateError>,
    ) -> Result<Hypernetwork, FederateError> {
        let (count, shared) = (federation.len(), federation.shared());
        let mut stream = federation.stream("joint hypernetwork", 0);
        let mut network = Hypernetwork::new(count, self.hidden, shared, self.rule, &mut stream);
        let mut members: Vec<Headed> =
            (0..count).map(|participant| Headed::new(federation, participant, self.rule)).collect();
        let batches =
            (0..count).map(|participant| Batches::new(federation, participant, self.batch));
        let mut batches: Vec<Batches> = batches.collect();
        network.start_from(&members[0].model[..shared], VARIATION);
        let mut rays = federation.stream("rays", 0);
        let mut parameters = vec![0.0; shared];
        let mut sum = vec![0.0; shared];
        for step in 0..self.steps {
            let ray = simplex::dirichlet(count, self.concentration, &mut rays);
            network.make(&ray, &mut parameters);
            let mut turns: Vec<_> = members.iter_mut().zip(&mut batches).collect();
            each(&mut turns, |(member, batches)| {
                member.model[..shared].copy_from_slice(&parameters);
                member.gradient(federation, Part::Training, batches.next())?;
                member.step_head(shared);
                Ok(())
            })?;
            sum.fill(0.0);
            for (member, &part) in members.iter().zip(&ray) {
                kernels::add_scaled(&mut sum, part, &member.gradient[..shared]);
            }
            network.step(&ray, &sum);
            after(step, &mut network, &mut members)?;
        }
        Ok(network)
    }

    /// One step of a participant's ray by its validation data; the entries of its competitors
    /// are 0.
    fn tune(
        &self,
        federation: &Federation<'_>,
        network: &mut Hypernetwork,
        member: &mut Headed,
        search: &mut Search,
    ) -> Result<(), FederateError> {
        let shared = federation.shared();
        let mut ray = vec![0.0; federation.len()];
        search.weights().for_each(|(member, weight)| ray[member] = weight);
        network.make(&ray, &mut member.model[..shared]);
        let loss = member.gradient(federation, Part::Validation, Batch::All)?;
        let slopes = network.ray_gradient(&ray, &member.gradient[..shared]);
        let slopes = search.members.iter().map(|&member| slopes[member]).collect();
        search.step(loss, slopes, self.pull);
        federation.check(search.members[0], search.sum()).map(drop)
    }
}
