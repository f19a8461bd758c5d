//! What a federation file can say. Each section's defaults stand in its `Default`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// What a federation file says, defaults filled in.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Settings {
    /// What the federation is called.
    #[serde(default = "default_name")]
    pub name: String,
    /// Where all chance comes from.
    #[serde(default = "default_seed")]
    pub seed: u64,
    /// How many times everything is done, with the seeds that follow.
    #[serde(default = "default_repeats")]
    pub repeats: u64,
    /// A file of further competitions, `a,b` a line, beside each participant's own list.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub competing: Option<String>,
    /// Further methods to compare with: see [`Method`].
    #[serde(default)]
    pub compare: Vec<String>,
    /// What is to be learned.
    #[serde(default)]
    pub task: Task,
    /// How the data files are to be read.
    #[serde(default)]
    pub data: Data,
    /// What learns.
    #[serde(default)]
    pub model: Model,
    /// Who would help whom.
    #[serde(default)]
    pub benefit: Benefit,
    /// Who may learn from whom.
    #[serde(default)]
    pub selection: Selection,
    /// How.
    #[serde(default)]
    pub training: Training,
    /// Who takes part.
    pub participants: Vec<Participant>,
}

fn default_name() -> String {
    "federation".into()
}

fn default_seed() -> u64 {
    1
}

fn default_repeats() -> u64 {
    1
}

/// The `[task]`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Task {
    /// Numbers, one of two classes, or one of several.
    pub kind: TaskKind,
    /// The column that is to be predicted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// What is reported.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metric: Option<MetricName>,
    /// The classes: for each the text, or the texts, that mean it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub classes: Vec<Class>,
    /// Should rare classes count more, so that all count the same?
    pub balanced: bool,
}

impl Default for Task {
    fn default() -> Self {
        Self {
            kind: TaskKind::Binary,
            target: None,
            metric: None,
            classes: Vec::new(),
            balanced: false,
        }
    }
}

/// What kind of thing is to be predicted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TaskKind {
    /// A number.
    Regression,
    /// One of two classes.
    Binary,
    /// One of several classes.
    Classes,
}

/// What is reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MetricName {
    /// The mean squared error.
    Mse,
    /// The part of the samples whose class is found.
    Accuracy,
    /// The area under the ROC curve.
    Auc,
}

/// The texts that mean a class.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Class {
    /// One.
    Text(String),
    /// Several.
    Texts(Vec<String>),
}

impl Class {
    /// All of them.
    pub fn texts(&self) -> Vec<String> {
        match self {
            Self::Text(text) => vec![text.clone()],
            Self::Texts(texts) => texts.clone(),
        }
    }
}

/// The section `[data]`: how files are read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Data {
    /// The columns' names, where the files have no header.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub header: Option<Vec<String>>,
    /// The columns that are features; all but the target and those to ignore, if not said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub features: Option<Vec<String>>,
    /// Columns that are not used.
    pub ignore: Vec<String>,
    /// The columns that are no numbers, with the categories that there can be.
    pub categories: BTreeMap<String, Vec<String>>,
    /// What to do with a category that was not declared.
    pub other_categories: Other,
    /// Texts that mean that a value is missing.
    pub missing: Vec<String>,
    /// Further such texts in single columns.
    pub missing_in: BTreeMap<String, Vec<String>>,
    /// What to do with rows in which features are missing.
    pub incomplete: IncompleteRows,
    /// Should there be a feature for each number column that says that it was missing?
    pub indicators: bool,
    /// Whose mean and deviation numbers are scaled by.
    pub scaling: Scaling,
    /// The part of the rows by which choices are made.
    pub validation: f64,
    /// The part of the rows on which the result is measured.
    pub test: f64,
}

impl Default for Data {
    fn default() -> Self {
        Self {
            header: None,
            features: None,
            ignore: Vec::new(),
            categories: BTreeMap::new(),
            other_categories: Other::Refuse,
            missing: ["", "?", "NA"].map(String::from).to_vec(),
            missing_in: BTreeMap::new(),
            incomplete: IncompleteRows::Fill,
            indicators: false,
            scaling: Scaling::Own,
            validation: 0.2,
            test: 0.2,
        }
    }
}

/// What to do with something that was not declared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Other {
    /// It is an error.
    Refuse,
    /// It counts as missing.
    Missing,
}

/// What to do with rows in which features are missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum IncompleteRows {
    /// The participant's own mean takes the place of a number; of a category none is set.
    Fill,
    /// They are left out.
    LeaveOut,
    /// They are an error.
    Refuse,
}

/// Whose mean and deviation numbers are scaled by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scaling {
    /// Each participant's own.
    Own,
    /// Those of all together: that is information that everybody gets from everybody.
    Shared,
    /// They are not.
    None,
}

