//! What can be wrong with the tables of eICU.

use fedcompetitors_graphs::shown;

/// Why the tables cannot be used.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EicuProblem {
    /// A table is not there.
    #[error("there is neither {table}.csv nor {table}.csv.gz in this folder")]
    NoTable {
        /// The table.
        table: &'static str,
    },
    /// A table has no such column.
    #[error("there is no column \"{column}\"")]
    NoColumn {
        /// The column, as the full database writes it.
        column: &'static str,
        /// The column whose name is closest to that, if any is close.
        nearest: Option<String>,
    },
    /// A row has too few or too many values.
    #[error("{found} {} for {expected} columns", if *found == 1 { "value" } else { "values" })]
    Fields {
        /// How many there are.
        found: usize,
        /// How many columns there are.
        expected: usize,
    },
    /// A value is not UTF-8 text.
    #[error("the column \"{column}\" is not UTF-8 text")]
    NotUtf8 {
        /// The column.
        column: &'static str,
    },
    /// A value is missing without which nothing can be said of a row.
    #[error("the value of the column \"{column}\" is missing")]
    Missing {
        /// The column.
        column: &'static str,
    },
    /// A value should be a number and is none.
    #[error("`{}` in the column \"{column}\" is not a number", shown(.text))]
    NotANumber {
        /// The column.
        column: &'static str,
        /// What is written.
        text: String,
    },
    /// A value should be a whole number and is none.
    #[error("`{}` in the column \"{column}\" is not a whole number", shown(.text))]
    NotWhole {
        /// The column.
        column: &'static str,
        /// What is written.
        text: String,
    },
    /// A patient left the hospital in a way that says neither death nor life.
    #[error("`{}` in the column \"hospitalDischargeStatus\" is neither Alive nor Expired", shown(.text))]
    Status {
        /// What is written.
        text: String,
    },
    /// Two rows are about the same.
    #[error("a second row for {column} {id}")]
    Doubled {
        /// What tells rows apart.
        column: &'static str,
        /// What both say.
        id: u32,
    },
    /// A patient lies in a hospital that the table of hospitals does not know.
    #[error("hospital {id} is not in the table of hospitals")]
    UnknownHospital {
        /// The hospital.
        id: u32,
    },
    /// A hospital that should take part has no patient who can be used.
    #[error("hospital {id} has no usable patients")]
    NoPatients {
        /// The hospital.
        id: u32,
    },
    /// Nobody died, or everybody did, at a participant.
    #[error("{who}: {} of its {patients} patients died, so there is nothing to predict", if *.deaths == 0 { "none" } else { "all" })]
    OneOutcome {
        /// The participant.
        who: String,
        /// How many patients it has.
        patients: usize,
        /// How many of them died.
        deaths: usize,
    },
    /// There are too few kinds of hospitals for groups of them.
    #[error("hospitals of {found} kinds (region, teaching, beds) are too few for {needed} groups")]
    TooFewKinds {
        /// How many there are.
        found: usize,
        /// How many there should be.
        needed: usize,
    },
}

impl EicuProblem {
    /// What the user can do about it.
    pub fn hint(&self) -> String {
        match self {
            Self::NoTable { .. } => {
                "give the folder with the tables of eICU; `fedcompetitors data fetch eicu-demo` fetches the open demo".into()
            }
            Self::NoColumn { nearest: Some(nearest), .. } => {
                format!("did you mean \"{}\"? columns have the names of eICU, in upper or lower case", shown(nearest))
            }
            Self::NoColumn { nearest: None, .. } => {
                "columns have the names of eICU, in upper or lower case; check that it is the right table".into()
            }
            Self::Fields { found, expected } if found < expected => {
                "check that the file is complete".into()
            }
            Self::Fields { .. } => "put a text that contains a comma in double quotes".into(),
            Self::NotUtf8 { .. } => "save the file as UTF-8".into(),
            Self::NotANumber { .. } => {
                "leave missing values empty; in the tables of APACHE, -1 also means missing".into()
            }
            Self::Missing { .. } | Self::NotWhole { .. } => "every row needs it; remove rows where it is unknown".into(),
            Self::Status { .. } => "leave it empty if it is unknown".into(),
            Self::Doubled { .. } => "remove one of them".into(),
            Self::UnknownHospital { .. } => "add it there, or remove its patients".into(),
            Self::NoPatients { .. } => {
                "the data looks like the full database, so it should contain the paper's ten hospitals".into()
            }
            Self::OneOutcome { .. } => {
                "more patients are needed; check hospitalDischargeStatus in the table of patients".into()
            }
            Self::TooFewKinds { .. } => "use the complete tables of hospitals and patients".into(),
        }
    }
}
