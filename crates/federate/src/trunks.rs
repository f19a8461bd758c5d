//! Trunks: the networks of participants without their last layers, which others may use.
//!
//! A participant trains a network alone and commits its trunk before it receives anything, so that the
//! trunk carries nobody else's data whatever the participant learns later.

use fedcompetitors_learn::{Activations, NativeLearner};

use crate::{FederateError, Site};

/// The learner of a participant whose model has hidden layers.
///
/// # Errors
/// If it has none.
pub fn network<'a>(site: &Site<'a>) -> Result<&'a NativeLearner, FederateError> {
    let participant = || site.name().to_owned();
    let found = site.learner().network();
    found.ok_or_else(|| FederateError::NoHiddenLayers { participant: participant() })
}

/// The validation loss of a head on another's trunk alone; `None` if that is not finite.
pub fn tried(learner: &NativeLearner, trunk: &[f32]) -> Option<f64> {
    let activations = learner.activations(trunk);
    if !activations.are_finite() {
        return None;
    }
    let loss = learner.head(&[&activations]).loss;
    loss.is_finite().then_some(loss)
}

/// The parameters of the ensemble of networks with these trunks, and its validation loss; `None` if that is
/// not finite.
pub fn ensemble(learner: &NativeLearner, trunks: &[&[f32]]) -> Option<(Vec<f32>, f64)> {
    let activations: Vec<Activations> =
        trunks.iter().map(|trunk| learner.activations(trunk)).collect();
    let head = learner.head(&activations.iter().collect::<Vec<_>>());
    head.loss.is_finite().then(|| (learner.ensemble(trunks, &head), head.loss))
}
