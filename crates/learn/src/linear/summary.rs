//! What a participant's data says about the coefficients of a linear model.

use super::{Cholesky, Curvature, Penalty, Rows, fit};
use crate::kernels::{View, multiply};

/// Steps in which own intercepts are fitted; they start near their best values.
const MOST_STEPS: usize = 100;

/// The coefficients θ of a linear model as one participant's data sees them: `½ θᵀHθ − bᵀθ` is, near the
/// participant's own fit and up to a constant, the summed loss of its rows, with its own intercepts at
/// their best values. A sum of summaries says what all those data sets say together.
#[derive(Debug, Clone, PartialEq)]
pub struct Summary {
    /// `H`, row after row.
    curvature: Vec<f64>,
    /// `b`.
    linear: Vec<f64>,
}

/// Why a summary is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BadSummary {
    /// Another number of numbers than the model's coefficients ask for.
    Length,
    /// A number is NaN or infinite.
    NotFinite,
    /// The curvature has a negative eigenvalue.
    NotPositive,
}

impl Summary {
    /// A summary that says nothing about these many coefficients.
    pub fn nothing(coefficients: usize) -> Self {
        Self { curvature: vec![0.0; coefficients * coefficients], linear: vec![0.0; coefficients] }
    }

    /// A summary of these numbers: `H` row after row, and `b`.
    ///
    /// # Panics
    /// If the lengths do not go together.
    pub fn new(curvature: Vec<f64>, linear: Vec<f64>) -> Self {
        assert_eq!(curvature.len(), linear.len() * linear.len(), "a square for each coefficient");
        Self { curvature, linear }
    }

    /// The summary of a participant's rows at its own fit. The intercepts are fitted without a ridge
    /// and profiled out by the Schur complement. Costs O(n·d² + d³).
    pub fn of(rows: &Rows, own: &[f64]) -> Self {
        let (coefficients, outputs) = (rows.coefficients(), rows.outputs());
        if rows.is_constant() {
            return Self::nothing(coefficients);
        }
        let free = free_intercepts(rows);
        let mut at = own.to_vec();
        best_intercepts(rows, &free, &mut at);
        let mut slope = vec![0.0; rows.parameters()];
        rows.gradient(&at, &mut slope);
        let full = rows.curvature(&at);
        let size = rows.parameters();
        let entry = |a: usize, b: usize| full[a * size + b];
        // Solutions of H_cc · x = (H_cθ, g_c) for the free intercepts.
        let columns = coefficients + 1;
        let mut right = Vec::with_capacity(free.len() * columns);
        for &intercept in &free {
            right.extend((0..coefficients).map(|theta| entry(coefficients + intercept, theta)));
            right.push(slope[coefficients + intercept]);
        }
        let cross: Vec<f64> = right.clone();
        let inner = free
            .iter()
            .flat_map(|&a| free.iter().map(move |&b| entry(coefficients + a, coefficients + b)));
        let Some(inner) = Cholesky::new(inner.collect(), free.len()) else {
            return Self::nothing(coefficients);
        };
        inner.solve_columns(&mut right, columns);
        let mut product = vec![0.0; coefficients * columns];
        let cross = View::block(&cross, free.len(), coefficients, columns).transposed();
        multiply(cross, View::new(&right[..], free.len(), columns), &mut product, false);
        let mut summary = Self::nothing(coefficients);
        for theta in 0..coefficients {
            let product = &product[theta * columns..][..columns];
            let row = &mut summary.curvature[theta * coefficients..][..coefficients];
            for (other, value) in row.iter_mut().enumerate() {
                *value = entry(theta, other) - product[other];
            }
            slope[theta] -= product[coefficients];
        }
        summary.symmetrise();
        summary.linear = summary.times(&own[..coefficients]);
        summary.linear.iter_mut().zip(&slope).for_each(|(linear, slope)| *linear -= slope);
        debug_assert_eq!(outputs * rows.columns(), coefficients, "a coefficient for each output");
        summary
    }

    /// The number of coefficients.
    pub fn coefficients(&self) -> usize {
        self.linear.len()
    }

    /// `H`, row after row.
    pub fn curvature(&self) -> &[f64] {
        &self.curvature
    }

    /// `b`.
    pub fn linear(&self) -> &[f64] {
        &self.linear
    }

    /// Whether the summary says something about a coefficient.
    pub fn covers(&self, coefficient: usize) -> bool {
        self.curvature[coefficient * (self.coefficients() + 1)] > 0.0
    }

    /// Whether the summary says nothing at all: all rows have one class, or all columns are constant.
    pub fn is_empty(&self) -> bool {
        !(0..self.coefficients()).any(|at| self.covers(at))
    }

