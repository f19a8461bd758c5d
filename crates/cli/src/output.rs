//! Standard output, written to in large pieces and checked.

use std::{
    fs,
    io::{self, BufWriter, Write},
    path::Path,
};

use fedcompetitors_graphs::shown;

use crate::Failure;

/// Writes to standard output through `content`. A reader that goes away has seen enough
/// (`fedcompetitors … | head`): that is no failure, and what was found is still told by
/// the exit status.
pub fn print(content: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let mut output = BufWriter::with_capacity(1 << 16, io::stdout().lock());
    let result = content(&mut output).and_then(|()| output.flush());
    // What is still in the buffer would be written once more when it is dropped.
    let _ = output.into_parts();
    match result {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        result => result,
    }
}

/// Tells the user of something that is allowed but looks like a mistake.
pub fn warn(message: &str) {
    tell(&format!("warning: {message}"));
}

/// Writes a line to standard error. Nobody can be told if that fails.
pub fn tell(message: &str) {
    let _ = writeln!(io::stderr(), "{message}");
}

/// A path as it is shown to people.
pub fn shown_path(path: &Path) -> String {
    shown(&path.display().to_string()).into_owned()
}

/// Refuses to write a file over one of those that were read.
pub fn refuse_overwriting(target: Option<&Path>, read: &[&Path]) -> Result<(), Failure> {
    let Some(target) = target else {
        return Ok(());
    };
    let same = |path: &&Path| match (fs::canonicalize(target), fs::canonicalize(path)) {
        (Ok(target), Ok(path)) => target == path,
        _ => false,
    };
    match read.iter().find(|path| same(path)) {
        Some(path) => Err(Failure::Usage {
            error: format!("{} is an input file and would be overwritten", shown_path(path)),
            hint: "choose another output file".into(),
        }),
        None => Ok(()),
    }
}
