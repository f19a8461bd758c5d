//! `generate`: a random federation.

use std::{fs, path::Path};

use fedcompetitors_files::{
    FileError, Problem, atomically, write_benefit, write_benefit_matrix, write_competing,
    write_competing_matrix, write_participants,
};
use fedcompetitors_report::plural;
use fedcompetitors_select::generate::{Shape, instance};

use crate::{
    Failure, Outcome,
    arguments::{GenerateArguments, GraphFormat},
    output::print,
};

pub fn generate(arguments: &GenerateArguments) -> Result<Outcome, Failure> {
    let shape = Shape {
        participants: arguments.participants as usize,
        competing_density: arguments.competing_density,
        benefit_density: arguments.benefit_density,
    };
    let (competing, benefit) = instance(shape, arguments.seed);
    let folder = &arguments.out;
    fs::create_dir_all(folder).map_err(|error| FileError {
        path: folder.clone(),
        line: None,
        problem: Problem::Unwritable(error),
    })?;
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
        let show = |path: &Path| path.display().to_string();
        writeln!(
            output,
            "{}, {}, {}: {}, {}, {}",
            plural(participants.len(), "participant", "participants"),
            plural(competing.pairs().count(), "competing pair", "competing pairs"),
            plural(benefit.len(), "benefit", "benefits"),
            show(&path("participants.txt")),
            show(&competing_path),
            show(&benefit_path),
        )
    })?;
    Ok(Outcome::Done)
}
