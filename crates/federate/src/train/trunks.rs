//! The trainer `trunks`: networks that start from friends' trunks, under one head.
//!
//! Everybody trains a network alone and commits its trunk, which carries its own data alone. Who may learn
//! from it receives the trunk once, trains networks of its own that start from the trunks that suit it best,
//! and fits one head to the hidden layers of its networks and of the friends' trunks as they are.
//!
//! The gradient budget is shared equally by the networks: the first, which is trained alone, and those that
//! are started afterwards.

use std::cmp::Ordering;

use fedcompetitors_graphs::{
    BenefitGraph, UsageGraph,
    bits::{self, ones},
};
use fedcompetitors_learn::{LearnError, Learner};
use fedcompetitors_record::Content;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::{
    Best, Effort, Trainer, TrainerKind, Training,
    descent::{Descent, each},
    pace::Pace,
};
use crate::{
    FederateError, Federation,
    exchange::{Exchange, Message},
    kinds::{BadSettings, Models, Settings, in_range, settings},
    saved,
    trunks::{commit, ensemble, network, tried},
};

pub static KIND: TrainerKind = TrainerKind::new::<Trunks>(
    "trunks",
    "Networks that start from friends' hidden layers, and one head on the hidden layers of all; what is sent carries its sender's data alone. For models with hidden layers.",
);

settings! {
    /// Settings of `trunks`.
    pub struct Trunks {
        /// Networks that each participant trains after its first, each from another friend's hidden
        /// layers, or from a random start where friends are too few. All share the gradient budget equally.
        /// By default one to four: with the first, one for every 1,500 gradients of the budget.
        pub networks: Option<usize> = None,
        /// Friends' hidden layers that are also used as they are, at most: those that suit best.
        pub frozen: usize = 8,
    }
}

/// Gradients of the budget for each network, where their number is not set. See
/// `docs/decisions/0032-networks-by-budget.md`.
const GRADIENTS_EACH: usize = 1500;

/// The number of networks after the first that a budget is for.
fn networks_for(evaluations: usize) -> usize {
    (evaluations / GRADIENTS_EACH).clamp(2, 5) - 1
}

impl Settings for Trunks {
    fn check(&self) -> Result<(), BadSettings> {
        let is_number = self.networks.is_none_or(|networks| (1..=100).contains(&networks));
        in_range("networks", is_number, "1 to 100")?;
        in_range("frozen", self.frozen <= 100, "0 to 100")
    }
}

impl Trainer for Trunks {
    fn sends_own_data_only(&self) -> bool {
        true
    }

    fn models(&self) -> Models {
        Models::Hidden
    }

    fn begin(
        &self,
        federation: &Federation<'_>,
        usage: &UsageGraph,
        _: &BenefitGraph,
        effort: Effort,
    ) -> Box<dyn Training> {
        let networks = self.networks.unwrap_or_else(|| networks_for(effort.evaluations));
        let first = effort.evaluations / (networks + 1);
        // Each has a start of its own: networks that differ more are worth more together.
        let first_network = |participant: usize| {
            let stream = &mut federation.stream("network 1", participant);
            let start = federation.learner(participant).initial(stream);
            Descent::started(federation, participant, effort, start, "network 1")
        };
        let members = (0..federation.len()).map(|participant| Member {
            participant,
            friends: ones(usage.collaborators(participant)).collect(),
            first: first_network(participant),
            started: Vec::new(),
            frozen: Vec::new(),
            carried: federation.own(participant),
            parameters: None,
        });
        Box::new(Rounds {
            settings: self.clone(),
            networks,
            effort,
            done: 0,
            first: Pace::new(effort.local_steps, first),
            others: Pace::new(effort.local_steps, (effort.evaluations - first) / networks),
            members: members.collect(),
            committed: Vec::new(),
        })
    }

    fn resume(&self, saved: &[u8]) -> Result<Box<dyn Training>, FederateError> {
        Ok(Box::new(saved::read::<Rounds>(saved)?))
    }
}

