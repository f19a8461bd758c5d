//! A participant's rows as a linear model sees them, in double precision.

use crate::{
    Samples, Targets,
    data::is_constant,
    kernels::{View, multiply},
};

/// Rows that are worked on together, so that they stay in the caches.
const TILE: usize = 512;

/// Features that are gone through twice while they are in the caches.
const CACHED: usize = 1 << 15;

/// Columns of a curvature that are computed together.
const PANEL: usize = 128;

/// What is to be predicted, as a linear model sees it.
#[derive(Debug, Clone, PartialEq)]
enum Response {
    /// Numbers, less their mean and divided by their deviation. The loss of a row is
    /// `precision · (score − value)² / 2`, the precision being one over the variance of the noise.
    Values { values: Vec<f64>, mean: f64, deviation: f64, precision: f64 },
    /// 0 or 1; the score is the logarithm of the odds of 1.
    Binary(Vec<u32>),
    /// Classes, with a score for each.
    Classes(Vec<u32>, usize),
}

/// Rows of features, each with a 1 for the intercept at its end, and what is to be predicted.
///
/// The loss is the sum over rows of the negative log-likelihood: half the squared error over the
/// variance of the noise, or the cross entropy. Coefficients are laid out as in [`Mlp::linear`]: a row
/// for each feature, with a number for each output, then the intercepts.
///
/// [`Mlp::linear`]: crate::Mlp::linear
#[derive(Debug, Clone, PartialEq)]
pub struct Rows {
    /// Row after row.
    features: Vec<f64>,
    /// The number of features, with the intercept.
    width: usize,
    response: Response,
}

impl Rows {
    /// The rows of samples, for a model with these many outputs.
    pub fn new(samples: &Samples, outputs: usize) -> Self {
        let features = samples.features().iter().copied().map(f64::from);
        match samples.targets() {
            Targets::Values(values) => {
                let values: Vec<f64> = values.iter().copied().map(f64::from).collect();
                Self::with_values(features, samples.columns(), &values)
            }
            Targets::Classes { labels, .. } => {
                Self::with_classes(features, samples.columns(), labels, outputs)
            }
        }
    }

    /// Rows, given one after the other, with a number to predict for each. Numbers are standardised; the
    /// variance of their noise is 1 until [`Own::new`](super::Own::new) sets it.
    pub fn with_values(
        features: impl Iterator<Item = f64>,
        columns: usize,
        values: &[f64],
    ) -> Self {
        Self {
            features: with_ones(features, columns),
            width: columns + 1,
            response: scaled(values),
        }
    }

    /// Rows, given one after the other, with a class for each, counted from 0. With one output there are
    /// two classes, and the output is the logarithm of the odds of class 1.
    pub fn with_classes(
        features: impl Iterator<Item = f64>,
        columns: usize,
        labels: &[u32],
        outputs: usize,
    ) -> Self {
        let response = if outputs == 1 {
            Response::Binary(labels.to_vec())
        } else {
            Response::Classes(labels.to_vec(), outputs)
        };
        Self { features: with_ones(features, columns), width: columns + 1, response }
    }

    /// The number of rows.
    pub fn len(&self) -> usize {
        self.features.len() / self.width
    }

    /// Never: there is at least one row.
    pub fn is_empty(&self) -> bool {
        false
    }

    /// The number of features, without the intercept.
    pub fn columns(&self) -> usize {
        self.width - 1
    }

    /// The number of outputs: one for numbers and two classes, otherwise one for each class.
    pub fn outputs(&self) -> usize {
        match self.response {
            Response::Classes(_, count) => count,
            _ => 1,
        }
    }

    /// The number of coefficients that are not intercepts.
    pub fn coefficients(&self) -> usize {
        self.columns() * self.outputs()
    }

    /// The number of coefficients and intercepts.
    pub fn parameters(&self) -> usize {
        self.width * self.outputs()
    }

