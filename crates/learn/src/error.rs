//! What can be wrong with data and training.

/// Why something cannot be learned from or with.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum LearnError {
    /// No samples at all.
    #[error("there are no samples")]
    NoSamples,
    /// Not as many numbers as rows and columns ask for.
    #[error("{found} numbers do not make {rows} rows of {columns} columns")]
    Shape {
        /// How many numbers there are.
        found: usize,
        /// The rows.
        rows: usize,
        /// The columns.
        columns: usize,
    },
    /// A number that is none.
    #[error("row {row}, column {column}: {value} is not a finite number")]
    NotFinite {
        /// The row, counted from 1.
        row: usize,
        /// The column, counted from 1; 0 is the target.
        column: usize,
        /// What is there.
        value: f32,
    },
    /// A class that there is not.
    #[error("row {row}: class {class} of {classes}")]
    NoSuchClass {
        /// The row, counted from 1.
        row: usize,
        /// The class, counted from 0.
        class: u32,
        /// How many classes there are.
        classes: u32,
    },
    /// A category that there is not.
    #[error("row {row}, column {column}: category {category} of {categories}")]
    NoSuchCategory {
        /// The row, counted from 1.
        row: usize,
        /// The column, counted from 1.
        column: usize,
        /// The category, counted from 0.
        category: u32,
        /// How many categories the column has.
        categories: usize,
    },
    /// Parts of a table that don't go together.
    #[error("{found} {what} instead of {expected}")]
    Unequal {
        /// What they are.
        what: &'static str,
        /// How many there are.
        found: usize,
        /// How many there should be.
        expected: usize,
    },
    /// Too few samples for training, validation and test.
    #[error("{samples} samples are too few for training, validation and test")]
    TooFew {
        /// How many there are.
        samples: usize,
    },
    /// Too few groups or times for training, validation and test.
    #[error("{found} {what} are too few for training, validation and test")]
    TooFewUnits {
        /// What they are.
        what: &'static str,
        /// How many there are.
        found: usize,
    },
    /// A part of the split that is needed has nothing in it.
    #[error("there are no samples for {part}")]
    EmptyPart {
        /// Which part.
        part: &'static str,
    },
    /// A loss for numbers on classes, or the other way round, or of another width.
    #[error("{0}")]
    Unsuitable(&'static str),
    /// Predictions that cannot be scored or compared.
    #[error("{0}")]
    Predictions(String),
    /// The loss or the parameters have left the finite numbers.
    #[error("training diverged: the loss is not finite")]
    Diverged,
}

impl LearnError {
    /// What can be done about it.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::NoSamples | Self::TooFew { .. } | Self::EmptyPart { .. } => {
                "a participant needs at least one sample each for training, validation and test"
            }
            Self::TooFewUnits { .. } => {
                "a participant needs three groups or more; with `time` it needs two different times more than there are folds"
            }
            Self::Shape { .. } => "every row needs one number for each column",
            Self::NotFinite { .. } => "fill in or leave out rows with missing values",
            Self::NoSuchClass { .. } => "classes are counted from 0",
            Self::NoSuchCategory { .. } => "categories are counted from 0",
            Self::Unequal { .. } => {
                "a table needs a name for each column, a value for each row and a scale for each column of numbers"
            }
            Self::Unsuitable(_) => {
                "squared error is for numbers, cross entropy for classes, binary cross entropy for two"
            }
            Self::Predictions(_) => {
                "every method needs a finite prediction of each row in each repeat, for each participant"
            }
            Self::Diverged => "try a smaller learning rate",
        }
    }
}
