//! What the coordinator knows of the participants before it asks them anything.

use fedcompetitors_graphs::CompetingGraph;
use fedcompetitors_learn::Part;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::Federation;

/// Who competes with whom, what everybody starts from, and what participants have said of their data and models.
#[derive(Debug, Clone)]
pub struct Known<'a> {
    /// Who competes with whom.
    pub competing: &'a CompetingGraph,
    /// The shared parameters that everybody starts from; they carry nobody's data.
    pub start: Vec<f32>,
    /// Of each participant what it says of itself.
    pub members: Vec<Member>,
}

/// What a participant says of its data and its model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Member {
    /// Its rows for training.
    pub training: usize,
    /// Its rows for validation.
    pub validation: usize,
    /// The number of coefficients of its model; none unless that is linear.
    pub coefficients: Option<usize>,
    /// The number of parameters of its hidden layers; none if it has no such layers, or if they cannot be shared.
    pub trunk: Option<usize>,
}

impl<'a> Known<'a> {
    /// What all participants of a federation in this process say. Linear models are fitted for that.
    pub fn of(federation: &Federation<'a>) -> Self {
        let member = |who: usize| {
            let learner = federation.learner(who);
            Member {
                training: learner.samples(Part::Training),
                validation: learner.samples(Part::Validation),
                coefficients: learner.linear().map(|own| own.rows().coefficients()),
                trunk: learner.network().map(|network| network.model().trunk()),
            }
        };
        let everybody = 0..federation.len();
        let mut start =
            if federation.is_empty() { Vec::new() } else { federation.site(0).initial() };
        start.truncate(federation.shared());
        let members = everybody.into_par_iter().map(member).collect();
        Self { competing: federation.competing(), start, members }
    }

    /// The number of participants.
    pub fn len(&self) -> usize {
        self.members.len()
    }

    /// Whether there are no participants.
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// Whether all models are linear.
    pub fn are_linear(&self) -> bool {
        self.members.iter().all(|member| member.coefficients.is_some())
    }

    /// The number of coefficients of a linear model; 0 if models are not linear.
    pub fn coefficients(&self) -> usize {
        self.members.first().and_then(|member| member.coefficients).unwrap_or(0)
    }

    /// The number of parameters of the hidden layers of a model; 0 if it has none.
    pub fn trunk(&self) -> usize {
        self.members.first().and_then(|member| member.trunk).unwrap_or(0)
    }

    /// A participant and those that do not compete with it: itself first, the others in order.
    pub fn candidates(&self, to: usize) -> Vec<usize> {
        let others =
            (0..self.len()).filter(|&from| from != to && !self.competing.competes(from, to));
        [to].into_iter().chain(others).collect()
    }

    /// Weights in proportion to the numbers of training samples; they sum to 1.
    pub fn weights_by_samples(&self, of: &[usize]) -> Vec<f64> {
        shares(of.iter().map(|&who| self.members[who].training))
    }
}

/// Counts as fractions of their sum.
pub(crate) fn shares(counts: impl Iterator<Item = usize> + Clone) -> Vec<f64> {
    let total: f64 = counts.clone().map(|count| count as f64).sum();
    counts.map(|count| count as f64 / total).collect()
}

impl Member {
    /// The rows that an exact fit uses: those for training and validation.
    pub fn rows(&self) -> usize {
        self.training + self.validation
    }
}
