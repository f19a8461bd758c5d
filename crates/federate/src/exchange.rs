//! What goes from participants to the coordinator and back, and the guard at that door.
//!
//! Everything that moves carries its provenance: the participants whose data influenced
//! it. What is made of several things carries what they all carry. Before anything is
//! handed to a participant the guard looks whether it carries a competitor's data, and if
//! so stops the training. It works on what happened, not on what was planned: with a plan
//! that keeps the rule it never fires, and it is here for the bugs and the changes.
//!
//! What comes in is looked at too: what is no number, of the wrong length or far too large
//! is refused by name, and the round goes on without it.

use std::{borrow::Cow, collections::BTreeMap, sync::Arc};

use fedcompetitors_graphs::{
    CompetingGraph,
    bits::{self, common_ones, contains, ones},
};
pub use fedcompetitors_record::{Content, Incident, IncidentKind, Transfer};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::{FederateError, protocol::Labelled};

/// What a participant sends to the coordinator.
#[derive(Debug, Clone, Copy)]
pub struct Submission<'a> {
    /// The numbers.
    pub values: &'a [f32],
    /// Where they would be if the participant had done nothing: what the coordinator last knew of it. Nothing stands
    /// for zeros.
    pub before: &'a [f32],
    /// Whose data they carry, as a set of bits.
    pub carried: &'a [u64],
}

/// A submission that the coordinator has accepted, with its number in the ledger.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Message {
    from: usize,
    values: Arc<Vec<f32>>,
    carried: Vec<u64>,
    entry: u64,
}

impl Message {
    /// Who sent it.
    pub fn from(&self) -> usize {
        self.from
    }

    /// The numbers.
    pub fn values(&self) -> &[f32] {
        &self.values
    }

    /// The numbers, without a copy.
    pub(crate) fn shared_values(&self) -> Arc<Vec<f32>> {
        Arc::clone(&self.values)
    }

    /// The same with its numbers, which were kept apart. The hash in the ledger shows whether they are the same.
    #[must_use]
    pub fn restored(self, values: Vec<f32>) -> Self {
        Self { values: Arc::new(values), ..self }
    }

    /// Its number in the ledger.
    pub fn entry(&self) -> u64 {
        self.entry
    }

    /// Whose data it carries, as a set of bits.
    pub fn carried(&self) -> &[u64] {
        &self.carried
    }

    /// What it was, without its numbers.
    #[must_use]
    pub fn receipt(&self) -> Self {
        let (values, carried) = (Arc::default(), self.carried.clone());
        Self { values, carried, ..*self }
    }
}

/// What a participant sends is refused if it is this many times larger than what is usual.
const TOO_MANY_TIMES: f64 = 100.0;

/// Senders below which there is nothing to compare with.
const FEW: usize = 2;

/// The door between participants and coordinator.
#[derive(Debug)]
pub struct Exchange<'a> {
    competing: &'a CompetingGraph,
    /// Keep a ledger?
    recording: bool,
    round: usize,
    /// Those who are missing in this round.
    absent: Vec<usize>,
    transfers: Vec<Transfer>,
    incidents: Vec<Incident>,
    memory: Memory,
}

/// What must outlive an interruption.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Memory {
    /// How many entries the ledger has so far.
    entries: u64,
    /// From whom a participant first got what carries another one's data.
    first_from: BTreeMap<(usize, usize), usize>,
    /// The largest change that was accepted from each participant, for each content.
    largest: BTreeMap<(usize, Content), f64>,
}

impl<'a> Exchange<'a> {
    /// A door with a guard and without a ledger, for experiments.
    pub fn new(competing: &'a CompetingGraph) -> Self {
        Self {
            competing,
            recording: false,
            round: 0,
            absent: Vec::new(),
            transfers: Vec::new(),
            incidents: Vec::new(),
            memory: Memory::default(),
        }
    }

    /// An exchange with guard and ledger.
    pub fn recorded(competing: &'a CompetingGraph) -> Self {
        Self { recording: true, ..Self::new(competing) }
    }

