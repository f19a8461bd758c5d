//! Readers and writers: what comes back, and every way in which a file can be wrong.

mod data;
mod eicu;
mod errors;
mod federation;
#[cfg(feature = "parquet")]
mod parquet;
mod roundtrip;

use fedcompetitors_files::FileError;

/// Each case with its error and hint, for a snapshot.
fn refusals<'a>(cases: impl IntoIterator<Item = (&'a str, Option<FileError>)>) -> String {
    let text = |(title, error): (&str, Option<FileError>)| {
        let error = error.unwrap_or_else(|| panic!("{title} was accepted"));
        format!("# {title}\nerror: {error}\nhint: {}\n\n", error.hint())
    };
    cases.into_iter().map(text).collect()
}
