//! Models that are averaged inside groups: `FedAvg`, `FedProx` and SCAFFOLD.
//!
//! The groups are the strongly connected components of the usage graph; whoever is alone
//! in its group trains alone, so on a graph without edges this is Local.

use fedcompetitors_graphs::{Reachability, UsageGraph};
use fedcompetitors_learn::{Optimizer, Part, Rule, kernels};

use super::{Effort, Keeper, LOOK, Trainer};
use crate::{FederateError, Federation};

/// What keeps local steps from drifting apart.
#[derive(Debug, Clone, Copy, PartialEq)]
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
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Averaging {
    /// Steps between two averages.
    pub local_steps: usize,
    /// What is done against drift.
    pub correction: Correction,
}

impl Trainer for Averaging {
    fn name(&self) -> &'static str {
        match self.correction {
            Correction::None => "averaging",
            Correction::Proximal { .. } => "proximal",
            Correction::ControlVariates => "scaffold",
        }
    }

    fn train(
        &self,
        federation: &Federation<'_>,
        usage: &UsageGraph,
        effort: Effort,
    ) -> Result<Vec<Vec<f32>>, FederateError> {
        let mut models: Vec<Vec<f32>> = vec![Vec::new(); federation.len()];
        for group in groups(usage) {
            for (participant, model) in self.train_group(federation, &group, effort)? {
                models[participant] = model;
            }
        }
        Ok(models)
    }
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

/// What a participant has while it trains.
struct Local {
    participant: usize,
    /// Its part in the mean.
    weight: f32,
    parameters: Vec<f32>,
    optimizer: Optimizer,
    keeper: Keeper,
    /// The sum of this round's gradients, and its control variate.
    gradients: Vec<f32>,
    control: Vec<f32>,
}

impl Averaging {
    fn train_group(
        &self,
        federation: &Federation<'_>,
        group: &[usize],
        effort: Effort,
    ) -> Result<Vec<(usize, Vec<f32>)>, FederateError> {
        let shared = federation.shared();
        let samples = |&a: &usize| federation.learner(a).samples(Part::Training) as f32;
        let total: f32 = group.iter().map(samples).sum();
        let (rule, decay) = without_decay(effort.rule);
        let mut locals: Vec<Local> = group
            .iter()
            .map(|&participant| {
                let parameters = federation.initial(participant);
                Local {
                    participant,
                    weight: samples(&participant) / total,
                    optimizer: Optimizer::new(rule, parameters.len()),
                    keeper: Keeper::new(participant),
                    gradients: vec![0.0; shared],
                    control: vec![0.0; shared],
                    parameters,
                }
            })
            .collect();
        let alone = group.len() == 1;
        let local_steps = if alone { LOOK } else { self.local_steps.max(1) };
        let mut common = federation.initial(group[0])[..shared].to_vec();
        let mut common_control = vec![0.0; shared];
        let (mut done, mut looked) = (0, 0);
        while done < effort.evaluations {
            let steps = local_steps.min(effort.evaluations - done);
            for local in &mut locals {
                self.round(federation, local, &common, &common_control, steps, decay)?;
            }
            done += steps;
            if !alone {
                common.fill(0.0);
                for local in &locals {
                    kernels::add_scaled(&mut common, local.weight, &local.parameters[..shared]);
                }
                for local in &mut locals {
                    local.parameters[..shared].copy_from_slice(&common);
                }
                if self.correction == Correction::ControlVariates {
                    update_controls(&mut locals, &mut common_control, steps);
                }
            }
            if done >= looked + LOOK || done >= effort.evaluations {
                looked = done;
                for local in &mut locals {
                    local.keeper.offer(federation, &local.parameters)?;
                }
            }
        }
        Ok(locals.into_iter().map(|local| (local.participant, local.keeper.best())).collect())
    }

    /// Local steps from the common model.
    fn round(
        &self,
        federation: &Federation<'_>,
        local: &mut Local,
        common: &[f32],
        common_control: &[f32],
        steps: usize,
        decay: f32,
    ) -> Result<(), FederateError> {
        let shared = common.len();
        local.gradients.fill(0.0);
        let mut gradient = vec![0.0; local.parameters.len()];
        for _ in 0..steps {
            let parameters = &local.parameters;
            federation.gradient(local.participant, Part::Training, parameters, &mut gradient)?;
            kernels::add_scaled(&mut gradient, decay, parameters);
            match self.correction {
                Correction::None => {}
                Correction::Proximal { pull } => {
                    kernels::add_scaled(&mut gradient[..shared], pull, &parameters[..shared]);
                    kernels::add_scaled(&mut gradient[..shared], -pull, common);
                }
                Correction::ControlVariates => {
                    kernels::add_scaled(&mut local.gradients, 1.0, &gradient[..shared]);
                    kernels::add_scaled(&mut gradient[..shared], 1.0, common_control);
                    kernels::add_scaled(&mut gradient[..shared], -1.0, &local.control);
                }
            }
            local.optimizer.step(&mut local.parameters, &gradient, 1.0);
        }
        Ok(())
    }
}

/// Each control variate becomes the mean of its participant's gradients along the round;
/// the common one is their mean, weighted as the models are. (For plain gradient descent
/// this is the second of the two updates in the literature, `cᵢ − c + (x − yᵢ) / (K η)`.)
fn update_controls(locals: &mut [Local], common_control: &mut [f32], steps: usize) {
    common_control.fill(0.0);
    for local in locals {
        local.control.copy_from_slice(&local.gradients);
        kernels::scale(&mut local.control, 1.0 / steps as f32);
        kernels::add_scaled(common_control, local.weight, &local.control);
    }
}

/// The rule and, apart from it, its decay.
pub(super) fn without_decay(rule: Rule) -> (Rule, f32) {
    match rule {
        Rule::Sgd { rate, momentum, decay } => (Rule::Sgd { rate, momentum, decay: 0.0 }, decay),
        Rule::Adam { rate, decay } => (Rule::Adam { rate, decay: 0.0 }, decay),
    }
}
