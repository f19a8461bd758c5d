//! What is said to experiments.

use std::path::PathBuf;

use clap::{
    Args, ValueEnum,
    builder::{PossibleValuesParser, TypedValueParser},
};
use fedcompetitors_experiments::{Method, cifar10::METHODS};

#[derive(Debug, Args)]
pub struct ReproduceArguments {
    /// The experiment.
    #[arg(value_enum)]
    pub setting: SettingName,
    /// The number of federations to draw (`eicu`: of cross-validations), with the seeds 901, 902, …
    /// (`cifar10`: 941, …). Default: 5; `eicu`: 10; `cifar10 --budget short`: 2.
    #[arg(long, visible_aliases = ["repeats", "graphs"], value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1000))]
    pub seeds: Option<u64>,
    /// The folder with the tables of eICU or the files of CIFAR-10. Required for `eicu` and
    /// `cifar10`, and only for them.
    #[arg(long, value_name = "DIR", required_if_eq_any = [("setting", "eicu"), ("setting", "cifar10")])]
    pub data: Option<PathBuf>,
    /// The gradient budget of each method of `cifar10`. Default: `short`.
    #[arg(long, value_enum)]
    pub budget: Option<BudgetName>,
    /// The number of images of each class that a participant of `cifar10` has for training and
    /// validation. Default: half of all.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(10..=1_000_000))]
    pub images: Option<u32>,
    /// The methods of `cifar10` to run, separated by commas. Default: all.
    #[arg(long, value_name = "NAME", value_delimiter = ',', value_parser = method_of_images())]
    pub methods: Vec<Method>,
    /// Output format.
    #[arg(long, value_enum, default_value_t = TableFormat::Text)]
    pub format: TableFormat,
    /// The folder for the table and the results; created if missing. `cifar10` also stores each
    /// finished training there, and resumes from what it finds.
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// The gradient budget of each method for each participant, estimation included; at least 500,
    /// of which estimates take up to 450. Default: 2000; `cifar10`: as `--budget` says.
    #[arg(long, value_name = "N", value_parser = evaluations)]
    pub evaluations: Option<usize>,
    /// The learning rate of Adam for every method; needs --decay. Default: validation data chooses
    /// rate, decay and, for FedProx, the pull (0.01 if the rate is given).
    #[arg(long, value_name = "RATE", requires = "decay", value_parser = positive)]
    #[arg(allow_negative_numbers = true)]
    pub rate: Option<f32>,
    /// Weight decay: this fraction of each parameter is added to its gradient.
    #[arg(long, value_name = "FRACTION", requires = "rate", value_parser = not_negative)]
    #[arg(allow_negative_numbers = true)]
    pub decay: Option<f32>,
    /// Also measure what each participant gains from each other one, and report how well the
    /// estimates rank helpers.
    #[arg(long)]
    pub measure: bool,
    /// The number of threads; the result does not depend on it. Default: all processors.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    pub threads: Option<u16>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum SettingName {
    /// Nearly one task; four participants with many samples and four with few.
    SyntheticWeak,
    /// Two tasks of opposite sign.
    SyntheticStrong,
    /// In-hospital mortality, from the tables of eICU: ten hospitals of the full database, or groups
    /// of hospitals of the demo.
    Eicu,
    /// Small images, two classes for each participant, from the files of CIFAR-10.
    Cifar10,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum BudgetName {
    /// Two passes over the images: minutes.
    Short,
    /// Twenty passes: an hour or two.
    Full,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum TableFormat {
    /// Plain text.
    Text,
    /// JSON for programs.
    Json,
    /// Markdown.
    Markdown,
}

/// Reads the name of a method with small images.
fn method_of_images() -> impl TypedValueParser<Value = Method> {
    PossibleValuesParser::new(METHODS.map(Method::short_name)).map(|name| {
        let found = METHODS.into_iter().find(|&method| method.short_name() == name);
        found.expect("one of the possible values")
    })
}

/// Fewer would not even pay for an estimate.
const FEWEST_EVALUATIONS: usize = 500;

fn evaluations(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(count) if count >= FEWEST_EVALUATIONS => Ok(count),
        _ => Err(format!("expected a number, at least {FEWEST_EVALUATIONS}")),
    }
}

fn positive(text: &str) -> Result<f32, String> {
    match text.parse::<f32>() {
        Ok(value) if value > 0.0 && value.is_finite() => Ok(value),
        _ => Err("expected a number above 0".into()),
    }
}

fn not_negative(text: &str) -> Result<f32, String> {
    match text.parse::<f32>() {
        Ok(value) if value >= 0.0 && value.is_finite() => Ok(value),
        _ => Err("expected a number, at least 0".into()),
    }
}
