//! `generate`: a random federation.

use clap::{CommandFactory, error::ErrorKind};
use fedcompetitors_files::{
    atomically, make_folder, write_benefit, write_benefit_matrix, write_competing,
    write_competing_matrix, write_participants,
};
use fedcompetitors_report::plural;
use fedcompetitors_select::generate::{Shape, instance};

use crate::{
    Failure, Outcome,
    arguments::{Arguments, GenerateArguments, GraphFormat},
    output::{print, shown_path},
};

/// More than these take more memory than most machines have.
const MOST_BENEFITS: f64 = 2e8;

pub fn generate(arguments: &GenerateArguments) -> Result<Outcome, Failure> {
    let shape = Shape {
        participants: arguments.participants as usize,
        competing_density: arguments.competing_density,
        benefit_density: arguments.benefit_density,
    };
    let expected = f64::from(arguments.participants).powi(2) * arguments.benefit_density;
    if expected > MOST_BENEFITS {
        let message =
            format!("that would be about {expected:.0} benefits, more than {MOST_BENEFITS:.0}");
        Arguments::command().error(ErrorKind::ValueValidation, message).exit();
    }
    let (competing, benefit) = instance(shape, arguments.seed);
    let folder = &arguments.out;
    make_folder(folder)?;
    let participants = benefit.participants();
    let path = |name: &str| folder.join(name);
    atomically(&path("participants.txt"), |writer| write_participants(participants, writer))?;
    let (competing_path, benefit_path) = match arguments.format {
        GraphFormat::Csv => {
            let paths = (path("competing.csv"), path("benefit.csv"));
            atomically(&paths.0, |writer| write_competing(&competing, writer))?;
            atomically(&paths.1, |writer| write_benefit(&benefit, writer))?;
            paths
        }
        GraphFormat::Npy => {
            let paths = (path("competing.npy"), path("benefit.npy"));
            atomically(&paths.0, |writer| write_competing_matrix(&competing, writer))?;
            atomically(&paths.1, |writer| write_benefit_matrix(&benefit, writer))?;
            paths
        }
    };
    print(|output| {
        writeln!(
            output,
            "{}, {}, {}: {}, {}, {}",
            plural(participants.len(), "participant", "participants"),
            plural(competing.pairs().count(), "competing pair", "competing pairs"),
            plural(benefit.len(), "benefit", "benefits"),
            shown_path(&path("participants.txt")),
            shown_path(&competing_path),
            shown_path(&benefit_path),
        )
    })?;
    Ok(Outcome::Done)
}
