//! One of the program's own experiments, run and kept with what it was run on.

use std::{
    env,
    path::{Path, PathBuf},
    process::Command,
};

use fedcompetitors_files::atomically;

use crate::{
    Failure,
    record::{origin, today},
    timing::timed,
    told,
};

/// Runs `fedcompetitors reproduce` with these arguments. With a folder, the results are kept
/// in it under the experiment's name or the given one, and `made.txt` beside them says where
/// they come from.
///
/// # Errors
/// If the program is not there or does not end well.
pub fn run(save: Option<&Path>, name: Option<&str>, arguments: &[String]) -> Result<(), Failure> {
    let program = program()?;
    let name = match (name, arguments.first()) {
        (Some(name), _) => name,
        (None, Some(experiment)) if !experiment.starts_with('-') => experiment,
        _ => {
            let hint = "the experiment comes first behind `--`, such as `-- synthetic-weak`";
            return Err(format!("no experiment is named\nhint: {hint}").into());
        }
    };
    if arguments.iter().any(|one| one == "--out" || one.starts_with("--out=")) {
        let hint = "say `--save DIR` in front of `--`; the results go to a folder in it";
        return Err(format!("`--out` is for this program to say\nhint: {hint}").into());
    }
    let folder = save.map(|save| save.join(name));
    // Before the results are written, which would make a commit that holds older ones dirty.
    let origin = origin(&format!("fedcompetitors reproduce {}", arguments.join(" ")));
    let mut command = Command::new(&program);
    command.arg("reproduce").args(arguments);
    if let Some(folder) = &folder {
        command.arg("--out").arg(folder);
    }
    let (seconds, status) = timed(|| command.status());
    let status = status.map_err(|error| {
        format!("{}: {error}\nhint: check that it is a program that you may run", program.display())
    })?;
    if !status.success() {
        let hint = "what it said is above; nothing is recorded of it";
        return Err(format!("`fedcompetitors reproduce` ended with {status}\nhint: {hint}").into());
    }
    if let Some(folder) = folder {
        let made = format!("{origin}date: {}\nseconds: {seconds:.0}\n", today());
        atomically(&folder.join("made.txt"), |writer| writer.write_all(made.as_bytes()))
            .map_err(|error| told(&error))?;
    }
    Ok(())
}

/// The program, which is built into the same folder.
pub fn program() -> Result<PathBuf, Failure> {
    let program =
        env::current_exe()?.with_file_name(format!("fedcompetitors{}", env::consts::EXE_SUFFIX));
    if program.is_file() {
        return Ok(program);
    }
    let hint = "build it first, in the same way as this one: `cargo build --release`";
    Err(format!("{}: there is no such program\nhint: {hint}", program.display()).into())
}
