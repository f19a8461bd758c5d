//! The mixture estimator: each participant trains alone for some steps; then the coordinator searches for
//! the mixture of its model with the others' that has the lowest loss on its validation data. The weights
//! of that mixture are the benefits.
//!
//! Only participants that do not compete receive anything of each other, over one hop, and the models
//! are discarded: the participant sees mixtures, the coordinator its validation loss and gradient. All of
//! that goes through the exchange.

use fedcompetitors_graphs::CompetingGraph;
use fedcompetitors_learn::{OptimizerSettings, kernels};
use fedcompetitors_record::{Content, Flow};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::{Begun, Estimator, EstimatorKind, Found, Inputs, Search, flow, graph};
use crate::{
    FederateError, Known,
    exchange::Message,
    kinds::{BadSettings, Settings, in_range, settings},
    protocol::{
        Ask, Combiner, Coordinator, Estimation, Finder, First, Heard, Labelled, Question, Train,
    },
    saved,
    train::Effort,
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

    fn begin(&self, known: &Known<'_>, inputs: Inputs<'_>) -> Begun<'_> {
        let rule = OptimizerSettings::Adam { rate: self.rate as f32, decay: 0.0 };
        let (steps, batch) = (self.probe_steps, inputs.batch);
        let effort = Effort { evaluations: steps, local_steps: steps, rule, batch };
        let search = |to: usize| Search::new(known, known.candidates(to));
        let mixer = Mixer {
            settings: self.clone(),
            done: 0,
            probes: Vec::new(),
            searches: (0..known.len()).map(search).collect(),
            mixtures: vec![None; known.len()],
        };
        Begun::Messages(effort, Box::new(Coordinator::new(known, mixer)))
    }

    fn resume(&self, saved: &[u8]) -> Result<Box<dyn Estimation>, FederateError> {
        Ok(Box::new(saved::read::<Coordinator<Mixer>>(saved)?))
    }
}

/// The coordinator's half: a round in which everybody trains a model alone, the probe, and rounds in which mixtures
/// of probes are evaluated.
#[derive(Serialize, Deserialize)]
struct Mixer {
    settings: Mixture,
    done: usize,
    probes: Vec<Option<Message>>,
    searches: Vec<Search>,
    /// What each participant evaluates next.
    mixtures: Vec<Option<Labelled>>,
}

impl Combiner for Mixer {
    const FINISHES: bool = false;

    fn rounds(&self) -> usize {
        1 + self.settings.search_steps
    }

    fn done(&self) -> usize {
        self.done
    }

    fn ask(&self, participant: usize) -> Question<'_> {
        let Mixture { probe_steps, head_steps, .. } = self.settings;
        let ask = if self.done == 0 {
            let sends = vec![Content::Model];
            Ask::Train(Train::new(First::Try(vec![0.0]), probe_steps, sends))
        } else {
            Ask::Evaluate { head_steps }
        };
        Question { ask, given: self.mixtures[participant].iter().collect() }
    }

    /// A probe that is far larger than others would make the mixtures of all that it is in useless. Gradients differ by
    /// more, and each is used on its own.
    fn compares(&self, content: Content) -> bool {
        content == Content::Model
    }

    fn take(&mut self, _: &CompetingGraph, heard: Vec<Option<Heard>>) {
        self.done += 1;
        if self.done == 1 {
            let probe = |heard: Option<Heard>| heard?.messages.into_iter().next();
            self.probes = heard.into_iter().map(probe).collect();
            for search in &mut self.searches {
                search.keep(|who| self.probes[who].is_some());
            }
        } else {
            let Self { settings, probes, searches, .. } = self;
            searches.par_iter_mut().zip(&heard).for_each(|(search, heard)| {
                let Some(Heard { messages, report }) = heard else { return };
                let ([gradient], [loss]) = (&messages[..], &report.losses[..]) else { return };
                let slope = |&who: &usize| {
                    probes[who]
                        .as_ref()
                        .map_or(0.0, |probe| kernels::dot(gradient.values(), probe.values()))
                };
                let slopes: Vec<f32> = search.members.iter().map(slope).collect();
                if loss.is_finite() && slopes.iter().all(|slope| slope.is_finite()) {
                    search.step(*loss, slopes, settings.pull as f32);
                }
            });
        }
        let Self { probes, searches, .. } = self;
        let mixture = |search: &Search| {
            let parts =
                search.weights().filter_map(|(who, part)| Some((probes[who].as_ref()?, part)));
            Labelled::sum(Content::Model, &parts.collect::<Vec<_>>())
        };
        self.mixtures = searches.par_iter().map(mixture).collect();
    }
}

impl Finder for Mixer {
    fn found(&self, competing: &CompetingGraph) -> Found {
        let columns: Vec<_> =
            self.searches.iter().map(|search| self.settings.benefits(search)).collect();
        graph(competing, &columns, 0.0).into()
    }
}

impl Mixture {
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
