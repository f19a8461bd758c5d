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
    /// How many samples are for training, validation and test.
    pub split: [usize; 3],
    /// What is known of the target: counts of classes, or mean and deviation.
    pub target: String,
    /// What looks like a mistake or will make figures uncertain.
    pub warnings: Vec<String>,
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
        ">test",
        "target",
    ]);
    for line in lines {
        let [training, validation, test] = line.split.map(|count| count.to_string());
        table.row(vec![
            shown(&line.participant).into_owned(),
            shown(&line.source).into_owned(),
            line.samples.to_string(),
            line.left_out.to_string(),
            line.missing.to_string(),
            training,
            validation,
            test,
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
        line.warnings.iter().map(|warning| format!("{}: {warning}", shown(&line.participant)))
    });
    let warnings: Vec<String> = warnings.collect();
    if !warnings.is_empty() {
        text.push_str("\nWarnings:\n");
        warnings.iter().for_each(|warning| text.extend(["  ", warning, "\n"]));
    }
    text
}
