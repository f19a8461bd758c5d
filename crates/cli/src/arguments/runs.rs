//! What is said to commands that make a run or show one.

use std::{net::SocketAddr, path::PathBuf};

use clap::{Args, ValueEnum};
use fedcompetitors_federate::{estimate::EstimatorKind, train::TrainerKind};
use fedcompetitors_graphs::{Choice, Rule};
use fedcompetitors_learn::Metric;
use fedcompetitors_select::Policy;

use super::entry;

#[derive(Debug, Args)]
pub struct DemoArguments {
    /// The folder for models, record and report; created if missing.
    #[arg(long, value_name = "DIR", default_value = "demo-run")]
    pub out: PathBuf,
    /// Open the report in the browser.
    #[arg(long)]
    pub open: bool,
}

#[derive(Debug, Args)]
pub struct RunArguments {
    /// The federation file.
    pub federation: PathBuf,
    /// The folder for models, record and report; created if missing. Default: `NAME-run` in
    /// the current folder, for a federation file `NAME.toml` or `NAME/federation.toml`.
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Resume an interrupted run. The results are the same, byte for byte.
    #[arg(long)]
    pub resume: bool,
    /// The folder with the participants' data files. Default: the folder of the federation file.
    #[arg(long, value_name = "DIR")]
    pub data: Option<PathBuf>,
    /// A script of faults to simulate: participants that drop out, come late or send invalid data.
    #[arg(long, value_name = "FILE")]
    pub faults: Option<PathBuf>,
    /// Repeat the evaluation N times, with new folds. Default: `repeats` of the federation file.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub repeats: Option<u32>,
    /// The rule that the federation's own plan keeps. Default: `rule` of the federation file.
    #[arg(long, value_parser = entry::<Rule>())]
    pub rule: Option<Choice<Rule>>,
    /// Train for N rounds. Default: `rounds` of the federation file.
    #[arg(long, value_name = "N", value_parser = rounds)]
    pub rounds: Option<usize>,
}

fn rounds(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(rounds @ 1..=1_000_000) => Ok(rounds),
        _ => Err("expected a number from 1 to 1000000".into()),
    }
}

#[derive(Debug, Args)]
pub struct InitArguments {
    /// The folder with one data file (.csv, .csv.gz, .data, .parquet) per participant, or with --by the
    /// file that all participants share.
    #[arg(value_name = "DIR|FILE")]
    pub data: PathBuf,
    /// Make one participant of each value of this column, in one shared file. The column is not
    /// learned.
    #[arg(long, value_name = "COLUMN")]
    pub by: Option<String>,
    /// The column to predict. Default: the last column.
    #[arg(long, value_name = "COLUMN")]
    pub target: Option<String>,
    /// The rule to write into the file.
    #[arg(long, value_parser = entry::<Rule>(), default_value_t = Choice(&Rule::Paths))]
    pub rule: Choice<Rule>,
    /// The estimator of benefits. Default: as in a federation file that names none.
    #[arg(long, value_name = "NAME", value_parser = entry::<EstimatorKind>())]
    pub estimator: Option<Choice<EstimatorKind>>,
    /// The policy that makes the plan. Default: as in a federation file that names none.
    #[arg(long, value_name = "NAME", value_parser = entry::<dyn Policy>())]
    pub policy: Option<Choice<dyn Policy>>,
    /// The trainer. Default: as in a federation file that names none.
    #[arg(long, value_name = "NAME", value_parser = entry::<TrainerKind>())]
    pub trainer: Option<Choice<TrainerKind>>,
    /// The metric that the run reports. Default: the first that fits the task.
    #[arg(long, value_name = "NAME", value_parser = entry::<dyn Metric>())]
    pub metric: Option<Choice<dyn Metric>>,
    /// List the categories that occur in the files. All participants will read them. Default:
    /// only with --by, where they share the file.
    #[arg(long)]
    pub with_categories: bool,
    /// The file to write. Default: `federation.toml` in the folder of the data.
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Overwrite an existing file.
    #[arg(long)]
    pub force: bool,
}

#[derive(Debug, Args)]
pub struct CheckArguments {
    /// The federation file.
    pub federation: PathBuf,
    /// The folder with the participants' data files. Default: the folder of the federation file.
    #[arg(long, value_name = "DIR")]
    pub data: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub struct FolderArguments {
    /// The run directory.
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,
}

#[derive(Debug, Args)]
pub struct AuditArguments {
    /// The run directory.
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,
    /// Take the competitors and the rule from this federation file, not from the record of the run.
    #[arg(long, value_name = "FILE")]
    pub federation: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub struct ReportArguments {
    /// The run directory.
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,
    /// The file to write. Default: `report.html` in the run directory.
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub struct ServeArguments {
    /// A run directory, or a folder of run directories.
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,
    /// The address to listen on. If other machines can reach it, every page needs the printed link;
    /// nothing is encrypted.
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:8765")]
    pub listen: SocketAddr,
    /// Also print a link for this participant. It opens only the participant's own page, which does
    /// not show who else competes with whom. Pages then open only with printed links. Can be repeated.
    #[arg(long = "as", value_name = "NAME")]
    pub participants: Vec<String>,
    /// Derive the links from the secret in this file, so that they stay the same after a restart.
    /// Default: new links at every start.
    #[arg(long, value_name = "FILE")]
    pub secret: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub struct MetricsArguments {
    /// The run directory.
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,
    /// Output format.
    #[arg(long, value_enum, default_value_t = MetricsFormat::Csv)]
    pub format: MetricsFormat,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum MetricsFormat {
    /// One figure per line.
    Csv,
}

#[derive(Debug, Args)]
pub struct ExportArguments {
    /// The run directory.
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,
    /// The folder to write to. Default: `export` in the run directory.
    #[arg(long, value_name = "DIR")]
    pub to: Option<PathBuf>,
}
