//! Standard output, written to in large pieces and checked.

use std::io::{self, BufWriter, Write};

/// Writes to standard output through `content`.
pub fn print(content: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let mut output = BufWriter::with_capacity(1 << 16, io::stdout().lock());
    content(&mut output)?;
    output.flush()
}

/// Tells the user of something that is allowed but looks like a mistake.
pub fn warn(message: &str) {
    eprintln!("warning: {message}");
}
