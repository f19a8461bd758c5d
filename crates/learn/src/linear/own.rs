//! A participant's own part in learning by evidence.

use fedcompetitors_graphs::random::Stream;

use super::{
    Curvature, Folds, Penalty, Rows, Summary, Tuned, fit,
    ridges::Span,
    summary::noise,
    tuned::{EXACT, tuned, tuned_with},
};
use crate::Dependence;

/// A participant's rows with the model that it fits to them alone.
///
/// ```
/// use fedcompetitors_learn::{
///     Dependence,
///     linear::{Own, Rows},
/// };
///
/// let features = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0];
/// let rows = Rows::with_classes(features.into_iter(), 1, &[0, 0, 1, 0, 1, 0, 1, 1], 1);
/// let own = Own::new(rows, 4, &Dependence::None);
/// let [coefficient, _intercept] = own.parameters()[..] else { unreachable!("one feature") };
/// assert!(coefficient > 0.0);
/// ```
#[derive(Debug, Clone)]
pub struct Own {
    rows: Rows,
    folds: Folds,
    tuned: Tuned,
    best: Vec<f64>,
    /// What is added to the odds of class 1 in its models.
    odds: f32,
}

impl Own {
    /// Fits a participant's rows; the strength of the ridge is chosen by marginal likelihood and by cross-validation
    /// with at most `folds` folds, in which rows that depend on each other stay together. The same rows always
    /// have the same folds.
    ///
    /// With fewer rows than features, fits take place in the span of the rows, as those of
    /// [`ridges`](super::ridges) do: n rows and d features cost O(n²·d) and fits of n coefficients. Beyond 2,500
    /// parameters the curvature is not computed, only its products with vectors.
    ///
    /// # Panics
    /// If the dependence is of another number of rows.
    pub fn new(mut rows: Rows, folds: u32, dependence: &Dependence) -> Self {
        let mut stream = Stream::new(rows.len() as u64, "folds of own rows", 0);
        let folds = Folds::new(&rows, folds, dependence, &mut stream);
        let mut span = if rows.columns() > rows.len() { Span::of(&rows) } else { None };
        if rows.has_values() {
            let inner = span.as_ref().map_or(&rows, |span| &span.coordinates);
            let has_many = inner.len() > 2 * inner.parameters();
            let strength = if has_many { 0.0 } else { tuned(inner, &folds).strength };
            let variance = noise(inner, strength);
            rows.set_noise(variance);
            span.iter_mut().for_each(|span| span.coordinates.set_noise(variance));
        }
        let inner = span.as_ref().map_or(&rows, |span| &span.coordinates);
        let mut tuned = tuned(inner, &folds);
        let penalty = Penalty { evidence: None, strength: tuned.strength };
        let mut best = fit(inner, penalty, &tuned.parameters, EXACT, &mut Curvature::default());
        if let Some(span) = &span {
            tuned.parameters = span.coefficients(&rows, &tuned.parameters);
            best = span.coefficients(&rows, &best);
        }
        Self { rows, folds, tuned, best, odds: 0.0 }
    }

    /// Counts the two classes with these weights in its models. Rows count the same in fits and summaries; with
    /// weights the odds of class 1 differ by their ratio. With one class there is nothing to weigh.
    #[must_use]
    pub fn with_class_weights(self, [of_0, of_1]: [f32; 2]) -> Self {
        let odds = if self.rows.is_constant() { 0.0 } else { (of_1 / of_0).ln() };
        Self { odds, ..self }
    }

    fn in_units(&self, parameters: &[f64]) -> Vec<f32> {
        let mut parameters = self.rows.in_units(parameters);
        if let Some(intercept) = parameters.last_mut() {
            *intercept += self.odds;
        }
        parameters
    }

    /// The rows, with the variance of their noise.
    pub fn rows(&self) -> &Rows {
        &self.rows
    }

    /// The fit with the strength of the largest weight.
    pub fn best(&self) -> &[f64] {
        &self.best
    }

    /// The parameters of its model, with nothing from others: a mean over the strengths of the ridge.
    pub fn parameters(&self) -> Vec<f32> {
        self.in_units(&self.tuned.parameters)
    }

    /// The decay with which gradient descent on a mean loss over this many rows has the ridge with the largest
    /// weight, on coefficients; intercepts have none. (The mean of squared errors is twice the negative
    /// log-likelihood of a row, times the variance of the noise.)
    pub fn decay(&self, rows: usize) -> f64 {
        let unit = self.rows.noise().map_or(1.0, |variance| 2.0 * variance);
        unit * self.tuned.strength / rows as f64
    }

    /// What others may use of its data, without columns in which fewer than `fewest` rows differ from
    /// the others: these would give single records away. Constant columns are always left out.
    pub fn summary(&self, fewest: usize) -> Summary {
        let mut summary = Summary::of(&self.rows, &self.best);
        let (rare, outputs) = (self.rows.rare_columns(fewest.max(1)), self.rows.outputs());
        let rare = rare.into_iter().flat_map(|column| column * outputs..(column + 1) * outputs);
        summary.leave_out(&rare.collect::<Vec<_>>());
        summary
    }

    /// The parameters of its model with what others' data says, and the weight that it gives to that,
    /// from 0 to 1.
    pub fn with_evidence(&self, evidence: &Summary) -> (Vec<f32>, f64) {
        let own = Summary::of(&self.rows, &self.best);
        let tuned = tuned_with(&self.rows, &own, evidence, &self.tuned, &self.folds);
        (self.in_units(&tuned.parameters), tuned.weight)
    }
}
