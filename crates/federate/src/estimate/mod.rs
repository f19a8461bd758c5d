//! The estimators, each in a file of its own: who would help whom, from data. A new one is a file, its
//! `mod` and its line in [`entries`](Registry::entries).
//!
//! An estimator starts from sample counts, never from knowing the answer.

mod evidence;
mod given;
mod hypernetwork;
mod measured;
mod mixture;
mod rank;
mod trunks;

use std::{fmt::Debug, sync::Arc};

use fedcompetitors_graphs::{BenefitGraph, CompetingGraph, Registry};
use fedcompetitors_learn::simplex;
use fedcompetitors_record::{Flow, FlowSource};
use serde::{Deserialize, Serialize};

use crate::{
    FederateError, Federation, Known,
    exchange::{Exchange, Message},
    kinds::{Kind, Made, Models},
    protocol::{self, Estimation},
    train::Effort,
};

pub use evidence::Evidence;
pub use given::Given;
pub use hypernetwork::JointHypernetwork;
pub use measured::Measured;
pub use mixture::{KIND as MIXTURE, Mixture};
pub use rank::{agreement, spearman};
pub use trunks::Trunks;

/// An entry of the registry of estimators.
pub type EstimatorKind = Kind<dyn Estimator>;

impl Registry for EstimatorKind {
    const KIND: &'static str = "estimator";

    fn entries() -> &'static [&'static Self] {
        static ENTRIES: &[&EstimatorKind] = &[
            &mixture::KIND,
            &evidence::KIND,
            &trunks::KIND,
            &measured::KIND,
            &hypernetwork::KIND,
            &given::KIND,
        ];
        ENTRIES
    }
}

impl<T: Estimator + 'static> Made<T> for dyn Estimator {
    fn made(estimator: T) -> Arc<Self> {
        Arc::new(estimator)
    }
}

/// What an estimate takes beside participants and settings.
#[derive(Debug, Clone, Copy, Default)]
pub struct Inputs<'a> {
    /// Samples for each gradient; all if absent.
    pub batch: Option<usize>,
    /// Benefits from a file, for `given`.
    pub given: Option<&'a BenefitGraph>,
}

/// A way to find out who would help whom.
pub trait Estimator: Debug + Send + Sync {
    /// How information flows in the estimate.
    fn flow(&self, competing: &CompetingGraph) -> Flow;

    /// The models that it can use.
    fn models(&self) -> Models {
        Models::Any
    }

    /// The most coefficients (features times outputs) of a model that it can use in reasonable time, given the
    /// number of folds; 1 for a part of the rows that is held out.
    fn most_coefficients(&self, _folds: u32) -> Option<usize> {
        None
    }

    /// Whether benefits are numbers of the helped participant's rows.
    fn benefits_are_rows(&self) -> bool {
        false
    }

    /// The file with given benefits that it needs.
    fn file(&self) -> Option<&str> {
        None
    }

    /// A setting without a default that is absent.
    fn missing(&self) -> Option<&'static str> {
        None
    }

    /// How it begins, given what the coordinator knows.
    fn begin(&self, known: &Known<'_>, inputs: Inputs<'_>) -> Begun<'_>;

    /// The coordinator of [`Begun::Messages`] that goes on from what [`Coordinate::save`](protocol::Coordinate::save)
    /// gave.
    ///
    /// # Errors
    /// If it was not saved by a coordinator of this estimator.
    fn resume(&self, _saved: &[u8]) -> Result<Box<dyn Estimation>, FederateError> {
        Err(FederateError::Checkpoint)
    }

    /// How much each participant's data would help each other one's model; 0 between competitors, who
    /// may not help each other anyway. All participants are in this process; whatever moves goes through the exchange.
    ///
    /// # Errors
    /// If training diverges, or if the guard stops it.
    fn estimate(
        &self,
        federation: &Federation<'_>,
        exchange: &mut Exchange<'_>,
        inputs: Inputs<'_>,
    ) -> Result<Found, FederateError> {
        match self.begin(&Known::of(federation), inputs) {
            Begun::Found(found) => Ok(found),
            Begun::Messages(effort, coordinator) => {
                protocol::estimate(federation, exchange, effort, coordinator)
            }
            Begun::AllData(estimator) => estimator.estimate(federation, exchange, inputs),
        }
    }
}

/// An estimate that has begun.
pub enum Begun<'a> {
    /// Nothing is asked of anybody.
    Found(Found),
    /// Participants, who may be anywhere, are asked by this coordinator; they train with these settings.
    Messages(Effort, Box<dyn Estimation>),
    /// The coordinator reads the data of all participants.
    AllData(&'a dyn ByAllData),
}

