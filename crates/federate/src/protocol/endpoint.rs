//! A participant at the other end of a carrier that may lose, repeat or delay what it carries.

use serde::{Deserialize, Serialize};

use super::{Answer, Participant, Request};
use crate::{FederateError, Site};

/// A participant that answers each request once, and repeats its answer to a request that is repeated: without
/// that, a lost answer would train it twice.
///
/// Its state has to be kept, by [`saved::write`](crate::saved::write()), before an answer is sent: then a
/// participant that was interrupted repeats the same answer.
#[derive(Serialize, Deserialize)]
pub struct Endpoint {
    participant: Participant,
    last: Option<Answer>,
}

/// A request that came after a later one was answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stale;

impl Endpoint {
    /// A participant that has not been asked anything.
    pub fn new(participant: Participant) -> Self {
        Self { participant, last: None }
    }

    /// The participant.
    pub fn participant(&self) -> &Participant {
        &self.participant
    }

    /// The answer to a request: the last one again, if it is the same request.
    ///
    /// # Errors
    /// If training diverges.
    pub fn answer(
        &mut self,
        site: &Site<'_>,
        request: &Request,
    ) -> Result<Result<&Answer, Stale>, FederateError> {
        let last = self.last.as_ref().map_or(0, |last| last.id);
        if request.id < last {
            return Ok(Err(Stale));
        }
        if request.id > last || self.last.is_none() {
            self.last = Some(self.participant.answer(site, request)?);
        }
        Ok(self.last.as_ref().ok_or(Stale))
    }
}
