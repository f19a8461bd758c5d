//! `data`: public data sets, listed and fetched.

mod banks;
mod checksum;
mod download;
mod eicu;
mod fetch;
mod list;
mod unpack;

use std::path::Path;

use fedcompetitors_files::{Catalogue, parse_catalogue, read_catalogue};

use crate::{Failure, Outcome, arguments::DataCommand};

/// The data sets that the program knows by itself, in the form of anybody's catalogue.
const OWN: &str = include_str!("catalogue.json");

pub fn data(command: &DataCommand) -> Result<Outcome, Failure> {
    match command {
        DataCommand::List(arguments) => list::list(arguments),
        DataCommand::Fetch(arguments) => fetch::fetch(arguments),
        DataCommand::Banks(arguments) => banks::banks(arguments),
        DataCommand::Eicu(arguments) => eicu::eicu(arguments),
    }
}

/// The user's catalogue, or the program's own.
fn catalogue(path: Option<&Path>) -> Result<Catalogue, Failure> {
    let catalogue = match path {
        Some(path) => read_catalogue(path),
        None => parse_catalogue(Path::new("the program's own catalogue"), OWN),
    };
    Ok(catalogue?)
}
