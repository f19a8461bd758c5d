//! The paper's estimator: a joint hypernetwork, which gives a model for every preference ray, and for each
//! participant the ray with the lowest loss on its validation data.
//!
//! All participants see models that all have trained, competitors included: it is for simulations and
//! trusted coordinators.

use fedcompetitors_graphs::{BenefitGraph, CompetingGraph};
use fedcompetitors_learn::{Batch, Hypernetwork, Part, Rule, simplex, weighted_sum};
use fedcompetitors_record::Flow;
use serde::{Deserialize, Serialize};

use super::{Estimator, EstimatorKind, Inputs, Search, candidates, entrust_all, flow, graph};
use crate::{
    FederateError, Federation,
    exchange::Exchange,
    kinds::{BadSettings, Key, Settings, in_range},
    train::{Batches, Headed, VARIATION, each},
};

pub static KIND: EstimatorKind = EstimatorKind::new::<JointHypernetwork>(
    "hypernetwork",
    "The paper's: the preference rays of one joint hypernetwork. It shows traces of all participants to all, so it is for simulations.",
);

/// Settings of `hypernetwork`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct JointHypernetwork {
    /// The width of the hidden layers.
    pub hidden: usize,
    /// Steps, each on a random ray.
    pub steps: usize,
    /// The optimizer settings; a federation file cannot set them.
    #[serde(skip)]
    pub rule: Rule,
    /// The parameter of the Dirichlet distribution of the rays.
    pub concentration: f64,
    /// Steps on each participant's own ray.
    pub ray_steps: usize,
    /// How strongly rays are drawn to the sample counts.
    pub pull: f64,
    /// Helpers whose entry of the ray is below this threshold are dropped.
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

impl Settings for JointHypernetwork {
    const KEYS: &'static [Key] = &[
        Key {
            name: "threshold",
            help: "Helpers whose entry of the preference ray is below this threshold are dropped.",
        },
        Key { name: "hidden", help: "Width of the hidden layers." },
        Key { name: "steps", help: "Steps, each on a random ray." },
        Key {
            name: "concentration",
            help: "The parameter of the Dirichlet distribution of the rays.",
        },
        Key { name: "ray-steps", help: "Steps on each participant's own ray." },
        Key { name: "pull", help: "How strongly rays are drawn to the sample counts." },
    ];

    fn check(&self) -> Result<(), BadSettings> {
        in_range("threshold", self.threshold.is_finite() && self.threshold >= 0.0, "0 or more")?;
        in_range("hidden", (1..=10_000).contains(&self.hidden), "1 to 10000")?;
        in_range("steps", (1..=1_000_000).contains(&self.steps), "1 to 1000000")?;
        let is_positive = self.concentration.is_finite() && self.concentration > 0.0;
        in_range("concentration", is_positive, "above 0")?;
        in_range("ray-steps", self.ray_steps <= 1_000_000, "0 to 1000000")?;
        in_range("pull", self.pull.is_finite() && self.pull >= 0.0, "0 or more")
    }
}

impl Estimator for JointHypernetwork {
    fn flow(&self, competing: &CompetingGraph) -> Flow {
        flow(
            "hypernetwork: the models of one common hypernetwork show each participant traces of all others, unless a trusted coordinator has all data",
            competing.pairs().collect(),
        )
    }

    fn estimate(
        &self,
        federation: &Federation<'_>,
        exchange: &mut Exchange<'_>,
        inputs: Inputs<'_>,
    ) -> Result<BenefitGraph, FederateError> {
        entrust_all(federation, exchange);
        let mut searches: Vec<Search> = (0..federation.len())
            .map(|to| Search::new(federation, candidates(federation, to)))
            .collect();
        // Rays are tuned in the second half of the training, a step every few steps, so that no
        // single state of the network decides.
        let first = self.steps / 2;
        let due = |step: usize| (step - first) * self.ray_steps / (self.steps - first).max(1);
        self.train_and(federation, inputs.batch, |step, network, members| {
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
    /// Trains on the ray-weighted sum of all losses, for one random ray after the other.
    ///
    /// # Errors
    /// If training diverges.
    pub fn train(
        &self,
        federation: &Federation<'_>,
        batch: Option<usize>,
    ) -> Result<Hypernetwork, FederateError> {
        self.train_and(federation, batch, |_, _, _| Ok(()))
    }

    /// Trains, and calls `after` after each step.
    fn train_and(
        &self,
        federation: &Federation<'_>,
        batch: Option<usize>,
        mut after: impl FnMut(usize, &mut Hypernetwork, &mut [Headed]) -> Result<(), FederateError>,
    ) -> Result<Hypernetwork, FederateError> {
        let (count, shared) = (federation.len(), federation.shared());
        let mut stream = federation.stream("joint hypernetwork", 0);
        let mut network = Hypernetwork::new(count, self.hidden, shared, self.rule, &mut stream);
        let mut members: Vec<Headed> =
            (0..count).map(|participant| Headed::new(federation, participant, self.rule)).collect();
        let batches = (0..count).map(|participant| Batches::new(federation, participant, batch));
        let mut batches: Vec<Batches> = batches.collect();
        network.start_from(&members[0].model[..shared], VARIATION);
        let mut rays = federation.stream("rays", 0);
        let mut parameters = vec![0.0; shared];
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
            let parts = members.iter().zip(&ray);
            let parts = parts.map(|(member, &part)| (&member.gradient[..shared], part));
            network.step(&ray, &weighted_sum(&parts.collect::<Vec<_>>()));
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
        search.step(loss, slopes, self.pull as f32);
        federation.check(search.members[0], search.sum()).map(drop)
    }
}
