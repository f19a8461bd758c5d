//! Linear regression, and by its loss logistic and softmax regression.

use std::sync::Arc;

use fedcompetitors_graphs::Entry;

use super::{Layers, Mlp, Model, ModelKind};

/// The kind `linear`.
#[derive(Debug, Clone, Copy)]
pub struct LinearKind;

impl Entry for LinearKind {
    fn name(&self) -> &'static str {
        "linear"
    }

    fn help(&self) -> &'static str {
        "Linear, logistic or softmax regression, by the task."
    }
}

impl ModelKind for LinearKind {
    fn has_hidden_layers(&self) -> bool {
        false
    }

    fn build(&self, inputs: usize, outputs: usize, _: &Layers) -> Arc<dyn Model> {
        Arc::new(Mlp::linear(inputs, outputs))
    }
}
