//! The coordinator of an estimate or a training: whom it asks what, and what it does with the answers.

use fedcompetitors_graphs::{CompetingGraph, bits};
use fedcompetitors_learn::linear::{BadSummary, Summary};
use fedcompetitors_record::{Content, Disclosure, IncidentKind};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use super::{Answer, Ask, Labelled, Report, Request};
use crate::{
    FederateError, Known,
    estimate::Found,
    exchange::{Exchange, Message, Submission, is_compared},
    saved,
};

/// What a trainer or an estimator computes at the coordinator: what is asked, and what is made of the answers.
pub trait Combiner: Serialize + DeserializeOwned + Send + Sync + 'static {
    /// Whether everybody is asked to finish after the last round.
    const FINISHES: bool = true;

    /// The number of rounds.
    fn rounds(&self) -> usize;

    /// The number of rounds that are done.
    fn done(&self) -> usize;

    /// What a participant that is present is asked in the next phase. In the phase after the last round
    /// everybody is asked to finish.
    fn ask(&self, participant: usize) -> Question<'_>;

    /// Combines what was heard of each participant in a phase of a round; nothing of those that are missing or
    /// whose messages were refused.
    fn take(&mut self, competing: &CompetingGraph, heard: Vec<Option<Heard>>);

    /// Whether messages of this content are compared in size.
    fn compares(&self, content: Content) -> bool {
        is_compared(content)
    }

    /// A participant was given what its question said.
    fn given(&mut self, _participant: usize) {}

    /// Those from whom a participant learns, itself included, with their weights, given how much it uses of its own
    /// and of each piece that it was last given. By default it learns from nobody.
    fn parts(&self, participant: usize, _uses: &[f64]) -> Vec<(usize, f32)> {
        vec![(participant, 1.0)]
    }

    /// What its messages would reveal of few rows, and what was done about it.
    fn disclosures(&self) -> Vec<Disclosure> {
        Vec::new()
    }
}

/// A combiner that finds who would help whom.
pub trait Finder: Combiner {
    /// What was found, after the last round.
    fn found(&self, competing: &CompetingGraph) -> Found;
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
    /// What it reports besides.
    pub report: Report,
}

/// A phase on its way: the request to each participant.
#[derive(Debug)]
pub struct Phase {
    requests: Vec<Option<Request>>,
}

impl Phase {
    /// The request to each participant. One that cannot be reached has a request too, where it has to do something
    /// that needs no exchange.
    pub fn requests(&self) -> &[Option<Request>] {
        &self.requests
    }
}

/// The coordinator of an estimate or a training, whatever it computes. Its state is plain data.
pub trait Coordinate: Send + Sync {
    /// The number of rounds.
    fn rounds(&self) -> usize;

    /// The number of rounds that are done.
    fn done(&self) -> usize;

    /// Whether all phases are done.
    fn is_finished(&self) -> bool;

    /// Those from whom a participant learns at present, itself included, with their weights.
    fn parts(&self, participant: usize) -> Vec<(usize, f32)>;

    /// What its messages would reveal of few rows, and what was done about it.
    fn disclosures(&self) -> Vec<Disclosure>;

    /// Begins the next phase. What participants are given passes the guard here and enters the ledger.
    ///
    /// # Errors
    /// If something would carry a competitor's data to a participant.
    fn begin(&mut self, exchange: &mut Exchange<'_>) -> Result<Phase, FederateError>;

    /// Ends a phase with the answers that came until the deadline; the order in which they came does not
    /// matter. Who has not answered, or has answered something else, is noted and counts as missing.
    fn end(&mut self, exchange: &mut Exchange<'_>, phase: &Phase, answers: Vec<Option<Answer>>);

    /// The state between two phases.
    fn save(&self) -> Vec<u8>;
}

/// The coordinator of an estimate.
pub trait Estimation: Coordinate {
    /// Who would help whom, once all phases are done.
    fn found(&self, competing: &CompetingGraph) -> Found;
}

/// The coordinator with the half of a trainer or an estimator.
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
    /// The shared parameters that everybody starts from.
    start: Vec<f32>,
    /// The last model that was accepted of each participant, none before the first. What it sends next is judged by
    /// its distance from that, or from the start.
    last: Vec<Option<Message>>,
    /// What each participant has last reported to use.
    uses: Vec<Vec<f64>>,
    /// The numbers of coefficients and of parameters of hidden layers of a model.
    coefficients: usize,
    trunk: usize,
}

impl<C: Combiner> Coordinator<C> {
    /// The coordinator before the first phase.
    pub fn new(known: &Known<'_>, combiner: C) -> Self {
        Self {
            combiner,
            phases: 0,
            is_finished: false,
            carried: (0..known.len()).map(|who| bits::only(who, known.len())).collect(),
            start: known.start.clone(),
            last: vec![None; known.len()],
            uses: vec![Vec::new(); known.len()],
            coefficients: known.coefficients(),
            trunk: known.trunk(),
        }
    }