/// An estimator that reads the data of all participants.
pub trait ByAllData {
    /// How much each participant's data would help each other one's model.
    ///
    /// # Errors
    /// If training diverges, or if the guard stops it.
    fn estimate(
        &self,
        federation: &Federation<'_>,
        exchange: &mut Exchange<'_>,
        inputs: Inputs<'_>,
    ) -> Result<Found, FederateError>;
}

/// What an estimator has found.
#[derive(Debug, Clone)]
pub struct Found {
    /// How much each participant's data would help each other one's model.
    pub benefit: BenefitGraph,
    /// How probable it is that a helper's task is that of the helped: helper, helped, probability. Empty
    /// where that is not asked.
    pub related: Vec<(usize, usize, f64)>,
}

impl From<BenefitGraph> for Found {
    fn from(benefit: BenefitGraph) -> Self {
        Self { benefit, related: Vec::new() }
    }
}

/// A flow of an estimate that joins these competing pairs.
fn flow(statement: &str, pairs: Vec<(usize, usize)>) -> Flow {
    Flow { source: FlowSource::Estimator, statement: statement.into(), pairs }
}

/// All participants entrust the coordinator with their data, for estimators that train on it.
fn entrust_all(federation: &Federation<'_>, exchange: &mut Exchange<'_>) -> Vec<Message> {
    exchange.begin(1, &[]);
    (0..federation.len()).map(|participant| exchange.entrust(participant)).collect()
}

/// The rate of the steps on weights.
const RATE: f32 = 0.2;

/// A search for the weights of a participant and its candidates with the lowest validation loss. It starts
/// at their shares of the samples.
#[derive(Serialize, Deserialize)]
struct Search {
    members: Vec<usize>,
    prior: Vec<f32>,
    weights: Vec<f32>,
}

impl Search {
    fn new(known: &Known<'_>, members: Vec<usize>) -> Self {
        let prior = known.weights_by_samples(&members);
        let prior: Vec<f32> = prior.into_iter().map(|weight| weight as f32).collect();
        Self { members, weights: prior.clone(), prior }
    }

    /// One step down the logarithm of the loss, in which a slope means the same for every task, whatever
    /// the unit of its targets.
    ///
    /// `pull` is how strongly weights are drawn to the prior, the sample counts. Validation data is a
    /// small sample: without the pull, chance would choose one of several equal helpers and drop the
    /// others.
    fn step(&mut self, loss: f64, mut slopes: Vec<f32>, pull: f32) {
        let loss = (loss as f32).max(f32::MIN_POSITIVE);
        slopes.iter_mut().for_each(|slope| *slope /= loss);
        simplex::mirror_step(&mut self.weights, &slopes, RATE, &self.prior, pull);
    }

    /// Leaves out the others. Without the participant itself, nobody is left.
    fn keep(&mut self, is_there: impl Fn(usize) -> bool) {
        let has_own = self.members.first().is_some_and(|&own| is_there(own));
        let kept = self.members.iter().zip(&self.prior);
        let kept = kept.filter(|(member, _)| has_own && is_there(**member));
        (self.members, self.prior) = kept.map(|(&member, &prior)| (member, prior)).unzip();
        let sum: f32 = self.prior.iter().sum();
        if self.members.len() < self.weights.len() {
            self.prior.iter_mut().for_each(|prior| *prior /= sum);
        }
        self.weights.clone_from(&self.prior);
    }

    /// The sum of the weights: 1, or NaN if a slope was NaN.
    fn sum(&self) -> f64 {
        self.weights.iter().copied().map(f64::from).sum()
    }

    /// Each member with its weight.
    fn weights(&self) -> impl Iterator<Item = (usize, f32)> {
        self.members.iter().copied().zip(self.weights.iter().copied())
    }
}

/// The graph of these benefits, given for each participant as (helper, value); values of 0, below the threshold or
/// not finite are dropped: what participants send may lead to any.
fn graph(
    competing: &CompetingGraph,
    columns: &[Vec<(usize, f64)>],
    threshold: f64,
) -> BenefitGraph {
    let mut builder = BenefitGraph::builder(competing.participants());
    for (to, column) in columns.iter().enumerate() {
        for &(from, value) in column.iter().filter(|&&(from, value)| {
            from != to && value > 0.0 && value >= threshold && value.is_finite()
        }) {
            builder.add(from, to, value).expect("a finite benefit of another participant");
        }
    }
    builder.build()
}