    /// Who competes with whom.
    pub fn competing(&self) -> &'a CompetingGraph {
        self.competing
    }

    /// Begins a round, counted from 1, in which these participants are missing.
    pub fn begin(&mut self, round: usize, absent: &[usize]) {
        self.round = round;
        self.absent = absent.to_vec();
        for &participant in absent {
            self.incident(participant, IncidentKind::Missing);
        }
    }

    /// Whether a participant is present in this round.
    pub fn is_there(&self, participant: usize) -> bool {
        !self.absent.contains(&participant)
    }

    /// Notes something that did not go as it should.
    pub fn incident(&mut self, participant: usize, kind: IncidentKind) {
        self.incidents.push(Incident { round: self.round, participant, kind });
    }

    /// Takes the submissions of the participants, each at its index and of this length; what cannot be used is refused.
    /// If they are compared, what is far larger than what others or its sender have sent is refused, too. Gives the
    /// messages that were accepted without their numbers, which stay where they are.
    pub fn take(
        &mut self,
        content: Content,
        length: usize,
        compares: bool,
        submissions: &[Option<Submission<'_>>],
    ) -> Vec<Option<Message>> {
        let look = |submission: &Submission<'_>| {
            (change(submission, length), self.weigh(submission.values))
        };
        let looked_at: Vec<_> =
            submissions.par_iter().map(|submission| submission.as_ref().map(look)).collect();
        let usual = usual(looked_at.iter().flatten().filter_map(|(change, _)| change.ok()));
        let mut accepted = Vec::with_capacity(submissions.len());
        for (from, (submission, looked_at)) in submissions.iter().zip(looked_at).enumerate() {
            let (Some(submission), Some((change, weighed))) = (submission, looked_at) else {
                accepted.push(None);
                continue;
            };
            accepted.push(
                match change.and_then(|change| self.sized((from, content), change, usual, compares))
                {
                    Ok(()) => {
                        let (values, carried) = (Arc::default(), submission.carried.to_vec());
                        let way = (Some(from), None);
                        let entry = self.enter(way, content, Vec::new(), &carried, weighed);
                        Some(Message { from, values, carried, entry })
                    }
                    Err(kind) => {
                        self.incident(from, kind);
                        None
                    }
                },
            );
        }
        accepted
    }

    /// Is a change of a size that can be believed?
    fn sized(
        &mut self,
        of: (usize, Content),
        change: f64,
        usual: Option<f64>,
        compares: bool,
    ) -> Result<(), IncidentKind> {
        let largest = self.memory.largest.entry(of).or_insert(0.0);
        let most = if compares { usual.unwrap_or(0.0).max(*largest) } else { 0.0 };
        // With nothing to compare with, everything is believed.
        if most > 0.0 && change > TOO_MANY_TIMES * most {
            return Err(IncidentKind::TooLarge);
        }
        *largest = largest.max(change);
        Ok(())
    }

    /// Takes a participant's data into the coordinator's trust.
    pub fn entrust(&mut self, from: usize) -> Message {
        let carried = bits::only(from, self.competing.participants().len());
        let (way, weighed) = ((Some(from), None), self.weigh(&[]));
        let entry = self.enter(way, Content::Data, Vec::new(), &carried, weighed);
        Message { from, values: Arc::default(), carried, entry }
    }

    /// Hands something to a participant; returns whose data it carries.
    ///
    /// # Errors
    /// If it carries data of a competitor.
    pub fn hand_over(&mut self, to: usize, piece: &Labelled) -> Result<Vec<u64>, FederateError> {
        self.deliver(to, piece.content(), piece.values(), piece.made_of())
    }

    /// Hands a participant what was made of these messages; returns whose data it carries.
    ///
    /// # Errors
    /// If it carries data of a competitor.
    pub fn deliver(
        &mut self,
        to: usize,
        content: Content,
        values: &[f32],
        made_of: &[Message],
    ) -> Result<Vec<u64>, FederateError> {
        let mut carried = vec![0; self.competing.competitors(to).len()];
        for message in made_of {
            bits::union(&mut carried, &message.carried);
        }
        if let Some(rival) = common_ones(&carried, self.competing.competitors(to)).next() {
            return Err(self.breach(to, rival, made_of));
        }
        for message in made_of.iter().filter(|message| message.from != to) {
            for other in ones(&message.carried).filter(|&other| other != to) {
                self.memory.first_from.entry((to, other)).or_insert(message.from);
            }
        }
        let entries = made_of.iter().map(|message| message.entry).collect();
        let weighed = self.weigh(values);
        self.enter((None, Some(to)), content, entries, &carried, weighed);
        Ok(carried)
    }

    /// The way that a competitor's data would have taken.
    fn breach(&self, to: usize, rival: usize, made_of: &[Message]) -> FederateError {
        let mut path = vec![to];
        let last = made_of.iter().find(|message| contains(&message.carried, rival));
        let mut at = last.map_or(rival, |message| message.from);
        while at != rival && path.len() <= self.competing.participants().len() {
            path.push(at);
            at = self.memory.first_from.get(&(at, rival)).copied().unwrap_or(rival);
        }
        path.push(rival);
        let name = |participant: usize| self.competing.participants().name(participant).to_owned();
        FederateError::Guard {
            round: self.round,
            to: name(to),
            rival: name(rival),
            path: path.into_iter().rev().map(name).collect(),
        }
    }

    /// The size of numbers, and what they are told by where a ledger is kept.
    fn weigh(&self, values: &[f32]) -> (u64, [u8; 32]) {
        let hash = if self.recording { hash(values) } else { [0; 32] };
        (4 * values.len() as u64, hash)
    }

    fn enter(
        &mut self,
        (from, to): (Option<usize>, Option<usize>),
        content: Content,
        made_of: Vec<u64>,
        carried: &[u64],
        (bytes, hash): (u64, [u8; 32]),
    ) -> u64 {
        self.memory.entries += 1;
        let entry = self.memory.entries;
        if self.recording {
            self.transfers.push(Transfer {
                entry,
                round: self.round,
                from,
                to,
                content,
                made_of,
                provenance: ones(carried).collect(),
                bytes,
                hash,
            });
        }
        entry
    }

    /// What has moved and what went wrong since this was last asked.
    pub fn drain(&mut self) -> (Vec<Transfer>, Vec<Incident>) {
        (std::mem::take(&mut self.transfers), std::mem::take(&mut self.incidents))
    }

    /// What the door remembers, for [`Exchange::recall`].
    pub fn save(&self) -> Vec<u8> {
        crate::saved::write(&self.memory)
    }

    /// Goes on where another has stopped.
    ///
    /// # Errors
    /// If that is not what [`Exchange::save`] gave.
    pub fn recall(&mut self, saved: &[u8]) -> Result<(), FederateError> {
        self.memory = crate::saved::read(saved)?;
        Ok(())
    }
}

