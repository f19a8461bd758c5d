//! A toy estimator.

use fedcompetitors_graphs::CompetingGraph;
use fedcompetitors_record::Flow;

use super::{Estimator, EstimatorKind, Found, Inputs, candidates, flow, graph};
use crate::{
    FederateError, Federation,
    exchange::Exchange,
    kinds::{BadSettings, Settings, in_range, settings},
};

pub static KIND: EstimatorKind =
    EstimatorKind::new::<Toy>("toy-guess", "A toy: everybody helps everybody equally.");

settings! {
    /// Settings of `toy-guess`.
    pub struct Toy {
        /// The benefit.
        pub guess: f64 = 0.125,
    }
}

impl Settings for Toy {
    fn check(&self) -> Result<(), BadSettings> {
        in_range("guess", self.guess > 0.0 && self.guess.is_finite(), "above 0")
    }
}

impl Estimator for Toy {
    fn flow(&self, _: &CompetingGraph) -> Flow {
        flow("toy-guess: nothing moves", Vec::new())
    }

    fn estimate(
        &self,
        federation: &Federation<'_>,
        _: &mut Exchange<'_>,
        _: Inputs<'_>,
    ) -> Result<Found, FederateError> {
        let column = |to| candidates(federation, to).into_iter().map(|from| (from, self.guess));
        let columns: Vec<_> = (0..federation.len()).map(|to| column(to).collect()).collect();
        Ok(graph(federation, &columns, 0.0).into())
    }
}