    /// Leaves coefficients out: the summary says nothing about them, and about the others what it said
    /// with these at 0.
    pub fn leave_out(&mut self, coefficients: &[usize]) {
        let size = self.coefficients();
        for &out in coefficients {
            (0..size).for_each(|other| {
                self.curvature[out * size + other] = 0.0;
                self.curvature[other * size + out] = 0.0;
            });
            self.linear[out] = 0.0;
        }
    }

    /// The summary with this weight.
    pub(super) fn scaled(&self, weight: f64) -> Self {
        let scaled = |values: &[f64]| values.iter().map(|value| weight * value).collect();
        Self { curvature: scaled(&self.curvature), linear: scaled(&self.linear) }
    }

    /// Adds another summary.
    pub fn add(&mut self, other: &Self) {
        self.curvature.iter_mut().zip(&other.curvature).for_each(|(own, more)| *own += more);
        self.linear.iter_mut().zip(&other.linear).for_each(|(own, more)| *own += more);
    }

    /// `½ θᵀHθ − bᵀθ`; adds `weight` times its gradient.
    pub(super) fn gradient(&self, theta: &[f64], weight: f64, gradient: &mut [f64]) -> f64 {
        let mut value = 0.0;
        for (at, product) in self.times(theta).into_iter().enumerate() {
            value += theta[at] * (0.5 * product - self.linear[at]);
            gradient[at] += weight * (product - self.linear[at]);
        }
        value
    }

    pub(super) fn times(&self, theta: &[f64]) -> Vec<f64> {
        let size = self.coefficients();
        let mut product = vec![0.0; size];
        if size > 0 {
            let curvature = View::new(&self.curvature[..], size, size);
            multiply(curvature, View::new(theta, size, 1), &mut product, false);
        }
        product
    }

    /// `I + variance · H`, factorised; `None` if rounding has made `H` too negative for that.
    fn widened(&self, variance: f64) -> Option<Cholesky> {
        let size = self.coefficients();
        let mut matrix: Vec<f64> = self.curvature.iter().map(|value| variance * value).collect();
        (0..size).for_each(|at| matrix[at * (size + 1)] += 1.0);
        Cholesky::new(matrix, size)
    }

    /// The logarithm of the summary's likelihood where coefficients are normal around 0 with this
    /// variance: `−½ log|I + s²H| + ½ bᵀ(H + I/s²)⁻¹b`. Costs O(d³).
    pub fn log_evidence(&self, variance: f64) -> f64 {
        let Some(widened) = self.widened(variance) else { return f64::NEG_INFINITY };
        self.evidence_of(&widened, variance)
    }

    fn evidence_of(&self, widened: &Cholesky, variance: f64) -> f64 {
        let mut solved = self.linear.clone();
        widened.solve(&mut solved);
        let product: f64 = solved.iter().zip(&self.linear).map(|(a, b)| a * b).sum();
        0.5 * (variance * product - widened.log_determinant())
    }

    /// What the summary says about the coefficients of somebody whose own differ from this
    /// participant's by a variance: `H(I + τ²H)⁻¹` and `(I + τ²H)⁻¹b`, and [`Summary::log_evidence`]
    /// at that variance. Costs O(d³).
    pub fn saturated(&self, variance: f64) -> (Self, f64) {
        let size = self.coefficients();
        let Some(widened) = self.widened(variance) else {
            return (Self::nothing(size), f64::NEG_INFINITY);
        };
        let mut saturated = self.clone();
        widened.solve(&mut saturated.linear);
        widened.solve_columns(&mut saturated.curvature, size);
        saturated.symmetrise();
        let log_evidence = self.evidence_of(&widened, variance);
        (saturated, log_evidence)
    }

    /// Sets each pair of opposite entries to their mean.
    fn symmetrise(&mut self) {
        let size = self.coefficients();
        for row in 0..size {
            for column in 0..row {
                let (a, b) = (row * size + column, column * size + row);
                let mean = 0.5 * (self.curvature[a] + self.curvature[b]);
                (self.curvature[a], self.curvature[b]) = (mean, mean);
            }
        }
    }

    /// The numbers of a message: the lower triangle of `H`, row after row, then `b`.
    pub fn to_message(&self) -> Vec<f32> {
        let rows = self.curvature.chunks_exact(self.coefficients().max(1)).enumerate();
        let triangle = rows.flat_map(|(at, row)| &row[..=at]);
        triangle.chain(&self.linear).map(|&value| value as f32).collect()
    }

    /// How many numbers the message of a summary has.
    pub fn message_length(coefficients: usize) -> usize {
        coefficients * (coefficients + 1) / 2 + coefficients
    }

