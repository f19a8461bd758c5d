//! Samples, and their parts for training, validation and test.

use fedcompetitors_graphs::random::Stream;

use crate::{LearnError, Scale};

/// What is to be predicted.
#[derive(Debug, Clone, PartialEq)]
pub enum Targets {
    /// A number for each sample.
    Values(Vec<f32>),
    /// A class for each sample, counted from 0.
    Classes {
        /// The classes.
        labels: Vec<u32>,
        /// How many classes there are.
        count: u32,
    },
}

impl Targets {
    /// How many.
    pub fn len(&self) -> usize {
        match self {
            Self::Values(values) => values.len(),
            Self::Classes { labels, .. } => labels.len(),
        }
    }

    /// Are there none?
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Are all of them finite, or classes that there are?
    pub(crate) fn check(&self) -> Result<(), LearnError> {
        match self {
            Self::Values(values) => {
                if let Some(at) = values.iter().position(|value| !value.is_finite()) {
                    let value = values[at];
                    return Err(LearnError::NotFinite { row: at + 1, column: 0, value });
                }
            }
            Self::Classes { labels, count } => {
                if let Some(at) = labels.iter().position(|label| label >= count) {
                    let (class, classes) = (labels[at], *count);
                    return Err(LearnError::NoSuchClass { row: at + 1, class, classes });
                }
            }
        }
        Ok(())
    }

    /// Mean and deviation of values, the deviation as 1 where all are equal; `None` for classes.
    pub(crate) fn scale(&self) -> Option<Scale> {
        let Self::Values(values) = self else { return None };
        let scale = Scale::of(values.iter().copied());
        Some(if scale.is_usable() { scale } else { Scale { deviation: 1.0, ..scale } })
    }

    /// Standardised values back in their own unit.
    pub(crate) fn in_unit(&self, scale: Scale) -> Self {
        self.mapped(|value| scale.in_unit(value))
    }

    /// Each value changed; classes stay as they are.
    fn mapped(&self, change: impl Fn(f32) -> f32) -> Self {
        match self {
            Self::Values(values) => Self::Values(values.iter().copied().map(change).collect()),
            Self::Classes { .. } => self.clone(),
        }
    }

    /// Those of these rows, in this order.
    ///
    /// # Panics
    /// If there is no such row.
    #[must_use]
    pub fn chosen(&self, rows: &[u32]) -> Self {
        match self {
            Self::Values(values) => {
                Self::Values(rows.iter().map(|&row| values[row as usize]).collect())
            }
            Self::Classes { labels, count } => Self::Classes {
                labels: rows.iter().map(|&row| labels[row as usize]).collect(),
                count: *count,
            },
        }
    }
}

/// Rows of features with their targets, all finite.
#[derive(Debug, Clone, PartialEq)]
pub struct Samples {
    features: Vec<f32>,
    columns: usize,
    targets: Targets,
}

impl Samples {
    /// Samples from their rows, one after the other.
    ///
    /// # Errors
    /// If there are none, if the numbers don't make that many rows, or if one is not
    /// finite.
    pub fn new(features: Vec<f32>, columns: usize, targets: Targets) -> Result<Self, LearnError> {
        let rows = targets.len();
        if rows == 0 {
            return Err(LearnError::NoSamples);
        }
        if features.len() != rows * columns || columns == 0 {
            return Err(LearnError::Shape { found: features.len(), rows, columns });
        }
        if let Some(at) = features.iter().position(|value| !value.is_finite()) {
            let (row, column) = (at / columns + 1, at % columns + 1);
            return Err(LearnError::NotFinite { row, column, value: features[at] });
        }
        targets.check()?;
        Ok(Self { features, columns, targets })
    }

    /// How many samples.
    pub fn len(&self) -> usize {
        self.targets.len()
    }

    /// Whether there are none, which only a test part can be.
    pub fn is_empty(&self) -> bool {
        self.targets.is_empty()
    }

    /// How many features a sample has.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// The features, row after row.
    pub fn features(&self) -> &[f32] {
        &self.features
    }

    pub(crate) fn features_mut(&mut self) -> &mut [f32] {
        &mut self.features
    }

    /// The targets.
    pub fn targets(&self) -> &Targets {
        &self.targets
    }

