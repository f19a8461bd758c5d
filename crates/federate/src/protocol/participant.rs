//! The participant's half of trainings in rounds.

use fedcompetitors_learn::{Part, kernels, weighted_sum};
use fedcompetitors_record::Content;
use serde::{Deserialize, Serialize};

use super::{Adopt, Answer, Ask, Given, Request, Train};
use crate::{
    FederateError, Site,
    train::{Best, Descent, Effort},
};

/// A participant in training: its model and what it needs between two asks. It uses its own data, and of
/// others only what it is given.
#[derive(Serialize, Deserialize)]
pub struct Participant {
    descent: Descent,
    /// The shared parameters at the beginning of the round.
    start: Vec<f32>,
    /// The mean of its gradients in the last round, without what was added to them.
    mean: Vec<f32>,
    /// What is added to its gradients in this round: the mixed mean less its own.
    added: Vec<f32>,
    /// A gradient that it has sent and not followed yet.
    sent_gradient: Option<Vec<f32>>,
    has_learned: bool,
}

impl Participant {
    /// A participant before the first round.
    pub fn new(site: &Site<'_>, effort: Effort) -> Self {
        let (shared, descent) = (site.shared(), Descent::new(site, effort));
        Self {
            start: descent.parameters[..shared].to_vec(),
            descent,
            mean: vec![0.0; shared],
            added: vec![0.0; shared],
            sent_gradient: None,
            has_learned: false,
        }
    }

    /// Its best model so far, by its validation loss.
    pub fn best(&self) -> Best<'_> {
        self.descent.early_stopping.best()
    }

    /// Does what it is asked to do with what it is given.
    ///
    /// # Errors
    /// If training diverges.
    pub fn answer(&mut self, site: &Site<'_>, request: &Request) -> Result<Answer, FederateError> {
        let Request { id, ask, given } = request;
        let pieces = self.work(site, ask, given)?;
        Ok(Answer { id: *id, pieces, has_learned: self.has_learned })
    }

    fn work(
        &mut self,
        site: &Site<'_>,
        ask: &Ask,
        given: &[Given],
    ) -> Result<Vec<Vec<f32>>, FederateError> {
        for piece in given {
            self.check(site, piece)?;
            self.descent.receive(&piece.carried);
        }
        Ok(match ask {
            Ask::Train(train) => {
                self.adopt(site, train.adopt, given);
                self.descent.validate(site, false)?;
                self.train(site, train)?;
                train.sends.iter().map(|content| self.piece(*content)).collect()
            }
            Ask::Descend { validate, sends } => {
                self.follow(given);
                if *validate {
                    self.descent.validate(site, false)?;
                }
                self.descent.descend(site)?;
                self.sent_gradient = Some(self.descent.gradient.clone());
                let shared = &self.descent.gradient[..self.start.len()];
                if *sends { vec![shared.to_vec()] } else { Vec::new() }
            }
            Ask::Finish(adopt) => {
                self.adopt(site, *adopt, given);
                self.follow(given);
                self.descent.validate(site, true)?;
                Vec::new()
            }
        })
    }

    /// Whether something that is given has the size of what it says it is.
    fn check(&self, site: &Site<'_>, piece: &Given) -> Result<(), FederateError> {
        let fits = piece.values.len() == self.start.len()
            && piece.carried.len() == self.descent.carried.len();
        if fits {
            return Ok(());
        }
        let (participant, content) = (site.name().to_owned(), piece.content);
        Err(FederateError::Given { participant, content })
    }

    /// Moves to the given model, or by the given update, unless its validation loss is higher there. If it
    /// moves, its next gradients are corrected by the given mean of gradients.
    fn adopt(&mut self, site: &Site<'_>, adopt: Adopt, given: &[Given]) {
        self.added.fill(0.0);
        let is_target = |one: &&Given| matches!(one.content, Content::Model | Content::Update);
        let Some(target) = given.iter().find(is_target) else { return };
        let kept = if target.content == Content::Model { 1.0 - adopt.rate } else { 1.0 };
        let moved = weighted_sum(&[(&self.start[..], kept), (&target.values[..], adopt.rate)]);
        let mut there = self.descent.parameters.clone();
        there[..moved.len()].copy_from_slice(&moved);
        if adopt.checked {
            // No margin: with one, slightly worse mixtures were adopted round after round.
            let learner = site.learner();
            let own = learner.loss(Part::Validation, &self.descent.parameters);
            let is_as_good = learner.loss(Part::Validation, &there) <= own;
            if !is_as_good {
                return;
            }
        }
        self.descent.parameters = there;
        self.has_learned = true;
        if let Some(mixed) = given.iter().find(|one| one.content == Content::Gradient) {
            self.added.copy_from_slice(&mixed.values);
            kernels::add_scaled(&mut self.added, -1.0, &self.mean);
        }
    }

    /// One step along the gradient that it sent, or along the given mixture of gradients.
    fn follow(&mut self, given: &[Given]) {
        let Some(own) = self.sent_gradient.take() else { return };
        self.descent.gradient = own;
        if let Some(mixed) = given.iter().find(|one| one.content == Content::Gradient) {
            self.descent.gradient[..mixed.values.len()].copy_from_slice(&mixed.values);
            self.has_learned = true;
        }
        self.descent.follow();
    }

    fn train(&mut self, site: &Site<'_>, train: &Train) -> Result<(), FederateError> {
        let Self { descent, start, mean, added, .. } = self;
        let shared = start.len();
        start.copy_from_slice(&descent.parameters[..shared]);
        mean.fill(0.0);
        for _ in 0..train.steps {
            descent.step(site, |gradient, parameters| {
                let gradient = &mut gradient[..shared];
                kernels::add_scaled(mean, 1.0 / train.steps as f32, gradient);
                kernels::add_scaled(gradient, 1.0, added);
                if train.pull > 0.0 {
                    kernels::add_scaled(gradient, train.pull, &parameters[..shared]);
                    kernels::add_scaled(gradient, -train.pull, start);
                }
            })?;
        }
        Ok(())
    }

    /// What it sends of its last round.
    fn piece(&self, content: Content) -> Vec<f32> {
        let mut model = self.descent.parameters[..self.start.len()].to_vec();
        match content {
            Content::Gradient => self.mean.clone(),
            Content::Update => {
                kernels::add_scaled(&mut model, -1.0, &self.start);
                model
            }
            _ => model,
        }
    }
}
