//! Tables of numbers and categories with gaps, and how they become samples.

use std::borrow::Cow;

use crate::{LearnError, Ranks, Samples, Targets, data::is_constant};

/// A column of a participant's table.
#[derive(Debug, Clone, PartialEq)]
pub enum Column {
    /// A number for each row, where there is one.
    Numbers(Vec<Option<f32>>),
    /// A category for each row, where there is one.
    Categories {
        /// The categories that are declared, whether they occur here or not.
        names: Vec<String>,
        /// For each row the place of its category among them, counted from 0.
        codes: Vec<Option<u32>>,
    },
}

impl Column {
    fn len(&self) -> usize {
        match self {
            Self::Numbers(values) => values.len(),
            Self::Categories { codes, .. } => codes.len(),
        }
    }

    /// How many features it becomes.
    fn width(&self, indicators: bool) -> usize {
        match self {
            Self::Numbers(_) => 1 + usize::from(indicators),
            Self::Categories { names, .. } => names.len(),
        }
    }
}

/// Where the numbers of a column lie and how far they spread.
///
/// In double precision, so that scales of parts can be put together without loss.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scale {
    /// How many values there are.
    pub count: u64,
    /// Their mean; 0 if there are none.
    pub mean: f64,
    /// Their deviation from it, as the root of the mean square; 0 if there are none.
    pub deviation: f64,
}

impl Scale {
    pub(crate) fn of(values: impl Iterator<Item = f32> + Clone) -> Self {
        let values = values.map(f64::from);
        let count = values.clone().count() as u64;
        if count == 0 {
            return Self { count, mean: 0.0, deviation: 0.0 };
        }
        let mean = values.clone().sum::<f64>() / count as f64;
        let variance = values.map(|value| (value - mean).powi(2)).sum::<f64>() / count as f64;
        Self { count, mean, deviation: variance.sqrt() }
    }

    /// The scale of everything that the parts were made of, without the values themselves.
    /// For federations in which all scale alike: nobody has to show its data for that.
    ///
    /// # Panics
    /// If the parts are not of equally many columns.
    pub fn pooled(of: &[Vec<Self>]) -> Vec<Self> {
        let columns = of.first().map_or(0, Vec::len);
        assert!(of.iter().all(|part| part.len() == columns), "parts of unlike tables");
        (0..columns)
            .map(|column| {
                let parts = || of.iter().map(|part| (part[column].count as f64, part[column]));
                let count = of.iter().map(|part| part[column].count).sum();
                if count == 0 {
                    return Self { count, mean: 0.0, deviation: 0.0 };
                }
                let all = count as f64;
                let mean = parts().map(|(count, part)| count * part.mean).sum::<f64>() / all;
                // A part spreads around its own mean, and its mean lies off the common one.
                let squares = |part: Self| part.deviation.powi(2) + (part.mean - mean).powi(2);
                let variance =
                    parts().map(|(count, part)| count * squares(part)).sum::<f64>() / all;
                Self { count, mean, deviation: variance.sqrt() }
            })
            .collect()
    }

    /// The scale that changes nothing.
    pub const UNIT: Self = Self { count: 0, mean: 0.0, deviation: 1.0 };

    /// Whether numbers spread on this scale: its deviation is more than rounding makes of equal numbers.
    pub fn is_usable(&self) -> bool {
        !is_constant(self.mean, self.deviation)
    }

    /// A standardised value in the unit of the values that the scale comes from.
    pub(crate) fn in_unit(self, standardised: f32) -> f32 {
        (f64::from(standardised) * self.deviation + self.mean) as f32
    }

    /// The value less the mean, in deviations, at most `clip` of them. What says nothing becomes 0: a
    /// column that is constant or empty where the scale comes from, or a value that is missing.
    fn standardised(&self, value: Option<f64>, clip: f64) -> f32 {
        match value {
            Some(value) if self.is_usable() => {
                ((value - self.mean) / self.deviation).clamp(-clip, clip) as f32
            }
            _ => 0.0,
        }
    }
}

/// How the numbers of a column are transformed before they are scaled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Transform {
    /// Not at all.
    #[default]
    None,
    /// To sign(x) · ln(1 + |x|).
    Log,
    /// To the normal scores of their [`Ranks`] among the training rows.
    Rank,
}

impl Transform {
    /// The logarithm that [`Transform::Log`] takes: finite for every finite number, and 0 for 0.
    pub fn log(value: f64) -> f64 {
        value.abs().ln_1p().copysign(value)
    }
}

/// What features a table becomes, beside the scales.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Encoding {
    /// Whether every column of numbers is followed by a feature that is 1 where the number is missing.
    pub indicators: bool,
    /// The limit for scaled numbers, in deviations on both sides of 0; infinite for none.
    pub clip: f64,
}

