//! The CSV tables and the list of participants.

use std::{
    io::{self, BufRead, BufReader, Read, Write},
    path::Path,
};

use csv::ByteRecord;
use fedcompetitors_graphs::{BenefitGraph, CompetingGraph, GraphError, Participants, shown};
use fedcompetitors_learn::{Column, Table, Targets};

use crate::{FileError, Problem};

/// A line of the benefit table, its participants found.
pub(crate) struct BenefitRow {
    pub from: u32,
    pub to: u32,
    pub value: f64,
    pub line: u64,
}

/// A line of the competing table, its participants found.
pub(crate) struct CompetingRow {
    pub a: usize,
    pub b: usize,
    pub line: u64,
}

/// Reads the benefit table; `find` gives each name its participant.
pub(crate) fn read_benefit(
    path: &Path,
    source: impl Read,
    mut find: impl FnMut(&str) -> Result<usize, GraphError>,
) -> Result<Vec<BenefitRow>, FileError> {
    let mut rows = Vec::new();
    let header = Header {
        columns: ["from", "to", "benefit"],
        exported: &["related"],
        expected: "from,to,benefit",
    };
    each_record(path, source, &header, |line, [from, to, value]| {
        let number = value.trim().parse().map_err(|_| Problem::NotANumber {
            from: from.to_owned(),
            to: to.to_owned(),
            text: value.to_owned(),
        })?;
        rows.push(BenefitRow {
            from: find(from)? as u32,
            to: find(to)? as u32,
            value: number,
            line,
        });
        Ok(())
    })?;
    Ok(rows)
}

/// Reads the competing table; `find` gives each name its participant.
pub(crate) fn read_competing(
    path: &Path,
    source: impl Read,
    mut find: impl FnMut(&str) -> Result<usize, GraphError>,
) -> Result<Vec<CompetingRow>, FileError> {
    let mut rows = Vec::new();
    let header = Header { columns: ["a", "b"], exported: &["since"], expected: "a,b" };
    each_record(path, source, &header, |line, [a, b]| {
        rows.push(CompetingRow { a: find(a)?, b: find(b)?, line });
        Ok(())
    })?;
    Ok(rows)
}

/// A line of the table of samples, its participant found.
pub(crate) struct SamplesRow {
    pub participant: usize,
    pub count: f64,
    pub line: u64,
}

/// Reads the table of samples; `find` gives each name its participant.
pub(crate) fn read_samples(
    path: &Path,
    source: impl Read,
    mut find: impl FnMut(&str) -> Result<usize, GraphError>,
) -> Result<Vec<SamplesRow>, FileError> {
    let mut rows = Vec::new();
    let header = Header {
        columns: ["participant", "samples"],
        exported: &["few", "source", "source_hash"],
        expected: "participant,samples",
    };
    each_record(path, source, &header, |line, [name, count]| {
        let count = count.trim().parse().map_err(|_| Problem::NotACount {
            participant: name.to_owned(),
            text: count.to_owned(),
        })?;
        rows.push(SamplesRow { participant: find(name)?, count, line });
        Ok(())
    })?;
    Ok(rows)
}

/// The header that a table must have.
pub(crate) struct Header<const N: usize> {
    /// The columns that are read.
    pub columns: [&'static str; N],
    /// The columns that `export` writes behind them: a table may have all of them or none. They are not read.
    pub exported: &'static [&'static str],
    /// The columns that are read, as one line.
    pub expected: &'static str,
}

impl<const N: usize> Header<N> {
    /// The number of columns, if this is the header of the table.
    fn width(&self, record: &ByteRecord) -> Option<usize> {
        let names = self.columns.iter().chain(self.exported);
        let is_known =
            record.iter().zip(names).all(|(field, name)| field.trim_ascii() == name.as_bytes());
        let width = record.len();
        (is_known && [N, N + self.exported.len()].contains(&width)).then_some(width)
    }
}

/// Hands each record after the header to `take`, with its line.
pub(crate) fn each_record<const N: usize>(
    path: &Path,
    source: impl Read,
    header: &Header<N>,
    mut take: impl FnMut(u64, [&str; N]) -> Result<(), Problem>,
) -> Result<(), FileError> {
    let mut records = Records::new(path, source)?;
    let Some((line, record)) = records.next()? else {
        return Err(FileError::new(path, Problem::Empty));
    };
    let Some(width) = header.width(record) else {
        let found = record.iter().map(String::from_utf8_lossy).collect::<Vec<_>>().join(",");
        let found = found.trim_end().chars().take(60).collect();
        let problem = Problem::Header { found, expected: header.expected };
        return Err(FileError::at_line(path, line, problem));
    };
    while let Some((line, record)) = records.next()? {
        fields(record, width)
            .and_then(|fields| take(line, fields))
            .map_err(|problem| FileError::at_line(path, line, problem))?;
    }
    Ok(())
}

