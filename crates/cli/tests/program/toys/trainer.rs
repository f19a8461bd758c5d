//! A toy trainer.

use fedcompetitors_graphs::{BenefitGraph, UsageGraph};
use fedcompetitors_learn::weighted_sum;
use serde::{Deserialize, Serialize};

use super::{
    Best, Effort, Trainer, TrainerKind, Training,
    descent::{Descent, each},
    pace::Pace,
};
use crate::{
    FederateError, Federation,
    exchange::{Content, Exchange, Submission},
    kinds::{BadSettings, Settings, in_range, settings},
    saved,
};

pub static KIND: TrainerKind = TrainerKind::new::<Toy>(
    "toy-relay",
    "A toy: after each round, one helper's model is mixed in.",
);

settings! {
    /// Settings of `toy-relay`.
    pub struct Toy {
        /// The weight of the helper's model.
        pub share: f64 = 0.25,
    }
}

impl Settings for Toy {
    fn check(&self) -> Result<(), BadSettings> {
        in_range("share", (0.0..=1.0).contains(&self.share), "0 to 1")
    }
}

impl Trainer for Toy {
    fn begin(
        &self,
        federation: &Federation<'_>,
        usage: &UsageGraph,
        _: &BenefitGraph,
        effort: Effort,
    ) -> Box<dyn Training> {
        let everybody = 0..federation.len();
        let helper = |to| everybody.clone().find(|&from| usage.uses(from, to));
        Box::new(Relay {
            share: self.share as f32,
            pace: Pace::new(effort.local_steps, effort.evaluations),
            helpers: everybody.clone().map(helper).collect(),
            descents: everybody.clone().map(|who| Descent::new(federation, who, effort)).collect(),
        })
    }

    fn resume(&self, saved: &[u8]) -> Result<Box<dyn Training>, FederateError> {
        Ok(Box::new(saved::read::<Relay>(saved)?))
    }
}

#[derive(Serialize, Deserialize)]
struct Relay {
    share: f32,
    pace: Pace,
    helpers: Vec<Option<usize>>,
    descents: Vec<Descent>,
}

impl Training for Relay {
    fn rounds(&self) -> usize {
        self.pace.rounds()
    }

    fn done(&self) -> usize {
        self.pace.rounds_done()
    }

    fn round(
        &mut self,
        federation: &Federation<'_>,
        exchange: &mut Exchange<'_>,
    ) -> Result<(), FederateError> {
        let steps = self.pace.next();
        each(&mut self.descents, |descent| {
            (0..steps).try_for_each(|_| descent.step(federation, |_, _| ()))
        })?;
        let shared = federation.shared();
        let submissions = self.descents.iter().map(|descent| {
            let (values, carried) = (descent.parameters[..shared].to_vec(), descent.carried.clone());
            Some(Submission { values, before: Vec::new(), carried })
        });
        let sent = exchange.collect(Content::Model, shared, submissions.collect());
        for (descent, helper) in self.descents.iter_mut().zip(&self.helpers) {
            if let Some(message) = helper.and_then(|helper| sent[helper].as_ref()) {
                let own = &descent.parameters[..shared];
                let parts = [(own, 1.0 - self.share), (&message.values[..], self.share)];
                let (mixture, made_of) = (weighted_sum(&parts), [message.clone()]);
                let to = descent.participant;
                let carried = exchange.deliver(to, Content::Model, &mixture, &made_of)?;
                descent.receive(&carried);
                descent.parameters[..shared].copy_from_slice(&mixture);
            }
        }
        let in_the_end = self.pace.count(steps);
        each(&mut self.descents, |descent| descent.validate(federation, in_the_end))
    }

    fn best(&self, participant: usize) -> Best<'_> {
        self.descents[participant].early_stopping.best()
    }

    fn parts(&self, participant: usize) -> Vec<(usize, f32)> {
        let own = (participant, 1.0 - self.share);
        match self.helpers[participant] {
            Some(helper) => vec![own, (helper, self.share)],
            None => vec![(participant, 1.0)],
        }
    }

    fn save(&self) -> Vec<u8> {
        saved::write(self)
    }
}
