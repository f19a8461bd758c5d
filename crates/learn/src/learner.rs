//! A participant's data and model behind one narrow interface.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use fedcompetitors_graphs::random::Stream;

use crate::{
    Dependence, Ensemble, LearnError, Loss, Metric, Model, Part, Samples, Scale, Split, Work,
    linear::{Own, Rows},
};

/// Which samples of a part a gradient is taken on.
#[derive(Debug, Clone, Copy)]
pub enum Batch<'a> {
    /// All of them.
    All,
    /// These rows of the part.
    Rows(&'a [u32]),
}

/// Somebody who can say how well parameters fit its data and where to go from there, and
/// nothing else of its data.
pub trait Learner: Send + Sync {
    /// How many parameters its model has.
    fn parameters(&self) -> usize;

    /// How many of them, from the first on, may be shared; the rest is its own head.
    fn shared(&self) -> usize;

    /// How many samples a part has.
    fn samples(&self, part: Part) -> usize;

    /// Parameters to begin with. They must not depend on data: the first participant's are
    /// where everybody begins.
    fn initial(&self, stream: &mut Stream) -> Vec<f32>;

    /// The mean loss on a batch, and its gradient over `gradient`.
    fn gradient(
        &self,
        part: Part,
        batch: Batch<'_>,
        parameters: &[f32],
        gradient: &mut [f32],
    ) -> f64;

    /// The mean loss on a part, of its model or of an [`Ensemble`] of such.
    fn loss(&self, part: Part, parameters: &[f32]) -> f64;

    /// The metric on a part, of its model or of an [`Ensemble`] of such; `None` where it is undefined.
    fn metric(&self, part: Part, parameters: &[f32]) -> Option<f64>;

    /// Its rows for training and validation with its own exact fit; `None` where its model is not
    /// linear.
    fn linear(&self) -> Option<&Own> {
        None
    }

    /// Itself, where its model is a network whose hidden layers can be used; otherwise `None`.
    fn network(&self) -> Option<&NativeLearner> {
        None
    }
}

/// A way to vary a batch of samples, so that there seem to be more of them.
pub(crate) trait Augment: std::fmt::Debug + Send + Sync {
    /// Varies the features of these rows of the training part. The same rows in the same
    /// order become the same.
    fn augment(&self, rows: &[u32], features: &mut [f32]);
}

/// A learner with a native model and its data in memory.
#[derive(Debug)]
pub struct NativeLearner {
    model: Arc<dyn Model>,
    loss: Loss,
    metric: &'static dyn Metric,
    parts: Arc<[Samples; 3]>,
    /// By what the targets of the parts were standardised, if they were.
    target: Option<Scale>,
    augment: Option<Arc<dyn Augment>>,
    /// Memory for those who ask at the same time.
    work: Mutex<Vec<Work>>,
    /// How the rows for training and validation depend on each other, in this order.
    dependence: Dependence,
    /// The own fit of a linear model, once it was asked for.
    own: OnceLock<Own>,
}

/// Folds of the own rows by which a penalty is chosen.
const FOLDS: u32 = 5;

impl NativeLearner {
    /// A learner over the parts of some samples.
    ///
    /// The test part may be empty: then nothing can be measured on it.
    ///
    /// # Errors
    /// If another part is empty, or if model, loss and samples don't go together.
    pub fn new(
        model: Arc<dyn Model>,
        loss: Loss,
        metric: &'static dyn Metric,
        samples: &Samples,
        split: &Split,
    ) -> Result<Self, LearnError> {
        let part = |part: Part| {
            samples
                .chosen(split.rows(part))
                .map_err(|_| LearnError::EmptyPart { part: part.name() })
        };
        let test = if split.test.is_empty() { samples.none() } else { part(Part::Test)? };
        let parts = [part(Part::Training)?, part(Part::Validation)?, test];
        Self::from_parts(model, loss, metric, parts)
    }

