//! The paper's experiment with small images: CIFAR-10, two classes for each of ten
//! participants, everybody's competitors drawn by chance.
//!
//! - **Model.** The paper's network; the last layer is each participant's own. `FedAvg` and its
//!   kin have one common model, and so a common last layer for all ten classes.
//! - **Draws.** For each graph a seed of its own: the split, the start, the batches and who
//!   competes (each pair with probability 0.2).
//! - **Budget.** The same number of gradients of the same batches for every method, estimates
//!   included.
//! - **Choices.** Each method's rate is chosen by the validation data of another draw, with the
//!   whole budget, then how many networks it trains, if it trains several.
//! - **Pieces.** One training at a time, its participants in parallel. Every piece that is done is
//!   handed to `keep`, and what `recall` knows is not done again.

use std::{borrow::Cow, sync::Arc};

use fedcompetitors_federate::{
    FederateError,
    estimate::{self, Estimator, Inputs, JointHypernetwork, Mixture},
    exchange::{Exchange, hex},
    train::{
        Averaging, Effort, Hypernetworks, Local, Mixed, Mixing, Proximal, Scaffold, Trainer, Trunks,
    },
};
use fedcompetitors_files::{CIFAR10_CLASSES, FileError};
use fedcompetitors_graphs::{
    BenefitGraph, CompetingGraph, Participants, UsageGraph, random::Stream,
};
use fedcompetitors_learn::{
    ClassSplit, Cnn, Images, LearnError, Learner, Model, NativeLearner, OptimizerSettings, Part,
};
use fedcompetitors_select::Plan;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::{
    ExperimentError, Method, Source,
    contest::{CHOICE_SEEDS, federation, per_participant},
};

/// The methods of the table.
pub const METHODS: [Method; 10] = Method::IMAGES;

/// Who takes part.
const PARTICIPANTS: usize = CIFAR10_CLASSES as usize;

/// How probable it is that two compete.
const COMPETING: f64 = 0.2;

/// Samples for each gradient.
pub const BATCH: usize = 32;

/// Steps of a round.
const LOCAL_STEPS: usize = 10;

/// The seeds of the table's draws are those behind it. (Some from 901 to 933 were looked at
/// before budget, hypernetworks and everybody's own part in mixtures were settled.)
const BEFORE_FIRST_SEED: u64 = 940;

/// The rates among which validation data chooses.
const RATES: [f32; 3] = [0.001, 0.003, 0.0003];

/// The numbers of networks after the first among which validation data chooses, for methods that train
/// several. The first is that with which rates are tried.
pub const NETWORKS: [usize; 3] = [4, 2, 1];

/// That of the joint hypernetwork which estimates.
const ESTIMATE_RATE: f64 = 0.0003;

/// How wide personal hypernetworks are. With the usual hundred, each of them has twelve million
/// weights, which every step reads and writes with their running means; with sixteen a step takes
/// a fifth of the time, and after as many steps validation data likes the models more.
const HIDDEN: usize = 16;

/// How many rates each method may choose among.
pub const RATES_TRIED: usize = RATES.len();

/// How much is spent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Budget {
    /// About two times through the images.
    Short,
    /// About twenty times.
    Full,
}

impl Budget {
    /// What it is called.
    pub fn name(self) -> &'static str {
        match self {
            Self::Short => "short",
            Self::Full => "full",
        }
    }

    /// Gradients for each participant and method.
    pub fn evaluations(self) -> usize {
        match self {
            Self::Short => 300,
            Self::Full => 3000,
        }
    }

    /// Graphs, if it is not said how many.
    pub fn graphs(self) -> u64 {
        match self {
            Self::Short => 2,
            Self::Full => 5,
        }
    }
}

