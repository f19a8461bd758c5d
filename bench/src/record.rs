//! Raw figures, kept with what they were measured on.

use std::{fs, io, path::Path, process::Command};

use fedcompetitors_files::{FileError, Problem, atomically, make_folder};

/// One measured figure.
pub struct Measurement {
    /// What was measured.
    pub what: &'static str,
    /// Participants, probability of competition, density of benefits.
    pub shape: fedcompetitors_select::generate::Shape,
    /// The number of the repetition.
    pub repetition: usize,
    /// The figure.
    pub value: f64,
    /// Its unit.
    pub unit: &'static str,
}

/// The columns of measurements of selection.
pub const SELECTION_COLUMNS: &[&str] =
    &["what", "participants", "competing", "benefit", "repetition", "value", "unit"];

/// A line of a table, as it is written.
pub type Row = Vec<String>;

impl Measurement {
    /// As a line under [`SELECTION_COLUMNS`].
    pub fn row(&self) -> Row {
        vec![
            self.what.into(),
            self.shape.participants.to_string(),
            self.shape.competing_density.to_string(),
            self.shape.benefit_density.to_string(),
            self.repetition.to_string(),
            format!("{:e}", self.value),
            self.unit.into(),
        ]
    }
}

/// Keeps rows as `NAME.csv`, with `NAME.txt` telling where they come from.
pub fn save(folder: &Path, name: &str, columns: &[&str], rows: &[Row]) -> Result<(), FileError> {
    make_folder(folder)?;
    atomically(&folder.join(format!("{name}.csv")), |writer| {
        let mut table = csv::Writer::from_writer(writer);
        table.write_record(columns)?;
        for row in rows {
            table.write_record(row)?;
        }
        table.flush()
    })?;
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let origin = origin(&format!("bench {}", arguments.join(" ")));
    atomically(&folder.join(format!("{name}.txt")), |writer| writer.write_all(origin.as_bytes()))
}

/// A command, and what it is run on.
pub fn origin(command: &str) -> String {
    let commit = said(Command::new("git").args(["describe", "--always", "--dirty"]));
    let compiler = said(Command::new("rustc").arg("--version"));
    let threads = std::thread::available_parallelism().map_or(0, usize::from);
    format!(
        "command: {command}\ncommit: {commit}\ncompiler: {compiler}\nprocessor: {}\nthreads: {threads}\n",
        processor()
    )
}

/// The day, by the clock of Greenwich.
pub fn today() -> String {
    said(Command::new("date").args(["-u", "+%Y-%m-%d"]))
}

/// Where results come from, as [`origin`] and what follows it were written; empty where that
/// was not recorded.
#[derive(Debug, Default)]
pub struct Made(Vec<(String, String)>);

impl Made {
    /// Reads the file; that there is none is no error.
    pub fn read(path: &Path) -> Result<Self, FileError> {
        let text = match fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            Err(error) => {
                let problem = Problem::Unreadable(error);
                return Err(FileError { path: path.to_owned(), line: None, problem });
            }
        };
        let lines = text.lines().filter_map(|line| line.split_once(": "));
        Ok(Self(lines.map(|(key, value)| (key.to_owned(), value.to_owned())).collect()))
    }

    /// What it says of something.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.0.iter().find(|entry| entry.0 == key).map(|entry| entry.1.as_str())
    }
}

/// What a command prints, or that it could not be asked.
fn said(command: &mut Command) -> String {
    match command.output() {
        Ok(output) if output.status.success() => {
            String::from_utf8_lossy(&output.stdout).trim().to_owned()
        }
        _ => "unknown".into(),
    }
}

fn processor() -> String {
    let cpuinfo = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = cpuinfo.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    model.map_or_else(|| "unknown".into(), |(_, model)| model.to_owned())
}
