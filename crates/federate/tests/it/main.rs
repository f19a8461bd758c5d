//! Trainers and the guard against naive twins and attacks.

mod evidence;
mod exchange;
mod protocol;
mod simulator;
mod trainers;
mod trunks;
