//! Everybody trains a model of its own; the coordinator mixes into it the models of its
//! collaborators. Information flows along usage edges and nowhere else.

use fedcompetitors_graphs::{BenefitGraph, UsageGraph, bits::ones};
use fedcompetitors_learn::{Part, kernels};

use super::{
    Effort, LOOK, Trainer, is_clearly_less,
    local::{Local, each},
    trial_steps,
};
use crate::{FederateError, Federation};

/// How much of each collaborator goes into a mixture.
#[derive(Debug, Clone, Copy)]
pub enum Weights<'a> {
    /// As much as it has training samples.
    Samples,
    /// As much as it helps: benefits are parts of a mixture in which the participant itself
    /// has the rest.
    Benefit(&'a BenefitGraph),
}

/// What goes into a mixture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mixed {
    /// Models: everybody moves to the mixture of them.
    Models,
    /// What the last local steps have changed: everybody keeps where it stood and adds the
    /// mixture of changes.
    Updates,
}

/// Training with mixing.
#[derive(Debug, Clone, Copy)]
pub struct Mixing<'a> {
    /// Steps between two mixtures.
    pub local_steps: usize,
    /// What is mixed.
    pub mixed: Mixed,
    /// How much of each.
    pub weights: Weights<'a>,
    /// The participant's own part in its mixtures, where it is not to follow from the weights.
    pub own_part: Option<f64>,
    /// How far to go towards the mixture: 1 is all the way.
    pub server_rate: f32,
    /// Also mix the gradients of the last round, and let local steps follow the mixture's
    /// instead of their own: against drift, along the same edges.
    pub against_drift: bool,
    /// Hundredths of the budget for which everybody first trains alone, to see later whether
    /// mixtures do it good: whoever was clearly better off without them goes on from there.
    pub trial_percent: usize,
}

impl Default for Mixing<'_> {
    fn default() -> Self {
        Self {
            local_steps: 10,
            mixed: Mixed::Models,
            weights: Weights::Samples,
            own_part: None,
            server_rate: 1.0,
            against_drift: true,
            trial_percent: 3,
        }
    }
}

