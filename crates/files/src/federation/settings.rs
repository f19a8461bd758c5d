//! What a federation file can say. Each section's defaults stand in its `Default`.

use std::collections::BTreeMap;

use fedcompetitors_federate::{
    estimate::{Estimator, EstimatorKind},
    kinds::Configured,
    train::{Trainer, TrainerKind},
};
use fedcompetitors_graphs::{Choice, Rule};
use fedcompetitors_learn::{
    Layers, LinearKind, Metric, MlpKind, ModelKind, Scale, TaskKind, Transform,
};
use fedcompetitors_select::{ObjectiveKind, Optimal, Policy};
use serde::{Deserialize, Serialize};

use super::{components, methods::Method};
use crate::certificate::paths;

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
    /// A file of further competitions, `a,b` a line, beside each participant's own list.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub competing: Option<String>,
    /// The rule that the federation's own plan keeps.
    #[serde(default = "paths")]
    pub rule: Choice<Rule>,
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
    /// How good it is.
    #[serde(default)]
    pub evaluation: Evaluation,
    /// Who takes part.
    pub participants: Vec<Participant>,
}

fn default_name() -> String {
    "federation".into()
}

fn default_seed() -> u64 {
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
    pub metric: Option<Choice<dyn Metric>>,
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
    /// Number columns whose logarithms are learned: sign(x) · ln(1 + |x|).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub log: Vec<String>,
    /// Number columns whose ranks among the participant's own training rows are learned, as normal scores.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rank: Vec<String>,
    /// Whose mean and deviation numbers are scaled by.
    pub scaling: Scaling,
    /// Scaled numbers are limited to this many deviations from the mean; infinite for no limit.
    pub clip: f64,
    /// Declared scales of number columns. They replace those that come from data.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub scales: BTreeMap<String, DeclaredScale>,
    /// The part of the rows that are not tested by which choices are made.
    pub validation: f64,
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
            indicators: true,
            log: Vec::new(),
            rank: Vec::new(),
            scaling: Scaling::Own,
            clip: 6.0,
            scales: BTreeMap::new(),
            validation: 0.2,
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

/// A scale that the federation file declares for a column of numbers.
///
/// Either `mean` and `deviation`, for a column in `log` those of the logarithms; or `min` and `max`, as
/// they stand in the files, between which most values lie.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct DeclaredScale {
    /// What becomes 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mean: Option<f64>,
    /// What becomes 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deviation: Option<f64>,
    /// What becomes −2.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min: Option<f64>,
    /// What becomes 2.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max: Option<f64>,
}

impl DeclaredScale {
    /// Mean and deviation, if exactly one of the two pairs is given.
    pub fn scale(&self, transform: Transform) -> Option<Scale> {
        let changed = |value| match transform {
            Transform::Log => Transform::log(value),
            Transform::None | Transform::Rank => value,
        };
        let (mean, deviation) = match (self.mean, self.deviation, self.min, self.max) {
            (Some(mean), Some(deviation), None, None) => (mean, deviation),
            (None, None, Some(min), Some(max)) => {
                let (min, max) = (changed(min), changed(max));
                (f64::midpoint(min, max), (max - min) / 4.0)
            }
            _ => return None,
        };
        Some(Scale { count: 0, mean, deviation })
    }
}

impl Data {
    /// How the numbers of a column are transformed before they are scaled.
    pub fn transform(&self, column: &str) -> Transform {
        let is_in = |list: &[String]| list.iter().any(|name| name == column);
        if is_in(&self.log) {
            Transform::Log
        } else if is_in(&self.rank) {
            Transform::Rank
        } else {
            Transform::None
        }
    }

    /// Whether number columns get indicators of missing values. Where rows with missing values are left out
    /// or refused, there is nothing to indicate.
    pub fn has_indicators(&self) -> bool {
        self.indicators && self.incomplete == IncompleteRows::Fill
    }
}

/// The `[model]`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Model {
    /// The kind; `mlp` with hidden layers and `linear` without, if absent.
    pub kind: Option<Choice<dyn ModelKind>>,
    /// The widths of the hidden layers.
    pub hidden: Vec<usize>,
    /// Whether each participant keeps the last layer to itself.
    pub own_head: bool,
}

#[expect(clippy::derivable_impls, reason = "all defaults stand in one place each")]
impl Default for Model {
    fn default() -> Self {
        Self { kind: None, hidden: Vec::new(), own_head: false }
    }
}

impl Model {
    /// The kind that it names or implies.
    pub fn kind(&self) -> Choice<dyn ModelKind> {
        self.kind.unwrap_or(match &self.hidden[..] {
            [] => Choice(&LinearKind),
            _ => Choice(&MlpKind),
        })
    }

    /// Its layers.
    pub fn layers(&self) -> Layers {
        Layers { hidden: self.hidden.clone(), own_head: self.own_head }
    }
}

/// The `[benefit]`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Benefit {
    /// How benefits are found; if absent, by `evidence` without hidden layers and by `trunks` with.
    pub estimator: Option<Choice<EstimatorKind>>,
    /// The estimators in use and those that the file sets.
    #[serde(flatten, skip_deserializing, serialize_with = "components::tables")]
    pub estimators: Vec<Configured<dyn Estimator>>,
}

#[expect(clippy::derivable_impls, reason = "all defaults stand in one place each")]
impl Default for Benefit {
    fn default() -> Self {
        Self { estimator: None, estimators: Vec::new() }
    }
}

/// The section `[selection]`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Selection {
    /// Who decides who may learn from whom.
    pub policy: Choice<dyn Policy>,
    /// What the policy `optimal` makes large; if absent, `diminishing` where benefits are in rows and
    /// `welfare` elsewhere.
    pub objective: Option<Choice<ObjectiveKind>>,
}

