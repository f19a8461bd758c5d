//! Asks and answers, carried in one process.

use fedcompetitors_record::Disclosure;
use rayon::prelude::*;

use super::{Answer, Coordinate, Estimation, Participant, Request};
use crate::{
    FederateError, Federation,
    estimate::Found,
    exchange::Exchange,
    faults::{Garbage, Played},
    saved,
    train::{Best, Effort, Training},
};

/// A training whose participants are all in this process.
pub struct Conversation {
    coordinator: Box<dyn Coordinate>,
    participants: Vec<Participant>,
}

impl Conversation {
    /// A training before its first round.
    pub fn begin(
        federation: &Federation<'_>,
        effort: Effort,
        coordinator: Box<dyn Coordinate>,
    ) -> Self {
        Self { coordinator, participants: participants(federation, effort) }
    }

    /// A training that goes on from its saved state, given how its coordinator does.
    ///
    /// # Errors
    /// If it was not saved by a training of this kind.
    pub fn resume(
        saved: &[u8],
        coordinator: impl FnOnce(&[u8]) -> Result<Box<dyn Coordinate>, FederateError>,
    ) -> Result<Self, FederateError> {
        let (length, rest) = saved.split_first_chunk().ok_or(FederateError::Checkpoint)?;
        let length = usize::try_from(u64::from_le_bytes(*length));
        let length = length.map_err(|_| FederateError::Checkpoint)?;
        let (state, rest) = rest.split_at_checked(length).ok_or(FederateError::Checkpoint)?;
        Ok(Self { coordinator: coordinator(state)?, participants: saved::read(rest)? })
    }
}

/// Makes an estimate with participants that are all in this process.
///
/// # Errors
/// If training diverges, or if the guard stops it.
pub fn estimate(
    federation: &Federation<'_>,
    exchange: &mut Exchange<'_>,
    effort: Effort,
    mut coordinator: Box<dyn Estimation>,
) -> Result<Found, FederateError> {
    let mut participants = participants(federation, effort);
    while !coordinator.is_finished() {
        exchange.begin(coordinator.done() + 1, &[]);
        phase(&mut *coordinator, &mut participants, federation, exchange, &Played::default())?;
    }
    Ok(coordinator.found(federation.competing()))
}

fn participants(federation: &Federation<'_>, effort: Effort) -> Vec<Participant> {
    let participant = |who: usize| Participant::new(&federation.site(who), effort);
    (0..federation.len()).into_par_iter().map(participant).collect()
}

/// One phase: everybody is asked, and what is played happens to the answers.
fn phase(
    coordinator: &mut dyn Coordinate,
    participants: &mut [Participant],
    federation: &Federation<'_>,
    exchange: &mut Exchange<'_>,
    played: &Played,
) -> Result<(), FederateError> {
    let phase = coordinator.begin(exchange)?;
    let mut answers = answers(participants, federation, phase.requests())?;
    for &(from, garbage) in &played.garbage {
        answers[from].iter_mut().for_each(|answer| spoil(answer, garbage));
    }
    coordinator.end(exchange, &phase, answers);
    Ok(())
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

/// What a fault makes of what is sent.
fn spoil(answer: &mut Answer, garbage: Garbage) {
    for piece in &mut answer.pieces {
        match garbage {
            Garbage::Nan => piece.iter_mut().step_by(2).for_each(|value| *value = f32::NAN),
            Garbage::WrongLength => {
                piece.pop();
            }
            Garbage::Huge => piece.iter_mut().for_each(|value| *value *= 1000.0),
        }
    }
}

impl Training for Conversation {
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
        played: &Played,
    ) -> Result<(), FederateError> {
        let Self { coordinator, participants } = self;
        let done = coordinator.done();
        while coordinator.done() == done {
            phase(&mut **coordinator, participants, federation, exchange, played)?;
        }
        if coordinator.done() == coordinator.rounds() {
            phase(&mut **coordinator, participants, federation, exchange, played)?;
        }
        Ok(())
    }

    fn best(&self, participant: usize) -> Best<'_> {
        self.participants[participant].best()
    }

    fn parts(&self, participant: usize) -> Vec<(usize, f32)> {
        self.coordinator.parts(participant)
    }

    fn disclosures(&self) -> Vec<Disclosure> {
        self.coordinator.disclosures()
    }

    fn save(&self) -> Vec<u8> {
        let state = self.coordinator.save();
        let length = (state.len() as u64).to_le_bytes();
        [&length[..], &state, &saved::write(&self.participants)].concat()
    }
}