/// The paper's figure for a method, in percent: mean and deviation.
pub fn paper(method: Method) -> Option<(f64, f64)> {
    match method {
        Method::Local => Some((86.46, 4.12)),
        Method::FedAvg => Some((52.99, 4.38)),
        Method::FedProx => Some((51.13, 7.10)),
        Method::Scaffold => Some((51.20, 7.09)),
        Method::Ce => Some((87.80, 7.18)),
        Method::Hypernetworks => Some((91.33, 4.14)),
        Method::BestHypernetworks | Method::Mixing | Method::LocalEnsemble | Method::Trunks => None,
    }
}

/// What to run.
pub struct Cifar10Experiment {
    /// The images for training and validation, and those for the test.
    pub images: (Images, Images),
    /// How many images of each class each of its two participants has for training and validation; half of
    /// all where absent.
    pub images_each: Option<usize>,
    /// The methods, in the order of [`METHODS`].
    pub methods: Vec<Method>,
    /// How many draws, with the seeds 941, 942, ….
    pub graphs: u64,
    /// Gradients for each participant and method.
    pub evaluations: usize,
}

/// One training that is done.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Piece {
    /// The mean accuracy on validation data, and on test data that of each participant. (Nobody
    /// looks at the test where a rate is chosen.)
    pub validation: f64,
    /// As said.
    pub test: Vec<f64>,
    /// Who helps whom in its plan.
    pub usage: Vec<(usize, usize)>,
    /// Gradients for each participant, estimates included, and those for estimates.
    pub gradients: (usize, usize),
}

/// Pieces that were kept, by name.
pub struct Kept<'a> {
    /// What is kept under a name.
    pub recall: &'a (dyn Fn(&str) -> Option<Piece> + Sync),
    /// Keeps a piece under its name.
    pub keep: &'a (dyn Fn(&str, &Piece) -> Result<(), FileError> + Sync),
}

impl Draw {
    /// The SHA-256 of which images are whose, and for what.
    pub fn hash(&self) -> String {
        let mut hasher = Sha256::new();
        for rows in self.split.rows.iter().flatten() {
            hasher.update((rows.len() as u64).to_le_bytes());
            rows.iter().for_each(|row| hasher.update(row.to_le_bytes()));
        }
        hex(&hasher.finalize())
    }
}

/// A draw: who has what, and who competes.
#[derive(Debug, Clone)]
pub struct Draw {
    /// The seed.
    pub seed: u64,
    /// Which images are whose.
    pub split: ClassSplit,
    /// Who competes with whom.
    pub competing: CompetingGraph,
}

/// What came out for a method.
#[derive(Debug, Clone)]
pub struct Cifar10Row {
    /// The method.
    pub method: Method,
    /// What validation data chose for it.
    pub chosen: Chosen,
    /// Its piece for each draw.
    pub pieces: Vec<Piece>,
}

/// What validation data chooses for a method.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Chosen {
    /// The learning rate.
    pub rate: f32,
    /// How many networks it trains after the first, if it trains several.
    pub networks: Option<usize>,
}

/// How far it is: what is done, of how much, in units of about the same time.
pub type Told<'a> = &'a (dyn Fn(usize, usize, &str) + Sync);

/// What a draw has once somebody needs it: the learners, with heads of their own or a common
/// one, and the estimates.
struct Instance<'a> {
    draw: &'a Draw,
    own: Vec<NativeLearner>,
    common: Vec<NativeLearner>,
    estimates: Vec<(Source, BenefitGraph, usize)>,
}

impl Cifar10Experiment {
    /// What a budget pays for.
    pub fn new(images: (Images, Images), graphs: u64, budget: Budget) -> Self {
        let evaluations = budget.evaluations();
        let methods = METHODS.to_vec();
        Self { images, images_each: None, methods, graphs, evaluations }
    }

    /// The draws of the table.
    ///
    /// # Errors
    /// If a class has too few images.
    pub fn draws(&self) -> Result<Vec<Draw>, FederateError> {
        (1..=self.graphs).map(|at| self.draw(BEFORE_FIRST_SEED + at)).collect()
    }

