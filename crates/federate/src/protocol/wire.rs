//! Requests and answers as bytes.
//!
//! A message begins with four letters and the version of the format; the rest is
//! [postcard](https://docs.rs/postcard). Whoever does not know the version refuses the message. Bytes behind
//! its end, or too few, are refused too. Whether values make sense is judged where they are used: the coordinator
//! refuses what is not finite or of the wrong length.

use serde::{Serialize, de::DeserializeOwned};

use super::{Answer, Request};

/// The version of the format. A new verb, a field more or less is a new version.
pub const VERSION: u16 = 2;

const REQUEST: [u8; 4] = *b"FCRQ";
const ANSWER: [u8; 4] = *b"FCAN";

/// Why bytes are no message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum WireError {
    /// Something else.
    #[error("these bytes are not a message of this protocol")]
    NotAMessage,
    /// A message of another version.
    #[error("the message has version {found} of the protocol, and version {VERSION} is supported")]
    Version {
        /// Its version.
        found: u16,
    },
    /// A message that is cut off, or that contains something unknown.
    #[error("the message cannot be read: it is cut off, or contains something unknown")]
    Damaged,
}

impl WireError {
    /// What can be done about it.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::NotAMessage => "check that both ends run FedCompetitors",
            Self::Version { .. } => "install the same version at both ends",
            Self::Damaged => "send it again",
        }
    }
}

impl Request {
    /// The request as bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        write(REQUEST, self)
    }

    /// The request of these bytes.
    ///
    /// # Errors
    /// If they are none, or of another version.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, WireError> {
        read(REQUEST, bytes)
    }
}

impl Answer {
    /// The answer as bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        write(ANSWER, self)
    }

    /// The answer of these bytes.
    ///
    /// # Errors
    /// If they are none, or of another version.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, WireError> {
        read(ANSWER, bytes)
    }
}

fn write(kind: [u8; 4], message: &impl Serialize) -> Vec<u8> {
    let start = [&kind[..], &VERSION.to_le_bytes()].concat();
    postcard::to_extend(message, start).expect("plain data has a form")
}

fn read<T: DeserializeOwned>(kind: [u8; 4], bytes: &[u8]) -> Result<T, WireError> {
    let (start, rest) = bytes.split_first_chunk::<4>().ok_or(WireError::NotAMessage)?;
    let (version, rest) = rest.split_first_chunk::<2>().ok_or(WireError::NotAMessage)?;
    if *start != kind {
        return Err(WireError::NotAMessage);
    }
    let found = u16::from_le_bytes(*version);
    if found != VERSION {
        return Err(WireError::Version { found });
    }
    match postcard::take_from_bytes(rest) {
        Ok((message, [])) => Ok(message),
        _ => Err(WireError::Damaged),
    }
}
