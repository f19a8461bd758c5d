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
    write_page(folder, &command)?;
    for subcommand in command.get_subcommands().filter(|subcommand| subcommand.get_name() != "help")
    {
        write_page(folder, subcommand)?;
    }
    Ok(Outcome::Done)
}

fn write_page(folder: &Path, command: &clap::Command) -> Result<(), FileError> {
    // A built command is called `fedcompetitors-select`, as its page should be.
    let name = command.get_display_name().unwrap_or(command.get_name());
    let page = clap_mangen::Man::new(command.clone());
    let path = folder.join(format!("{name}.1"));
    atomically(&path, |mut writer| page.render(&mut writer))
}