    /// The images for training and validation of a draw.
    fn training(&self, seed: u64) -> Cow<'_, Images> {
        match self.images_each {
            // Every class is at two participants.
            Some(each) => Cow::Owned(self.images.0.fewer(2 * each, seed)),
            None => Cow::Borrowed(&self.images.0),
        }
    }

    fn draw(&self, seed: u64) -> Result<Draw, FederateError> {
        let (training, test) = (self.training(seed), &self.images.1);
        let split = ClassSplit::draw(&training, test, CIFAR10_CLASSES, seed).map_err(unusable)?;
        let participants = Participants::numbered(PARTICIPANTS);
        let mut competing = CompetingGraph::builder(&participants);
        let mut stream = Stream::new(seed, "competing", 0);
        for a in 0..PARTICIPANTS {
            for b in a + 1..PARTICIPANTS {
                if stream.unit() < COMPETING {
                    competing.report(a, b).expect("two different participants");
                }
            }
        }
        Ok(Draw { seed, split, competing: competing.build() })
    }

    /// Runs what is not kept yet, one piece after the other.
    ///
    /// # Errors
    /// If a training diverges, with every rate or with the chosen one in the table, or if a
    /// piece cannot be kept.
    pub fn run(
        &self,
        draws: &[Draw],
        kept: &Kept<'_>,
        told: Told<'_>,
    ) -> Result<Vec<Cifar10Row>, ExperimentError> {
        let runs = |&method: &Method| {
            let has_own = !self.methods.iter().any(|&other| is_same_trainer(other, method));
            let networks = if trains_several(method) { NETWORKS.len() - 1 } else { 0 };
            draws.len() + if has_own { RATES_TRIED + networks } else { 0 }
        };
        let all = self.methods.iter().map(|method| weight(*method) * runs(method));
        let total = all.sum::<usize>() * self.evaluations;
        let mut work = Work { experiment: self, kept, told, done: 0, total };

        let choosing = self.draw(CHOICE_SEEDS[0])?;
        let mut instance = None;
        let mut rows: Vec<Cifar10Row> = Vec::new();
        for &method in &self.methods {
            let same = rows.iter().find(|row| is_same_trainer(row.method, method));
            let chosen = match same {
                Some(row) => row.chosen,
                None => work.choose(&choosing, &mut instance, method)?,
            };
            rows.push(Cifar10Row { method, chosen, pieces: Vec::new() });
        }
        for draw in draws {
            let mut instance = None;
            for row in &mut rows {
                let name = format!("{}-{}", draw.seed, row.method.short_name());
                let trial = Trial { name, method: row.method, chosen: row.chosen };
                row.pieces.push(work.piece(draw, &mut instance, &trial)?);
            }
        }
        Ok(rows)
    }

    fn instance<'a>(&self, draw: &'a Draw) -> Result<Instance<'a>, FederateError> {
        let (training, test) = (self.training(draw.seed), &self.images.1);
        let own = draw.split.learners(&training, test, draw.seed).map_err(unusable)?;
        let (side, channels) = training.shape();
        let common: Arc<dyn Model> = Arc::new(Cnn::new(side, channels, PARTICIPANTS));
        let common = own.iter().map(|one| one.with_model(Arc::clone(&common)));
        let common = common.collect::<Result<_, _>>().map_err(unusable)?;
        Ok(Instance { draw, own, common, estimates: Vec::new() })
    }
}

/// A method with what is chosen for it.
struct Trial {
    name: String,
    method: Method,
    chosen: Chosen,
}

/// Work on its way.
struct Work<'a> {
    experiment: &'a Cifar10Experiment,
    kept: &'a Kept<'a>,
    told: Told<'a>,
    done: usize,
    total: usize,
}

