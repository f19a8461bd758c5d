//! The estimator `evidence`: how probable it is that two participants have one task, and how many rows
//! one's data is worth to the other, from summaries of their data.

use fedcompetitors_graphs::{BenefitGraph, CompetingGraph};
use fedcompetitors_record::Flow;
use rayon::prelude::*;

use super::{Estimator, EstimatorKind, Inputs, candidates, flow, graph};
use crate::{
    FederateError, Federation,
    evidence::{FEWEST, Relations, commit},
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
        /// they would give single records away.
        pub fewest: usize = FEWEST,
    }
}

impl Settings for Evidence {}

impl Estimator for Evidence {
    fn models(&self) -> Models {
        Models::Linear
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
    ) -> Result<BenefitGraph, FederateError> {
        exchange.begin(1);
        let messages = commit(federation, exchange, self.fewest)?;
        let relations = Relations::new(federation, &messages)?;
        let column = |to: usize| {
            let helpers = candidates(federation, to).into_iter().skip(1);
            let sources = relations.sources(to, helpers);
            sources.into_iter().map(|source| (source.from, source.worth)).collect()
        };
        let columns: Vec<_> = (0..federation.len()).into_par_iter().map(column).collect();
        Ok(graph(federation, &columns, 0.0))
    }
}
