//! The mixture estimator: each participant trains alone for some steps; then the coordinator searches for
//! the mixture of its model with the others' that has the lowest loss on its validation data. The weights
//! of that mixture are the benefits.
//!
//! Only participants that do not compete receive anything of each other, over one hop, and the models
//! are discarded: the participant sees mixtures, the coordinator its validation loss and gradient. All of
//! that goes through the exchange.

use fedcompetitors_graphs::CompetingGraph;
use fedcompetitors_learn::{Batch, Optimizer, OptimizerSettings, Part, kernels, weighted_sum};
use fedcompetitors_record::Flow;

use rayon::prelude::*;

use super::{Estimator, EstimatorKind, Found, Inputs, Search, candidates, flow, graph};
use crate::{
    FederateError, Federation, Site,
    exchange::{Content, Exchange, Message},
    kinds::{BadSettings, Settings, in_range, settings},
    train::{Batches, Headed, each},
};

/// The estimator `mixture`.
pub static KIND: EstimatorKind = EstimatorKind::new::<Mixture>(
    "mixture",
    "The weights of the mixture of models that a participant's validation data prefers. Only participants that do not compete receive anything of each other, and nothing is passed on.",
);

settings! {
    /// Settings of `mixture`.
    pub struct Mixture {
        /// Helpers whose weight is below this fraction of their share by samples are dropped.
        pub threshold: f64 = 0.2,
        /// Steps that each participant trains alone first.
        pub probe_steps: usize = 60,
        /// Learning rate of Adam in those steps.
        pub rate: f64 = 0.01,
        /// Steps of the search for the weights.
        pub search_steps: usize = 30,
        /// How strongly weights are drawn to the sample counts.
        pub pull: f64 = 1.0,
        /// Steps on an own head before a mixture is evaluated: a head fits only the parameters that
        /// it was trained with.
        pub head_steps: usize = 2,
    }
}

impl Settings for Mixture {
    fn check(&self) -> Result<(), BadSettings> {
        in_range("threshold", self.threshold.is_finite() && self.threshold >= 0.0, "0 or more")?;
        in_range("rate", self.rate.is_finite() && self.rate > 0.0, "above 0")?;
        in_range("probe-steps", (1..=1_000_000).contains(&self.probe_steps), "1 to 1000000")?;
        in_range("search-steps", (1..=1_000_000).contains(&self.search_steps), "1 to 1000000")?;
        in_range("pull", self.pull.is_finite() && self.pull >= 0.0, "0 or more")?;
        in_range("head-steps", self.head_steps <= 1_000_000, "0 to 1000000")
    }
}

impl Estimator for Mixture {
    fn flow(&self, _: &CompetingGraph) -> Flow {
        flow(
            "mixture: each participant trains a model alone and sends it to the coordinator, which shows each participant mixtures with models of those it does not compete with, over one hop, and discards them; all of that is in the ledger of the estimate",
            Vec::new(),
        )
    }

    fn estimate(
        &self,
        federation: &Federation<'_>,
        exchange: &mut Exchange<'_>,
        inputs: Inputs<'_>,
    ) -> Result<Found, FederateError> {
        exchange.begin(1);
        let (probes, mut seekers) = self.probes(federation, exchange, inputs.batch)?;
        for step in 0..self.search_steps {
            exchange.begin(step + 2);
            self.step(federation, exchange, &probes, &mut seekers)?;
        }
        let columns: Vec<_> = seekers.iter().map(|seeker| self.benefits(&seeker.search)).collect();
        Ok(graph(federation, &columns, 0.0).into())
    }
}

/// A participant in the search for its mixture.
struct Seeker {
    search: Search,
    /// The mixture, with the own head.
    headed: Headed,
    batches: Batches,
}

impl Mixture {
    /// Trains every participant alone; the shared parameters go to the coordinator, the heads do not.
    fn probes(
        &self,
        federation: &Federation<'_>,
        exchange: &mut Exchange<'_>,
        batch: Option<usize>,
    ) -> Result<(Vec<Message>, Vec<Seeker>), FederateError> {
        let seekers = (0..federation.len())
            .into_par_iter()
            .map(|participant| self.probe(federation, &federation.site(participant), batch))
            .collect::<Result<Vec<_>, _>>()?;
        let probes = seekers
            .iter()
            .enumerate()
            .map(|(from, seeker)| {
                let model = seeker.headed.model[..federation.shared()].to_vec();
                exchange.accept(from, Content::Model, model, federation.site(from).own())
            })
            .collect();
        Ok((probes, seekers))
    }

