//! What is said to experiments.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

#[derive(Debug, Args)]
pub struct ReproduceArguments {
    /// Which experiment.
    #[arg(value_enum)]
    pub setting: SettingName,
    /// How many federations to draw, or with `eicu` how often to cross-validate, with the seeds
    /// 901, 902, … (`cifar10`: 941, …); 5 if not said, 10 with `eicu`, 2 with `cifar10 --budget short`.
    #[arg(long, visible_aliases = ["repeats", "graphs"], value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1000))]
    pub seeds: Option<u64>,
    /// The folder with the tables of eICU or the files of CIFAR-10, which only `eicu` and
    /// `cifar10` take and need.
    #[arg(long, value_name = "DIR", required_if_eq_any = [("setting", "eicu"), ("setting", "cifar10")])]
    pub data: Option<PathBuf>,
    /// How much `cifar10` spends on each method; `short` if not said.
    #[arg(long, value_enum)]
    pub budget: Option<BudgetName>,
    /// What to print.
    #[arg(long, value_enum, default_value_t = TableFormat::Text)]
    pub format: TableFormat,
    /// A folder to write the table and the results to; it is made if it is not there. `cifar10`
    /// also keeps each training that is done, and goes on with what it finds there.
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Gradients that each method may take for each participant, estimation included; at least
    /// 500, of which the estimates take up to 450; 2000 if not said. `cifar10` has its budgets.
    #[arg(long, value_name = "N", value_parser = evaluations)]
    pub evaluations: Option<usize>,
    /// The learning rate of Adam, for every method, together with a decay; without them
    /// validation data chooses, for FedProx also the pull, which is 0.01 otherwise.
    #[arg(long, value_name = "RATE", requires = "decay", value_parser = positive)]
    #[arg(allow_negative_numbers = true)]
    pub rate: Option<f32>,
    /// How much of each parameter is added to its gradient.
    #[arg(long, value_name = "PART", requires = "rate", value_parser = not_negative)]
    #[arg(allow_negative_numbers = true)]
    pub decay: Option<f32>,
    /// Also measure what everybody gains from everybody, and say how well the estimates
    /// rank helpers.
    #[arg(long)]
    pub measure: bool,
    /// Threads, as many as there are processors if not said; the result does not depend on it.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    pub threads: Option<u16>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum SettingName {
    /// Nearly one task, four participants with many samples and four with few.
    SyntheticWeak,
    /// Two tasks of opposite sign.
    SyntheticStrong,
    /// Deaths in hospitals, from the tables of eICU: ten hospitals of the full database, or
    /// groups of the demo's.
    Eicu,
    /// Small images, two classes for each participant, from the files of CIFAR-10.
    Cifar10,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum BudgetName {
    /// Twice through the images: minutes.
    Short,
    /// Twenty times: an hour or two.
    Full,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum TableFormat {
    /// For a terminal.
    Text,
    /// For programs.
    Json,
    /// For a page.
    Markdown,
}

/// Fewer would not even pay for an estimate.
const FEWEST_EVALUATIONS: usize = 500;

fn evaluations(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(count) if count >= FEWEST_EVALUATIONS => Ok(count),
        _ => Err(format!("a number that is at least {FEWEST_EVALUATIONS}")),
    }
}

fn positive(text: &str) -> Result<f32, String> {
    match text.parse::<f32>() {
        Ok(value) if value > 0.0 && value.is_finite() => Ok(value),
        _ => Err("a number above 0".into()),
    }
}

fn not_negative(text: &str) -> Result<f32, String> {
    match text.parse::<f32>() {
        Ok(value) if value >= 0.0 && value.is_finite() => Ok(value),
        _ => Err("a number that is at least 0".into()),
    }
}
