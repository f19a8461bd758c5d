//! What must hold for every reader, whatever the bytes: it does not panic, and what it accepts is
//! sound.
//!
//! The tests run each target for a moment; `cargo fuzz` runs the programs under `fuzz_targets` for
//! hours.

#![expect(clippy::missing_panics_doc, reason = "a target reports a fault by a panic")]

use std::{collections::BTreeMap, io::Read, path::Path};

use fedcompetitors_files::{
    DataRules, Incomplete, TargetMeaning, parse_catalogue, parse_certificate, parse_graphs,
    parse_participants, parse_plan, parse_survey, parse_table,
};
use fedcompetitors_graphs::{Certificate, CompetingGraph, Participants, UsageGraph};
use fedcompetitors_select::{Setting, greedy};

/// A name for errors.
const HERE: &str = "here";

/// What readers take: a name for errors, and bytes.
fn here(bytes: &[u8]) -> (&Path, &[u8]) {
    (Path::new(HERE), bytes)
}

/// Text targets see what is UTF-8.
fn with_text(bytes: &[u8], target: impl FnOnce(&str)) {
    if let Ok(text) = str::from_utf8(bytes) {
        target(text);
    }
}

/// Graphs that can be read can be planned for, and the plan proven.
fn graphs<A: Read, B: Read>(competing: (&Path, A), benefit: (&Path, B)) {
    if let Ok(graphs) = parse_graphs(competing, benefit, None) {
        let plan = greedy(Setting::new(&graphs.competing, &graphs.benefit));
        assert!(Certificate::prove(&graphs.competing, &plan.usage).is_ok());
    }
}

/// The benefit table.
pub fn benefit(bytes: &[u8]) {
    graphs(here(b"a,b\nx,y\ny,z\n"), here(bytes));
}

/// The competing table.
pub fn competing(bytes: &[u8]) {
    graphs(here(bytes), here(b"from,to,benefit\nx,y,1\ny,z,2\nz,x,3\nx,z,1\n"));
}

/// Matrices, as both graphs.
pub fn matrix(bytes: &[u8]) {
    let matrix = (Path::new("matrix.npy"), bytes);
    graphs(here(b"a,b\nv1,v2\n"), matrix);
    graphs(matrix, here(b"from,to,benefit\nx,y,1\n"));
}

/// The list of participants: every name is found again.
pub fn participants(bytes: &[u8]) {
    if let Ok(participants) = parse_participants(Path::new(HERE), bytes) {
        for (index, name) in participants.names().enumerate() {
            assert_eq!(participants.find(name), Ok(index));
        }
    }
}

/// Plans.
pub fn plan(bytes: &[u8]) {
    with_text(bytes, |text| drop(parse_plan(Path::new(HERE), text)));
}

/// Certificates: none proves a leaking plan.
pub fn certificate(bytes: &[u8]) {
    let participants = Participants::numbered(3);
    with_text(bytes, |text| {
        let Ok(claimed) = parse_certificate(Path::new(HERE), text, &participants) else {
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
}

/// Participants' data: what is read can be encoded.
pub fn data(bytes: &[u8]) {
    let rules = DataRules {
        header: None,
        target: "y".into(),
        meaning: TargetMeaning::Number,
        ignore: Vec::new(),
        use_only: None,
        categories: BTreeMap::new(),
        other: false,
        missing: vec![String::new(), "?".into()],
        missing_in: BTreeMap::new(),
        incomplete: Incomplete::Fill,
    };
    drop(parse_survey(Path::new(HERE), bytes));
    // A file with a known header is more often valid.
    let with_header = [b"x,y\n", bytes].concat();
    for bytes in [bytes, &with_header] {
        if let Ok(read) = parse_table(Path::new(HERE), bytes, "v1", &rules, None) {
            let samples = read.table.encode(None, true).expect("read numbers are finite");
            assert_eq!(samples.columns(), read.table.feature_names(true).len());
        }
    }
}

/// Catalogues.
pub fn catalogue(bytes: &[u8]) {
    with_text(bytes, |text| drop(parse_catalogue(Path::new(HERE), text)));
}

#[cfg(test)]
mod tests {
    use fedcompetitors_testing::cases;
    use proptest::prelude::*;

    use super::*;

    type Target = fn(&[u8]);

    const TARGETS: [(&str, Target); 8] = [
        ("benefit", benefit),
        ("catalogue", catalogue),
        ("certificate", certificate),
        ("competing", competing),
        ("data", data),
        ("matrix", matrix),
        ("participants", participants),
        ("plan", plan),
    ];

    /// Each target has a program for `cargo fuzz`.
    #[test]
    fn every_target_is_fuzzed() {
        let manifest = include_str!("../Cargo.toml");
        for (name, _) in TARGETS {
            let path = format!("path = \"fuzz_targets/{name}.rs\"");
            assert!(manifest.contains(&path), "{name}");
        }
        assert_eq!(manifest.matches("[[bin]]").count(), TARGETS.len());
    }

    proptest! {
        #![proptest_config(cases(256))]

        #[test]
        fn no_bytes_make_a_reader_panic(
            start in prop::sample::select(vec![
                &b""[..], b"a,b\n", b"from,to,benefit\n", b"\x93NUMPY\x01\x00",
                b"\x93NUMPY\x01\x00\x3b\x00{'descr': '<f8', 'fortran_order': True, 'shape': (2, 2), }",
                b"{\"format\": \"fedcompetitors-plan/1\", \"usage\": [",
                b"{\"format\": \"fedcompetitors-certificate/1\", ",
                b"{\"format\": \"fedcompetitors-catalogue/1\", ",
            ]),
            bytes in prop::collection::vec(any::<u8>(), 0..200),
        ) {
            let bytes = [start, &bytes].concat();
            for (_, target) in TARGETS {
                target(&bytes);
            }
        }
    }
}