/// A training in progress: rounds in which first networks are trained, one in which trunks are
/// delivered, and rounds in which the other networks are trained.
#[derive(Serialize, Deserialize)]
struct Rounds {
    settings: Trunks,
    /// Networks after the first.
    networks: usize,
    effort: Effort,
    done: usize,
    first: Pace,
    others: Pace,
    members: Vec<Member>,
    /// The trunks that were accepted, until they are delivered.
    committed: Vec<Option<Message>>,
}

/// The state of a participant in training.
#[derive(Serialize, Deserialize)]
struct Member {
    participant: usize,
    /// Those whose trunks it may use.
    friends: Vec<usize>,
    /// The network that it trains alone.
    first: Descent,
    started: Vec<Started>,
    /// The friends' trunks that it uses as they are.
    frozen: Vec<(usize, Vec<f32>)>,
    carried: Vec<u64>,
    /// The ensemble, in the end.
    parameters: Option<Vec<f32>>,
}

/// A network that was started after trunks were delivered.
#[derive(Serialize, Deserialize)]
struct Started {
    descent: Descent,
    /// From whose trunk, unless the start was random.
    from: Option<usize>,
    /// Whether its training diverged: what a friend sends may be garbage, and is then not used.
    diverged: bool,
}

impl Training for Rounds {
    fn rounds(&self) -> usize {
        self.first.rounds() + 1 + self.others.rounds()
    }

    fn done(&self) -> usize {
        self.done
    }

    fn round(
        &mut self,
        federation: &Federation<'_>,
        exchange: &mut Exchange<'_>,
    ) -> Result<(), FederateError> {
        match self.done.cmp(&self.first.rounds()) {
            Ordering::Less => self.train_first(federation)?,
            Ordering::Equal => self.deliver(federation, exchange)?,
            Ordering::Greater => self.train_others(federation)?,
        }
        self.done += 1;
        if self.done == self.first.rounds() {
            let networks =
                self.members.iter().map(|one| one.first.early_stopping.best().parameters);
            let networks: Vec<&[f32]> = networks.collect();
            self.committed = commit(federation, exchange, &networks)?;
        }
        if self.done == self.rounds() {
            each(&mut self.members, |member| member.finish(federation))?;
        }
        Ok(())
    }

    fn best(&self, participant: usize) -> Best<'_> {
        let member = &self.members[participant];
        match &member.parameters {
            Some(parameters) => Best { parameters, carried: &member.carried },
            None => member.first.early_stopping.best(),
        }
    }

    fn parts(&self, participant: usize) -> Vec<(usize, f32)> {
        self.members[participant].parts()
    }

    fn save(&self) -> Vec<u8> {
        saved::write(self)
    }
}

impl Rounds {
    /// A round of everybody's first network.
    fn train_first(&mut self, federation: &Federation<'_>) -> Result<(), FederateError> {
        let steps = self.first.next();
        let in_the_end = self.first.count(steps);
        each(&mut self.members, |member| {
            (0..steps).try_for_each(|_| member.first.step(federation, |_, _| ()))?;
            member.first.validate(federation, in_the_end)
        })
    }

    /// Everybody who is there receives the trunks of its friends and starts networks from those that suit
    /// best.
    fn deliver(
        &mut self,
        federation: &Federation<'_>,
        exchange: &mut Exchange<'_>,
    ) -> Result<(), FederateError> {
        let committed = std::mem::take(&mut self.committed);
        for member in &mut self.members {
            let to = member.participant;
            if !exchange.is_there(to) {
                member.friends.clear();
            }
            member.friends.retain(|&from| committed.get(from).is_some_and(Option::is_some));
            for message in member.friends.iter().filter_map(|&from| committed[from].as_ref()) {
                let made_of = [message.receipt()];
                let carried = exchange.deliver(to, Content::Trunk, &message.values, &made_of)?;
                bits::union(&mut member.carried, &carried);
            }
        }
        let (counts, effort) = ((self.networks, self.settings.frozen), self.effort);
        each(&mut self.members, |member| member.start(federation, counts, effort, &committed))
    }

