//! From the text of a federation file to settings that make sense, or to the line that
//! does not.

use std::{collections::BTreeSet, path::Path};

use fedcompetitors_federate::kinds::BadSettings;
use fedcompetitors_graphs::{
    Choice, CompetingGraph, ParticipantsBuilder, Rule, UnknownEntry, nearest,
};
use fedcompetitors_learn::{Metric, TaskKind, Transform};
use fedcompetitors_select::Friends;
use serde::{Deserialize, de::DeserializeOwned};
use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

use super::{
    FederationProblem, Method, components,
    settings::{Settings, written},
};
use crate::{FileError, MOST_PARTICIPANTS, Problem, data::plain};

/// Reads a text; unknown keys and words are refused.
pub fn read<T: DeserializeOwned>(path: &Path, text: &str) -> Result<T, FileError> {
    toml::from_str(text).map_err(|error| toml_error(path, text, &error))
}

/// Reads settings, with the tables of estimators and trainers. A rule that is given replaces the file's.
pub fn read_settings(
    path: &Path,
    text: &str,
    rule: Option<Choice<Rule>>,
) -> Result<Settings, FileError> {
    let wrong = |error: toml::de::Error| toml_error(path, text, &error);
    let mut file = DeTable::parse(text).map_err(wrong)?;
    moved(path, text, file.get_ref())?;
    let unknown =
        |(unknown, start)| unknown_value(path, Some(Place::of(text, start).line), unknown);
    let estimators = components::take(file.get_mut(), "benefit").map_err(unknown)?;
    let trainers = components::take(file.get_mut(), "training").map_err(unknown)?;
    // The same summaries serve the estimate and the training, so one number counts for both.
    let fewest = [
        components::number(&estimators, "evidence", "fewest"),
        components::number(&trainers, "evidence", "fewest"),
    ];
    let names_policy = has_key(file.get_ref(), "selection", "policy");
    let mut settings = Settings::deserialize(toml::Deserializer::from(file)).map_err(wrong)?;
    settings.rule = rule.unwrap_or(settings.rule);
    if *settings.rule == Rule::Messages && !names_policy {
        settings.selection.policy = Choice(&Friends);
    }
    let used = [settings.estimator_kind()];
    settings.benefit.estimators = components::configured(estimators, &used)
        .map_err(|(name, error)| bad_settings(path, text, ("benefit", name), error))?;
    let used: Vec<_> = settings.methods().into_iter().filter_map(Method::trainer).collect();
    settings.training.trainers = components::configured(trainers, &used)
        .map_err(|(name, error)| bad_settings(path, text, ("training", name), error))?;
    if let Some(&fewest) = fewest.iter().flatten().max() {
        let (name, value) = ("evidence", ("fewest", fewest));
        components::set(&mut settings.benefit.estimators, name, value)
            .map_err(|(name, error)| bad_settings(path, text, ("benefit", name), error))?;
        components::set(&mut settings.training.trainers, name, value)
            .map_err(|(name, error)| bad_settings(path, text, ("training", name), error))?;
    }
    settings.model.kind = Some(settings.model.kind());
    settings.benefit.estimator = Some(settings.estimator_kind());
    settings.selection.objective = Some(settings.objective());
    settings.training.trainer = Some(settings.trainer_kind());
    settings.evaluation.folds = Some(settings.folds());
    Ok(settings)
}

/// Whether a section of a file has a key.
fn has_key(file: &DeTable<'_>, section: &str, key: &str) -> bool {
    match file.get(section).map(Spanned::get_ref) {
        Some(DeValue::Table(table)) => table.get(key).is_some(),
        _ => false,
    }
}

/// A name that no entry of a registry has.
fn unknown_value(path: &Path, line: Option<u64>, unknown: UnknownEntry) -> FileError {
    let UnknownEntry { name: value, nearest, known, .. } = unknown;
    let known = known.into_iter().map(str::to_owned).collect();
    let problem = FederationProblem::UnknownValue { participant: None, value, nearest, known };
    FileError { path: path.to_owned(), line, problem: problem.into() }
}

