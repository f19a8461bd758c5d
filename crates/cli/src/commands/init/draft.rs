//! The text of a federation file for data files that were looked at.

use std::fmt::Write as _;

use fedcompetitors_federate::{estimate::EstimatorKind, kinds::Models, train::TrainerKind};
use fedcompetitors_files::{
    ColumnSurvey,
    federation::{TaskKind, written},
};
use fedcompetitors_graphs::{Choice, Rule, shown};
use fedcompetitors_learn::Metric;
use fedcompetitors_select::Policy;

use super::{
    Participant,
    columns::{Columns, Learned, Use, is_mostly_of_numbers},
};
use crate::arguments::InitArguments;

/// What goes into a federation file.
pub struct Draft<'a> {
    pub name: String,
    pub rule: Rule,
    pub columns: &'a Columns,
    pub header: bool,
    pub with_categories: bool,
    pub participants: &'a [Participant],
    pub choices: Choices,
}

/// What is to be written into a federation file instead of the defaults.
pub struct Choices {
    estimator: Option<Choice<EstimatorKind>>,
    policy: Option<Choice<dyn Policy>>,
    trainer: Option<Choice<TrainerKind>>,
    metric: Option<Choice<dyn Metric>>,
}

impl Choices {
    pub fn of(arguments: &InitArguments) -> Self {
        let InitArguments { estimator, policy, trainer, metric, .. } = *arguments;
        Self { estimator, policy, trainer, metric }
    }

    /// Whether the estimator or the trainer is for models with hidden layers only.
    fn need_hidden_layers(&self) -> bool {
        let of_estimator = self.estimator.map(|kind| kind.0.with_defaults().models());
        let of_trainer = self.trainer.map(|kind| kind.0.with_defaults().models());
        [of_estimator, of_trainer].contains(&Some(Models::Hidden))
    }

    /// The sections with estimator, policy and trainer, of those that were chosen.
    fn sections(&self) -> String {
        let choices = [
            ("benefit", "estimator", self.estimator.map(|one| one.to_string())),
            ("selection", "policy", self.policy.map(|one| one.to_string())),
            ("training", "trainer", self.trainer.map(|one| one.to_string())),
        ];
        let chosen = choices.into_iter().filter_map(|(section, key, name)| {
            Some(format!("\n[{section}]\n{key} = {}\n", quoted(&name?)))
        });
        chosen.collect()
    }
}

impl Draft<'_> {
    /// The federation file, with comments on what to look at.
    pub fn text(&self) -> String {
        let mut text = String::from(
            "# A federation: its participants, their competitors, the task and the training.\n\
             # docs/federation-file.md lists all keys and their defaults.\n\n",
        );
        let _ = writeln!(text, "name = {}\nseed = 1", quoted(&self.name));
        let _ = writeln!(
            text,
            "# The rule: with \"paths\" nobody learns from a competitor, directly or through others. With \"messages\"\n\
             # no message carries a competitor's data, and a participant may help the friend of its competitor.\n\
             rule = \"{}\"",
            self.rule
        );
        text.push_str("compare = [\"local\", \"fedavg\"]  # methods to compare with\n");
        self.task(&mut text);
        self.data(&mut text);
        let hidden = if self.choices.need_hidden_layers() { "[32, 16]" } else { "[]" };
        let _ = writeln!(
            text,
            "\n[model]\nhidden = {hidden:<20} # widths of hidden layers; empty: linear or logistic regression"
        );
        text.push_str(&self.choices.sections());
        text.push_str("\n[evaluation]\nrepeats = 2                   # times that rows are divided into folds; 1 with `time`\nfolds = 5                     # each tests models that were trained on the others\n");
        if let Some(group) = self.columns.used(|usage| usage == Use::Group).first() {
            let _ = writeln!(
                text,
                "# Rows with the same value, such as those of one patient, are tested together.\ngroups = {}",
                quoted(group)
            );
        }
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
        if let Some(metric) = self.choices.metric {
            let _ = writeln!(text, "metric = {}", quoted(metric.0.name()));
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
        let features = columns.used(|usage| matches!(usage, Use::Categories | Use::Numbers(_)));
        let _ = writeln!(
            text,
            "# The columns to learn from, in the order that all models have.\nfeatures = {}",
            list(&features)
        );
        let unused: Vec<(&str, Vec<String>)> = [
            ("they look like identifiers", Use::Identifier),
            (
                "they look like identifiers of patients or the like, with several rows each",
                Use::Group,
            ),
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
        for (learned, key, why) in [
            (
                Learned::Logarithms,
                "log",
                "Most values are small and a few very large, as with amounts of money: logarithms are learned.",
            ),
            (
                Learned::Ranks,
                "rank",
                "A few values are very far from the others, and logarithms would not change that: ranks are learned.",
            ),
        ] {
            let names = columns.used(|usage| usage == Use::Numbers(learned));
            if !names.is_empty() {
                let _ = writeln!(text, "# {why}\n{key} = {}", list(&names));
            }
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
    pub fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        let columns = self.columns;
        if !columns.partial.is_empty() {
            notes.push(format!(
                "left out, because not all files have them: {}",
                shown_list(&columns.partial)
            ));
        }
        let unused = columns
            .used(|usage| matches!(usage, Use::Identifier | Use::Group | Use::Date | Use::Text));
        if !unused.is_empty() {
            notes.push(format!("not learned (see `ignore` in the file): {}", shown_list(&unused)));
        }
        if let Some(group) = columns.used(|usage| usage == Use::Group).first() {
            notes.push(format!(
                "rows with the same `{}` are tested together (see `groups` in the file)",
                shown(group)
            ));
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

pub fn quoted(text: &str) -> String {
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