    /// The columns in which fewer than `fewest` rows differ from the most frequent value: of a category
    /// those with few ones or few zeros, of numbers those that are nearly always missing or the same. A
    /// sum over rows may give these rows away.
    #[expect(clippy::float_cmp, reason = "whether values are the same is what is asked for")]
    pub fn rare_columns(&self, fewest: usize) -> Vec<usize> {
        let is_rare = |column: &usize| {
            let values = || self.features.iter().skip(*column).step_by(self.width);
            let count = self.len();
            if count >= 2 * fewest {
                // Only a value of more than half of the rows can be frequent enough: it is what is left where
                // pairs of different values are taken away.
                let (mut frequent, mut surplus) = (f64::NAN, 0_usize);
                for value in values() {
                    match (surplus, *value == frequent) {
                        (0, _) => (frequent, surplus) = (*value, 1),
                        (_, true) => surplus += 1,
                        (_, false) => surplus -= 1,
                    }
                }
                return values().filter(|value| **value != frequent).count() < fewest;
            }
            // The sum makes 0 of −0.
            let mut values: Vec<f64> = values().map(|value| value + 0.0).collect();
            values.sort_unstable_by(f64::total_cmp);
            let most =
                values.chunk_by(|a, b| a.total_cmp(b).is_eq()).map(<[f64]>::len).max().unwrap_or(0);
            count - most < fewest
        };
        (0..self.columns()).filter(is_rare).collect()
    }

    /// Sets the variance of the noise of standardised targets.
    pub(super) fn set_noise(&mut self, variance: f64) {
        if let Response::Values { precision, .. } = &mut self.response {
            *precision = 1.0 / variance;
        }
    }

    /// The variance of the noise of standardised targets; `None` for classes.
    pub(super) fn noise(&self) -> Option<f64> {
        match &self.response {
            Response::Values { precision, .. } => Some(1.0 / precision),
            _ => None,
        }
    }

    /// Whether numbers are to be predicted.
    pub(super) fn has_values(&self) -> bool {
        matches!(self.response, Response::Values { .. })
    }

    /// Whether all targets are the same, so that the rows say nothing about coefficients.
    pub(super) fn is_constant(&self) -> bool {
        match &self.response {
            Response::Values { deviation, .. } => *deviation == 0.0,
            Response::Binary(labels) | Response::Classes(labels, _) => {
                labels.iter().all(|label| *label == labels[0])
            }
        }
    }

    /// The class of a row; 0 where numbers are to be predicted.
    pub(super) fn class(&self, row: usize) -> u32 {
        match &self.response {
            Response::Values { .. } => 0,
            Response::Binary(labels) | Response::Classes(labels, _) => labels[row],
        }
    }

    /// For each output whether its class occurs; where it does not, its intercept has no finite
    /// best value.
    pub(super) fn occurs(&self) -> Vec<bool> {
        match &self.response {
            Response::Classes(labels, count) => {
                (0..*count as u32).map(|class| labels.contains(&class)).collect()
            }
            _ => vec![true],
        }
    }

    /// These rows, in this order, with the same noise.
    pub(super) fn chosen(&self, rows: &[u32]) -> Self {
        let row = |&row: &u32| &self.features[row as usize * self.width..][..self.width];
        let labels_of = |labels: &[u32]| rows.iter().map(|&row| labels[row as usize]).collect();
        let response = match &self.response {
            Response::Values { values, mean, deviation, precision } => Response::Values {
                values: rows.iter().map(|&row| values[row as usize]).collect(),
                mean: *mean,
                deviation: *deviation,
                precision: *precision,
            },
            Response::Binary(labels) => Response::Binary(labels_of(labels)),
            Response::Classes(labels, count) => Response::Classes(labels_of(labels), *count),
        };
        Self { features: rows.iter().flat_map(row).copied().collect(), width: self.width, response }
    }

