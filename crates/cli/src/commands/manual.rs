//! `manual` and `completions`, made from the command line's own description.

use std::path::Path;

use clap::CommandFactory;
use fedcompetitors_files::{FileError, atomically, make_folder};

use crate::{Failure, Outcome, arguments::Arguments, output::print};

pub fn completions(shell: clap_complete::Shell) -> Result<Outcome, Failure> {
    // The generator panics when it cannot write, so it writes to memory.
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Arguments::command(), "fedcompetitors", &mut script);
    print(|output| output.write_all(&script))?;
    Ok(Outcome::Done)
}

pub fn manual(folder: Option<&Path>) -> Result<Outcome, Failure> {
    let mut command = Arguments::command();
    command.build();
    let Some(folder) = folder else {
        print(|output| clap_mangen::Man::new(command).render(output))?;
        return Ok(Outcome::Done);
    };
    make_folder(folder)?;
    write_pages(folder, &command)?;
    Ok(Outcome::Done)
}

/// The pages of a command and of those under it.
fn write_pages(folder: &Path, command: &clap::Command) -> Result<(), FileError> {
    // A built command is called `fedcompetitors-select`, as its page should be.
    let name = command.get_display_name().unwrap_or(command.get_name());
    let page = clap_mangen::Man::new(command.clone());
    let path = folder.join(format!("{name}.1"));
    atomically(&path, |mut writer| page.render(&mut writer))?;
    let mut commands = command.get_subcommands().filter(|command| command.get_name() != "help");
    commands.try_for_each(|command| write_pages(folder, command))
}