impl Mixing<'_> {
    /// For a participant itself and its collaborators: who, and which part.
    fn parts(
        &self,
        federation: &Federation<'_>,
        usage: &UsageGraph,
        to: usize,
    ) -> Vec<(usize, f32)> {
        let collaborators: Vec<usize> = ones(usage.collaborators(to)).collect();
        let mut parts: Vec<(usize, f64)> = match self.weights {
            Weights::Samples => {
                let samples = |a: usize| federation.learner(a).samples(Part::Training) as f64;
                [to].iter().chain(&collaborators).map(|&a| (a, samples(a))).collect()
            }
            Weights::Benefit(benefit) => {
                let others = collaborators.iter().map(|&from| (from, benefit.benefit(from, to)));
                let own = (1.0 - others.clone().map(|other| other.1).sum::<f64>()).max(1e-3);
                [(to, own)].into_iter().chain(others).collect()
            }
        };
        if let Some(own) = self.own_part {
            let others: f64 = parts[1..].iter().map(|part| part.1).sum();
            // Whoever has no collaborators is its own mixture.
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

/// What a participant has while it trains.
struct Mixer {
    local: Local,
    /// What it has trained alone.
    trial: Option<Local>,
    /// Itself and its collaborators: who, and which part.
    parts: Vec<(usize, f32)>,
    /// The shared parameters at the beginning of the round.
    start: Vec<f32>,
    /// The mean of its gradients in the last round, and what is added to those of this one
    /// to make them more like the mixture's.
    last: Vec<f32>,
    added: Vec<f32>,
}

impl Mixer {
    fn round(&mut self, federation: &Federation<'_>, steps: usize) -> Result<(), FederateError> {
        let Self { local, start, last, added, .. } = self;
        let shared = start.len();
        start.copy_from_slice(&local.parameters[..shared]);
        last.fill(0.0);
        for _ in 0..steps {
            local.step(federation, |gradient, _| {
                kernels::add_scaled(last, 1.0 / steps as f32, &gradient[..shared]);
                kernels::add_scaled(&mut gradient[..shared], 1.0, added);
            })?;
        }
        Ok(())
    }

    /// What others get of its last round.
    fn gives(&self, mixed: Mixed) -> Vec<f32> {
        let mut given = self.local.parameters[..self.start.len()].to_vec();
        if mixed == Mixed::Updates {
            kernels::add_scaled(&mut given, -1.0, &self.start);
        }
        given
    }

    /// The weighted sum of what its parts have.
    fn mix(&self, of: &[Vec<f32>]) -> Vec<f32> {
        let mut mixture = vec![0.0; self.start.len()];
        for &(from, part) in &self.parts {
            kernels::add_scaled(&mut mixture, part, &of[from]);
        }
        mixture
    }

    /// Is there nobody it learns from?
    fn is_alone(&self) -> bool {
        self.parts.len() == 1
    }

    /// Goes to where a mixture says.
    fn take(&mut self, mixing: &Mixing<'_>, given: &[Vec<f32>]) {
        if self.is_alone() {
            return;
        }
        let mixture = self.mix(given);
        let own = &mut self.local.parameters[..self.start.len()];
        own.copy_from_slice(&self.start);
        if mixing.mixed == Mixed::Models {
            kernels::scale(own, 1.0 - mixing.server_rate);
        }
        kernels::add_scaled(own, mixing.server_rate, &mixture);
    }

    /// Lets local steps follow the mixture of everybody's last gradients.
    fn follow(&mut self, last: &[Vec<f32>]) {
        self.added = self.mix(last);
        kernels::add_scaled(&mut self.added, -1.0, &self.last);
    }

    /// Has it been better off alone, after as many steps? Then it goes on with that model,
    /// and without mixtures.
    fn decide(&mut self) {
        let loss = self.local.keeper.loss();
        let better = |alone: &mut Local| is_clearly_less(alone.keeper.loss(), loss);
        if let Some(alone) = self.trial.take_if(better) {
            self.trial = Some(std::mem::replace(&mut self.local, alone));
            self.parts = vec![(self.local.participant, 1.0)];
            self.added.fill(0.0);
        }
    }

    /// What its validation data liked best, of mixtures and of what it has trained alone.
    fn best(self) -> Vec<f32> {
        match self.trial {
            Some(alone) if alone.keeper.loss() < self.local.keeper.loss() => alone.keeper.kept(),
            _ => self.local.keeper.kept(),
        }
    }
}

impl Trainer for Mixing<'_> {
    fn name(&self) -> &'static str {
        "mixing"
    }

    fn train(
        &self,
        federation: &Federation<'_>,
        usage: &UsageGraph,
        effort: Effort,
    ) -> Result<Vec<Vec<f32>>, FederateError> {
        let shared = federation.shared();
        let trial = trial_steps(self.trial_percent, effort.evaluations);
        let mut mixers: Vec<Mixer> = (0..federation.len())
            .map(|participant| Mixer {
                local: Local::new(federation, participant, effort),
                trial: None,
                parts: self.parts(federation, usage, participant),
                start: vec![0.0; shared],
                last: vec![0.0; shared],
                added: vec![0.0; shared],
            })
            .collect();
        each(&mut mixers, |mixer| {
            if trial > 0 && !mixer.is_alone() {
                let mut alone = Local::new(federation, mixer.local.participant, effort);
                alone.train_alone(federation, trial)?;
                mixer.trial = Some(alone);
            }
            Ok(())
        })?;
        let together = effort.evaluations - trial;
        let (mut done, mut looked) = (0, 0);
        while done < together {
            // The round that ends the trial is as long as the trial says.
            let until = if done < trial { trial } else { together };
            let steps = self.local_steps.max(1).min(until - done);
            each(&mut mixers, |mixer| mixer.round(federation, steps))?;
            done += steps;
            let given: Vec<_> = mixers.iter().map(|mixer| mixer.gives(self.mixed)).collect();
            mixers.iter_mut().for_each(|mixer| mixer.take(self, &given));
            if self.against_drift {
                let last: Vec<_> = mixers.iter().map(|mixer| mixer.last.clone()).collect();
                mixers.iter_mut().for_each(|mixer| mixer.follow(&last));
            }
            if done >= looked + LOOK || done == trial || done == together {
                looked = done;
                each(&mut mixers, |mixer| mixer.local.look(federation))?;
            }
            if done == trial {
                mixers.iter_mut().for_each(Mixer::decide);
            }
        }
        // Whoever had nobody to learn from, and so no trial, has that much left.
        each(&mut mixers, |mixer| match mixer.trial {
            Some(_) => Ok(()),
            None => mixer.local.train_alone(federation, trial),
        })?;
        Ok(mixers.into_iter().map(Mixer::best).collect())
    }
}
