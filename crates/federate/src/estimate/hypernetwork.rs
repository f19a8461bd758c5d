//! The paper's estimator: a joint hypernetwork, which gives a model for every preference ray, and for each
//! participant the ray with the lowest loss on its validation data.
//!
//! All participants see models that all have trained, competitors included: it is for simulations and
//! trusted coordinators.

use fedcompetitors_graphs::CompetingGraph;
use fedcompetitors_learn::{Batch, Hypernetwork, OptimizerSettings, Part, simplex, weighted_sum};
use fedcompetitors_record::Flow;

use super::{
    Begun, ByAllData, Estimator, EstimatorKind, Found, Inputs, Search, entrust_all, flow, graph,
};
use crate::{
    FederateError, Federation, Known,
    exchange::Exchange,
    kinds::{BadSettings, Settings, in_range, settings},
    train::{Batches, Headed, VARIATION, each},
};

pub static KIND: EstimatorKind = EstimatorKind::new::<JointHypernetwork>(
    "hypernetwork",
    "The paper's: the preference rays of one joint hypernetwork. It shows traces of all participants to all, so it is for simulations.",
);

settings! {
    /// Settings of `hypernetwork`.
    pub struct JointHypernetwork {
        /// Helpers whose entry of the preference ray is below this threshold are dropped.
        pub threshold: f64 = 0.1,
        /// Width of the hidden layers.
        pub hidden: usize = 100,
        /// Steps, each on a random ray.
        pub steps: usize = 400,
        /// Learning rate of Adam in those steps.
        pub rate: f64 = 0.003,
        /// The parameter of the Dirichlet distribution of the rays.
        pub concentration: f64 = 0.2,
        /// Steps on each participant's own ray.
        pub ray_steps: usize = 50,
        /// How strongly rays are drawn to the sample counts.
        pub pull: f64 = 1.4,
    }
}

impl Settings for JointHypernetwork {
    fn check(&self) -> Result<(), BadSettings> {
        in_range("threshold", self.threshold.is_finite() && self.threshold >= 0.0, "0 or more")?;
        in_range("rate", self.rate.is_finite() && self.rate > 0.0, "above 0")?;
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

    fn begin(&self, _: &Known<'_>, _: Inputs<'_>) -> Begun<'_> {
        Begun::AllData(self)
    }
}

impl ByAllData for JointHypernetwork {
    fn estimate(
        &self,
        federation: &Federation<'_>,
        exchange: &mut Exchange<'_>,
        inputs: Inputs<'_>,
    ) -> Result<Found, FederateError> {
        entrust_all(federation, exchange);
        let known = Known::of(federation);
        let mut searches: Vec<Search> =
            (0..federation.len()).map(|to| Search::new(&known, known.candidates(to))).collect();
        // Rays are tuned in the second half of the training, a step every few steps, so that no
        // single state of the network decides.
        let first = self.steps / 2;
        let due = |step: usize| (step - first) * self.ray_steps / (self.steps - first).max(1);
        let rule = OptimizerSettings::Adam { rate: self.rate as f32, decay: 0.0 };
        self.train_and(federation, (rule, inputs.batch), |step, network, members| {
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
        Ok(graph(federation.competing(), &columns, self.threshold).into())
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
        rule: OptimizerSettings,
    ) -> Result<Hypernetwork, FederateError> {
        self.train_and(federation, (rule, None), |_, _, _| Ok(()))
    }

    /// Trains, and calls `after` after each step.
    fn train_and(
        &self,
        federation: &Federation<'_>,
        (rule, batch): (OptimizerSettings, Option<usize>),
        mut after: impl FnMut(usize, &mut Hypernetwork, &mut [Headed]) -> Result<(), FederateError>,
    ) -> Result<Hypernetwork, FederateError> {
        let (count, shared) = (federation.len(), federation.shared());
        let mut stream = federation.stream("joint hypernetwork", 0);
        let mut network = Hypernetwork::new(count, self.hidden, shared, rule, &mut stream);
        let mut members: Vec<Headed> = (0..count)
            .map(|participant| Headed::new(&federation.site(participant), rule))
            .collect();
        let batches =
            (0..count).map(|participant| Batches::new(&federation.site(participant), batch));
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
                member.gradient(
                    &federation.site(member.participant),
                    Part::Training,
                    batches.next(),
                )?;
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
        let loss =
            member.gradient(&federation.site(member.participant), Part::Validation, Batch::All)?;
        let slopes = network.ray_gradient(&ray, &member.gradient[..shared]);
        let slopes = search.members.iter().map(|&member| slopes[member]).collect();
        search.step(loss, slopes, self.pull as f32);
        federation.site(search.members[0]).check(search.sum()).map(drop)
    }
}
