//! `data banks`: a federation of the lenders in the loans of the U.S. Small Business
//! Administration. Two of them compete where they lend in the same states.

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    fs::File,
    io::{self, BufReader, Read},
    path::{Path, PathBuf},
};

use fedcompetitors_files::{FileError, Problem, atomically, make_folder};
use fedcompetitors_report::plural;
use flate2::read::MultiGzDecoder;

use crate::{
    Failure, Outcome,
    arguments::BanksArguments,
    output::{shown_path, tell},
};

/// The head of the federation file; the participants follow.
const HEAD: &str = include_str!("banks.toml");

/// The outcomes of a loan: paid in full, and charged off.
const OUTCOMES: [&str; 2] = ["P I F", "CHGOFF"];

/// What is known of a lender.
#[derive(Debug, Default)]
struct Lender {
    loans: u64,
    /// By outcome.
    outcomes: [u64; 2],
    /// By state.
    states: BTreeMap<String, u64>,
}

pub fn banks(arguments: &BanksArguments) -> Result<Outcome, Failure> {
    let BanksArguments { data, out, overlap, largest, least } = arguments;
    let path = loans_file(data)?;
    let lenders = lenders(&path)?;
    let mut chosen: Vec<(&String, &Lender)> = lenders.iter().collect();
    // Stable, so that of equals the first by name comes first.
    chosen.sort_by_key(|(_, lender)| std::cmp::Reverse(lender.loans));
    chosen.truncate(*largest);
    chosen.retain(|(_, lender)| lender.outcomes.iter().all(|count| count >= least));
    if chosen.is_empty() {
        return Err(Failure::Usage {
            error: "no lender has enough loans of each outcome".into(),
            hint: "lower --least, or raise --largest".into(),
        });
    }
    let mut pairs = Vec::new();
    for (at, (a, one)) in chosen.iter().enumerate() {
        for (b, other) in &chosen[at + 1..] {
            if cosine(&one.states, &other.states) > *overlap {
                pairs.push((*a, *b));
            }
        }
    }
    make_folder(out)?;
    let file = path.file_name().unwrap_or_default().to_string_lossy();
    let mut federation = HEAD.replace("OVERLAP", &overlap.to_string());
    for (name, lender) in &chosen {
        let [repaid, lost] = lender.outcomes;
        let _ = write!(
            federation,
            "\n[[participants]]\nname = {}\ndata = {}\nrows = {{ column = \"Bank\", is = {} }}   # {repaid} repaid, {lost} lost\n",
            toml::Value::from(name.as_str()),
            toml::Value::from(&*file),
            toml::Value::from(name.as_str()),
        );
    }
    let target = out.join("federation.toml");
    atomically(&target, |writer| writer.write_all(federation.as_bytes()))?;
    atomically(&out.join("competing.csv"), |writer| {
        let mut table = csv::Writer::from_writer(writer);
        table.write_record(["a", "b"])?;
        for (a, b) in &pairs {
            table.write_record([a, b])?;
        }
        table.flush()
    })?;
    tell(&format!(
        "wrote {} with {} and {}; run it with `fedcompetitors run {} --data {}`",
        shown_path(&target),
        plural(chosen.len(), "lender", "lenders"),
        plural(pairs.len(), "competing pair", "competing pairs"),
        shown_path(&target),
        shown_path(data)
    ));
    Ok(Outcome::Done)
}

/// The names that the file with the loans goes by.
const FILES: [&str; 3] = ["SBAnational_partial.csv.gz", "SBAnational.csv.gz", "SBAnational.csv"];

fn loans_file(folder: &Path) -> Result<PathBuf, Failure> {
    let found = FILES.iter().map(|file| folder.join(file)).find(|path| path.is_file());
    found.ok_or_else(|| Failure::Usage {
        error: format!("{} contains none of {}", shown_path(folder), FILES.join(", ")),
        hint: "give the folder with the loans with --data; `fedcompetitors data list` shows where to get them".into(),
    })
}

fn lenders(path: &Path) -> Result<BTreeMap<String, Lender>, Failure> {
    let wrong = |line: Option<u64>, problem: Problem| -> Failure {
        FileError { path: path.to_owned(), line, problem }.into()
    };
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