    /// Trains one participant alone.
    fn probe(
        &self,
        federation: &Federation<'_>,
        site: &Site<'_>,
        batch: Option<usize>,
    ) -> Result<Seeker, FederateError> {
        let rule = OptimizerSettings::Adam { rate: self.rate as f32, decay: 0.0 };
        let mut headed = Headed::new(site, rule);
        let mut optimizer = Optimizer::new(rule, headed.model.len());
        let mut batches = Batches::new(site, batch);
        for _ in 0..self.probe_steps {
            headed.gradient(site, Part::Training, batches.next())?;
            optimizer.step(&mut headed.model, &headed.gradient);
        }
        let search = Search::new(federation, candidates(federation, site.index()));
        Ok(Seeker { search, headed, batches })
    }

    /// One step on all weights: each participant receives its mixture and answers with the gradient of
    /// its validation loss. Steps are multiplicative and start at the sample counts, so that equal
    /// helpers keep equal weights.
    fn step(
        &self,
        federation: &Federation<'_>,
        exchange: &mut Exchange<'_>,
        probes: &[Message],
        seekers: &mut [Seeker],
    ) -> Result<(), FederateError> {
        let shared = federation.shared();
        each(&mut *seekers, |Seeker { search, headed, .. }| {
            let part = |(member, weight): (usize, f32)| (&probes[member].values[..], weight);
            let mixture = weighted_sum(&search.weights().map(part).collect::<Vec<_>>());
            headed.model[..shared].copy_from_slice(&mixture);
            Ok(())
        })?;
        let mut carried = Vec::with_capacity(seekers.len());
        for (to, Seeker { search, headed, .. }) in seekers.iter().enumerate() {
            let members = search.members.iter();
            let made_of: Vec<_> = members.map(|&member| probes[member].receipt()).collect();
            let mixture = &headed.model[..shared];
            carried.push(exchange.deliver(to, Content::Model, mixture, &made_of)?);
        }
        let losses = seekers
            .par_iter_mut()
            .map(|seeker| {
                let site = federation.site(seeker.headed.participant);
                seeker.answer(&site, self.head_steps)
            })
            .collect::<Result<Vec<_>, FederateError>>()?;
        for (from, (loss, carried)) in losses.into_iter().zip(carried).enumerate() {
            let Seeker { search, headed, .. } = &mut seekers[from];
            let gradient = headed.gradient[..shared].to_vec();
            let answer = exchange.accept(from, Content::Gradient, gradient, carried);
            let slope = |&member: &usize| kernels::dot(&answer.values, &probes[member].values);
            let slopes = search.members.iter().map(slope).collect();
            search.step(loss, slopes, self.pull as f32);
            federation.site(from).check(search.sum())?;
        }
        Ok(())
    }

    /// The weights that reach the threshold; the others are 0.
    fn benefits(&self, search: &Search) -> Vec<(usize, f64)> {
        let helps =
            |weight: f32, prior: f32| f64::from(weight) >= self.threshold * f64::from(prior);
        search
            .weights()
            .zip(&search.prior)
            .map(|((member, weight), &prior)| {
                (member, if helps(weight, prior) { f64::from(weight) } else { 0.0 })
            })
            .collect()
    }
}

impl Seeker {
    /// Trains the head, then computes the validation loss of the mixture and its gradient.
    fn answer(&mut self, site: &Site<'_>, head_steps: usize) -> Result<f64, FederateError> {
        let Self { headed, batches, .. } = self;
        let shared = site.shared();
        let has_head = headed.model.len() > shared;
        for _ in 0..if has_head { head_steps } else { 0 } {
            headed.gradient(site, Part::Training, batches.next())?;
            headed.step_head(shared);
        }
        headed.gradient(site, Part::Validation, Batch::All)
    }
}
