//! Policies: who may learn from whom, so that the rule holds.
//!
//! A [`Policy`] takes a [`Setting`] (who competes, who would help whom, what has flowed so
//! far) and gives a [`Plan`].
//!
//! | policy | gives |
//! |---|---|
//! | [`Greedy`] | the paper's selection |
//! | [`Optimal`] | the largest welfare that the rule allows, with proof |
//! | [`Cliques`] | everybody with everybody in as few groups without competitors as can be |
//! | [`Coalitions`] | the collaboration equilibrium inside those groups |
//! | [`Egoists`] | coalitions without competitors or free riders |
//! | [`Alone`] | nothing |
//!
//! [`Past`] is what had flowed before a plan, and how it changes when participants come and go.
//!
//! [`paper`] is the paper's selection word for word as printed, slow and plain, the
//! yardstick for tests and benchmarks; [`generate`] makes random instances.

#![forbid(unsafe_code)]

pub mod generate;
pub mod paper;

mod cliques;
mod closure;
mod coalitions;
mod egoists;
mod greedy;
mod optimal;
mod parallel;
mod past;
mod plan;
mod policy;
mod setting;
mod shares;

pub use cliques::{CliqueCover, cliques};
pub use coalitions::coalitions;
pub use egoists::egoists;
pub use greedy::{greedy, greedy_usage};
pub use optimal::{Effort, Objective, fairest, local_search, optimal};
pub use past::{ChangeError, Past};
pub use plan::Plan;
pub use policy::{Alone, Cliques, Coalitions, Egoists, Greedy, Optimal, Policy};
pub use setting::Setting;
pub use shares::Shares;