/// The `[model]`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Model {
    /// The widths of the hidden layers; without any it is linear or logistic regression.
    pub hidden: Vec<usize>,
    /// Does each participant keep the last layer to itself?
    pub own_head: bool,
}

#[expect(clippy::derivable_impls, reason = "all defaults stand in one place each")]
impl Default for Model {
    fn default() -> Self {
        Self { hidden: Vec::new(), own_head: false }
    }
}

/// The `[benefit]`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Benefit {
    /// Who finds out who would help whom.
    pub estimator: EstimatorName,
    /// The file in which it is written, for `given`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Below this a helper is none; each estimator has its own if it is not said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub threshold: Option<f64>,
}

impl Default for Benefit {
    fn default() -> Self {
        Self { estimator: EstimatorName::Mixture, file: None, threshold: None }
    }
}

/// Who finds out who would help whom.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EstimatorName {
    /// Mixtures of models that were trained alone: only those touch who don't compete.
    Mixture,
    /// The paper's joint hypernetwork: it shows everybody traces of everybody.
    Hypernetwork,
    /// The gain of training with each one: slow.
    Measured,
    /// A file.
    Given,
}

/// The section `[selection]`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Selection {
    /// Who decides who may learn from whom.
    pub policy: PolicyName,
    /// What the policy `optimal` makes large.
    pub objective: ObjectiveName,
}

impl Default for Selection {
    fn default() -> Self {
        Self { policy: PolicyName::Optimal, objective: ObjectiveName::Welfare }
    }
}

/// Who decides who may learn from whom.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PolicyName {
    /// The paper's heuristic.
    Greedy,
    /// The best plan that the rule allows.
    Optimal,
    /// Cliques without competitors.
    Cliques,
    /// The collaboration equilibrium inside those.
    Coalitions,
    /// Coalitions without free riders.
    Egoists,
    /// Everybody alone.
    None,
}

/// What the policy `optimal` makes large.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ObjectiveName {
    /// The sum of the benefits.
    Welfare,
    /// The least that anybody gets.
    MaxMin,
    /// The product of what everybody gets.
    Proportional,
}

/// The `[training]`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Training {
    /// How models are trained along the plan.
    pub trainer: TrainerName,
    /// How many times models are exchanged.
    pub rounds: usize,
    /// Steps between two exchanges.
    pub local_steps: usize,
    /// How steps follow gradients.
    pub optimizer: OptimizerName,
    /// The learning rate.
    pub rate: f32,
    /// How much of the last step goes on (`sgd`).
    pub momentum: f32,
    /// How strongly parameters are drawn to 0.
    pub decay: f32,
    /// Samples for each step; all, if it is not said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub batch: Option<usize>,
    /// What is mixed (`mixing`).
    pub mix: MixName,
    /// By what collaborators are weighted (`mixing`).
    pub weights: WeightsName,
    /// The own part in mixtures (`mixing`); it follows from the weights if it is not said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub own_part: Option<f64>,
    /// How far to go towards the mixture (`mixing`).
    pub server_rate: f32,
    /// Also mix gradients, against drift (`mixing`).
    pub against_drift: bool,
    /// Keep one's own model where validation data finds the mixture worse (`mixing`).
    pub checked: bool,
    /// Hundredths of the steps to train alone first, to see whether others do one good
    /// (`hypernetworks`).
    pub trial: usize,
    /// The pull to the common model (`proximal`).
    pub pull: f32,
    /// The width of the hypernetworks' hidden layers (`hypernetworks`).
    pub hypernetwork_hidden: usize,
}

impl Default for Training {
    fn default() -> Self {
        Self {
            trainer: TrainerName::Mixing,
            rounds: 50,
            local_steps: 10,
            optimizer: OptimizerName::Adam,
            rate: 0.01,
            momentum: 0.0,
            decay: 0.0,
            batch: None,
            mix: MixName::Models,
            weights: WeightsName::Samples,
            own_part: None,
            server_rate: 1.0,
            against_drift: true,
            checked: true,
            trial: 3,
            pull: 0.01,
            hypernetwork_hidden: 100,
        }
    }
}

/// How models are trained along a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TrainerName {
    /// Everybody mixes its collaborators' models into its own.
    Mixing,
    /// `FedAvg` inside groups.
    Averaging,
    /// `FedProx` inside groups.
    Proximal,
    /// SCAFFOLD inside groups.
    Scaffold,
    /// The paper's: a hypernetwork for each participant.
    Hypernetworks,
}

/// How steps follow gradients.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OptimizerName {
    /// Adam.
    Adam,
    /// Gradient descent with momentum.
    Sgd,
}

/// What is mixed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MixName {
    /// Models.
    Models,
    /// What local steps have changed.
    Updates,
    /// Gradients, at every step.
    Gradients,
}

