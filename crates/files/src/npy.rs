//! Dense n × n matrices in NumPy's `.npy` form.
//!
//! Written by hand: `docs/decisions/0003-npy.md` says why.

use std::{
    io::{self, Read, Write},
    path::Path,
};

use fedcompetitors_graphs::{BenefitGraph, CompetingGraph};

use crate::{FileError, Problem, error::NpyProblem};

/// What every `.npy` file begins with.
pub(crate) const MAGIC: &[u8] = b"\x93NUMPY";

/// A header longer than this is not a matrix's.
const LONGEST_HEADER: usize = 1 << 16;

/// A square matrix whose entries are still to be read.
pub(crate) struct Matrix<R> {
    pub size: usize,
    entry: Entry,
    by_column: bool,
    source: R,
}

/// The types of entries that are read.
#[derive(Clone, Copy, PartialEq)]
enum Entry {
    F64,
    F32,
    /// `uint8` or `bool`.
    Byte,
}

impl Entry {
    fn from_type(descr: &str) -> Option<Self> {
        match descr {
            "<f8" => Some(Self::F64),
            "<f4" => Some(Self::F32),
            "|u1" | "|b1" => Some(Self::Byte),
            _ => None,
        }
    }

    fn bytes(self) -> usize {
        match self {
            Self::F64 => 8,
            Self::F32 => 4,
            Self::Byte => 1,
        }
    }

    fn decode(self, bytes: &[u8]) -> f64 {
        match (self, bytes) {
            (Self::F64, &[a, b, c, d, e, f, g, h]) => f64::from_le_bytes([a, b, c, d, e, f, g, h]),
            (Self::F32, &[a, b, c, d]) => f64::from(f32::from_le_bytes([a, b, c, d])),
            (Self::Byte, &[byte]) => f64::from(byte),
            _ => unreachable!("the entries come in pieces of their own size"),
        }
    }
}

impl<R: Read> Matrix<R> {
    /// Reads the header; `source` begins with the magic.
    pub fn open(path: &Path, mut source: R) -> Result<Self, FileError> {
        let header = read_header(path, &mut source)?;
        let refuse = |problem| FileError::new(path, Problem::Npy(problem));
        let header = Header::parse(&header).ok_or_else(|| refuse(NpyProblem::Header))?;
        let entry = Entry::from_type(&header.descr)
            .ok_or_else(|| refuse(NpyProblem::Type(header.descr)))?;
        let &[rows, columns] = &header.shape[..] else {
            return Err(refuse(NpyProblem::Shape(shape_in_words(&header.shape))));
        };
        if rows != columns {
            return Err(refuse(NpyProblem::Shape(shape_in_words(&header.shape))));
        }
        Ok(Self { size: rows, entry, by_column: header.by_column, source })
    }

    /// Hands every entry that is not zero to `take`, as (row, column, value).
    ///
    /// One line of the matrix is read at a time, so a header that lies about the size
    /// costs no more memory than one line.
    pub fn each_entry(
        mut self,
        path: &Path,
        mut take: impl FnMut(usize, usize, f64) -> Result<(), Problem>,
    ) -> Result<(), FileError> {
        let line_bytes = self.size.saturating_mul(self.entry.bytes());
        let total = (line_bytes as u64).saturating_mul(self.size as u64);
        let unreadable = |error| FileError::new(path, Problem::Unreadable(error));
        let mut line = Vec::new();
        for outer in 0..self.size {
            line.clear();
            let read = (&mut self.source)
                .take(line_bytes as u64)
                .read_to_end(&mut line)
                .map_err(unreadable)?;
            if read < line_bytes {
                let found = outer as u64 * line_bytes as u64 + read as u64;
                let problem = NpyProblem::Short { found, expected: total };
                return Err(FileError::new(path, Problem::Npy(problem)));
            }
            for (inner, bytes) in line.chunks_exact(self.entry.bytes()).enumerate() {
                let value = self.entry.decode(bytes);
                if value != 0.0 {
                    let (row, column) =
                        if self.by_column { (inner, outer) } else { (outer, inner) };
                    take(row, column, value).map_err(|problem| FileError::new(path, problem))?;
                }
            }
        }
        if self.source.read(&mut [0]).map_err(unreadable)? > 0 {
            return Err(FileError::new(path, Problem::Npy(NpyProblem::Long)));
        }
        Ok(())
    }
}

