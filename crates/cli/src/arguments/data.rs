//! What is said to commands on public data sets.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::{Format, part};

#[derive(Debug, Subcommand)]
pub enum DataCommand {
    /// Say which data sets there are: what they are, their licence, files and sizes, where from.
    List(DataListArguments),
    /// Fetch the files of a data set from their publisher and check them.
    ///
    /// A call that was interrupted is taken up where it ended; files that are there are kept.
    Fetch(DataFetchArguments),
    /// Write a federation of lenders from the loans of the U.S. Small Business Administration.
    Banks(BanksArguments),
}

#[derive(Debug, Args)]
pub struct BanksArguments {
    /// The folder with the loans.
    #[arg(long, value_name = "DIR")]
    pub data: PathBuf,
    /// The folder to write federation.toml and competing.csv to.
    #[arg(long, value_name = "DIR", default_value = "banks")]
    pub out: PathBuf,
    /// Two lenders compete where the cosine of their loans by state is above this.
    #[arg(long, value_name = "PART", default_value_t = 0.8, value_parser = part)]
    pub overlap: f64,
    /// Look among so many of the largest lenders.
    #[arg(long, value_name = "N", default_value_t = 30)]
    pub largest: usize,
    /// Take those with at least so many loans of each outcome.
    #[arg(long, value_name = "N", default_value_t = 12)]
    pub least: u64,
}

#[derive(Debug, Args)]
pub struct DataListArguments {
    /// A catalogue of data sets, instead of the program's own.
    #[arg(long, value_name = "FILE")]
    pub catalogue: Option<PathBuf>,
    /// What to print; as JSON it is a catalogue, to begin one's own with.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
}

#[derive(Debug, Args)]
pub struct DataFetchArguments {
    /// Which: heart, sba, eicu-demo, cifar10, or one of the catalogue.
    pub name: String,
    /// The folder to write to, data/NAME if not said; it is made if it is not there.
    #[arg(long, value_name = "DIR")]
    pub to: Option<PathBuf>,
    /// A web server to take the files from instead, as URL/NAME/FILE; checksums still hold.
    #[arg(long, value_name = "URL", env = "FEDCOMPETITORS_DATA_MIRROR", hide_env_values = true)]
    pub mirror: Option<String>,
    /// A catalogue of data sets, instead of the program's own (`data list --format json`).
    #[arg(long, value_name = "FILE")]
    pub catalogue: Option<PathBuf>,
}