impl Work<'_> {
    /// The rate with which validation data is best, and with that rate the number of networks.
    fn choose<'a>(
        &mut self,
        draw: &'a Draw,
        instance: &mut Option<Instance<'a>>,
        method: Method,
    ) -> Result<Chosen, ExperimentError> {
        let several = trains_several(method);
        let networks = several.then_some(NETWORKS[0]);
        let (mut most, mut best) = (f64::NEG_INFINITY, Chosen { rate: RATES[0], networks });
        let mut judge = |chosen: Chosen, name: String| {
            let piece = self.piece(draw, instance, &Trial { name, method, chosen })?;
            if piece.validation > most {
                (most, best) = (piece.validation, chosen);
            }
            Ok::<_, ExperimentError>(best)
        };
        let name = method.short_name();
        let mut rate = RATES[0];
        for tried in RATES {
            let chosen = Chosen { rate: tried, networks };
            rate = judge(chosen, format!("choice-{name}-{tried}"))?.rate;
        }
        for &networks in NETWORKS[1..].iter().filter(|_| several) {
            let chosen = Chosen { rate, networks: Some(networks) };
            judge(chosen, format!("choice-{name}-{rate}-{networks}"))?;
        }
        Ok(best)
    }

    /// A piece, as it was kept or as it is done now.
    fn piece<'a>(
        &mut self,
        draw: &'a Draw,
        instance: &mut Option<Instance<'a>>,
        trial: &Trial,
    ) -> Result<Piece, ExperimentError> {
        (self.told)(self.done, self.total, &trial.name);
        self.done += weight(trial.method) * self.experiment.evaluations;
        if let Some(piece) = (self.kept.recall)(&trial.name) {
            return Ok(piece);
        }
        let instance = match instance {
            Some(instance) => instance,
            none => none.insert(self.experiment.instance(draw)?),
        };
        let piece = match instance.train(trial, self.experiment.evaluations) {
            // What makes training diverge is no choice.
            Err(FederateError::Participant { error: LearnError::Diverged, .. })
                if draw.seed == CHOICE_SEEDS[0] =>
            {
                let validation = f64::NEG_INFINITY;
                Piece { validation, test: Vec::new(), usage: Vec::new(), gradients: (0, 0) }
            }
            piece => piece?,
        };
        (self.kept.keep)(&trial.name, &piece)?;
        Ok(piece)
    }
}

impl Instance<'_> {
    fn train(&mut self, trial: &Trial, evaluations: usize) -> Result<Piece, FederateError> {
        let Trial { method, chosen: Chosen { rate, networks }, .. } = *trial;
        let competing = &self.draw.competing;
        let (benefit, spent) = self.benefit(method, evaluations)?;
        let Plan { usage, .. } = method.plan(competing, &benefit);
        let learners = match method {
            Method::FedAvg | Method::FedProx | Method::Scaffold => &self.common,
            _ => &self.own,
        };
        let federation = federation(competing, learners, self.draw.seed)?;
        let rule = OptimizerSettings::Adam { rate, decay: 0.0 };
        let (evaluations, local_steps) = (evaluations - spent, LOCAL_STEPS);
        let effort = Effort { evaluations, local_steps, rule, batch: Some(BATCH) };
        let models = trainer(method, networks).train(&federation, &usage, &benefit, effort)?;
        let accuracy = |part: Part| {
            let measured = learners.iter().zip(&models);
            // There are images of every class in every part.
            measured.map(move |(one, model)| one.metric(part, model).unwrap_or(f64::NAN))
        };
        Ok(Piece {
            validation: accuracy(Part::Validation).sum::<f64>() / models.len() as f64,
            test: accuracy(Part::Test).collect(),
            usage: edges(&usage),
            gradients: (per_participant(&federation) + spent, spent),
        })
    }

    /// Who would help whom, for methods that need it, and what finding out has cost.
    fn benefit(
        &mut self,
        method: Method,
        evaluations: usize,
    ) -> Result<(BenefitGraph, usize), FederateError> {
        let competing = &self.draw.competing;
        let Some(source) = method.source() else {
            return Ok((BenefitGraph::builder(competing.participants()).build(), 0));
        };
        if let Some((_, benefit, spent)) = self.estimates.iter().find(|found| found.0 == source) {
            return Ok((benefit.clone(), *spent));
        }
        let federation = federation(competing, &self.own, self.draw.seed)?;
        let mut exchange = Exchange::new(competing);
        let inputs = Inputs { batch: Some(BATCH), given: None };
        let found = estimator(source, evaluations).estimate(&federation, &mut exchange, inputs)?;
        let benefit = found.benefit;
        let spent = per_participant(&federation);
        self.estimates.push((source, benefit.clone(), spent));
        Ok((benefit, spent))
    }
}