/// By what collaborators are weighted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WeightsName {
    /// By their training samples.
    Samples,
    /// By their benefits.
    Benefit,
}

/// One of the `[[participants]]`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Participant {
    /// Its name.
    pub name: String,
    /// Its data file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<String>,
    /// Only these rows of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rows: Option<Rows>,
    /// Data that is made up, instead of a file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generate: Option<Generate>,
    /// Whom it never wants to help.
    #[serde(default)]
    pub competes_with: Vec<String>,
}

/// The rows of a file in which a column has some text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Rows {
    /// The column.
    pub column: String,
    /// The text.
    pub is: String,
}

/// Data that is made up.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Generate {
    /// How many samples.
    pub samples: usize,
    /// How many features.
    pub features: usize,
    /// Participants of one kind have one task.
    pub kind: u64,
    /// How much the tasks of different kinds differ: 0 not at all, 1 as if unrelated.
    pub difference: f64,
    /// How much of the outcome is chance: 0 nothing.
    pub noise: f64,
}

impl Default for Generate {
    fn default() -> Self {
        Self { samples: 200, features: 10, kind: 0, difference: 0.5, noise: 1.0 }
    }
}

/// A method to compare with: a structure and a trainer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// A plan and a trainer along it.
    Planned(PolicyName, TrainerName),
    /// One model for all data, whoever competes: the ceiling, for reference only.
    Pooled,
}

impl Method {
    /// The names that stand for one, beside `policy+trainer`.
    pub const NAMES: [(&str, Self); 7] = [
        ("local", Self::Planned(PolicyName::None, TrainerName::Averaging)),
        ("pooled", Self::Pooled),
        ("fedavg", Self::Planned(PolicyName::Cliques, TrainerName::Averaging)),
        ("fedprox", Self::Planned(PolicyName::Cliques, TrainerName::Proximal)),
        ("scaffold", Self::Planned(PolicyName::Cliques, TrainerName::Scaffold)),
        ("ce", Self::Planned(PolicyName::Coalitions, TrainerName::Hypernetworks)),
        ("fedegoists", Self::Planned(PolicyName::Egoists, TrainerName::Hypernetworks)),
    ];

    /// The method of this name.
    pub fn parse(text: &str) -> Option<Self> {
        if let Some((_, method)) = Self::NAMES.iter().find(|(name, _)| *name == text) {
            return Some(*method);
        }
        let (policy, trainer) = text.split_once('+')?;
        Some(Self::Planned(parsed(policy)?, parsed(trainer)?))
    }

    /// What it is called.
    pub fn name(self) -> String {
        if let Some((name, _)) = Self::NAMES.iter().find(|(_, method)| *method == self) {
            return (*name).into();
        }
        match self {
            Self::Planned(policy, trainer) => format!("{}+{}", written(policy), written(trainer)),
            Self::Pooled => "pooled".into(),
        }
    }
}

/// The value that is written like this.
fn parsed<'de, T: Deserialize<'de>>(text: &'de str) -> Option<T> {
    use serde::de::{IntoDeserializer, value::Error};
    T::deserialize(IntoDeserializer::<Error>::into_deserializer(text)).ok()
}

/// How one of the named values is written.
pub fn written(value: impl Serialize) -> String {
    match toml::Value::try_from(value) {
        Ok(toml::Value::String(text)) => text,
        other => format!("{other:?}"),
    }
}

impl Settings {
    /// The method that the file is about.
    pub fn method(&self) -> Method {
        Method::Planned(self.selection.policy, self.training.trainer)
    }

    /// All methods, the file's own first, then Local, which is always there.
    pub fn methods(&self) -> Vec<Method> {
        let local = Method::NAMES[0].1;
        let mut methods = vec![self.method(), local];
        methods.extend(self.compare.iter().filter_map(|name| Method::parse(name)));
        let mut seen = Vec::new();
        methods.retain(|method| {
            let is_new = !seen.contains(method);
            seen.push(*method);
            is_new
        });
        methods
    }

    /// The metric: what the file says, or what is usual for its task.
    pub fn metric(&self) -> MetricName {
        self.task.metric.unwrap_or(match self.task.kind {
            TaskKind::Regression => MetricName::Mse,
            TaskKind::Binary => MetricName::Auc,
            TaskKind::Classes => MetricName::Accuracy,
        })
    }

    /// The texts that mean each class.
    pub fn classes(&self) -> Vec<Vec<String>> {
        if self.task.classes.is_empty() && self.task.kind == TaskKind::Binary {
            return vec![vec!["0".into()], vec!["1".into()]];
        }
        self.task.classes.iter().map(Class::texts).collect()
    }

    /// The file that says the same, with every default written out.
    pub fn to_toml(&self) -> String {
        toml::to_string_pretty(self).unwrap_or_default()
    }
}
