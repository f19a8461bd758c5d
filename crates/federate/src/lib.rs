//! Learning together along a plan: who helps whom ([`estimate`]), how models are trained
//! ([`train`]), and the paper's experiments ([`experiment`]).

#![forbid(unsafe_code)]

pub mod estimate;
pub mod exchange;
pub mod experiment;
pub mod faults;
mod federation;
pub mod run;
mod saved;
pub mod train;

pub use federation::{FederateError, Federation};
