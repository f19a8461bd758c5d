//! The glue between Python and the other crates.
//!
//! Nothing is decided here. Graphs are handles on graphs in Rust; plans and certificates go to
//! and fro in the form of their files, so that what Python sees is what the program writes.
//! The package `fedcompetitors` (`python/fedcompetitors`) makes typed, documented Python of it.
//!
//! | module | for |
//! |---|---|
//! | `graphs` | who competes, who would help whom |
//! | `plans` | selection, proof, explanation, comparison |
//! | `change` | a new plan that knows what has flowed |
//! | `ledger` | guard, ledger and store for remote participants |
//! | `mixing` | personalised mixing of models |
//! | `errors` | each kind of error as an exception of its own |
//! | `waiting` | long calls without the interpreter's lock, which Ctrl-C ends |

#![forbid(unsafe_code)]
#![expect(clippy::needless_pass_by_value, reason = "PyO3 hands arguments over by value")]

mod change;
mod errors;
mod graphs;
mod ledger;
mod mixing;
mod plans;
mod waiting;

/// The native part of the package `fedcompetitors`.
#[pyo3::pymodule]
mod _native {
    #[pymodule_export]
    use crate::{
        change::change,
        graphs::{BenefitGraph, CompetingGraph, read_graphs, unite},
        ledger::{Ledger, audit, direction},
        mixing::mix,
        plans::{check_plan, compare, explain, listings, select, verify},
    };
}