    /// The features without the intercept's.
    pub(super) fn features(&self) -> View<'_, f64> {
        View::block(&self.features, self.len(), self.columns(), self.width)
    }

    /// The same targets with other features, given row after row.
    pub(super) fn with_features(&self, features: &[f64], columns: usize) -> Self {
        let features = with_ones(features.iter().copied(), columns);
        Self { features, width: columns + 1, response: self.response.clone() }
    }

    /// The scores of all rows, row after row.
    fn scores(&self, parameters: &[f64]) -> Vec<f64> {
        let (rows, outputs) = (self.len(), self.outputs());
        let mut scores = vec![0.0; rows * outputs];
        let features = View::new(&self.features[..], rows, self.width);
        multiply(features, View::new(parameters, self.width, outputs), &mut scores, false);
        scores
    }

    /// The summed loss of these coefficients.
    pub fn loss(&self, parameters: &[f64]) -> f64 {
        self.residuals(0, &mut self.scores(parameters))
    }

    /// The summed loss; adds its gradient.
    pub(super) fn gradient(&self, parameters: &[f64], gradient: &mut [f64]) -> f64 {
        let mut loss = 0.0;
        self.there_and_back(parameters, gradient, |first, scores| {
            loss += self.residuals(first, scores);
        });
        loss
    }

    /// Adds the features, transposed, times what `change` makes of the scores. `change` gets some rows at a
    /// time, with the number of the first, so that features are still in the caches on the way back.
    fn there_and_back(
        &self,
        parameters: &[f64],
        product: &mut [f64],
        mut change: impl FnMut(usize, &mut [f64]),
    ) {
        let (width, outputs) = (self.width, self.outputs());
        let together = (CACHED / width).clamp(8, TILE);
        let mut scores = vec![0.0; together * outputs];
        let parameters = View::new(parameters, width, outputs);
        for (tile, features) in self.features.chunks(together * width).enumerate() {
            let rows = features.len() / width;
            let scores = &mut scores[..rows * outputs];
            let features = View::new(features, rows, width);
            multiply(features, parameters, scores, false);
            change(tile * together, scores);
            multiply(features.transposed(), View::new(scores, rows, outputs), product, true);
        }
    }

    /// The summed loss of the scores of some rows, from `first` on, over which its gradient is written.
    fn residuals(&self, first: usize, scores: &mut [f64]) -> f64 {
        match &self.response {
            Response::Values { values, precision, .. } => {
                let mut squares = 0.0;
                for (score, value) in scores.iter_mut().zip(&values[first..]) {
                    let difference = *score - value;
                    squares += difference * difference;
                    *score = precision * difference;
                }
                0.5 * precision * squares
            }
            Response::Binary(labels) => {
                let mut sum = 0.0;
                for (score, &label) in scores.iter_mut().zip(&labels[first..]) {
                    let odds = if label == 1 { -*score } else { *score };
                    // ln(1 + e^odds) without overflow.
                    sum += (-odds.abs()).exp().ln_1p() + odds.max(0.0);
                    *score = probability(*score) - f64::from(label);
                }
                sum
            }
            Response::Classes(labels, count) => {
                let mut sum = 0.0;
                for (row, &label) in scores.chunks_exact_mut(*count).zip(&labels[first..]) {
                    let right = row[label as usize];
                    sum += softmax(row) - right;
                    row[label as usize] -= 1.0;
                }
                sum
            }
        }
    }

    /// The second derivative of the summed loss at these coefficients, row after row.
    pub(super) fn curvature(&self, parameters: &[f64]) -> Vec<f64> {
        let (width, outputs, size) = (self.width, self.outputs(), self.parameters());
        let mut curvature = vec![0.0; size * size];
        let mut scores = self.scores(parameters);
        self.probabilities(&mut scores);
        // A square for each pair of outputs, which is then laid out by feature and output. Squares are
        // symmetric: of a few columns at a time the part on and below the diagonal is computed.
        let panels = (0..width).step_by(PANEL).map(|first| (first, PANEL.min(width - first)));
        let panels: Vec<(usize, usize)> = panels.collect();
        let mut products: Vec<Vec<f64>> =
            panels.iter().map(|(first, columns)| vec![0.0; (width - first) * columns]).collect();
        let mut weighted = Vec::new();
        for first in 0..outputs {
            for second in 0..=first {
                products.iter_mut().for_each(|product| product.fill(0.0));
                let tiles = self.features.chunks(TILE * width);
                for (features, scores) in tiles.zip(scores.chunks(TILE * outputs)) {
                    let rows = features.len() / width;
                    weighted.clear();
                    let scores = scores.chunks_exact(outputs);
                    for (row, probabilities) in features.chunks_exact(width).zip(scores) {
                        let weight = self.weight(probabilities, first, second);
                        weighted.extend(row.iter().map(|value| weight * value));
                    }
                    for ((start, columns), product) in panels.iter().zip(&mut products) {
                        let left = View::block(&features[*start..], rows, width - start, width);
                        let right = View::block(&weighted[*start..], rows, *columns, width);
                        multiply(left.transposed(), right, product, true);
                    }
                }
                for ((start, columns), product) in panels.iter().zip(&products) {
                    for (row, values) in product.chunks_exact(*columns).enumerate() {
                        for (column, value) in values.iter().take(row + 1).enumerate() {
                            let (row, column) = (start + row, start + column);
                            for (row, column) in [(row, column), (column, row)] {
                                let (a, b) = (row * outputs + first, column * outputs + second);
                                curvature[a * size + b] = *value;
                                curvature[b * size + a] = *value;
                            }
                        }
                    }
                }
            }
        }
        curvature
    }

    /// The probabilities of all rows at these coefficients, for [`Rows::curvature_times`].
    pub(super) fn probabilities_at(&self, parameters: &[f64]) -> Vec<f64> {
        let mut scores = self.scores(parameters);
        self.probabilities(&mut scores);
        scores
    }

    /// Adds the product of the curvature with a vector. Costs no more than a gradient.
    pub(super) fn curvature_times(
        &self,
        probabilities: &[f64],
        vector: &[f64],
        product: &mut [f64],
    ) {
        let outputs = self.outputs();
        self.there_and_back(vector, product, |first, changes| {
            let probabilities = probabilities[first * outputs..].chunks_exact(outputs);
            for (changes, probabilities) in changes.chunks_exact_mut(outputs).zip(probabilities) {
                if let [change] = changes {
                    *change *= self.weight(probabilities, 0, 0);
                    continue;
                }
                let by = changes.to_vec();
                for (first, change) in changes.iter_mut().enumerate() {
                    let part = |(second, by)| self.weight(probabilities, first, second) * by;
                    *change = by.iter().enumerate().map(part).sum();
                }
            }
        });
    }

    /// The part of [`Rows::curvature`] that belongs to the intercepts.
    pub(super) fn intercept_curvature(&self, parameters: &[f64]) -> Vec<f64> {
        let outputs = self.outputs();
        let mut curvature = vec![0.0; outputs * outputs];
        let mut scores = self.scores(parameters);
        self.probabilities(&mut scores);
        for probabilities in scores.chunks_exact(outputs) {
            for (at, value) in curvature.iter_mut().enumerate() {
                *value += self.weight(probabilities, at / outputs, at % outputs);
            }
        }
        curvature
    }

    /// The probabilities of these scores, over which they are written; of numbers anything.
    fn probabilities(&self, scores: &mut [f64]) {
        match &self.response {
            Response::Values { .. } => {}
            Response::Binary(_) => {
                scores.iter_mut().for_each(|score| *score = probability(*score));
            }
            Response::Classes(_, count) => scores.chunks_exact_mut(*count).for_each(|row| {
                softmax(row);
            }),
        }
    }

    /// The second derivative of a row's loss by two of its scores.
    fn weight(&self, probabilities: &[f64], first: usize, second: usize) -> f64 {
        match &self.response {
            Response::Values { precision, .. } => *precision,
            Response::Binary(_) => probabilities[0] * (1.0 - probabilities[0]),
            Response::Classes(..) => {
                let same = if first == second { 1.0 } else { 0.0 };
                probabilities[first] * (same - probabilities[second])
            }
        }
    }

    /// The coefficients for targets as they came, in single precision.
    pub fn in_units(&self, parameters: &[f64]) -> Vec<f32> {
        let Response::Values { mean, deviation, .. } = &self.response else {
            return parameters.iter().map(|&value| value as f32).collect();
        };
        let mut values: Vec<f64> = parameters.iter().map(|value| value * deviation).collect();
        if let Some(intercept) = values.last_mut() {
            *intercept += mean;
        }
        values.into_iter().map(|value| value as f32).collect()
    }
}

