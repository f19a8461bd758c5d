//! JSON with one entry a line: easy to read, to compare and to edit by hand.

use std::{
    fs,
    io::{self, Write},
    path::Path,
};

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{ser::Formatter, value::RawValue};

use crate::{FileError, Problem};

/// Writes a value as JSON: the fields of the whole and the entries of its lists on
/// lines of their own, everything deeper on one line.
///
/// # Errors
/// If the writer fails.
pub fn to_writer(writer: &mut dyn Write, value: &impl Serialize) -> io::Result<()> {
    let mut serializer =
        serde_json::Serializer::with_formatter(&mut *writer, Lines { depth: 0, filled: false });
    value.serialize(&mut serializer)?;
    writer.write_all(b"\n")
}

/// Levels that are broken into lines.
const BROKEN: usize = 2;

struct Lines {
    depth: usize,
    /// Has the list or object that was closed last anything in it?
    filled: bool,
}

impl Lines {
    fn open<W: Write + ?Sized>(&mut self, writer: &mut W, bracket: &[u8]) -> io::Result<()> {
        self.depth += 1;
        self.filled = false;
        writer.write_all(bracket)
    }

    fn item<W: Write + ?Sized>(&self, writer: &mut W, first: bool) -> io::Result<()> {
        if !first {
            writer.write_all(if self.depth > BROKEN { b", " } else { b"," })?;
        }
        self.line(writer)
    }

    fn line<W: Write + ?Sized>(&self, writer: &mut W) -> io::Result<()> {
        if self.depth <= BROKEN {
            writer.write_all(b"\n")?;
            (0..self.depth).try_for_each(|_| writer.write_all(b"  "))?;
        }
        Ok(())
    }

    fn close<W: Write + ?Sized>(&mut self, writer: &mut W, bracket: &[u8]) -> io::Result<()> {
        let broken = self.depth <= BROKEN;
        self.depth -= 1;
        if broken && self.filled {
            writer.write_all(b"\n")?;
            (0..self.depth).try_for_each(|_| writer.write_all(b"  "))?;
        }
        self.filled = true;
        writer.write_all(bracket)
    }
}

impl Formatter for Lines {
    fn begin_array<W: Write + ?Sized>(&mut self, writer: &mut W) -> io::Result<()> {
        self.open(writer, b"[")
    }
    fn end_array<W: Write + ?Sized>(&mut self, writer: &mut W) -> io::Result<()> {
        self.close(writer, b"]")
    }
    fn begin_array_value<W: Write + ?Sized>(
        &mut self,
        writer: &mut W,
        first: bool,
    ) -> io::Result<()> {
        self.item(writer, first)
    }
    fn end_array_value<W: Write + ?Sized>(&mut self, _: &mut W) -> io::Result<()> {
        self.filled = true;
        Ok(())
    }
    fn begin_object<W: Write + ?Sized>(&mut self, writer: &mut W) -> io::Result<()> {
        self.open(writer, b"{")
    }
    fn end_object<W: Write + ?Sized>(&mut self, writer: &mut W) -> io::Result<()> {
        self.close(writer, b"}")
    }
    fn begin_object_key<W: Write + ?Sized>(
        &mut self,
        writer: &mut W,
        first: bool,
    ) -> io::Result<()> {
        self.item(writer, first)
    }
    fn begin_object_value<W: Write + ?Sized>(&mut self, writer: &mut W) -> io::Result<()> {
        writer.write_all(b": ")
    }
    fn end_object_value<W: Write + ?Sized>(&mut self, _: &mut W) -> io::Result<()> {
        self.filled = true;
        Ok(())
    }
}

/// A JSON text, its file named in every error.
pub(crate) struct Document<'a> {
    pub path: &'a Path,
    pub text: &'a str,
}

impl<'a> Document<'a> {
    /// The whole, whose `format` must be the one expected.
    pub fn parse<T: Deserialize<'a>>(&self, expected: &'static str) -> Result<T, FileError> {
        // A list in the fields' order would be taken for the fields.
        if !self.text.trim_start().starts_with('{') {
            let problem = if self.text.trim().is_empty() {
                Problem::Empty
            } else {
                Problem::Json("the file is not a JSON object".into())
            };
            return Err(FileError::new(self.path, problem));
        }
        // A file of another format is refused as such, not for its first odd field; but
        // the format is only looked for when something is odd, as files may be long.
        serde_json::from_str(self.text).map_err(|error| match self.format() {
            Some(found) if found != expected => {
                FileError::new(self.path, Problem::Format { found, expected })
            }
            _ => self.error(1, &error),
        })
    }

    /// Refuses a file that could be read but says that it is of another format.
    pub fn expect_format(&self, found: String, expected: &'static str) -> Result<(), FileError> {
        if found == expected {
            return Ok(());
        }
        Err(FileError::new(self.path, Problem::Format { found, expected }))
    }

    fn format(&self) -> Option<String> {
        #[derive(Deserialize)]
        struct Format {
            format: String,
        }
        serde_json::from_str::<Format>(self.text).ok().map(|found| found.format)
    }

    /// One entry of a list.
    pub fn entry<T: DeserializeOwned>(&self, raw: &RawValue) -> Result<T, FileError> {
        serde_json::from_str(raw.get()).map_err(|error| self.error(self.line(raw), &error))
    }

    /// The line that an entry is on: entries are borrowed from the text.
    pub fn line(&self, raw: &RawValue) -> u64 {
        let offset = (raw.get().as_ptr() as usize).wrapping_sub(self.text.as_ptr() as usize);
        let before = self.text.as_bytes().get(..offset).unwrap_or_default();
        1 + before.iter().filter(|&&byte| byte == b'\n').count() as u64
    }

    /// A problem with an entry.
    pub fn refuse(&self, raw: &RawValue, problem: impl Into<Problem>) -> FileError {
        FileError::at_line(self.path, self.line(raw), problem)
    }

    fn error(&self, first_line: u64, error: &serde_json::Error) -> FileError {
        let line = first_line + (error.line() as u64).saturating_sub(1);
        let message = error.to_string();
        // The message ends with its place, which may be relative to the entry.
        let message = message.rsplit_once(" at line ").map_or(&*message, |(message, _)| message);
        FileError::at_line(self.path, line, Problem::Json(message.to_owned()))
    }
}

/// Reads a text file whole.
pub(crate) fn read_text(path: &Path) -> Result<String, FileError> {
    let bytes = fs::read(path).map_err(|error| FileError::new(path, Problem::Unreadable(error)))?;
    let text = String::from_utf8(bytes).map_err(|_| FileError::new(path, Problem::NotUtf8))?;
    // The mark that some editors begin a file with is no part of it.
    Ok(text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_levels_are_broken_into_lines() {
        let value = serde_json::json!({
            "list": [{"a": 1, "b": [1, {"c": []}]}, {}], "none": [], "text": "x\ny",
        });
        let mut text = Vec::new();
        to_writer(&mut text, &value).expect("written");
        let text = String::from_utf8(text).expect("UTF-8");
        assert_eq!(
            text,
            "{\n  \"list\": [\n    {\"a\": 1, \"b\": [1, {\"c\": []}]},\n    {}\n  ],\n  \"none\": [],\n  \"text\": \"x\\ny\"\n}\n"
        );
        assert_eq!(serde_json::from_str::<serde_json::Value>(&text).expect("JSON"), value);
    }
}
