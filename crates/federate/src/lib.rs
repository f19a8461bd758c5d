//! Federated learning along a plan: estimators of benefit ([`estimate`]), trainers ([`train`]), and the
//! exchange with its guard ([`exchange`]). [`kinds`] is how registries list the first two.

#![forbid(unsafe_code)]

pub mod estimate;
mod evidence;
pub mod exchange;
pub mod faults;
mod federation;
pub mod kinds;
mod known;
pub mod protocol;
pub mod saved;
mod site;
pub mod train;
mod trunks;

pub use federation::{FederateError, Federation};
pub use known::{Known, Member};
pub use site::Site;
