//! Trunks: the networks of participants without their last layers, which others may use.
//!
//! A participant trains a network alone and commits its trunk before it receives anything, so that the
//! trunk carries nobody else's data whatever the participant learns later.

use fedcompetitors_learn::{Activations, NativeLearner};
use fedcompetitors_record::Content;

use crate::{
    FederateError, Federation,
    exchange::{Exchange, Message, Submission},
};

/// The learner of a participant whose model has hidden layers.
///
/// # Errors
/// If it has none.
pub fn network<'a>(
    federation: &Federation<'a>,
    participant: usize,
) -> Result<&'a NativeLearner, FederateError> {
    federation.learner(participant).network().ok_or_else(|| FederateError::NoHiddenLayers {
        participant: federation.participants().name(participant).to_owned(),
    })
}

/// All participants that are present send the trunks of networks that they have trained alone; none for
/// those that have nothing to send.
///
/// # Errors
/// If a model has no hidden layers.
pub fn commit(
    federation: &Federation<'_>,
    exchange: &mut Exchange<'_>,
    networks: &[&[f32]],
) -> Result<Vec<Option<Message>>, FederateError> {
    let length = network(federation, 0)?.model().trunk();
    let submissions = networks.iter().enumerate().map(|(from, parameters)| {
        let trunk = network(federation, from)?.model().trunk();
        let submission = Submission {
            values: parameters[..trunk].to_vec(),
            before: Vec::new(),
            carried: federation.site(from).own(),
        };
        Ok(exchange.is_there(from).then_some(submission))
    });
    let submissions = submissions.collect::<Result<Vec<_>, FederateError>>()?;
    Ok(exchange.collect(Content::Trunk, length, submissions))
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
