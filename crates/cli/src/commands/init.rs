//! `init`: a federation file for data files, to be checked by a person.
//!
//! All participants will read the file. It has the names and the kinds of columns, but neither
//! categories that were not asked for nor numbers of rows.

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
};

use fedcompetitors_files::{
    ColumnSurvey, FileError, Impression, MOST_PARTICIPANTS, Problem, Survey, atomically,
    count_values,
    federation::{TaskKind, written},
    survey,
};
use fedcompetitors_graphs::{nearest, shown};
use fedcompetitors_report::plural;

use crate::{
    Failure, Outcome,
    arguments::InitArguments,
    output::{shown_path, tell},
};

pub fn init(arguments: &InitArguments) -> Result<Outcome, Failure> {
    let InitArguments { data, by, target, out, force, with_categories } = arguments;
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
        Some(column) => by_value(&files[0], column, beside)?,
        None => files.iter().map(|file| one_file(file, beside)).collect(),
    };
    let draft = Draft {
        name: match (by, data.file_name()) {
            (_, None) => "federation".into(),
            (Some(_), Some(file)) => bare_name(&file.to_string_lossy()).to_owned(),
            (None, Some(folder)) => folder.to_string_lossy().into(),
        },
        columns: &columns,
        header: surveys[0].header,
        with_categories: *with_categories || by.is_some(),
        participants: &participants,
    };
    let text = draft.text();
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

