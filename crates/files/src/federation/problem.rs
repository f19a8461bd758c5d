//! What can be wrong with a federation file.

use fedcompetitors_graphs::shown;

/// Why a federation file cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FederationProblem {
    /// It is not TOML, or a value is of another kind.
    #[error("{}", shown(.0))]
    Toml(String),
    /// A key that there is not.
    #[error("{}the key `{}` is unknown", of(.participant.as_ref()), shown(.key))]
    UnknownKey {
        /// The participant in whose entry it stands.
        participant: Option<String>,
        /// The key.
        key: String,
        /// The known key closest to it, if any is close.
        nearest: Option<String>,
        /// The keys that there are.
        known: Vec<String>,
    },
    /// A word that is none of those that there can be.
    #[error("{}`{}` is unknown", of(.participant.as_ref()), shown(.value))]
    UnknownValue {
        /// The participant in whose entry it stands.
        participant: Option<String>,
        /// The word.
        value: String,
        /// The known word closest to it, if any is close.
        nearest: Option<String>,
        /// The words that there are.
        known: Vec<String>,
    },
    /// A value out of its range.
    #[error("{}`{}` should be {wanted}", of(.participant.as_ref()), shown(.key))]
    Range {
        /// The participant in whose entry it stands.
        participant: Option<String>,
        /// The key.
        key: String,
        /// What it should be.
        wanted: &'static str,
    },
    /// A policy for another rule than the federation's.
    #[error(
        "the policy `{policy}` keeps the rule `messages` only, and the federation's rule is `paths`"
    )]
    OtherRule {
        /// The policy.
        policy: String,
    },
    /// A trainer that passes on others' data, where only the rule `messages` holds.
    #[error(
        "the method `{policy}+{trainer}`: under the rule `messages` a message must carry its sender's data alone, and those of `{trainer}` carry others', too"
    )]
    PassesOn {
        /// The policy.
        policy: String,
        /// The trainer.
        trainer: String,
    },
    /// A trainer or an estimator that cannot use the model.
    #[error(
        "{}the {kind} `{name}` is for models {} hidden layers",
        .compared.as_ref().map(|method| format!("the method `{method}` in `compare`: ")).unwrap_or_default(),
        if *.has_hidden_layers { "without" } else { "with" }
    )]
    OtherModels {
        /// The method that needs it, where `compare` lists it.
        compared: Option<String>,
        /// What it is.
        kind: &'static str,
        /// Its name.
        name: String,
        /// Whether the model has hidden layers.
        has_hidden_layers: bool,
    },
    /// A participant needs exactly one source of data.
    #[error("participant \"{}\" has {}", shown(.participant), if *.both { "both `data` and `generate`" } else { "neither `data` nor `generate`" })]
    Source {
        /// The participant.
        participant: String,
        /// Has it two?
        both: bool,
    },
    /// Some have files, others made-up data.
    #[error("participant \"{}\" has a data file, but \"{}\" generates its data", shown(.file), shown(.generated))]
    MixedSources {
        /// One with a file.
        file: String,
        /// One without.
        generated: String,
    },
    /// Made-up data of different shapes.
    #[error("participants \"{}\" and \"{}\" generate different numbers of features", shown(.a), shown(.b))]
    DifferentFeatures {
        /// One.
        a: String,
        /// The other.
        b: String,
    },
    /// A metric that says nothing about such a task.
    #[error("the metric `{metric}` does not fit the task `{task}`")]
    Metric {
        /// The metric.
        metric: String,
        /// The task.
        task: String,
        /// The metrics that fit it.
        fitting: Vec<String>,
    },
    /// Files, and no word on what to predict.
    #[error("`target` is missing in `[task]`")]
    NoTarget,
    /// Not as many classes as the task has.
    #[error("the task `{task}` has {found} classes")]
    Classes {
        /// The task.
        task: String,
        /// How many are declared.
        found: usize,
    },
    /// A text that stands twice in a list.
    #[error("\"{}\" is listed twice in `{key}`", shown(.text))]
    Twice {
        /// The list.
        key: String,
        /// The text.
        text: String,
    },
    /// A column of categories without any.
    #[error("no categories are declared for the column \"{}\"", shown(.column))]
    NoCategories {
        /// The column.
        column: String,
    },
    /// A setting without a default is absent.
    #[error("`{key}` is missing in `[{table}]`")]
    NoSetting {
        /// The table.
        table: String,
        /// The key.
        key: &'static str,
    },
    /// A key that is in another table by now.
    #[error("the key `{key}` is no longer {}", if section.is_empty() { "at the top of the file".to_owned() } else { format!("in `[{section}]`") })]
    Moved {
        /// The section in which it stands; empty for the top of the file.
        section: &'static str,
        /// The key.
        key: &'static str,
        /// Where it belongs.
        to: &'static str,
    },
}

