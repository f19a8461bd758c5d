//! What a check of a federation's data has found.

use fedcompetitors_graphs::shown;

use crate::{plural, table::Table};

/// A participant's data.
#[derive(Debug, Clone, PartialEq)]
pub struct DataLine {
    /// Whose.
    pub participant: String,
    /// Where it comes from.
    pub source: String,
    /// How many samples can be used.
    pub samples: usize,
    /// How many rows were left out.
    pub left_out: usize,
    /// How many values are missing in the rows that are used.
    pub missing: usize,
    /// How many samples train and choose the final model.
    pub split: [usize; 2],
    /// What is known of the target: counts of classes, or mean and deviation.
    pub target: String,
    /// What looks like a mistake or will make figures uncertain.
    pub warnings: Vec<DataWarning>,
}

/// Something about a participant's data that looks like a mistake or makes figures uncertain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DataWarning {
    /// A column that is learned from looks like an identifier.
    Identifier(String),
    /// A column that is learned from looks like an identifier of patients or the like, with several rows each.
    Group(String),
    /// A column that is learned from looks like a date.
    Date(String),
    /// A column has no values.
    Empty(String),
    /// A column has only one value.
    Constant(String),
    /// A column is missing in more than half of the rows.
    Missing {
        /// The column.
        column: String,
        /// The rows without it.
        missing: usize,
        /// All rows.
        rows: usize,
    },
    /// There are few samples of a class, or none.
    FewSamples {
        /// The class.
        class: String,
        /// How many there are.
        found: usize,
    },
}

impl DataWarning {
    fn text(&self) -> String {
        let looks_like = |column: &str, what: &str| {
            format!(
                "the column `{}` is learned and looks like {what}: add it to `ignore`, or leave it out of `features`",
                shown(column)
            )
        };
        match self {
            Self::Identifier(column) => looks_like(column, "an identifier"),
            Self::Group(column) => format!(
                "{}. With `groups = \"{}\"` in `[evaluation]` rows of the same value are tested together",
                looks_like(column, "an identifier of patients or the like, with several rows each"),
                shown(column)
            ),
            Self::Date(column) => looks_like(column, "a date"),
            Self::Empty(column) => format!("the column `{}` has no values", shown(column)),
            Self::Constant(column) => format!("the column `{}` is constant", shown(column)),
            Self::Missing { column, missing, rows } => {
                format!("the column `{}` is missing in {missing} of {rows} rows", shown(column))
            }
            Self::FewSamples { class, found: 0 } => {
                format!("no sample of class {}", shown(class))
            }
            Self::FewSamples { class, found } => {
                let found = plural(*found, "sample", "samples");
                format!("only {found} of class {}, so figures say little", shown(class))
            }
        }
    }
}

/// The table of all participants' data, and below it what to look at.
pub fn data_text(lines: &[DataLine], features: usize) -> String {
    let mut table = Table::new(&[
        "participant",
        "data",
        ">samples",
        ">left out",
        ">missing",
        ">training",
        ">validation",
        "target",
    ]);
    for line in lines {
        let [training, validation] = line.split.map(|count| count.to_string());
        table.row(vec![
            shown(&line.participant).into_owned(),
            shown(&line.source).into_owned(),
            line.samples.to_string(),
            line.left_out.to_string(),
            line.missing.to_string(),
            training,
            validation,
            line.target.clone(),
        ]);
    }
    let mut text = format!(
        "{}, {} each.\n\n{}",
        plural(lines.len(), "participant", "participants"),
        plural(features, "feature", "features"),
        table.render()
    );
    let warnings = lines.iter().flat_map(|line| {
        line.warnings
            .iter()
            .map(|warning| format!("{}: {}", shown(&line.participant), warning.text()))
    });
    let warnings: Vec<String> = warnings.collect();
    if !warnings.is_empty() {
        text.push_str("\nWarnings:\n");
        warnings.iter().for_each(|warning| text.extend(["  ", warning, "\n"]));
    }
    text
}
