//! What can be wrong with a participant's data.

use std::io;

use fedcompetitors_graphs::shown;
use fedcompetitors_learn::LearnError;

/// Why a participant's data cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DataProblem {
    /// The compressed file is not there to its end.
    #[error("the compressed file ends too early")]
    CutShort,
    /// The compressed file cannot be unpacked.
    #[error("the compressed file is damaged: {0}")]
    Damaged(io::Error),
    /// It is a Parquet file, and this program was built without reading those.
    #[error("this is a Parquet file, and this program was built without support for it")]
    Parquet,
    /// A column of a Parquet file holds more than a value in each row.
    #[error("the column \"{}\" contains lists or records", shown(.column))]
    Nested {
        /// The column.
        column: String,
    },
    /// The columns are not separated with commas.
    #[error("the columns are separated with {0} instead of commas")]
    Separator(&'static str),
    /// Two columns have the same name.
    #[error("two columns are called \"{}\"", shown(.column))]
    DoubledColumn {
        /// What they are called.
        column: String,
    },
    /// There is no such column.
    #[error("there is no column \"{}\" (named {})", shown(.column), .named)]
    UnknownColumn {
        /// What it is called.
        column: String,
        /// For what it is named.
        named: &'static str,
        /// The column whose name is closest to that, if any is close.
        nearest: Option<String>,
    },
    /// The target is said to be a feature too.
    #[error("the column \"{}\" is the target and a feature too", shown(.column))]
    TargetIsFeature {
        /// The column.
        column: String,
    },
    /// No column is left for the features.
    #[error("no column is left for the features")]
    NoFeatures,
    /// A record has too few or too many values.
    #[error("{found} {} for {expected} columns", if *found == 1 { "value" } else { "values" })]
    Fields {
        /// How many there are.
        found: usize,
        /// How many columns there are.
        expected: usize,
    },
    /// A target should be a number and is none.
    #[error("{} in the target \"{}\" is not a number", quoted(.text), shown(.column))]
    TargetNotANumber {
        /// The column.
        column: String,
        /// What is written.
        text: String,
    },
    /// A value should be a number and is none.
    #[error("{} in the column \"{}\" is not a number", quoted(.text), shown(.column))]
    NotANumber {
        /// The column.
        column: String,
        /// What is written.
        text: String,
    },
    /// A number is beyond those that can be counted with.
    #[error("{} in the column \"{}\" is too large", quoted(.text), shown(.column))]
    TooLarge {
        /// The column.
        column: String,
        /// What is written.
        text: String,
    },
    /// A category that is not declared.
    #[error("{} in the column \"{}\" is not one of its categories", quoted(.text), shown(.column))]
    UnknownCategory {
        /// The column.
        column: String,
        /// What is written.
        text: String,
        /// The categories that are declared.
        declared: Vec<String>,
    },
    /// A target that no class is declared for.
    #[error("{} in the target \"{}\" is not one of its classes", quoted(.text), shown(.column))]
    UnknownClass {
        /// The column.
        column: String,
        /// What is written.
        text: String,
        /// The texts that are declared.
        declared: Vec<String>,
    },
    /// A value is missing where none may be.
    #[error("the value of the column \"{}\" is missing", shown(.column))]
    Missing {
        /// The column.
        column: String,
    },
    /// A row has no group or time.
    #[error("the value of the column \"{}\" is missing, which groups or orders rows", shown(.column))]
    MissingBeside {
        /// The column.
        column: String,
    },
    /// A value is not UTF-8 text.
    #[error("the column \"{}\" is not UTF-8 text", shown(.column))]
    NotUtf8 {
        /// The column.
        column: String,
    },
    /// No row belongs to the participant.
    #[error("no row has `{}` in the column \"{}\"", shown(.value), shown(.column))]
    NobodysRows {
        /// The column that tells whose rows they are.
        column: String,
        /// What it should say.
        value: String,
    },
    /// There is no row that can be used.
    #[error("{}", no_rows(*.rows, *.without_target, *.incomplete))]
    NoRows {
        /// How many there were.
        rows: usize,
        /// How many of them have no target.
        without_target: usize,
        /// How many of the others miss a feature.
        incomplete: usize,
    },
    /// What was read makes no table.
    #[error(transparent)]
    Table(#[from] LearnError),
}

impl DataProblem {
    /// What the user can do about it.
    pub fn hint(&self) -> String {
        match self {
            Self::CutShort | Self::Damaged(_) => {
                "compress it again, or use the uncompressed file".into()
            }
            Self::Parquet => {
                "build it with `--features parquet`, or save the table as CSV".into()
            }
            Self::Nested { .. } => "give every value a column of its own".into(),
            Self::Separator(_) => {
                "separate the columns with commas, and write numbers with a decimal point".into()
            }
            Self::DoubledColumn { .. } => "give every column a name of its own".into(),
            Self::UnknownColumn { nearest: Some(nearest), .. } => {
                format!("did you mean \"{}\"?", shown(nearest))
            }
            Self::UnknownColumn { nearest: None, .. } => {
                "check the name; the first line of the file, or `header`, must name the columns".into()
            }
            Self::TargetIsFeature { .. } => {
                "remove the target from the features".into()
            }
            Self::NoFeatures => "keep at least one column besides the target".into(),
            Self::Fields { found, expected } if found < expected => {
                "every line needs a value for each column; check that the file is complete"
                    .into()
            }
            Self::Fields { .. } => {
                "put a text that contains a comma in double quotes; write numbers with a decimal point"
                    .into()
            }
            Self::NotANumber { column, text }
            | Self::TargetNotANumber { column, text }
            | Self::UnknownCategory { column, text, .. }
            | Self::UnknownClass { column, text, .. }
                if column == text =>
            {
                "the file has a header line: remove `header`".into()
            }
            Self::NotANumber { text, .. } => not_a_number(text).unwrap_or_else(|| {
                "list the text in `missing`, declare the column in `categories`, or add it to `ignore`"
                    .into()
            }),
            Self::TargetNotANumber { text, .. } => not_a_number(text).unwrap_or_else(|| {
                "list the text in `missing`, or declare the texts of the target in `classes`".into()
            }),
            Self::TooLarge { .. } => "use a larger unit for this column".into(),
            Self::UnknownCategory { declared, .. } => format!(
                "declared: {}; add it, or treat undeclared categories as missing with `other-categories = \"missing\"`",
                listed(declared)
            ),
            Self::UnknownClass { declared, .. } => format!(
                "declared: {}; add it to `classes`, or list it in `missing`",
                listed(declared)
            ),
            Self::Missing { .. } => {
                "set `incomplete` to fill in such values or to leave out such rows".into()
            }
            Self::MissingBeside { .. } => {
                "give each row a value there, or name another column in `groups` or `time`".into()
            }
            Self::NotUtf8 { .. } => "save the file as UTF-8".into(),
            Self::NobodysRows { .. } => "check the spelling".into(),
            Self::NoRows { incomplete, .. } if *incomplete > 0 => {
                "set `incomplete` to fill in missing values, or `ignore` columns that are mostly missing"
                    .into()
            }
            Self::NoRows { rows: 0, .. } => {
                "check that it is the right file and complete".into()
            }
            Self::NoRows { .. } => "check that it is the right file and the right target".into(),
            Self::Table(error) => error.hint().into(),
        }
    }
}

fn no_rows(rows: usize, without_target: usize, incomplete: usize) -> String {
    if rows == 0 {
        return "there are no rows".into();
    }
    format!(
        "none of {rows} rows can be used: {without_target} have no target, {incomplete} are incomplete"
    )
}

/// What to do about a text that is nearly a number.
fn not_a_number(text: &str) -> Option<String> {
    let bare = text.trim_start_matches(['+', '-']).to_ascii_lowercase();
    let hint = if text.is_empty() {
        "list the empty text in `missing`"
    } else if matches!(&bare[..], "nan" | "inf" | "infinity") {
        "NaN and inf are not finite numbers: list the text in `missing` if it means a missing value"
    } else if text.ends_with('%') {
        "write it without the percent sign"
    } else if text.starts_with(|c: char| c.is_ascii_digit() || c == '-' || c == '$')
        && text.contains(',')
    {
        "write numbers with a decimal point and no commas, such as 60000.5; only amounts such as $60,000.50 may have commas"
    } else {
        return None;
    };
    Some(hint.into())
}

/// A value as it is shown.
fn quoted(text: &str) -> String {
    if text.is_empty() { "an empty text".into() } else { format!("`{}`", shown(text)) }
}

/// Texts that are listed one by one.
const MOST_LISTED: usize = 10;

fn listed(texts: &[String]) -> String {
    let some: Vec<String> = texts.iter().take(MOST_LISTED).map(|text| quoted(text)).collect();
    match texts.len().saturating_sub(MOST_LISTED) {
        0 if some.is_empty() => "none".into(),
        0 => some.join(", "),
        more => format!("{} and {more} more", some.join(", ")),
    }
}
