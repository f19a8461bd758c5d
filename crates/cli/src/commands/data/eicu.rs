//! `data eicu`: a federation of hospitals, from the tables of eICU.

use fedcompetitors_experiments::eicu::federation::{TARGET, federation};
use fedcompetitors_files::{FileError, Problem, atomically, make_folder, read_eicu, write_table};
use fedcompetitors_report::plural;

use crate::{
    Failure, Outcome,
    arguments::EicuArguments,
    output::{shown_path, tell},
};

pub fn eicu(arguments: &EicuArguments) -> Result<Outcome, Failure> {
    let EicuArguments { data, out } = arguments;
    let hospitals = read_eicu(data)?.participants().map_err(|problem| FileError {
        path: data.clone(),
        line: None,
        problem: Problem::Eicu(problem),
    })?;
    let (participants, text) = federation(&hospitals, &shown_path(out));
    make_folder(out)?;
    for participant in &participants {
        let path = out.join(&participant.file);
        atomically(&path, |writer| write_table(writer, &participant.cohort.table, TARGET))?;
    }
    let target = out.join("federation.toml");
    atomically(&target, |writer| writer.write_all(text.as_bytes()))?;
    tell(&format!(
        "wrote {} with {}; run it with `fedcompetitors run {}`",
        shown_path(&target),
        plural(participants.len(), "participant", "participants"),
        shown_path(&target)
    ));
    Ok(Outcome::Done)
}
