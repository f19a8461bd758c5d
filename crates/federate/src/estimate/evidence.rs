//! The estimator `evidence`: how probable it is that two participants have one task, and how many rows
//! one's data is worth to the other, from summaries of their data.

use fedcompetitors_graphs::CompetingGraph;
use fedcompetitors_record::Flow;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::{Begun, Estimator, EstimatorKind, Found, Inputs, flow, graph};
use crate::{
    FederateError, Known, Member,
    evidence::{FEWEST, Relations, Source, most_coefficients},
    kinds::{Models, Settings, settings},
    protocol::{Ask, Combiner, Coordinator, Estimation, Finder, Heard, Question},
    saved,
    train::Effort,
};

pub static KIND: EstimatorKind = EstimatorKind::new::<Evidence>(
    "evidence",
    "How many of a participant's own rows another's data is worth, from one summary of each participant's data. For models without hidden layers. Nothing is delivered.",
);

settings! {
    /// Settings of `evidence`.
    pub struct Evidence {
        /// Columns in which fewer rows than this differ from the others are left out of summaries:
        /// they would give single records away. One number counts for the estimator and the trainer, of two
        /// the larger.
        pub fewest: usize = FEWEST,
    }
}

impl Settings for Evidence {}

impl Estimator for Evidence {
    fn models(&self) -> Models {
        Models::Linear
    }

    fn most_coefficients(&self, folds: u32) -> Option<usize> {
        Some(most_coefficients(folds))
    }

    fn benefits_are_rows(&self) -> bool {
        true
    }

    fn flow(&self, _: &CompetingGraph) -> Flow {
        flow(
            "evidence: each participant sends the coordinator a summary of its data; nothing is delivered to participants, but the plan follows from all summaries",
            Vec::new(),
        )
    }

    fn begin(&self, known: &Known<'_>, _: Inputs<'_>) -> Begun<'_> {
        let rows = known.members.iter().map(Member::rows).collect();
        let summaries = Summaries {
            fewest: self.fewest,
            coefficients: known.coefficients(),
            rows,
            columns: None,
        };
        Begun::Messages(Effort::NONE, Box::new(Coordinator::new(known, summaries)))
    }

    fn resume(&self, saved: &[u8]) -> Result<Box<dyn Estimation>, FederateError> {
        Ok(Box::new(saved::read::<Coordinator<Summaries>>(saved)?))
    }
}

/// The coordinator's half.
#[derive(Serialize, Deserialize)]
struct Summaries {
    fewest: usize,
    coefficients: usize,
    /// The rows of each participant.
    rows: Vec<usize>,
    /// For each participant its sources, once all summaries are there.
    columns: Option<Vec<Vec<Source>>>,
}

impl Combiner for Summaries {
    const FINISHES: bool = false;

    fn rounds(&self) -> usize {
        1
    }

    fn done(&self) -> usize {
        usize::from(self.columns.is_some())
    }

    fn ask(&self, _: usize) -> Question<'_> {
        Question { ask: Ask::Fit { summary: Some(self.fewest) }, given: Vec::new() }
    }

    fn take(&mut self, competing: &CompetingGraph, heard: Vec<Option<Heard>>) {
        let summary = |of: usize| heard[of].as_ref()?.messages.first();
        let committed = (0..heard.len()).map(|of| Some((summary(of)?, self.rows[of])));
        let relations =
            Relations::new(competing, self.coefficients, &committed.collect::<Vec<_>>());
        let column = |to: usize| {
            let helpers =
                (0..heard.len()).filter(|&from| from != to && !competing.competes(from, to));
            relations.sources(to, helpers)
        };
        self.columns = Some((0..heard.len()).into_par_iter().map(column).collect());
    }
}

impl Finder for Summaries {
    fn found(&self, competing: &CompetingGraph) -> Found {
        let sources = self.columns.as_deref().unwrap_or_default();
        let worth = |all: &Vec<Source>| all.iter().map(|one| (one.from, one.worth)).collect();
        let columns: Vec<_> = sources.iter().map(worth).collect();
        let related = sources.iter().enumerate().flat_map(|(to, all)| {
            all.iter().map(move |source| (source.from, to, source.probability))
        });
        Found { benefit: graph(competing, &columns, 0.0), related: related.collect() }
    }
}
