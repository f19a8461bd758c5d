//! Learning together along a plan: who helps whom ([`estimate`]), how models are trained
//! ([`train`]), and the guard that everything passes on its way ([`exchange`]).

#![forbid(unsafe_code)]

pub mod estimate;
pub mod exchange;
pub mod faults;
mod federation;
pub mod kinds;
pub mod saved;
pub mod train;

pub use federation::{FederateError, Federation};
