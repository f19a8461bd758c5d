//! From files to graphs.

use std::{
    fs::File,
    io::{BufRead, BufReader, Read},
    path::Path,
};

use fedcompetitors_graphs::{
    BenefitGraph, CompetingGraph, GraphError, Participants, ParticipantsBuilder, bits::words_for,
    shown,
};
use fedcompetitors_select::{SampleCounts, SampleCountsError};

use crate::{
    FileError, Problem,
    npy::{MAGIC, Matrix},
    tables::{self, BenefitRow, CompetingRow},
};

/// Most participants that a federation may have: every graph takes a bit for each
/// ordered pair, so beyond this a typing error could ask for all of a machine's memory.
pub const MOST_PARTICIPANTS: usize = 100_000;

/// Bit matrices that are held at once while graphs are read and a plan is made.
const MATRICES: usize = 6;

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
    let listed = matches!(names, Names::Listed(_));
    let benefit_rows = read_benefit_rows(benefit_path, benefit, &mut names)?;
    let competing_rows = read_competing_rows(competing_path, competing, &mut names)?;
    let participants = names.finish();
    if participants.is_empty() {
        return Err(FileError::new(benefit_path, Problem::NoParticipants));
    }
    check_count(competing_path, participants.len())?;
    let warnings = if listed {
        Vec::new()
    } else {
        lookalikes_in_tables(
            &participants,
            (competing_path, &competing_rows),
            (benefit_path, &benefit_rows),
        )
    };
    let benefit = build_benefit(benefit_path, &participants, benefit_rows)?;
    let competing = build_competing(competing_path, &participants, &competing_rows)?;
    Ok(Graphs { competing, benefit, warnings })
}

/// Names that are pointed out one by one.
const MOST_WARNINGS: usize = 10;

/// What two tables without a list of participants, which would settle it, leave open.
fn lookalikes_in_tables(
    participants: &Participants,
    (competing_path, competing): (&Path, &[CompetingRow]),
    (benefit_path, benefit): (&Path, &[BenefitRow]),
) -> Vec<String> {
    let in_table = |rows: &mut dyn Iterator<Item = usize>| {
        let mut named = vec![false; participants.len()];
        rows.for_each(|index| named[index] = true);
        named
    };
    // The rows of a matrix have no lines: it names nobody.
    let lines = |line: u64| line > 0;
    if !competing.iter().any(|row| lines(row.line)) || !benefit.iter().any(|row| lines(row.line)) {
        return Vec::new();
    }
    let in_competing = in_table(&mut competing.iter().flat_map(|row| [row.a, row.b]));
    let in_benefit =
        in_table(&mut benefit.iter().flat_map(|row| [row.from as usize, row.to as usize]));
    let show = |path: &Path| shown(&path.display().to_string()).into_owned();
    lookalikes(
        participants,
        (&show(competing_path), &in_competing),
        (&show(benefit_path), &in_benefit),
    )
}