impl Default for Selection {
    fn default() -> Self {
        Self { policy: Choice(&Optimal), objective: None }
    }
}

/// The `[training]`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Training {
    /// How models are trained along the plan; if absent, by `evidence` without hidden layers and by
    /// `trunks` with.
    pub trainer: Option<Choice<TrainerKind>>,
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
    /// The trainers in use and those that the file sets.
    #[serde(flatten, skip_deserializing, serialize_with = "components::tables")]
    pub trainers: Vec<Configured<dyn Trainer>>,
}

impl Default for Training {
    fn default() -> Self {
        Self {
            trainer: None,
            rounds: 50,
            local_steps: 10,
            optimizer: OptimizerName::Adam,
            rate: 0.01,
            momentum: 0.0,
            decay: 0.0,
            batch: None,
            trainers: Vec::new(),
        }
    }
}

/// The `[evaluation]`: which rows test models that were trained without them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Evaluation {
    /// How many times rows are divided into folds, each time into new ones.
    pub repeats: u32,
    /// Into how many folds, each of which is tested once; with one fold a part of the rows is tested. 5
    /// without hidden layers and 1 with, if absent.
    pub folds: Option<u32>,
    /// The part that is tested where there is one fold.
    pub test: f64,
    /// A column that names what rows belong to, such as a patient: its rows stay together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub groups: Option<String>,
    /// A column with the time of each row: models are tested on later rows than those that they were
    /// trained on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time: Option<String>,
    /// A file that says in which fold each row is tested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub assignments: Option<String>,
    /// How often rows are drawn to find the intervals of figures.
    pub replicates: u32,
}

impl Default for Evaluation {
    fn default() -> Self {
        Self {
            repeats: 1,
            folds: None,
            test: 0.2,
            groups: None,
            time: None,
            assignments: None,
            replicates: 1000,
        }
    }
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
    /// How much each participant's task differs from that of its kind, relative to its length.
    pub own: f64,
    /// How much of the outcome is chance: 0 nothing.
    pub noise: f64,
}

impl Default for Generate {
    fn default() -> Self {
        Self { samples: 200, features: 10, kind: 0, difference: 0.5, own: 0.0, noise: 1.0 }
    }
}

/// How one of the named values is written.
pub fn written(value: impl Serialize) -> String {
    match toml::Value::try_from(value) {
        Ok(toml::Value::String(text)) => text,
        other => format!("{other:?}"),
    }
}

/// The default estimator and trainer for models with hidden layers or without.
pub fn usual(has_hidden_layers: bool) -> [&'static str; 2] {
    if has_hidden_layers { ["trunks", "trunks"] } else { ["evidence", "evidence"] }
}

impl Settings {
    /// The method that the file is about.
    pub fn method(&self) -> Method {
        Method::Planned(self.selection.policy, self.trainer_kind())
    }

    /// The estimator that the file names, or the default for its model.
    ///
    /// # Panics
    /// Never: a test asks for every default.
    pub fn estimator_kind(&self) -> Choice<EstimatorKind> {
        let [estimator, _] = usual(self.model.kind().has_hidden_layers());
        self.benefit.estimator.unwrap_or_else(|| Choice::named(estimator).expect("an estimator"))
    }

    /// The trainer that the file names, or the default for its model.
    ///
    /// # Panics
    /// As [`Settings::estimator_kind`].
    pub fn trainer_kind(&self) -> Choice<TrainerKind> {
        let [_, trainer] = usual(self.model.kind().has_hidden_layers());
        self.training.trainer.unwrap_or_else(|| Choice::named(trainer).expect("a trainer"))
    }

    /// The objective that the file names, or the default for its estimator.
    pub fn objective(&self) -> Choice<ObjectiveKind> {
        let are_rows = self.estimator().benefits_are_rows();
        let usual = if are_rows { &ObjectiveKind::Diminishing } else { &ObjectiveKind::Welfare };
        self.selection.objective.unwrap_or(Choice(usual))
    }

    /// The number of folds: 1 for a part of the rows that is tested.
    pub fn folds(&self) -> u32 {
        self.evaluation.folds.unwrap_or(if self.model.kind().has_hidden_layers() { 1 } else { 5 })
    }

    /// All methods, the file's own first, then Local, which is always there.
    pub fn methods(&self) -> Vec<Method> {
        let compared: Vec<Method> =
            self.compare.iter().filter_map(|name| Method::parse(name).ok()).collect();
        let all = [self.method()].into_iter().chain(compared.iter().copied());
        let controls = all.filter_map(Method::control);
        let mut methods = vec![self.method(), Method::local()];
        methods.extend(controls.collect::<Vec<_>>());
        methods.extend(compared);
        let mut seen = Vec::new();
        methods.retain(|method| {
            let is_new = !seen.contains(method);
            seen.push(*method);
            is_new
        });
        methods
    }

    /// The estimator, with its settings.
    ///
    /// # Panics
    /// Never for settings that were read: those of every estimator in use are in them.
    pub fn estimator(&self) -> &Configured<dyn Estimator> {
        components::find(&self.benefit.estimators, self.estimator_kind())
    }

    /// A trainer of one of the methods, with its settings.
    ///
    /// # Panics
    /// As [`Settings::estimator`].
    pub fn trainer(&self, kind: Choice<TrainerKind>) -> &Configured<dyn Trainer> {
        components::find(&self.training.trainers, kind)
    }

    /// The metric: what the file says, or the first that fits the task.
    ///
    /// # Panics
    /// Never: every task has a metric.
    pub fn metric(&self) -> Choice<dyn Metric> {
        let fitting =
            || Choice::all().find(|metric: &Choice<dyn Metric>| metric.fits(self.task.kind));
        self.task.metric.or_else(fitting).expect("a metric for every task")
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