/// Rows of features, each followed by a 1.
fn with_ones(features: impl Iterator<Item = f64>, columns: usize) -> Vec<f64> {
    let features: Vec<f64> = features.collect();
    let one = std::iter::once(1.0);
    features.chunks(columns.max(1)).flat_map(|row| row.iter().copied().chain(one.clone())).collect()
}

/// Numbers less their mean, in deviations; 0 where all are the same.
fn scaled(values: &[f64]) -> Response {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / count;
    let deviation = if is_constant(mean, variance.sqrt()) { 0.0 } else { variance.sqrt() };
    let scaled = |value: &f64| if deviation > 0.0 { (value - mean) / deviation } else { 0.0 };
    let values = values.iter().map(scaled).collect();
    Response::Values { values, mean, deviation, precision: 1.0 }
}

/// The probability of a logarithm of odds.
fn probability(score: f64) -> f64 {
    if score >= 0.0 {
        1.0 / (1.0 + (-score).exp())
    } else {
        let odds = score.exp();
        odds / (1.0 + odds)
    }
}

/// Writes the probabilities of scores over them and returns the logarithm of the sum of their
/// exponentials.
fn softmax(scores: &mut [f64]) -> f64 {
    let most = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let mut total = 0.0;
    for score in &mut *scores {
        *score = (*score - most).exp();
        total += *score;
    }
    scores.iter_mut().for_each(|score| *score /= total);
    most + total.ln()
}