    /// These rows, in this order.
    ///
    /// # Errors
    /// If they are none.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn chosen(&self, rows: &[u32]) -> Result<Self, LearnError> {
        if rows.is_empty() {
            return Err(LearnError::NoSamples);
        }
        let features = rows
            .iter()
            .flat_map(|&row| &self.features[row as usize * self.columns..][..self.columns])
            .copied()
            .collect();
        Ok(Self { features, columns: self.columns, targets: self.targets.chosen(rows) })
    }

    /// The same with values to predict less the mean of a scale and divided by its deviation.
    pub(crate) fn with_standardised_targets(&self, scale: Scale) -> Self {
        let standardised = |value| ((f64::from(value) - scale.mean) / scale.deviation) as f32;
        let (features, columns) = (self.features.clone(), self.columns);
        Self { features, columns, targets: self.targets.mapped(standardised) }
    }

    /// None of them: a test part of which nothing is asked.
    pub(crate) fn none(&self) -> Self {
        Self { features: Vec::new(), columns: self.columns, targets: self.targets.chosen(&[]) }
    }

    /// The samples of several, one after the other.
    ///
    /// # Errors
    /// If they are none, or of different shapes.
    pub fn together<'a>(all: impl Iterator<Item = &'a Self>) -> Result<Self, LearnError> {
        let mut all = all;
        let mut together = all.next().ok_or(LearnError::NoSamples)?.clone();
        for samples in all {
            let columns = samples.columns;
            if columns != together.columns {
                let (found, rows) = (samples.features.len(), samples.len());
                return Err(LearnError::Shape { found, rows, columns: together.columns });
            }
            together.features.extend_from_slice(&samples.features);
            match (&mut together.targets, &samples.targets) {
                (Targets::Values(values), Targets::Values(more)) => values.extend_from_slice(more),
                (
                    Targets::Classes { labels, count },
                    Targets::Classes { labels: more, count: other },
                ) if count == other => {
                    labels.extend_from_slice(more);
                }
                _ => return Err(LearnError::Unsuitable("targets of different kinds")),
            }
        }
        Ok(together)
    }

    /// The mean and the deviation of each column, for [`Samples::standardised`]. They come
    /// from training data alone, so that nothing is known of the others.
    pub fn scales(&self) -> Vec<(f32, f32)> {
        let rows = self.len() as f64;
        (0..self.columns)
            .map(|column| {
                let values = || {
                    self.features.iter().skip(column).step_by(self.columns).map(|&v| f64::from(v))
                };
                let mean = values().sum::<f64>() / rows;
                let variance = values().map(|value| (value - mean).powi(2)).sum::<f64>() / rows;
                (mean as f32, variance.sqrt() as f32)
            })
            .collect()
    }

    /// The same with the mean taken away from each column and divided by the deviation. A
    /// column that is constant where the scales come from says nothing: it becomes 0.
    #[must_use]
    pub fn standardised(&self, scales: &[(f32, f32)]) -> Self {
        let mut other = self.clone();
        for row in other.features.chunks_exact_mut(self.columns) {
            for (value, (mean, deviation)) in row.iter_mut().zip(scales) {
                let constant = is_constant(f64::from(*mean), f64::from(*deviation));
                *value = if constant { 0.0 } else { (*value - mean) / deviation };
            }
        }
        other
    }
}

/// Is this spread no more than rounding makes of equal numbers?
pub(crate) fn is_constant(mean: f64, deviation: f64) -> bool {
    deviation <= 1e-6 * mean.abs().max(1e-6)
}

/// A part of a participant's samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// What parameters are fitted to.
    Training,
    /// What choices are made by.
    Validation,
    /// What is only measured on.
    Test,
}

impl Part {
    /// All of them, in this order.
    pub const ALL: [Self; 3] = [Self::Training, Self::Validation, Self::Test];

    /// What it is called.
    pub fn name(self) -> &'static str {
        match self {
            Self::Training => "training",
            Self::Validation => "validation",
            Self::Test => "test",
        }
    }
}

/// Puts values into a random order.
pub fn shuffle<T>(values: &mut [T], stream: &mut Stream) {
    for last in (1..values.len()).rev() {
        let other = stream.below(last as u64 + 1) as usize;
        values.swap(last, other);
    }
}