/// The SHA-256 of numbers, little-endian one after the other.
pub fn hash(values: &[f32]) -> [u8; 32] {
    Sha256::digest(&*bytes(values)).into()
}

/// Bytes in lower case hexadecimal.
pub fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write;
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Numbers as bytes, little-endian one after the other. Where memory has them so they are not
/// copied: models have hundreds of megabytes, and are hashed whenever they move.
pub fn bytes(values: &[f32]) -> Cow<'_, [u8]> {
    if cfg!(target_endian = "little") {
        Cow::Borrowed(bytemuck::cast_slice(values))
    } else {
        Cow::Owned(values.iter().flat_map(|value| value.to_le_bytes()).collect())
    }
}

/// The numbers of such bytes, and what is left of them.
pub fn numbers(bytes: &[u8]) -> (impl Iterator<Item = f32> + '_, &[u8]) {
    let (fours, rest) = bytes.as_chunks();
    (fours.iter().copied().map(f32::from_le_bytes), rest)
}

/// Whether messages of this content are compared in size. A summary is as large as its sender's data; what a
/// receiver makes of it is bounded. A trunk goes to participants that may get nothing that follows from those that it
/// would be compared with.
pub fn is_compared(content: Content) -> bool {
    !matches!(content, Content::Summary | Content::Trunk)
}

/// How much a submission changes, if it can be used at all.
fn change(submission: &Submission<'_>, length: usize) -> Result<f64, IncidentKind> {
    if submission.values.len() != length {
        return Err(IncidentKind::WrongLength);
    }
    let (both, rest) = submission.values.split_at(submission.before.len().min(length));
    let size = (squares(both, submission.before) + squares(rest, &[])).sqrt();
    if size.is_finite() { Ok(size) } else { Err(IncidentKind::NotFinite) }
}

/// The sum of the squares of what has changed, as far as there was something before; of all, if
/// there was nothing. Eight sums side by side, which the processor can make at once: a model has
/// millions of numbers, and everybody waits for this.
fn squares(values: &[f32], before: &[f32]) -> f64 {
    const SIDE: usize = 8;
    const NOTHING: [f32; SIDE] = [0.0; SIDE];
    let add = |sums: &mut [f64; SIDE], values: &[f32], before: &[f32]| {
        for ((sum, value), before) in sums.iter_mut().zip(values).zip(before) {
            let difference = f64::from(*value) - f64::from(*before);
            *sum += difference * difference;
        }
    };
    let mut sums = [0.0; SIDE];
    if before.is_empty() {
        values.chunks(SIDE).for_each(|values| add(&mut sums, values, &NOTHING));
    } else {
        let pairs = values.chunks(SIDE).zip(before.chunks(SIDE));
        pairs.for_each(|(values, before)| add(&mut sums, values, before));
    }
    sums.iter().sum()
}

/// The middle of the changes, where there are enough to have one. Of an even number the
/// lower of the two in the middle: garbage must not speak for itself.
fn usual(changes: impl Iterator<Item = f64>) -> Option<f64> {
    let mut changes: Vec<f64> = changes.collect();
    changes.sort_by(f64::total_cmp);
    (changes.len() >= FEW).then(|| changes[(changes.len() - 1) / 2])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_what_one_would_add_up() {
        for length in 0..40_u8 {
            let values: Vec<f32> = (0..length).map(|at| f32::from(at) * 0.75 - 3.0).collect();
            for known in 0..=length {
                let before: Vec<f32> = (0..known).map(|at| f32::from(at) * 0.5).collect();
                let submission = Submission { values: &values, before: &before, carried: &[] };
                let padded = before.iter().copied().chain(std::iter::repeat(0.0));
                let plain = values.iter().zip(padded);
                let plain = plain.map(|(value, before)| f64::from(value - before).powi(2));
                let (found, expected) =
                    (change(&submission, length.into()), plain.sum::<f64>().sqrt());
                assert!((found.expect("finite") - expected).abs() < 1e-9, "{length} {known}");
            }
            let submission = Submission { values: &values, before: &[], carried: &[] };
            assert_eq!(
                change(&submission, usize::from(length) + 1),
                Err(IncidentKind::WrongLength)
            );
        }
        let submission = Submission { values: &[1.0, f32::NAN], before: &[], carried: &[] };
        assert_eq!(change(&submission, 2), Err(IncidentKind::NotFinite));
    }
}
