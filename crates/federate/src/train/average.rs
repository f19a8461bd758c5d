//! What `averaging`, `proximal` and `scaffold` have in common: models are averaged inside groups.
//!
//! The groups are the strongly connected components of the usage graph; a group of one trains alone,
//! so on a graph without edges this is Local.

use fedcompetitors_graphs::{Reachability, UsageGraph};
use fedcompetitors_learn::{kernels, weighted_sum};
use serde::{Deserialize, Serialize};

use super::{
    Best, Effort, Training,
    descent::{Descent, each},
    mixture,
    pace::Pace,
    weights_by_samples,
};
use crate::{
    FederateError, Federation,
    exchange::{Content, Exchange, Message, Submission},
    saved,
};

/// What keeps local steps from drifting apart.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub enum Correction {
    /// Nothing: `FedAvg`.
    None,
    /// A pull towards the common model: `FedProx` adds `pull / 2 · |x − x̄|²` to the loss.
    Proximal {
        /// The strength of the pull, μ in the literature.
        pull: f32,
    },
    /// Control variates: SCAFFOLD adds `c − cᵢ` to each gradient, where `cᵢ` is the mean of
    /// the participant's gradients along its last round and `c` the mean of those.
    ControlVariates,
}

/// Rounds of local steps, each followed by the mean of the models, weighted by samples.
pub fn begin(
    correction: Correction,
    federation: &Federation<'_>,
    usage: &UsageGraph,
    effort: Effort,
) -> Box<dyn Training> {
    let shared = federation.shared();
    let mut members: Vec<Member> = (0..federation.len())
        .map(|participant| Member {
            descent: Descent::new(federation, participant, effort),
            weight: 1.0,
            is_behind: false,
            gradients: vec![0.0; shared],
            control: vec![0.0; shared],
            sent_control: None,
        })
        .collect();
    let groups = groups(usage).into_iter().map(|group| {
        for (&member, weight) in group.iter().zip(weights_by_samples(federation, &group)) {
            members[member].weight = weight as f32;
        }
        let common = federation.initial(group[0])[..shared].to_vec();
        Group {
            members: group,
            common,
            control: vec![0.0; shared],
            models: Vec::new(),
            controls: Vec::new(),
        }
    });
    let groups = groups.collect();
    let pace = Pace::new(effort.local_steps, effort.evaluations);
    Box::new(Rounds { correction, pace, groups, members })
}

/// A training that resumes from its saved state.
pub fn resume(saved: &[u8]) -> Result<Box<dyn Training>, FederateError> {
    Ok(Box::new(saved::read::<Rounds>(saved)?))
}

/// Those who reach each other, each group in listed order.
fn groups(usage: &UsageGraph) -> Vec<Vec<usize>> {
    let reach = Reachability::of(usage);
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for participant in 0..usage.participants().len() {
        let with = |group: &&mut Vec<usize>| {
            reach.reaches(group[0], participant) && reach.reaches(participant, group[0])
        };
        match groups.iter_mut().find(with) {
            Some(group) => group.push(participant),
            None => groups.push(vec![participant]),
        }
    }
    groups
}

/// Those who share a model.
#[derive(Serialize, Deserialize)]
struct Group {
    members: Vec<usize>,
    /// The common model, and the common control variate.
    common: Vec<f32>,
    control: Vec<f32>,
    /// The messages that they were made of.
    models: Vec<Message>,
    controls: Vec<Message>,
}

impl Group {
    fn is_alone(&self) -> bool {
        self.members.len() == 1
    }

    /// Delivers the common model and control variate to a member.
    fn hand_out(
        &self,
        member: &mut Member,
        correction: Correction,
        exchange: &mut Exchange<'_>,
    ) -> Result<(), FederateError> {
        let Member { descent, is_behind, .. } = member;
        let to = descent.participant;
        // Before anything was sent the common model is the start, which all have.
        if !self.models.is_empty() {
            let carried = exchange.deliver(to, Content::Model, &self.common, &self.models)?;
            descent.receive(&carried);
        }
        descent.parameters[..self.common.len()].copy_from_slice(&self.common);
        if correction == Correction::ControlVariates && !self.controls.is_empty() {
            let carried = exchange.deliver(to, Content::Gradient, &self.control, &self.controls)?;
            descent.receive(&carried);
        }
        *is_behind = false;
        Ok(())
    }
}

/// A member of a group.
#[derive(Serialize, Deserialize)]
struct Member {
    descent: Descent,
    /// Its weight in the mean.
    weight: f32,
    /// Whether it was missing when the last common model was delivered.
    is_behind: bool,
    /// The sum of this round's gradients, and its control variate.
    gradients: Vec<f32>,
    control: Vec<f32>,
    /// The message with which the coordinator received its control variate.
    sent_control: Option<Message>,
}

