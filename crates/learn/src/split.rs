//! Which of a participant's samples train, choose and test.

use std::collections::BTreeSet;

use fedcompetitors_graphs::random::Stream;

use crate::{LearnError, Part, Targets, shuffle};

/// How a participant's rows depend on each other.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Dependence {
    /// They do not.
    #[default]
    None,
    /// The rows of a group, such as a patient, stay together: the group of each row.
    Groups(Vec<u32>),
    /// Later rows test what was learned from earlier ones: the place of each row in time. Rows of one
    /// time have one place and stay together.
    Time(Vec<u32>),
}

impl Dependence {
    /// That of these rows, in this order.
    #[must_use]
    pub fn chosen(&self, rows: &[u32]) -> Self {
        let of = |all: &[u32]| rows.iter().map(|&row| all[row as usize]).collect();
        match self {
            Self::None => Self::None,
            Self::Groups(groups) => Self::Groups(of(groups)),
            Self::Time(times) => Self::Time(of(times)),
        }
    }
}

/// How an evaluation divides a participant's rows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Division {
    /// The number of folds; with one, a part of the rows is tested.
    pub folds: usize,
    /// The part that is tested where there is one fold.
    pub test: f64,
    /// The part of the other rows by which choices are made.
    pub validation: f64,
}

/// Which samples belong to which part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Split {
    /// Rows for training.
    pub training: Vec<u32>,
    /// Rows for validation.
    pub validation: Vec<u32>,
    /// Rows for the test.
    pub test: Vec<u32>,
}

impl Split {
    /// Splits at random; where there are classes, each part gets its share of each. Every part has at
    /// least one sample.
    ///
    /// # Errors
    /// If there are too few samples for that.
    pub fn new(
        targets: &Targets,
        validation: f64,
        test: f64,
        stream: &mut Stream,
    ) -> Result<Self, LearnError> {
        deal(targets, validation, Tested::Share(test), stream)
    }

    /// Splits for cross-validation: every sample is in the test of one of them; with
    /// fewer samples than folds some tests are empty. Each test has
    /// its share of each class, as even as it can be. Of the others each class gives the part
    /// `validation`, rounded, at least one sample if it has two: choices need all classes. If no class has two,
    /// the last sample of the largest class is for validation.
    ///
    /// # Errors
    /// If there are too few samples for that.
    pub fn folds(
        targets: &Targets,
        folds: usize,
        validation: f64,
        stream: &mut Stream,
    ) -> Result<Vec<Self>, LearnError> {
        let samples = targets.len();
        if folds < 2 || samples < 3 {
            return Err(LearnError::TooFew { samples });
        }
        let mut order: Vec<u32> = (0..samples as u32).collect();
        shuffle(&mut order, stream);
        // Dealt out one by one, class after class, no test has two more of a class than
        // another, nor two more of all.
        order.sort_by_key(|&row| class(targets, row));
        let mut of = vec![None; samples];
        order
            .iter()
            .enumerate()
            .for_each(|(at, &row)| of[row as usize] = Some((at % folds) as u32));
        Self::assigned(targets, &of, folds, validation, &order)
    }

    /// Splits for cross-validation, given the fold in which each row is tested, if it is. Rows for validation
    /// are those that come first in an order.
    fn assigned(
        targets: &Targets,
        fold_of: &[Option<u32>],
        folds: usize,
        validation: f64,
        order: &[u32],
    ) -> Result<Vec<Self>, LearnError> {
        let mut by_class = order.to_vec();
        by_class.sort_by_key(|&row| class(targets, row));
        let split = |fold: usize| {
            let mut split = Self { training: Vec::new(), validation: Vec::new(), test: Vec::new() };
            for same in by_class.chunk_by(|&a, &b| class(targets, a) == class(targets, b)) {
                let is_tested = |row: &u32| fold_of[*row as usize] == Some(fold as u32);
                let (tested, others): (Vec<u32>, Vec<u32>) =
                    same.iter().partition(|row| is_tested(row));
                let share = others.len() as f64 * validation;
                let rounded = |count: &usize| *count as f64 - 0.5 <= share;
                let wanted = (1..=others.len()).take_while(rounded).count();
                let wanted = wanted.max(1).min(others.len().saturating_sub(1));
                split.test.extend(tested);
                split.validation.extend(&others[..wanted]);
                split.training.extend(&others[wanted..]);
            }
            if split.validation.is_empty() && split.training.len() > 1 {
                split.validate_one(targets);
            }
            split.sorted()
        };
        let splits: Vec<Self> = (0..folds).map(split).collect();
        let is_usable = |split: &Self| !split.validation.is_empty() && !split.training.is_empty();
        if splits.iter().all(is_usable) {
            return Ok(splits);
        }
        Err(LearnError::TooFew { samples: targets.len() })
    }

