//! Learning on flat parameter vectors.
//!
//! A [`Learner`] takes a flat vector of parameters and gives the loss on its own data and
//! the flat gradient. Everything federated (averaging, mixing, control variates,
//! hypernetworks, storage) lives on such vectors, and they are what crosses the wire.
//! Behind the interface are the native models here ([`Mlp`], [`Cnn`]) on one narrow set
//! of [`kernels`]. Nothing here knows of competition.

mod data;
mod ensemble;
mod error;
pub mod evaluation;
mod generated;
mod hypernetwork;
mod images;
pub mod kernels;
mod learner;
pub mod linear;
mod loss;
mod metrics;
mod mix;
mod models;
mod optimizer;
mod ranks;
pub mod simplex;
mod split;
pub mod synthetic;
mod tabular;

pub use data::{Part, Samples, Targets, shuffle};
pub use ensemble::{Activations, Ensemble, Head};
pub use error::LearnError;
pub use generated::{Generated, Outcome};
pub use hypernetwork::Hypernetwork;
pub use images::{ClassSplit, Images};
pub use learner::{Batch, Learner, NativeLearner};
pub use loss::Loss;
pub use metrics::{Accuracy, Auc, Brier, Fraction, LogLoss, Metric, Mse, R2, Scorer, TaskKind};
pub use mix::{mix, weighted_sum};
pub use models::{Cnn, Layers, LinearKind, Mlp, MlpKind, Model, ModelKind, Work};
pub use optimizer::{Optimizer, OptimizerSettings};
pub use ranks::Ranks;
pub use split::{Dependence, Division, Split};
pub use tabular::{Column, Encoding, Fitted, Scale, Table, Transform};
