//! The estimator `trunks`: by how much another's hidden layers reduce a participant's validation loss.
//!
//! Everybody trains a network alone and commits its trunk before it receives anything. A participant's
//! benefit of another is the relative reduction of its validation loss by a head on the hidden layers of both
//! networks, against a head on those of its own. Each message carries its sender's data alone.

use fedcompetitors_graphs::CompetingGraph;
use fedcompetitors_learn::OptimizerSettings;
use fedcompetitors_record::{Content, Flow};
use rayon::prelude::*;

use super::{Estimator, EstimatorKind, Found, Inputs, candidates, flow, graph};
use crate::{
    FederateError, Federation,
    exchange::{Exchange, Message},
    kinds::{BadSettings, Models, Settings, in_range, settings},
    train::{Descent, Effort, VALIDATE_EVERY, each},
    trunks::{commit, network},
};

pub static KIND: EstimatorKind = EstimatorKind::new::<Trunks>(
    "trunks",
    "The relative reduction of a participant's validation loss by another's hidden layers beside its own. Everybody sends hidden layers that it has trained alone to those it does not compete with; nothing is passed on. For models with hidden layers.",
);

settings! {
    /// Settings of `trunks`.
    pub struct Trunks {
        /// Helpers that reduce the loss by less than this fraction are dropped.
        pub threshold: f64 = 0.02,
        /// Steps that each participant trains alone first.
        pub steps: usize = 200,
        /// Learning rate of Adam in those steps.
        pub rate: f64 = 0.003,
    }
}

impl Settings for Trunks {
    fn check(&self) -> Result<(), BadSettings> {
        in_range("threshold", self.threshold.is_finite() && self.threshold >= 0.0, "0 or more")?;
        in_range("rate", self.rate.is_finite() && self.rate > 0.0, "above 0")?;
        in_range("steps", (1..=1_000_000).contains(&self.steps), "1 to 1000000")
    }
}

impl Estimator for Trunks {
    fn models(&self) -> Models {
        Models::Hidden
    }

    fn flow(&self, _: &CompetingGraph) -> Flow {
        flow(
            "trunks: each participant sends hidden layers that it has trained alone to all that it does not compete with; nothing is passed on, but the plan follows from all estimates",
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
        let networks = self.networks(federation, inputs.batch)?;
        let networks: Vec<&[f32]> =
            networks.iter().map(|one| one.early_stopping.best().parameters).collect();
        let committed = commit(federation, exchange, &networks)?;
        exchange.begin(2);
        let mut received: Vec<(usize, usize, &Message)> = Vec::new();
        for to in 0..federation.len() {
            for from in candidates(federation, to).into_iter().skip(1) {
                let Some(message) = committed[from].as_ref().filter(|_| exchange.is_there(to))
                else {
                    continue;
                };
                exchange.deliver(to, Content::Trunk, &message.values, &[message.receipt()])?;
                received.push((to, from, message));
            }
        }
        let own = (0..federation.len()).into_par_iter().map(|of| {
            let learner = network(federation, of)?;
            let activations = learner.activations(&networks[of][..learner.model().trunk()]);
            let alone = learner.head(&[&activations]).loss;
            Ok((learner, activations, alone))
        });
        let own = own.collect::<Result<Vec<_>, FederateError>>()?;
        let reduced = received.par_iter().map(|&(to, _, message)| {
            let (learner, activations, alone) = &own[to];
            let others = learner.activations(&message.values);
            if !others.are_finite() {
                return 0.0;
            }
            let reduced = 1.0 - learner.head(&[activations, &others]).loss / alone;
            if reduced >= self.threshold { reduced } else { 0.0 }
        });
        let reduced: Vec<f64> = reduced.collect();
        let mut columns = vec![Vec::new(); federation.len()];
        for ((to, from, _), value) in received.iter().zip(reduced) {
            columns[*to].push((*from, value));
        }
        Ok(graph(federation, &columns, self.threshold.max(f64::MIN_POSITIVE)).into())
    }
}

impl Trunks {
    /// A network of everybody, trained alone.
    fn networks(
        &self,
        federation: &Federation<'_>,
        batch: Option<usize>,
    ) -> Result<Vec<Descent>, FederateError> {
        let rule = OptimizerSettings::Adam { rate: self.rate as f32, decay: 0.0 };
        let effort = Effort { evaluations: self.steps, local_steps: VALIDATE_EVERY, rule, batch };
        let all = (0..federation.len()).map(|who| {
            let site = federation.site(who);
            (site, Descent::new(&site, effort))
        });
        let mut all: Vec<_> = all.collect();
        each(&mut all, |(site, one)| {
            (1..=self.steps).try_for_each(|step| {
                one.step(site, |_, _| ())?;
                one.validate(site, step == self.steps)
            })
        })?;
        Ok(all.into_iter().map(|(_, one)| one).collect())
    }
}
