//! How probable it is that two participants' data are about one task, from their summaries alone.

use super::Summary;

/// The fractions of the variance of coefficients that may be each participant's own, all equally probable
/// beforehand.
pub const FRACTIONS: [f64; 5] = [0.03, 0.1, 0.3, 0.6, 0.85];

/// A logarithm of a ratio must exceed this to count: nearer to 0 only rounding decides. A summary that says
/// nothing has a ratio of 1 with every other.
const LEAST_LOG_RATIO: f64 = 1e-6;

/// How many variances of coefficients are tried: from 2⁻¹² to 2⁴, two for each doubling. A grid lets all
/// pairs with the same variance share what is expensive.
const VARIANCES: usize = 33;

/// What two summaries say about each other.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Relation {
    /// The logarithm of how much likelier one task with differences is than two unrelated tasks.
    pub log_ratio: f64,
    /// The likeliest variance of the difference between the coefficients of the two.
    pub saturation: f64,
    /// The mean of that variance over all fractions, each as probable as the two summaries make it.
    mean: f64,
    /// The variance of the difference between two unrelated tasks.
    unrelated: f64,
}

impl Relation {
    /// The probability of one task, if both are equally probable beforehand.
    pub fn probability(self) -> f64 {
        1.0 / (1.0 + (-self.log_ratio).exp())
    }

    /// The variance of the difference that is to be expected: of one task or two, each as probable as it is. A
    /// relation that is hardly likelier than none does not count as a close one.
    pub fn expected(self) -> f64 {
        let probability = self.probability();
        probability * self.mean + (1.0 - probability) * self.unrelated
    }

    /// Whether one task is likelier than two, by more than rounding.
    pub fn is_related(self) -> bool {
        self.log_ratio > LEAST_LOG_RATIO
    }
}

/// A summary at one variance of coefficients, with all that its relations need. Made once for each
/// participant and variance, as it costs O(d³) for each fraction.
#[derive(Debug, Clone)]
pub struct Prepared {
    variance: f64,
    log_evidence: f64,
    fractions: Vec<f64>,
    /// For each fraction the saturated summary and the logarithm of its evidence.
    saturated: Vec<(Summary, f64)>,
}

impl Prepared {
    /// Prepares a summary, with the fractions that are tried by default.
    pub fn new(summary: &Summary, variance: f64) -> Self {
        Self::with_fractions(summary, variance, &FRACTIONS)
    }

    /// The same with other fractions.
    pub fn with_fractions(summary: &Summary, variance: f64, fractions: &[f64]) -> Self {
        let saturated = fractions.iter().map(|part| summary.saturated(part * variance));
        Self {
            variance,
            log_evidence: summary.log_evidence(variance),
            fractions: fractions.to_vec(),
            saturated: saturated.collect(),
        }
    }
}

/// The relation of two prepared summaries: for each fraction `f` a common part with variance
/// `(1 − f)s²` and two own parts with `f s²`, against two independent tasks. Symmetric; costs O(d³).
///
/// # Panics
/// If they are prepared for different variances or fractions.
///
/// ```
/// use fedcompetitors_learn::linear::{Prepared, Summary, relatedness};
///
/// // Two data sets with one coefficient that say 1, and one that says −1, each as 50 rows would.
/// let says = |value: f64| Prepared::new(&Summary::new(vec![50.0], vec![50.0 * value]), 1.0);
/// assert!(relatedness(&says(1.0), &says(1.0)).is_related());
/// assert!(!relatedness(&says(1.0), &says(-1.0)).is_related());
/// ```
pub fn relatedness(a: &Prepared, b: &Prepared) -> Relation {
    assert_eq!(a.variance.to_bits(), b.variance.to_bits(), "one variance of coefficients");
    assert_eq!(a.fractions, b.fractions, "the same fractions");
    let likelihoods = a.fractions.iter().zip(a.saturated.iter().zip(&b.saturated)).map(
        |(part, ((first, first_evidence), (second, second_evidence)))| {
            let mut both = first.clone();
            both.add(second);
            first_evidence + second_evidence + both.log_evidence((1.0 - part) * a.variance)
        },
    );
    let likelihoods: Vec<f64> = likelihoods.collect();
    let likeliest = first_largest(&likelihoods);
    let largest = likelihoods[likeliest];
    let unrelated = 2.0 * a.variance;
    if !largest.is_finite() {
        let log_ratio = f64::NEG_INFINITY;
        return Relation { log_ratio, saturation: unrelated, mean: unrelated, unrelated };
    }
    let (mut sum, mut own) = (0.0, 0.0);
    for (part, likelihood) in a.fractions.iter().zip(&likelihoods) {
        let likelihood = (likelihood - largest).exp();
        sum += likelihood;
        own += likelihood * part;
    }
    Relation {
        log_ratio: largest + (sum / likelihoods.len() as f64).ln()
            - a.log_evidence
            - b.log_evidence,
        saturation: unrelated * a.fractions[likeliest],
        mean: unrelated * own / sum,
        unrelated,
    }
}

/// The logarithms of a summary's evidence at each variance that is tried.
pub fn log_evidences(summary: &Summary) -> Vec<f64> {
    (0..VARIANCES).map(|at| summary.log_evidence(variance(at))).collect()
}

/// The variance of coefficients under which these summaries, given by their [`log_evidences`], are
/// likeliest together; of equals the smallest.
pub fn likeliest_variance<'a>(of: impl Iterator<Item = &'a [f64]>) -> f64 {
    let mut sums = vec![0.0; VARIANCES];
    for evidences in of {
        sums.iter_mut().zip(evidences).for_each(|(sum, evidence)| *sum += evidence);
    }
    variance(first_largest(&sums))
}

/// One of the variances that are tried.
fn variance(at: usize) -> f64 {
    2.0_f64.powf(0.5 * at as f64 - 12.0)
}

/// Where the largest of some values stands first.
fn first_largest(values: &[f64]) -> usize {
    let places = (0..values.len()).rev();
    places.max_by(|&a, &b| values[a].total_cmp(&values[b])).unwrap_or(0)
}
