//! A federation of the hospitals in the tables of eICU, a file for each participant.

use std::fmt::Write as _;

use fedcompetitors_files::{Cohort, Hospitals};
use fedcompetitors_learn::{Column, Table};

use super::COMPETING;

/// The column to predict.
pub const TARGET: &str = "died";

/// The head of the federation file; columns, settings and participants follow.
const HEAD: &str = include_str!("federation.toml");

/// What follows the columns: settings of the methods that train round by round, and folds.
const SETTINGS: &str = "
[training]                              # of the methods that train round by round
rounds = 40
local-steps = 5
rate = 0.03

[evaluation]
repeats = 2
folds = 5
";

/// The participants, and the federation file for a folder with this name.
pub fn federation<'a>(hospitals: &'a Hospitals, folder: &str) -> (Vec<Participant<'a>>, String) {
    let Hospitals { cohorts, as_in_paper } = hospitals;
    let participants: Vec<Participant<'_>> = cohorts
        .iter()
        .enumerate()
        .map(|(at, cohort)| Participant::new(at, cohort, *as_in_paper))
        .collect();
    let whose =
        if *as_in_paper { "the paper's hospitals" } else { "the demo, hospitals in groups" };
    let text = text(&participants, whose, folder);
    (participants, text)
}

/// A participant of the federation, with its file.
#[derive(Debug, Clone, PartialEq)]
pub struct Participant<'a> {
    /// Its name.
    pub name: String,
    /// The name of its file.
    pub file: String,
    /// Its patients.
    pub cohort: &'a Cohort,
}

impl<'a> Participant<'a> {
    fn new(at: usize, cohort: &'a Cohort, as_in_paper: bool) -> Self {
        let name = if as_in_paper { cohort.about.clone() } else { format!("group {}", at + 1) };
        let file = format!("{}.csv", name.replace(' ', "-"));
        Self { name, file, cohort }
    }
}

fn text(participants: &[Participant<'_>], whose: &str, folder: &str) -> String {
    let mut text = HEAD.replace("WHOSE", whose).replace("FOLDER", folder);
    if let Some(first) = participants.first() {
        columns(&mut text, &first.cohort.table);
    }
    text.push_str(SETTINGS);
    for (at, participant) in participants.iter().enumerate() {
        let Cohort { about, hospitals, deaths, table } = participant.cohort;
        let competitors: Vec<&str> = COMPETING
            .iter()
            .filter(|&&(a, b)| a == at + 1 && b <= participants.len())
            .map(|&(_, b)| participants[b - 1].name.as_str())
            .collect();
        let _ = write!(
            text,
            "\n# {about}: {} patients, {deaths} deaths, {} hospitals\n[[participants]]\nname = {}\ndata = {}\n",
            table.len(),
            hospitals,
            toml::Value::from(participant.name.as_str()),
            toml::Value::from(participant.file.as_str()),
        );
        if !competitors.is_empty() {
            let _ = writeln!(text, "competes-with = {}", toml::Value::from(competitors));
        }
    }
    text
}

/// The columns to learn from and the declared categories, which are the same for all participants.
fn columns(text: &mut String, table: &Table) {
    let names: Vec<&str> = table.names().iter().map(String::as_str).collect();
    let _ =
        writeln!(text, "\n[data]\nfeatures = {}\n\n[data.categories]", toml::Value::from(names));
    for (name, column) in table.names().iter().zip(table.columns()) {
        if let Column::Categories { names, .. } = column {
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            let _ = writeln!(
                text,
                "{} = {}",
                toml::Value::from(name.as_str()),
                toml::Value::from(names)
            );
        }
    }
}
