//! Methods compared by a paired bootstrap.

use fedcompetitors_graphs::random::Stream;
use fedcompetitors_record::{Figure, Score};
use rayon::prelude::*;

use super::{Predictions, series::Series};
use crate::{LearnError, Metric};

/// The draws of a bootstrap, unless another number is asked for.
pub const REPLICATES: usize = 1000;

/// Methods on the rows of several participants.
///
/// A bootstrap draws as many units as a participant has, with replacement, for each participant by itself.
/// In a draw all methods are scored on the same rows, so that what they have in common falls out of gains.
/// The same seed gives the same draws for every metric, whatever the number of threads.
#[derive(Debug, Clone)]
pub struct Comparison {
    participants: Vec<Predictions>,
    baseline: usize,
    seed: u64,
    replicates: usize,
}

/// The scores of one method.
#[derive(Debug, Clone, PartialEq)]
pub struct MethodScores {
    /// One for each participant.
    pub participants: Vec<Score>,
    /// The means over the participants whose figures are defined.
    pub mean: Score,
    /// For each method the standard error of the difference between both means, in figures of the same draws.
    pub standard_errors: Vec<Option<f64>>,
}

impl Comparison {
    /// Compares methods with the one that is number `baseline` in each participant's predictions.
    ///
    /// # Errors
    /// If participants have different numbers of methods, or if there is no such baseline.
    pub fn new(
        participants: Vec<Predictions>,
        baseline: usize,
        seed: u64,
    ) -> Result<Self, LearnError> {
        let methods = participants.first().map_or(0, Predictions::methods);
        if let Some(other) = participants.iter().find(|other| other.methods() != methods) {
            let problem = format!("{} methods instead of {methods}", other.methods());
            return Err(LearnError::Predictions(problem));
        }
        if baseline >= methods {
            let problem = format!("the baseline is method {baseline} of {methods}");
            return Err(LearnError::Predictions(problem));
        }
        Ok(Self { participants, baseline, seed, replicates: REPLICATES })
    }

    /// The same with another number of draws.
    #[must_use]
    pub fn with_replicates(self, replicates: usize) -> Self {
        Self { replicates, ..self }
    }

    /// The scores of each method by a metric, for each participant and on average.
    ///
    /// # Panics
    /// If the metric is not defined for the targets' task.
    pub fn scores(&self, metric: &dyn Metric) -> Vec<MethodScores> {
        let everybody: Vec<Vec<Pair>> = (0..self.participants.len())
            .into_par_iter()
            .map(|participant| self.pairs(metric, participant))
            .collect();
        let methods = self.participants.first().map_or(0, Predictions::methods);
        (0..methods)
            .map(|method| {
                let pairs: Vec<&Pair> = everybody.iter().map(|pairs| &pairs[method]).collect();
                let mean = |of: fn(&Pair) -> Option<&Series>| {
                    let defined: Vec<&Series> = pairs.iter().filter_map(|pair| of(pair)).collect();
                    figure(Series::mean(&defined, self.replicates).as_ref())
                };
                let score = |pair: &&Pair| Score {
                    value: figure(pair.value.as_ref()),
                    gain: figure(pair.gain.as_ref()),
                };
                MethodScores {
                    participants: pairs.iter().map(score).collect(),
                    standard_errors: (0..methods)
                        .map(|other| self.standard_error(&everybody, method, other))
                        .collect(),
                    mean: Score {
                        value: mean(|pair| pair.value.as_ref()),
                        gain: mean(|pair| pair.gain.as_ref()),
                    },
                }
            })
            .collect()
    }

    /// The standard error of the difference between the means of two methods.
    fn standard_error(&self, everybody: &[Vec<Pair>], one: usize, other: usize) -> Option<f64> {
        let values = everybody.iter().map(|pairs| [one, other].map(|at| pairs[at].value.as_ref()));
        let defined = values.filter(|[one, other]| one.is_some() || other.is_some());
        let differences: Option<Vec<Series>> =
            defined.map(|[one, other]| one?.minus(other?)).collect();
        let differences = differences?;
        let all: Vec<&Series> = differences.iter().collect();
        Series::mean(&all, self.replicates)?.standard_error()
    }

    /// Each method's figure and gain for a participant.
    fn pairs(&self, metric: &dyn Metric, participant: usize) -> Vec<Pair> {
        let predictions = &self.participants[participant];
        let scorers = predictions.scorers(metric);
        let all = vec![1; predictions.targets().len()];
        let values: Vec<Option<f64>> = scorers.iter().map(|scorer| scorer.score(&all)).collect();
        let mut draws = Draws::new(predictions.units(), self.seed, participant as u64);
        // A single unit is drawn again and again, which says nothing.
        let replicates = if draws.units() < 2 { 0 } else { self.replicates };
        let mut drawn = vec![Vec::with_capacity(replicates); scorers.len()];
        for _ in 0..replicates {
            let weights = draws.next();
            for (drawn, scorer) in drawn.iter_mut().zip(&scorers) {
                drawn.push(scorer.score(weights));
            }
        }
        let sign = if metric.more_is_better() { 1.0 } else { -1.0 };
        let gain =
            |(of, baseline): (&Option<f64>, &Option<f64>)| Some(sign * ((*of)? - (*baseline)?));
        let gains = |method: usize| drawn[method].iter().zip(&drawn[self.baseline]).map(gain);
        (0..scorers.len())
            .map(|method| Pair {
                gain: Series::new(
                    gain((&values[method], &values[self.baseline])),
                    gains(method).collect(),
                ),
                value: Series::new(values[method], drawn[method].clone()),
            })
            .collect()
    }
}

/// A method's figure for a participant, and its gain.
struct Pair {
    value: Option<Series>,
    gain: Option<Series>,
}

fn figure(series: Option<&Series>) -> Figure {
    series.map_or(Figure::Undefined, Series::figure)
}

/// Draws of a participant's units, with replacement.
struct Draws<'a> {
    units: &'a [usize],
    stream: Stream,
    /// How often each unit was drawn.
    counts: Vec<u32>,
    /// The same for each row.
    weights: Vec<u32>,
}

impl<'a> Draws<'a> {
    fn new(units: &'a [usize], seed: u64, participant: u64) -> Self {
        let counts = vec![0; units.iter().max().map_or(0, |last| last + 1)];
        let stream = Stream::new(seed, "bootstrap", participant);
        Self { units, stream, counts, weights: vec![0; units.len()] }
    }

    /// How many units there are.
    fn units(&self) -> usize {
        self.counts.len()
    }

    /// Draws as many units as there are, and returns how often each row was drawn.
    fn next(&mut self) -> &[u32] {
        self.counts.fill(0);
        for _ in 0..self.units() {
            let unit = self.stream.below(self.counts.len() as u64);
            self.counts[unit as usize] += 1;
        }
        for (weight, &unit) in self.weights.iter_mut().zip(self.units) {
            *weight = self.counts[unit];
        }
        &self.weights
    }
}
