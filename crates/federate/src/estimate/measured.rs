//! Benefit as it is: what a participant's validation loss gains from training together
//! with one other. Slow, and a yardstick for the other estimators.
//!
//! The coordinator is trusted with everybody's data. What it has trained on a participant's
//! and another one's it hands to that participant, so the guard sees each pair.

use fedcompetitors_graphs::BenefitGraph;
use fedcompetitors_learn::{Optimizer, Part, Rule, kernels};

use super::{Estimator, candidates, entrust_all, graph};
use crate::{
    FederateError, Federation,
    exchange::{Content, Exchange},
    train::{Batches, Keeper, LOOK, by_samples},
};

/// The measured gain, as a part of the loss alone.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Measured {
    /// Steps of each training.
    pub steps: usize,
    /// How they are made.
    pub rule: Rule,
    /// Gains below this are none.
    pub threshold: f64,
    /// Samples for each gradient; all of them if it is not said.
    pub batch: Option<usize>,
}

impl Default for Measured {
    fn default() -> Self {
        let rule = Rule::Adam { rate: 0.03, decay: 0.001 };
        Self { steps: 400, rule, threshold: 0.02, batch: None }
    }
}

impl Estimator for Measured {
    fn name(&self) -> &'static str {
        "measured"
    }

    fn estimate(
        &self,
        federation: &Federation<'_>,
        exchange: &mut Exchange<'_>,
    ) -> Result<BenefitGraph, FederateError> {
        let data = entrust_all(federation, exchange);
        let shared = federation.shared();
        let columns = (0..federation.len())
            .map(|to| {
                let alone = self.train(federation, &[to])?.least();
                let others = candidates(federation, to).into_iter().skip(1);
                others
                    .map(|from| {
                        let together = self.train(federation, &[to, from])?;
                        let model = &together.kept().parameters[..shared];
                        let made_of = [data[to].clone(), data[from].clone()];
                        exchange.deliver(to, Content::Model, model, &made_of)?;
                        Ok((from, ((alone - together.least()) / alone).max(0.0)))
                    })
                    .collect()
            })
            .collect::<Result<Vec<Vec<(usize, f64)>>, FederateError>>()?;
        Ok(graph(federation, &columns, self.threshold.max(f64::MIN_POSITIVE)))
    }
}

impl Measured {
    /// What the first one's validation data likes best, training on the data of all.
    fn train(
        &self,
        federation: &Federation<'_>,
        members: &[usize],
    ) -> Result<Keeper, FederateError> {
        let shared = federation.shared();
        let parts = by_samples(federation, members);
        let mut models: Vec<Vec<f32>> = members.iter().map(|&a| federation.initial(a)).collect();
        let batches = members.iter().map(|&member| Batches::new(federation, member, self.batch));
        let mut batches: Vec<Batches> = batches.collect();
        let mut optimizer = Optimizer::new(self.rule, models[0].len());
        let mut keeper = Keeper::new(members[0], &models[0]);
        for step in 1..=self.steps {
            let mut sum = vec![0.0; models[0].len()];
            let common = models[0][..shared].to_vec();
            for (at, (&member, &part)) in members.iter().zip(&parts).enumerate() {
                models[at][..shared].copy_from_slice(&common);
                let mut gradient = vec![0.0; models[at].len()];
                let (part_of_data, batch) = (Part::Training, batches[at].next());
                federation.gradient_on(member, part_of_data, batch, &models[at], &mut gradient)?;
                kernels::add_scaled(&mut sum[..shared], part, &gradient[..shared]);
                if at == 0 {
                    sum[shared..].copy_from_slice(&gradient[shared..]);
                }
            }
            optimizer.step(&mut models[0], &sum);
            if step % LOOK == 0 || step == self.steps {
                keeper.offer(federation, &models[0], &[])?;
            }
        }
        Ok(keeper)
    }
}
