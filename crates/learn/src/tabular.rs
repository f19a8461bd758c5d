//! Tables of numbers and categories with gaps, and how they become samples.

use crate::{LearnError, Samples, Targets, data::is_constant};

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
    fn of(values: impl Iterator<Item = f32> + Clone) -> Self {
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

    /// The value less the mean, in deviations. What says nothing becomes 0: a column that
    /// is constant or empty where the scale comes from, or a value that is missing.
    fn standardised(&self, value: Option<f32>) -> f32 {
        match value {
            Some(value) if !is_constant(self.mean, self.deviation) => {
                ((f64::from(value) - self.mean) / self.deviation) as f32
            }
            _ => 0.0,
        }
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

    /// The samples that a model can learn from; see [`Table::encode_filled`], here with the
    /// means of the scales themselves.
    ///
    /// # Errors
    /// As there.
    pub fn encode(
        &self,
        scales: Option<&[Scale]>,
        indicators: bool,
    ) -> Result<Samples, LearnError> {
        self.encode_filled(None, scales, indicators)
    }

    /// The samples that a model can learn from.
    ///
    /// Numbers are standardised by their `scales`, by the same rule as in
    /// [`Samples::standardised`]; without scales they stay as they are. A missing number
    /// becomes the mean that `fill` has for its column, if it has seen any value, then the
    /// mean of its scale, which is 0 afterwards, and where nothing is known of the column 0. A category is a feature for each declared
    /// one, 1 where it is that and 0 otherwise; a missing one is 0 in all of them.
    ///
    /// With `indicators` every column of numbers is followed by a feature that is 1 where
    /// the number was missing. It is there even if this participant misses none: all
    /// participants need the same features.
    ///
    /// # Errors
    /// If there is not a scale for each column of numbers, if all columns are of no
    /// categories, or if a number lies so far off its scale that it is not finite any more.
    pub fn encode_filled(
        &self,
        fill: Option<&[Scale]>,
        scales: Option<&[Scale]>,
        indicators: bool,
    ) -> Result<Samples, LearnError> {
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
                        let filled = value.or(seen.map(|own| own.mean as f32));
                        row[0] = match scale {
                            Some(scale) => scale.standardised(filled),
                            None => filled.unwrap_or(0.0),
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
