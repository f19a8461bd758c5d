//! The state of a training as bytes, to go on from after an interruption.

use serde::{Serialize, de::DeserializeOwned};

use crate::FederateError;

/// The version of what is saved. It goes up by one with every change to what a training or the
/// exchange saves: a field more or less, another order, another meaning. The bytes do not say
/// what they are, so old ones could be read as something else.
pub const VERSION: u32 = 7;

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
/// If they were not written by [`write()`] for a state of this kind, and nothing else.
pub fn read<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, FederateError> {
    match postcard::take_from_bytes(bytes) {
        Ok((state, [])) => Ok(state),
        _ => Err(FederateError::Checkpoint),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_byte_is_missing_or_left() {
        let mut bytes = write(&(7_u32, vec![0.5_f32, 2.0]));
        assert_eq!(read::<(u32, Vec<f32>)>(&bytes).ok(), Some((7, vec![0.5, 2.0])));
        assert!(read::<u32>(&bytes).is_err(), "the beginning alone is another state");
        bytes.push(0);
        assert!(read::<(u32, Vec<f32>)>(&bytes).is_err());
        bytes.truncate(bytes.len() - 2);
        assert!(read::<(u32, Vec<f32>)>(&bytes).is_err());
    }
}