    /// The splits of an evaluation, one for each fold. Groups are divided as rows are, by the largest
    /// class of each. By time each fold tests the rows that follow those that it trains on, and the
    /// first rows are in no test.
    ///
    /// # Errors
    /// If there are too few samples, groups or times.
    pub fn evaluation(
        targets: &Targets,
        dependence: &Dependence,
        division: Division,
        stream: &mut Stream,
    ) -> Result<Vec<Self>, LearnError> {
        let Division { folds, test, validation } = division;
        let random = |targets: &Targets, stream: &mut Stream| {
            if folds == 1 {
                Ok(vec![Self::new(targets, validation, test, stream)?])
            } else {
                Self::folds(targets, folds, validation, stream)
            }
        };
        match dependence {
            Dependence::None => random(targets, stream),
            Dependence::Groups(groups) => {
                let (of_groups, rows) = grouped(targets, groups);
                let splits = random(&of_groups, stream).map_err(of_units("groups"))?;
                Ok(splits.into_iter().map(|split| split.expanded(&rows)).collect())
            }
            Dependence::Time(times) => in_time(times, division),
        }
    }

    /// The splits of an evaluation, given the fold in which each row is tested, counted from 0; none for
    /// rows that are never tested. With the folds of [`Split::evaluation`] and the same stream they are the same
    /// splits. Rows of one time are divided as those of a group.
    ///
    /// # Errors
    /// If a fold leaves too few rows.
    pub fn as_assigned(
        targets: &Targets,
        dependence: &Dependence,
        fold_of: &[Option<u32>],
        division: Division,
        stream: &mut Stream,
    ) -> Result<Vec<Self>, LearnError> {
        let (of_units, rows) = match dependence {
            Dependence::None => {
                (targets.clone(), (0..targets.len() as u32).map(|row| vec![row]).collect())
            }
            Dependence::Groups(units) | Dependence::Time(units) => grouped(targets, units),
        };
        // A group in several folds is tested in none as a whole; its rows are sorted out below.
        let fold_of_unit = |rows: &Vec<u32>| {
            let fold = fold_of[rows[0] as usize]?;
            rows.iter().all(|&row| fold_of[row as usize] == Some(fold)).then_some(fold)
        };
        let fold_of_units: Vec<Option<u32>> = rows.iter().map(fold_of_unit).collect();
        let splits = if division.folds == 1 {
            let is_tested = |unit: u32| fold_of_units[unit as usize] == Some(0);
            vec![deal(&of_units, division.validation, Tested::These(&is_tested), stream)?]
        } else {
            let mut order: Vec<u32> = (0..rows.len() as u32).collect();
            shuffle(&mut order, stream);
            Self::assigned(&of_units, &fold_of_units, division.folds, division.validation, &order)?
        };
        let is_in = |row: u32, fold: u32| fold_of[row as usize] == Some(fold);
        let of_rows = |(fold, split): (u32, Self)| {
            let mut split = split.expanded(&rows);
            split.training.retain(|&row| !is_in(row, fold));
            split.validation.retain(|&row| !is_in(row, fold));
            split.test = (0..targets.len() as u32).filter(|&row| is_in(row, fold)).collect();
            let is_usable = !split.training.is_empty() && !split.validation.is_empty();
            is_usable.then_some(split).ok_or(LearnError::TooFew { samples: targets.len() })
        };
        (0..).zip(splits).map(of_rows).collect()
    }

