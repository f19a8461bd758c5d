//! Each participant trains a model of its own; the coordinator mixes the models of its collaborators
//! into it. Information flows along usage edges and nowhere else.

use fedcompetitors_graphs::{BenefitGraph, CompetingGraph, UsageGraph, bits::ones};
use fedcompetitors_learn::{Part, kernels, weighted_sum};
use fedcompetitors_record::{Flow, FlowSource};
use serde::{Deserialize, Serialize};

use super::{
    Best, Effort, Trainer, TrainerKind, Training,
    descent::{Descent, each},
    mixture,
    pace::Pace,
    weights_by_samples,
};
use crate::{
    FederateError, Federation,
    exchange::{Content, Exchange, Message, Submission},
    kinds::{BadSettings, Settings, in_range, settings},
    saved,
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
        federation: &Federation<'_>,
        usage: &UsageGraph,
        benefit: &BenefitGraph,
        to: usize,
    ) -> Vec<(usize, f32)> {
        let collaborators: Vec<usize> = ones(usage.collaborators(to)).collect();
        let mut parts: Vec<(usize, f64)> = match self.weights {
            Weights::Samples => {
                let members = [&[to], &*collaborators].concat();
                let weights = weights_by_samples(federation, &members);
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

    fn begin(
        &self,
        federation: &Federation<'_>,
        usage: &UsageGraph,
        benefit: &BenefitGraph,
        effort: Effort,
    ) -> Box<dyn Training> {
        let shared = federation.shared();
        let learners = usage.learners();
        let mixers = (0..federation.len()).map(|participant| Mixer {
            descent: Descent::new(federation, participant, effort),
            parts: self.parts(federation, usage, benefit, participant),
            is_used: ones(learners.row(participant)).next().is_some(),
            start: vec![0.0; shared],
            last: vec![0.0; shared],
            added: vec![0.0; shared],
            got: None,
            has_taken: false,
            has_ever_taken: false,
        });
        Box::new(Rounds {
            pace: Pace::new(effort.local_steps, effort.evaluations),
            mixed: self.mix,
            server_rate: self.server_rate as f32,
            against_drift: self.against_drift,
            checked: self.checked,
            mixers: mixers.collect(),
        })
    }

    fn resume(&self, saved: &[u8]) -> Result<Box<dyn Training>, FederateError> {
        Ok(Box::new(saved::read::<Rounds>(saved)?))
    }
}

/// A training in progress.
#[derive(Serialize, Deserialize)]
struct Rounds {
    pace: Pace,
    mixed: Mixed,
    server_rate: f32,
    against_drift: bool,
    checked: bool,
    mixers: Vec<Mixer>,
}

/// The state of a participant in training.
#[derive(Serialize, Deserialize)]
struct Mixer {
    descent: Descent,
    /// Itself and its collaborators, with their weights.
    parts: Vec<(usize, f32)>,
    /// Whether another participant learns from it.
    is_used: bool,
    /// The shared parameters at the beginning of the round.
    start: Vec<f32>,
    /// The mean of its gradients in the last round, and what is added to its gradients in this one:
    /// the mixed mean less its own.
    last: Vec<f32>,
    added: Vec<f32>,
    /// The mixture of this round, until it is accepted or rejected.
    #[serde(skip)]
    got: Option<Vec<f32>>,
    /// Whether it accepted the last mixture, or any.
    has_taken: bool,
    has_ever_taken: bool,
}

impl Training for Rounds {
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
        let there: Vec<bool> = (0..federation.len()).map(|a| exchange.is_there(a)).collect();
        let steps = self.pace.next();
        if self.mixed == Mixed::Gradients {
            for _ in 0..steps {
                self.step(federation, exchange, &there)?;
            }
        } else {
            self.each_of(&there, |mixer| mixer.round(federation, steps))?;
            self.mix(federation, exchange, &there)?;
        }
        let in_the_end = self.pace.count(steps);
        each(&mut self.mixers, |mixer| mixer.descent.validate(federation, in_the_end))
    }

    fn best(&self, participant: usize) -> Best<'_> {
        self.mixers[participant].descent.early_stopping.best()
    }

    fn parts(&self, participant: usize) -> Vec<(usize, f32)> {
        let mixer = &self.mixers[participant];
        if mixer.has_ever_taken { mixer.parts.clone() } else { vec![(participant, 1.0)] }
    }

    fn save(&self) -> Vec<u8> {
        saved::write(self)
    }
}

impl Rounds {
    /// Works on the participants that are present.
    fn each_of(
        &mut self,
        there: &[bool],
        work: impl Fn(&mut Mixer) -> Result<(), FederateError> + Send + Sync,
    ) -> Result<(), FederateError> {
        each(
            &mut self.mixers,
            |mixer| {
                if there[mixer.descent.participant] { work(mixer) } else { Ok(()) }
            },
        )
    }

    /// One step of each present participant along the mixture of gradients.
    fn step(
        &mut self,
        federation: &Federation<'_>,
        exchange: &mut Exchange<'_>,
        there: &[bool],
    ) -> Result<(), FederateError> {
        self.each_of(there, |mixer| mixer.descent.descend(federation))?;
        let shared = federation.shared();
        let sent = self.collect(exchange, there, Content::Gradient, |mixer| {
            (mixer.descent.gradient[..shared].to_vec(), Vec::new())
        });
        for mixer in self.mixers.iter_mut().filter(|mixer| there[mixer.descent.participant]) {
            mixer.got = mixer.get(exchange, Content::Gradient, &sent)?;
        }
        self.each_of(there, |mixer| {
            if let Some(mixture) = mixer.got.take() {
                mixer.descent.gradient[..shared].copy_from_slice(&mixture);
                mixer.has_ever_taken = true;
            }
            mixer.descent.follow();
            Ok(())
        })
    }