#[cfg(test)]
mod tests {
    use fedcompetitors_graphs::random::Stream;
    use fedcompetitors_testing::repeat;

    use super::*;

    /// The curvature is the slope of the gradient, entry by entry, and so are its products with a vector.
    #[test]
    fn curvature_is_the_slope_of_the_gradient() {
        for case in 0..u64::from(repeat(30)) {
            let mut stream = Stream::new(case, "curvature", 0);
            let (count, columns) = (1 + stream.below(20) as usize, 1 + stream.below(5) as usize);
            let features: Vec<f64> =
                (0..count * columns).map(|_| 4.0 * stream.unit() - 2.0).collect();
            let mut rows = match case % 3 {
                0 => {
                    let values: Vec<f64> = (0..count).map(|_| stream.unit()).collect();
                    Rows::with_values(features.into_iter(), columns, &values)
                }
                outputs => {
                    let labels: Vec<u32> =
                        (0..count).map(|_| stream.below(1 + outputs) as u32).collect();
                    let outputs = if outputs == 1 { 1 } else { 3 };
                    Rows::with_classes(features.into_iter(), columns, &labels, outputs)
                }
            };
            rows.set_noise(0.3);
            let size = rows.parameters();
            let at: Vec<f64> = (0..size).map(|_| 2.0 * stream.unit() - 1.0).collect();
            let gradient = |at: &[f64]| {
                let mut gradient = vec![0.0; size];
                rows.gradient(at, &mut gradient);
                gradient
            };
            let curvature = rows.curvature(&at);
            let probabilities = rows.probabilities_at(&at);
            for index in 0..size {
                let shifted = |by: f64| {
                    let mut at = at.clone();
                    at[index] += by;
                    gradient(&at)
                };
                let (above, below) = (shifted(1e-5), shifted(-1e-5));
                let mut product = vec![0.0; size];
                let mut along = vec![0.0; size];
                along[index] = 1.0;
                rows.curvature_times(&probabilities, &along, &mut product);
                for other in 0..size {
                    let expected = (above[other] - below[other]) / 2e-5;
                    let found = curvature[other * size + index];
                    assert!((found - expected).abs() < 1e-6, "{found} instead of {expected}");
                    assert!((found - product[other]).abs() < 1e-12 * found.abs().max(1.0));
                }
            }
            let intercepts = rows.intercept_curvature(&at);
            let outputs = rows.outputs();
            for (place, found) in intercepts.iter().enumerate() {
                let (row, column) = (place / outputs, place % outputs);
                let first = rows.coefficients();
                let expected = curvature[(first + row) * size + first + column];
                assert!((found - expected).abs() < 1e-12 * found.abs().max(1.0));
            }
        }
    }

