//! Several networks of one shape under one head.
//!
//! A [`Head`] is fitted exactly, with a ridge, to what the last two hidden layers of all networks say of a
//! participant's rows. An [`Ensemble`] is the model that comes out: networks without their last layers, and
//! the head.

use crate::{
    Loss, Model, NativeLearner, Part, Samples, Targets, Work,
    kernels::{self, View, multiply},
    linear::{Rows, ridges},
};

/// The strengths of the ridge on a head that are tried, each for one unit: on the summed loss the ridge has
/// this times the number of units, which are standardised.
const STRENGTHS: [f64; 6] = [1.0, 0.3, 0.1, 0.03, 0.01, 0.003];

/// The score of a class that does not occur: it has no probability.
const ABSENT: f64 = -30.0;

/// The shape of an ensemble.
///
/// Its parameters are flat as those of a [`Model`]: the trunks of its networks one after the other, then a
/// row for each unit of their last two hidden layers, network after network, with a number for each output,
/// then the intercepts.
#[derive(Debug, Clone, Copy)]
pub struct Ensemble<'a> {
    model: &'a dyn Model,
    networks: usize,
}

impl<'a> Ensemble<'a> {
    /// The ensemble of this many networks.
    pub fn new(model: &'a dyn Model, networks: usize) -> Self {
        Self { model, networks }
    }

    /// The ensemble with this many parameters; `None` if there is none, or if they are those of one network
    /// with its last layer.
    pub fn with_parameters(model: &'a dyn Model, parameters: usize) -> Option<Self> {
        let each = model.trunk() + model.hidden() * model.outputs();
        if model.hidden() == 0 || parameters == model.parameters() {
            return None;
        }
        let networks = parameters.checked_sub(model.outputs())?;
        networks.is_multiple_of(each).then(|| Self::new(model, networks / each))
    }

    /// The number of networks.
    pub fn networks(&self) -> usize {
        self.networks
    }

    /// What the parameters are, piece after piece, with the shape of each.
    pub fn tensors(&self) -> Vec<(String, Vec<usize>)> {
        let mut trunk = self.model.tensors();
        let mut rest = self.model.trunk();
        trunk.retain(|(_, shape)| {
            let size: usize = shape.iter().product();
            let is_in = size <= rest;
            rest -= if is_in { size } else { rest };
            is_in
        });
        let of = |network: usize| {
            let name = move |name: &String| format!("network{}.{name}", network + 1);
            trunk.iter().map(move |(tensor, shape)| (name(tensor), shape.clone()))
        };
        let (units, outputs) = (self.networks * self.model.hidden(), self.model.outputs());
        let head = [
            ("head.weights".to_owned(), vec![units, outputs]),
            ("head.intercepts".to_owned(), vec![outputs]),
        ];
        (0..self.networks).flat_map(of).chain(head).collect()
    }

    /// Appends the outputs of rows, row after row.
    pub(crate) fn outputs(
        &self,
        parameters: &[f32],
        rows: &[f32],
        work: &mut Work,
        to: &mut Vec<f32>,
    ) {
        let (hidden, outputs) = (self.model.hidden(), self.model.outputs());
        let (trunks, head) = parameters.split_at(self.networks * self.model.trunk());
        let (weights, intercepts) = head.split_at(self.networks * hidden * outputs);
        let count = rows.len() / self.model.inputs();
        let mut sum = vec![0.0; count * outputs];
        let mut units = Vec::with_capacity(count * hidden);
        let trunks = trunks.chunks_exact(self.model.trunk());
        for (trunk, weights) in trunks.zip(weights.chunks_exact(hidden * outputs)) {
            units.clear();
            self.model.activations(trunk, rows, work, &mut units);
            let units = View::new(&units[..], count, hidden);
            multiply(units, View::new(weights, hidden, outputs), &mut sum, true);
        }
        kernels::add_bias(&mut sum, intercepts);
        to.extend(sum);
    }
}

/// What the last two hidden layers of a network say of a participant's rows.
#[derive(Debug, Clone)]
pub struct Activations {
    training: Vec<f32>,
    validation: Vec<f32>,
}

impl Activations {
    /// Whether all are finite: those of a network from elsewhere need not be.
    pub fn are_finite(&self) -> bool {
        self.training.iter().chain(&self.validation).all(|value| value.is_finite())
    }
}

/// The last layer of an ensemble.
#[derive(Debug, Clone)]
pub struct Head {
    /// A row for each unit, with a number for each output, then the intercepts.
    parameters: Vec<f32>,
    /// The mean loss on the validation rows.
    pub loss: f64,
}

