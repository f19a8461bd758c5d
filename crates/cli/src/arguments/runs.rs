//! What is said to commands that make a run or show one.

use std::{net::SocketAddr, path::PathBuf};

use clap::{Args, ValueEnum};

#[derive(Debug, Args)]
pub struct DemoArguments {
    /// The folder to write models, record and report to; it is made if it is not there.
    #[arg(long, value_name = "DIR", default_value = "demo-run")]
    pub out: PathBuf,
}

#[derive(Debug, Args)]
pub struct RunArguments {
    /// The federation file.
    pub federation: PathBuf,
    /// The folder to write models, record and report to; it is made if it is not there.
    /// Without it `NAME-run`, for a federation file `NAME.toml` or `NAME/federation.toml`.
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Go on with a run that was interrupted; it ends with the same bytes.
    #[arg(long)]
    pub resume: bool,
    /// The folder with the participants' data files, instead of the federation file's own.
    #[arg(long, value_name = "DIR")]
    pub data: Option<PathBuf>,
    /// A script of participants that drop out, come late or send garbage.
    #[arg(long, value_name = "FILE")]
    pub faults: Option<PathBuf>,
    /// Do everything so many times, with the seeds that follow, instead of what the file says.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1000))]
    pub repeats: Option<u64>,
    /// Exchange models so many times, instead of what the file says.
    #[arg(long, value_name = "N", value_parser = rounds)]
    pub rounds: Option<usize>,
}

fn rounds(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(rounds @ 1..=1_000_000) => Ok(rounds),
        _ => Err("a number from 1 to 1000000".into()),
    }
}

#[derive(Debug, Args)]
pub struct InitArguments {
    /// The folder with one data file (.csv, .csv.gz, .data, .parquet) for each participant.
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,
    /// The column to predict; the last one, if it is not said.
    #[arg(long, value_name = "COLUMN")]
    pub target: Option<String>,
    /// The file to write; without it `federation.toml` in the folder.
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Write over a file that is already there.
    #[arg(long)]
    pub force: bool,
}

#[derive(Debug, Args)]
pub struct CheckArguments {
    /// The federation file.
    pub federation: PathBuf,
    /// The folder with the participants' data files, instead of the federation file's own.
    #[arg(long, value_name = "DIR")]
    pub data: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub struct FolderArguments {
    /// The folder of the run.
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,
}

#[derive(Debug, Args)]
pub struct AuditArguments {
    /// The folder of the run.
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,
    /// Who competes is what this federation file says, not what the run says.
    #[arg(long, value_name = "FILE")]
    pub federation: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub struct ReportArguments {
    /// The folder of the run.
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,
    /// Write the page to this file instead of report.html in the folder of the run.
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub struct ServeArguments {
    /// The folder of a run, or one whose folders are runs.
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,
    /// Where to listen. Beyond this machine everything needs the link that is printed; what is
    /// sent is not encrypted.
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:8765")]
    pub listen: SocketAddr,
    /// Print a link for this participant too. It opens a page of its own, with nothing of whom
    /// others compete with, and nothing else; everything then needs a link. May be given several
    /// times.
    #[arg(long = "as", value_name = "NAME")]
    pub participants: Vec<String>,
    /// Make the links of this secret, so that they stay the same from one start to the next;
    /// without it they are new each time.
    #[arg(long, value_name = "FILE")]
    pub secret: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub struct MetricsArguments {
    /// The folder of the run.
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,
    /// What to print.
    #[arg(long, value_enum, default_value_t = MetricsFormat::Csv)]
    pub format: MetricsFormat,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum MetricsFormat {
    /// One figure a line.
    Csv,
}

#[derive(Debug, Args)]
pub struct ExportArguments {
    /// The folder of the run.
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,
    /// The folder to write to; without it `export` in the run's own.
    #[arg(long, value_name = "DIR")]
    pub to: Option<PathBuf>,
}