    /// The same with rows that depend on each other, which the own fit of a linear model keeps in mind:
    /// those for training, then those for validation.
    #[must_use]
    pub fn with_dependence(self, dependence: Dependence) -> Self {
        Self { dependence, own: OnceLock::new(), ..self }
    }

    /// The same with values to predict standardised by their mean and deviation in the training rows, so that
    /// no trainer depends on their unit. Losses and parameters are then in deviations; predictions and the metric
    /// stay in the unit of the target. Classes stay as they are.
    #[must_use]
    pub fn with_standardised_targets(self) -> Self {
        let Some(scale) = self.part(Part::Training).targets().scale() else { return self };
        let parts = Part::ALL.map(|part| self.part(part).with_standardised_targets(scale));
        Self { parts: Arc::new(parts), target: Some(scale), own: OnceLock::new(), ..self }
    }

    /// The scale by which its targets were standardised, if they were.
    pub fn target_scale(&self) -> Option<Scale> {
        self.target
    }

    /// How its rows for training and validation depend on each other, in this order.
    pub fn dependence(&self) -> &Dependence {
        &self.dependence
    }

    /// A learner whose parts are given: training, validation, test.
    ///
    /// # Errors
    /// If model, loss and samples don't go together.
    pub fn from_parts(
        model: Arc<dyn Model>,
        loss: Loss,
        metric: &'static dyn Metric,
        parts: [Samples; 3],
    ) -> Result<Self, LearnError> {
        check(&*model, loss, &parts)?;
        let parts = Arc::new(parts);
        let (work, own, dependence) = (Mutex::default(), OnceLock::new(), Dependence::None);
        Ok(Self { model, loss, metric, parts, target: None, augment: None, work, dependence, own })
    }

    /// The same on batches of training samples that are varied.
    pub(crate) fn with_augmentation(self, augment: Arc<dyn Augment>) -> Self {
        Self { augment: Some(augment), ..self }
    }

    /// A learner with another model for the same data, which they share.
    ///
    /// # Errors
    /// If the model and the samples don't go together.
    pub fn with_model(&self, model: Arc<dyn Model>) -> Result<Self, LearnError> {
        let Self { loss, metric, parts, target, augment, dependence, .. } = self;
        check(&*model, *loss, parts)?;
        let (parts, augment) = (Arc::clone(parts), augment.clone());
        let (loss, metric, work, own) = (*loss, *metric, Mutex::default(), OnceLock::new());
        let (target, dependence) = (*target, dependence.clone());
        Ok(Self { model, loss, metric, parts, target, augment, work, dependence, own })
    }

    /// Its model.
    pub fn model(&self) -> &Arc<dyn Model> {
        &self.model
    }

    /// The samples of a part.
    pub fn part(&self, part: Part) -> &Samples {
        match part {
            Part::Training => &self.parts[0],
            Part::Validation => &self.parts[1],
            Part::Test => &self.parts[2],
        }
    }

    /// Its loss.
    pub(crate) fn loss_kind(&self) -> Loss {
        self.loss
    }

    /// The tensors of these many parameters, with the shape of each: of its model or of an [`Ensemble`].
    pub fn tensors(&self, parameters: usize) -> Vec<(String, Vec<usize>)> {
        match Ensemble::with_parameters(&*self.model, parameters) {
            Some(ensemble) => ensemble.tensors(),
            None => self.model.tensors(),
        }
    }

    pub(crate) fn with_work<T>(&self, use_it: impl FnOnce(&mut Work) -> T) -> T {
        let pool = || self.work.lock().unwrap_or_else(PoisonError::into_inner);
        let mut work = pool().pop().unwrap_or_default();
        let result = use_it(&mut work);
        pool().push(work);
        result
    }

    /// The outputs of the model with these parameters for a part, of values in the unit of the target.
    pub fn predictions(&self, part: Part, parameters: &[f32]) -> Vec<f32> {
        let mut outputs = self.outputs(self.part(part), parameters);
        if let Some(scale) = self.target {
            outputs.iter_mut().for_each(|output| *output = scale.in_unit(*output));
        }
        outputs
    }

