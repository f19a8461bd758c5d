//! From files to graphs.

use std::{
    fs::File,
    io::{BufRead, BufReader, Read},
    path::Path,
};

use fedcompetitors_graphs::{
    BenefitGraph, CompetingGraph, GraphError, Participants, ParticipantsBuilder, shown,
};

use crate::{
    FileError, Problem,
    npy::{MAGIC, Matrix},
    tables::{self, BenefitRow, CompetingRow},
};

/// Most participants that a federation may have: every graph takes a bit for each
/// ordered pair, so beyond this a typing error could ask for all of a machine's memory.
pub(crate) const MOST_PARTICIPANTS: usize = 100_000;

/// What the files say.
#[derive(Debug)]
pub struct Graphs {
    /// Who competes with whom.
    pub competing: CompetingGraph,
    /// Who would help whom.
    pub benefit: BenefitGraph,
    /// What is allowed but looks like a mistake, in words.
    pub warnings: Vec<String>,
}

/// Reads both graphs, CSV or `.npy`.
///
/// `known` are the participants, where they are known beforehand. Otherwise they come
/// in the order of first appearance in the benefit file, then the competing file;
/// matrices name them `v1`, `v2`, ….
///
/// # Errors
/// If a file cannot be read or says something that cannot be.
pub fn read_graphs(
    competing: &Path,
    benefit: &Path,
    known: Option<Participants>,
) -> Result<Graphs, FileError> {
    parse_graphs((competing, open(competing)?), (benefit, open(benefit)?), known)
}

/// Reads both graphs from anything that can be read; the paths name them in errors.
///
/// # Errors
/// As [`read_graphs`].
pub fn parse_graphs(
    (competing_path, competing): (&Path, impl Read),
    (benefit_path, benefit): (&Path, impl Read),
    known: Option<Participants>,
) -> Result<Graphs, FileError> {
    let mut names = match known {
        Some(participants) => Names::Listed(participants),
        None => Names::Growing(ParticipantsBuilder::default()),
    };
    let benefit_rows = read_benefit_rows(benefit_path, benefit, &mut names)?;
    let in_benefit_file = names.len();
    let competing_rows = read_competing_rows(competing_path, competing, &mut names)?;
    let participants = names.finish();
    if participants.is_empty() {
        return Err(FileError::new(benefit_path, Problem::NoParticipants));
    }
    check_count(competing_path, participants.len())?;
    let benefit = build_benefit(benefit_path, &participants, benefit_rows)?;
    let competing = build_competing(competing_path, &participants, &competing_rows)?;
    let warnings = only_competing(&participants, in_benefit_file, competing_path, benefit_path);
    Ok(Graphs { competing, benefit, warnings })
}

/// A name that only the competing file has may be a misspelt one, and then a
/// competition would be lost.
fn only_competing(
    participants: &Participants,
    in_benefit_file: usize,
    competing: &Path,
    benefit: &Path,
) -> Vec<String> {
    let Ok(others) = Participants::new(participants.names().take(in_benefit_file)) else {
        return Vec::new();
    };
    let warning = |name: &str| {
        let nearest = match others.find(name) {
            Err(GraphError::UnknownParticipant { nearest: Some(nearest), .. }) => {
                format!(" (did you mean \"{}\"?)", shown(&nearest))
            }
            _ => String::new(),
        };
        format!(
            "\"{}\" is named in {} but not in {}: nobody helps it and it helps nobody{nearest}",
            shown(name),
            shown(&competing.display().to_string()),
            shown(&benefit.display().to_string()),
        )
    };
    participants.names().skip(in_benefit_file).map(warning).collect()
}

/// Reads a competing graph over participants that are known already.
///
/// # Errors
/// If the file cannot be read or says something that cannot be.
pub fn read_competing(
    path: &Path,
    participants: &Participants,
) -> Result<CompetingGraph, FileError> {
    let rows = read_competing_rows(path, open(path)?, &mut Names::Listed(participants.clone()))?;
    build_competing(path, participants, &rows)
}

/// Reads a list of participants, one name a line.
///
/// # Errors
/// If the file cannot be read, or a name is empty, doubled or has white space around it.
pub fn read_participants(path: &Path) -> Result<Participants, FileError> {
    parse_participants(path, open(path)?)
}

/// Reads a list of participants from anything that can be read; `path` names it in
/// errors.
///
/// # Errors
/// As [`read_participants`].
pub fn parse_participants(path: &Path, list: impl Read) -> Result<Participants, FileError> {
    let participants = tables::read_participants(path, list)?;
    check_count(path, participants.len())?;
    Ok(participants)
}

pub(crate) fn check_count(path: &Path, count: usize) -> Result<(), FileError> {
    if count > MOST_PARTICIPANTS {
        return Err(FileError::new(path, Problem::TooMany { count, most: MOST_PARTICIPANTS }));
    }
    Ok(())
}

