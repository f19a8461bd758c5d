//! The competing table: no bytes panic, and what is read can be planned for and proven.
#![no_main]

use std::path::Path;

use fedcompetitors_files::parse_graphs;
use fedcompetitors_graphs::Certificate;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let here = Path::new("here");
    let benefit = &b"from,to,benefit\nx,y,1\ny,z,2\nz,x,3\nx,z,1\n"[..];
    if let Ok(graphs) = parse_graphs((here, bytes), (here, benefit), None) {
        let plan = fedcompetitors_select::greedy(fedcompetitors_select::Setting::new(&graphs.competing, &graphs.benefit));
        assert!(Certificate::prove(&graphs.competing, &plan.usage).is_ok());
    }
});
