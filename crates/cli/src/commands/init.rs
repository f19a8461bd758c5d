//! `init`: a federation file for a folder of data files, to be looked over by a person.

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
};

use fedcompetitors_files::{ColumnSurvey, FileError, Problem, Survey, atomically, survey};
use fedcompetitors_graphs::shown;
use fedcompetitors_report::plural;

use crate::{
    Failure, Outcome,
    arguments::InitArguments,
    output::{shown_path, tell},
};

pub fn init(arguments: &InitArguments) -> Result<Outcome, Failure> {
    let InitArguments { folder, target, out, force } = arguments;
    let out = out.clone().unwrap_or_else(|| folder.join("federation.toml"));
    if out.exists() && !force {
        return Err(Failure::Usage {
            error: format!("{} already exists", shown_path(&out)),
            hint: "choose another file with --out, or overwrite it with --force".into(),
        });
    }
    if folder.is_file() {
        return Err(Failure::Usage {
            error: format!("{} is a file", shown_path(folder)),
            hint: "give the folder with one data file per participant".into(),
        });
    }
    let files = data_files(folder)?;
    let mut surveys = Vec::new();
    for path in &files {
        surveys.push(survey(path)?);
    }
    let text = template(folder, &out, &files, &surveys, target.as_deref())?;
    atomically(&out, |writer| writer.write_all(text.as_bytes()))?;
    strange_texts(&files, &surveys);
    tell(&format!(
        "wrote {} for {}; enter there who competes with whom, then run `fedcompetitors check {}`",
        shown_path(&out),
        plural(files.len(), "participant", "participants"),
        shown_path(&out)
    ));
    Ok(Outcome::Done)
}

/// Of so many values in a column one may be no number, and it is still taken for one of
/// numbers in which somebody has mistyped.
const MOSTLY: usize = 10;

fn is_mostly_of_numbers(column: &ColumnSurvey) -> bool {
    column.is_of_numbers() || MOSTLY * column.texts <= column.values
}

