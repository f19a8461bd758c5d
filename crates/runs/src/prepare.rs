//! From a federation file to everybody's data and learners.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use fedcompetitors_files::{
    DataRules, FederationFile, Incomplete, ReadTable, TargetMeaning,
    federation::{
        Data, Evaluation, IncompleteRows, Method, Other, Participant, Scaling, Settings, TaskKind,
    },
    parse_table,
};
use fedcompetitors_graphs::{Choice, CompetingGraph, Participants};
use fedcompetitors_learn::{
    Dependence, Encoding, Fitted, Generated, LearnError, Loss, Metric, Model, NativeLearner,
    Outcome, Part, Ranks, Samples, Scale, Split, Table, Targets, Transform,
};
use fedcompetitors_record::{Direction, Session};
use sha2::{Digest, Sha256};

use crate::{RunError, splits};
use fedcompetitors_federate::{
    FederateError,
    exchange::{self, hex},
};

/// A federation with everybody's data, read and checked.
#[derive(Debug)]
pub struct Prepared {
    settings: Settings,
    competing: CompetingGraph,
    sources: Vec<Source>,
    model: Arc<dyn Model>,
    /// For each session how everybody's rows are divided.
    splits: BTreeMap<Session, Vec<Split>>,
}

/// Where a participant's data comes from, and what it is.
#[derive(Debug)]
pub struct Source {
    /// The file, or that it is made up.
    pub name: String,
    /// The SHA-256 of the file, or of the samples that were made up.
    pub hash: String,
    content: Content,
    /// How its rows depend on each other.
    pub(crate) dependence: Dependence,
}

#[derive(Debug)]
enum Content {
    Table(Box<ReadTable>),
    Samples(Samples),
}

/// A participant's learner with how its data was prepared.
#[derive(Debug)]
pub struct Learning {
    /// The learner.
    pub learner: NativeLearner,
    /// Which rows are for what.
    pub split: Split,
    /// How its table was encoded, where it has one.
    pub inputs: Option<Inputs>,
}

/// How the number columns of a participant's table were encoded.
#[derive(Debug)]
pub struct Inputs {
    /// Its own scales, whose means stand for missing numbers.
    pub own: Vec<Scale>,
    /// The scales of the features, if they are scaled.
    pub scales: Option<Vec<Scale>>,
    /// The limit for scaled numbers, if there is one.
    pub clip: Option<f64>,
    /// The columns whose logarithms are scaled.
    pub logs: Vec<String>,
    /// The ranks of the columns in `rank`, by name.
    pub ranks: BTreeMap<String, Ranks>,
}

impl Prepared {
    /// Reads everybody's data; files are looked for in `folder`.
    ///
    /// What a participant's table becomes follows from its own file and the federation file; the files of
    /// others only decide whether there is an error.
    ///
    /// # Errors
    /// If a file cannot be used, or if files don't go together.
    pub fn read(federation: FederationFile, folder: &Path) -> Result<Self, RunError> {
        let FederationFile { settings, competing } = federation;
        let rules = rules(&settings);
        let mut files =
            DataFiles { folder, evaluation: &settings.evaluation, read: BTreeMap::new() };
        let mut sources: Vec<Source> = Vec::with_capacity(settings.participants.len());
        for (at, participant) in settings.participants.iter().enumerate() {
            sources.push(match &participant.data {
                Some(data) => files.table(participant, data, &rules)?,
                None => made_up(&settings, at)?,
            });
        }
        // Each was read by the federation file alone. Their columns have one order, and need to be the same.
        for (at, source) in sources.iter().enumerate().skip(1) {
            let name = |at: usize| settings.participants[at].name.clone();
            let missing = |of: &Source, from: &Source| {
                of.columns().iter().find(|column| !from.columns().contains(column)).cloned()
            };
            if source.columns() == sources[0].columns() {
                continue;
            }
            if let Some(column) = missing(&sources[0], source) {
                return Err(RunError::Columns { with: name(0), without: name(at), column });
            }
            if let Some(column) = missing(source, &sources[0]) {
                return Err(RunError::Columns { with: name(at), without: name(0), column });
            }
        }
        let model = model(&settings, &sources);
        let splits = BTreeMap::new();
        let mut prepared = Self { settings, competing, sources, model, splits };
        prepared.splits = splits::all(&prepared, folder)?;
        prepared.check_size()?;
        Ok(prepared)
    }

