//! Each participant trains a model of its own; the coordinator mixes the models of its collaborators
//! into it. Information flows along usage edges and nowhere else.

use fedcompetitors_graphs::{BenefitGraph, CompetingGraph, UsageGraph, bits::ones};
use fedcompetitors_record::{Content, Flow, FlowSource};
use serde::{Deserialize, Serialize};

use super::{ByMessages, Effort, Needs, Trainer, TrainerKind, pace::Pace};
use crate::{
    FederateError, Known,
    exchange::Message,
    kinds::{BadSettings, Settings, in_range, settings},
    protocol::{
        Adopt, Ask, Combiner, Coordinate, Coordinator, Finish, First, Heard, Labelled, Question,
        Train,
    },
};

/// The trainer `mixing`.
pub static KIND: TrainerKind = TrainerKind::new::<Mixing>(
    "mixing",
    "The coordinator mixes the models of a participant's collaborators into its own; information flows along the plan and nowhere else.",
);

/// What the weights of collaborators in a mixture follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Weights {
    /// Their numbers of training samples.
    Samples,
    /// Their benefits: weights in a mixture in which the participant itself has the rest.
    Benefit,
}

/// What is mixed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mixed {
    /// Models: each participant moves to the mixture of them.
    Models,
    /// Updates: each participant starts from its model before the local steps and adds the mixture
    /// of updates.
    Updates,
    /// Gradients, at every step of a round: each participant's own optimizer follows the mixture of
    /// them, so the shared parameters are trained on the data of all at once, and there is no drift.
    /// No model is delivered, so `server_rate` and `checked` have no effect.
    Gradients,
}

settings! {
    /// Settings of `mixing`.
    pub struct Mixing {
        /// Mix `models` or `updates` once a round, or `gradients` at each step.
        pub mix: Mixed = Mixed::Models,
        /// Weights of collaborators by their `samples` or by `benefit`.
        pub weights: Weights = Weights::Samples,
        /// The weight of a participant's own model in its mixture; by default it follows from
        /// `weights`.
        pub own_part: Option<f64> = None,
        /// Step length towards the mixture.
        pub server_rate: f64 = 1.0,
        /// Also mix gradients, and correct local steps by the mixed gradient.
        pub against_drift: bool = true,
        /// Keep the own model if its validation loss is lower than the mixture's.
        pub checked: bool = true,
    }
}

impl Settings for Mixing {
    fn check(&self) -> Result<(), BadSettings> {
        let is_part = self.own_part.is_none_or(|part| part > 0.0 && part < 1.0);
        in_range("own-part", is_part, "between 0 and 1")?;
        let is_rate = self.server_rate.is_finite() && self.server_rate > 0.0;
        in_range("server-rate", is_rate, "above 0")
    }
}

impl Mixing {
    /// The weights in the mixtures of a participant: its own first, then those of its collaborators.
    fn parts(
        &self,
        known: &Known<'_>,
        usage: &UsageGraph,
        benefit: &BenefitGraph,
        to: usize,
    ) -> Vec<(usize, f32)> {
        let collaborators: Vec<usize> = ones(usage.collaborators(to)).collect();
        let mut parts: Vec<(usize, f64)> = match self.weights {
            Weights::Samples => {
                let members = [&[to], &*collaborators].concat();
                let weights = known.weights_by_samples(&members);
                members.into_iter().zip(weights).collect()
            }
            Weights::Benefit => {
                let others = collaborators.iter().map(|&from| (from, benefit.benefit(from, to)));
                let own = (1.0 - others.clone().map(|other| other.1).sum::<f64>()).max(1e-3);
                [(to, own)].into_iter().chain(others).collect()
            }
        };
        if let Some(own) = self.own_part {
            let others: f64 = parts[1..].iter().map(|part| part.1).sum();
            // Without collaborators the own model is the mixture.
            if others > 0.0 {
                parts[1..].iter_mut().for_each(|part| part.1 *= (1.0 - own) / others);
                parts[0].1 = own;
            }
        }
        let sum: f64 = parts.iter().map(|part| part.1).sum();
        parts.iter_mut().for_each(|part| part.1 /= sum);
        parts.into_iter().map(|(who, part)| (who, part as f32)).collect()
    }
}

impl Trainer for Mixing {
    fn needs_weights(&self) -> bool {
        self.weights == Weights::Benefit
    }

    fn flows(&self, _: &CompetingGraph, _: &UsageGraph) -> Vec<Flow> {
        if self.weights == Weights::Samples {
            return Vec::new();
        }
        let statement = "weights: the weight of each helper in a mixture follows from the estimate, to which refused participants have contributed, too";
        let (source, pairs) = (FlowSource::Weights, Vec::new());
        vec![Flow { source, statement: statement.into(), pairs }]
    }