    /// The columns whose most frequent value, found by counting each, leaves too few rows.
    #[expect(clippy::float_cmp, reason = "whether values are the same is what is asked for")]
    #[test]
    fn rare_columns_are_those_with_few_other_values() {
        for case in 0..u64::from(repeat(300)) {
            let mut stream = Stream::new(case, "rare columns", 0);
            let (count, columns) = (1 + stream.below(20) as usize, 1 + stream.below(6) as usize);
            let frequent = stream.unit();
            let value = |stream: &mut Stream| {
                if stream.unit() < frequent {
                    [0.0, -0.0][stream.below(2) as usize]
                } else {
                    stream.below(4) as f64
                }
            };
            let features: Vec<f64> = (0..count * columns).map(|_| value(&mut stream)).collect();
            let rows = Rows::with_values(features.iter().copied(), columns, &vec![0.0; count]);
            for fewest in 0..=count + 1 {
                let is_rare = |column: &usize| {
                    let values = || features.iter().skip(*column).step_by(columns);
                    let others = |one: &f64| values().filter(|other| *other != one).count();
                    values().map(others).min().is_some_and(|fewest_others| fewest_others < fewest)
                };
                let expected: Vec<usize> = (0..columns).filter(is_rare).collect();
                assert_eq!(rows.rare_columns(fewest), expected, "case {case}, {fewest}");
            }
        }
    }

    /// With more rows and columns than are worked on together, the curvature times a vector is its product with
    /// the vector.
    #[test]
    fn a_large_curvature_is_put_together_right() {
        for (case, outputs) in [1, 3].into_iter().enumerate() {
            let mut stream = Stream::new(case as u64, "large curvature", 0);
            let (count, columns) = (TILE + 100, PANEL + 20);
            let features: Vec<f64> = (0..count * columns).map(|_| stream.unit() - 0.5).collect();
            let labels: Vec<u32> =
                (0..count).map(|_| stream.below(outputs.max(2) as u64) as u32).collect();
            let rows = Rows::with_classes(features.into_iter(), columns, &labels, outputs);
            let size = rows.parameters();
            let at: Vec<f64> = (0..size).map(|_| stream.unit() - 0.5).collect();
            let along: Vec<f64> = (0..size).map(|_| stream.unit() - 0.5).collect();
            let mut found = vec![0.0; size];
            rows.curvature_times(&rows.probabilities_at(&at), &along, &mut found);
            let curvature = rows.curvature(&at);
            for (row, found) in curvature.chunks_exact(size).zip(found) {
                let expected: f64 = row.iter().zip(&along).map(|(a, b)| a * b).sum();
                assert!((found - expected).abs() < 1e-9 * expected.abs().max(1.0));
            }
        }
    }
}