    /// Refuses models that are too large for an estimator or a trainer in use, before anything is computed.
    fn check_size(&self) -> Result<(), RunError> {
        let (settings, outputs) = (&self.settings, self.model.outputs());
        let coefficients = self.model.inputs() * outputs;
        let fold = |session: Session| match session {
            Session::Final => 1,
            Session::Fold { fold, .. } => fold,
        };
        let folds = self.sessions().into_iter().map(fold).max().unwrap_or(1);
        let check =
            |kind: &'static str, name: String, most: &dyn Fn(u32) -> Option<usize>| match most(
                folds,
            ) {
                Some(limit) if coefficients > limit => Err(RunError::TooManyCoefficients {
                    kind,
                    name,
                    most: limit,
                    coefficients,
                    outputs,
                    folds,
                    held_out: most(1).unwrap_or(limit),
                    indicators: settings.data.has_indicators(),
                }),
                _ => Ok(()),
            };
        for method in settings.methods() {
            let Method::Planned(policy, kind) = method else { continue };
            let trainer = settings.trainer(kind);
            check("trainer", kind.to_string(), &|folds| trainer.most_coefficients(folds))?;
            if policy.needs_benefits() {
                let (kind, estimator) = (settings.estimator_kind(), settings.estimator());
                check("estimator", kind.to_string(), &|folds| estimator.most_coefficients(folds))?;
            }
        }
        Ok(())
    }

    /// What the file says.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Who competes with whom.
    pub fn competing(&self) -> &CompetingGraph {
        &self.competing
    }

    /// The participants.
    pub fn participants(&self) -> &Participants {
        self.competing.participants()
    }

    /// Where everybody's data comes from.
    pub fn sources(&self) -> &[Source] {
        &self.sources
    }

    /// Everybody's model.
    pub fn model(&self) -> &Arc<dyn Model> {
        &self.model
    }

    /// The features in the order of the model's inputs.
    pub fn features(&self) -> Vec<String> {
        self.sources
            .first()
            .map(|source| source.features(self.settings.data.has_indicators()))
            .unwrap_or_default()
    }

    /// What is reported.
    pub fn metric(&self) -> Choice<dyn Metric> {
        self.settings.metric()
    }

    /// Which way it is better.
    pub fn direction(&self) -> Direction {
        if self.metric().more_is_better() { Direction::Higher } else { Direction::Lower }
    }

    /// All sessions, in the order in which they are run.
    pub fn sessions(&self) -> Vec<Session> {
        self.splits.keys().copied().collect()
    }

    /// Where the chance of a session comes from.
    pub fn seed(&self, session: Session) -> u64 {
        match session {
            Session::Final => self.settings.seed,
            Session::Fold { repeat, .. } => {
                self.settings.seed.wrapping_add(u64::from(repeat).wrapping_sub(1))
            }
        }
    }

    /// How everybody's rows are divided in a session.
    ///
    /// # Panics
    /// If there is no such session.
    pub fn splits(&self, session: Session) -> &[Split] {
        &self.splits[&session]
    }

    /// Everybody's learner for a session: its samples, split and scaled, values to predict by the participant's
    /// own training rows.
    ///
    /// # Errors
    /// If samples and model do not go together.
    ///
    /// # Panics
    /// If there is no such session.
    pub fn learners(&self, session: Session) -> Result<Vec<Learning>, RunError> {
        let data = &self.settings.data;
        let splits = self.splits(session).to_vec();
        let fitted: Vec<Option<Fitted<'_>>> = self
            .sources
            .iter()
            .zip(&splits)
            .map(|(source, split)| source.fitted(data, &split.training))
            .collect();
        let shared = (data.scaling == Scaling::Shared).then(|| {
            let own = fitted.iter().flatten().map(|fitted| fitted.scales.clone());
            Scale::pooled(&own.collect::<Vec<_>>())
        });
        let all = splits.into_iter().zip(fitted).enumerate();
        all.map(|(at, (split, fitted))| {
            self.learning(at, split, fitted, shared.as_deref()).map_err(|error| self.of(at, error))
        })
        .collect()
    }

    /// A participant's learner: of its own rows, by the federation file and perhaps scales of everybody's.
    fn learning(
        &self,
        at: usize,
        split: Split,
        fitted: Option<Fitted<'_>>,
        shared: Option<&[Scale]>,
    ) -> Result<Learning, LearnError> {
        let (source, data) = (&self.sources[at], &self.settings.data);
        let scales = fitted.as_ref().and_then(|fitted| source.scales(data, &fitted.scales, shared));
        let clip = (data.scaling != Scaling::None).then_some(data.clip);
        let samples = match (&fitted, &source.content) {
            (_, Content::Samples(samples)) => samples.clone(),
            (Some(fitted), Content::Table(_)) => {
                let (indicators, clip) = (data.has_indicators(), clip.unwrap_or(f64::INFINITY));
                fitted.encode(scales.as_deref(), Encoding { indicators, clip })?
            }
            (None, Content::Table(_)) => return Err(LearnError::NoSamples),
        };
        let training = samples.chosen(&split.training)?;
        let loss = self.loss(training.targets());
        let (model, metric) = (Arc::clone(&self.model), self.metric().0);
        let known = [&split.training[..], &split.validation].concat();
        let dependence = source.dependence.chosen(&known);
        let learner = NativeLearner::new(model, loss, metric, &samples, &split)?;
        let learner = learner.with_dependence(dependence).with_standardised_targets();
        let inputs = fitted.map(|fitted| {
            let names = source.number_names();
            let logs = names.iter().filter(|name| data.transform(name) == Transform::Log).cloned();
            let logs = logs.collect();
            let ranks = names.into_iter().zip(fitted.ranks);
            let ranks = ranks.filter_map(|(name, ranks)| Some((name, ranks?))).collect();
            let clip = clip.filter(|clip| clip.is_finite());
            Inputs { own: fitted.scales, scales, clip, logs, ranks }
        });
        Ok(Learning { learner, split, inputs })
    }

    /// One learner with the data of all participants, including competitors: an upper limit, for reference.
    /// Values to predict stay standardised by each participant's own scale: the model has one set of coefficients for
    /// all, and each participant its own level and unit, as with every method beside which it stands. With one
    /// scale for all, the figures would show differences in level rather than what shared data is worth. Where all
    /// are alike an own scale costs little: a participant with n training rows estimates its level with a variance of
    /// 1/n of the noise, its unit with a relative one of about 1/(2n).
    ///
    /// # Errors
    /// Never for learners of [`Prepared::learners`]: their data is of one shape.
    pub fn pooled(&self, learners: &[Learning]) -> Result<NativeLearner, RunError> {
        let part = |part| Samples::together(learners.iter().map(|one| one.learner.part(part)));
        let parts = || -> Result<[Samples; 3], LearnError> {
            Ok([part(Part::Training)?, part(Part::Validation)?, part(Part::Test)?])
        };
        let learner = parts().and_then(|parts| {
            let (loss, model) = (self.loss(parts[0].targets()), Arc::clone(&self.model));
            let learner = NativeLearner::from_parts(model, loss, self.metric().0, parts)?;
            Ok(learner.with_dependence(self.pooled_dependence(learners)))
        });
        learner.map_err(|error| self.of(0, error))
    }

    /// How everybody's rows depend on each other: those for training of all, then those for validation of
    /// all. Groups are each participant's own; times are those of all.
    fn pooled_dependence(&self, learners: &[Learning]) -> Dependence {
        let evaluation = &self.settings.evaluation;
        let texts = [Part::Training, Part::Validation].into_iter().flat_map(|part| {
            let all = self.sources.iter().zip(learners).enumerate();
            all.flat_map(move |(at, (source, one))| {
                let texts = source.table().and_then(|read| read.beside.first());
                let of_row = move |&row: &u32| {
                    let text = &texts?[row as usize];
                    let is_time = evaluation.time.is_some();
                    Some(if is_time { text.clone() } else { format!("{at} {text}") })
                };
                one.split.rows(part).iter().filter_map(of_row)
            })
        });
        let texts: Vec<String> = texts.collect();
        let beside = if texts.is_empty() { Vec::new() } else { vec![texts] };
        splits::dependence(evaluation, &beside)
    }

    fn loss(&self, training: &Targets) -> Loss {
        match (self.settings.task.kind, training) {
            (TaskKind::Regression, _) => Loss::SquaredError,
            (TaskKind::Classes, _) => Loss::CrossEntropy,
            (TaskKind::Binary, Targets::Classes { labels, .. }) if self.settings.task.balanced => {
                Loss::balanced(labels)
            }
            (TaskKind::Binary, _) => Loss::BinaryCrossEntropy { weights: [1.0, 1.0] },
        }
    }

    pub(crate) fn of(&self, participant: usize, error: LearnError) -> RunError {
        let participant = self.participants().name(participant).to_owned();
        FederateError::Participant { participant, error }.into()
    }
}

