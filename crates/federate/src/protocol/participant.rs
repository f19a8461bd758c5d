//! The participant's half of estimates and trainings.

use fedcompetitors_graphs::bits;
use fedcompetitors_learn::{Batch, Optimizer, Part, kernels, linear::Summary, weighted_sum};
use fedcompetitors_record::Content;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::{Adopt, Answer, Ask, Finish, First, Given, Report, Request, Train, networks::Networks};
use crate::{
    FederateError, Site,
    evidence::own,
    train::{Best, Descent, Effort},
    trunks::network,
};

/// What a participant needs of its last round; each has one value for each shared parameter.
#[derive(Default, Serialize, Deserialize)]
struct Round {
    /// The parameters at the beginning of the round.
    start: Vec<f32>,
    /// The mean of its gradients in the last round, without what was added to them.
    mean: Vec<f32>,
    /// What is added to its gradients in this round: the mixed mean less its own.
    added: Vec<f32>,
}

/// A participant in an estimate or a training: its model and what it needs between two asks. It uses its own data,
/// and of others only what it is given.
#[derive(Serialize, Deserialize)]
pub struct Participant {
    effort: Effort,
    /// Those whose data it may carry: itself, and those of what was delivered to it.
    carried: Vec<u64>,
    networks: Networks,
    /// The exact fit of a linear model, or networks with a fitted head.
    fitted: Option<Vec<f32>>,
    /// The number of parameters that may be shared.
    shared: usize,
    /// What rounds of training with others need: empty before the first of them.
    round: Round,
    /// A gradient that it has sent and not followed yet.
    sent_gradient: Option<Vec<f32>>,
    /// The optimizer of an own head while models are evaluated.
    head: Option<Optimizer>,
    report: Report,
}

impl Participant {
    /// A participant before the first ask.
    pub fn new(site: &Site<'_>, effort: Effort) -> Self {
        Self {
            effort,
            carried: site.own(),
            networks: Networks::one(site, effort),
            fitted: None,
            shared: site.shared(),
            round: Round::default(),
            sent_gradient: None,
            head: None,
            report: Report::default(),
        }
    }

