//! The policies against golden answers, exhaustive search and naive twins.

mod common;
mod diminishing;
mod fairness;
mod greedy;
mod history;
mod optimal;
mod policies;
