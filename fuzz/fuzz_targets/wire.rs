#![no_main]
#![expect(missing_docs, reason = "it has no interface")]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fedcompetitors_fuzz::wire(bytes));
