//! The rules engine: who competes, who would help whom, who may learn from whom.
//!
//! Three graphs over the same [`Participants`] carry everything:
//!
//! | graph | edges | says |
//! |---|---|---|
//! | [`CompetingGraph`] | undirected | who competes with whom; the union of everyone's own report |
//! | [`BenefitGraph`] | directed, weighted | `j → i` with value `b`: the data of `j` helps the model of `i` by `b` |
//! | [`UsageGraph`] | directed | `j → i`: `i` may use the model updates of `j` |
//!
//! **The rule**: for every competing pair `a`, `b` the usage graph has no directed
//! path from `a` to `b` and none from `b` to `a`. An edge always points the way
//! information flows, from the helper to the helped.
//!
//! Everything is validated at construction: behind that door no function can meet
//! a self-loop, an unknown name, or a benefit that is negative or not a number.
//! [`Certificate`] proves that a usage graph keeps the rule; [`Reasons`] say why an
//! edge had to be refused. This crate knows nothing of learning, files or policies.
//!
//! A participant is handled as its index in [`Participants`]; names come back in
//! only where people read.

#![forbid(unsafe_code)]

pub mod bits;

mod benefit;
mod certificate;
mod competing;
mod error;
mod participants;
mod provenance;
pub mod random;
mod reach;
mod reasons;
mod registry;
mod usage;

pub use benefit::{BenefitGraph, BenefitGraphBuilder};
pub use certificate::{Certificate, Flaw, Leak, find_breach, find_leak};
pub use competing::{CompetingGraph, CompetingGraphBuilder};
pub use error::GraphError;
pub use fedcompetitors_record::Rule;
pub use participants::{Participants, ParticipantsBuilder, is_hidden, nearest, shown};
pub use provenance::Provenance;
pub use reach::{Reachability, longest_chain};
pub use reasons::{Flows, Reason, Reasons, Refusal, refusals, refusals_by};
pub use registry::{Choice, Entry, Registry, UnknownEntry};
pub use usage::{UsageGraph, UsageGraphBuilder};
