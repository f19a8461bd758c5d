//! An estimate on the way, for which a training is set aside.

use fedcompetitors_federate::estimate::MIXTURE;
use fedcompetitors_graphs::{BenefitGraph, Entry};

use fedcompetitors_record::Session;

use super::{Ledger, Passed};
use crate::{
    RunError,
    store::{Estimate, Happened},
};

/// A training that is set aside.
#[derive(Debug)]
pub struct Aside {
    /// What the estimate is called.
    pub label: String,
    /// The first round of the training that follows it.
    before: usize,
    passed: Passed,
}

impl Ledger {
    /// Begins an estimate before a round of the training, counted from 1. It has a ledger of its
    /// own: everybody carries its own data and nothing else, as everybody trains a new model
    /// alone. A training that is on its way is set aside.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn begin_estimate(&mut self, before: usize) -> Result<(), RunError> {
        let label = match before {
            1 => MIXTURE.name().to_owned(),
            _ => format!("{} before round {before}", MIXTURE.name()),
        };
        self.store.set_aside(Session::Final, &label)?;
        let passed = std::mem::replace(&mut self.passed, Passed::nothing(&self.competing));
        self.aside = Some(Aside { label, before, passed });
        Ok(())
    }

    /// Keeps what has moved in the estimate so far. To be called before anything goes to a
    /// participant, so that nothing is on its way that the ledger does not know.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn keep_estimate(&mut self) -> Result<(), RunError> {
        let Some(Aside { label, .. }) = &self.aside else {
            return Ok(());
        };
        self.store.keep_estimate(Session::Final, label, &self.passed.happened.transfers)
    }

    /// Breaks the estimate off: what it has shown stays on record, and nothing is found.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn break_off_estimate(&mut self) -> Result<(), RunError> {
        self.keep_estimate()?;
        if let Some(aside) = self.aside.take() {
            self.passed = aside.passed;
        }
        Ok(())
    }

    /// Ends the estimate: its models are thrown away, its benefits kept.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn end_estimate(&mut self, benefit: &BenefitGraph, gradients: u64) -> Result<(), RunError> {
        let Some(Aside { label, before, passed }) = self.aside.take() else {
            let (call, needed) = ("end_estimate", "begin_estimate");
            return Err(RunError::OutOfOrder { call, needed });
        };
        // Who was missing then is missing in the rounds that follow, which say so.
        let Happened { transfers, .. } = std::mem::replace(&mut self.passed, passed).happened;
        let estimate =
            Estimate { benefit: benefit.clone(), related: Vec::new(), gradients, before };
        self.round = before.saturating_sub(1);
        self.store.add_estimate(Session::Final, &label, &estimate, &transfers)
    }
}
