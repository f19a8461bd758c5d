//! Trainers and the guard against naive twins and attacks.

mod evidence;
mod exchange;
mod trainers;
mod trunks;