pub(crate) fn open(path: &Path) -> Result<File, FileError> {
    File::open(path).map_err(|error| FileError::new(path, Problem::Unreadable(error)))
}

/// The participants, listed beforehand or collected on the way.
enum Names {
    Listed(Participants),
    Growing(ParticipantsBuilder),
}

impl Names {
    fn find(&mut self, name: &str) -> Result<usize, GraphError> {
        match self {
            Self::Listed(participants) => participants.find(name),
            Self::Growing(builder) => builder.find_or_add(name),
        }
    }

    fn len(&self) -> usize {
        match self {
            Self::Listed(participants) => participants.len(),
            Self::Growing(builder) => builder.len(),
        }
    }

    /// The participants of a matrix: those known so far, or numbered ones if none are.
    fn for_matrix(&mut self, path: &Path, size: usize) -> Result<Participants, FileError> {
        if self.len() == 0 {
            *self = Self::Listed(Participants::numbered(size));
        } else if let Self::Growing(builder) = self {
            *self = Self::Listed(std::mem::take(builder).build());
        }
        match self {
            Self::Listed(participants) if participants.len() == size => Ok(participants.clone()),
            _ => Err(FileError::new(
                path,
                Problem::OtherSize { matrix: size, participants: self.len() },
            )),
        }
    }

    fn finish(self) -> Participants {
        match self {
            Self::Listed(participants) => participants,
            Self::Growing(builder) => builder.build(),
        }
    }
}

/// Does the source begin as `.npy` files do? Whatever the file is called.
fn buffered<R: Read>(path: &Path, source: R) -> Result<(bool, impl BufRead), FileError> {
    let mut source = BufReader::with_capacity(1 << 16, source);
    let start =
        source.fill_buf().map_err(|error| FileError::new(path, Problem::Unreadable(error)))?;
    let is_matrix =
        start.starts_with(MAGIC) || path.extension().is_some_and(|extension| extension == "npy");
    Ok((is_matrix, source))
}

fn read_benefit_rows(
    path: &Path,
    source: impl Read,
    names: &mut Names,
) -> Result<Vec<BenefitRow>, FileError> {
    let (is_matrix, source) = buffered(path, source)?;
    if !is_matrix {
        return tables::read_benefit(path, source, |name| names.find(name));
    }
    let matrix = Matrix::open(path, source)?;
    let size = matrix.size;
    let mut rows = Vec::new();
    matrix.each_entry(path, |from, to, value| {
        rows.push(BenefitRow { from: from as u32, to: to as u32, value, line: 0 });
        Ok(())
    })?;
    // Only now: the size that the header claims is borne out by the entries.
    check_count(path, size)?;
    names.for_matrix(path, size)?;
    Ok(rows)
}

fn read_competing_rows(
    path: &Path,
    source: impl Read,
    names: &mut Names,
) -> Result<Vec<CompetingRow>, FileError> {
    let (is_matrix, source) = buffered(path, source)?;
    if !is_matrix {
        return tables::read_competing(path, source, |name| names.find(name));
    }
    let matrix = Matrix::open(path, source)?;
    let size = matrix.size;
    let mut rows = Vec::new();
    let mut odd_entry = None;
    matrix.each_entry(path, |a, b, value| {
        #[expect(clippy::float_cmp, reason = "exactly one is what is asked for")]
        if value == 1.0 {
            rows.push(CompetingRow { a, b, line: 0 });
        } else if odd_entry.is_none() {
            odd_entry = Some((a, b, value));
        }
        Ok(())
    })?;
    check_count(path, size)?;
    let participants = names.for_matrix(path, size)?;
    if let Some((a, b, value)) = odd_entry {
        let name = |index| participants.name(index).to_owned();
        return Err(FileError::new(path, Problem::NotABit { a: name(a), b: name(b), value }));
    }
    Ok(rows)
}

fn build_benefit(
    path: &Path,
    participants: &Participants,
    rows: Vec<BenefitRow>,
) -> Result<BenefitGraph, FileError> {
    let mut builder = BenefitGraph::builder(participants);
    for row in &rows {
        builder
            .add(row.from as usize, row.to as usize, row.value)
            .map_err(|error| at(path, row.line, error))?;
    }
    drop(rows);
    Ok(builder.build())
}

fn build_competing(
    path: &Path,
    participants: &Participants,
    rows: &[CompetingRow],
) -> Result<CompetingGraph, FileError> {
    let mut builder = CompetingGraph::builder(participants);
    for row in rows {
        builder.report(row.a, row.b).map_err(|error| at(path, row.line, error))?;
    }
    Ok(builder.build())
}

/// An error at a line of a table, or somewhere in a matrix, which has no lines.
fn at(path: &Path, line: u64, error: GraphError) -> FileError {
    if line == 0 { FileError::new(path, error) } else { FileError::at_line(path, line, error) }
}
