//! How a training runs: the coordinator asks, participants answer.
//!
//! A training is a sequence of phases. In each, the [`Coordinator`] asks every participant that is present one
//! thing and gives it what it may have; each [`Participant`] answers; with all answers the coordinator goes on.
//! Participants hold nothing of each other, and the coordinator holds no data and no model that was not sent to
//! it. Neither does any input or output: a carrier brings asks and answers from one to the other.
//! [`Conversation`] is the carrier in one process. [`wire`] has the bytes for others.
//!
//! - What a trainer computes at the coordinator is its [`Combiner`]; a new trainer is one of these.
//! - Whatever reaches a participant is [`Labelled`] and passes the guard of the
//!   [`Exchange`](crate::exchange::Exchange).
//! - Each ask has a number. A participant that is asked the same again repeats its answer, so a carrier may
//!   repeat whatever was lost.

mod conversation;
mod coordinator;
mod endpoint;
mod labelled;
mod networks;
mod participant;
pub mod wire;

use std::sync::Arc;

use fedcompetitors_record::Content;
use serde::{Deserialize, Serialize};

pub use conversation::{Conversation, estimate};
pub use coordinator::{
    Combiner, Coordinate, Coordinator, Estimation, Finder, Heard, Phase, Question,
};
pub use endpoint::{Endpoint, Stale};
pub use labelled::Labelled;
pub use participant::Participant;

/// An ask as it reaches a participant.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Request {
    /// Its number: that of the phase, counted from 1.
    pub id: u64,
    /// What to do.
    pub ask: Ask,
    /// What the participant is given with it.
    pub given: Vec<Given>,
}

/// What a participant is given.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Given {
    /// What it is.
    pub content: Content,
    /// The values.
    pub values: Arc<Vec<f32>>,
    /// Whose data they carry, as a set of bits.
    pub carried: Vec<u64>,
}

/// What a participant is asked to do. These verbs are all that a trainer or an estimator can use; a new verb is a
/// new version of [`wire`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Ask {
    /// Train on the own rows, and send what came out.
    Train(Train),
    /// Follow the last gradient, or the mixture of gradients that is given, and compute the next gradient.
    Descend {
        /// Whether to validate the model before: a round has ended.
        validate: bool,
        /// Whether to send the gradient.
        sends: bool,
    },
    /// Fit a linear model exactly, with the sum of summaries that is given, if any.
    Fit {
        /// If present, send a summary of the own rows without columns in which fewer rows than this differ from
        /// the others.
        summary: Option<usize>,
    },
    /// Evaluate the model that is given, which is not kept: its validation loss is reported, and the gradient of
    /// that is sent.
    Evaluate {
        /// Steps on an own head before: a head fits only the parameters that it was trained with.
        head_steps: usize,
    },
    /// Evaluate the trunks that are given: report the validation loss of a head on the own hidden layers, and then
    /// for each trunk that of a head on both.
    Compare,
    /// The training ends here.
    Finish(Finish),
}

/// Some steps on the own rows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Train {
    /// What is done first.
    pub first: First,
    /// The number of steps of each network in training.
    pub steps: usize,
    /// The strength of the pull to the parameters at the beginning of these steps; `FedProx` adds
    /// `pull / 2 · |x − start|²` to the loss.
    pub pull: f32,
    /// Whether networks that are trained alone are validated on the way, not only after these steps.
    pub validates_often: bool,
    /// What it sends afterwards, in this order.
    pub sends: Vec<Content>,
}

impl Train {
    /// Steps without a pull.
    pub fn new(first: First, steps: usize, sends: Vec<Content>) -> Self {
        Self { first, steps, pull: 0.0, validates_often: false, sends }
    }
}