/// An estimator that takes about a fifth of so many gradients, and not more than sixty: with a
/// long training, who helps whom is known long before a fifth of it.
fn estimator(source: Source, evaluations: usize) -> Box<dyn Estimator> {
    let evaluations = evaluations.min(300);
    match source {
        Source::Hypernetwork => {
            let rate = ESTIMATE_RATE;
            let (steps, ray_steps) = (evaluations / 6, evaluations / 40);
            Box::new(JointHypernetwork { steps, rate, ray_steps, ..Default::default() })
        }
        Source::Mixture => {
            let rate = f64::from(RATES[0]);
            let (probe_steps, search_steps) = (evaluations / 10, evaluations / 40);
            Box::new(Mixture { probe_steps, rate, search_steps, ..Default::default() })
        }
        Source::Trunks => {
            let (threshold, steps, rate) = (0.0, evaluations / 5, f64::from(RATES[0]));
            Box::new(estimate::Trunks { threshold, steps, rate })
        }
    }
}

fn trainer(method: Method, networks: Option<usize>) -> Box<dyn Trainer> {
    match method {
        // No method has a decay here: images are varied, which leaves little to it.
        Method::Local => Box::new(Local { decays: Vec::new() }),
        Method::LocalEnsemble | Method::Trunks => {
            Box::new(Trunks { networks, ..Trunks::default() })
        }
        Method::FedAvg => Box::new(Averaging {}),
        Method::FedProx => Box::new(Proximal { pull: 0.01 }),
        Method::Scaffold => Box::new(Scaffold {}),
        Method::Ce | Method::Hypernetworks | Method::BestHypernetworks => {
            Box::new(Hypernetworks {
                hidden: HIDDEN,
                own_part: Some(OWN_PART_OF_RAYS),
                // Its steps would go into models that most throw away.
                trial: 0,
                ..Hypernetworks::default()
            })
        }
        Method::Mixing => Box::new(Mixing {
            mix: Mixed::Gradients,
            own_part: Some(OWN_PART),
            ..Mixing::default()
        }),
    }
}

/// Everybody's part of its own mixtures.
const OWN_PART: f64 = 0.7;

/// The owner's part of its ray to begin with. Each step draws one member by the ray, and only
/// steps of the owner train its own head: by samples a participant with nine collaborators would
/// train it in every tenth.
const OWN_PART_OF_RAYS: f64 = 0.9;

/// About how long a method takes, in tenths of Local's time.
fn weight(method: Method) -> usize {
    match method {
        Method::Ce | Method::Hypernetworks | Method::BestHypernetworks => 26,
        Method::Mixing => 14,
        _ => 10,
    }
}

/// Does it train several networks?
fn trains_several(method: Method) -> bool {
    matches!(method, Method::LocalEnsemble | Method::Trunks)
}

/// Do two methods differ in their plans alone? Then they share a rate.
fn is_same_trainer(one: Method, other: Method) -> bool {
    [one, other] == [Method::Hypernetworks, Method::BestHypernetworks]
}

fn edges(usage: &UsageGraph) -> Vec<(usize, usize)> {
    usage.edges().collect()
}

fn unusable(error: LearnError) -> FederateError {
    FederateError::Participant { participant: "everybody".to_owned(), error }
}