    /// A coordinator that goes on from its saved state.
    ///
    /// # Errors
    /// If it was not saved by a coordinator of this kind.
    pub fn resume(saved: &[u8]) -> Result<Box<dyn Coordinate>, FederateError> {
        Ok(Box::new(saved::read::<Self>(saved)?))
    }

    /// The number of values of a message.
    fn length(&self, content: Content) -> usize {
        match content {
            Content::Summary => Summary::message_length(self.coefficients),
            Content::Trunk => self.trunk,
            _ => self.start.len(),
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
        self.is_finished || (!C::FINISHES && self.done() == self.rounds())
    }

    fn parts(&self, participant: usize) -> Vec<(usize, f32)> {
        match &self.uses[participant][..] {
            [] => vec![(participant, 1.0)],
            uses => self.combiner.parts(participant, uses),
        }
    }

    fn disclosures(&self) -> Vec<Disclosure> {
        self.combiner.disclosures()
    }

    fn begin(&mut self, exchange: &mut Exchange<'_>) -> Result<Phase, FederateError> {
        self.phases += 1;
        let mut requests = Vec::with_capacity(self.carried.len());
        for (to, all) in self.carried.iter_mut().enumerate() {
            let Question { ask, given } = self.combiner.ask(to);
            if !exchange.is_there(to) {
                let alone = ask.alone();
                requests.push(alone.map(|ask| Request { id: self.phases, ask, given: Vec::new() }));
                continue;
            }
            let mut request = Request { id: self.phases, ask, given: Vec::new() };
            for piece in given {
                let carried = exchange.hand_over(to, piece)?;
                bits::union(all, &carried);
                request.given.push(piece.given(carried));
            }
            if !request.given.is_empty() {
                self.combiner.given(to);
            }
            requests.push(Some(request));
        }
        Ok(Phase { requests })
    }

    fn end(&mut self, exchange: &mut Exchange<'_>, phase: &Phase, answers: Vec<Option<Answer>>) {
        let requests = phase.requests.iter().map(Option::as_ref);
        let mut all: Vec<Option<Sent>> = Vec::with_capacity(answers.len());
        for (from, (request, answer)) in requests.zip(answers).enumerate() {
            let answered = answer.is_some();
            let mut sent =
                request.zip(answer).and_then(|(request, answer)| Sent::of(request, answer));
            if request.is_some() && sent.is_none() && exchange.is_there(from) {
                let kind = if answered { IncidentKind::Unreadable } else { IncidentKind::Missing };
                exchange.incident(from, kind);
            }
            if let Some(Sent { report, .. }) = &mut sent {
                report.drop_impossible(self.carried.len(), self.coefficients);
                self.uses[from].clone_from(&report.uses);
            }
            // Who cannot be reached has sent nothing.
            all.push(sent.filter(|_| exchange.is_there(from)));
        }
        let heard = self.accept(exchange, all);
        if C::FINISHES && self.combiner.done() == self.combiner.rounds() {
            self.is_finished = true;
        } else {
            self.combiner.take(exchange.competing(), heard);
        }
    }

    fn save(&self) -> Vec<u8> {
        saved::write(self)
    }
}

impl<C: Finder> Estimation for Coordinator<C> {
    fn found(&self, competing: &CompetingGraph) -> Found {
        self.combiner.found(competing)
    }
}

impl<C: Combiner> Coordinator<C> {
    /// What is accepted of the answers. An answer counts if all of its pieces are accepted.
    fn accept(
        &mut self,
        exchange: &mut Exchange<'_>,
        mut all: Vec<Option<Sent>>,
    ) -> Vec<Option<Heard>> {
        let empty = |sent: &Option<Sent>| {
            let report = sent.as_ref()?.report.clone();
            Some(Heard { messages: Vec::new(), report })
        };
        let mut heard: Vec<Option<Heard>> = all.iter().map(empty).collect();
        let contents =
            [Content::Model, Content::Update, Content::Gradient, Content::Trunk, Content::Summary];
        for content in contents {
            let pieces: Vec<Option<Vec<f32>>> =
                all.iter_mut().map(|sent| sent.as_mut()?.take(content)).collect();
            if pieces.iter().all(Option::is_none) {
                continue;
            }
            let views = pieces.iter().enumerate().map(|(from, values)| {
                let last = self.last[from].as_ref().map_or(&self.start[..], Message::values);
                let before = if content == Content::Model { last } else { &[] };
                Some(Submission { values: values.as_ref()?, before, carried: &self.carried[from] })
            });
            let views: Vec<_> = views.collect();
            let (length, compares) = (self.length(content), self.combiner.compares(content));
            let receipts = exchange.take(content, length, compares, &views);
            let sends: Vec<bool> = pieces.iter().map(Option::is_some).collect();
            let with_values = |(receipt, values): (Option<Message>, Option<Vec<f32>>)| {
                Some(receipt?.restored(values?))
            };
            let accepted: Vec<Option<Message>> =
                receipts.into_iter().zip(pieces).map(with_values).collect();
            for (from, message) in accepted.into_iter().enumerate() {
                let message = message.filter(|one| self.is_sound(exchange, content, one));
                let Some(message) = message else {
                    if sends[from] {
                        heard[from] = None;
                    }
                    continue;
                };
                if content == Content::Model {
                    self.last[from] = Some(message.clone());
                }
                if let Some(heard) = &mut heard[from] {
                    heard.messages.push(message);
                }
            }
        }
        heard
    }

