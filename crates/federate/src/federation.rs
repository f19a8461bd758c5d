//! Participants with their data.

use std::sync::atomic::{AtomicU64, Ordering};

use fedcompetitors_graphs::{CompetingGraph, Participants, random::Stream};
use fedcompetitors_learn::{LearnError, Learner, Part};
use fedcompetitors_record::Content;

use crate::{Site, known::shares};

/// An error in an estimate or a training.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum FederateError {
    /// A participant's data or training.
    #[error("participant \"{}\": {error}", fedcompetitors_graphs::shown(.participant))]
    Participant {
        /// The participant.
        participant: String,
        /// The error.
        error: LearnError,
    },
    /// Not one learner for each participant.
    #[error("{learners} learners for {participants} participants")]
    Count {
        /// The learners.
        learners: usize,
        /// The participants.
        participants: usize,
    },
    /// Estimates that leave nothing to train with.
    #[error("estimates need {needed} gradients, and the budget is {budget}")]
    Budget {
        /// The gradients that they take.
        needed: usize,
        /// The gradient budget.
        budget: usize,
    },
    /// Something would have carried a competitor's data to a participant.
    #[error("round {round}: the guard stopped a delivery to \"{}\" that carries data of its competitor \"{}\", by way of {}", fedcompetitors_graphs::shown(.to), fedcompetitors_graphs::shown(.rival), shown_path(.path))]
    Guard {
        /// The round.
        round: usize,
        /// The receiver.
        to: String,
        /// The competitor whose data it carries.
        rival: String,
        /// The path of the data, both ends included.
        path: Vec<String>,
    },
    /// A checkpoint that cannot be read.
    #[error("the checkpoint cannot be read")]
    Checkpoint,
    /// A model with hidden layers, where only a linear one can be used.
    #[error("participant \"{}\" has a model that is not linear: hidden layers, or a learner of its own", fedcompetitors_graphs::shown(.participant))]
    NotLinear {
        /// The participant.
        participant: String,
    },
    /// A model without hidden layers, where only one with hidden layers can be used.
    #[error("participant \"{}\" has a model without hidden layers, or one of its own making", fedcompetitors_graphs::shown(.participant))]
    NoHiddenLayers {
        /// The participant.
        participant: String,
    },
    /// A participant is given something of another size than its model.
    #[error("participant \"{}\" was given a {content} that does not fit its model", fedcompetitors_graphs::shown(.participant))]
    Given {
        /// The participant.
        participant: String,
        /// What it was given.
        content: Content,
    },
    /// A participant is asked something that no trainer or estimator asks.
    #[error("participant \"{}\" was asked something that cannot be done", fedcompetitors_graphs::shown(.participant))]
    Ask {
        /// The participant.
        participant: String,
    },
    /// Participants whose models cannot be shared.
    #[error("participants \"{}\" and \"{}\" share different numbers of parameters", fedcompetitors_graphs::shown(.a), fedcompetitors_graphs::shown(.b))]
    DifferentModels {
        /// One.
        a: String,
        /// The other.
        b: String,
    },
}

impl FederateError {
    /// What can be done about it.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Participant { error, .. } => error.hint(),
            Self::Budget { .. } => "allow more gradients for each participant",
            Self::Count { .. } => "give one learner for each participant",
            Self::Guard { .. } => {
                "nothing was delivered; the plan or the program is wrong: check the plan with `verify`"
            }
            Self::Checkpoint => "it was written by another version of the program, or is damaged",
            Self::NotLinear { .. } => {
                "`evidence` is for linear models: leave `hidden` out, or choose the trainer `mixing` and the estimator `mixture`"
            }
            Self::NoHiddenLayers { .. } => {
                "`trunks` is for networks: set `hidden`, or choose trainer and estimator `evidence`"
            }
            Self::Given { .. } => {
                "check that coordinator and participant have the same model and the same participants"
            }
            Self::Ask { .. } => "check that both ends run the same version of FedCompetitors",
            Self::DifferentModels { .. } => "only models of one shape can be averaged or mixed",
        }
    }
}

/// Names with arrows between them.
fn shown_path(path: &[String]) -> String {
    let names: Vec<_> = path.iter().map(|name| fedcompetitors_graphs::shown(name)).collect();
    names.join(" → ")
}

/// The participants with their competitors and learners.
///
/// Every gradient is counted: methods are compared at the same number.
pub struct Federation<'a> {
    competing: &'a CompetingGraph,
    learners: Vec<&'a dyn Learner>,
    evaluations: AtomicU64,
    seed: u64,
}

impl<'a> Federation<'a> {
    /// A federation; the seed is the source of all its randomness.
    ///
    /// # Errors
    /// If there is not one learner for each participant, all sharing as many parameters.
    pub fn new(
        competing: &'a CompetingGraph,
        learners: Vec<&'a dyn Learner>,
        seed: u64,
    ) -> Result<Self, FederateError> {
        let participants = competing.participants();
        if learners.len() != participants.len() {
            let (learners, participants) = (learners.len(), participants.len());
            return Err(FederateError::Count { learners, participants });
        }
        if let Some(other) =
            (1..learners.len()).find(|&i| learners[i].shared() != learners[0].shared())
        {
            let name = |index| participants.name(index).to_owned();
            return Err(FederateError::DifferentModels { a: name(0), b: name(other) });
        }
        Ok(Self { competing, learners, evaluations: AtomicU64::new(0), seed })
    }

    /// The participants.
    pub fn participants(&self) -> &'a Participants {
        self.competing.participants()
    }

    /// Who competes with whom.
    pub fn competing(&self) -> &'a CompetingGraph {
        self.competing
    }

    /// The number of participants.
    pub fn len(&self) -> usize {
        self.learners.len()
    }

    /// Whether it has no participants.
    pub fn is_empty(&self) -> bool {
        self.learners.is_empty()
    }

    /// A participant's learner, whose gradients are not counted.
    pub fn learner(&self, participant: usize) -> &'a dyn Learner {
        self.learners[participant]
    }

    /// The number of shared parameters.
    pub fn shared(&self) -> usize {
        self.learners.first().map_or(0, |learner| learner.shared())
    }

    /// A random stream of this federation.
    pub fn stream(&self, purpose: &str, participant: usize) -> Stream {
        Stream::new(self.seed, purpose, participant as u64)
    }

    /// Weights in proportion to the numbers of training samples of these participants; they sum to 1.
    pub fn weights_by_samples(&self, of: &[usize]) -> Vec<f64> {
        shares(of.iter().map(|&who| self.learners[who].samples(Part::Training)))
    }

    /// What a participant sees.
    pub fn site(&self, participant: usize) -> Site<'_> {
        let name = self.participants().name(participant);
        let (learner, count) = (self.learners[participant], self.learners.len());
        Site::new((name, participant), count, learner, self.seed, &self.evaluations)
    }

    /// Sets the count of gradients.
    pub fn count_from(&self, evaluations: u64) {
        self.evaluations.store(evaluations, Ordering::Relaxed);
    }

    /// The count of gradients.
    pub fn evaluations(&self) -> u64 {
        self.evaluations.load(Ordering::Relaxed)
    }
}
