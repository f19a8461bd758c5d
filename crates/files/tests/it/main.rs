//! Readers and writers: what comes back, and every way in which a file can be wrong.

mod data;
mod eicu;
mod errors;
mod federation;
#[cfg(feature = "parquet")]
mod parquet;
mod roundtrip;
