//! What may be handed to a participant.

use std::sync::Arc;

use fedcompetitors_learn::weighted_sum;
use fedcompetitors_record::Content;
use serde::{Deserialize, Serialize};

use super::Given;
use crate::exchange::Message;

/// Values with the messages that they were made of.
///
/// The constructors take values and label from the same messages, so a label cannot name less than the values
/// carry. Messages of weight 0 are neither read nor named.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Labelled {
    content: Content,
    values: Arc<Vec<f32>>,
    /// The messages, without their values.
    made_of: Vec<Message>,
}

impl Labelled {
    /// A message as it was sent.
    pub fn message(content: Content, message: &Message) -> Self {
        Self { content, values: message.shared_values(), made_of: vec![message.receipt()] }
    }

    /// The weighted sum of messages, in listed order; if there are none, or all have weight 0, nothing.
    pub fn sum(content: Content, parts: &[(&Message, f32)]) -> Option<Self> {
        let used = || parts.iter().filter(|(_, weight)| *weight != 0.0);
        let vectors: Vec<_> = used().map(|(one, weight)| (one.values(), *weight)).collect();
        if vectors.is_empty() {
            return None;
        }
        let values = Arc::new(weighted_sum(&vectors));
        Some(Self { content, values, made_of: used().map(|(one, _)| one.receipt()).collect() })
    }

    /// What is computed of these messages. How much of each is taken may follow from others that the receiver may have
    /// data of; their values may not.
    pub(crate) fn computed(
        content: Content,
        messages: &[&Message],
        compute: impl FnOnce() -> Vec<f32>,
    ) -> Self {
        let made_of = messages.iter().map(|message| message.receipt()).collect();
        Self { content, values: Arc::new(compute()), made_of }
    }

    /// As [`Labelled::sum`], with weights scaled to sum to 1 where some messages are missing.
    pub fn mixture(content: Content, parts: &[(&Message, f32)], all_there: bool) -> Option<Self> {
        let total = if all_there { 1.0 } else { parts.iter().map(|(_, weight)| weight).sum() };
        let scaled: Vec<_> = parts.iter().map(|&(one, weight)| (one, weight / total)).collect();
        Self::sum(content, &scaled)
    }

    /// What they are.
    pub fn content(&self) -> Content {
        self.content
    }

    /// The values.
    pub fn values(&self) -> &[f32] {
        &self.values
    }

    /// The messages that they were made of, without their values.
    pub fn made_of(&self) -> &[Message] {
        &self.made_of
    }

    /// The values as a participant is given them, who may then carry these participants' data.
    pub(super) fn given(&self, carried: Vec<u64>) -> Given {
        Given { content: self.content, values: Arc::clone(&self.values), carried }
    }
}
