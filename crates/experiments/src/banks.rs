//! A federation of the lenders in the loans of the U.S. Small Business Administration. Two of them compete
//! where they lend in the same states.

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    fs::File,
    io::{self, BufReader, Read},
    path::{Path, PathBuf},
};

use fedcompetitors_files::{FileError, Problem};
use flate2::read::MultiGzDecoder;

/// The head of the federation file; the participants follow.
const HEAD: &str = include_str!("banks.toml");

/// The outcomes of a loan: paid in full, and charged off.
const OUTCOMES: [&str; 2] = ["P I F", "CHGOFF"];

/// The names that the file with the loans goes by.
pub const FILES: [&str; 3] =
    ["SBAnational_partial.csv.gz", "SBAnational.csv.gz", "SBAnational.csv"];

/// Which lenders take part, and which of them compete.
#[derive(Debug, Clone, Copy)]
pub struct Choice {
    /// Two lenders compete if the cosine similarity of their loans by state is above this.
    pub overlap: f64,
    /// How many of the largest lenders are considered.
    pub largest: usize,
    /// The number of loans of each outcome that a lender has at least.
    pub least: u64,
}

/// A federation of lenders.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Banks {
    /// The lenders, the largest first.
    pub names: Vec<String>,
    /// The pairs that compete.
    pub competing: Vec<(String, String)>,
    /// The federation file.
    pub federation: String,
}

/// What is known of a lender.
#[derive(Debug, Default)]
struct Lender {
    loans: u64,
    /// By outcome.
    outcomes: [u64; 2],
    /// By state.
    states: BTreeMap<String, u64>,
}

/// The file with the loans in a folder, if there is one.
pub fn loans_file(folder: &Path) -> Option<PathBuf> {
    FILES.iter().map(|file| folder.join(file)).find(|path| path.is_file())
}

/// Reads the loans and makes a federation of the lenders.
///
/// # Errors
/// If the file cannot be read or is not as it should be.
pub fn banks(loans: &Path, choice: Choice) -> Result<Banks, FileError> {
    let lenders = lenders(loans)?;
    let mut chosen: Vec<(&String, &Lender)> = lenders.iter().collect();
    // Stable, so that of equals the first by name comes first.
    chosen.sort_by_key(|(_, lender)| std::cmp::Reverse(lender.loans));
    chosen.truncate(choice.largest);
    chosen.retain(|(_, lender)| lender.outcomes.iter().all(|count| *count >= choice.least));
    let mut competing = Vec::new();
    for (at, (a, one)) in chosen.iter().enumerate() {
        for (b, other) in &chosen[at + 1..] {
            if cosine(&one.states, &other.states) > choice.overlap {
                competing.push(((*a).clone(), (*b).clone()));
            }
        }
    }
    let file = loans.file_name().unwrap_or_default().to_string_lossy();
    let mut federation = HEAD.replace("OVERLAP", &choice.overlap.to_string());
    for (name, lender) in &chosen {
        let [repaid, lost] = lender.outcomes;
        let name = toml::Value::from(name.as_str());
        let _ = write!(
            federation,
            "\n[[participants]]\nname = {name}\ndata = {}\nrows = {{ column = \"Bank\", is = {name} }}   # {repaid} repaid, {lost} lost\n",
            toml::Value::from(&*file),
        );
    }
    let names = chosen.into_iter().map(|(name, _)| name.clone()).collect();
    Ok(Banks { names, competing, federation })
}

fn lenders(path: &Path) -> Result<BTreeMap<String, Lender>, FileError> {
    let wrong =
        |line: Option<u64>, problem: Problem| FileError { path: path.to_owned(), line, problem };
    let unreadable = |error: io::Error| wrong(None, Problem::Unreadable(error));
    let mut source = BufReader::new(File::open(path).map_err(unreadable)?);
    let is_packed =
        io::BufRead::fill_buf(&mut source).map_err(unreadable)?.starts_with(&[0x1f, 0x8b]);
    let source: Box<dyn Read> =
        if is_packed { Box::new(MultiGzDecoder::new(source)) } else { Box::new(source) };
    let mut table = csv::Reader::from_reader(source);
    let told = |error: csv::Error| {
        let line = error.position().map(csv::Position::line);
        wrong(line, Problem::Unreadable(io::Error::other(error.to_string())))
    };
    let header = table.headers().map_err(told)?.clone();
    let place = |name: &'static str| {
        header.iter().position(|column| column == name).ok_or_else(|| {
            let found = header.iter().collect::<Vec<_>>().join(",");
            wrong(Some(1), Problem::Header { found, expected: "…,State,…,Bank,…,MIS_Status,…" })
        })
    };
    let (bank, state, status) = (place("Bank")?, place("State")?, place("MIS_Status")?);
    let mut lenders: BTreeMap<String, Lender> = BTreeMap::new();
    for record in table.records() {
        let record = record.map_err(told)?;
        let name = record[bank].trim();
        if name.is_empty() {
            continue;
        }
        let lender = lenders.entry(name.to_owned()).or_default();
        lender.loans += 1;
        *lender.states.entry(record[state].trim().to_owned()).or_default() += 1;
        if let Some(outcome) = OUTCOMES.iter().position(|&outcome| outcome == record[status].trim())
        {
            lender.outcomes[outcome] += 1;
        }
    }
    Ok(lenders)
}

/// How much two lend in the same states: 1 if in the same proportions, 0 if nowhere both.
fn cosine(a: &BTreeMap<String, u64>, b: &BTreeMap<String, u64>) -> f64 {
    let product = |a: &BTreeMap<String, u64>, b: &BTreeMap<String, u64>| -> f64 {
        a.iter().map(|(state, count)| (count * b.get(state).unwrap_or(&0)) as f64).sum()
    };
    product(a, b) / (product(a, a) * product(b, b)).sqrt().max(f64::MIN_POSITIVE)
}
