//! The models that a run keeps of remote participants, to go on with after an interruption.

use fedcompetitors_federate::exchange::Message;

use super::Ledger;
use crate::RunError;

impl Ledger {
    /// Keeps the last that was accepted of some participants: entries with their numbers. What
    /// is older is forgotten, but for the last each time of what carries fewer's data. To be
    /// called after [`Ledger::keep`], as the ledger's hashes show whether the numbers are still
    /// the same.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn keep_models(&mut self, all: &[(u64, &[f32])]) -> Result<(), RunError> {
        let Some(training) = self.training else {
            return Ok(());
        };
        let find =
            |entry: u64| self.passed.messages.iter().find(move |message| message.entry() == entry);
        let all: Vec<(&Message, &[f32])> =
            all.iter().filter_map(|(entry, values)| Some((find(*entry)?, *values))).collect();
        self.store.keep(training, &all)?;
        self.passed.messages = self.store.receipts(training)?;
        Ok(())
    }

    /// The last that was kept of a participant and carries no data of these others: its entry,
    /// its round and its numbers.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn last_without(
        &self,
        participant: usize,
        others: &[usize],
    ) -> Result<Option<(u64, usize, Vec<f32>)>, RunError> {
        let Some(training) = self.training else {
            return Ok(None);
        };
        let Some(found) = self.store.last_without(training, participant, others)? else {
            return Ok(None);
        };
        let round = self.store.round_of(training, found.entry())?;
        Ok(round.map(|round| (found.entry(), round, found.values().to_vec())))
    }

    /// The round in which a participant was first handed what carries another one's data, as
    /// far as that was kept.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn carries_since(
        &self,
        participant: usize,
        other: usize,
    ) -> Result<Option<usize>, RunError> {
        match self.training {
            Some(training) => self.store.carries_since(training, participant, other),
            None => Ok(None),
        }
    }
}
