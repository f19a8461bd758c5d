//! The trainer `trunks`: networks that start from friends' trunks, under one head.
//!
//! Everybody trains a network alone and commits its trunk, which carries its own data alone. Who may learn
//! from it receives the trunk once, trains networks of its own that start from the trunks that suit it best,
//! and fits one head to the hidden layers of its networks and of the friends' trunks as they are.
//!
//! The gradient budget is shared equally by the networks: the first, which is trained alone, and those that
//! are started afterwards.

use std::cmp::Ordering;

use fedcompetitors_graphs::{BenefitGraph, CompetingGraph, UsageGraph, bits::ones};
use fedcompetitors_record::Content;
use serde::{Deserialize, Serialize};

use super::{ByMessages, Effort, Needs, Trainer, TrainerKind, pace::Pace};
use crate::{
    FederateError, Known,
    kinds::{BadSettings, Models, Settings, in_range, settings},
    protocol::{
        Ask, Combiner, Coordinate, Coordinator, Finish, First, Heard, Labelled, Question, Train,
    },
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

    // Several networks are better than one, whoever they start from.
    fn has_control(&self) -> bool {
        true
    }

    fn models(&self) -> Models {
        Models::Hidden
    }

    fn needs(&self) -> Needs<'_> {
        Needs::Messages(self)
    }
}

impl ByMessages for Trunks {
    fn coordinate(
        &self,
        known: &Known<'_>,
        usage: &UsageGraph,
        _: &BenefitGraph,
        effort: Effort,
    ) -> Box<dyn Coordinate> {
        let networks = self.networks.unwrap_or_else(|| networks_for(effort.evaluations));
        let first = effort.evaluations / (networks + 1);
        let others = (effort.evaluations - first) / networks;
        let friends = |of: usize| ones(usage.collaborators(of)).collect();
        let relay = Relay {
            networks,
            frozen: self.frozen,
            done: 0,
            first: Pace::new(effort.local_steps, first),
            others: Pace::new(effort.local_steps, others),
            friends: (0..known.len()).map(friends).collect(),
            committed: vec![None; known.len()],
            given: vec![Vec::new(); known.len()],
        };
        Box::new(Coordinator::new(known, relay))
    }

    fn resume(&self, saved: &[u8]) -> Result<Box<dyn Coordinate>, FederateError> {
        Coordinator::<Relay>::resume(saved)
    }
}

/// The coordinator's half: rounds in which first networks are trained, one in which trunks are delivered, and
/// rounds in which the other networks are trained.
#[derive(Serialize, Deserialize)]
struct Relay {
    /// Networks after the first.
    networks: usize,
    /// Friends' trunks that are also used as they are, at most.
    frozen: usize,
    done: usize,
    first: Pace,
    others: Pace,
    /// Those whose trunks each participant may use.
    friends: Vec<Vec<usize>>,
    /// The trunks that were accepted, until they are delivered.
    committed: Vec<Option<Labelled>>,
    /// Whose trunks each participant was given.
    given: Vec<Vec<usize>>,
}

impl Relay {
    /// Whose trunks a participant is given.
    fn givers(&self, to: usize) -> impl Iterator<Item = usize> {
        self.friends[to].iter().copied().filter(|&from| self.committed[from].is_some())
    }
}

impl Combiner for Relay {
    fn rounds(&self) -> usize {
        self.first.rounds() + 1 + self.others.rounds()
    }

    fn done(&self) -> usize {
        self.done
    }

    fn ask(&self, participant: usize) -> Question<'_> {
        let Self { networks, frozen, .. } = *self;
        let delivery = self.first.rounds();
        if self.done == self.rounds() {
            return Question { ask: Ask::Finish(Finish::Together), given: Vec::new() };
        }
        let (first, steps, mut sends) = match self.done {
            0 if delivery > 0 => {
                (First::Start { networks: 1, frozen: 0 }, self.first.next(), vec![])
            }
            done if done < delivery => (First::Continue, self.first.next(), vec![]),
            done if done == delivery => (First::Start { networks, frozen }, 0, vec![]),
            _ => (First::Continue, self.others.next(), vec![]),
        };
        let is_used = || self.friends.iter().any(|friends| friends.contains(&participant));
        if self.done + 1 == delivery && is_used() {
            sends.push(Content::Trunk);
        }
        let is_delivery = self.done == delivery;
        let given = self.givers(participant).filter(|_| is_delivery);
        let given = given.filter_map(|from| self.committed[from].as_ref()).collect();
        Question { ask: Ask::Train(Train::new(first, steps, sends)), given }
    }

    fn take(&mut self, _: &CompetingGraph, heard: Vec<Option<Heard>>) {
        let delivery = self.first.rounds();
        match self.done.cmp(&delivery) {
            Ordering::Less => {
                self.first.count(self.first.next());
            }
            Ordering::Equal => {
                self.committed.fill(None);
            }
            Ordering::Greater => {
                self.others.count(self.others.next());
            }
        }
        self.done += 1;
        if self.done == delivery {
            let trunk = |heard: Option<Heard>| {
                Some(Labelled::message(Content::Trunk, heard?.messages.first()?))
            };
            self.committed = heard.into_iter().map(trunk).collect();
        }
    }

    fn given(&mut self, participant: usize) {
        self.given[participant] = self.givers(participant).collect();
    }

    fn parts(&self, participant: usize, uses: &[f64]) -> Vec<(usize, f32)> {
        let members = [participant].into_iter().chain(self.given[participant].iter().copied());
        let parts = members.zip(uses.iter().copied()).filter(|(_, part)| *part > 0.0);
        let parts: Vec<(usize, f64)> = parts.collect();
        let total: f64 = parts.iter().map(|(_, part)| part).sum();
        parts.into_iter().map(|(from, part)| (from, (part / total) as f32)).collect()
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
