//! The coordinator of a training: whom it asks what, and what it does with the answers.

use fedcompetitors_graphs::bits;
use fedcompetitors_record::Content;
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use super::{Answer, Ask, Labelled, Participant, Request};
use crate::{
    FederateError, Federation,
    exchange::{Exchange, Message, Submission},
    saved,
};

/// What a trainer computes at the coordinator: what is asked, and what is made of the answers.
pub trait Combiner: Serialize + DeserializeOwned + Send + Sync + 'static {
    /// The number of rounds.
    fn rounds(&self) -> usize;

    /// The number of rounds that are done.
    fn done(&self) -> usize;

    /// What a participant that is present is asked in the next phase. In the phase after the last round
    /// everybody is asked to finish.
    fn ask(&self, participant: usize) -> Question<'_>;

    /// Combines what was heard of each participant in a phase of a round; nothing of those that are missing or
    /// whose messages were refused.
    fn take(&mut self, heard: Vec<Option<Heard>>);

    /// Those from whom a participant that has adopted something learns, itself included, with their weights.
    fn parts(&self, participant: usize) -> Vec<(usize, f32)>;
}

/// What a participant is asked, and what it is given with that.
#[derive(Debug, Clone)]
pub struct Question<'a> {
    /// The ask.
    pub ask: Ask,
    /// What it is given.
    pub given: Vec<&'a Labelled>,
}

/// The answer of a participant, as the coordinator has accepted it.
#[derive(Debug, Clone)]
pub struct Heard {
    /// Its messages, in the order in which it was asked for them.
    pub messages: Vec<Message>,
}

/// A phase on its way: the requests to carry, to those that are present.
#[derive(Debug)]
pub struct Phase {
    requests: Vec<Option<Request>>,
}

impl Phase {
    /// The request to each participant.
    pub fn requests(&self) -> &[Option<Request>] {
        &self.requests
    }
}

/// The coordinator of a training, whatever its trainer. Its state is plain data.
pub trait Coordinate: Send + Sync {
    /// The number of rounds.
    fn rounds(&self) -> usize;

    /// The number of rounds that are done.
    fn done(&self) -> usize;

    /// Whether all phases are done.
    fn is_finished(&self) -> bool;

    /// Those from whom a participant learns at present, itself included, with their weights.
    fn parts(&self, participant: usize) -> Vec<(usize, f32)>;