/// The beginning of a message about a participant.
fn of(participant: Option<&String>) -> String {
    match participant {
        Some(name) => format!("participant \"{}\": ", shown(name)),
        None => String::new(),
    }
}

impl FederationProblem {
    /// What can be done about it.
    pub fn hint(&self) -> String {
        match self {
            Self::Toml(_) => {
                "see docs/federation-file.md for every key and its values; write texts in double quotes".into()
            }
            Self::OtherRule { .. } => "set `rule = \"messages\"`, or choose another policy".into(),
            Self::PassesOn { .. } => {
                "use the trainer `evidence` or, with hidden layers, `trunks`; or a policy other than `friends`".into()
            }
            Self::OtherModels { compared: Some(method), has_hidden_layers, .. } => {
                let change = if *has_hidden_layers {
                    "leave `hidden` out of `[model]`"
                } else {
                    "set `hidden` in `[model]`, such as hidden = [32, 16]"
                };
                format!("remove `{method}` from `compare`, or {change}")
            }
            Self::OtherModels { kind, has_hidden_layers: true, .. } => {
                format!("leave `hidden` out of `[model]`, or set `{kind} = \"trunks\"`")
            }
            Self::OtherModels { kind, .. } => format!(
                "set `hidden` in `[model]`, such as hidden = [32, 16], or set `{kind} = \"evidence\"`"
            ),
            Self::UnknownKey { nearest: Some(nearest), .. }
            | Self::UnknownValue { nearest: Some(nearest), .. } => {
                format!("did you mean `{nearest}`?")
            }
            Self::UnknownKey { known, .. } | Self::UnknownValue { known, .. } => {
                let known: Vec<String> = known.iter().map(|word| format!("`{word}`")).collect();
                format!("known here: {}", known.join(", "))
            }
            Self::Range { .. } => "change it, or remove it to use the default".into(),
            Self::Source { .. } => {
                "give each participant a file, data = \"…\", or synthetic data, generate = { … }".into()
            }
            Self::MixedSources { .. } => {
                "use data files for all participants, or generate the data of all".into()
            }
            Self::DifferentFeatures { .. } => "give all the same number of `features`".into(),
            Self::Metric { fitting, .. } => {
                let fitting: Vec<String> =
                    fitting.iter().map(|metric| format!("`{metric}`")).collect();
                format!("use one of {}", fitting.join(", "))
            }
            Self::NoTarget => "name the column to predict: target = \"…\"".into(),
            Self::Classes { .. } => {
                "declare them, such as classes = [\"no\", \"yes\"]; binary needs two, classes two or more, regression none".into()
            }
            Self::Twice { .. } => "remove one of them".into(),
            Self::NoCategories { .. } => {
                "list the texts that can occur, such as [\"a\", \"b\"] (`init --with-categories` lists those in the files), or add the column to `ignore`".into()
            }
            Self::NoSetting { table, key } => format!("add `{key} = …` to `[{table}]`"),
            Self::Moved { to, .. } => format!("write {to}"),
        }
    }
}
