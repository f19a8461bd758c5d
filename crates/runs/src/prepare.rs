//! From a federation file to everybody's data and learners.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use fedcompetitors_files::{
    DataRules, FederationFile, Incomplete, ReadTable, TargetMeaning,
    federation::{IncompleteRows, Other, Participant, Scaling, Settings, TaskKind},
    parse_table,
};
use fedcompetitors_graphs::{Choice, CompetingGraph, Participants, random::Stream};
use fedcompetitors_learn::{
    Generated, LearnError, Loss, Metric, Model, NativeLearner, Outcome, Part, Samples, Scale,
    Split, Targets,
};
use fedcompetitors_record::Direction;
use sha2::{Digest, Sha256};

use crate::RunError;
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
}

/// Where a participant's data comes from, and what it is.
#[derive(Debug)]
pub struct Source {
    /// The file, or that it is made up.
    pub name: String,
    /// The SHA-256 of the file, or of the samples that were made up.
    pub hash: String,
    content: Content,
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
    /// Its own scales, whose means stand for missing numbers.
    pub own: Option<Vec<Scale>>,
    /// By what its number columns were scaled.
    pub scales: Option<Vec<Scale>>,
}

impl Prepared {
    /// Reads everybody's data; files are looked for in `folder`.
    ///
    /// # Errors
    /// If a file cannot be used, or if files don't go together.
    pub fn read(federation: FederationFile, folder: &Path) -> Result<Self, RunError> {
        let FederationFile { settings, competing } = federation;
        let rules = rules(&settings);
        let mut files = DataFiles { folder, read: BTreeMap::new() };
        let mut sources = Vec::with_capacity(settings.participants.len());
        for (at, participant) in settings.participants.iter().enumerate() {
            sources.push(match &participant.data {
                Some(data) => files.table(participant, data, &rules)?,
                None => made_up(&settings, at)?,
            });
        }
        // All have the same columns; their order is that of the first.
        for at in 1..sources.len() {
            let (first, other) = (sources[0].columns(), sources[at].columns());
            if first == other {
                continue;
            }
            let name = |at: usize| settings.participants[at].name.clone();
            let missing = |of: &[String], from: &[String]| {
                of.iter().find(|column| !from.contains(column)).cloned()
            };
            if let Some(column) = missing(first, other) {
                return Err(RunError::Columns { with: name(0), without: name(at), column });
            }
            if let Some(column) = missing(other, first) {
                return Err(RunError::Columns { with: name(at), without: name(0), column });
            }
            let rules = DataRules { use_only: Some(first.to_vec()), ..rules.clone() };
            let participant = &settings.participants[at];
            if let Some(data) = &participant.data {
                sources[at] = files.table(participant, data, &rules)?;
            }
        }
        let model = model(&settings, &sources);
        Ok(Self { settings, competing, sources, model })
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
            .map(|source| source.features(self.settings.data.indicators))
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

    /// Everybody's learner for a seed: its samples, split and scaled.
    ///
    /// # Errors
    /// If somebody has too few samples.
    pub fn learners(&self, seed: u64) -> Result<Vec<Learning>, RunError> {
        let data = &self.settings.data;
        let splits = self
            .sources
            .iter()
            .enumerate()
            .map(|(at, source)| {
                let mut stream = Stream::new(seed, "split", at as u64);
                Split::new(source.targets(), data.validation, data.test, &mut stream)
                    .map_err(|error| self.of(at, error))
            })
            .collect::<Result<Vec<_>, _>>()?;
        let own: Vec<Option<Vec<Scale>>> = self
            .sources
            .iter()
            .zip(&splits)
            .map(|(source, split)| source.scales(&split.training))
            .collect();
        let shared = match data.scaling {
            Scaling::Shared => {
                Some(Scale::pooled(&own.iter().flatten().cloned().collect::<Vec<_>>()))
            }
            _ => None,
        };
        let mut learners = Vec::with_capacity(splits.len());
        for (at, ((source, split), own)) in self.sources.iter().zip(splits).zip(own).enumerate() {
            let scales = match data.scaling {
                Scaling::Own => own.clone(),
                Scaling::Shared => own.as_ref().and(shared.clone()),
                Scaling::None => None,
            };
            let samples = source.samples(own.as_deref(), scales.as_deref(), data.indicators);
            let learner = samples.and_then(|samples| {
                let training = samples.chosen(&split.training)?;
                let loss = self.loss(training.targets());
                let (model, metric) = (Arc::clone(&self.model), self.metric().0);
                NativeLearner::new(model, loss, metric, &samples, &split)
            });
            let learner = learner.map_err(|error| self.of(at, error))?;
            learners.push(Learning { learner, split, own, scales });
        }
        Ok(learners)
    }

    /// One learner with everybody's data, whoever competes: the ceiling, for reference.
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
            NativeLearner::from_parts(model, loss, self.metric().0, parts)
        });
        learner.map_err(|error| self.of(0, error))
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

    fn of(&self, participant: usize, error: LearnError) -> RunError {
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

    fn scales(&self, rows: &[u32]) -> Option<Vec<Scale>> {
        self.table().map(|read| read.table.scales(rows))
    }

    fn samples(
        &self,
        own: Option<&[Scale]>,
        scales: Option<&[Scale]>,
        indicators: bool,
    ) -> Result<Samples, LearnError> {
        match &self.content {
            Content::Table(read) => read.table.encode_filled(own, scales, indicators),
            Content::Samples(samples) => Ok(samples.clone()),
        }
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
    }
}

/// The data files, each read once: several participants may be in one.
struct DataFiles<'a> {
    folder: &'a Path,
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
        Ok(Source { name, hash, content: Content::Table(Box::new(read)) })
    }
}

fn made_up(settings: &Settings, participant: usize) -> Result<Source, RunError> {
    let generate = settings.participants[participant].generate.clone().unwrap_or_default();
    let generated = Generated {
        samples: generate.samples,
        features: generate.features,
        kind: generate.kind,
        difference: generate.difference,
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
    Ok(Source { name: "generated".into(), hash, content: Content::Samples(samples) })
}

fn model(settings: &Settings, sources: &[Source]) -> Arc<dyn Model> {
    let inputs =
        sources.first().map_or(1, |source| source.features(settings.data.indicators).len());
    let outputs = match (settings.task.kind, sources.first().map(Source::targets)) {
        (TaskKind::Classes, Some(Targets::Classes { count, .. })) => *count as usize,
        _ => 1,
    };
    settings.model.kind().build(inputs.max(1), outputs, &settings.model.layers())
}