/// A table whose numbers are transformed by what its training rows say.
#[derive(Debug, Clone)]
pub struct Fitted<'a> {
    table: Cow<'a, Table>,
    /// For each column of numbers its ranks, where that is its transformation.
    pub ranks: Vec<Option<Ranks>>,
    /// The scale of each column of numbers over the training rows, transformed. That of ranks is the
    /// normal distribution's own: mean 0, deviation 1.
    pub scales: Vec<Scale>,
}

impl Fitted<'_> {
    /// The samples; see [`Table::encode_filled`]. Gaps are filled with the means of the training rows.
    ///
    /// # Errors
    /// As there.
    pub fn encode(
        &self,
        scales: Option<&[Scale]>,
        encoding: Encoding,
    ) -> Result<Samples, LearnError> {
        self.table.encode_filled(Some(&self.scales), scales, encoding)
    }
}

/// A participant's table: named feature columns and the targets, row for row.
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    names: Vec<String>,
    columns: Vec<Column>,
    targets: Targets,
}

impl Table {
    /// A table of its columns.
    ///
    /// # Errors
    /// If there are no rows or no columns, if names, columns and targets are not equally
    /// many, if a number is not finite, or if there is no such category or class.
    pub fn new(
        names: Vec<String>,
        columns: Vec<Column>,
        targets: Targets,
    ) -> Result<Self, LearnError> {
        let rows = targets.len();
        if rows == 0 {
            return Err(LearnError::NoSamples);
        }
        if columns.is_empty() {
            return Err(LearnError::Shape { found: 0, rows, columns: 0 });
        }
        let unequal = |what, found, expected| LearnError::Unequal { what, found, expected };
        if names.len() != columns.len() {
            return Err(unequal("names of columns", names.len(), columns.len()));
        }
        for (at, column) in columns.iter().enumerate() {
            if column.len() != rows {
                return Err(unequal("values in a column", column.len(), rows));
            }
            match column {
                Column::Numbers(values) => {
                    for (row, value) in values.iter().enumerate() {
                        if let Some(value) = value.filter(|value| !value.is_finite()) {
                            let (row, column) = (row + 1, at + 1);
                            return Err(LearnError::NotFinite { row, column, value });
                        }
                    }
                }
                Column::Categories { names, codes } => {
                    for (row, code) in codes.iter().enumerate() {
                        if let Some(category) = code.filter(|&code| code as usize >= names.len()) {
                            return Err(LearnError::NoSuchCategory {
                                row: row + 1,
                                column: at + 1,
                                category,
                                categories: names.len(),
                            });
                        }
                    }
                }
            }
        }
        targets.check()?;
        Ok(Self { names, columns, targets })
    }

    /// How many rows.
    pub fn len(&self) -> usize {
        self.targets.len()
    }

    /// Never: a table has at least one row.
    pub fn is_empty(&self) -> bool {
        false
    }

    /// The names of the columns.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The columns.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// The targets.
    pub fn targets(&self) -> &Targets {
        &self.targets
    }