    /// A round of everybody's other networks.
    fn train_others(&mut self, federation: &Federation<'_>) -> Result<(), FederateError> {
        let steps = self.others.next();
        let in_the_end = self.others.count(steps);
        let mut networks: Vec<&mut Started> =
            self.members.iter_mut().flat_map(|member| &mut member.started).collect();
        each(&mut networks, |network| network.round(federation, steps, in_the_end))
    }
}

impl Member {
    /// Looks at its friends' trunks, starts its networks and keeps the trunks that it uses as they are, at most
    /// these many of each.
    fn start(
        &mut self,
        federation: &Federation<'_>,
        (networks, frozen): (usize, usize),
        effort: Effort,
        committed: &[Option<Message>],
    ) -> Result<(), FederateError> {
        let learner = network(federation, self.participant)?;
        let trunk = |from: usize| committed[from].as_ref().map(|message| &message.values[..]);
        let loss = |&from: &usize| Some((tried(learner, trunk(from)?)?.1, from));
        let mut suitable: Vec<(f64, usize)> = self.friends.par_iter().filter_map(loss).collect();
        suitable.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        let started = (0..networks).map(|at| {
            let purpose = format!("network {}", at + 2);
            let mut start = learner.initial(&mut federation.stream(&purpose, self.participant));
            let from = suitable.get(at).map(|&(_, from)| from);
            if let Some(trunk) = from.and_then(trunk) {
                start[..trunk.len()].copy_from_slice(trunk);
            }
            let descent = Descent::started(federation, self.participant, effort, start, &purpose);
            Started { descent, from, diverged: false }
        });
        self.started = started.collect();
        let frozen = suitable.iter().take(frozen);
        self.frozen = frozen.filter_map(|&(_, from)| Some((from, trunk(from)?.to_vec()))).collect();
        Ok(())
    }

    /// Fits the head.
    fn finish(&mut self, federation: &Federation<'_>) -> Result<(), FederateError> {
        let learner = network(federation, self.participant)?;
        let trunk = learner.model().trunk();
        let own = std::iter::once(&self.first)
            .chain(self.started.iter().filter(|one| !one.diverged).map(|one| &one.descent))
            .map(|descent| &descent.early_stopping.best().parameters[..trunk]);
        let frozen = self.frozen.iter().map(|(_, trunk)| &trunk[..]);
        let fitted = ensemble(learner, &own.chain(frozen).collect::<Vec<_>>());
        self.parameters = fitted.map(|(parameters, _)| parameters);
        Ok(())
    }

    /// Each network of the ensemble counts for the one who trained it; one that started from another's
    /// trunk half for each.
    fn parts(&self) -> Vec<(usize, f32)> {
        let mut parts = vec![(self.participant, 1.0)];
        let mut add = |who: usize, part: f32| match parts.iter_mut().find(|(at, _)| *at == who) {
            Some((_, sum)) => *sum += part,
            None => parts.push((who, part)),
        };
        for started in self.started.iter().filter(|started| !started.diverged) {
            add(self.participant, 0.5);
            add(started.from.unwrap_or(self.participant), 0.5);
        }
        self.frozen.iter().for_each(|(from, _)| add(*from, 1.0));
        let total: f32 = parts.iter().map(|(_, part)| part).sum();
        parts.iter_mut().for_each(|(_, part)| *part /= total);
        parts
    }
}

impl Started {
    fn round(
        &mut self,
        federation: &Federation<'_>,
        steps: usize,
        in_the_end: bool,
    ) -> Result<(), FederateError> {
        if self.diverged {
            return Ok(());
        }
        let mut train = || {
            (0..steps).try_for_each(|_| self.descent.step(federation, |_, _| ()))?;
            self.descent.validate(federation, in_the_end)
        };
        match train() {
            Err(FederateError::Participant { error: LearnError::Diverged, .. })
                if self.from.is_some() =>
            {
                self.diverged = true;
                Ok(())
            }
            other => other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_budget_says_how_many_networks_are_trained() {
        for (evaluations, networks) in
            [(1, 2), (500, 2), (4499, 2), (4500, 3), (6000, 4), (7500, 5), (1_000_000, 5)]
        {
            assert_eq!(networks_for(evaluations) + 1, networks, "{evaluations} gradients");
        }
    }
}