    fn needs(&self) -> Needs<'_> {
        Needs::Messages(self)
    }
}

impl ByMessages for Mixing {
    fn coordinate(
        &self,
        known: &Known<'_>,
        usage: &UsageGraph,
        benefit: &BenefitGraph,
        effort: Effort,
    ) -> Box<dyn Coordinate> {
        let learners = usage.learners();
        let members = (0..known.len()).map(|participant| Member {
            parts: self.parts(known, usage, benefit, participant),
            is_used: ones(learners.row(participant)).next().is_some(),
            mixtures: Vec::new(),
        });
        let mixer = Mixer {
            settings: self.clone(),
            pace: Pace::new(effort.local_steps, effort.evaluations),
            steps_done: 0,
            members: members.collect(),
        };
        Box::new(Coordinator::new(known, mixer))
    }

    fn resume(&self, saved: &[u8]) -> Result<Box<dyn Coordinate>, FederateError> {
        Coordinator::<Mixer>::resume(saved)
    }
}

/// The coordinator's half.
#[derive(Serialize, Deserialize)]
struct Mixer {
    settings: Mixing,
    pace: Pace,
    /// The steps of this round that are done, where gradients are mixed.
    steps_done: usize,
    members: Vec<Member>,
}

/// What the coordinator knows of a participant.
#[derive(Serialize, Deserialize)]
struct Member {
    /// Itself and its collaborators, with their weights.
    parts: Vec<(usize, f32)>,
    /// Whether another participant learns from it.
    is_used: bool,
    /// What it is given with the next ask.
    mixtures: Vec<Labelled>,
}

impl Combiner for Mixer {
    fn rounds(&self) -> usize {
        self.pace.rounds()
    }

    fn done(&self) -> usize {
        self.pace.rounds_done()
    }

    fn ask(&self, participant: usize) -> Question<'_> {
        let is_new_round = self.steps_done == 0;
        let Mixing { mix, server_rate, against_drift, checked, .. } = self.settings;
        let adopt = Adopt { rate: server_rate as f32, checked };
        let member = &self.members[participant];
        let given = member.mixtures.iter().collect();
        let ask = match mix {
            _ if self.pace.rounds_done() == self.pace.rounds() => Ask::Finish(Finish::Adopt(adopt)),
            Mixed::Gradients => Ask::Descend { validate: is_new_round, sends: !member.is_apart() },
            Mixed::Models | Mixed::Updates => {
                let gradient = against_drift.then_some(Content::Gradient);
                let sends = [mix.content()].into_iter().chain(gradient);
                let sends = if member.is_apart() { Vec::new() } else { sends.collect() };
                Ask::Train(Train::new(First::Adopt(adopt), self.pace.next(), sends))
            }
        };
        Question { ask, given }
    }

    fn take(&mut self, _: &CompetingGraph, heard: Vec<Option<Heard>>) {
        let steps = self.pace.next();
        self.steps_done += 1;
        if self.settings.mix != Mixed::Gradients || self.steps_done == steps {
            self.pace.count(steps);
            self.steps_done = 0;
        }
        let contents: &[Content] = match self.settings.mix {
            Mixed::Gradients => &[Content::Gradient],
            mix => &[mix.content(), Content::Gradient],
        };
        for (to, member) in self.members.iter_mut().enumerate() {
            let is_heard = heard[to].is_some() && !member.is_alone();
            let mixtures = contents.iter().enumerate().filter(|_| is_heard);
            member.mixtures =
                mixtures.filter_map(|(at, &content)| member.mixture(content, at, &heard)).collect();
        }
    }

    fn parts(&self, participant: usize, _: &[f64]) -> Vec<(usize, f32)> {
        self.members[participant].parts.clone()
    }
}

impl Mixed {
    /// What participants send and are given.
    fn content(self) -> Content {
        match self {
            Self::Models => Content::Model,
            Self::Updates => Content::Update,
            Self::Gradients => Content::Gradient,
        }
    }
}

impl Member {
    /// Whether it learns from nobody.
    fn is_alone(&self) -> bool {
        self.parts.len() == 1
    }

    /// Whether it learns from nobody and nobody from it.
    fn is_apart(&self) -> bool {
        self.is_alone() && !self.is_used
    }

    /// The mixture for it of the messages at this place in the answers.
    fn mixture(&self, content: Content, at: usize, heard: &[Option<Heard>]) -> Option<Labelled> {
        let sent =
            |&(from, part): &(usize, f32)| Some((heard[from].as_ref()?.messages.get(at)?, part));
        let sent: Vec<(&Message, f32)> = self.parts.iter().filter_map(sent).collect();
        Labelled::mixture(content, &sent, sent.len() == self.parts.len())
    }
}