impl Source {
    /// How many samples there are.
    pub fn samples_count(&self) -> usize {
        self.targets().len()
    }

    /// What is to be predicted.
    pub fn targets(&self) -> &Targets {
        match &self.content {
            Content::Table(read) => read.table.targets(),
            Content::Samples(samples) => samples.targets(),
        }
    }

    /// The table, where it comes from a file.
    pub fn table(&self) -> Option<&ReadTable> {
        match &self.content {
            Content::Table(read) => Some(read),
            Content::Samples(_) => None,
        }
    }

    /// The number of a row in its file, counted from 1.
    pub fn number_of(&self, row: u32) -> u32 {
        self.table().map_or(row + 1, |read| read.rows[row as usize])
    }

    fn columns(&self) -> &[String] {
        self.table().map(|read| read.table.names()).unwrap_or_default()
    }

    fn features(&self, indicators: bool) -> Vec<String> {
        match &self.content {
            Content::Table(read) => read.table.feature_names(indicators),
            Content::Samples(samples) => {
                (1..=samples.columns()).map(|column| format!("x{column}")).collect()
            }
        }
    }

    fn number_names(&self) -> Vec<String> {
        let table = self.table().map(|read| &read.table);
        table.into_iter().flat_map(Table::number_names).map(str::to_owned).collect()
    }

