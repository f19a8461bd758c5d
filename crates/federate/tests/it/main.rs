//! Estimators, trainers, guard and runs against naive twins and attacks.

mod coordinator;
mod estimators;
mod exchange;
mod images;
mod runs;
mod trainers;
