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
mod participant;
pub mod wire;

use fedcompetitors_record::Content;
use serde::{Deserialize, Serialize};

pub use conversation::Conversation;
pub use coordinator::{Combiner, Coordinate, Coordinator, Heard, Phase, Question};
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
    pub values: Vec<f32>,
    /// Whose data they carry, as a set of bits.
    pub carried: Vec<u64>,
}

/// What a participant is asked to do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Ask {
    /// Adopt what is given, train on the own rows, and send what came out.
    Train(Train),
    /// Follow the last gradient, or the mixture of gradients that is given, and compute the next gradient.
    Descend {
        /// Whether to validate the model before: a round has ended.
        validate: bool,
        /// Whether to send the gradient.
        sends: bool,
    },
    /// Adopt or follow what is given; the training ends here.
    Finish(Adopt),
}

/// A round of steps on the own rows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Train {
    /// How the given model or update is adopted first.
    pub adopt: Adopt,
    /// The number of steps.
    pub steps: usize,
    /// The strength of the pull to the parameters at the beginning of the round; `FedProx` adds
    /// `pull / 2 · |x − start|²` to the loss.
    pub pull: f32,
    /// What it sends afterwards, in this order.
    pub sends: Vec<Content>,
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

impl Ask {
    /// What the answer contains.
    pub fn sends(&self) -> &[Content] {
        match self {
            Self::Train(train) => &train.sends,
            Self::Descend { sends: true, .. } => &[Content::Gradient],
            Self::Descend { sends: false, .. } | Self::Finish(_) => &[],
        }
    }
}

/// What a participant answers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// The number of the ask.
    pub id: u64,
    /// What it sends, in the order in which it was asked to.
    pub pieces: Vec<Vec<f32>>,
    /// Whether it has ever adopted anything.
    pub has_learned: bool,
}
