//! Predictions of rows that were left out, checked.

use std::collections::BTreeMap;

use super::{Calibration, has_few_of_a_class};
use crate::{LearnError, Metric, Scorer, Targets};

/// The predictions of one model for the rows that it was not trained on.
#[derive(Debug, Clone, PartialEq)]
pub struct TestFold {
    /// Which cross-validation the fold belongs to. With rows that are held out, a repeat has one fold, of
    /// some of the rows.
    pub repeat: usize,
    /// The rows.
    pub rows: Vec<usize>,
    /// The model's outputs, row after row, in the shape that a [`Metric`] takes.
    pub outputs: Vec<f64>,
}

/// What several methods have predicted for one participant: for each row, at most one prediction in each
/// repeat of each method.
#[derive(Debug, Clone, PartialEq)]
pub struct Predictions {
    targets: Targets,
    /// The unit of each row, counted from 0 in the order in which they first occur.
    units: Vec<usize>,
    /// The test folds of each method.
    methods: Vec<Vec<TestFold>>,
}

impl Predictions {
    /// Puts together a participant's targets and the test folds of each method.
    ///
    /// `units` says which rows belong together, such as those of a patient: rows with the same number
    /// are drawn together. By default each row is a unit.
    ///
    /// # Errors
    /// If there are no rows, if the number of units or outputs does not fit, if a row is in no test fold or
    /// in two of one repeat, or if an output is not finite.
    pub fn new(
        targets: Targets,
        units: Option<&[usize]>,
        methods: Vec<Vec<TestFold>>,
    ) -> Result<Self, LearnError> {
        let rows = targets.len();
        if rows == 0 {
            return Err(LearnError::NoSamples);
        }
        targets.check()?;
        for (method, folds) in methods.iter().enumerate() {
            check(&targets, folds).map_err(|problem| {
                LearnError::Predictions(format!("method {method}: {problem}"))
            })?;
        }
        let units = match units {
            None => (0..rows).collect(),
            Some(units) if units.len() == rows => in_order(units),
            Some(units) => {
                let problem = format!("the units of {} rows instead of {rows}", units.len());
                return Err(LearnError::Predictions(problem));
            }
        };
        Ok(Self { targets, units, methods })
    }

    /// The targets.
    pub fn targets(&self) -> &Targets {
        &self.targets
    }

    /// The calibration of a method's predictions, those of all repeats together; `None` where rows do not
    /// have one output for two classes, and where a class has fewer than [`super::FEW_OF_A_CLASS`] rows, from which
    /// two coefficients cannot be told.
    ///
    /// # Panics
    /// If there is no such method.
    pub fn calibration(&self, method: usize) -> Option<Calibration> {
        let Targets::Classes { labels, .. } = &self.targets else { return None };
        if has_few_of_a_class(&self.targets) {
            return None;
        }
        let folds = &self.methods[method];
        let has_odds = folds.iter().all(|fold| fold.outputs.len() == fold.rows.len());
        let rows = folds.iter().flat_map(|fold| fold.rows.iter().zip(&fold.outputs));
        let rows: Vec<_> = rows.map(|(&row, &odds)| (odds, labels[row] == 1)).collect();
        if has_odds { Calibration::of(&rows) } else { None }
    }

    /// The number of methods.
    pub(super) fn methods(&self) -> usize {
        self.methods.len()
    }

    /// The unit of each row, counted from 0.
    pub(super) fn units(&self) -> &[usize] {
        &self.units
    }

    /// Each method, prepared for a metric.
    pub(super) fn scorers(&self, metric: &dyn Metric) -> Vec<CrossScorer<'_>> {
        let scorer = |folds| CrossScorer::new(metric, &self.targets, folds);
        self.methods.iter().map(Vec::as_slice).map(scorer).collect()
    }
}

/// Numbers the units by their first rows, so that their names do not matter.
fn in_order(units: &[usize]) -> Vec<usize> {
    let mut numbers = BTreeMap::new();
    units
        .iter()
        .map(|unit| {
            let next = numbers.len();
            *numbers.entry(unit).or_insert(next)
        })
        .collect()
}

/// Checks that each row has a finite prediction, at most one in each repeat.
fn check(targets: &Targets, folds: &[TestFold]) -> Result<(), String> {
    let classes = match targets {
        Targets::Values(_) => 1,
        Targets::Classes { count, .. } => *count as usize,
    };
    let mut tested = BTreeMap::new();
    for fold in folds {
        let (rows, outputs) = (fold.rows.len(), fold.outputs.len());
        let repeat = fold.repeat;
        // Two classes may have one output.
        if outputs != rows * classes && (outputs != rows || classes != 2) {
            return Err(format!("repeat {repeat}: {outputs} outputs for {rows} rows"));
        }
        if let Some(at) = fold.outputs.iter().position(|output| !output.is_finite()) {
            let (row, output) = (fold.rows[at * rows / outputs], fold.outputs[at]);
            return Err(format!("repeat {repeat}, row {row}: the output {output} is not finite"));
        }
        let tested = tested.entry(repeat).or_insert_with(|| vec![false; targets.len()]);
        for &row in &fold.rows {
            match tested.get_mut(row) {
                Some(tested) if !*tested => *tested = true,
                Some(_) => return Err(format!("repeat {repeat}: row {row} is tested twice")),
                None => return Err(format!("repeat {repeat}: there is no row {row}")),
            }
        }
    }
    if tested.is_empty() {
        return Err("there are no test folds".into());
    }
    let is_tested = |row: &usize| tested.values().any(|tested| tested[*row]);
    match (0..targets.len()).find(|row| !is_tested(row)) {
        Some(row) => Err(format!("row {row} is not tested")),
        None => Ok(()),
    }
}

/// A metric over all test folds of a method: within a repeat that of the sum of the folds' fractions, and
/// of these the mean over the repeats.
pub(super) struct CrossScorer<'a>(Vec<Vec<FoldScorer<'a>>>);

struct FoldScorer<'a> {
    rows: &'a [usize],
    scorer: Box<dyn Scorer>,
}

impl<'a> CrossScorer<'a> {
    fn new(metric: &dyn Metric, targets: &Targets, folds: &'a [TestFold]) -> Self {
        let mut repeats: BTreeMap<usize, Vec<_>> = BTreeMap::new();
        for TestFold { repeat, rows, outputs } in folds {
            let scorer = metric.scorer(outputs, &chosen(targets, rows));
            repeats.entry(*repeat).or_default().push(FoldScorer { rows, scorer });
        }
        Self(repeats.into_values().collect())
    }

    /// The metric where each row counts this often; `None` where it is undefined in a repeat.
    pub(super) fn score(&self, weights: &[u32]) -> Option<f64> {
        let mut of_fold = Vec::new();
        let mut sum = 0.0;
        for folds in &self.0 {
            let fractions = folds.iter().map(|fold| {
                of_fold.clear();
                of_fold.extend(fold.rows.iter().map(|&row| weights[row]));
                fold.scorer.score(&of_fold)
            });
            sum += fractions.sum::<crate::Fraction>().value()?;
        }
        Some(sum / self.0.len() as f64)
    }
}

/// The targets of these rows, in this order.
fn chosen(targets: &Targets, rows: &[usize]) -> Targets {
    match targets {
        Targets::Values(values) => Targets::Values(rows.iter().map(|&row| values[row]).collect()),
        Targets::Classes { labels, count } => {
            let labels = rows.iter().map(|&row| labels[row]).collect();
            Targets::Classes { labels, count: *count }
        }
    }
}