/// Names that only one of two graphs has may be misspelt, and then a competition would be
/// lost without a word: a name that looks like one of the other graph is pointed out, and
/// so is a competitor that nobody helps and that helps nobody. For each graph, what it is
/// called and whether it names each participant.
pub fn lookalikes(
    participants: &Participants,
    (competing, in_competing): (&str, &[bool]),
    (benefit, in_benefit): (&str, &[bool]),
) -> Vec<String> {
    let only = |here: &[bool], there: &[bool]| -> Vec<&str> {
        let names = participants.names().zip(here.iter().zip(there));
        names.filter(|(_, (here, there))| **here && !**there).map(|(name, _)| name).collect()
    };
    let only_competing = only(in_competing, in_benefit);
    let only_benefit = only(in_benefit, in_competing);
    let mut warnings = Vec::new();
    // Each name is compared with each other: not for thousands of them.
    let compare = participants.len() <= 1000;
    let others = Participants::new(&only_benefit).ok().filter(|_| compare);
    for name in only_competing.iter().take(MOST_WARNINGS) {
        let nearest = others.as_ref().and_then(|others| others.nearest(name));
        let meant = nearest.map(|nearest| format!("; did you mean \"{}\"?", shown(&nearest)));
        warnings.push(format!(
            "\"{}\" is in {competing} but not in {benefit}: nobody helps it and it helps nobody{}",
            shown(name),
            meant.unwrap_or_default(),
        ));
    }
    let rivals = participants.names().zip(in_competing).filter(|(_, named)| **named);
    let rivals = Participants::new(rivals.map(|(name, _)| name)).ok().filter(|_| compare);
    if only_competing.len() > MOST_WARNINGS {
        let more = only_competing.len() - MOST_WARNINGS;
        warnings.push(format!("{more} more are in {competing} but not in {benefit}"));
    }
    for name in only_benefit {
        if warnings.len() > 2 * MOST_WARNINGS {
            break;
        }
        let nearest = rivals.as_ref().and_then(|rivals| rivals.nearest(name));
        // `v1` is not a misspelt `v10`: numbers tell participants apart on purpose.
        let stem = |name: &str| name.trim_end_matches(|c: char| c.is_ascii_digit()).to_owned();
        if let Some(nearest) = nearest.filter(|nearest| stem(nearest) != stem(name)) {
            warnings.push(format!(
                "\"{}\" is in {benefit} but not in {competing}, which has \"{}\": if both mean \
                 the same participant, a competition is lost; correct the name, or give a list of \
                 participants",
                shown(name),
                shown(&nearest),
            ));
        }
    }
    warnings
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

/// Reads a benefit graph over participants that are known already.
///
/// # Errors
/// If the file cannot be read or says something that cannot be.
pub fn read_benefit(path: &Path, participants: &Participants) -> Result<BenefitGraph, FileError> {
    let rows = read_benefit_rows(path, open(path)?, &mut Names::Listed(participants.clone()))?;
    build_benefit(path, participants, rows)
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

/// Reads how many samples the participants have.
///
/// # Errors
/// If the file cannot be read, or has not one positive number for each participant.
pub fn read_samples(path: &Path, participants: &Participants) -> Result<SampleCounts, FileError> {
    parse_samples(path, open(path)?, participants)
}

/// Reads how many samples the participants have from anything that can be read; `path` names it
/// in errors.
///
/// # Errors
/// As [`read_samples`].
pub fn parse_samples(
    path: &Path,
    table: impl Read,
    participants: &Participants,
) -> Result<SampleCounts, FileError> {
    let rows = tables::read_samples(path, table, |name| participants.find(name))?;
    let name = |index| participants.name(index).to_owned();
    let mut counts = vec![None; participants.len()];
    for row in rows {
        if counts[row.participant].is_some() {
            let error = GraphError::DoubledParticipant { name: name(row.participant) };
            return Err(FileError::at_line(path, row.line, error));
        }
        if !row.count.is_finite() || row.count <= 0.0 {
            let (name, value) = (name(row.participant), row.count);
            let error = SampleCountsError::NotPositive { name, value };
            return Err(FileError::at_line(path, row.line, error));
        }
        counts[row.participant] = Some(row.count);
    }
    if let Some(missing) = counts.iter().position(Option::is_none) {
        return Err(FileError::new(path, Problem::NoCount { participant: name(missing) }));
    }
    SampleCounts::new(participants, counts.into_iter().flatten().collect())
        .map_err(|error| FileError::new(path, error))
}

pub(crate) fn check_count(path: &Path, count: usize) -> Result<(), FileError> {
    if count > MOST_PARTICIPANTS {
        return Err(FileError::new(path, Problem::TooMany { count, most: MOST_PARTICIPANTS }));
    }
    // Asking for the memory of the graphs beforehand turns the abort into an error.
    let words = MATRICES * count * words_for(count);
    if Vec::<u64>::new().try_reserve_exact(words).is_err() {
        return Err(FileError::new(path, Problem::TooLittleMemory { count, bytes: words * 8 }));
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
        if size == 0 {
            return Err(FileError::new(path, Problem::NoParticipants));
        }
        if let Self::Growing(builder) = self {
            let known = std::mem::take(builder).build();
            *self =
                Self::Listed(if known.is_empty() { Participants::numbered(size) } else { known });
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
    check_count(path, size)?;
    let mut rows = Vec::new();
    matrix.each_entry(path, |from, to, value| {
        rows.push(BenefitRow { from: from as u32, to: to as u32, value, line: 0 });
        Ok(())
    })?;
    // Only now: the size that the header claims is borne out by the entries.
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
    check_count(path, size)?;
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
