//! Everybody trains a model of its own; the coordinator mixes into it the models of its
//! collaborators. Information flows along usage edges and nowhere else.

use fedcompetitors_graphs::{BenefitGraph, UsageGraph, bits::ones};
use fedcompetitors_learn::{Optimizer, Part, kernels};

use super::{Effort, Keeper, LOOK, Trainer, average::without_decay};
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

/// Training with mixing.
#[derive(Debug, Clone, Copy)]
pub struct Mixing<'a> {
    /// Steps between two mixtures.
    pub local_steps: usize,
    /// What goes into them.
    pub weights: Weights<'a>,
    /// Also mix the gradients of the last round, and let local steps follow the mixture's
    /// instead of their own: against drift, along the same edges.
    pub against_drift: bool,
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
                let all = benefit.received(to, |_| true);
                let own = (1.0 - all).max(1e-3);
                let others = collaborators.iter().map(|&from| (from, benefit.benefit(from, to)));
                [(to, own)].into_iter().chain(others).collect()
            }
        };
        let sum: f64 = parts.iter().map(|part| part.1).sum();
        parts.iter_mut().for_each(|part| part.1 /= sum);
        parts.into_iter().map(|(who, part)| (who, part as f32)).collect()
    }
}

/// For everybody the weighted sum of what its parts have.
fn mix<'a>(parts: &[Vec<(usize, f32)>], of: impl Fn(usize) -> &'a [f32], mixed: &mut [Vec<f32>]) {
    for (mixture, parts) in mixed.iter_mut().zip(parts) {
        mixture.fill(0.0);
        for &(from, part) in parts {
            kernels::add_scaled(mixture, part, of(from));
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
        let (count, shared) = (federation.len(), federation.shared());
        let (rule, decay) = without_decay(effort.rule);
        let mut models: Vec<Vec<f32>> = (0..count).map(|a| federation.initial(a)).collect();
        let mut optimizers: Vec<Optimizer> =
            models.iter().map(|model| Optimizer::new(rule, model.len())).collect();
        let mut keepers: Vec<Keeper> = (0..count).map(Keeper::new).collect();
        let parts: Vec<Vec<(usize, f32)>> =
            (0..count).map(|to| self.parts(federation, usage, to)).collect();
        let mut mixed: Vec<Vec<f32>> = vec![vec![0.0; shared]; count];
        // What each participant's gradients were in the last round, and what is added to
        // those of this round to make them more like the mixture's.
        let mut last: Vec<Vec<f32>> = vec![vec![0.0; shared]; count];
        let mut added: Vec<Vec<f32>> = vec![vec![0.0; shared]; count];
        let (mut done, mut looked) = (0, 0);
        while done < effort.evaluations {
            let steps = self.local_steps.max(1).min(effort.evaluations - done);
            for (a, (model, optimizer)) in models.iter_mut().zip(&mut optimizers).enumerate() {
                let mut gradient = vec![0.0; model.len()];
                last[a].fill(0.0);
                for _ in 0..steps {
                    federation.gradient(a, Part::Training, model, &mut gradient)?;
                    kernels::add_scaled(&mut gradient, decay, model);
                    kernels::add_scaled(&mut last[a], 1.0 / steps as f32, &gradient[..shared]);
                    kernels::add_scaled(&mut gradient[..shared], 1.0, &added[a]);
                    optimizer.step(model, &gradient, 1.0);
                }
            }
            done += steps;
            mix(&parts, |from| &models[from][..shared], &mut mixed);
            if self.against_drift {
                mix(&parts, |from| &last[from], &mut added);
                for (added, own) in added.iter_mut().zip(&last) {
                    kernels::add_scaled(added, -1.0, own);
                }
            }
            for (model, mixture) in models.iter_mut().zip(&mixed) {
                model[..shared].copy_from_slice(mixture);
            }
            if done >= looked + LOOK || done >= effort.evaluations {
                looked = done;
                for (keeper, model) in keepers.iter_mut().zip(&models) {
                    keeper.offer(federation, model)?;
                }
            }
        }
        Ok(keepers.into_iter().map(Keeper::best).collect())
    }
}
