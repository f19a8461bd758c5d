//! One module a command: read, do, print.

mod change;
mod check;
mod compare;
mod data;
pub mod decide;
mod explain;
mod generate;
mod init;
mod list;
mod manual;
mod price;
pub mod report;
mod reproduce;
mod results;
mod run;
mod select;
mod verify;
pub mod what_if;

pub use change::{declare, join, leave, replan};
pub use check::check;
pub use compare::compare;
pub use data::data;
pub use explain::explain;
pub use generate::generate;
pub use init::init;
pub use list::list;
pub use manual::{completions, manual};
pub use price::price;
pub use reproduce::reproduce;
pub use results::{audit, export, metrics, status};
pub use run::{demo, run};
pub use select::select;
pub use verify::verify;