/// Refuses keys that were moved, and says where to.
fn moved(path: &Path, text: &str, file: &DeTable<'_>) -> Result<(), FileError> {
    for (section, key, to) in components::MOVED {
        let table = match file.get(*section).map(Spanned::get_ref) {
            Some(DeValue::Table(table)) => table,
            _ if section.is_empty() => file,
            _ => continue,
        };
        if let Some((name, _)) = table.iter().find(|(name, _)| name.get_ref() == key) {
            let line = Some(Place::of(text, name.span().start).line);
            let problem = FederationProblem::Moved { section, key, to };
            return Err(FileError { path: path.to_owned(), line, problem: problem.into() });
        }
    }
    Ok(())
}

fn bad_settings(
    path: &Path,
    text: &str,
    (section, name): (&str, &str),
    error: BadSettings,
) -> FileError {
    match error {
        BadSettings::Toml(error) => toml_error(path, text, &error),
        BadSettings::Range { key, wanted } => {
            let steps = [Step::Key(section), Step::Key(name), Step::Key(key)];
            let line = offset(text, &steps).map(|offset| Place::of(text, offset).line);
            let (participant, key) = (None, key.to_owned());
            let problem = FederationProblem::Range { participant, key, wanted };
            FileError { path: path.to_owned(), line, problem: problem.into() }
        }
    }
}

fn toml_error(path: &Path, text: &str, error: &toml::de::Error) -> FileError {
    let place = error.span().map(|span| Place::of(text, span.start));
    let participant = place.as_ref().and_then(|place| place.participant.clone());
    let line = place.map(|place| place.line);
    let problem = described(error.message(), participant);
    FileError { path: path.to_owned(), line, problem: problem.into() }
}

/// Where in a file something stands.
struct Place {
    line: u64,
    /// The participant whose entry it is in.
    participant: Option<String>,
}

impl Place {
    fn of(text: &str, offset: usize) -> Self {
        let before = text.get(..offset).unwrap_or(text);
        let line = before.matches('\n').count() as u64 + 1;
        // The last header before it; what stands on that line itself counts too.
        let end = text[before.len()..].find('\n').map_or(text.len(), |at| before.len() + at);
        let header = text[..end].lines().rev().map(str::trim).find(|line| line.starts_with('['));
        let entry = header.is_some_and(|header| header.starts_with("[[participants]]"));
        let name = |line: &str| -> Option<String> {
            let value = line.trim().strip_prefix("name")?.trim_start().strip_prefix('=')?;
            Some(value.split('#').next()?.trim().trim_matches('"').to_owned())
        };
        let entry_start = text[..end].rfind("[[participants]]").unwrap_or(0);
        let is_entry_line = |line: &&str| !line.trim_start().starts_with('[');
        let mut lines = text[entry_start..].lines().skip(1).take_while(is_entry_line);
        let participant = if entry { lines.find_map(name) } else { None };
        Self { line, participant }
    }
}

/// What the reader of TOML complains about. It tells of unknown keys and words in a sentence,
/// with each word in backticks, so they are picked out of that.
fn described(message: &str, participant: Option<String>) -> FederationProblem {
    let mut quoted = message.split('`').skip(1).step_by(2).map(str::to_owned);
    let is_key = message.starts_with("unknown field");
    if is_key || message.starts_with("unknown variant") {
        let found = quoted.next().unwrap_or_default();
        let known: Vec<String> = quoted.collect();
        let nearest = nearest(&found, known.iter().map(String::as_str));
        return if is_key {
            FederationProblem::UnknownKey { participant, key: found, nearest, known }
        } else {
            FederationProblem::UnknownValue { participant, value: found, nearest, known }
        };
    }
    // What the library calls by Rust's names.
    let plain = [
        ("expected usize", "expected a whole number, at least 0"),
        ("expected u64", "expected a whole number, at least 0"),
        ("expected f32", "expected a number"),
        ("expected f64", "expected a number"),
        ("expected a sequence", "expected a list, [\"…\", \"…\"]"),
        ("missing field", "missing key"),
    ];
    let message = plain
        .iter()
        .fold(message.to_owned(), |message, (rust, plain)| message.replace(rust, plain));
    let message = match message.split_once("expected struct ") {
        Some((before, _)) => format!("{before}expected a table"),
        None => message,
    };
    FederationProblem::Toml(match participant {
        Some(name) => format!("participant \"{name}\": {message}"),
        None => message,
    })
}

/// Do the settings make sense? Then who competes with whom.
pub fn check(path: &Path, text: &str, settings: &Settings) -> Result<CompetingGraph, FileError> {
    let checked = Checker { path, text, settings };
    checked.numbers()?;
    checked.task()?;
    checked.rule()?;
    checked.lists()?;
    checked.sources()?;
    checked.competing()
}

