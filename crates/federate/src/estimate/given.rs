//! The estimator `given`: benefits that somebody has written down.

use fedcompetitors_graphs::{BenefitGraph, CompetingGraph};
use fedcompetitors_record::Flow;

use super::{Begun, Estimator, EstimatorKind, Inputs, flow};
use crate::{
    Known,
    kinds::{Settings, settings},
};

pub static KIND: EstimatorKind = EstimatorKind::new::<Given>("given", "The benefits of a file.");

settings! {
    /// Settings of `given`.
    pub struct Given {
        /// The benefits, header `from,to,benefit`, relative to the federation file. Required where
        /// `given` is the estimator.
        pub file: Option<String> = None,
    }
}

impl Settings for Given {}

impl Estimator for Given {
    fn flow(&self, _: &CompetingGraph) -> Flow {
        flow("given: the benefits come from a file", Vec::new())
    }

    fn file(&self) -> Option<&str> {
        self.file.as_deref()
    }

    fn missing(&self) -> Option<&'static str> {
        if self.file.is_none() { Some("file") } else { None }
    }

    fn begin(&self, known: &Known<'_>, inputs: Inputs<'_>) -> Begun<'_> {
        let nothing = || BenefitGraph::builder(known.competing.participants()).build();
        Begun::Found(inputs.given.cloned().unwrap_or_else(nothing).into())
    }
}
