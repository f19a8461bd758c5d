//! The list of participants: no bytes panic, and every name is found again.
#![no_main]

use std::path::Path;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(participants) = fedcompetitors_files::parse_participants(Path::new("here"), bytes) {
        for (index, name) in participants.names().enumerate() {
            assert_eq!(participants.find(name), Ok(index));
        }
    }
});
