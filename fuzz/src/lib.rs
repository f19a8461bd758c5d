//! What must hold for every reader, whatever the bytes: it does not panic, and what it accepts is
//! sound.
//!
//! The tests run each target for a moment; `cargo fuzz` runs the programs under `fuzz_targets` for
//! hours.

#![expect(clippy::missing_panics_doc, reason = "a target reports a fault by a panic")]

use std::{collections::BTreeMap, io::Read, path::Path};

use fedcompetitors_federate::protocol::{Answer, Request};
use fedcompetitors_files::{
    DataRules, Incomplete, TargetMeaning, parse_assignments, parse_catalogue, parse_certificate,
    parse_graphs, parse_participants, parse_plan, parse_survey, parse_table,
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
        beside: Vec::new(),
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
        named: Vec::new(),
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

/// Assignments of rows to folds: each repeat has a fold, or none, for each row of everybody.
pub fn assignments(bytes: &[u8]) {
    let participants = Participants::numbered(2);
    let numbers = [vec![1, 2, 3], vec![2, 5]];
    // A file with the known header is more often valid.
    let with_header = [b"participant,repeat,row,fold\n", bytes].concat();
    for bytes in [bytes, &with_header] {
        if let Ok(read) = parse_assignments(Path::new(HERE), bytes, &participants, &numbers) {
            assert!((1..=1000).contains(&read.repeats.len()) && read.folds <= 1000);
            for everybody in &read.repeats {
                assert!(everybody.iter().map(Vec::len).eq(numbers.iter().map(Vec::len)));
                assert!(everybody.iter().flatten().flatten().all(|fold| *fold < read.folds));
            }
        }
    }
}

/// Catalogues.
pub fn catalogue(bytes: &[u8]) {
    with_text(bytes, |text| drop(parse_catalogue(Path::new(HERE), text)));
}

/// Requests and answers: what is read is written as it was read.
pub fn wire(bytes: &[u8]) {
    if let Ok(request) = Request::from_bytes(bytes) {
        let written = request.to_bytes();
        assert_eq!(Request::from_bytes(&written).map(|again| again.to_bytes()), Ok(written));
    }
    if let Ok(answer) = Answer::from_bytes(bytes) {
        let written = answer.to_bytes();
        assert_eq!(Answer::from_bytes(&written).map(|again| again.to_bytes()), Ok(written));
    }
}

#[cfg(test)]
mod tests {
    use fedcompetitors_testing::cases;
    use proptest::prelude::*;

    use super::*;

    type Target = fn(&[u8]);

    const TARGETS: [(&str, Target); 10] = [
        ("assignments", assignments),
        ("benefit", benefit),
        ("catalogue", catalogue),
        ("certificate", certificate),
        ("competing", competing),
        ("data", data),
        ("matrix", matrix),
        ("participants", participants),
        ("plan", plan),
        ("wire", wire),
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

    /// A valid file for each target, to be damaged; in the order of `TARGETS`.
    const VALID: [&[u8]; 10] = [
        b"participant,repeat,row,fold\nv1,1,1,1\nv1,1,3,2\nv2,1,5,1\nv2,2,2,1\n",
        b"from,to,benefit\nx,y,1\n\"a,b\",z,0.5\nz,x,3\n",
        b"{\"format\": \"fedcompetitors-catalogue/1\", \"datasets\": [{\"name\": \"heart\", \"what\": \"w\", \
          \"licence\": \"l\", \"page\": \"https://a.b\", \"files\": [{\"name\": \"f.csv\", \
          \"url\": \"https://a.b/f.csv\", \"size\": 3}]}]}",
        b"{\"format\": \"fedcompetitors-certificate/1\", \"sets\": [\
          {\"participant\": \"v1\", \"reaches\": [\"v1\", \"v2\", \"v3\"]}, \
          {\"participant\": \"v2\", \"reaches\": [\"v2\", \"v3\"]}, \
          {\"participant\": \"v3\", \"reaches\": [\"v3\"]}]}",
        b"a,b\nx,y\n\"z\",x\n",
        b"x,y\n1,2\n$3.50,?\n-1e3,0\n",
        b"\x93NUMPY\x01\x00\x3d\x00{'descr': '|u1', 'fortran_order': False, 'shape': (2, 2), } \n\x00\x01\x01\x00",
        b"x\n\"y,z\"\n",
        b"{\"format\": \"fedcompetitors-plan/1\", \"policy\": \"greedy\", \"participants\": [\"x\", \"y\"], \
          \"usage\": [{\"from\": \"x\", \"to\": \"y\", \"benefit\": 0.5}], \"welfare\": 0.5, \"upper_bound\": 1.0}",
        b"FCRQ\x02\x00\x01\x00\x00\x00\x00\x80\x3f\x00\x05\x00\x00\x00\x00\x01\x00\x01\x00\x01\x00\x00\x00\x3f\x01\x01",
    ];

    /// A small change somewhere: bytes that are cut off, doubled, replaced or inserted.
    fn damage(bytes: &mut Vec<u8>, (kind, at, byte): (u8, prop::sample::Index, u8)) {
        let at = at.index(bytes.len() + 1);
        match kind {
            0 => bytes.truncate(at),
            1 => bytes.extend_from_within(at..),
            2 if at < bytes.len() => bytes[at] = byte,
            _ => bytes.insert(at, byte),
        }
    }

    /// The examples are good: otherwise nothing is tried but the first look of a reader.
    #[test]
    fn the_files_to_be_damaged_are_valid() {
        let read = |at: usize| str::from_utf8(VALID[at]).expect("UTF-8");
        let path = Path::new(HERE);
        let (two, numbers) = (Participants::numbered(2), [vec![1, 2, 3], vec![2, 5]]);
        let assigned = parse_assignments(path, VALID[0], &two, &numbers).expect("assignments");
        assert_eq!((assigned.folds, assigned.repeats.len()), (2, 2));
        assert!(parse_graphs(here(b"a,b\n"), here(VALID[1]), None).is_ok());
        parse_catalogue(path, read(2)).expect("a catalogue");
        parse_certificate(path, read(3), &Participants::numbered(3)).expect("a certificate");
        assert!(parse_graphs(here(VALID[4]), here(b"from,to,benefit\nx,y,1\n"), None).is_ok());
        assert!(parse_survey(path, VALID[5]).is_ok());
        let matrix = (Path::new("matrix.npy"), VALID[6]);
        assert!(parse_graphs(here(b"a,b\nv1,v2\n"), matrix, None).is_ok());
        assert_eq!(parse_participants(path, VALID[7]).expect("names").len(), 2);
        parse_plan(path, read(8)).expect("a plan");
        let request = Request::from_bytes(VALID[9]).expect("a request");
        assert_eq!(*request.given[0].values, [0.5]);
    }

    proptest! {
        #![proptest_config(cases(256))]

        #[test]
        fn no_bytes_make_a_reader_panic(
            bytes in prop::collection::vec(any::<u8>(), 0..200),
            text in "[ -~\\n]{0,200}",
            damages in prop::collection::vec((0_u8..4, any::<prop::sample::Index>(), any::<u8>()), 1..4),
        ) {
            for ((_, target), valid) in TARGETS.into_iter().zip(VALID) {
                target(&bytes);
                target(text.as_bytes());
                target(&[valid, &bytes].concat());
                let mut damaged = valid.to_vec();
                damages.iter().for_each(|&one| damage(&mut damaged, one));
                target(&damaged);
            }
        }
    }
}