    fn gradient_of(&self, samples: &Samples, parameters: &[f32], gradient: &mut [f32]) -> f64 {
        gradient.fill(0.0);
        let share = 1.0 / samples.len() as f32;
        let (tile, columns) = (self.model.tile(), samples.columns());
        self.with_work(|work| {
            let mut sum = 0.0;
            for (at, rows) in samples.features().chunks(tile * columns).enumerate() {
                self.model.forward(parameters, rows, work);
                sum += self.loss.backward(work.outputs(), samples.targets(), at * tile, share);
                self.model.backward(parameters, rows, work, gradient);
            }
            sum / samples.len() as f64
        })
    }

    fn outputs(&self, samples: &Samples, parameters: &[f32]) -> Vec<f32> {
        let columns = samples.columns();
        let mut outputs = Vec::with_capacity(samples.len() * self.model.outputs());
        let ensemble = Ensemble::with_parameters(&*self.model, parameters.len());
        self.with_work(|work| {
            for rows in samples.features().chunks(self.model.tile() * columns) {
                if let Some(ensemble) = &ensemble {
                    ensemble.outputs(parameters, rows, work, &mut outputs);
                    continue;
                }
                self.model.forward(parameters, rows, work);
                outputs.extend_from_slice(work.outputs());
            }
        });
        outputs
    }
}

/// Do model, loss and samples go together?
fn check(model: &dyn Model, loss: Loss, parts: &[Samples; 3]) -> Result<(), LearnError> {
    for samples in parts {
        loss.check(samples.targets(), model.outputs())?;
        if samples.columns() != model.inputs() {
            return Err(LearnError::Unsuitable("the model takes another number of features"));
        }
    }
    Ok(())
}

impl Learner for NativeLearner {
    fn parameters(&self) -> usize {
        self.model.parameters()
    }

    fn shared(&self) -> usize {
        self.model.shared()
    }

    fn samples(&self, part: Part) -> usize {
        self.part(part).len()
    }

    fn initial(&self, stream: &mut Stream) -> Vec<f32> {
        self.model.initial(stream)
    }

    fn gradient(
        &self,
        part: Part,
        batch: Batch<'_>,
        parameters: &[f32],
        gradient: &mut [f32],
    ) -> f64 {
        let samples = self.part(part);
        match batch {
            Batch::All => self.gradient_of(samples, parameters, gradient),
            Batch::Rows(rows) => {
                if let Ok(mut samples) = samples.chosen(rows) {
                    if let (Some(augment), Part::Training) = (&self.augment, part) {
                        augment.augment(rows, samples.features_mut());
                    }
                    return self.gradient_of(&samples, parameters, gradient);
                }
                // Nothing says nothing.
                gradient.fill(0.0);
                0.0
            }
        }
    }

    fn loss(&self, part: Part, parameters: &[f32]) -> f64 {
        let samples = self.part(part);
        let mut outputs = self.outputs(samples, parameters);
        self.loss.backward(&mut outputs, samples.targets(), 0, 1.0) / samples.len() as f64
    }

    fn metric(&self, part: Part, parameters: &[f32]) -> Option<f64> {
        let targets = self.part(part).targets();
        let outputs = self.predictions(part, parameters);
        match self.target {
            Some(scale) => self.metric.measure(&outputs, &targets.in_unit(scale)),
            None => self.metric.measure(&outputs, targets),
        }
    }

    fn linear(&self) -> Option<&Own> {
        let parts = [Part::Training, Part::Validation].map(|part| self.part(part));
        let make = || {
            let samples = Samples::together(parts.into_iter()).expect("parts of one table");
            let rows = Rows::new(&samples, self.model.outputs());
            let own = Own::new(rows, FOLDS, &self.dependence);
            match self.loss {
                Loss::BinaryCrossEntropy { weights } => own.with_class_weights(weights),
                _ => own,
            }
        };
        self.model.is_linear().then(|| self.own.get_or_init(make))
    }

    fn network(&self) -> Option<&NativeLearner> {
        (self.model.hidden() > 0).then_some(self)
    }
}
