//! The state of a training as bytes, to go on from after an interruption.

use serde::{Serialize, de::DeserializeOwned};

use crate::FederateError;

/// The bytes of a state.
///
/// # Panics
/// Never: all states are plain numbers, lists and maps, which always have a form.
pub fn write(state: &impl Serialize) -> Vec<u8> {
    postcard::to_stdvec(state).expect("plain data has a form")
}

/// The state of these bytes.
///
/// # Errors
/// If they were not written by [`write`] for a state of this kind.
pub fn read<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, FederateError> {
    postcard::from_bytes(bytes).map_err(|_| FederateError::Checkpoint)
}
