//! Trainers and the guard against naive twins and attacks.

mod exchange;
mod trainers;
