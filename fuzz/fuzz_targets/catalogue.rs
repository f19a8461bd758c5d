//! Catalogues: no text panics.
#![no_main]

use std::path::Path;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let _ = fedcompetitors_files::parse_catalogue(Path::new("here"), text);
});
