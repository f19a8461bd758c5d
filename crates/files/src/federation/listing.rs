//! Everything that a federation file can name, from the registries.

use fedcompetitors_federate::{
    estimate::Estimator,
    kinds::{Key, Kind},
    train::Trainer,
};
use fedcompetitors_graphs::{Choice, Entry, Registry, Rule};
use fedcompetitors_learn::{Metric, ModelKind};
use fedcompetitors_select::{ObjectiveKind, Policy};
use serde::Serialize;

use super::{SHORT_NAMES, Selection, TaskKind, written};
use crate::certificate::paths;

/// All entries of a kind.
#[derive(Debug, Clone, Serialize)]
pub struct Listing {
    /// What an entry is called, such as "policy".
    pub kind: &'static str,
    /// Where a federation file names one.
    pub place: &'static str,
    /// The default where no other setting decides.
    pub default: Option<&'static str>,
    /// The entries, in order.
    pub entries: Vec<ListedEntry>,
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
    let listing = |kind, place, default, entries| Listing { kind, place, default, entries };
    let Selection { policy, .. } = Selection::default();
    vec![
        listing("rule", "`rule`", Some(paths().0.name()), plain(|rule: Choice<Rule>| help(rule))),
        listing("metric", "`metric` in `[task]`", None, plain(about_metric)),
        listing(
            "model",
            "`kind` in `[model]`",
            None,
            plain(|kind: Choice<dyn ModelKind>| help(kind)),
        ),
        listing(
            "estimator",
            "`estimator` in `[benefit]`",
            None,
            configurable::<dyn Estimator>("benefit"),
        ),
        listing(
            "policy",
            "`policy` in `[selection]`",
            Some(policy.0.name()),
            plain(|kind: Choice<dyn Policy>| help(kind)),
        ),
        listing(
            "objective",
            "`objective` in `[selection]`, for the policy `optimal`",
            Some(ObjectiveKind::Welfare.name()),
            plain(|kind: Choice<ObjectiveKind>| help(kind)),
        ),
        listing(
            "trainer",
            "`trainer` in `[training]`",
            None,
            configurable::<dyn Trainer>("training"),
        ),
        listing("method", "`compare`", None, methods()),
    ]
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