    /// Whether a message that has the right length and is finite is what it should be; if not, it is refused by its
    /// sender's name.
    fn is_sound(&self, exchange: &mut Exchange<'_>, content: Content, message: &Message) -> bool {
        if content != Content::Summary {
            return true;
        }
        let Err(bad) = Summary::from_message(self.coefficients, message.values()) else {
            return true;
        };
        let kind = match bad {
            BadSummary::Length => IncidentKind::WrongLength,
            BadSummary::NotFinite => IncidentKind::NotFinite,
            BadSummary::NotPositive => IncidentKind::NotPositive,
        };
        exchange.incident(message.from(), kind);
        false
    }
}

impl Report {
    /// Drops what cannot be true, given the numbers of participants and coefficients.
    fn drop_impossible(&mut self, participants: usize, coefficients: usize) {
        let is_weight = |weight: &f64| (0.0..=MOST_WEIGHT).contains(weight);
        let has_own = self.uses.first().is_some_and(|own| *own > 0.0);
        if !has_own || self.uses.len() > participants || !self.uses.iter().all(is_weight) {
            self.uses.clear();
        }
        self.left_out.retain(|feature| *feature < coefficients);
        self.left_out.sort_unstable();
        self.left_out.dedup();
    }
}

/// The largest weight that is believed.
const MOST_WEIGHT: f64 = 1e6;

/// The pieces of an answer, each with what it is.
struct Sent {
    pieces: Vec<(Content, Vec<f32>)>,
    report: Report,
}

impl Sent {
    /// The pieces that were asked for; nothing if it answers another request, or with other pieces.
    fn of(request: &Request, answer: Answer) -> Option<Self> {
        let sends = request.ask.sends();
        let fits = answer.id == request.id && answer.pieces.len() == sends.len();
        fits.then(|| Self {
            pieces: sends.iter().copied().zip(answer.pieces).collect(),
            report: answer.report,
        })
    }

    fn take(&mut self, content: Content) -> Option<Vec<f32>> {
        let at = self.pieces.iter().position(|piece| piece.0 == content)?;
        Some(std::mem::take(&mut self.pieces[at].1))
    }
}