    /// A split without a test: all rows are for training and validation.
    ///
    /// # Errors
    /// If there are too few samples.
    pub fn without_test(
        targets: &Targets,
        dependence: &Dependence,
        validation: f64,
        stream: &mut Stream,
    ) -> Result<Self, LearnError> {
        match dependence {
            Dependence::None => deal(targets, validation, Tested::These(&|_| false), stream),
            Dependence::Groups(groups) => {
                let (of_groups, rows) = grouped(targets, groups);
                let split = deal(&of_groups, validation, Tested::These(&|_| false), stream);
                Ok(split.map_err(of_units("groups"))?.expanded(&rows))
            }
            Dependence::Time(times) => {
                let order = by_time(times);
                let cut = later(&order, times, order.len() as f64 * (1.0 - validation));
                Self::cut(&order, times, [cut, order.len()], order.len())
            }
        }
    }

    /// The rows before the first cut train, those up to the second choose, the next up to `end` test.
    fn cut(
        order: &[u32],
        times: &[u32],
        [first, second]: [usize; 2],
        end: usize,
    ) -> Result<Self, LearnError> {
        if first == 0 || first == second {
            return Err(too_few_times(times));
        }
        let rows = |from: usize, to: usize| order[from..to].to_vec();
        let (training, validation) = (rows(0, first), rows(first, second));
        Ok(Self { training, validation, test: rows(second, end) }.sorted())
    }

    /// Moves the last training row of the largest class, of equals the last, to validation.
    fn validate_one(&mut self, targets: &Targets) {
        let size = |class_of: u32| {
            self.training.iter().filter(|&&row| class(targets, row) == class_of).count()
        };
        let places = 0..self.training.len();
        let moved = places.max_by_key(|&at| (size(class(targets, self.training[at])), at));
        self.validation.extend(moved.map(|at| self.training.remove(at)));
    }

    /// The split of rows, given the rows of each group.
    fn expanded(self, rows: &[Vec<u32>]) -> Self {
        let of = |groups: Vec<u32>| {
            groups.into_iter().flat_map(|group| rows[group as usize].iter().copied()).collect()
        };
        let Self { training, validation, test } = self;
        Self { training: of(training), validation: of(validation), test: of(test) }.sorted()
    }

    fn sorted(mut self) -> Self {
        [&mut self.training, &mut self.validation, &mut self.test]
            .into_iter()
            .for_each(|part| part.sort_unstable());
        self
    }

    /// The rows of a part.
    pub fn rows(&self, part: Part) -> &[u32] {
        match part {
            Part::Training => &self.training,
            Part::Validation => &self.validation,
            Part::Test => &self.test,
        }
    }
}

/// The class of a row; 0 where numbers are to be predicted.
fn class(targets: &Targets, row: u32) -> u32 {
    match targets {
        Targets::Values(_) => 0,
        Targets::Classes { labels, .. } => labels[row as usize],
    }
}

/// Which rows are tested.
#[derive(Clone, Copy)]
enum Tested<'a> {
    /// This part of all, at least one.
    Share(f64),
    /// Those that are given.
    These(&'a dyn Fn(u32) -> bool),
}

