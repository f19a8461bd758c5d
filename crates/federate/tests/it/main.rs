//! Trainers and the guard against naive twins and attacks.

mod evidence;
mod exchange;
mod protocol;
mod trainers;
mod trunks;