impl NativeLearner {
    /// What a network with this trunk says of the training and validation rows.
    pub fn activations(&self, trunk: &[f32]) -> Activations {
        let of = |part| {
            let rows = self.part(part);
            let mut values = Vec::with_capacity(rows.len() * self.model().hidden());
            self.with_work(|work| {
                for rows in rows.features().chunks(self.model().tile() * rows.columns()) {
                    self.model().activations(trunk, rows, work, &mut values);
                }
            });
            values
        };
        Activations { training: of(Part::Training), validation: of(Part::Validation) }
    }

    /// The head of the networks of these activations, fitted to the training rows. Its parameters are a mean
    /// over the strengths of the ridge, each weighted by how well it predicts the validation rows.
    pub fn head(&self, networks: &[&Activations]) -> Head {
        let (training, validation) = (self.part(Part::Training), self.part(Part::Validation));
        let of = |part: fn(&Activations) -> &[f32], samples: &Samples| {
            let parts: Vec<&[f32]> = networks.iter().map(|&one| part(one)).collect();
            side_by_side(&parts, samples.len())
        };
        let units = of(|one| &one.training, training);
        let tested = of(|one| &one.validation, validation);
        let scales = Scales::of(&units, training.len());
        let fits = self.fits(&scales.scaled(units), scales.0.len());
        let tested = scales.scaled(tested);
        let losses: Vec<f64> =
            fits.iter().map(|fitted| self.scored(&tested, validation, fitted)).collect();
        let weights = weights(self.loss_kind(), &losses, validation.len());
        let mut mean = vec![0.0; fits[0].len()];
        for (fitted, weight) in fits.iter().zip(weights) {
            mean.iter_mut().zip(fitted).for_each(|(mean, value)| *mean += weight * value);
        }
        let loss = self.scored(&tested, validation, &mean);
        Head { parameters: scales.in_units(mean, self.model().outputs()), loss }
    }

    /// The parameters of an ensemble.
    ///
    /// # Panics
    /// If the head is not one of these many networks.
    pub fn ensemble(&self, trunks: &[&[f32]], head: &Head) -> Vec<f32> {
        let (units, outputs) = (trunks.len() * self.model().hidden(), self.model().outputs());
        assert_eq!(head.parameters.len(), (units + 1) * outputs, "a head of these networks");
        [&trunks.concat()[..], &head.parameters].concat()
    }

    /// The mean loss of rows with these parameters of a head.
    fn scored(&self, units: &[f64], samples: &Samples, head: &[f64]) -> f64 {
        let outputs = self.model().outputs();
        let (weights, intercepts) = head.split_at(head.len() - outputs);
        let count = samples.len();
        let mut scores: Vec<f64> = intercepts.repeat(count);
        let columns = units.len() / count;
        let weights = View::new(weights, columns, outputs);
        multiply(View::new(units, count, columns), weights, &mut scores, true);
        let mut scores: Vec<f32> = scores.into_iter().map(|score| score as f32).collect();
        self.loss_kind().backward(&mut scores, samples.targets(), 0, 1.0) / count as f64
    }

    /// Heads of standardised units with each of the strengths.
    fn fits(&self, units: &[f64], columns: usize) -> Vec<Vec<f64>> {
        let strengths = STRENGTHS.map(|strength| strength * columns as f64);
        let features = units.iter().copied();
        match (self.part(Part::Training).targets(), self.loss_kind()) {
            (Targets::Values(values), _) => {
                let values: Vec<f64> = values.iter().copied().map(f64::from).collect();
                let rows = Rows::with_values(features, columns, &values);
                let fits = ridges(&rows, &strengths).into_iter();
                fits.map(|fitted| rows.in_units(&fitted)).map(in_double).collect()
            }
            (Targets::Classes { labels, .. }, Loss::BinaryCrossEntropy { weights }) => {
                let rows = Rows::with_classes(features, columns, labels, 1);
                let mut fits = ridges(&rows, &strengths);
                // Rows count the same in the fit; with weights the odds differ by their ratio.
                let odds = f64::from(weights[1] / weights[0]).ln();
                fits.iter_mut().for_each(|fitted| fitted[columns] += odds);
                fits
            }
            (Targets::Classes { labels, count }, _) => {
                let classes = Classes::of(labels, *count);
                let labels: Vec<u32> = labels.iter().map(|&label| classes.place(label)).collect();
                let rows = Rows::with_classes(features, columns, &labels, classes.outputs());
                let fits = ridges(&rows, &strengths);
                fits.iter().map(|fitted| classes.all(fitted, columns)).collect()
            }
        }
    }
}

