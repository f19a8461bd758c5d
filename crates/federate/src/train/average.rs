//! Models that are averaged inside groups: `FedAvg`, `FedProx` and SCAFFOLD.
//!
//! The groups are the strongly connected components of the usage graph; whoever is alone
//! in its group trains alone, so on a graph without edges this is Local.

use fedcompetitors_graphs::{Reachability, UsageGraph};
use fedcompetitors_learn::kernels;
use rayon::prelude::*;

use super::{
    Effort, LOOK, Trainer, by_samples,
    local::{Local, each},
};
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
        let groups = groups(usage);
        let trained: Vec<_> =
            groups.par_iter().map(|group| self.train_group(federation, group, effort)).collect();
        for group in trained {
            for (participant, model) in group? {
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

/// A member of a group.
struct Member {
    local: Local,
    /// Its part in the mean.
    weight: f32,
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
        let mut members: Vec<Member> = group
            .iter()
            .zip(by_samples(federation, group))
            .map(|(&participant, weight)| Member {
                local: Local::new(federation, participant, effort),
                weight,
                gradients: vec![0.0; shared],
                control: vec![0.0; shared],
            })
            .collect();
        let alone = group.len() == 1;
        let local_steps = if alone { LOOK } else { self.local_steps.max(1) };
        let mut common = federation.initial(group[0])[..shared].to_vec();
        let mut common_control = vec![0.0; shared];
        let (mut done, mut looked) = (0, 0);
        while done < effort.evaluations {
            let steps = local_steps.min(effort.evaluations - done);
            each(&mut members, |member| {
                self.round(federation, member, &common, &common_control, steps)
            })?;
            done += steps;
            if !alone {
                common.fill(0.0);
                for Member { local, weight, .. } in &members {
                    kernels::add_scaled(&mut common, *weight, &local.parameters[..shared]);
                }
                for member in &mut members {
                    member.local.parameters[..shared].copy_from_slice(&common);
                }
                if self.correction == Correction::ControlVariates {
                    update_controls(&mut members, &mut common_control, steps);
                }
            }
            if done >= looked + LOOK || done >= effort.evaluations {
                looked = done;
                each(&mut members, |member| member.local.look(federation))?;
            }
        }
        let kept = |member: Member| (member.local.participant, member.local.keeper.kept());
        Ok(members.into_iter().map(kept).collect())
    }

    /// Local steps from the common model.
    fn round(
        &self,
        federation: &Federation<'_>,
        member: &mut Member,
        common: &[f32],
        common_control: &[f32],
        steps: usize,
    ) -> Result<(), FederateError> {
        let shared = common.len();
        let Member { local, gradients, control, .. } = member;
        gradients.fill(0.0);
        for _ in 0..steps {
            local.step(federation, |gradient, parameters| {
                let gradient = &mut gradient[..shared];
                match self.correction {
                    Correction::None => {}
                    Correction::Proximal { pull } => {
                        kernels::add_scaled(gradient, pull, &parameters[..shared]);
                        kernels::add_scaled(gradient, -pull, common);
                    }
                    Correction::ControlVariates => {
                        kernels::add_scaled(gradients, 1.0, gradient);
                        kernels::add_scaled(gradient, 1.0, common_control);
                        kernels::add_scaled(gradient, -1.0, control);
                    }
                }
            })?;
        }
        Ok(())
    }
}

/// Each control variate becomes the mean of its participant's gradients along the round;
/// the common one is their mean, weighted as the models are. (For plain gradient descent
/// this is the second of the two updates in the literature, `cᵢ − c + (x − yᵢ) / (K η)`.)
fn update_controls(members: &mut [Member], common_control: &mut [f32], steps: usize) {
    common_control.fill(0.0);
    for member in members {
        member.control.copy_from_slice(&member.gradients);
        kernels::scale(&mut member.control, 1.0 / steps as f32);
        kernels::add_scaled(common_control, member.weight, &member.control);
    }
}