    /// Begins the next phase. What participants are given passes the guard here and enters the ledger.
    ///
    /// # Errors
    /// If something would carry a competitor's data to a participant.
    fn begin(&mut self, exchange: &mut Exchange<'_>) -> Result<Phase, FederateError>;

    /// Ends a phase with the answers that came until the deadline; the order in which they came does not
    /// matter. What cannot be used, or answers another request, counts as missing.
    fn end(&mut self, exchange: &mut Exchange<'_>, phase: &Phase, answers: Vec<Option<Answer>>);

    /// The state between two phases, for [`Trainer::resume`](crate::train::Trainer::resume).
    fn save(&self) -> Vec<u8>;
}

/// The coordinator with the half of a trainer.
#[derive(Serialize, Deserialize)]
pub struct Coordinator<C> {
    combiner: C,
    /// The phases that are done.
    phases: u64,
    /// Whether everybody has been asked to finish.
    is_finished: bool,
    /// For each participant those whose data it may carry: itself, and what was delivered to it. What it says
    /// about that itself does not matter.
    carried: Vec<Vec<u64>>,
    /// The last model that was accepted of each participant; the common start before that. What it sends next
    /// is judged by its distance from that.
    known: Vec<Vec<f32>>,
    has_learned: Vec<bool>,
}

impl<C: Combiner> Coordinator<C> {
    /// The coordinator before the first phase.
    pub fn new(federation: &Federation<'_>, combiner: C) -> Self {
        let (everybody, shared) = (|| 0..federation.len(), federation.shared());
        Self {
            combiner,
            phases: 0,
            is_finished: false,
            carried: everybody().map(|who| federation.site(who).own()).collect(),
            known: everybody()
                .map(|who| federation.site(who).initial()[..shared].to_vec())
                .collect(),
            has_learned: vec![false; federation.len()],
        }
    }
}

impl<C: Combiner> Coordinate for Coordinator<C> {
    fn rounds(&self) -> usize {
        self.combiner.rounds()
    }

    fn done(&self) -> usize {
        self.combiner.done()
    }

    fn is_finished(&self) -> bool {
        self.is_finished
    }

    fn parts(&self, participant: usize) -> Vec<(usize, f32)> {
        if self.has_learned[participant] {
            self.combiner.parts(participant)
        } else {
            vec![(participant, 1.0)]
        }
    }

    fn begin(&mut self, exchange: &mut Exchange<'_>) -> Result<Phase, FederateError> {
        self.phases += 1;
        let mut requests = Vec::with_capacity(self.carried.len());
        for (to, all) in self.carried.iter_mut().enumerate() {
            if !exchange.is_there(to) {
                requests.push(None);
                continue;
            }
            let Question { ask, given } = self.combiner.ask(to);
            let mut request = Request { id: self.phases, ask, given: Vec::new() };
            for piece in given {
                let carried = exchange.hand_over(to, piece)?;
                bits::union(all, &carried);
                request.given.push(piece.given(carried));
            }
            requests.push(Some(request));
        }
        Ok(Phase { requests })
    }

    fn end(&mut self, exchange: &mut Exchange<'_>, phase: &Phase, answers: Vec<Option<Answer>>) {
        let requests = phase.requests.iter().map(Option::as_ref);
        let mut all: Vec<Option<Sent>> = Vec::with_capacity(answers.len());
        for (from, (request, answer)) in requests.zip(answers).enumerate() {
            let sent = request.zip(answer).and_then(|(request, answer)| Sent::of(request, answer));
            if let Some(sent) = &sent {
                self.has_learned[from] = sent.has_learned;
            }
            all.push(sent);
        }
        let heard = self.accept(exchange, all);
        if self.combiner.done() == self.combiner.rounds() {
            self.is_finished = true;
        } else {
            self.combiner.take(heard);
        }
    }

    fn save(&self) -> Vec<u8> {
        // As a conversation without participants.
        let participants: [Participant; 0] = [];
        saved::write(&(self, &participants[..]))
    }
}

impl<C: Combiner> Coordinator<C> {
    /// What is accepted of the answers. An answer counts if all of its pieces are accepted.
    fn accept(
        &mut self,
        exchange: &mut Exchange<'_>,
        mut all: Vec<Option<Sent>>,
    ) -> Vec<Option<Heard>> {
        let empty = |sent: &Option<Sent>| sent.as_ref().map(|_| Heard { messages: Vec::new() });
        let mut heard: Vec<Option<Heard>> = all.iter().map(empty).collect();
        for content in [Content::Model, Content::Update, Content::Gradient] {
            let submissions: Vec<Option<Submission>> = all
                .iter_mut()
                .enumerate()
                .map(|(from, sent)| {
                    let values = sent.as_mut()?.take(content)?;
                    let is_model = content == Content::Model;
                    let before = if is_model { self.known[from].clone() } else { Vec::new() };
                    Some(Submission { values, before, carried: self.carried[from].clone() })
                })
                .collect();
            let sends: Vec<bool> = submissions.iter().map(Option::is_some).collect();
            if !sends.contains(&true) {
                continue;
            }
            let length = self.known.first().map_or(0, Vec::len);
            let accepted = exchange.collect(content, length, submissions);
            for (from, message) in accepted.into_iter().enumerate() {
                let Some(message) = message else {
                    if sends[from] {
                        heard[from] = None;
                    }
                    continue;
                };
                if content == Content::Model {
                    self.known[from].clone_from(&message.values);
                }
                if let Some(heard) = &mut heard[from] {
                    heard.messages.push(message);
                }
            }
        }
        heard
    }
}

/// The pieces of an answer, each with what it is.
struct Sent {
    pieces: Vec<(Content, Vec<f32>)>,
    has_learned: bool,
}

impl Sent {
    /// The pieces that were asked for; nothing if it answers another request, or with other pieces.
    fn of(request: &Request, answer: Answer) -> Option<Self> {
        let sends = request.ask.sends();
        let fits = answer.id == request.id && answer.pieces.len() == sends.len();
        fits.then(|| Self {
            pieces: sends.iter().copied().zip(answer.pieces).collect(),
            has_learned: answer.has_learned,
        })
    }

    fn take(&mut self, content: Content) -> Option<Vec<f32>> {
        let at = self.pieces.iter().position(|piece| piece.0 == content)?;
        Some(std::mem::take(&mut self.pieces[at].1))
    }
}
