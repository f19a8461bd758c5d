//! Personal hypernetworks, as in the paper: for each participant one over itself and its
//! collaborators.
//!
//! A collaborator evaluates gradients at a model that carries the participant's other
//! collaborators, so information also flows between those, who may compete. This is for
//! simulations and for coordinators who compute on data they are trusted with;
//! [`Mixing`](super::Mixing) is for all others.

use fedcompetitors_graphs::{
    CompetingGraph, UsageGraph,
    bits::{self, ones},
    random::Stream,
};
use fedcompetitors_learn::{Batch, Hypernetwork, Part, kernels, simplex};
use fedcompetitors_record::{Flow, FlowSource};
use serde::{Deserialize, Serialize};

use super::{
    Best, ByAllData, EarlyStopping, Effort, Needs, Trainer, TrainerKind, Training, VALIDATE_EVERY,
    descent::{Batches, each, without_decay},
    headed::Headed,
    is_clearly_less, trial_steps,
};
use crate::{
    FederateError, Federation,
    exchange::{Content, Exchange, Message},
    faults::Played,
    kinds::{BadSettings, Settings, in_range, settings},
    saved,
};

pub static KIND: TrainerKind = TrainerKind::new::<Hypernetworks>(
    "hypernetworks",
    "The paper's: a hypernetwork for each participant. Helpers of one participant see each other's traces, so it is for simulations and trusted coordinators.",
);

settings! {
    /// Settings of `hypernetworks`.
    pub struct Hypernetworks {
        /// Width of the hidden layers.
        pub hidden: usize = 100,
        /// Percentage of the steps that each participant first trains alone; one that is clearly
        /// better off alone stays alone.
        pub trial: usize = 3,
        /// Learning rate of the preference ray.
        pub ray_rate: f64 = 0.01,
        /// Steps on the weights between two steps on the ray.
        pub ray_every: usize = 10,
        /// The owner's entry of the ray at the start; by default its share of the samples.
        pub own_part: Option<f64> = None,
    }
}

impl Settings for Hypernetworks {
    fn check(&self) -> Result<(), BadSettings> {
        in_range("hidden", (1..=10_000).contains(&self.hidden), "1 to 10000")?;
        in_range("trial", self.trial <= 50, "from 0 to 50")?;
        let is_rate = self.ray_rate.is_finite() && self.ray_rate >= 0.0;
        in_range("ray-rate", is_rate, "0 or more")?;
        in_range("ray-every", self.ray_every >= 1, "1 or more")?;
        let is_part = self.own_part.is_none_or(|part| part > 0.0 && part < 1.0);
        in_range("own-part", is_part, "between 0 and 1")
    }
}

impl Hypernetworks {
    /// The ray to begin with, of one by samples: the owner's part is the first.
    fn start(&self, ray: Vec<f64>) -> Vec<f32> {
        let mut ray: Vec<f32> = ray.into_iter().map(|part| part as f32).collect();
        let own_part = self.own_part.map(|part| part as f32);
        if let (Some(own), [first, others @ ..]) = (own_part, &mut ray[..])
            && !others.is_empty()
        {
            let rest: f32 = others.iter().sum();
            others.iter_mut().for_each(|part| *part *= (1.0 - own) / rest);
            *first = own;
        }
        ray
    }
}

/// How much of the parameters depends on the ray at the start.
pub(crate) const VARIATION: f32 = 0.1;

impl Trainer for Hypernetworks {
    fn flows(&self, competing: &CompetingGraph, usage: &UsageGraph) -> Vec<Flow> {
        let statement = "hypernetworks: helpers of one participant see each other's traces in its models, unless a trusted coordinator has all data";
        let (source, pairs) = (FlowSource::Trainer, joined(competing, usage));
        vec![Flow { source, statement: statement.into(), pairs }]
    }

    fn needs(&self) -> Needs<'_> {
        Needs::AllData(self)
    }
}