/// A folder where there is a file for each participant, a file where they share one.
fn check_path(data: &Path, shared: bool) -> Result<(), Failure> {
    let (error, hint) = if shared && data.is_dir() {
        ("folder", "with --by, give the one file that all participants share")
    } else if !shared && data.is_file() {
        let hint = "give the folder with one data file per participant, or name the column of a shared file that tells them apart with --by";
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

/// A participant for each value of the column.
fn by_value(path: &Path, column: &str, beside: &Path) -> Result<Vec<Participant>, Failure> {
    let counts = count_values(path, column)?;
    let mut values: Vec<String> = counts.into_keys().collect();
    sort(&mut values);
    if values.is_empty() {
        return Err(Failure::Usage {
            error: format!("the column `{}` of {} has no values", shown(column), shown_path(path)),
            hint: "name the column that tells participants apart with --by".into(),
        });
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

/// The columns that all files have, and what they are for.
struct Columns {
    /// In the order of the files if they agree about it, by name otherwise.
    all: Vec<Merged>,
    target: usize,
    /// The column that tells participants apart.
    by: Option<usize>,
    /// Columns that only some of the files have.
    partial: Vec<String>,
}

/// A column of all files.
struct Merged {
    column: ColumnSurvey,
    /// What it seems to hold in most files.
    impression: Impression,
}

/// What becomes of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Use {
    Target,
    By,
    Identifier,
    Date,
    /// Texts, too many for categories.
    Text,
    Categories,
    Numbers {
        log: bool,
    },
}

impl Columns {
    fn of(
        surveys: &[Survey],
        files: &[PathBuf],
        target: Option<&str>,
        by: Option<&str>,
    ) -> Result<Self, Failure> {
        let names = |survey: &Survey| -> Vec<String> {
            survey.columns.iter().map(|column| column.name.clone()).collect()
        };
        let first = names(&surveys[0]);
        let column_of_first = |name: &str| {
            if first.iter().any(|column| column == name) {
                return Ok(());
            }
            let nearest = nearest(name, first.iter().map(String::as_str));
            Err(Failure::Usage {
                error: format!("{} has no column `{}`", shown_path(&files[0]), shown(name)),
                hint: match nearest {
                    Some(nearest) => format!("did you mean `{}`?", shown(&nearest)),
                    None => format!("its columns are {}", first.join(", ")),
                },
            })
        };
        by.map_or(Ok(()), column_of_first)?;
        if target.is_some() && target == by {
            return Err(Failure::Usage {
                error: "the target cannot be the column that tells participants apart".into(),
                hint: "choose another column with --target or --by".into(),
            });
        }
        let target = match target {
            Some(target) => {
                column_of_first(target)?;
                target
            }
            // What is to be predicted usually stands last.
            None => first.iter().map(String::as_str).rfind(|&name| Some(name) != by).ok_or_else(
                || Failure::Usage {
                    error: format!("{} has no column to predict", shown_path(&files[0])),
                    hint: "every row needs features and a target".into(),
                },
            )?,
        };
        let everywhere = |name: &String| {
            surveys.iter().all(|survey| survey.columns.iter().any(|column| column.name == *name))
        };
        if let Some(at) = surveys
            .iter()
            .position(|survey| !survey.columns.iter().any(|column| column.name == target))
        {
            return Err(Failure::Usage {
                error: format!("{} has no column `{}`", shown_path(&files[at]), shown(target)),
                hint: "all files need the target; choose another column with --target".into(),
            });
        }
        let mut common: Vec<String> =
            first.iter().filter(|name| everywhere(name)).cloned().collect();
        let agree = surveys.iter().all(|survey| {
            let names = names(survey);
            names.iter().filter(|name| common.contains(name)).eq(&common)
        });
        if !agree {
            common.sort();
        }
        let mut partial: Vec<String> =
            surveys.iter().flat_map(names).filter(|name| !common.contains(name)).collect();
        partial.sort();
        partial.dedup();
        let place = |name: &str| common.iter().position(|column| column == name);
        let target = place(target).unwrap_or_default();
        let by = by.and_then(place);
        let all = common.iter().map(|name| merged(surveys, name)).collect();
        Ok(Self { all, target, by, partial })
    }

    fn name(&self, at: usize) -> &str {
        &self.all[at].column.name
    }

    fn usage(&self, at: usize) -> Use {
        let Merged { column, impression } = &self.all[at];
        match impression {
            _ if at == self.target => Use::Target,
            _ if Some(at) == self.by => Use::By,
            Impression::Identifier => Use::Identifier,
            Impression::Date => Use::Date,
            _ if is_mostly_of_numbers(column) => {
                Use::Numbers { log: *impression == Impression::LongTail }
            }
            _ if column.distinct.is_none() => Use::Text,
            _ => Use::Categories,
        }
    }

    /// The names of the columns that are used so.
    fn used(&self, wanted: impl Fn(Use) -> bool) -> Vec<String> {
        let columns = (0..self.all.len()).filter(|&at| wanted(self.usage(at)));
        columns.map(|at| self.name(at).to_owned()).collect()
    }
}

/// A column of all files put together.
fn merged(surveys: &[Survey], name: &str) -> Merged {
    let mut columns = surveys
        .iter()
        .filter_map(|survey| survey.columns.iter().find(|column| column.name == *name));
    let mut votes: BTreeMap<Impression, usize> = BTreeMap::new();
    let mut known: Option<ColumnSurvey> = None;
    for column in &mut columns {
        if let Some(impression) = column.impression {
            *votes.entry(impression).or_default() += 1;
        }
        let Some(known) = &mut known else {
            known = Some(column.clone());
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
    let all: usize = votes.values().sum();
    let most = votes.into_iter().find(|&(_, count)| 2 * count > all);
    Merged {
        column: known.unwrap_or_else(|| ColumnSurvey::empty(name)),
        impression: most.map_or(Impression::Ordinary, |(impression, _)| impression),
    }
}

/// Of this many values in a column one may be no number, and it is still taken for one of
/// numbers in which somebody has mistyped.
const MOSTLY: usize = 10;

fn is_mostly_of_numbers(column: &ColumnSurvey) -> bool {
    column.is_of_numbers() || MOSTLY * column.texts <= column.values
}

/// Points to what is no number in columns that are of numbers otherwise.
fn strange_texts(files: &[PathBuf], surveys: &[Survey], columns: &Columns) {
    let numbers = columns.used(|usage| matches!(usage, Use::Numbers { .. }));
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

/// What goes into a federation file.
struct Draft<'a> {
    name: String,
    columns: &'a Columns,
    header: bool,
    with_categories: bool,
    participants: &'a [Participant],
}

impl Draft<'_> {
    /// The federation file, with comments on what to look at.
    fn text(&self) -> String {
        let mut text = String::from(
            "# A federation: its participants, their competitors, the task and the training.\n\
             # docs/federation-file.md lists all keys and their defaults.\n\n",
        );
        let _ = writeln!(text, "name = {}\nseed = 1", quoted(&self.name));
        text.push_str(
            "repeats = 5                   # repeat everything with five seeds, to see the spread\n\
             compare = [\"local\", \"fedavg\"]  # methods to compare with\n",
        );
        self.task(&mut text);
        self.data(&mut text);
        text.push_str("\n[model]\nhidden = []                   # widths of hidden layers; empty: linear or logistic regression\n");
        text.push_str("\n[training]\nrounds = 50                   # exchanges of models\nlocal-steps = 10              # training steps between two exchanges\nrate = 0.01\n");
        for Participant { name, data } in self.participants {
            let _ = write!(
                text,
                "\n[[participants]]\nname = {}\n{data}\ncompetes-with = []            # the names of its competitors\n",
                quoted(name)
            );
        }
        text
    }

    fn task(&self, text: &mut String) {
        let target = &self.columns.all[self.columns.target].column;
        let kind = match &target.distinct {
            Some(values) if values.len() == 2 => TaskKind::Binary,
            Some(_) if !is_mostly_of_numbers(target) => TaskKind::Classes,
            Some(values) if values.len() <= 10 => TaskKind::Classes,
            _ => TaskKind::Regression,
        };
        let _ = writeln!(
            text,
            "\n[task]\nkind = \"{}\"\ntarget = {}             # check this: the column to predict",
            written(kind),
            quoted(&target.name)
        );
        if let Some(values) = target.distinct.as_ref().filter(|_| kind != TaskKind::Regression) {
            let _ = writeln!(text, "classes = {}", list(values));
        }
    }

    fn data(&self, text: &mut String) {
        let columns = self.columns;
        text.push_str("\n[data]\n");
        if !self.header {
            let all: Vec<String> =
                (0..columns.all.len()).map(|at| columns.name(at).into()).collect();
            let _ = writeln!(
                text,
                "# The files seem to have no header; name the columns.\nheader = {}",
                list(&all)
            );
        }
        let features = columns.used(|usage| matches!(usage, Use::Categories | Use::Numbers { .. }));
        let _ = writeln!(
            text,
            "# The columns to learn from, in the order that all models have.\nfeatures = {}",
            list(&features)
        );
        let unused: Vec<(&str, Vec<String>)> = [
            ("they look like identifiers", Use::Identifier),
            ("they look like dates", Use::Date),
            ("they have too many different texts for categories", Use::Text),
        ]
        .into_iter()
        .map(|(why, unused)| (why, columns.used(|usage| usage == unused)))
        .filter(|(_, names)| !names.is_empty())
        .collect();
        if !unused.is_empty() {
            text.push_str(
                "# Not learned. To learn from one of these, move it to `features`.\nignore = [\n",
            );
            for (why, names) in unused {
                let _ = writeln!(text, "    # {why}");
                for name in names {
                    let _ = writeln!(text, "    {},", quoted(&name));
                }
            }
            text.push_str("]\n");
        }
        let found = columns.all.iter().flat_map(|merged| merged.column.missing.clone());
        let mut missing: Vec<String> =
            ["", "?", "NA"].map(String::from).into_iter().chain(found).collect();
        missing.sort();
        missing.dedup();
        let _ = writeln!(text, "missing = {}", list(&missing));
        let logs = columns.used(|usage| usage == Use::Numbers { log: true });
        if !logs.is_empty() {
            let _ = writeln!(
                text,
                "# Most values are small and a few very large, as with amounts of money: logarithms are learned.\nlog = {}",
                list(&logs)
            );
        }
        text.push_str(
            "scaling = \"own\"               # each participant scales by its own mean and deviation\n",
        );
        let categories: Vec<&ColumnSurvey> = (0..columns.all.len())
            .filter(|&at| columns.usage(at) == Use::Categories)
            .map(|at| &columns.all[at].column)
            .collect();
        if categories.is_empty() {
            return;
        }
        text.push_str(if self.with_categories {
            "\n# The possible categories, over all files. Add columns whose numbers are really\n# categories here, too.\n[data.categories]\n"
        } else {
            "\n# Enter the possible categories. Those in the files are not listed, because every\n# participant reads this file. Add columns whose numbers are really categories here, too.\n[data.categories]\n"
        });
        for column in categories {
            let values = column.distinct.as_deref().filter(|_| self.with_categories);
            let _ = writeln!(text, "{} = {}", key(&column.name), list(values.unwrap_or_default()));
        }
    }

    /// What the file does not say, or says because it was asked to.
    fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        let columns = self.columns;
        if !columns.partial.is_empty() {
            notes.push(format!(
                "left out, because not all files have them: {}",
                shown_list(&columns.partial)
            ));
        }
        let unused = columns.used(|usage| matches!(usage, Use::Identifier | Use::Date | Use::Text));
        if !unused.is_empty() {
            notes.push(format!("not learned (see `ignore` in the file): {}", shown_list(&unused)));
        }
        let categories = columns.used(|usage| usage == Use::Categories);
        if !categories.is_empty() {
            let names = shown_list(&categories);
            notes.push(if self.with_categories {
                format!("the file lists the categories of {names} that occur in the data; every participant will read them")
            } else {
                format!("enter the categories of {names} in the file; those that occur in the data were not copied, because every participant will read the file (--with-categories copies them)")
            });
        }
        notes
    }
}

/// By number where all are numbers, by text otherwise; each once.
fn sort(values: &mut Vec<String>) {
    let numbers: Option<Vec<f64>> = values.iter().map(|value| value.parse().ok()).collect();
    match numbers {
        Some(_) => values.sort_by(|a, b| {
            let number = |text: &String| text.parse::<f64>().unwrap_or(0.0);
            number(a).total_cmp(&number(b)).then_with(|| a.cmp(b))
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

fn shown_list(names: &[String]) -> String {
    names.iter().map(|name| shown(name).into_owned()).collect::<Vec<_>>().join(", ")
}
