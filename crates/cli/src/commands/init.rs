//! `init`: a federation file for data files, to be checked by a person.
//!
//! All participants will read the file. It has the names and the kinds of columns, but neither
//! categories that were not asked for nor numbers of rows.

mod columns;
mod draft;

use std::{
    fs,
    path::{Path, PathBuf},
};

use fedcompetitors_files::{
    FederationProblem, FileError, MOST_PARTICIPANTS, Problem, Survey, atomically, count_values,
    parse_federation, survey,
};
use fedcompetitors_graphs::shown;
use fedcompetitors_report::plural;

use crate::{
    Failure, Outcome,
    arguments::InitArguments,
    output::{shown_path, tell, warn},
};
use columns::{Columns, Use, sort};
use draft::{Choices, Draft, quoted};

pub fn init(arguments: &InitArguments) -> Result<Outcome, Failure> {
    let InitArguments { data, by, target, rule, out, force, with_categories, .. } = arguments;
    let folder = if by.is_some() { data.parent().unwrap_or(Path::new("")) } else { data };
    let out = out.clone().unwrap_or_else(|| folder.join("federation.toml"));
    if out.exists() && !force {
        return Err(Failure::Usage {
            error: format!("{} already exists", shown_path(&out)),
            hint: "choose another file with --out, or overwrite it with --force".into(),
        });
    }
    check_path(data, by.is_some())?;
    let files = if by.is_some() { vec![data.clone()] } else { data_files(data)? };
    let mut surveys = Vec::new();
    for path in &files {
        surveys.push(survey(path)?);
    }
    let columns = Columns::of(&surveys, &files, target.as_deref(), by.as_deref())?;
    let beside = out.parent().unwrap_or(Path::new("."));
    let participants = match by {
        Some(column) => by_value(&files[0], surveys[0].rows, column, beside)?,
        None => files.iter().map(|file| one_file(file, beside)).collect(),
    };
    let draft = Draft {
        name: match (by, data.file_name()) {
            (_, None) => "federation".into(),
            (Some(_), Some(file)) => bare_name(&file.to_string_lossy()).to_owned(),
            (None, Some(folder)) => folder.to_string_lossy().into(),
        },
        rule: **rule,
        columns: &columns,
        header: surveys[0].header,
        with_categories: *with_categories || by.is_some(),
        participants: &participants,
        choices: Choices::of(arguments),
    };
    let text = draft.text();
    fit_together(&text)?;
    atomically(&out, |writer| writer.write_all(text.as_bytes()))?;
    strange_texts(&files, &surveys, &columns);
    draft.notes().iter().for_each(|note| tell(note));
    tell(&format!(
        "wrote {} for {}; enter there who competes with whom, then run `fedcompetitors check {}`",
        shown_path(&out),
        plural(participants.len(), "participant", "participants"),
        shown_path(&out)
    ));
    Ok(Outcome::Done)
}

/// Refuses choices that do not go together, as `check` would. What a person is to add to the file is
/// not asked for yet.
fn fit_together(text: &str) -> Result<(), Failure> {
    let Err(FileError { problem: Problem::Federation(problem), .. }) =
        parse_federation(Path::new(""), text)
    else {
        return Ok(());
    };
    match *problem {
        FederationProblem::OtherRule { .. }
        | FederationProblem::PassesOn { .. }
        | FederationProblem::OtherModels { .. }
        | FederationProblem::Metric { .. } => {
            Err(Failure::Usage { error: problem.to_string(), hint: problem.hint() })
        }
        _ => Ok(()),
    }
}

/// A folder where there is a file for each participant, a file where they share one.
fn check_path(data: &Path, shared: bool) -> Result<(), Failure> {
    let (error, hint) = if shared && data.is_dir() {
        ("folder", "with --by, give the one file that all participants share")
    } else if !shared && data.is_file() {
        let hint = "give the folder with one data file per participant, or name the column of a shared file that identifies the participant with --by";
        ("file", hint)
    } else {
        return Ok(());
    };
    let error = format!("{} is a {error}", shown_path(data));
    Err(Failure::Usage { error, hint: hint.into() })
}

/// The files of a folder that look like data, in the order of their names.
fn data_files(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let unreadable = |error| FileError {
        path: folder.to_owned(),
        line: None,
        problem: Problem::Unreadable(error),
    };
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
        let is_data =
            [".csv", ".csv.gz", ".data", ".parquet"].iter().any(|end| name.ends_with(end));
        if path.is_file() && is_data {
            files.push(path);
        }
    }
    files.sort();
    if files.is_empty() {
        return Err(Failure::Usage {
            error: format!(
                "{} contains no .csv, .csv.gz, .data or .parquet file",
                shown_path(folder)
            ),
            hint: "give the folder with one data file per participant".into(),
        });
    }
    Ok(files)
}

/// A participant as the federation file names it.
struct Participant {
    name: String,
    /// The keys that say which data it has.
    data: String,
}

fn one_file(path: &Path, beside: &Path) -> Participant {
    let file = path.strip_prefix(beside).unwrap_or(path);
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let data = format!("data = {}", quoted(&file.to_string_lossy()));
    Participant { name: bare_name(&name).to_owned(), data }
}

/// The name of a data file without what says its form.
fn bare_name(file: &str) -> &str {
    let ends = [".gz", ".csv", ".data", ".parquet"];
    ends.iter().fold(file, |name, end| name.strip_suffix(end).unwrap_or(name))
}

/// A participant for each value of the column; says how many of all rows have none.
fn by_value(
    path: &Path,
    rows: usize,
    column: &str,
    beside: &Path,
) -> Result<Vec<Participant>, Failure> {
    let counts = count_values(path, column)?;
    let owned: u64 = counts.values().sum();
    let mut values: Vec<String> = counts.into_keys().collect();
    sort(&mut values);
    if values.is_empty() {
        return Err(Failure::Usage {
            error: format!("the column `{}` of {} has no values", shown(column), shown_path(path)),
            hint: "name the column that identifies the participant with --by".into(),
        });
    }
    let left_out = (rows as u64).saturating_sub(owned);
    if left_out > 0 {
        warn(&format!(
            "{left_out} of {rows} rows have no value in the column `{}`: they belong to no participant and are left out",
            shown(column)
        ));
    }
    if values.len() > MOST_PARTICIPANTS {
        let problem = Problem::TooMany { count: values.len(), most: MOST_PARTICIPANTS };
        return Err(FileError { path: path.to_owned(), line: None, problem }.into());
    }
    let file = path.strip_prefix(beside).unwrap_or(path);
    let participant = |value: String| {
        let data = format!(
            "data = {}\nrows = {{ column = {}, is = {} }}",
            quoted(&file.to_string_lossy()),
            quoted(column),
            quoted(&value)
        );
        Participant { name: value, data }
    };
    Ok(values.into_iter().map(participant).collect())
}

/// Points to what is no number in columns that are of numbers otherwise.
fn strange_texts(files: &[PathBuf], surveys: &[Survey], columns: &Columns) {
    let numbers = columns.used(|usage| matches!(usage, Use::Numbers(_)));
    for (path, survey) in files.iter().zip(surveys) {
        for column in survey.columns.iter().filter(|column| numbers.contains(&column.name)) {
            if let Some((line, text)) = &column.first_text {
                tell(&format!(
                    "{}, line {line}: `{}` in the column \"{}\" is not a number: correct it, or add it to `missing`",
                    shown_path(path),
                    shown(text),
                    shown(&column.name)
                ));
            }
        }
    }
}
