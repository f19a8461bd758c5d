//! The estimator `trunks`: by how much another's hidden layers reduce a participant's validation loss.
//!
//! Everybody trains a network alone and commits its trunk before it receives anything. A participant's
//! benefit of another is the relative reduction of its validation loss by a head on the hidden layers of both
//! networks, against a head on those of its own. Each message carries its sender's data alone.

use fedcompetitors_graphs::CompetingGraph;
use fedcompetitors_learn::OptimizerSettings;
use fedcompetitors_record::{Content, Flow};
use serde::{Deserialize, Serialize};

use super::{Begun, Estimator, EstimatorKind, Found, Inputs, flow, graph};
use crate::{
    FederateError, Known,
    kinds::{BadSettings, Models, Settings, in_range, settings},
    protocol::{
        Ask, Combiner, Coordinator, Estimation, Finder, First, Heard, Labelled, Question, Train,
    },
    saved,
    train::Effort,
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

    fn begin(&self, known: &Known<'_>, inputs: Inputs<'_>) -> Begun<'_> {
        let rule = OptimizerSettings::Adam { rate: self.rate as f32, decay: 0.0 };
        let effort =
            Effort { evaluations: self.steps, local_steps: self.steps, rule, batch: inputs.batch };
        let comparison = Comparison {
            settings: self.clone(),
            done: 0,
            candidates: (0..known.len()).map(|to| known.candidates(to).split_off(1)).collect(),
            committed: vec![None; known.len()],
            columns: vec![Vec::new(); known.len()],
        };
        Begun::Messages(effort, Box::new(Coordinator::new(known, comparison)))
    }

    fn resume(&self, saved: &[u8]) -> Result<Box<dyn Estimation>, FederateError> {
        Ok(Box::new(saved::read::<Coordinator<Comparison>>(saved)?))
    }
}

/// The coordinator's half: a round in which trunks are committed, and one in which they are compared.
#[derive(Serialize, Deserialize)]
struct Comparison {
    settings: Trunks,
    done: usize,
    /// Those who do not compete with each participant.
    candidates: Vec<Vec<usize>>,
    /// The trunks that were accepted.
    committed: Vec<Option<Labelled>>,
    /// For each participant by how much each other one's trunk reduces its loss.
    columns: Vec<Vec<(usize, f64)>>,
}

impl Comparison {
    fn givers(&self, to: usize) -> impl Iterator<Item = usize> {
        self.candidates[to].iter().copied().filter(|&from| self.committed[from].is_some())
    }
}

impl Combiner for Comparison {
    const FINISHES: bool = false;

    fn rounds(&self) -> usize {
        2
    }

    fn done(&self) -> usize {
        self.done
    }

    fn ask(&self, participant: usize) -> Question<'_> {
        if self.done == 0 {
            let (first, steps) = (First::Try(vec![0.0]), self.settings.steps);
            let train = Train::new(first, steps, vec![Content::Trunk]);
            let ask = Ask::Train(Train { validates_often: true, ..train });
            return Question { ask, given: Vec::new() };
        }
        let given = self.givers(participant).filter_map(|from| self.committed[from].as_ref());
        Question { ask: Ask::Compare, given: given.collect() }
    }

    fn take(&mut self, _: &CompetingGraph, heard: Vec<Option<Heard>>) {
        self.done += 1;
        if self.done == 1 {
            let trunk = |heard: Option<Heard>| {
                Some(Labelled::message(Content::Trunk, heard?.messages.first()?))
            };
            self.committed = heard.into_iter().map(trunk).collect();
            return;
        }
        let column = |to: usize| {
            let Some([alone, both @ ..]) = heard[to].as_ref().map(|heard| &heard.report.losses[..])
            else {
                return Vec::new();
            };
            let reduced = both.iter().map(|both| 1.0 - both / alone);
            // Whatever is reported: NaN is no benefit, and nothing is reduced by more than all of it.
            let value = |reduced: f64| {
                if reduced >= self.settings.threshold { reduced.min(1.0) } else { 0.0 }
            };
            self.givers(to).zip(reduced.map(value)).collect()
        };
        self.columns = (0..heard.len()).map(column).collect();
    }
}

impl Finder for Comparison {
    fn found(&self, competing: &CompetingGraph) -> Found {
        let threshold = self.settings.threshold.max(f64::MIN_POSITIVE);
        graph(competing, &self.columns, threshold).into()
    }
}