    /// Its best model so far, by its validation loss; an exact fit, where it has made one.
    pub fn best(&self) -> Best<'_> {
        match &self.fitted {
            Some(parameters) => Best { parameters, carried: &self.carried },
            None => self.networks.best().early_stopping.best(),
        }
    }

    /// Does what it is asked to do with what it is given.
    ///
    /// # Errors
    /// If training diverges, if its model is of another kind than the ask needs, or if something that is given does
    /// not fit it.
    pub fn answer(&mut self, site: &Site<'_>, request: &Request) -> Result<Answer, FederateError> {
        let Request { id, ask, given } = request;
        self.check(site, ask, given)?;
        for piece in given {
            bits::union(&mut self.carried, &piece.carried);
        }
        self.report.losses.clear();
        let pieces = self.work(site, ask, given)?;
        Ok(Answer { id: *id, pieces, report: self.report.clone() })
    }

    fn work(
        &mut self,
        site: &Site<'_>,
        ask: &Ask,
        given: &[Given],
    ) -> Result<Vec<Vec<f32>>, FederateError> {
        match ask {
            Ask::Train(train) => self.train(site, train, given),
            Ask::Descend { validate, sends } => self.descend(site, *validate, *sends, given),
            Ask::Fit { summary } => self.fit(site, *summary, given),
            Ask::Evaluate { head_steps } => self.evaluate(site, *head_steps, given),
            Ask::Compare => self.compare(site, given).map(|()| Vec::new()),
            Ask::Finish(finish) => self.finish(site, *finish, given).map(|()| Vec::new()),
        }
    }

    /// Whether it can do what it is asked, and everything that is given has the size of what it says it is.
    fn check(&self, site: &Site<'_>, ask: &Ask, given: &[Given]) -> Result<(), FederateError> {
        if !ask.is_possible() {
            return Err(FederateError::Ask { participant: site.name().to_owned() });
        }
        for piece in given {
            let length = match piece.content {
                Content::Summary => Summary::message_length(own(site)?.rows().coefficients()),
                Content::Trunk => network(site)?.model().trunk(),
                _ => self.shared,
            };
            let fits = piece.values.len() == length && piece.carried.len() == self.carried.len();
            if !fits {
                let (participant, content) = (site.name().to_owned(), piece.content);
                return Err(FederateError::Given { participant, content });
            }
        }
        Ok(())
    }

    fn train(
        &mut self,
        site: &Site<'_>,
        train: &Train,
        given: &[Given],
    ) -> Result<Vec<Vec<f32>>, FederateError> {
        let Self { effort, carried, networks, .. } = self;
        match &train.first {
            First::Adopt(adopt) => {
                self.adopt(site, *adopt, given);
                self.networks.first_mut().validate(site, &self.carried, false)?;
                self.round(site, train)?;
            }
            alone => {
                match alone {
                    First::Try(decays) => networks.try_decays(site, *effort, decays),
                    First::Choose => {
                        networks.validate(site, carried)?;
                        networks.choose();
                    }
                    First::Start { networks: count, frozen } => {
                        networks.validate(site, carried)?;
                        networks.start(site, *effort, (*count, *frozen), given)?;
                    }
                    First::Adopt(_) | First::Continue => {}
                }
                networks.train(site, (train.steps, train.validates_often), carried)?;
            }
        }
        train.sends.iter().map(|content| self.piece(site, *content)).collect()
    }

    fn descend(
        &mut self,
        site: &Site<'_>,
        validate: bool,
        sends: bool,
        given: &[Given],
    ) -> Result<Vec<Vec<f32>>, FederateError> {
        self.follow(given);
        let Self { networks, carried, shared, sent_gradient, .. } = self;
        let descent = networks.first_mut();
        if validate {
            descent.validate(site, carried, false)?;
        }
        descent.descend(site)?;
        *sent_gradient = Some(descent.gradient.clone());
        let shared = &descent.gradient[..*shared];
        Ok(if sends { vec![shared.to_vec()] } else { Vec::new() })
    }

    /// Fits its own rows, with what others say if that is given; sends a summary of its own rows alone.
    fn fit(
        &mut self,
        site: &Site<'_>,
        summary: Option<usize>,
        given: &[Given],
    ) -> Result<Vec<Vec<f32>>, FederateError> {
        let own = own(site)?;
        let sum = given.iter().find(|piece| piece.content == Content::Summary);
        // A sum of summaries that were accepted is one.
        let sum = sum.map(|piece| Summary::from_message(own.rows().coefficients(), &piece.values));
        if let Some(Ok(sum)) = sum {
            let (parameters, weight) = own.with_evidence(&sum);
            self.fitted = Some(parameters);
            self.report.uses = vec![1.0, weight];
        } else {
            self.fitted = Some(own.parameters());
        }
        let Some(fewest) = summary else { return Ok(Vec::new()) };
        // What is the same in all rows reveals nothing.
        let constant = own.rows().rare_columns(1);
        self.report.left_out = own.rows().rare_columns(fewest);
        self.report.left_out.retain(|column| !constant.contains(column));
        Ok(vec![own.summary(fewest).to_message()])
    }

    /// The validation loss of the model that is given, with the own head, and its gradient.
    fn evaluate(
        &mut self,
        site: &Site<'_>,
        head_steps: usize,
        given: &[Given],
    ) -> Result<Vec<Vec<f32>>, FederateError> {
        let Self { networks, head, effort, report, .. } = self;
        let (descent, shared) = (networks.first_mut(), self.shared);
        if let Some(piece) = given.iter().find(|piece| piece.content == Content::Model) {
            descent.parameters[..shared].copy_from_slice(&piece.values);
        }
        let count = descent.parameters.len() - shared;
        let head = head.get_or_insert_with(|| Optimizer::new(effort.rule, count));
        for _ in 0..if count > 0 { head_steps } else { 0 } {
            descent.descend(site)?;
            head.step(&mut descent.parameters[shared..], &descent.gradient[shared..]);
        }
        let mut gradient = vec![0.0; descent.parameters.len()];
        let parameters = &descent.parameters;
        let loss = site.gradient(Part::Validation, Batch::All, parameters, &mut gradient);
        // What is given may make no sense here: that is said, and nothing ends.
        let is_usable = gradient.iter().all(|value| value.is_finite());
        report.losses = vec![loss.ok().filter(|_| is_usable).unwrap_or(f64::INFINITY)];
        if !is_usable {
            gradient.fill(0.0);
        }
        gradient.truncate(shared);
        Ok(vec![gradient])
    }

    /// The validation losses of heads on the own hidden layers, alone and with those of each given trunk.
    fn compare(&mut self, site: &Site<'_>, given: &[Given]) -> Result<(), FederateError> {
        let learner = network(site)?;
        let trunk = learner.model().trunk();
        let own = self.networks.last().early_stopping.best().parameters;
        let own = learner.activations(&own[..trunk]);
        let both = |piece: &Given| {
            let others = learner.activations(&piece.values);
            if others.are_finite() { learner.head(&[&own, &others]).loss } else { f64::INFINITY }
        };
        let losses: Vec<f64> = given.par_iter().map(both).collect();
        self.report.losses = [vec![learner.head(&[&own]).loss], losses].concat();
        Ok(())
    }

    fn finish(
        &mut self,
        site: &Site<'_>,
        finish: Finish,
        given: &[Given],
    ) -> Result<(), FederateError> {
        if let Finish::Adopt(adopt) = finish {
            self.adopt(site, adopt, given);
            self.follow(given);
        }
        if let (Finish::Alone, Some(own)) = (finish, site.learner().linear()) {
            if self.fitted.is_none() {
                self.fitted = Some(own.parameters());
            }
            return Ok(());
        }
        self.networks.validate(site, &self.carried)?;
        match finish {
            Finish::Adopt(_) => {}
            Finish::Alone => {
                let learner = site.learner().network();
                self.fitted = learner.and_then(|learner| self.networks.refitted(learner));
            }
            Finish::Together => {
                self.fitted = self.networks.together(network(site)?);
                self.report.uses = self.networks.uses();
            }
        }
        Ok(())
    }

    /// Moves to the given model, or by the given update, unless its validation loss is higher there. If it
    /// moves, its next gradients are corrected by the given mean of gradients.
    fn adopt(&mut self, site: &Site<'_>, adopt: Adopt, given: &[Given]) {
        let descent = self.networks.first_mut();
        let Round { start, mean, added } = &mut self.round;
        if start.is_empty() {
            start.extend_from_slice(&descent.parameters[..self.shared]);
            mean.resize(self.shared, 0.0);
        }
        added.clear();
        added.resize(self.shared, 0.0);
        let is_target = |one: &&Given| matches!(one.content, Content::Model | Content::Update);
        let Some(target) = given.iter().find(is_target) else { return };
        let kept = if target.content == Content::Model { 1.0 - adopt.rate } else { 1.0 };
        let moved = weighted_sum(&[(&start[..], kept), (&target.values[..], adopt.rate)]);
        let mut there = descent.parameters.clone();
        there[..moved.len()].copy_from_slice(&moved);
        if adopt.checked {
            // No margin: with one, slightly worse mixtures were adopted round after round.
            let learner = site.learner();
            let own = learner.loss(Part::Validation, &descent.parameters);
            let is_as_good = learner.loss(Part::Validation, &there) <= own;
            if !is_as_good {
                return;
            }
        }
        descent.parameters = there;
        self.report.uses = vec![1.0];
        if let Some(mixed) = given.iter().find(|one| one.content == Content::Gradient) {
            added.copy_from_slice(&mixed.values);
            kernels::add_scaled(added, -1.0, mean);
        }
    }

    /// One step along the gradient that it sent, or along the given mixture of gradients.
    fn follow(&mut self, given: &[Given]) {
        let Some(own) = self.sent_gradient.take() else { return };
        let descent = self.networks.first_mut();
        descent.gradient = own;
        if let Some(mixed) = given.iter().find(|one| one.content == Content::Gradient) {
            descent.gradient[..mixed.values.len()].copy_from_slice(&mixed.values);
            self.report.uses = vec![1.0];
        }
        descent.follow();
    }

    /// A round of steps that others' gradients may correct.
    fn round(&mut self, site: &Site<'_>, train: &Train) -> Result<(), FederateError> {
        let (descent, shared) = (self.networks.first_mut(), self.shared);
        let Round { start, mean, added } = &mut self.round;
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

    /// What it sends of its last steps.
    fn piece(&mut self, site: &Site<'_>, content: Content) -> Result<Vec<f32>, FederateError> {
        let current = |descent: &Descent| descent.parameters[..self.shared].to_vec();
        Ok(match content {
            Content::Model => current(self.networks.first()),
            Content::Gradient => self.round.mean.clone(),
            Content::Update => {
                let mut update = current(self.networks.first());
                kernels::add_scaled(&mut update, -1.0, &self.round.start);
                update
            }
            Content::Trunk => {
                self.networks.validate(site, &self.carried)?;
                let trunk = network(site)?.model().trunk();
                self.networks.last().early_stopping.best().parameters[..trunk].to_vec()
            }
            Content::Summary | Content::Data => {
                return Err(FederateError::Ask { participant: site.name().to_owned() });
            }
        })
    }
}