    /// The scale of each column of numbers, in the order of the columns, over these rows.
    /// They are those for training, so that nothing is known of the others.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn scales(&self, rows: &[u32]) -> Vec<Scale> {
        self.numbers()
            .map(|values| Scale::of(rows.iter().filter_map(|&row| values[row as usize])))
            .collect()
    }

    fn numbers(&self) -> impl Iterator<Item = &[Option<f32>]> {
        self.columns.iter().filter_map(|column| match column {
            Column::Numbers(values) => Some(&values[..]),
            Column::Categories { .. } => None,
        })
    }

    /// The names of the columns of numbers, in the order of the columns.
    pub fn number_names(&self) -> impl Iterator<Item = &str> {
        let columns = self.names.iter().zip(&self.columns);
        columns
            .filter(|(_, column)| matches!(column, Column::Numbers(_)))
            .map(|(name, _)| &name[..])
    }

    /// The table with its numbers transformed, one transformation for each column of numbers. Ranks and
    /// scales come from these rows, those for training, so that nothing is known of the others.
    ///
    /// # Panics
    /// If there is no such row, or not a transformation for each column of numbers.
    pub fn fitted(&self, transforms: &[Transform], rows: &[u32]) -> Fitted<'_> {
        assert_eq!(transforms.len(), self.numbers().count(), "one for each column of numbers");
        let mut table = Cow::Borrowed(self);
        let mut ranks = vec![None; transforms.len()];
        if transforms.iter().any(|&transform| transform != Transform::None) {
            let columns = table.to_mut().columns.iter_mut();
            let numbers = columns.filter_map(|column| match column {
                Column::Numbers(values) => Some(values),
                Column::Categories { .. } => None,
            });
            for ((values, transform), ranks) in numbers.zip(transforms).zip(&mut ranks) {
                let change = |values: &mut Vec<Option<f32>>, to: &dyn Fn(f64) -> f64| {
                    for value in values.iter_mut().flatten() {
                        *value = to(f64::from(*value)) as f32;
                    }
                };
                match transform {
                    Transform::None => {}
                    Transform::Log => change(values, &Transform::log),
                    Transform::Rank => {
                        let training = rows.iter().filter_map(|&row| values[row as usize]);
                        let ranks = ranks.insert(Ranks::of(training));
                        change(values, &|value| ranks.score(value));
                    }
                }
            }
        }
        let mut scales = table.scales(rows);
        for (scale, _) in scales.iter_mut().zip(&ranks).filter(|(_, ranks)| ranks.is_some()) {
            *scale = Scale { count: scale.count, ..Scale::UNIT };
        }
        Fitted { table, ranks, scales }
    }

    /// The samples that a model can learn from; see [`Table::encode_filled`], here with the
    /// means of the scales themselves, and without clipping.
    ///
    /// # Errors
    /// As there.
    pub fn encode(
        &self,
        scales: Option<&[Scale]>,
        indicators: bool,
    ) -> Result<Samples, LearnError> {
        self.encode_filled(None, scales, Encoding { indicators, clip: f64::INFINITY })
    }

    /// The samples that a model can learn from.
    ///
    /// Numbers are standardised by their `scales`, by the same rule as in
    /// [`Samples::standardised`], and clipped; without scales they stay as they are. A missing number
    /// becomes the mean that `fill` has for its column, if it has seen any value, then the
    /// mean of its scale, which is 0 afterwards, and where nothing is known of the column 0. A category is a
    /// feature for each declared one, 1 where it is that and 0 otherwise; a missing one is 0 in all of them.
    ///
    /// With `indicators` every column of numbers is followed by a feature that is 1 where
    /// the number was missing. It is there even if this participant misses none: all
    /// participants need the same features, and none may learn from them what another one misses.
    ///
    /// # Errors
    /// If there is not a scale for each column of numbers, if all columns are of no
    /// categories, or if a number lies so far off its scale that it is not finite any more.
    pub fn encode_filled(
        &self,
        fill: Option<&[Scale]>,
        scales: Option<&[Scale]>,
        encoding: Encoding,
    ) -> Result<Samples, LearnError> {
        let Encoding { indicators, clip } = encoding;
        let expected = self.numbers().count();
        for found in [fill, scales].into_iter().flatten().map(<[Scale]>::len) {
            if found != expected {
                return Err(LearnError::Unequal { what: "scales", found, expected });
            }
        }
        let width: usize = self.columns.iter().map(|column| column.width(indicators)).sum();
        let mut features = vec![0.0; width * self.len()];
        let mut scales = scales.map(<[Scale]>::iter);
        let mut fill = fill.map(<[Scale]>::iter);
        let mut first = 0;
        for column in &self.columns {
            // A row of the features for each row of the table, from this column's first on.
            let rows = features.chunks_exact_mut(width.max(1)).map(|row| &mut row[first..]);
            match column {
                Column::Numbers(values) => {
                    let scale = scales.as_mut().and_then(Iterator::next);
                    let seen = fill.as_mut().and_then(Iterator::next).filter(|own| own.count > 0);
                    for (row, &value) in rows.zip(values) {
                        let filled = value.map(f64::from).or(seen.map(|own| own.mean));
                        row[0] = match scale {
                            Some(scale) => scale.standardised(filled, clip),
                            None => filled.unwrap_or(0.0) as f32,
                        };
                        if indicators {
                            row[1] = f32::from(u8::from(value.is_none()));
                        }
                    }
                }
                Column::Categories { codes, .. } => {
                    for (row, code) in rows.zip(codes) {
                        if let Some(code) = code {
                            row[*code as usize] = 1.0;
                        }
                    }
                }
            }
            first += column.width(indicators);
        }
        Samples::new(features, width, self.targets.clone())
    }

    /// What the features of [`Table::encode`] are called, in their order: `age`,
    /// `age is missing`, `pain=typical`.
    pub fn feature_names(&self, indicators: bool) -> Vec<String> {
        let mut features = Vec::new();
        for (name, column) in self.names.iter().zip(&self.columns) {
            match column {
                Column::Numbers(_) => {
                    features.push(name.clone());
                    if indicators {
                        features.push(format!("{name} is missing"));
                    }
                }
                Column::Categories { names, .. } => {
                    features.extend(names.iter().map(|category| format!("{name}={category}")));
                }
            }
        }
        features
    }
}