    /// The summary of a message. Rounding to single precision may have made `H` slightly negative, so
    /// 10⁻⁷ of its trace is added to its diagonal; what is left out of it stays 0.
    ///
    /// # Errors
    /// If it is not a summary of these many coefficients with a positive semidefinite `H`.
    pub fn from_message(coefficients: usize, numbers: &[f32]) -> Result<Self, BadSummary> {
        if numbers.len() != Self::message_length(coefficients) {
            return Err(BadSummary::Length);
        }
        if numbers.iter().any(|number| !number.is_finite()) {
            return Err(BadSummary::NotFinite);
        }
        let mut numbers = numbers.iter().map(|&number| f64::from(number));
        let mut summary = Self::nothing(coefficients);
        for row in 0..coefficients {
            for (column, number) in (0..=row).zip(&mut numbers) {
                summary.curvature[row * coefficients + column] = number;
                summary.curvature[column * coefficients + row] = number;
            }
        }
        summary.linear = numbers.collect();
        let trace = summary.trace();
        let diagonal = (0..coefficients).map(|at| at * (coefficients + 1));
        for at in diagonal {
            if summary.curvature[at] != 0.0 {
                summary.curvature[at] += 1e-7 * trace;
            }
        }
        let mut shifted = summary.curvature.clone();
        // Where all is 0 there is nothing to refuse.
        (0..coefficients).for_each(|at| shifted[at * (coefficients + 1)] += f64::MIN_POSITIVE);
        match Cholesky::new(shifted, coefficients) {
            Some(_) => Ok(summary),
            None => Err(BadSummary::NotPositive),
        }
    }

    /// The sum of the diagonal of `H`.
    pub fn trace(&self) -> f64 {
        self.curvature.iter().step_by(self.coefficients() + 1).sum()
    }
}

/// The intercepts that a fit without a ridge determines: one for two classes and for numbers; of several
/// classes those that occur, but for the last of them, as only differences count.
fn free_intercepts(rows: &Rows) -> Vec<usize> {
    let occurs = rows.occurs();
    let mut free: Vec<usize> = (0..rows.outputs()).filter(|&output| occurs[output]).collect();
    if rows.outputs() > 1 {
        free.pop();
    }
    free
}

/// Fits the free intercepts without a ridge, by Newton's method; those of classes that do not occur become
/// so low that the classes have no probability.
fn best_intercepts(rows: &Rows, free: &[usize], at: &mut [f64]) {
    let (coefficients, outputs) = (rows.coefficients(), rows.outputs());
    for (output, occurs) in rows.occurs().into_iter().enumerate() {
        if !occurs {
            at[coefficients + output] = -1e3;
        }
    }
    let mut before = f64::INFINITY;
    for _ in 0..MOST_STEPS {
        let mut gradient = vec![0.0; rows.parameters()];
        rows.gradient(at, &mut gradient);
        let full = rows.intercept_curvature(at);
        let pairs = free.iter().flat_map(|&a| free.iter().map(move |&b| a * outputs + b));
        let inner = pairs.map(|pair| full[pair]).collect();
        let Some(inner) = Cholesky::new(inner, free.len()) else { return };
        let mut step: Vec<f64> = free.iter().map(|at| gradient[coefficients + at]).collect();
        inner.solve(&mut step);
        let largest = step.iter().fold(0.0_f64, |largest, step| largest.max(step.abs()));
        // Only rounding is left.
        if largest < 1e-15 || largest < 1e-9 && largest >= before {
            return;
        }
        before = largest;
        // Far from the best value a step of Newton's may be much too long.
        let length = (2.0 / largest).min(1.0);
        for (&output, step) in free.iter().zip(&step) {
            at[coefficients + output] -= length * step;
        }
    }
}

/// The variance of the noise of standardised targets: that of the residuals of a fit without a ridge
/// where there are more rows than twice the coefficients, otherwise of a fit with one.
pub(super) fn noise(rows: &Rows, strength: f64) -> f64 {
    let (count, parameters) = (rows.len() as f64, rows.parameters());
    let is_free = rows.len() > 2 * parameters;
    let strength = if is_free { 0.0 } else { strength };
    let start = vec![0.0; parameters];
    let mut kept = Curvature::default();
    let fitted = fit(rows, Penalty { evidence: None, strength }, &start, 1e-20, &mut kept);
    let squares = 2.0 * rows.loss(&fitted);
    let taken = if is_free {
        parameters as f64
    } else {
        1.0 + degrees_of_freedom(&Summary::of(rows, &fitted), strength)
    };
    // Targets without noise would make rows count without limit.
    (squares / (count - taken).max(1.0)).clamp(1e-6, 1.0)
}

/// How many coefficients a ridge leaves free: the trace of `H(H + λI)⁻¹`.
fn degrees_of_freedom(summary: &Summary, strength: f64) -> f64 {
    let (saturated, _) = summary.saturated(1.0 / strength);
    saturated.trace() / strength
}