/// What a participant does before it trains. All but [`First::Adopt`] is training alone, which needs no exchange:
/// who cannot be reached does the same, is given nothing and sends nothing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum First {
    /// Adopts the model or update that is given.
    Adopt(Adopt),
    /// Begins a network with each of these decays, all from the common start.
    Try(Vec<f32>),
    /// Goes on with the networks in training.
    Continue,
    /// Keeps the network with the lowest validation loss, and goes on with it.
    Choose,
    /// Leaves the networks that there are as they are, and begins others: from the trunks that are given, those
    /// first that suit its data best, and from random starts where these are too few.
    Start {
        /// The number of networks.
        networks: usize,
        /// The number of given trunks that are also used as they are, at most.
        frozen: usize,
    },
}

/// How a participant adopts a model or an update that it is given.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Adopt {
    /// The step length towards it.
    pub rate: f32,
    /// Keep the own model if its validation loss is lower.
    pub checked: bool,
}

impl Adopt {
    /// Replaces the own model, whatever its validation loss.
    pub const ALWAYS: Self = Self { rate: 1.0, checked: false };
}

/// How a training ends for a participant.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub enum Finish {
    /// It adopts or follows what is given, and keeps its best model.
    Adopt(Adopt),
    /// It fits a linear model exactly, unless it has done so. A network gets another last layer, fitted to its
    /// last hidden layers, if the validation loss is lower with that.
    Alone,
    /// It fits one head to the hidden layers of its networks and of the trunks that it uses as they are.
    Together,
}

impl Ask {
    /// What the answer contains.
    pub fn sends(&self) -> &[Content] {
        match self {
            Self::Train(train) => &train.sends,
            Self::Descend { sends: true, .. } | Self::Evaluate { .. } => &[Content::Gradient],
            Self::Fit { summary: Some(_) } => &[Content::Summary],
            Self::Descend { .. } | Self::Fit { .. } | Self::Compare | Self::Finish(_) => &[],
        }
    }

    /// Whether anybody can do that: a participant believes nothing that would take all its memory or time.
    pub fn is_possible(&self) -> bool {
        let Self::Train(train) = self else { return true };
        let has_networks = match &train.first {
            First::Try(decays) => (1..=MOST_NETWORKS).contains(&decays.len()),
            First::Start { networks, frozen } => {
                (1..=MOST_NETWORKS).contains(networks) && *frozen <= MOST_NETWORKS
            }
            First::Adopt(_) | First::Continue | First::Choose => true,
        };
        let alone = !matches!(train.first, First::Adopt(_));
        let can_send = |content: &Content| match content {
            Content::Model => true,
            Content::Trunk => alone,
            Content::Update | Content::Gradient => !alone,
            Content::Summary | Content::Data => false,
        };
        has_networks && train.steps <= MOST_STEPS && train.sends.iter().all(can_send)
    }

    /// What a participant does that cannot be reached: the part of the ask that needs no exchange.
    pub fn alone(&self) -> Option<Self> {
        match self {
            Self::Train(train) if !matches!(train.first, First::Adopt(_)) => {
                Some(Self::Train(Train { sends: Vec::new(), ..train.clone() }))
            }
            Self::Finish(_) => Some(self.clone()),
            _ => None,
        }
    }
}

/// The most networks that a participant is asked to train, and trunks that it keeps.
const MOST_NETWORKS: usize = 100;

/// The most steps that a participant is asked for at once.
const MOST_STEPS: usize = 100_000_000;

/// What a participant answers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// The number of the ask.
    pub id: u64,
    /// What it sends, in the order in which it was asked to.
    pub pieces: Vec<Vec<f32>>,
    /// What it reports besides.
    pub report: Report,
}

/// What a participant reports of itself. Nothing of it changes what anything is labelled with. Losses decide benefits,
/// and so the plan; the rest is shown.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// The weight of what is its own in its model, then that of each piece that it was last given; empty if it
    /// uses nothing of others.
    pub uses: Vec<f64>,
    /// The losses that it was asked for.
    pub losses: Vec<f64>,
    /// The features that are left out of its summary, because too few of its rows differ in them.
    pub left_out: Vec<usize>,
}
