//! Measured benefits: by how much a participant's validation loss falls when it trains together with one
//! other. Slow; a reference for the other estimators.
//!
//! The coordinator is trusted with all data. It delivers the model of each pair to the participant, so
//! the guard sees each pair.

use fedcompetitors_graphs::CompetingGraph;
use fedcompetitors_learn::{Optimizer, OptimizerSettings, Part, weighted_sum};
use fedcompetitors_record::Flow;

use super::{Begun, ByAllData, Estimator, EstimatorKind, Found, Inputs, entrust_all, flow, graph};
use crate::{
    FederateError, Federation, Known,
    exchange::{Content, Exchange},
    kinds::{BadSettings, Settings, in_range, settings},
    train::{Batches, EarlyStopping, VALIDATE_EVERY},
};

pub static KIND: EstimatorKind = EstimatorKind::new::<Measured>(
    "measured",
    "The relative reduction of a participant's validation loss when it trains together with one other; slow.",
);

settings! {
    /// Settings of `measured`.
    pub struct Measured {
        /// Helpers that reduce the loss by less than this fraction are dropped.
        pub threshold: f64 = 0.02,
        /// Steps of each training.
        pub steps: usize = 400,
        /// Learning rate of Adam in those steps.
        pub rate: f64 = 0.03,
    }
}

impl Settings for Measured {
    fn check(&self) -> Result<(), BadSettings> {
        in_range("threshold", self.threshold.is_finite() && self.threshold >= 0.0, "0 or more")?;
        in_range("rate", self.rate.is_finite() && self.rate > 0.0, "above 0")?;
        in_range("steps", (1..=1_000_000).contains(&self.steps), "1 to 1000000")
    }
}

impl Estimator for Measured {
    fn flow(&self, _: &CompetingGraph) -> Flow {
        flow(
            "measured: a coordinator that is trusted with all data trains a model for each participant with each other one that it does not compete with, over one hop, and discards the models",
            Vec::new(),
        )
    }

    fn begin(&self, _: &Known<'_>, _: Inputs<'_>) -> Begun<'_> {
        Begun::AllData(self)
    }
}

impl ByAllData for Measured {
    fn estimate(
        &self,
        federation: &Federation<'_>,
        exchange: &mut Exchange<'_>,
        inputs: Inputs<'_>,
    ) -> Result<Found, FederateError> {
        let data = entrust_all(federation, exchange);
        let known = Known::of(federation);
        let shared = federation.shared();
        let columns = (0..federation.len())
            .map(|to| {
                let alone = self.train(federation, &[to], inputs.batch)?.least();
                let others = known.candidates(to).into_iter().skip(1);
                others
                    .map(|from| {
                        let together = self.train(federation, &[to, from], inputs.batch)?;
                        let model = &together.best().parameters[..shared];
                        let made_of = [data[to].clone(), data[from].clone()];
                        exchange.deliver(to, Content::Model, model, &made_of)?;
                        Ok((from, ((alone - together.least()) / alone).max(0.0)))
                    })
                    .collect()
            })
            .collect::<Result<Vec<Vec<(usize, f64)>>, FederateError>>()?;
        Ok(graph(federation.competing(), &columns, self.threshold.max(f64::MIN_POSITIVE)).into())
    }
}

impl Measured {
    /// Trains on the data of all members; the validation data is that of the first.
    fn train(
        &self,
        federation: &Federation<'_>,
        members: &[usize],
        batch: Option<usize>,
    ) -> Result<EarlyStopping, FederateError> {
        let shared = federation.shared();
        let parts = federation.weights_by_samples(members);
        let mut models: Vec<Vec<f32>> =
            members.iter().map(|&a| federation.site(a).initial()).collect();
        let batches = members.iter().map(|&member| Batches::new(&federation.site(member), batch));
        let mut batches: Vec<Batches> = batches.collect();
        let rule = OptimizerSettings::Adam { rate: self.rate as f32, decay: 0.001 };
        let mut optimizer = Optimizer::new(rule, models[0].len());
        let mut early_stopping = EarlyStopping::new(&models[0]);
        for step in 1..=self.steps {
            let common = models[0][..shared].to_vec();
            let mut gradients = Vec::with_capacity(members.len());
            for ((&member, model), batches) in members.iter().zip(&mut models).zip(&mut batches) {
                model[..shared].copy_from_slice(&common);
                let mut gradient = vec![0.0; model.len()];
                let batch = batches.next();
                federation.site(member).gradient(Part::Training, batch, model, &mut gradient)?;
                gradients.push(gradient);
            }
            let parts =
                gradients.iter().zip(&parts).map(|(one, &part)| (&one[..shared], part as f32));
            let mut step_along = weighted_sum(&parts.collect::<Vec<_>>());
            // The head is that of the first member.
            step_along.extend_from_slice(&gradients[0][shared..]);
            optimizer.step(&mut models[0], &step_along);
            if step % VALIDATE_EVERY == 0 || step == self.steps {
                early_stopping.evaluate(&federation.site(members[0]), &models[0], &[])?;
            }
        }
        Ok(early_stopping)
    }
}