    /// The table with its numbers transformed as the federation file says, by these rows.
    fn fitted(&self, data: &Data, rows: &[u32]) -> Option<Fitted<'_>> {
        let table = &self.table()?.table;
        let transforms: Vec<_> = table.number_names().map(|name| data.transform(name)).collect();
        Some(table.fitted(&transforms, rows))
    }

    /// The scales of the number columns: those that are declared, the others as `scaling` says. None if
    /// nothing is scaled.
    fn scales(&self, data: &Data, own: &[Scale], shared: Option<&[Scale]>) -> Option<Vec<Scale>> {
        let names = self.number_names();
        let declared: Vec<Option<Scale>> =
            names.iter().map(|name| data.scales.get(name)?.scale(data.transform(name))).collect();
        let others = match data.scaling {
            Scaling::Own => own.to_vec(),
            Scaling::Shared => shared?.to_vec(),
            Scaling::None if declared.iter().all(Option::is_none) => return None,
            Scaling::None => vec![Scale::UNIT; own.len()],
        };
        Some(declared.into_iter().zip(others).map(|(one, other)| one.unwrap_or(other)).collect())
    }
}

fn rules(settings: &Settings) -> DataRules {
    let data = &settings.data;
    DataRules {
        header: data.header.clone(),
        target: settings.task.target.clone().unwrap_or_default(),
        meaning: match settings.task.kind {
            TaskKind::Regression => TargetMeaning::Number,
            _ => TargetMeaning::Classes(settings.classes()),
        },
        beside: splits::beside(&settings.evaluation),
        ignore: data.ignore.clone(),
        use_only: data.features.clone(),
        categories: data.categories.clone(),
        other: data.other_categories == Other::Missing,
        missing: data.missing.clone(),
        missing_in: data.missing_in.clone(),
        incomplete: match data.incomplete {
            IncompleteRows::Fill => Incomplete::Fill,
            IncompleteRows::LeaveOut => Incomplete::LeaveOut,
            IncompleteRows::Refuse => Incomplete::Refuse,
        },
        named: {
            let of = |columns: &[String], place| {
                columns.iter().map(|column| (column.clone(), place)).collect::<Vec<_>>()
            };
            let scales: Vec<String> = data.scales.keys().cloned().collect();
            [of(&data.log, "in `log`"), of(&data.rank, "in `rank`"), of(&scales, "in `scales`")]
                .concat()
        },
    }
}

