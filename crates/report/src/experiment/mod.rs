//! The tables of the paper's experiments, with the paper's figures beside ours.

mod hospitals;
mod images;
mod methods;
mod standings;
mod synthetic;

use std::fmt::Write;

pub use hospitals::{Cohort, HospitalFigures, hospitals_title};
pub use images::{Holding, ImageDraw, ImageFigures, ImageMethod, image_draw_text};
pub use methods::{Agreement, MethodFigures, choice_text};
pub use synthetic::{DrawnPlan, SyntheticFigures, drawn_plans_text};

use crate::table::Table;

/// An experiment's table.
#[derive(Debug, Clone, PartialEq)]
pub struct ExperimentTable {
    /// What was run.
    pub title: String,
    /// What the cells are.
    pub metric: String,
    /// The participants, one column each.
    pub columns: Vec<String>,
    /// The methods, one row each.
    pub rows: Vec<ExperimentRow>,
    /// What there is to say about the whole.
    pub remarks: Vec<String>,
}

/// One method's row.
#[derive(Debug, Clone, PartialEq)]
pub struct ExperimentRow {
    /// The method.
    pub method: String,
    /// Mean and what the table says of its spread, for each participant.
    pub cells: Vec<(f64, f64)>,
    /// The paper's, where it has any, some without a deviation.
    pub paper: Vec<(f64, Option<f64>)>,
    /// The mean over the participants, and its standard error over the seeds.
    pub mean: (f64, f64),
}

/// Two digits behind the point, fewer for large numbers: what the spread leaves certain.
fn figure(value: f64) -> String {
    if value.abs() >= 10.0 { format!("{value:.1}") } else { format!("{value:.3}") }
}

fn spread((mean, deviation): (f64, f64)) -> String {
    format!("{} ± {}", figure(mean), figure(deviation))
}

impl ExperimentTable {
    fn header(&self) -> Vec<&str> {
        [""].into_iter().chain(self.columns.iter().map(String::as_str)).chain(["mean"]).collect()
    }

    /// For a terminal: the paper's figures below ours.
    pub fn text(&self) -> String {
        let mut table = Table::new(&self.header());
        for row in &self.rows {
            let mut ours = vec![row.method.clone()];
            ours.extend(row.cells.iter().map(|&cell| spread(cell)));
            ours.push(spread(row.mean));
            table.row(ours);
            if !row.paper.is_empty() {
                let mut paper = vec!["  the paper's".to_owned()];
                paper.extend(row.paper.iter().map(|(mean, deviation)| match deviation {
                    Some(deviation) => format!("{mean:.2} ± {deviation:.2}"),
                    None => format!("{mean:.2}"),
                }));
                let mean = row.paper.iter().map(|cell| cell.0).sum::<f64>();
                paper.push(format!("{:.2}", mean / row.paper.len() as f64));
                table.row(paper);
            }
        }
        let mut text = format!("{}\n{}\n\n{}\n", self.title, self.metric, table.render());
        for remark in &self.remarks {
            let _ = writeln!(text, "{remark}");
        }
        text
    }

    /// For a page: ours and the paper's in one cell.
    pub fn markdown(&self) -> String {
        let mut text = format!("**{}**\n\n{}\n\n|", self.title, self.metric);
        for name in self.header() {
            let _ = write!(text, " {name} |");
        }
        let _ = write!(text, "\n|{}\n", "---|".repeat(self.columns.len() + 2));
        for row in &self.rows {
            let _ = write!(text, "| {} |", row.method);
            for (at, &cell) in row.cells.iter().enumerate() {
                let paper = row.paper.get(at).map(|(mean, _)| format!(" ({mean:.2})"));
                let _ = write!(text, " {}{} |", spread(cell), paper.unwrap_or_default());
            }
            let _ = writeln!(text, " {} |", spread(row.mean));
        }
        let is_compared = self.rows.iter().any(|row| !row.paper.is_empty());
        text.push_str(if is_compared { "\nIn brackets: the paper's mean.\n\n" } else { "\n" });
        for remark in &self.remarks {
            let _ = writeln!(text, "- {remark}");
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ours_and_the_papers() {
        let table = ExperimentTable {
            title: "An experiment.".into(),
            metric: "Test MSE.".into(),
            columns: vec!["v1".into(), "v2".into()],
            rows: vec![ExperimentRow {
                method: "Local".into(),
                cells: vec![(0.1234, 0.01), (16.12, 0.5)],
                paper: vec![(0.23, Some(0.08)), (24.47, Some(4.98))],
                mean: (8.12, 0.25),
            }],
            remarks: vec!["A remark.".into()],
        };
        assert_eq!(
            table.text(),
            "An experiment.\nTest MSE.\n\n\
             \u{20}              v1             v2            mean\n\
             Local          0.123 ± 0.010  16.1 ± 0.500  8.120 ± 0.250\n\
             \u{20} the paper's  0.23 ± 0.08    24.47 ± 4.98  12.35\n\n\
             A remark.\n"
        );
        assert!(
            table.markdown().contains("| Local | 0.123 ± 0.010 (0.23) | 16.1 ± 0.500 (24.47) |")
        );
        assert!(table.markdown().contains("In brackets"));
        // Figures without deviations, and no figures of the paper at all.
        let mut table = table;
        table.rows[0].paper = vec![(0.23, None), (24.47, None)];
        assert!(table.text().contains("  the paper's  0.23           24.47         12.35\n"));
        table.rows[0].paper.clear();
        assert!(!table.text().contains("paper") && !table.markdown().contains("paper"));
    }
}
