//! The columns of data files, and what each seems to be for.

use std::{collections::BTreeMap, path::PathBuf};

use fedcompetitors_files::{ColumnSurvey, Impression, Survey};
use fedcompetitors_graphs::{nearest, shown};

use crate::{Failure, output::shown_path};

/// The columns that all files have, and what they are for.
pub struct Columns {
    /// In the order of the files if they agree about it, by name otherwise.
    pub all: Vec<Merged>,
    pub target: usize,
    /// The column that identifies the participant.
    by: Option<usize>,
    /// Columns that only some of the files have.
    pub partial: Vec<String>,
}

/// A column of all files.
pub struct Merged {
    pub column: ColumnSurvey,
    /// What it seems to hold in most files.
    impression: Impression,
}

/// What becomes of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Use {
    Target,
    By,
    Identifier,
    /// Identifiers of patients or the like, with several rows each.
    Group,
    Date,
    /// Texts, too many for categories.
    Text,
    Categories,
    Numbers(Learned),
}

/// What is learned of numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Learned {
    Values,
    Logarithms,
    Ranks,
}

impl Columns {
    pub fn of(
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
                error: "the target cannot be the column that identifies the participant".into(),
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

    pub fn name(&self, at: usize) -> &str {
        &self.all[at].column.name
    }

    pub fn usage(&self, at: usize) -> Use {
        let Merged { column, impression } = &self.all[at];
        match impression {
            _ if at == self.target => Use::Target,
            _ if Some(at) == self.by => Use::By,
            Impression::Identifier => Use::Identifier,
            Impression::Group => Use::Group,
            Impression::Date => Use::Date,
            _ if is_mostly_of_numbers(column) => Use::Numbers(match impression {
                Impression::LongTail => Learned::Logarithms,
                Impression::HeavyTail => Learned::Ranks,
                _ => Learned::Values,
            }),
            _ if column.distinct.is_none() => Use::Text,
            _ => Use::Categories,
        }
    }

    /// The names of the columns that are used so.
    pub fn used(&self, wanted: impl Fn(Use) -> bool) -> Vec<String> {
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
    // Where patients come back in one file, they may come once in another.
    if votes.contains_key(&Impression::Group) {
        let once = votes.remove(&Impression::Identifier).unwrap_or_default();
        *votes.entry(Impression::Group).or_default() += once;
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

pub fn is_mostly_of_numbers(column: &ColumnSurvey) -> bool {
    column.is_of_numbers() || MOSTLY * column.texts <= column.values
}

/// By number where all are numbers, by text otherwise; each once.
pub fn sort(values: &mut Vec<String>) {
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