/// The data files, each read once: several participants may be in one.
struct DataFiles<'a> {
    folder: &'a Path,
    evaluation: &'a Evaluation,
    read: BTreeMap<PathBuf, (Vec<u8>, String)>,
}

impl DataFiles<'_> {
    fn table(
        &mut self,
        participant: &Participant,
        name: &str,
        rules: &DataRules,
    ) -> Result<Source, RunError> {
        let path = self.folder.join(name);
        if !self.read.contains_key(&path) {
            let bytes = fs::read(&path).map_err(|error| {
                let participant = participant.name.clone();
                RunError::DataFile { participant, path: path.clone(), error }
            })?;
            let hash = hex(&Sha256::digest(&bytes));
            self.read.insert(path.clone(), (bytes, hash));
        }
        let (bytes, hash) = &self.read[&path];
        let only = participant.rows.as_ref().map(|rows| (rows.column.as_str(), rows.is.as_str()));
        let read = parse_table(&path, &bytes[..], &participant.name, rules, only)?;
        let (name, hash) = (name.to_owned(), hash.clone());
        let dependence = splits::dependence(self.evaluation, &read.beside);
        Ok(Source { name, hash, content: Content::Table(Box::new(read)), dependence })
    }
}

fn made_up(settings: &Settings, participant: usize) -> Result<Source, RunError> {
    let generate = settings.participants[participant].generate.clone().unwrap_or_default();
    let generated = Generated {
        samples: generate.samples,
        features: generate.features,
        kind: generate.kind,
        difference: generate.difference,
        own: generate.own,
        noise: generate.noise,
    };
    let outcome = match settings.task.kind {
        TaskKind::Regression => Outcome::Number,
        TaskKind::Binary => Outcome::Classes(2),
        TaskKind::Classes => Outcome::Classes((settings.classes().len() as u32).max(3)),
    };
    let samples = generated.draw(outcome, settings.seed, participant).map_err(|error| {
        let participant = settings.participants[participant].name.clone();
        RunError::from(FederateError::Participant { participant, error })
    })?;
    let hash = hex(&exchange::hash(samples.features()));
    let content = Content::Samples(samples);
    Ok(Source { name: "generated".into(), hash, content, dependence: Dependence::None })
}

fn model(settings: &Settings, sources: &[Source]) -> Arc<dyn Model> {
    let inputs =
        sources.first().map_or(1, |source| source.features(settings.data.has_indicators()).len());
    let outputs = match (settings.task.kind, sources.first().map(Source::targets)) {
        (TaskKind::Classes, Some(Targets::Classes { count, .. })) => *count as usize,
        _ => 1,
    };
    settings.model.kind().build(inputs.max(1), outputs, &settings.model.layers())
}
