//! A run as a page: one file that needs nothing else, for people who would rather look than
//! read.
//!
//! Each part of the page is a function from a [`View`] to markup with an id of its own, so that
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

use crate::RunReport;

/// A run as its page shows it. Participants are their places in `run.participants`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct View {
    /// What came out: participants, methods, and whole sentences about them.
    pub run: RunReport,
    /// How the run stands.
    pub standing: Standing,
    /// Who competes with whom, and the first round for which that was known (0: from the start).
    pub competing: Vec<(usize, usize, u64)>,
    /// Who said so of whom.
    pub reports: Vec<(usize, usize)>,
    /// Who would help whom, and how much.
    pub benefit: Vec<(usize, usize, f64)>,
    /// Who learns from whom: helper, helped.
    pub usage: Vec<(usize, usize)>,
    /// The same by the first plan. Matrices are ordered by it, so that nobody moves when the
    /// plan changes, or is only asked about.
    pub first_usage: Vec<(usize, usize)>,
    /// What would have been useful and was refused.
    pub refusals: Vec<Refused>,
    /// Everybody's model; nobody's before there are any.
    pub models: Vec<Model>,
    /// How everybody's model fares on its validation data, round by round.
    pub curves: Vec<Curve>,
    /// What has moved.
    pub ledger: Vec<LedgerLine>,
    /// Kinds of incidents in words, how often each was noted and of how many participants.
    pub incidents: Vec<(String, usize, usize)>,
    /// What the guard has stopped, in whole sentences.
    pub stops: Vec<String>,
    /// The plans that were followed, where the plan could change, in order.
    pub plans: Vec<PlanStep>,
    /// The certificate, as the text of its file; empty if there is none.
    pub certificate: String,
    /// What the audit has found when the page was made.
    pub audit: Audited,
    /// What cannot be read of the record, in words.
    pub problems: Vec<String>,
    /// The seeds.
    pub seeds: Vec<u64>,
    /// The version of the program that made the run.
    pub program: String,
    /// The federation file, with every default written out.
    pub federation: String,
    /// The folder of the run as a word for a command line.
    pub folder: String,
    /// An address that, with a helper's and a helped one's number behind it, tells why there is
    /// an edge between them or none; nothing where nobody could answer.
    pub ask: Option<String>,
}

/// How a run stands.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Standing {
    /// At its end.
    Complete,
    /// At its end; somebody was missing or sent garbage on the way.
    WithIncidents,
    /// On its way.
    Running,
    /// Neither at its end nor on its way.
    #[default]
    Interrupted,
    /// The guard has stopped it.
    Stopped,
    /// The audit has found something against it.
    Doubted,
    /// Its record is not as it was written.
    Damaged,
}

/// A useful edge that was refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// Who would have helped.
    pub helper: usize,
    /// Whom.
    pub helped: usize,
    /// Why not, in a sentence.
    pub why: String,
}

/// A participant's model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Model {
    /// Its file in the run's folder, where it has one.
    pub file: Option<String>,
    /// The SHA-256 of its parameters.
    pub hash: String,
    /// Whose data it carries, with any of the seeds.
    pub carries: Vec<usize>,
}

/// How a participant's model fares, round by round.
#[derive(Debug, Clone, PartialEq)]
pub struct Curve {
    /// With which method.
    pub method: String,
    /// Whose.
    pub participant: usize,
    /// After which round, and how good.
    pub points: Vec<(u64, f64)>,
}

/// What has moved in estimates or in trainings of one kind, all seeds together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LedgerLine {
    /// Of what.
    pub of: String,
    /// Transfers to the coordinator, and their bytes.
    pub sent: (u64, u64),
    /// Deliveries to participants, and their bytes.
    pub delivered: (u64, u64),
}

/// A plan that was followed from a round on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanStep {
    /// The first round that follows it.
    pub round: u64,
    /// Why there is a new one.
    pub why: String,
    /// How many learn from somebody, edge by edge.
    pub edges: usize,
    /// Edges that the plan before did not have: helper, helped.
    pub added: Vec<(usize, usize)>,
    /// Edges that only the plan before had.
    pub removed: Vec<(usize, usize)>,
}

/// What an audit has found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Audited {
    /// Has it not been made yet? A page that follows a run waits for its end.
    pub is_later: bool,
    /// What was looked at, in a sentence; empty if it could not be.
    pub looked_at: String,
    /// What is wrong, in whole sentences; nothing if all is well.
    pub findings: Vec<String>,
    /// What else should be known, in whole sentences.
    pub besides: Vec<String>,
}

impl View {
    /// Where to ask why one learns from another, or does not.
    fn why(&self, from: usize, to: usize) -> Option<String> {
        self.ask.as_ref().map(|ask| format!("{ask}{}-{}", from + 1, to + 1))
    }

    fn name(&self, participant: usize) -> &str {
        &self.run.participants[participant].name
    }

    fn count(&self) -> usize {
        self.run.participants.len()
    }

    /// Is all as it should be, as far as an audit can tell?
    fn is_sound(&self) -> bool {
        !self.audit.looked_at.is_empty()
            && self.audit.findings.is_empty()
            && self.problems.is_empty()
    }

    /// Is something empty perhaps because the record is damaged? Then nobody may take it for none.
    fn is_lost<T>(&self, what: &[T]) -> bool {
        what.is_empty() && !self.problems.is_empty()
    }

    /// The name of the federation's own method.
    fn own_method(&self) -> &str {
        self.run.methods.first().map_or("", |method| &method.name)
    }

    /// Why there is no gain over Local; nothing, if there is one.
    fn why_no_gain(&self) -> Option<&'static str> {
        if self.is_lost(&self.run.methods) {
            Some("the results cannot be read")
        } else if self.run.methods.is_empty() || self.run.methods[0].cells.is_empty() {
            Some("no training is done yet, so there is nothing to compare")
        } else if self.run.local().is_none() {
            Some("the run did not include Local, so there is no baseline")
        } else if self.run.local().is_some_and(|local| local.cells.is_empty()) {
            Some("Local is not done yet")
        } else {
            None
        }
    }
}