/// A step on the way to a value: a key, or the number of a list's entry.
#[derive(Clone, Copy)]
enum Step<'a> {
    Key(&'a str),
    At(usize),
}

/// Where the value at the end of these steps stands, or as near to it as the file goes.
fn offset(text: &str, steps: &[Step<'_>]) -> Option<usize> {
    let table = DeTable::parse(text).ok()?;
    let mut offset = None;
    let mut entries = Some(table.get_ref());
    let mut value: Option<&DeValue<'_>> = None;
    for step in steps {
        let next = match (step, entries, value) {
            (Step::Key(key), Some(table), _) => {
                let found = table.iter().find(|(name, _)| name.get_ref() == key);
                found.map(|(name, value)| (name.span().start, value))
            }
            (Step::At(at), _, Some(DeValue::Array(array))) => {
                array.get(*at).map(|value| (value.span().start, value))
            }
            _ => None,
        };
        let Some((start, found)) = next else {
            break;
        };
        offset = Some(start);
        value = Some(found.get_ref());
        entries = match found.get_ref() {
            DeValue::Table(table) => Some(table),
            _ => None,
        };
    }
    offset
}

struct Checker<'a> {
    path: &'a Path,
    text: &'a str,
    settings: &'a Settings,
}

impl Checker<'_> {
    /// The error, with the line of the value at the end of these steps, or as near to it as
    /// the file goes.
    fn error(&self, steps: &[Step<'_>], problem: impl Into<Problem>) -> FileError {
        let line = offset(self.text, steps).map(|offset| Place::of(self.text, offset).line);
        FileError { path: self.path.to_owned(), line, problem: problem.into() }
    }

    fn range(
        &self,
        steps: &[Step<'_>],
        is_fine: bool,
        wanted: &'static str,
    ) -> Result<(), FileError> {
        if is_fine {
            return Ok(());
        }
        let key = steps.iter().rev().find_map(|step| match step {
            Step::Key(key) => Some((*key).to_owned()),
            Step::At(_) => None,
        });
        let participant = match steps {
            [Step::Key("participants"), Step::At(at), ..] => {
                self.settings.participants.get(*at).map(|participant| participant.name.clone())
            }
            _ => None,
        };
        let key = key.unwrap_or_default();
        Err(self.error(steps, FederationProblem::Range { participant, key, wanted }))
    }

    fn numbers(&self) -> Result<(), FileError> {
        use Step::Key;
        let Settings { data, training, model, .. } = self.settings;
        let above_0 = |value: f32| value.is_finite() && value > 0.0;
        let from_0 = |value: f32| value.is_finite() && value >= 0.0;
        let part = |value: f64| value > 0.0 && value < 1.0;
        self.range(&[Key("seed")], i64::try_from(self.settings.seed).is_ok(), "at most 2^63 − 1")?;
        self.evaluation()?;
        self.range(&[Key("data"), Key("validation")], part(data.validation), "between 0 and 1")?;
        self.range(&[Key("data"), Key("clip")], data.clip > 0.0, "above 0 (inf for no limit)")?;
        self.scales()?;
        let wide = |&width: &usize| (1..=100_000).contains(&width);
        self.range(
            &[Key("model"), Key("hidden")],
            model.hidden.iter().all(wide),
            "widths from 1 to 100000",
        )?;
        let takes_layers = model.kind().has_hidden_layers();
        self.range(
            &[Key("model"), Key("hidden")],
            takes_layers != model.hidden.is_empty(),
            if takes_layers {
                "one width or more for this kind of model"
            } else {
                "left out for this kind of model"
            },
        )?;
        let has_layers = !model.own_head || !model.hidden.is_empty();
        self.range(
            &[Key("model"), Key("own-head")],
            has_layers,
            "false without hidden layers: nothing would be shared",
        )?;
        let training_key =
            |key, is_fine, wanted| self.range(&[Key("training"), Key(key)], is_fine, wanted);
        training_key("rounds", (1..=1_000_000).contains(&training.rounds), "1 to 1000000")?;
        training_key(
            "local-steps",
            (1..=1_000_000).contains(&training.local_steps),
            "1 to 1000000",
        )?;
        training_key("rate", above_0(training.rate), "above 0")?;
        let momentum = from_0(training.momentum) && training.momentum < 1.0;
        training_key("momentum", momentum, "from 0 to below 1")?;
        training_key("decay", from_0(training.decay), "0 or more")?;
        training_key("batch", training.batch != Some(0), "1 or more")
    }

    fn evaluation(&self) -> Result<(), FileError> {
        use Step::Key;
        let evaluation = &self.settings.evaluation;
        let key =
            |key, is_fine, wanted| self.range(&[Key("evaluation"), Key(key)], is_fine, wanted);
        key("repeats", (1..=1000).contains(&evaluation.repeats), "1 to 1000")?;
        let folds = self.settings.folds();
        key("folds", (1..=1000).contains(&folds), "1 to 1000")?;
        key("test", evaluation.test > 0.0 && evaluation.test < 1.0, "between 0 and 1")?;
        let replicates = (100..=100_000).contains(&evaluation.replicates);
        key("replicates", replicates, "100 to 100000")?;
        let (groups, time) = (evaluation.groups.is_some(), evaluation.time.is_some());
        key("groups", !(groups && time), "left out where `time` is given")?;
        let is_one = evaluation.repeats == 1;
        key("repeats", !time || is_one, "1 where `time` is given: rows have one order")?;
        let with_assignments = evaluation.assignments.is_some();
        key("assignments", !(with_assignments && time), "left out where `time` is given")?;
        let has_files = self.settings.participants.iter().all(|one| one.data.is_some());
        key("groups", has_files || !groups, "left out where data is generated")?;
        key("time", has_files || !time, "left out where data is generated")
    }

    /// Do rule, policies, trainers and model go together?
    fn rule(&self) -> Result<(), FileError> {
        use Step::Key;
        let settings = self.settings;
        if *settings.rule == Rule::Paths && settings.selection.policy.rule() == Rule::Messages {
            let policy = settings.selection.policy.to_string();
            let steps = [Key("selection"), Key("policy")];
            return Err(self.error(&steps, FederationProblem::OtherRule { policy }));
        }
        let methods = settings.methods().into_iter().filter_map(|method| match method {
            Method::Planned(policy, trainer) => Some((method, policy, trainer)),
            Method::Pooled => None,
        });
        let has_hidden_layers = settings.model.kind().has_hidden_layers();
        for (method, policy, kind) in methods {
            let trainer = settings.trainer(kind);
            if policy.rule() == Rule::Messages && !trainer.sends_own_data_only() {
                let (policy, trainer) = (policy.to_string(), kind.to_string());
                let problem = FederationProblem::PassesOn { policy, trainer };
                return Err(self.error(&[Key("training"), Key("trainer")], problem));
            }
            self.range(
                &[Key("training"), Key("mixing"), Key("weights")],
                !(trainer.needs_weights() && settings.estimator().benefits_are_rows()),
                "`samples` where benefits are numbers of rows",
            )?;
            let of_trainer = ("trainer", kind.to_string(), trainer.models());
            let of_estimator = policy.needs_benefits().then(|| {
                let name = settings.estimator_kind().to_string();
                ("estimator", name, settings.estimator().models())
            });
            for (kind, name, models) in [Some(of_trainer), of_estimator].into_iter().flatten() {
                if !models.include(has_hidden_layers) {
                    let compared = (method != settings.method()).then(|| method.name());
                    let section = if kind == "trainer" { "training" } else { "benefit" };
                    let own = [Key(section), Key(kind)];
                    let steps = if compared.is_some() { &[Key("compare")][..] } else { &own };
                    let problem =
                        FederationProblem::OtherModels { compared, kind, name, has_hidden_layers };
                    return Err(self.error(steps, problem));
                }
            }
        }
        Ok(())
    }

    /// Do the declared scales make sense, each for a column of numbers that is scaled?
    fn scales(&self) -> Result<(), FileError> {
        use Step::Key;
        let data = &self.settings.data;
        for (name, declared) in &data.scales {
            let column = |is_fine, wanted| {
                self.range(&[Key("data"), Key("scales"), Key(name)], is_fine, wanted)
            };
            let of = |key, is_fine, wanted| {
                let steps = [Key("data"), Key("scales"), Key(name), Key(key)];
                self.range(&steps, is_fine, wanted)
            };
            let is_category = data.categories.contains_key(name);
            column(!is_category, "a column of numbers, not one of `categories`")?;
            let transform = data.transform(name);
            column(transform != Transform::Rank, "without a scale, as it is in `rank`")?;
            let Some(scale) = declared.scale(transform) else {
                return column(false, "{ mean = …, deviation = … } or { min = …, max = … }");
            };
            if declared.min.is_some() {
                let finite = scale.mean.is_finite() && scale.deviation.is_finite();
                of("max", finite && scale.is_usable(), "finite and larger than `min`")?;
            } else {
                of("mean", scale.mean.is_finite(), "finite")?;
                let fine = scale.deviation.is_finite() && scale.is_usable();
                of("deviation", fine, "above 0 and above a millionth of the mean")?;
            }
        }
        Ok(())
    }

    fn task(&self) -> Result<(), FileError> {
        use Step::Key;
        let settings = self.settings;
        let (kind, metric) = (settings.task.kind, settings.metric());
        let task = written(kind);
        if !metric.fits(kind) {
            let fitting = Choice::<dyn Metric>::all().filter(|metric| metric.fits(kind));
            let fitting = fitting.map(|metric| metric.to_string()).collect();
            let problem = FederationProblem::Metric { metric: metric.to_string(), task, fitting };
            return Err(self.error(&[Key("task"), Key("metric")], problem));
        }
        let found = settings.classes().len();
        let generated = settings.participants.iter().all(|one| one.generate.is_some());
        let fits = match kind {
            TaskKind::Regression => found == 0,
            TaskKind::Binary => found == 2,
            TaskKind::Classes => found >= 2 || generated,
        };
        if !fits {
            let problem = FederationProblem::Classes { task, found };
            return Err(self.error(&[Key("task"), Key("classes")], problem));
        }
        if settings.task.target.is_none() && !generated {
            return Err(self.error(&[Key("task")], FederationProblem::NoTarget));
        }
        if let Some(key) = settings.estimator().missing() {
            let table = format!("benefit.{}", settings.estimator_kind());
            let problem = FederationProblem::NoSetting { table, key };
            return Err(self.error(&[Key("benefit"), Key("estimator")], problem));
        }
        Ok(())
    }

    /// Lists without doubles, methods that there are.
    fn lists(&self) -> Result<(), FileError> {
        use Step::{At, Key};
        let Settings { data, task, compare, .. } = self.settings;
        let once = |steps: &[Step<'_>], key: &str, texts: &[String]| {
            let mut seen = BTreeSet::new();
            match texts.iter().find(|text| !seen.insert(plain(text))) {
                None => Ok(()),
                Some(text) => {
                    let (key, text) = (key.to_owned(), text.clone());
                    Err(self.error(steps, FederationProblem::Twice { key, text }))
                }
            }
        };
        let classes: Vec<String> = self.settings.classes().concat();
        once(&[Key("task"), Key("classes")], "classes", &classes)?;
        for (key, list) in [("header", &data.header), ("features", &data.features)] {
            once(&[Key("data"), Key(key)], key, list.as_deref().unwrap_or_default())?;
        }
        for (key, list) in [("ignore", &data.ignore), ("log", &data.log), ("rank", &data.rank)] {
            once(&[Key("data"), Key(key)], key, list)?;
        }
        let features = data.features.as_deref().unwrap_or_default();
        let both = data.ignore.iter().any(|column| features.contains(column));
        self.range(&[Key("data"), Key("ignore")], !both, "without the columns in `features`")?;
        let both = data.log.iter().any(|column| data.rank.contains(column));
        self.range(&[Key("data"), Key("rank")], !both, "without the columns in `log`")?;
        for (key, list) in [("log", &data.log), ("rank", &data.rank)] {
            let category = list.iter().any(|column| data.categories.contains_key(column));
            self.range(&[Key("data"), Key(key)], !category, "without the columns in `categories`")?;
        }
        for (column, names) in &data.categories {
            once(&[Key("data"), Key("categories"), Key(column)], column, names)?;
            if names.is_empty() {
                let problem = FederationProblem::NoCategories { column: column.clone() };
                return Err(self.error(&[Key("data"), Key("categories"), Key(column)], problem));
            }
        }
        let means_missing = |column: Option<&String>, texts: &[String]| {
            let further = column.and_then(|column| data.missing_in.get(column));
            let mut missing = data.missing.iter().chain(further.into_iter().flatten());
            missing.any(|text| texts.iter().any(|other| plain(other) == plain(text)))
        };
        let wanted = "different from the texts that mean missing";
        let mixed = means_missing(task.target.as_ref(), &classes);
        self.range(&[Key("task"), Key("classes")], !mixed, wanted)?;
        for (column, names) in &data.categories {
            let mixed = means_missing(Some(column), names);
            self.range(&[Key("data"), Key("categories"), Key(column)], !mixed, wanted)?;
        }
        if let Some(target) = &task.target {
            for (key, list) in [
                ("ignore", Some(&data.ignore)),
                ("features", data.features.as_ref()),
                ("log", Some(&data.log)),
                ("rank", Some(&data.rank)),
            ] {
                let named = list.is_some_and(|list| list.contains(target));
                self.range(&[Key("data"), Key(key)], !named, "without the target")?;
            }
            let named = data.categories.contains_key(target);
            self.range(&[Key("data"), Key("categories")], !named, "without the target")?;
            let named = data.scales.contains_key(target);
            self.range(&[Key("data"), Key("scales")], !named, "without the target")?;
        }
        for (at, name) in compare.iter().enumerate() {
            if let Err(unknown) = Method::parse(name) {
                let steps = [Key("compare"), At(at)];
                let line = offset(self.text, &steps).map(|start| Place::of(self.text, start).line);
                return Err(unknown_value(self.path, line, unknown));
            }
        }
        Ok(())
    }

    fn sources(&self) -> Result<(), FileError> {
        use Step::{At, Key};
        let participants = &self.settings.participants;
        let wrong = |at: usize, problem: FederationProblem| {
            Err(self.error(&[Key("participants"), At(at), Key("name")], problem))
        };
        for (at, participant) in participants.iter().enumerate() {
            let both = participant.data.is_some();
            if both == participant.generate.is_some() {
                let participant = participant.name.clone();
                return wrong(at, FederationProblem::Source { participant, both });
            }
            let generated = participant.generate.is_some();
            if generated != participants[0].generate.is_some() {
                let (file, generated) = if generated {
                    (&participants[0].name, &participant.name)
                } else {
                    (&participant.name, &participants[0].name)
                };
                let (file, generated) = (file.clone(), generated.clone());
                return wrong(at, FederationProblem::MixedSources { file, generated });
            }
            if let (Some(one), Some(first)) = (&participant.generate, &participants[0].generate) {
                if one.features != first.features {
                    let (a, b) = (participants[0].name.clone(), participant.name.clone());
                    return wrong(at, FederationProblem::DifferentFeatures { a, b });
                }
                let key = |key, is_fine, wanted| {
                    let steps = [Key("participants"), At(at), Key("generate"), Key(key)];
                    self.range(&steps, is_fine, wanted)
                };
                key("samples", (10..=10_000_000).contains(&one.samples), "10 to 10000000")?;
                key("features", (1..=10_000).contains(&one.features), "1 to 10000")?;
                key("difference", (0.0..=1.0).contains(&one.difference), "from 0 to 1")?;
                key("own", one.own.is_finite() && one.own >= 0.0, "0 or more")?;
                key("noise", one.noise.is_finite() && one.noise >= 0.0, "0 or more")?;
            }
        }
        Ok(())
    }

    fn competing(&self) -> Result<CompetingGraph, FileError> {
        use Step::{At, Key};
        let listed = &self.settings.participants;
        if listed.is_empty() {
            return Err(FileError::new(self.path, Problem::NoParticipants));
        }
        if listed.len() > MOST_PARTICIPANTS {
            let (count, most) = (listed.len(), MOST_PARTICIPANTS);
            return Err(FileError::new(self.path, Problem::TooMany { count, most }));
        }
        let mut participants = ParticipantsBuilder::default();
        for (at, participant) in listed.iter().enumerate() {
            participants
                .add(&participant.name)
                .map_err(|error| self.error(&[Key("participants"), At(at), Key("name")], error))?;
        }
        let participants = participants.build();
        let mut competing = CompetingGraph::builder(&participants);
        for (a, participant) in listed.iter().enumerate() {
            for (entry, name) in participant.competes_with.iter().enumerate() {
                let found = participants.find(name);
                found.and_then(|b| competing.report(a, b)).map_err(|error| {
                    let steps = [Key("participants"), At(a), Key("competes-with"), At(entry)];
                    let participant = participant.name.clone();
                    self.error(&steps, Problem::OfParticipant { participant, error: error.into() })
                })?;
            }
        }
        Ok(competing.build())
    }
}
