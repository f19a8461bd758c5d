//! Certificates: no text panics, and none proves a leaking plan.
#![no_main]

use std::path::Path;

use fedcompetitors_graphs::{CompetingGraph, Participants, UsageGraph};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let participants = Participants::numbered(3);
    let Ok(claimed) =
        fedcompetitors_files::parse_certificate(Path::new("here"), text, &participants)
    else {
        return;
    };
    // v1 → v2 → v3, and v1 competes with v3.
    let mut competing = CompetingGraph::builder(&participants);
    competing.report(0, 2).expect("two participants");
    let mut usage = UsageGraph::builder(&participants);
    usage.add(0, 1).expect("a new edge");
    usage.add(1, 2).expect("a new edge");
    assert!(claimed.check(&competing.build(), &usage.build()).is_err());
});