/// Deals out rows at random, in proportion. Tests that are given change nothing in who chooses of the others.
fn deal(
    targets: &Targets,
    validation: f64,
    test: Tested<'_>,
    stream: &mut Stream,
) -> Result<Split, LearnError> {
    let samples = targets.len();
    let dealt = if matches!(test, Tested::Share(_)) { 3 } else { 2 };
    if samples < dealt {
        return Err(LearnError::TooFew { samples });
    }
    let mut order: Vec<u32> = (0..samples as u32).collect();
    shuffle(&mut order, stream);
    // Sorted by class, the parts are dealt out evenly along the order.
    order.sort_by_key(|&row| class(targets, row));
    let mut split = Split { training: Vec::new(), validation: Vec::new(), test: Vec::new() };
    // Each part gets a row whenever its share has come to one more; a start in the
    // middle rounds the shares instead of cutting them.
    let (mut wanted_test, mut wanted_validation) = (0.5, 0.5);
    for row in order {
        wanted_validation += validation;
        let is_tested = match test {
            Tested::Share(share) => {
                wanted_test += share;
                let is_tested = wanted_test >= 1.0;
                wanted_test -= if is_tested { 1.0 } else { 0.0 };
                is_tested
            }
            Tested::These(is_tested) => is_tested(row),
        };
        if is_tested {
            split.test.push(row);
        } else if wanted_validation >= 1.0 {
            wanted_validation -= 1.0;
            split.validation.push(row);
        } else {
            split.training.push(row);
        }
    }
    for part in 0..dealt {
        let parts = [&mut split.training, &mut split.validation, &mut split.test];
        if parts[part].is_empty() {
            let largest = (0..dealt).max_by_key(|&other| parts[other].len()).unwrap_or(0);
            if let Some(row) = parts[largest].pop() {
                parts[part].push(row);
            }
        }
    }
    Ok(split.sorted())
}

/// The error about groups instead of samples.
fn of_units(what: &'static str) -> impl Fn(LearnError) -> LearnError {
    move |error| match error {
        LearnError::TooFew { samples: found } => LearnError::TooFewUnits { what, found },
        error => error,
    }
}

fn too_few_times(times: &[u32]) -> LearnError {
    let different: BTreeSet<u32> = times.iter().copied().collect();
    LearnError::TooFewUnits { what: "times", found: different.len() }
}

/// The targets of groups, each the largest class of its rows, and the rows of each.
fn grouped(targets: &Targets, groups: &[u32]) -> (Targets, Vec<Vec<u32>>) {
    let count = groups.iter().max().map_or(0, |last| *last as usize + 1);
    let mut rows = vec![Vec::new(); count];
    for (row, &group) in groups.iter().enumerate() {
        rows[group as usize].push(row as u32);
    }
    rows.retain(|rows| !rows.is_empty());
    let of_groups = match targets {
        Targets::Values(_) => Targets::Values(vec![0.0; rows.len()]),
        Targets::Classes { count, .. } => {
            let largest = |rows: &Vec<u32>| rows.iter().map(|&row| class(targets, row)).max();
            let labels = rows.iter().filter_map(largest).collect();
            Targets::Classes { labels, count: *count }
        }
    };
    (of_groups, rows)
}

/// The rows in the order of their times.
fn by_time(times: &[u32]) -> Vec<u32> {
    let mut order: Vec<u32> = (0..times.len() as u32).collect();
    order.sort_by_key(|&row| times[row as usize]);
    order
}

/// The place in an order nearest to a wanted one at which a new time begins; of two, the later.
fn later(order: &[u32], times: &[u32], wanted: f64) -> usize {
    let begins =
        |at: &usize| *at == 0 || times[order[*at] as usize] != times[order[at - 1] as usize];
    let places = (0..order.len()).filter(begins).chain([order.len()]);
    let off = |at: usize| (at as f64 - wanted).abs();
    places.reduce(|best, at| if off(at) <= off(best) { at } else { best }).unwrap_or(0)
}

/// Splits in which later rows test what was learned from earlier ones.
fn in_time(times: &[u32], division: Division) -> Result<Vec<Split>, LearnError> {
    let Division { folds, test, validation } = division;
    let (order, count) = (by_time(times), times.len() as f64);
    let place = |part: f64| later(&order, times, count * part);
    // Of `folds + 1` blocks each but the first is tested once.
    let cuts: Vec<usize> = if folds == 1 {
        vec![place(1.0 - test), order.len()]
    } else {
        (1..=folds + 1).map(|at| place(at as f64 / (folds + 1) as f64)).collect()
    };
    let split = |pair: &[usize]| {
        let known = &order[..pair[0]];
        let first = later(known, times, known.len() as f64 * (1.0 - validation));
        if pair[0] == pair[1] {
            return Err(too_few_times(times));
        }
        Split::cut(&order, times, [first, pair[0]], pair[1])
    };
    cuts.windows(2).map(split).collect()
}