impl ByAllData for Hypernetworks {
    fn begin(
        &self,
        federation: &Federation<'_>,
        usage: &UsageGraph,
        effort: Effort,
    ) -> Box<dyn Training> {
        let trial = trial_steps(self.trial, effort.evaluations);
        let learners = usage.learners();
        let owners = (0..federation.len()).map(|owner| {
            let mut members = vec![owner];
            members.extend(ones(usage.collaborators(owner)));
            let personal = |members| Personal::new(self, federation, members, effort);
            let tries = trial > 0 && members.len() > 1;
            Owner {
                alone: tries.then(|| personal(&members[..1])),
                is_better_alone: false,
                together: personal(&members),
                is_used: ones(learners.row(owner)).next().is_some(),
                steps: 0,
            }
        });
        Box::new(Rounds {
            trial,
            evaluations: effort.evaluations,
            owners: owners.collect(),
            entrusted: vec![None; federation.len()],
            done: 0,
        })
    }

    fn resume(&self, saved: &[u8]) -> Result<Box<dyn Training>, FederateError> {
        Ok(Box::new(saved::read::<Rounds>(saved)?))
    }
}

/// The competing pairs that have a common participant to help, so that hypernetwork training
/// would show them each other's traces.
fn joined(competing: &CompetingGraph, usage: &UsageGraph) -> Vec<(usize, usize)> {
    competing
        .pairs()
        .filter(|&(a, b)| {
            (0..usage.participants().len()).any(|to| {
                let helps = |who: usize| who == to || usage.uses(who, to);
                helps(a) && helps(b)
            })
        })
        .collect()
}

/// A training in progress: a round is from one validation to the next.
#[derive(Serialize, Deserialize)]
struct Rounds {
    /// Steps of a trial, and in all.
    trial: usize,
    evaluations: usize,
    owners: Vec<Owner>,
    /// The data that the coordinator has been trusted with.
    entrusted: Vec<Option<Message>>,
    /// Steps that were made.
    done: usize,
}

/// A participant with its hypernetworks.
#[derive(Serialize, Deserialize)]
struct Owner {
    /// Without collaborators, for a trial.
    alone: Option<Personal>,
    is_better_alone: bool,
    together: Personal,
    /// Whether another participant learns from it.
    is_used: bool,
    steps: usize,
}

impl Training for Rounds {
    fn rounds(&self) -> usize {
        self.evaluations.div_ceil(VALIDATE_EVERY)
    }

    fn done(&self) -> usize {
        self.done.div_ceil(VALIDATE_EVERY)
    }

    fn round(
        &mut self,
        federation: &Federation<'_>,
        exchange: &mut Exchange<'_>,
        played: &Played,
    ) -> Result<(), FederateError> {
        // Nobody sends numbers: who would send garbage is left out.
        for &(participant, garbage) in &played.garbage {
            if exchange.is_there(participant) {
                exchange.incident(participant, garbage.incident());
            }
        }
        let sends_garbage = |who: &usize| played.garbage.iter().any(|(other, _)| other == who);
        let there = |who: &usize| exchange.is_there(*who) && !sends_garbage(who);
        let there: Vec<usize> = (0..federation.len()).filter(there).collect();
        for &participant in &there {
            let owner = &self.owners[participant];
            if self.entrusted[participant].is_none() && (owner.is_used || owner.has_others()) {
                self.entrusted[participant] = Some(exchange.entrust(participant));
            }
        }
        let steps = VALIDATE_EVERY.min(self.evaluations - self.done);
        let (trial, evaluations) = (self.trial, self.evaluations);
        each(&mut self.owners, |owner| {
            if there.binary_search(&owner.together.owner()).is_err() {
                return Ok(());
            }
            (0..steps).try_for_each(|_| owner.step(federation, &there, trial, evaluations))
        })?;
        self.done += steps;
        if self.done >= self.evaluations {
            // A participant that missed a round has not made its last step yet.
            each(&mut self.owners, |owner| {
                let is_there = there.binary_search(&owner.together.owner()).is_ok();
                if is_there { owner.validate(federation) } else { Ok(()) }
            })?;
        }
        for &to in &there {
            let owner = &self.owners[to];
            if owner.has_others() {
                let kept = owner.best().early_stopping.best();
                let messages = ones(kept.carried).filter_map(|from| self.entrusted[from].clone());
                let messages: Vec<Message> = messages.collect();
                exchange.deliver(to, Content::Model, kept.parameters, &messages)?;
            }
        }
        Ok(())
    }

