//! The networks that a participant trains alone, and what it makes of them.

use fedcompetitors_learn::{LearnError, Learner, NativeLearner};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::Given;
use crate::{
    FederateError, Site,
    train::{Descent, Effort, each},
    trunks::{ensemble, network, tried},
};

/// A network of a participant.
#[derive(Serialize, Deserialize)]
pub struct Network {
    pub descent: Descent,
    /// The piece from which it was started, by its place among those that were given.
    from: Option<usize>,
    /// Whether its training diverged: what a friend sends may be garbage, and is then not used.
    diverged: bool,
}

impl Network {
    pub fn new(descent: Descent) -> Self {
        Self { descent, from: None, diverged: false }
    }
}

/// The networks of a participant, in the order in which they were begun.
#[derive(Serialize, Deserialize)]
pub struct Networks {
    all: Vec<Network>,
    /// The number of those that are trained no more, from the first on.
    resting: usize,
    /// Trunks that are used as they are, with their places among the pieces that were given.
    frozen: Vec<(usize, Vec<f32>)>,
    /// The number of pieces that were given with them.
    given: usize,
}

impl Networks {
    /// The one network of a participant that trains a model of one shape with others.
    pub fn one(site: &Site<'_>, effort: Effort) -> Self {
        let all = vec![Network::new(Descent::new(site, effort))];
        Self { all, resting: 0, frozen: Vec::new(), given: 0 }
    }

    /// The network that is shared.
    pub fn first(&self) -> &Descent {
        &self.all[0].descent
    }

    /// The same, to train it.
    pub fn first_mut(&mut self) -> &mut Descent {
        &mut self.all[0].descent
    }

    /// The last network that was begun.
    pub fn last(&self) -> &Descent {
        &self.all[self.all.len() - 1].descent
    }

    /// Begins a network with each of these decays instead of those that there are.
    pub fn try_decays(&mut self, site: &Site<'_>, effort: Effort, decays: &[f32]) {
        let begun = |&decay: &f32| Network::new(Descent::new(site, effort).with_decay(decay));
        self.all = decays.iter().map(begun).collect();
    }

    /// Begins networks from those trunks that suit the own data best, or from random starts; those that there
    /// are rest, unless none has been trained yet.
    pub fn start(
        &mut self,
        site: &Site<'_>,
        effort: Effort,
        (networks, frozen): (usize, usize),
        given: &[Given],
    ) -> Result<(), FederateError> {
        if self.first().is_untrained() {
            self.all.clear();
        }
        self.resting = self.all.len();
        let learner = network(site)?;
        let loss = |(at, piece): (usize, &Given)| Some((tried(learner, &piece.values)?, at));
        let mut suitable: Vec<(f64, usize)> =
            given.par_iter().enumerate().filter_map(loss).collect();
        suitable.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        for at in 0..networks {
            let purpose = format!("network {}", self.all.len() + 1);
            let mut start = learner.initial(&mut site.stream(&purpose));
            let from = suitable.get(at).map(|&(_, from)| from);
            if let Some(from) = from {
                let trunk = &given[from].values;
                start[..trunk.len()].copy_from_slice(trunk);
            }
            let descent = Descent::started(site, effort, start, &purpose);
            self.all.push(Network { descent, from, diverged: false });
        }
        let kept = suitable.iter().take(frozen);
        self.frozen = kept.map(|&(_, from)| (from, given[from].values.to_vec())).collect();
        self.given = given.len();
        Ok(())
    }

    /// Trains all networks that do not rest, and validates them now and then.
    pub fn train(
        &mut self,
        site: &Site<'_>,
        (steps, validates_often): (usize, bool),
        carried: &[u64],
    ) -> Result<(), FederateError> {
        each(&mut self.all[self.resting..], |one| {
            let train = |one: &mut Network| {
                for step in 1..=steps {
                    one.descent.step(site, |_, _| ())?;
                    if validates_often || step == steps {
                        one.descent.validate(site, carried, false)?;
                    }
                }
                Ok(())
            };
            one.guarded(train)
        })
    }

    /// Validates all networks once more that have made steps since.
    pub fn validate(&mut self, site: &Site<'_>, carried: &[u64]) -> Result<(), FederateError> {
        each(&mut self.all[self.resting..], |one| {
            one.guarded(|one| one.descent.validate(site, carried, true))
        })
    }

    /// The place of the network with the lowest validation loss so far; of several the first.
    fn lowest(&self) -> usize {
        let least = |at: &usize| self.all[*at].descent.early_stopping.least();
        (0..self.all.len()).min_by(|a, b| least(a).total_cmp(&least(b))).unwrap_or(0)
    }

    /// The network with the lowest validation loss so far, of those that are tried; otherwise the first.
    pub fn best(&self) -> &Descent {
        let are_tried = self.resting == 0;
        &self.all[if are_tried { self.lowest() } else { 0 }].descent
    }

    /// Keeps the network with the lowest validation loss alone.
    pub fn choose(&mut self) {
        let best = self.lowest();
        self.all.swap(0, best);
        self.all.truncate(1);
    }

    /// The best network with a last layer that is fitted to its last hidden layers, if its validation loss is
    /// lower with that.
    pub fn refitted(&self, learner: &NativeLearner) -> Option<Vec<f32>> {
        let kept = &self.best().early_stopping;
        let trunk = &kept.best().parameters[..learner.model().trunk()];
        let fitted = ensemble(learner, &[trunk]);
        fitted.filter(|(_, loss)| *loss < kept.loss()).map(|fitted| fitted.0)
    }

    /// One head on the hidden layers of all networks and of the trunks that are used as they are.
    pub fn together(&self, learner: &NativeLearner) -> Option<Vec<f32>> {
        let trunk = learner.model().trunk();
        let own = self.all.iter().filter(|one| !one.diverged);
        let own = own.map(|one| &one.descent.early_stopping.best().parameters[..trunk]);
        let frozen = self.frozen.iter().map(|(_, trunk)| &trunk[..]);
        ensemble(learner, &own.chain(frozen).collect::<Vec<_>>()).map(|(parameters, _)| parameters)
    }

    /// The weight of what is its own, then of each piece that was given. Each network counts for the one who trained
    /// it; one that started from another's trunk half for each.
    pub fn uses(&self) -> Vec<f64> {
        let mut uses = vec![0.0; 1 + self.given];
        for one in self.all.iter().filter(|one| !one.diverged) {
            uses[0] += 0.5;
            uses[one.from.map_or(0, |from| 1 + from)] += 0.5;
        }
        self.frozen.iter().for_each(|(from, _)| uses[1 + *from] += 1.0);
        uses
    }
}

impl Network {
    /// Works on a network; one that was started from another's trunk and diverges is left out from then on.
    fn guarded(
        &mut self,
        work: impl FnOnce(&mut Self) -> Result<(), FederateError>,
    ) -> Result<(), FederateError> {
        if self.diverged {
            return Ok(());
        }
        match work(self) {
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
