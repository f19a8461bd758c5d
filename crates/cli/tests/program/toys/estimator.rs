//! A toy estimator.

use fedcompetitors_graphs::CompetingGraph;
use fedcompetitors_record::Flow;

use super::{Begun, Estimator, EstimatorKind, Inputs, flow, graph};
use crate::{
    Known,
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

    fn begin(&self, known: &Known<'_>, _: Inputs<'_>) -> Begun<'_> {
        let column = |to| known.candidates(to).into_iter().map(|from| (from, self.guess));
        let columns: Vec<_> = (0..known.len()).map(|to| column(to).collect()).collect();
        Begun::Found(graph(known.competing, &columns, 0.0).into())
    }
}