    fn best(&self, participant: usize) -> Best<'_> {
        self.owners[participant].best().early_stopping.best()
    }

    fn parts(&self, participant: usize) -> Vec<(usize, f32)> {
        let Personal { members, ray, .. } = self.owners[participant].best();
        members.iter().zip(ray).map(|(member, part)| (member.participant, *part)).collect()
    }

    fn save(&self) -> Vec<u8> {
        saved::write(self)
    }
}

impl Owner {
    fn has_others(&self) -> bool {
        self.together.members.len() > 1
    }

    /// The next step: alone, then as many together, then where it was better.
    fn step(
        &mut self,
        federation: &Federation<'_>,
        there: &[usize],
        trial: usize,
        evaluations: usize,
    ) -> Result<(), FederateError> {
        self.steps += 1;
        let (steps, is_last) = (self.steps, self.steps == evaluations);
        match &mut self.alone {
            Some(alone) if steps <= trial || self.is_better_alone => {
                alone.step_and_validate(federation, there, is_last || steps == trial)
            }
            Some(alone) if steps == 2 * trial => {
                self.together.step_and_validate(federation, there, true)?;
                self.is_better_alone = is_clearly_less(
                    alone.early_stopping.loss(),
                    self.together.early_stopping.loss(),
                );
                Ok(())
            }
            _ => self.together.step_and_validate(federation, there, is_last),
        }
    }

    /// Validates the networks that made steps since their last validation.
    fn validate(&mut self, federation: &Federation<'_>) -> Result<(), FederateError> {
        let all = self.alone.iter_mut().chain([&mut self.together]);
        all.filter(|personal| personal.since_validation > 0)
            .try_for_each(|personal| personal.validate(federation))
    }

    /// The network with the lower validation loss.
    fn best(&self) -> &Personal {
        match &self.alone {
            Some(alone) if alone.early_stopping.loss() < self.together.early_stopping.loss() => {
                alone
            }
            _ => &self.together,
        }
    }
}

/// A participant's hypernetwork while it learns.
#[derive(Serialize, Deserialize)]
struct Personal {
    settings: Hypernetworks,
    /// The owner first.
    members: Vec<Headed>,
    batches: Vec<Batches>,
    ray: Vec<f32>,
    network: Hypernetwork,
    decay: f32,
    early_stopping: EarlyStopping,
    /// The participants whose data the network has seen, as a set of bits.
    carried: Vec<u64>,
    stream: Stream,
    steps: usize,
    /// Steps since the last validation.
    since_validation: usize,
}

impl Personal {
    fn new(
        settings: &Hypernetworks,
        federation: &Federation<'_>,
        members: &[usize],
        effort: Effort,
    ) -> Self {
        let (owner, shared) = (members[0], federation.shared());
        let (rule, decay) = without_decay(effort.rule);
        let mut stream = federation.stream("personal hypernetwork", owner);
        let mut network =
            Hypernetwork::new(members.len(), settings.hidden, shared, rule, &mut stream);
        let batches = members.iter().map(|&a| Batches::new(&federation.site(a), effort.batch));
        let headed: Vec<Headed> =
            members.iter().map(|&a| Headed::new(&federation.site(a), rule)).collect();
        network.start_from(&headed[0].model[..shared], VARIATION);
        Self {
            settings: settings.clone(),
            batches: batches.collect(),
            ray: settings.start(federation.weights_by_samples(members)),
            early_stopping: EarlyStopping::new(&headed[0].model),
            carried: federation.site(owner).own(),
            members: headed,
            network,
            decay,
            stream,
            steps: 0,
            since_validation: 0,
        }
    }

