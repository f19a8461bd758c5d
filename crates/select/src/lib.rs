//! Policies: who may learn from whom, so that the rule holds.
//!
//! A policy takes a competing graph and a benefit graph and gives a [`Plan`].
//! [`greedy`] is the paper's selection; [`paper`] is the same selection word for word
//! as printed, slow and plain, the yardstick for tests and benchmarks; [`generate`]
//! makes random instances.
//!
//! ```text
//!   competing graph ─┐
//!                    ├─► policy ─► Plan { usage graph, welfare, upper bound }
//!   benefit graph  ──┘
//! ```

pub mod generate;
pub mod paper;

mod greedy;
mod parallel;
mod plan;

pub use greedy::{greedy, greedy_usage};
pub use plan::Plan;
