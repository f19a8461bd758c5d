//! A toy trainer.

use fedcompetitors_graphs::{BenefitGraph, CompetingGraph, UsageGraph};
use fedcompetitors_record::Content;
use serde::{Deserialize, Serialize};

use super::{ByMessages, Effort, Needs, Trainer, TrainerKind, pace::Pace};
use crate::{
    FederateError, Known,
    kinds::{BadSettings, Settings, in_range, settings},
    protocol::{
        Adopt, Ask, Combiner, Coordinate, Coordinator, Finish, First, Heard, Labelled, Question, Train,
    },
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
    fn needs(&self) -> Needs<'_> {
        Needs::Messages(self)
    }
}

impl ByMessages for Toy {
    fn coordinate(
        &self,
        known: &Known<'_>,
        usage: &UsageGraph,
        _: &BenefitGraph,
        effort: Effort,
    ) -> Box<dyn Coordinate> {
        let everybody = 0..known.len();
        let helper = |to| everybody.clone().find(|&from| usage.uses(from, to));
        let relay = Relay {
            share: self.share as f32,
            pace: Pace::new(effort.local_steps, effort.evaluations),
            helpers: everybody.clone().map(helper).collect(),
            next: vec![None; known.len()],
        };
        Box::new(Coordinator::new(known, relay))
    }

    fn resume(&self, saved: &[u8]) -> Result<Box<dyn Coordinate>, FederateError> {
        Coordinator::<Relay>::resume(saved)
    }
}

#[derive(Serialize, Deserialize)]
struct Relay {
    share: f32,
    pace: Pace,
    helpers: Vec<Option<usize>>,
    next: Vec<Option<Labelled>>,
}

impl Combiner for Relay {
    fn rounds(&self) -> usize {
        self.pace.rounds()
    }

    fn done(&self) -> usize {
        self.pace.rounds_done()
    }

    fn ask(&self, participant: usize) -> Question<'_> {
        let given = self.next[participant].iter().collect();
        if self.done() == self.rounds() {
            return Question { ask: Ask::Finish(Finish::Adopt(Adopt::ALWAYS)), given };
        }
        let first = First::Adopt(Adopt::ALWAYS);
        let ask = Ask::Train(Train::new(first, self.pace.next(), vec![Content::Model]));
        Question { ask, given }
    }

    fn take(&mut self, _: &CompetingGraph, heard: Vec<Option<Heard>>) {
        self.pace.count(self.pace.next());
        let model = |from: usize| heard[from].as_ref()?.messages.first();
        for (to, helper) in self.helpers.iter().enumerate() {
            let parts = helper.and_then(|from| {
                Some([(model(to)?, 1.0 - self.share), (model(from)?, self.share)])
            });
            self.next[to] = parts.and_then(|parts| Labelled::sum(Content::Model, &parts));
        }
    }

    fn parts(&self, participant: usize, _: &[f64]) -> Vec<(usize, f32)> {
        let own = (participant, 1.0 - self.share);
        let helper = self.helpers[participant].map(|helper| (helper, self.share));
        [own].into_iter().chain(helper).collect()
    }
}