    fn owner(&self) -> usize {
        self.members[0].participant
    }

    /// A step, with a validation every [`VALIDATE_EVERY`] steps and after the last one.
    fn step_and_validate(
        &mut self,
        federation: &Federation<'_>,
        there: &[usize],
        is_last: bool,
    ) -> Result<(), FederateError> {
        self.step(federation, there)?;
        self.steps += 1;
        self.since_validation += 1;
        if self.steps.is_multiple_of(VALIDATE_EVERY) || is_last {
            self.validate(federation)
        } else {
            Ok(())
        }
    }

    fn validate(&mut self, federation: &Federation<'_>) -> Result<(), FederateError> {
        self.since_validation = 0;
        let owner = &mut self.members[0];
        self.network.make(&self.ray, &mut owner.model[..federation.shared()]);
        self.early_stopping.evaluate(
            &federation.site(owner.participant),
            &owner.model,
            &self.carried,
        )
    }

    /// A step on the ray every `ray_every` steps, otherwise on the weights.
    fn step(&mut self, federation: &Federation<'_>, there: &[usize]) -> Result<(), FederateError> {
        let shared = federation.shared();
        let Self { settings, members, ray, network, decay, .. } = self;
        let turn = settings.ray_every + 1;
        if members.len() > 1 && self.steps % turn == turn - 1 {
            let owner = &mut members[0];
            network.make(ray, &mut owner.model[..shared]);
            owner.gradient(&federation.site(owner.participant), Part::Validation, Batch::All)?;
            let slope = network.ray_gradient(ray, &owner.gradient[..shared]);
            kernels::add_scaled(ray, -settings.ray_rate as f32, &slope);
            simplex::project(ray);
        } else {
            // One member, drawn by the ray, stands for the ray-weighted sum of all: the
            // same gradient on average, at the price of one.
            let parts: Vec<f32> = members
                .iter()
                .zip(&*ray)
                .map(|(member, part)| match there.binary_search(&member.participant) {
                    Ok(_) => *part,
                    Err(_) => 0.0,
                })
                .collect();
            let drawn = drawn(&parts, self.stream.unit() as f32);
            let member = &mut members[drawn];
            network.make(ray, &mut member.model[..shared]);
            member.gradient(
                &federation.site(member.participant),
                Part::Training,
                self.batches[drawn].next(),
            )?;
            kernels::add_scaled(&mut member.gradient, *decay, &member.model);
            network.step(ray, &member.gradient[..shared]);
            member.step_head(shared);
            bits::insert(&mut self.carried, member.participant);
        }
        Ok(())
    }
}

/// Which entry of a ray a number from 0 to 1 falls on.
fn drawn(ray: &[f32], number: f32) -> usize {
    let mut left = number * ray.iter().sum::<f32>();
    for (at, part) in ray.iter().enumerate() {
        if left < *part {
            return at;
        }
        left -= part;
    }
    // Rounding may leave a little behind the last one.
    ray.iter().rposition(|&part| part > 0.0).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use fedcompetitors_graphs::Participants;

    use super::*;

    #[test]
    fn competitors_with_a_common_friend_see_each_others_traces() {
        let participants = Participants::numbered(4);
        let mut competing = CompetingGraph::builder(&participants);
        competing.report(0, 1).expect("two");
        competing.report(2, 3).expect("two");
        let competing = competing.build();
        let mut usage = UsageGraph::builder(&participants);
        usage.add(0, 2).expect("new");
        usage.add(1, 2).expect("new");
        assert_eq!(joined(&competing, &usage.build()), [(0, 1)]);
    }
}
