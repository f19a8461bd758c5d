//! The models, each kind in a file of its own. A new one that federation files can name is a file, its
//! `mod` and its line in [`entries`](Registry::entries).

mod cnn;
mod linear;
mod mlp;
mod model;

use std::{fmt::Debug, sync::Arc};

use fedcompetitors_graphs::{Entry, Registry};

pub use cnn::Cnn;
pub use linear::LinearKind;
pub use mlp::{Mlp, MlpKind};
pub(crate) use model::uniform_layer;
pub use model::{Model, Work};

impl Registry for dyn ModelKind {
    const KIND: &'static str = "model";

    fn entries() -> &'static [&'static Self] {
        &[&LinearKind, &MlpKind]
    }
}

/// A kind of models that a federation file can name.
pub trait ModelKind: Entry + Debug + Send + Sync {
    /// Whether it takes the widths of hidden layers, at least one.
    fn has_hidden_layers(&self) -> bool;

    /// Makes a model for rows of these many inputs and outputs.
    fn build(&self, inputs: usize, outputs: usize, layers: &Layers) -> Arc<dyn Model>;
}

/// The layers of a model.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Layers {
    /// The widths of the hidden layers.
    pub hidden: Vec<usize>,
    /// Whether each participant keeps the last layer to itself.
    pub own_head: bool,
}
