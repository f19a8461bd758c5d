//! A run as a page: one file that needs nothing else, for people who would rather look than
//! read.
//!
//! Each part of the page is a function from a [`Page`] to markup with an id of its own, so that
//! a page that follows a run can replace one part without the others. Everything is drawn here:
//! the page has no script, and what it shows on paper is what it shows on a screen.

mod cards;
mod curves;
mod graphs;
mod layout;
mod ledger;
mod live;
mod matrix;
mod order;
mod own;
mod page;
mod proof;
mod refusals;
mod tables;
#[cfg(test)]
mod tests;
mod text;
mod what_if;

pub use live::{LIVE_ICON, LIVE_SCRIPT, LIVE_STYLE, Listed, list_page, live_page, message_page};
pub use maud::Markup;
pub use own::{own_page, own_part};
pub use page::{Section, header, page, sections};
pub use what_if::{Changed, WhatIf, what_if_page};

use fedcompetitors_record::{Audit, Finding, Record, Refused, Summary};

use crate::figures;

/// A run as its page shows it.
#[derive(Debug, Clone)]
pub struct Page {
    /// The record.
    pub record: Record,
    /// The audit of that record.
    pub audit: Audited,
    /// Whether a process works on the run.
    pub is_at_work: bool,
    /// The run directory as a word for a command line.
    pub folder: String,
}

/// The state of the audit of a run.
#[derive(Debug, Clone)]
pub enum Audited {
    /// A page that follows a run waits for the run's end.
    Later,
    /// It could not be made; the problems of the record include why.
    Failed,
    /// Its result.
    Done(Audit),
}

impl Page {
    /// Whether the audit is still to come.
    pub fn is_unaudited(&self) -> bool {
        matches!(self.audit, Audited::Later)
    }

    /// What the audit has found.
    pub fn findings(&self) -> &[Finding] {
        self.audit().map_or(&[], |audit| &audit.findings)
    }

    /// The plan that sets the order of participants in matrices: the first one, so that nobody
    /// moves when the plan changes.
    pub fn first_usage(&self) -> &[(usize, usize)] {
        self.record.plans.first().map_or(&self.record.usage, |plan| &plan.usage)
    }

    fn audit(&self) -> Option<&Audit> {
        match &self.audit {
            Audited::Done(audit) => Some(audit),
            Audited::Later | Audited::Failed => None,
        }
    }

    fn summary(&self) -> &Summary {
        &self.record.summary
    }

    fn name(&self, participant: usize) -> &str {
        self.summary().name_of(participant)
    }

    fn refused(&self) -> &[Refused] {
        self.summary().own().map_or(&[], |own| &own.refused)
    }

    /// Whether neither the audit nor the reading of the record has found anything wrong.
    fn is_sound(&self) -> bool {
        self.audit().is_some_and(|audit| audit.findings.is_empty())
            && self.record.problems.is_empty()
    }

    /// Why there is no gain over Local; `None` if there is one.
    fn why_no_gain(&self) -> Option<&'static str> {
        let summary = self.summary();
        let local = figures::local(summary);
        if is_lost(&self.record, &summary.methods) {
            Some("the results cannot be read")
        } else if summary.own().is_none_or(|own| own.done.is_empty()) {
            Some("no training is done yet, so there is nothing to compare")
        } else if local.is_none() {
            Some("the run did not include Local, so there is no baseline")
        } else if local.is_some_and(|local| local.scores.is_empty()) {
            Some("Local is not done yet")
        } else if summary.own().is_none_or(|own| own.scores.is_empty()) {
            Some("the method is not evaluated yet")
        } else {
            None
        }
    }
}

/// Whether something may be empty only because the record is damaged.
fn is_lost<T>(record: &Record, what: &[T]) -> bool {
    what.is_empty() && !record.problems.is_empty()
}