/// The records of a CSV file, the header among them, each with the line it begins in.
/// Lines with nothing in them don't count.
pub(crate) struct Records<'p, R> {
    path: &'p Path,
    reader: csv::Reader<io::Chain<CountQuotes<Peeked<R>>, &'static [u8]>>,
    record: ByteRecord,
}

impl<'p, R: Read> Records<'p, R> {
    pub fn new(path: &'p Path, source: R) -> Result<Self, FileError> {
        // A line ends at its line feed and every file ends with one, so that the reader's
        // count of lines tells exactly where a record is; the carriage return of other
        // systems' files stays in the last field and is taken off by whoever reads that.
        let source = without_byte_order_mark(path, source)?;
        let source = CountQuotes { source, quotes: 0, ended: false }.chain(&b"\n"[..]);
        let reader = csv::ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .terminator(csv::Terminator::Any(b'\n'))
            .from_reader(source);
        Ok(Self { path, reader, record: ByteRecord::new() })
    }

    pub fn next(&mut self) -> Result<Option<(u64, &ByteRecord)>, FileError> {
        loop {
            let more = self.reader.read_byte_record(&mut self.record).map_err(|error| {
                FileError::new(self.path, Problem::Unreadable(into_io_error(error)))
            })?;
            if !more {
                return Ok(None);
            }
            if !self.record.iter().eq([b"\r"]) {
                break;
            }
        }
        let inside = self.record.as_slice().iter().filter(|&&byte| byte == b'\n').count() as u64;
        let line = self.reader.position().line();
        // A quote that is never closed swallows the rest of the file: with this record
        // everything has been read, and the number of quotes is odd.
        let (source, _) = self.reader.get_ref().get_ref();
        if source.ended && source.quotes % 2 == 1 && self.record.as_slice().ends_with(b"\n") {
            let line = (line - inside).max(1);
            return Err(FileError::at_line(self.path, line, Problem::OpenQuote));
        }
        Ok(Some((line.saturating_sub(1 + inside), &self.record)))
    }
}

/// Counts the double quotes on their way, and sees the end.
struct CountQuotes<R> {
    source: R,
    quotes: u64,
    ended: bool,
}

impl<R: Read> Read for CountQuotes<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.source.read(buffer)?;
        self.quotes += buffer[..read].iter().filter(|&&byte| byte == b'"').count() as u64;
        self.ended |= read == 0;
        Ok(read)
    }
}

/// The first fields of a record that has `width` of them.
fn fields<const N: usize>(record: &ByteRecord, width: usize) -> Result<[&str; N], Problem> {
    if record.len() != width {
        return Err(Problem::Fields { found: record.len(), expected: width });
    }
    let mut fields = [""; N];
    for (field, bytes) in fields.iter_mut().zip(record) {
        *field = str::from_utf8(bytes).map_err(|_| Problem::NotUtf8)?;
    }
    if width == N {
        fields[N - 1] = fields[N - 1].strip_suffix('\r').unwrap_or(fields[N - 1]);
    }
    Ok(fields)
}

fn into_io_error(error: csv::Error) -> io::Error {
    match error.into_kind() {
        csv::ErrorKind::Io(error) => error,
        // The reader takes any bytes and any number of fields: nothing else can fail.
        other => io::Error::other(format!("{other:?}")),
    }
}

/// A source whose first bytes were looked at.
type Peeked<R> = BufReader<io::Chain<io::Cursor<Vec<u8>>, R>>;

/// Spreadsheets like to begin a file with a mark that is no part of the first name.
fn without_byte_order_mark<R: Read>(path: &Path, source: R) -> Result<Peeked<R>, FileError> {
    let mark = b"\xef\xbb\xbf";
    let (start, source) = peek(path, source, mark.len())?;
    let start = if start == mark { Vec::new() } else { start };
    Ok(BufReader::with_capacity(1 << 16, io::Cursor::new(start).chain(source)))
}

/// The first bytes of a source, however few it gives at once, and the rest.
pub(crate) fn peek<R: Read>(
    path: &Path,
    mut source: R,
    length: usize,
) -> Result<(Vec<u8>, R), FileError> {
    let mut start = Vec::new();
    let read = source.by_ref().take(length as u64).read_to_end(&mut start);
    read.map_err(|error| FileError::new(path, Problem::Unreadable(error)))?;
    Ok((start, source))
}