fn in_double(values: Vec<f32>) -> Vec<f64> {
    values.into_iter().map(f64::from).collect()
}

/// Matrices with these many rows side by side.
fn side_by_side(parts: &[&[f32]], rows: usize) -> Vec<f64> {
    let row = |row: usize| {
        parts.iter().flat_map(move |part| {
            let columns = part.len() / rows;
            part[row * columns..][..columns].iter().copied().map(f64::from)
        })
    };
    (0..rows).flat_map(row).collect()
}

/// The weight of each fit: in proportion to the likelihood of the validation rows. Of squared errors it is
/// that with the likeliest variance of the noise.
fn weights(loss: Loss, losses: &[f64], rows: usize) -> Vec<f64> {
    let least = losses.iter().copied().fold(f64::INFINITY, f64::min);
    let weight = |&of: &f64| match loss {
        Loss::SquaredError => {
            (least.max(f64::MIN_POSITIVE) / of.max(f64::MIN_POSITIVE)).powf(rows as f64 / 2.0)
        }
        _ => ((least - of) * rows as f64).exp(),
    };
    let weights: Vec<f64> = losses
        .iter()
        .map(weight)
        .map(|weight| if weight.is_finite() { weight } else { 0.0 })
        .collect();
    let total: f64 = weights.iter().sum();
    weights.into_iter().map(|weight| weight / total).collect()
}

/// Mean and deviation of each column; a deviation of 0 where it is constant.
struct Scales(Vec<(f64, f64)>);

impl Scales {
    fn of(values: &[f64], rows: usize) -> Self {
        let columns = values.len() / rows;
        let mut sums = vec![(0.0, 0.0); columns];
        for row in values.chunks_exact(columns) {
            sums.iter_mut().zip(row).for_each(|(sum, value)| sum.0 += value);
        }
        sums.iter_mut().for_each(|sum| sum.0 /= rows as f64);
        for row in values.chunks_exact(columns) {
            sums.iter_mut().zip(row).for_each(|(sum, value)| sum.1 += (value - sum.0).powi(2));
        }
        for (mean, deviation) in &mut sums {
            *deviation = (*deviation / rows as f64).sqrt();
            if crate::data::is_constant(*mean, *deviation) {
                *deviation = 0.0;
            }
        }
        Self(sums)
    }

    fn scaled(&self, mut values: Vec<f64>) -> Vec<f64> {
        for row in values.chunks_exact_mut(self.0.len()) {
            for (value, (mean, deviation)) in row.iter_mut().zip(&self.0) {
                *value = if *deviation > 0.0 { (*value - mean) / deviation } else { 0.0 };
            }
        }
        values
    }

    /// A head for units as they come.
    fn in_units(&self, mut head: Vec<f64>, outputs: usize) -> Vec<f32> {
        let (weights, intercepts) = head.split_at_mut(self.0.len() * outputs);
        for (row, (mean, deviation)) in weights.chunks_exact_mut(outputs).zip(&self.0) {
            for (weight, intercept) in row.iter_mut().zip(&mut *intercepts) {
                *weight = if *deviation > 0.0 { *weight / deviation } else { 0.0 };
                *intercept -= *weight * mean;
            }
        }
        head.into_iter().map(|value| value as f32).collect()
    }
}

/// The classes that occur in a participant's rows: a head is fitted to these alone. Of ten classes two may
/// occur, and then there is one score instead of ten.
struct Classes {
    occurring: Vec<u32>,
    count: usize,
}

impl Classes {
    fn of(labels: &[u32], count: u32) -> Self {
        let occurring = (0..count).filter(|class| labels.contains(class)).collect();
        Self { occurring, count: count as usize }
    }

    /// The place of a class among those that occur.
    fn place(&self, label: u32) -> u32 {
        self.occurring.iter().position(|&class| class == label).unwrap_or(0) as u32
    }

    /// Outputs of the fit: the odds of two classes, or a score for each of more.
    fn outputs(&self) -> usize {
        if self.occurring.len() > 2 { self.occurring.len() } else { 1 }
    }

    /// The head for all classes.
    fn all(&self, fitted: &[f64], columns: usize) -> Vec<f64> {
        let mut head = vec![0.0; (columns + 1) * self.count];
        head[columns * self.count..].fill(ABSENT);
        for (row, values) in
            head.chunks_exact_mut(self.count).zip(fitted.chunks_exact(self.outputs()))
        {
            for (at, &class) in self.occurring.iter().enumerate() {
                row[class as usize] = match self.occurring.len() {
                    1 => 0.0,
                    2 => (at as f64 - 0.5) * values[0],
                    _ => values[at],
                };
            }
        }
        head
    }
}
