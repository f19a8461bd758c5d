//! The paper's synthetic settings.

use std::fmt::Write;

use fedcompetitors_graphs::{BenefitGraph, UsageGraph};
use fedcompetitors_record::Spread;

use super::{
    ExperimentRow, ExperimentTable,
    methods::{Agreement, MethodFigures, agreement_text, named, spreads},
    standings::Comparing,
};

/// What came out of a synthetic setting.
#[derive(Debug)]
pub struct SyntheticFigures {
    /// The setting.
    pub setting: String,
    /// The participants.
    pub participants: Vec<String>,
    /// Gradients that each method may take for each participant.
    pub budget: usize,
    /// Among how many rules validation data has chosen.
    pub rules: usize,
    /// The methods.
    pub methods: Vec<MethodFigures>,
    /// How well estimates rank helpers, where that was measured.
    pub agreements: Vec<Agreement>,
}

const COMPARING: Comparing = Comparing {
    lower_is_better: true,
    once: "in one seed",
    each: "seed by seed",
    by_interval: false,
    digits: 4,
};

impl SyntheticFigures {
    /// Its table.
    pub fn table(&self) -> ExperimentTable {
        let rows = self.methods.iter().map(|method| {
            let mean = Spread::of(&method.means());
            ExperimentRow {
                method: method.name.clone(),
                cells: spreads(&method.cells).map(|cell| (cell.mean, cell.deviation)).collect(),
                paper: method.paper.clone(),
                mean: (mean.mean, mean.error),
            }
        });
        let seeds = self.methods.first().map_or(0, |method| method.cells.len());
        ExperimentTable {
            title: match seeds {
                1 => format!("{}, one seed: spread unknown.", self.setting),
                _ => format!("{}, {seeds} seeds.", self.setting),
            },
            metric: "Test MSE of each participant, mean ± deviation over the seeds; the last column is the mean over\n\
                     the participants ± its standard error."
                .into(),
            columns: self.participants.clone(),
            rows: rows.collect(),
            remarks: self.remarks(),
        }
    }

    fn remarks(&self) -> Vec<String> {
        let mut remarks = vec![COMPARING.standings(&named(&self.methods))];
        let chosen = if self.rules > 1 {
            format!(
                "; rate and decay chosen among {} by\nvalidation data of two federations that are not in the table",
                self.rules
            )
        } else {
            String::new()
        };
        remarks.push(format!(
            "Every method: at most {} gradients for each participant on average, estimation included{chosen}.",
            self.budget
        ));
        remarks.extend(self.methods.iter().map(MethodFigures::cost_text));
        remarks.extend(self.agreements.iter().map(agreement_text));
        remarks
    }
}

/// The plan of a method in one federation.
#[derive(Debug)]
pub struct DrawnPlan<'a> {
    /// The seed of the federation.
    pub seed: u64,
    /// The method.
    pub method: &'a str,
    /// The benefits that it was made from.
    pub benefit: Option<&'a BenefitGraph>,
    /// The plan.
    pub usage: &'a UsageGraph,
}

/// Who learns from whom by these plans.
pub fn drawn_plans_text(plans: &[DrawnPlan<'_>]) -> String {
    let mut text = String::from("Who learns from whom (benefit), seed by seed:\n");
    for DrawnPlan { seed, method, benefit, usage } in plans {
        let _ = writeln!(text, "  seed {seed}, {method}: {}", edges_text(*benefit, usage));
    }
    text
}

fn edges_text(benefit: Option<&BenefitGraph>, usage: &UsageGraph) -> String {
    let participants = usage.participants();
    let columns = (0..participants.len()).filter_map(|to| {
        let helpers: Vec<String> = usage
            .edges()
            .filter(|edge| edge.1 == to)
            .map(|(from, _)| match benefit {
                Some(benefit) => {
                    format!("{} ({:.2})", participants.name(from), benefit.benefit(from, to))
                }
                None => participants.name(from).to_owned(),
            })
            .collect();
        (!helpers.is_empty()).then(|| format!("{} ← {}", participants.name(to), helpers.join(" ")))
    });
    columns.collect::<Vec<_>>().join("; ")
}
