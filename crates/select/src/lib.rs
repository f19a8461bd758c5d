//! Policies: who may learn from whom, so that the rule holds.
//!
//! A [`Policy`] takes a [`Setting`] (who competes, who would help whom, what has flowed so
//! far) and gives a [`Plan`].
//!
//! The policies are in `policies`, one file each; `Choice<dyn Policy>` finds one by its name.
//!
//! [`Past`] is what had flowed before a plan, and how it changes when participants come and go.
//!
//! [`paper`] is the paper's selection word for word as printed, slow and plain, the
//! yardstick for tests and benchmarks; [`generate`] makes random instances.

#![forbid(unsafe_code)]

pub mod generate;
pub mod paper;

mod closure;
mod parallel;
mod past;
mod plan;
mod policies;
mod samples;
mod setting;
mod shares;

pub use past::{ChangeError, Past};
pub use plan::{Bounded, Plan};
pub use policies::{
    Alone, CliqueCover, Cliques, Coalitions, Effort, Egoists, Friends, Greedy, Objective,
    ObjectiveKind, ObjectiveNotServed, Optimal, Policy, cliques, coalitions, diminishing, egoists,
    fairest, greedy, greedy_usage, local_search, optimal,
};
pub use samples::{SampleCounts, SampleCountsError, SamplesMissing};
pub use setting::Setting;
pub use shares::Shares;
