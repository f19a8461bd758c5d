//! Asks and answers, carried in one process.

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::{Adopt, Answer, Ask, Combiner, Coordinate, Coordinator, Participant, Request};
use crate::{
    FederateError, Federation,
    exchange::Exchange,
    saved,
    train::{Best, Effort, Training},
};

/// A training whose participants are all in this process.
#[derive(Serialize, Deserialize)]
pub struct Conversation<C> {
    coordinator: Coordinator<C>,
    participants: Vec<Participant>,
}

impl<C: Combiner> Conversation<C> {
    /// A training before its first round.
    pub fn begin(federation: &Federation<'_>, effort: Effort, combiner: C) -> Box<dyn Training> {
        let participants = (0..federation.len())
            .map(|who| Participant::new(&federation.site(who), effort))
            .collect();
        Box::new(Self { coordinator: Coordinator::new(federation, combiner), participants })
    }

    /// A training that resumes from its saved state.
    ///
    /// # Errors
    /// If it was not saved by a training of this kind.
    pub fn resume(saved: &[u8]) -> Result<Box<dyn Training>, FederateError> {
        Ok(Box::new(saved::read::<Self>(saved)?))
    }

    fn phase(
        &mut self,
        federation: &Federation<'_>,
        exchange: &mut Exchange<'_>,
    ) -> Result<(), FederateError> {
        let phase = self.coordinator.begin(exchange)?;
        let answers = answers(&mut self.participants, federation, phase.requests())?;
        self.coordinator.end(exchange, &phase, answers);
        Ok(())
    }

    /// Whoever is missing in the end finishes with what it has.
    fn finish_missing(
        &mut self,
        federation: &Federation<'_>,
        exchange: &Exchange<'_>,
    ) -> Result<(), FederateError> {
        let request = Request { id: u64::MAX, ask: Ask::Finish(Adopt::ALWAYS), given: Vec::new() };
        let is_missing = |who: usize| !exchange.is_there(who);
        let requests: Vec<Option<Request>> =
            (0..federation.len()).map(|who| is_missing(who).then(|| request.clone())).collect();
        answers(&mut self.participants, federation, &requests).map(|_| ())
    }
}

/// The answers of those who are asked, in parallel. If several fail, the error is that of the first in order.
fn answers(
    participants: &mut [Participant],
    federation: &Federation<'_>,
    requests: &[Option<Request>],
) -> Result<Vec<Option<Answer>>, FederateError> {
    let answers: Vec<_> = participants
        .par_iter_mut()
        .zip(requests)
        .enumerate()
        .map(|(who, (participant, request))| {
            Some(participant.answer(&federation.site(who), request.as_ref()?))
        })
        .collect();
    answers.into_iter().map(Option::transpose).collect()
}

impl<C: Combiner> Training for Conversation<C> {
    fn rounds(&self) -> usize {
        self.coordinator.rounds()
    }

    fn done(&self) -> usize {
        self.coordinator.done()
    }

    fn round(
        &mut self,
        federation: &Federation<'_>,
        exchange: &mut Exchange<'_>,
    ) -> Result<(), FederateError> {
        let done = self.done();
        while self.done() == done {
            self.phase(federation, exchange)?;
        }
        if self.done() == self.rounds() {
            self.phase(federation, exchange)?;
            self.finish_missing(federation, exchange)?;
        }
        Ok(())
    }

    fn best(&self, participant: usize) -> Best<'_> {
        self.participants[participant].best()
    }

    fn parts(&self, participant: usize) -> Vec<(usize, f32)> {
        self.coordinator.parts(participant)
    }

    fn coordinator(self: Box<Self>) -> Option<Box<dyn Coordinate>> {
        Some(Box::new(self.coordinator))
    }

    fn save(&self) -> Vec<u8> {
        saved::write(self)
    }
}
