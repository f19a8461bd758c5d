//! Tests of run directories: what they store, what the audit finds, what a coordinator records.

mod coordinator;
mod evaluation;
mod evidence;
mod interference;
mod runs;
mod tables;
