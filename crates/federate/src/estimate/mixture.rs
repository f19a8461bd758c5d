//! The mixture estimator: everybody trains alone for a while; then for each participant
//! the mixture of its own and the others' models is sought that its validation data likes
//! best. The weights of that mixture are the benefits.
//!
//! Only participants who don't compete touch, over one hop, and the models are thrown
//! away: the participant sees mixtures, the coordinator its validation loss and gradient. All
//! of that goes through the exchange.

use fedcompetitors_graphs::BenefitGraph;
use fedcompetitors_learn::{Optimizer, Part, Rule, kernels};

use rayon::prelude::*;

use super::{Estimator, Search, candidates, graph};
use crate::{
    FederateError, Federation,
    exchange::{Content, Exchange, Parcel},
    train::Batches,
};

/// The mixture estimator.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Mixture {
    /// Steps that everybody trains alone, from a common start.
    pub probe_steps: usize,
    /// How those steps are made.
    pub rule: Rule,
    /// Steps of the search for the weights.
    pub search_steps: usize,
    /// How strongly they are drawn to the sample counts.
    pub pull: f32,
    /// A helper whose weight falls below this part of what its samples alone would give it
    /// is no help: data that helps keeps its share, data that harms loses it.
    pub threshold: f64,
    /// Samples for each gradient of a probe; all of them if it is not said.
    pub batch: Option<usize>,
}

impl Default for Mixture {
    fn default() -> Self {
        Self {
            probe_steps: 60,
            rule: Rule::Adam { rate: 0.01, decay: 0.0 },
            search_steps: 30,
            pull: 1.0,
            threshold: 0.2,
            batch: None,
        }
    }
}

impl Estimator for Mixture {
    fn name(&self) -> &'static str {
        "mixture"
    }

    fn estimate(
        &self,
        federation: &Federation<'_>,
        exchange: &mut Exchange<'_>,
    ) -> Result<BenefitGraph, FederateError> {
        exchange.begin(1);
        let (probes, heads) = self.probes(federation, exchange)?;
        let mut searches: Vec<Search> = (0..federation.len())
            .map(|to| Search::new(federation, candidates(federation, to)))
            .collect();
        for step in 0..self.search_steps {
            exchange.begin(step + 2);
            self.step(federation, exchange, &probes, &heads, &mut searches)?;
        }
        let columns: Vec<_> = searches.iter().map(|search| self.benefits(search)).collect();
        Ok(graph(federation, &columns, 0.0))
    }
}

/// A model's own parameters behind the shared ones.
type Head = Vec<f32>;

impl Mixture {
    /// What everybody has trained alone: the shared parameters with the coordinator, the head
    /// at home.
    fn probes(
        &self,
        federation: &Federation<'_>,
        exchange: &mut Exchange<'_>,
    ) -> Result<(Vec<Parcel>, Vec<Head>), FederateError> {
        let mut models = (0..federation.len())
            .into_par_iter()
            .map(|participant| self.probe(federation, participant))
            .collect::<Result<Vec<_>, _>>()?;
        let heads = models.iter_mut().map(|model| model.split_off(federation.shared())).collect();
        let probes = models
            .into_iter()
            .enumerate()
            .map(|(from, model)| {
                let carried = federation.own(from);
                exchange.accept(from, Content::Model, model, carried)
            })
            .collect();
        Ok((probes, heads))
    }

    /// A model that a participant trains alone.
    fn probe(
        &self,
        federation: &Federation<'_>,
        participant: usize,
    ) -> Result<Vec<f32>, FederateError> {
        let mut model = federation.initial(participant);
        let mut optimizer = Optimizer::new(self.rule, model.len());
        let mut batches = Batches::new(federation, participant, self.batch);
        let mut gradient = vec![0.0; model.len()];
        for _ in 0..self.probe_steps {
            let (part, batch) = (Part::Training, batches.next());
            federation.gradient_on(participant, part, batch, &model, &mut gradient)?;
            optimizer.step(&mut model, &gradient);
        }
        Ok(model)
    }

    /// One step on everybody's weights: each is shown its mixture, and answers with how its
    /// validation loss would change. Steps multiply, from the sample counts on, so that equals
    /// stay equal.
    fn step(
        &self,
        federation: &Federation<'_>,
        exchange: &mut Exchange<'_>,
        probes: &[Parcel],
        heads: &[Head],
        searches: &mut [Search],
    ) -> Result<(), FederateError> {
        let shared = federation.shared();
        let mixtures: Vec<Vec<f32>> = searches
            .par_iter()
            .map(|search| {
                let mut mixture = vec![0.0; shared];
                for (member, weight) in search.weights() {
                    kernels::add_scaled(&mut mixture, weight, &probes[member].values);
                }
                mixture
            })
            .collect();
        let carried = mixtures
            .iter()
            .zip(&*searches)
            .enumerate()
            .map(|(to, (mixture, search))| {
                let members = search.members.iter();
                let made_of: Vec<_> = members.map(|&member| probes[member].receipt()).collect();
                exchange.deliver(to, Content::Model, mixture, &made_of)
            })
            .collect::<Result<Vec<_>, _>>()?;
        let answers = mixtures
            .into_par_iter()
            .zip(heads)
            .enumerate()
            .map(|(from, (mut model, head))| {
                model.extend_from_slice(head);
                let mut gradient = vec![0.0; model.len()];
                let loss = federation.gradient(from, Part::Validation, &model, &mut gradient)?;
                gradient.truncate(shared);
                Ok((loss, gradient))
            })
            .collect::<Result<Vec<_>, FederateError>>()?;
        for (from, ((loss, gradient), carried)) in answers.into_iter().zip(carried).enumerate() {
            let answer = exchange.accept(from, Content::Gradient, gradient, carried);
            let search = &mut searches[from];
            let slope = |&member: &usize| kernels::dot(&answer.values, &probes[member].values);
            let slopes = search.members.iter().map(slope).collect();
            search.step(loss, slopes, self.pull);
            federation.check(from, search.sum())?;
        }
        Ok(())
    }

    /// The weights that were found, where they are worth something.
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