/// Reads a list of participants, one name a line; empty lines don't count.
pub(crate) fn read_participants(path: &Path, source: impl Read) -> Result<Participants, FileError> {
    let mut source = without_byte_order_mark(path, source)?;
    let mut builder = fedcompetitors_graphs::ParticipantsBuilder::default();
    let mut bytes = Vec::new();
    for line in 1.. {
        bytes.clear();
        let read = source
            .read_until(b'\n', &mut bytes)
            .map_err(|error| FileError::new(path, Problem::Unreadable(error)))?;
        if read == 0 {
            break;
        }
        let text =
            str::from_utf8(&bytes).map_err(|_| FileError::at_line(path, line, Problem::NotUtf8))?;
        let name = text.strip_suffix('\n').unwrap_or(text);
        let name = name.strip_suffix('\r').unwrap_or(name);
        if !name.is_empty() {
            builder.add(name).map_err(|error| FileError::at_line(path, line, error))?;
        }
    }
    if builder.is_empty() {
        return Err(FileError::new(path, Problem::NoParticipants));
    }
    Ok(builder.build())
}

/// Writes the benefit table, ordered by the helped, then the helper.
///
/// # Errors
/// If the writer fails.
pub fn write_benefit(benefit: &BenefitGraph, writer: &mut dyn Write) -> io::Result<()> {
    let participants = benefit.participants();
    let mut table = csv::Writer::from_writer(writer);
    table.write_record(["from", "to", "benefit"])?;
    for to in 0..participants.len() {
        for (from, value) in benefit.helpers(to) {
            let value = value.to_string();
            table.write_record([participants.name(from), participants.name(to), &value])?;
        }
    }
    table.flush()
}

/// Writes the competing table: every report, ordered by who reports.
///
/// # Errors
/// If the writer fails.
pub fn write_competing(competing: &CompetingGraph, writer: &mut dyn Write) -> io::Result<()> {
    let participants = competing.participants();
    let mut table = csv::Writer::from_writer(writer);
    table.write_record(["a", "b"])?;
    for a in 0..participants.len() {
        for b in (0..participants.len()).filter(|&b| competing.reports(a, b)) {
            table.write_record([participants.name(a), participants.name(b)])?;
        }
    }
    table.flush()
}

/// Writes the list of participants, one name a line.
///
/// # Errors
/// If the writer fails, or a name holds a line break.
pub fn write_participants(participants: &Participants, writer: &mut dyn Write) -> io::Result<()> {
    if let Some(name) = participants.names().find(|name| name.contains(['\n', '\r'])) {
        let message = format!("a list cannot hold the name \"{}\"", shown(name));
        return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
    }
    participants.names().try_for_each(|name| writeln!(writer, "{name}"))
}

/// Writes a participant's table with a header line, the targets last in a column of this name. What is
/// missing is empty; classes are written as their numbers, counted from 0.
///
/// # Errors
/// If the writer fails.
pub fn write_table(writer: &mut dyn Write, table: &Table, target: &str) -> io::Result<()> {
    let mut lines = csv::Writer::from_writer(writer);
    lines.write_record(table.names().iter().map(String::as_str).chain([target]))?;
    for row in 0..table.len() {
        let cell = |column: &Column| match column {
            Column::Numbers(values) => values[row].map(|value| value.to_string()),
            Column::Categories { names, codes } => {
                codes[row].map(|code| names[code as usize].clone())
            }
        };
        for column in table.columns() {
            lines.write_field(cell(column).unwrap_or_default())?;
        }
        lines.write_field(match table.targets() {
            Targets::Values(values) => values[row].to_string(),
            Targets::Classes { labels, .. } => labels[row].to_string(),
        })?;
        lines.write_record(None::<&[u8]>)?;
    }
    lines.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_written_row_by_row() {
        let numbers = Column::Numbers(vec![Some(0.1), None, Some(-2.0)]);
        let names = vec!["red, light".to_owned(), "blue".to_owned()];
        let codes = vec![Some(1), Some(0), None];
        let columns = vec![numbers, Column::Categories { names, codes }];
        let targets = Targets::Classes { labels: vec![0, 1, 1], count: 2 };
        let table = Table::new(vec!["size".into(), "colour".into()], columns, targets);
        let mut written = Vec::new();
        write_table(&mut written, &table.expect("a table"), "ill").expect("to memory");
        let text = String::from_utf8(written).expect("text");
        assert_eq!(text, "size,colour,ill\n0.1,blue,0\n,\"red, light\",1\n-2,,1\n");
    }
}
