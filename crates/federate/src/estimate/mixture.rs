//! The mixture estimator: everybody trains alone for a while; then for each participant
//! the mixture of its own and the others' models is sought that its validation data likes
//! best. The weights of that mixture are the benefits.
//!
//! Only participants who don't compete touch, over one hop, and the models are thrown
//! away: the participant sees mixtures, the coordinator its validation loss and gradient.

use fedcompetitors_graphs::BenefitGraph;
use fedcompetitors_learn::{Optimizer, Part, Rule, kernels};

use super::{Estimator, Search, graph};
use crate::{FederateError, Federation, train::Batches};

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

    fn estimate(&self, federation: &Federation<'_>) -> Result<BenefitGraph, FederateError> {
        let probes = (0..federation.len())
            .map(|participant| self.probe(federation, participant))
            .collect::<Result<Vec<_>, _>>()?;
        let columns = (0..federation.len())
            .map(|to| self.weights(federation, &probes, to))
            .collect::<Result<Vec<_>, _>>()?;
        Ok(graph(federation, &columns, 0.0))
    }
}

impl Mixture {
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

    /// The weights of the best mixture for a participant, by steps that multiply: from the
    /// sample counts, so that equals stay equal.
    fn weights(
        &self,
        federation: &Federation<'_>,
        probes: &[Vec<f32>],
        to: usize,
    ) -> Result<Vec<(usize, f64)>, FederateError> {
        let shared = federation.shared();
        // The participant's own head stays as it is.
        let mut mixture = probes[to].clone();
        let mut gradient = vec![0.0; mixture.len()];
        let mut search = Search::new(federation, to);
        for _ in 0..self.search_steps {
            mixture[..shared].fill(0.0);
            for (member, weight) in search.weights() {
                kernels::add_scaled(&mut mixture[..shared], weight, &probes[member][..shared]);
            }
            let loss = federation.gradient(to, Part::Validation, &mixture, &mut gradient)?;
            let slope =
                |&member: &usize| kernels::dot(&gradient[..shared], &probes[member][..shared]);
            let slopes = search.members.iter().map(slope).collect();
            search.step(loss, slopes, self.pull);
        }
        let helps =
            |weight: f32, prior: f32| f64::from(weight) >= self.threshold * f64::from(prior);
        Ok(search
            .weights()
            .zip(&search.prior)
            .map(|((member, weight), &prior)| {
                (member, if helps(weight, prior) { f64::from(weight) } else { 0.0 })
            })
            .collect())
    }
}