fn read_header(path: &Path, source: &mut impl Read) -> Result<String, FileError> {
    let refuse = |problem| FileError::new(path, Problem::Npy(problem));
    let mut fill =
        |buffer: &mut [u8]| source.read_exact(buffer).map_err(|_| refuse(NpyProblem::Header));
    let mut start = [0; 8];
    fill(&mut start)?;
    if !start.starts_with(MAGIC) {
        return Err(refuse(NpyProblem::Magic));
    }
    let length = match start[6] {
        1 => {
            let mut length = [0; 2];
            fill(&mut length)?;
            usize::from(u16::from_le_bytes(length))
        }
        2 | 3 => {
            let mut length = [0; 4];
            fill(&mut length)?;
            u32::from_le_bytes(length) as usize
        }
        version => return Err(refuse(NpyProblem::Version(version))),
    };
    if length > LONGEST_HEADER {
        return Err(refuse(NpyProblem::Header));
    }
    let mut header = vec![0; length];
    fill(&mut header)?;
    String::from_utf8(header).map_err(|_| refuse(NpyProblem::Header))
}

/// The three entries of the header's Python dictionary.
struct Header {
    descr: String,
    by_column: bool,
    shape: Vec<usize>,
}

impl Header {
    /// `{'descr': '<f8', 'fortran_order': False, 'shape': (3, 3), }`, keys in any order.
    fn parse(text: &str) -> Option<Self> {
        let mut rest = text.trim().strip_prefix('{')?;
        let (mut descr, mut by_column, mut shape) = (None, None, None);
        loop {
            rest = rest.trim_start();
            if let Some(end) = rest.strip_prefix('}') {
                let complete = end.trim().is_empty();
                return complete.then_some(Self {
                    descr: descr?,
                    by_column: by_column?,
                    shape: shape?,
                });
            }
            let (key, after) = quoted(rest)?;
            rest = after.trim_start().strip_prefix(':')?.trim_start();
            match key {
                "descr" => {
                    // A structured type is a list; it is named whole in the refusal.
                    let (value, after) = quoted(rest)
                        .or_else(|| rest.find(']').map(|end| rest.split_at(end + 1)))?;
                    descr = Some(value.to_owned());
                    rest = after;
                }
                "fortran_order" => {
                    let (value, after) = match rest.strip_prefix("True") {
                        Some(after) => (true, after),
                        None => (false, rest.strip_prefix("False")?),
                    };
                    by_column = Some(value);
                    rest = after;
                }
                "shape" => {
                    let (inside, after) = rest.strip_prefix('(')?.split_once(')')?;
                    let sizes = inside.split(',').map(str::trim).filter(|size| !size.is_empty());
                    shape = Some(sizes.map(|size| size.parse().ok()).collect::<Option<_>>()?);
                    rest = after;
                }
                _ => return None,
            }
            rest = rest.trim_start();
            rest = rest.strip_prefix(',').unwrap_or(rest);
        }
    }
}

/// A text in quotes, and what follows it.
fn quoted(text: &str) -> Option<(&str, &str)> {
    let quote = text.chars().next().filter(|c| matches!(c, '\'' | '"'))?;
    text[1..].split_once(quote)
}

fn shape_in_words(shape: &[usize]) -> String {
    match shape {
        [] => "a single number".into(),
        [length] => format!("{length} numbers in a row"),
        _ => shape.iter().map(usize::to_string).collect::<Vec<_>>().join(" × "),
    }
}

/// Writes the benefit graph as a `float64` matrix, row = from, column = to.
///
/// Column by column, as the graph is kept by the helped participant.
///
/// # Errors
/// If the writer fails.
pub fn write_benefit_matrix(benefit: &BenefitGraph, writer: &mut dyn Write) -> io::Result<()> {
    let size = benefit.participants().len();
    write_start(size, "<f8", true, writer)?;
    let mut column = vec![0; size * 8];
    for to in 0..size {
        column.fill(0);
        for (from, value) in benefit.helpers(to) {
            column[from * 8..][..8].copy_from_slice(&value.to_le_bytes());
        }
        writer.write_all(&column)?;
    }
    Ok(())
}

/// Writes the competing graph as a `bool` matrix: row = who reports, column = on whom.
///
/// # Errors
/// If the writer fails.
pub fn write_competing_matrix(
    competing: &CompetingGraph,
    writer: &mut dyn Write,
) -> io::Result<()> {
    let size = competing.participants().len();
    write_start(size, "|b1", false, writer)?;
    for a in 0..size {
        let row: Vec<u8> = (0..size).map(|b| u8::from(competing.reports(a, b))).collect();
        writer.write_all(&row)?;
    }
    Ok(())
}

fn write_start(
    size: usize,
    descr: &str,
    by_column: bool,
    writer: &mut dyn Write,
) -> io::Result<()> {
    let order = if by_column { "True" } else { "False" };
    let mut header =
        format!("{{'descr': '{descr}', 'fortran_order': {order}, 'shape': ({size}, {size}), }}");
    // The entries begin at a multiple of 64 bytes; the header ends with a line break.
    let padding = 63 - (MAGIC.len() + 4 + header.len()) % 64;
    header.extend(std::iter::repeat_n(' ', padding));
    header.push('\n');
    writer.write_all(MAGIC)?;
    writer.write_all(&[1, 0])?;
    writer.write_all(&(header.len() as u16).to_le_bytes())?;
    writer.write_all(header.as_bytes())
}
