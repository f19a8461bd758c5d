//! The estimator `evidence`: how probable it is that two participants have one task, and how many rows
//! one's data is worth to the other, from summaries of their data.

use fedcompetitors_graphs::CompetingGraph;
use fedcompetitors_record::Flow;
use rayon::prelude::*;

use super::{Estimator, EstimatorKind, Found, Inputs, candidates, flow, graph};
use crate::{
    FederateError, Federation,
    evidence::{FEWEST, Relations, Source, commit, most_coefficients},
    exchange::Exchange,
    kinds::{Models, Settings, settings},
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

    fn estimate(
        &self,
        federation: &Federation<'_>,
        exchange: &mut Exchange<'_>,
        _: Inputs<'_>,
    ) -> Result<Found, FederateError> {
        exchange.begin(1);
        let messages = commit(federation, exchange, self.fewest)?;
        let relations = Relations::new(federation, &messages)?;
        let column = |to: usize| {
            let helpers = candidates(federation, to).into_iter().skip(1);
            relations.sources(to, helpers)
        };
        let sources: Vec<_> = (0..federation.len()).into_par_iter().map(column).collect();
        let worth = |all: &Vec<Source>| all.iter().map(|one| (one.from, one.worth)).collect();
        let columns: Vec<_> = sources.iter().map(worth).collect();
        let related = sources.iter().enumerate().flat_map(|(to, all)| {
            all.iter().map(move |source| (source.from, to, source.probability))
        });
        Ok(Found { benefit: graph(federation, &columns, 0.0), related: related.collect() })
    }
}
