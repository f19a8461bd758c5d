//! What is said to commands on public data sets.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::{Format, part};

#[derive(Debug, Subcommand)]
pub enum DataCommand {
    /// List the public data sets: content, licence, files, sizes and source.
    List(DataListArguments),
    /// Fetch the files of a data set from their publisher and check them.
    ///
    /// An interrupted download is resumed; existing files are kept.
    Fetch(DataFetchArguments),
    /// Write a federation of lenders from the loans of the U.S. Small Business Administration.
    Banks(BanksArguments),
    /// Write a federation of hospitals from the tables of eICU, a file for each participant.
    Eicu(EicuArguments),
}

#[derive(Debug, Args)]
pub struct BanksArguments {
    /// The folder with the loans.
    #[arg(long, value_name = "DIR")]
    pub data: PathBuf,
    /// The folder for federation.toml and competing.csv.
    #[arg(long, value_name = "DIR", default_value = "banks")]
    pub out: PathBuf,
    /// Two lenders compete if the cosine similarity of their loans by state is above this.
    #[arg(long, value_name = "COSINE", default_value_t = 0.8, value_parser = part)]
    pub overlap: f64,
    /// Consider the N largest lenders.
    #[arg(long, value_name = "N", default_value_t = 30)]
    pub largest: usize,
    /// Take lenders with at least N loans of each outcome.
    #[arg(long, value_name = "N", default_value_t = 12)]
    pub least: u64,
}

#[derive(Debug, Args)]
pub struct EicuArguments {
    /// The folder with the tables of eICU, of the full database or of the demo.
    #[arg(long, value_name = "DIR")]
    pub data: PathBuf,
    /// The folder for federation.toml and the participants' files.
    #[arg(long, value_name = "DIR", default_value = "eicu")]
    pub out: PathBuf,
}

#[derive(Debug, Args)]
pub struct DataListArguments {
    /// A catalogue of data sets. Default: the built-in catalogue.
    #[arg(long, value_name = "FILE")]
    pub catalogue: Option<PathBuf>,
    /// Output format. The JSON output is a catalogue that you can edit.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
}

#[derive(Debug, Args)]
pub struct DataFetchArguments {
    /// The data set: heart, sba, eicu-demo, cifar10, or one of the catalogue.
    pub name: String,
    /// The folder to write to; created if missing. Default: `data/NAME`.
    #[arg(long, value_name = "DIR")]
    pub to: Option<PathBuf>,
    /// Fetch the files from this web server instead, as URL/NAME/FILE. Checksums are still checked.
    #[arg(long, value_name = "URL", env = "FEDCOMPETITORS_DATA_MIRROR", hide_env_values = true)]
    pub mirror: Option<String>,
    /// A catalogue of data sets. Default: the built-in catalogue (`data list --format json`).
    #[arg(long, value_name = "FILE")]
    pub catalogue: Option<PathBuf>,
}
