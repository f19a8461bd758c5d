//! Linear regression, and by its loss logistic and softmax regression.

use std::sync::Arc;

use fedcompetitors_graphs::entry;

use super::{Layers, Mlp, Model, ModelKind};

/// The kind `linear`.
#[derive(Debug, Clone, Copy)]
pub struct LinearKind;

entry!(LinearKind, "linear", "Linear, logistic or softmax regression, by the task.");

impl ModelKind for LinearKind {
    fn has_hidden_layers(&self) -> bool {
        false
    }

    fn build(&self, inputs: usize, outputs: usize, _: &Layers) -> Arc<dyn Model> {
        // Base rates differ, and a foreign intercept spoils probabilities: it is each participant's own.
        Arc::new(Mlp::linear(inputs, outputs).with_own_head())
    }
}