    /// Delivers to each present participant the mixture of what its collaborators have sent.
    fn mix(
        &mut self,
        federation: &Federation<'_>,
        exchange: &mut Exchange<'_>,
        there: &[bool],
    ) -> Result<(), FederateError> {
        let content = if self.mixed == Mixed::Models { Content::Model } else { Content::Update };
        let sent = self.collect(exchange, there, content, |mixer| mixer.gives(self.mixed));
        for mixer in self.mixers.iter_mut().filter(|mixer| there[mixer.descent.participant]) {
            mixer.got = mixer.get(exchange, content, &sent)?;
        }
        let (mixed, server_rate, checked) = (self.mixed, self.server_rate, self.checked);
        each(&mut self.mixers, |mixer| {
            let mixture = mixer.got.take();
            mixer.has_taken = mixture.is_some_and(|mixture| {
                mixer.take(federation, mixed, server_rate, checked, &mixture)
            });
            mixer.has_ever_taken |= mixer.has_taken;
            Ok(())
        })?;
        if self.against_drift {
            let content = Content::Gradient;
            let gradients = |mixer: &Mixer| (mixer.last.clone(), Vec::new());
            let sent = self.collect(exchange, there, content, gradients);
            for mixer in self.mixers.iter_mut().filter(|mixer| there[mixer.descent.participant]) {
                // Without a mixture it follows its own gradient.
                mixer.added.fill(0.0);
                let mixture = mixer.get(exchange, content, &sent)?;
                if let Some(mixture) = mixture.filter(|_| mixer.has_taken) {
                    mixer.added = mixture;
                    kernels::add_scaled(&mut mixer.added, -1.0, &mixer.last);
                }
            }
        }
        Ok(())
    }

    /// Collects from the present participants that learn from others or that others learn from.
    fn collect(
        &self,
        exchange: &mut Exchange<'_>,
        there: &[bool],
        content: Content,
        given: impl Fn(&Mixer) -> (Vec<f32>, Vec<f32>),
    ) -> Vec<Option<Message>> {
        let sends = |mixer: &Mixer| {
            there[mixer.descent.participant] && (mixer.is_used || !mixer.is_alone())
        };
        let submission = |mixer: &Mixer| {
            let (values, before) = given(mixer);
            Submission { values, before, carried: mixer.descent.carried.clone() }
        };
        let submissions = self.mixers.iter().map(|mixer| sends(mixer).then(|| submission(mixer)));
        let shared = self.mixers.first().map_or(0, |mixer| mixer.start.len());
        exchange.collect(content, shared, submissions.collect())
    }
}

impl Mixer {
    fn round(&mut self, federation: &Federation<'_>, steps: usize) -> Result<(), FederateError> {
        let Self { descent, start, last, added, .. } = self;
        let shared = start.len();
        start.copy_from_slice(&descent.parameters[..shared]);
        last.fill(0.0);
        for _ in 0..steps {
            descent.step(federation, |gradient, _| {
                kernels::add_scaled(last, 1.0 / steps as f32, &gradient[..shared]);
                kernels::add_scaled(&mut gradient[..shared], 1.0, added);
            })?;
        }
        Ok(())
    }

    /// What it sends of its last round, and what that would be without any step.
    fn gives(&self, mixed: Mixed) -> (Vec<f32>, Vec<f32>) {
        let mut given = self.descent.parameters[..self.start.len()].to_vec();
        if mixed == Mixed::Models {
            return (given, self.start.clone());
        }
        kernels::add_scaled(&mut given, -1.0, &self.start);
        (given, Vec::new())
    }

    /// Whether it learns from nobody.
    fn is_alone(&self) -> bool {
        self.parts.len() == 1
    }

    /// The mixture for it; none if it learns from nobody, or if its own message was refused.
    fn get(
        &mut self,
        exchange: &mut Exchange<'_>,
        content: Content,
        sent: &[Option<Message>],
    ) -> Result<Option<Vec<f32>>, FederateError> {
        let to = self.descent.participant;
        let parts =
            self.parts.iter().filter_map(|&(from, part)| Some((sent[from].as_ref()?, part)));
        let parts: Vec<(&Message, f32)> = parts.collect();
        if self.is_alone() || sent[to].is_none() {
            return Ok(None);
        }
        let Some(mixture) = mixture(&parts, parts.len() == self.parts.len()) else {
            return Ok(None);
        };
        let made_of: Vec<Message> = parts.iter().map(|(message, _)| message.receipt()).collect();
        let carried = exchange.deliver(to, content, &mixture, &made_of)?;
        self.descent.receive(&carried);
        Ok(Some(mixture))
    }

    /// Moves to a mixture, unless its validation loss is higher there; returns whether it moved.
    fn take(
        &mut self,
        federation: &Federation<'_>,
        mixed: Mixed,
        server_rate: f32,
        checked: bool,
        mixture: &[f32],
    ) -> bool {
        let shared = self.start.len();
        let mut there = self.descent.parameters.clone();
        let kept = if mixed == Mixed::Models { 1.0 - server_rate } else { 1.0 };
        let moved = weighted_sum(&[(&self.start, kept), (mixture, server_rate)]);
        there[..shared].copy_from_slice(&moved);
        if checked {
            // No margin: with one, slightly worse mixtures were accepted round after round.
            let learner = federation.learner(self.descent.participant);
            let own = learner.loss(Part::Validation, &self.descent.parameters);
            let is_as_good = learner.loss(Part::Validation, &there) <= own;
            if !is_as_good {
                return false;
            }
        }
        self.descent.parameters = there;
        true
    }
}