/// A training in progress.
#[derive(Serialize, Deserialize)]
struct Rounds {
    correction: Correction,
    pace: Pace,
    groups: Vec<Group>,
    members: Vec<Member>,
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
        let steps = self.pace.next();
        let there: Vec<bool> = (0..federation.len()).map(|a| exchange.is_there(a)).collect();
        for group in &self.groups {
            let behind = |&&a: &&usize| there[a] && self.members[a].is_behind;
            let behind: Vec<usize> = group.members.iter().filter(behind).copied().collect();
            for member in behind {
                group.hand_out(&mut self.members[member], self.correction, exchange)?;
            }
        }
        let correction = self.correction;
        let mut turns: Vec<(&Group, &mut Member)> = Vec::new();
        let mut members: Vec<Option<&mut Member>> = self.members.iter_mut().map(Some).collect();
        for group in &self.groups {
            for &member in group.members.iter().filter(|&&member| there[member]) {
                turns.extend(members[member].take().map(|member| (group, member)));
            }
        }
        each(&mut turns, |(group, member)| member.round(federation, correction, group, steps))?;
        self.average(federation, exchange, &there, steps)?;
        let in_the_end = self.pace.count(steps);
        each(&mut self.members, |member| member.descent.validate(federation, in_the_end))
    }

    fn best(&self, participant: usize) -> Best<'_> {
        self.members[participant].descent.early_stopping.best()
    }

    fn parts(&self, participant: usize) -> Vec<(usize, f32)> {
        let group = self.groups.iter().find(|group| group.members.contains(&participant));
        let members = group.map(|group| group.members.as_slice()).unwrap_or_default();
        members.iter().map(|&member| (member, self.members[member].weight)).collect()
    }

    fn save(&self) -> Vec<u8> {
        saved::write(self)
    }
}

impl Rounds {
    /// The mean of the models of those who are there, for each group; and of their control
    /// variates.
    fn average(
        &mut self,
        federation: &Federation<'_>,
        exchange: &mut Exchange<'_>,
        there: &[bool],
        steps: usize,
    ) -> Result<(), FederateError> {
        let shared = federation.shared();
        let controlled = self.correction == Correction::ControlVariates;
        let mut models: Vec<Option<Submission>> = vec![None; self.members.len()];
        let mut gradients = models.clone();
        for group in self.groups.iter().filter(|group| !group.is_alone()) {
            for &at in group.members.iter().filter(|&&member| there[member]) {
                let Member { descent, gradients: sum, .. } = &mut self.members[at];
                let carried = descent.carried.clone();
                let (values, before) =
                    (descent.parameters[..shared].to_vec(), group.common.clone());
                models[at] = Some(Submission { values, before, carried: carried.clone() });
                if controlled {
                    kernels::scale(sum, 1.0 / steps as f32);
                    let (values, before) = (sum.clone(), Vec::new());
                    gradients[at] = Some(Submission { values, before, carried });
                }
            }
        }
        let models = exchange.collect(Content::Model, shared, models);
        let controls = exchange.collect(Content::Gradient, shared, gradients);
        for (member, message) in self.members.iter_mut().zip(controls) {
            if let Some(mut message) = message {
                member.control = std::mem::take(&mut message.values);
                member.sent_control = Some(message);
            }
        }
        for group in self.groups.iter_mut().filter(|group| !group.is_alone()) {
            let weight = |&member: &usize| self.members[member].weight;
            let sent =
                group.members.iter().filter_map(|at| Some((models[*at].as_ref()?, weight(at))));
            let sent: Vec<(&Message, f32)> = sent.collect();
            if let Some(mean) = mixture(&sent, sent.len() == group.members.len()) {
                group.common = mean;
                group.models = sent.iter().map(|(message, _)| message.receipt()).collect();
            }
            if controlled {
                // The last control variate of an absent member still counts.
                let members: Vec<&Member> =
                    group.members.iter().map(|&member| &self.members[member]).collect();
                let parts = members.iter().map(|member| (&member.control[..], member.weight));
                group.control = weighted_sum(&parts.collect::<Vec<_>>());
                group.controls =
                    members.iter().filter_map(|member| member.sent_control.clone()).collect();
            }
            for &member in &group.members {
                if there[member] {
                    group.hand_out(&mut self.members[member], self.correction, exchange)?;
                } else {
                    self.members[member].is_behind = true;
                }
            }
        }
        Ok(())
    }
}

impl Member {
    /// Local steps from the common model.
    fn round(
        &mut self,
        federation: &Federation<'_>,
        correction: Correction,
        group: &Group,
        steps: usize,
    ) -> Result<(), FederateError> {
        let Self { descent, gradients, control, .. } = self;
        let shared = group.common.len();
        gradients.fill(0.0);
        for _ in 0..steps {
            descent.step(federation, |gradient, parameters| {
                let gradient = &mut gradient[..shared];
                match correction {
                    Correction::None => {}
                    Correction::Proximal { pull } => {
                        kernels::add_scaled(gradient, pull, &parameters[..shared]);
                        kernels::add_scaled(gradient, -pull, &group.common);
                    }
                    // (For plain gradient descent the mean of a round's gradients is the
                    // second of the two updates in the literature, `cᵢ − c + (x − yᵢ) / (K η)`.)
                    Correction::ControlVariates => {
                        kernels::add_scaled(gradients, 1.0, gradient);
                        kernels::add_scaled(gradient, 1.0, &group.control);
                        kernels::add_scaled(gradient, -1.0, control);
                    }
                }
            })?;
        }
        Ok(())
    }
}
