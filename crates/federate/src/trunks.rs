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

/// What another's trunk says of a participant's rows, with the validation loss of a head on that alone;
/// `None` if it says nothing finite.
pub fn tried(learner: &NativeLearner, trunk: &[f32]) -> Option<(Activations, f64)> {
    let activations = learner.activations(trunk);
    if !activations.are_finite() {
        return None;
    }
    let loss = learner.head(&[&activations]).loss;
    loss.is_finite().then_some((activations, loss))
}

/// The parameters of the ensemble of networks with these trunks, and its validation loss; `None` if that is
/// not finite.
pub fn ensemble(learner: &NativeLearner, trunks: &[&[f32]]) -> Option<(Vec<f32>, f64)> {
    let activations: Vec<Activations> =
        trunks.iter().map(|trunk| learner.activations(trunk)).collect();
    let head = learner.head(&activations.iter().collect::<Vec<_>>());
    head.loss.is_finite().then(|| (learner.ensemble(trunks, &head), head.loss))
}
