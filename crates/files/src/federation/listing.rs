//! Everything that a federation file can name, from the registries.

use fedcompetitors_federate::{
    estimate::{Estimator, EstimatorKind},
    kinds::{Key, Kind},
    train::Trainer,
};
use fedcompetitors_graphs::{Choice, Entry, Registry, Rule};
use fedcompetitors_learn::{LinearKind, Metric, MlpKind, ModelKind};
use fedcompetitors_select::{Friends, ObjectiveKind, Policy};
use serde::Serialize;

use super::{SHORT_NAMES, Selection, Task, TaskKind, settings::usual, written};
use crate::certificate::paths;

/// All entries of a kind.
#[derive(Debug, Clone, Serialize)]
pub struct Listing {
    /// What an entry is called, such as "policy".
    pub kind: &'static str,
    /// Where a federation file names one.
    pub place: &'static str,
    /// The default, where no other setting decides.
    pub default: Option<&'static str>,
    /// The defaults where other settings decide.
    pub otherwise: Vec<ListedDefault>,
    /// The entries, in order.
    pub entries: Vec<ListedEntry>,
}

/// A default that another setting decides.
#[derive(Debug, Clone, Serialize)]
pub struct ListedDefault {
    /// The other setting, as Markdown, such as "with hidden layers".
    pub with: String,
    /// The entry.
    pub name: &'static str,
}

impl Listing {
    /// A listing whose kind has no default.
    fn new(kind: &'static str, place: &'static str, entries: Vec<ListedEntry>) -> Self {
        Self { kind, place, default: None, otherwise: Vec::new(), entries }
    }

    /// The same with a default, and with others where another setting decides.
    fn by_default<'a>(
        self,
        default: &'static str,
        otherwise: impl IntoIterator<Item = (&'a str, &'static str)>,
    ) -> Self {
        let others = otherwise.into_iter().filter(|(_, name)| *name != default);
        let listed = others.map(|(with, name)| ListedDefault { with: with.to_owned(), name });
        Self { default: Some(default), otherwise: listed.collect(), ..self }
    }
}

/// An entry.
#[derive(Debug, Clone, Serialize)]
pub struct ListedEntry {
    /// Its name.
    pub name: &'static str,
    /// What it is, in a sentence or two.
    pub help: String,
    /// The table of its settings; empty if it has none.
    pub table: String,
    /// Its settings.
    pub settings: Vec<ListedSetting>,
}

/// A setting of an entry.
#[derive(Debug, Clone, Serialize)]
pub struct ListedSetting {
    /// The key.
    pub name: String,
    /// The default, as a file would have it; none where there is no value by default.
    pub default: Option<String>,
    /// What it sets.
    pub help: String,
}

/// All registries, in the order of a federation file.
pub fn listings() -> Vec<Listing> {
    let [linear, hidden] = [false, true].map(usual);
    let with_hidden = |name| [("with hidden layers", name)];
    let Selection { policy, .. } = Selection::default();
    vec![
        Listing::new("rule", "`rule`", plain(|rule: Choice<Rule>| help(rule)))
            .by_default(paths().0.name(), []),
        metrics(),
        Listing::new(
            "model",
            "`kind` in `[model]`",
            plain(|kind: Choice<dyn ModelKind>| help(kind)),
        )
        .by_default(LinearKind.name(), [("with widths in `hidden`", MlpKind.name())]),
        Listing::new(
            "estimator",
            "`estimator` in `[benefit]`",
            configurable::<dyn Estimator>("benefit"),
        )
        .by_default(linear[0], with_hidden(hidden[0])),
        Listing::new(
            "policy",
            "`policy` in `[selection]`",
            plain(|kind: Choice<dyn Policy>| help(kind)),
        )
        .by_default(policy.0.name(), [("with the rule `messages`", Friends.name())]),
        objectives(),
        Listing::new(
            "trainer",
            "`trainer` in `[training]`",
            configurable::<dyn Trainer>("training"),
        )
        .by_default(linear[1], with_hidden(hidden[1])),
        Listing::new("method", "`compare`", methods()),
    ]
}

/// The metrics: by default the first that fits the task.
fn metrics() -> Listing {
    let first = |task: TaskKind| Choice::all().find(|one: &Choice<dyn Metric>| one.fits(task));
    let listing = Listing::new("metric", "`metric` in `[task]`", plain(about_metric));
    let Some(usual) = first(Task::default().kind) else { return listing };
    let tasks: Vec<(String, &str)> = TaskKind::ALL
        .iter()
        .filter_map(|task| Some((format!("for `{}`", written(task)), first(*task)?.0.name())))
        .collect();
    let otherwise = tasks.iter().map(|(with, name)| (with.as_str(), *name));
    listing.by_default(usual.0.name(), otherwise)
}

/// The objectives: by default another one where benefits are numbers of rows.
fn objectives() -> Listing {
    let of_rows = Choice::<EstimatorKind>::all()
        .filter(|kind| kind.0.with_defaults().benefits_are_rows())
        .map(|kind| (format!("with the estimator `{kind}`"), ObjectiveKind::Diminishing.name()));
    let of_rows: Vec<_> = of_rows.collect();
    let place = "`objective` in `[selection]`, for the policy `optimal`";
    Listing::new("objective", place, plain(|kind: Choice<ObjectiveKind>| help(kind))).by_default(
        ObjectiveKind::Welfare.name(),
        of_rows.iter().map(|(with, name)| (with.as_str(), *name)),
    )
}

fn help<T: Entry + ?Sized>(entry: Choice<T>) -> String {
    entry.0.help().to_owned()
}

fn about_metric(metric: Choice<dyn Metric>) -> String {
    let direction = if metric.more_is_better() { "higher" } else { "lower" };
    let fitting = TaskKind::ALL.iter().filter(|task| metric.fits(**task));
    let tasks: Vec<String> = fitting.map(|task| format!("`{}`", written(task))).collect();
    format!("{} For {}; {direction} is better.", help(metric), tasks.join(" and "))
}

/// Entries without settings.
fn plain<T: Registry + ?Sized>(about: impl Fn(Choice<T>) -> String) -> Vec<ListedEntry> {
    let entry = |entry: Choice<T>| ListedEntry {
        name: entry.0.name(),
        help: about(entry),
        table: String::new(),
        settings: Vec::new(),
    };
    Choice::<T>::all().map(entry).collect()
}

/// Entries with tables in a section.
fn configurable<T: ?Sized>(section: &str) -> Vec<ListedEntry>
where
    Kind<T>: Registry,
{
    let with_settings = |entry: Choice<Kind<T>>| {
        let defaults = entry.0.with_defaults();
        let setting = |key: &Key| ListedSetting {
            name: key.name(),
            default: defaults.setting(&key.name()).map(ToString::to_string),
            help: key.help(),
        };
        ListedEntry {
            name: entry.0.name(),
            help: help(entry),
            table: format!("{section}.{entry}"),
            settings: entry.0.keys().iter().map(setting).collect(),
        }
    };
    Choice::all().map(with_settings).collect()
}

fn methods() -> Vec<ListedEntry> {
    let pair = ("POLICY+TRAINER", "Any policy with any trainer, such as `greedy+mixing`.");
    let short = SHORT_NAMES.iter().map(|short| (short.name, short.help));
    let entry = |(name, help): (&'static str, &str)| ListedEntry {
        name,
        help: help.to_owned(),
        table: String::new(),
        settings: Vec::new(),
    };
    short.chain([pair]).map(entry).collect()
}