/// Points to what is no number in columns that are of numbers otherwise.
fn strange_texts(files: &[PathBuf], surveys: &[Survey]) {
    let merged = merged(surveys);
    for (path, survey) in files.iter().zip(surveys) {
        for column in &survey.columns {
            let is_strange = merged.get(&column.name).is_some_and(is_mostly_of_numbers);
            if let (Some((line, text)), true) = (&column.first_text, is_strange) {
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

/// A federation file for what was found, with comments on what to look at.
fn template(
    folder: &Path,
    out: &Path,
    files: &[PathBuf],
    surveys: &[Survey],
    target: Option<&str>,
) -> Result<String, Failure> {
    let first = &surveys[0];
    let columns: Vec<&str> = first.columns.iter().map(|column| column.name.as_str()).collect();
    let target = match target {
        Some(target) if columns.contains(&target) => target,
        Some(target) => {
            return Err(Failure::Usage {
                error: format!("{} has no column `{}`", shown_path(&files[0]), shown(target)),
                hint: format!("its columns are {}", columns.join(", ")),
            });
        }
        // What is to be predicted usually stands last.
        None => columns.last().copied().unwrap_or_default(),
    };
    let merged = merged(surveys);
    let of = |name: &str| merged.get(name);
    let is_text = |name: &str| of(name).is_some_and(|column| !is_mostly_of_numbers(column));
    let mut text = String::from(
        "# A federation: its participants, their competitors, the task and the training.\n\
         # docs/federation-file.md lists all keys and their defaults.\n\n",
    );
    let name = folder.file_name().map_or("federation".into(), |name| name.to_string_lossy());
    let _ = writeln!(text, "name = {}\nseed = 1", quoted(&name));
    text.push_str(
        "repeats = 5                   # repeat everything with five seeds, to see the spread\n",
    );
    text.push_str("compare = [\"local\", \"fedavg\"]  # methods to compare with\n\n[task]\n");
    let distinct = of(target).and_then(|column| column.distinct.clone());
    let kind = match &distinct {
        Some(values) if values.len() == 2 => "binary",
        Some(_) if is_text(target) => "classes",
        Some(values) if values.len() <= 10 => "classes",
        _ => "regression",
    };
    let _ = writeln!(text, "kind = \"{kind}\"");
    let _ = writeln!(
        text,
        "target = {}             # check this: the column to predict",
        quoted(target)
    );
    if let Some(values) = distinct.filter(|_| kind != "regression") {
        let _ = writeln!(text, "classes = {}", list(&values));
    }
    text.push_str("\n[data]\n");
    if !first.header {
        let _ = writeln!(
            text,
            "# The files seem to have no header; name the columns.\nheader = {}",
            list(&columns.iter().map(|&name| name.to_owned()).collect::<Vec<_>>())
        );
    }
    let many: Vec<String> = columns
        .iter()
        .filter(|&&name| name != target && is_text(name))
        .filter(|&&name| of(name).is_some_and(|column| column.distinct.is_none()))
        .map(|&name| name.to_owned())
        .collect();
    if !many.is_empty() {
        let _ = writeln!(
            text,
            "# Text columns with too many different values for categories.\nignore = {}",
            list(&many)
        );
    }
    let found = merged.values().flat_map(|column| column.missing.clone());
    let mut missing: Vec<String> =
        ["", "?", "NA"].map(String::from).into_iter().chain(found).collect();
    missing.sort();
    missing.dedup();
    let _ = writeln!(text, "missing = {}", list(&missing));
    text.push_str(
        "scaling = \"own\"               # each participant scales by its own mean and deviation\n",
    );
    let categories: Vec<(&str, Vec<String>)> = columns
        .iter()
        .filter(|&&name| name != target && is_text(name))
        .filter_map(|&name| Some((name, of(name)?.distinct.clone()?)))
        .collect();
    if !categories.is_empty() {
        text.push_str("\n# The possible categories, over all files. Add columns whose numbers are really\n# categories here, too.\n[data.categories]\n");
        for (name, values) in categories {
            let _ = writeln!(text, "{} = {}", key(name), list(&values));
        }
    }
    text.push_str("\n[model]\nhidden = []                   # widths of hidden layers; empty: linear or logistic regression\n");
    text.push_str("\n[training]\nrounds = 50                   # exchanges of models\nlocal-steps = 10              # training steps between two exchanges\nrate = 0.01\n");
    let beside = out.parent().unwrap_or(Path::new("."));
    for (path, survey) in files.iter().zip(surveys) {
        let file = path.strip_prefix(beside).unwrap_or(path);
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let ends = [".gz", ".csv", ".data"];
        let name = ends.iter().fold(&*name, |name, end| name.strip_suffix(end).unwrap_or(name));
        let _ = write!(
            text,
            "\n[[participants]]\nname = {}\ndata = {}   # {}\ncompetes-with = []            # the names of its competitors\n",
            quoted(name),
            quoted(&file.to_string_lossy()),
            plural(survey.rows, "row", "rows")
        );
    }
    Ok(text)
}

/// The columns of all files put together, by name.
fn merged(surveys: &[Survey]) -> BTreeMap<String, ColumnSurvey> {
    let mut merged: BTreeMap<String, ColumnSurvey> = BTreeMap::new();
    for column in surveys.iter().flat_map(|survey| &survey.columns) {
        let Some(known) = merged.get_mut(&column.name) else {
            merged.insert(column.name.clone(), column.clone());
            continue;
        };
        known.values += column.values;
        known.texts += column.texts;
        known.missing.extend(column.missing.clone());
        known.distinct = match (known.distinct.take(), &column.distinct) {
            (Some(mut values), Some(more)) => {
                values.extend(more.iter().cloned());
                sort(&mut values);
                (values.len() <= 20).then_some(values)
            }
            _ => None,
        };
    }
    merged
}

/// By number where all are numbers, by text else; each once.
fn sort(values: &mut Vec<String>) {
    let numbers: Option<Vec<f64>> = values.iter().map(|value| value.parse().ok()).collect();
    match numbers {
        Some(_) => values.sort_by(|a, b| {
            let number = |text: &String| text.parse::<f64>().unwrap_or(0.0);
            number(a).total_cmp(&number(b))
        }),
        None => values.sort(),
    }
    values.dedup();
}

fn quoted(text: &str) -> String {
    toml::Value::from(text).to_string()
}

/// A key: bare where that is possible.
fn key(name: &str) -> String {
    let bare =
        !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_');
    if bare { name.to_owned() } else { quoted(name) }
}

fn list(texts: &[String]) -> String {
    let texts: Vec<String> = texts.iter().map(|text| quoted(text)).collect();
    format!("[{}]", texts.join(", "))
}
