//! Every way in which a file can be wrong, with its message and hint, as a snapshot.

use std::{fs, path::Path};

use fedcompetitors_files::{
    FileError, parse_assignments, parse_catalogue, parse_certificate, parse_graphs,
    parse_participants, parse_plan, parse_samples, read_graphs,
};
use fedcompetitors_graphs::Participants;

use super::refusals;

const GOOD_BENEFIT: &str = "from,to,benefit\nCity,North,0.5\n";
const GOOD_COMPETING: &str = "a,b\nCity,North\n";

fn graphs(competing: &[u8], benefit: &[u8]) -> Option<FileError> {
    graphs_over(competing, benefit, None)
}

fn graphs_over(competing: &[u8], benefit: &[u8], known: Option<&[&str]>) -> Option<FileError> {
    let known = known.map(|names| Participants::new(names).expect("valid"));
    let competing = (Path::new("competing.csv"), competing);
    parse_graphs(competing, (Path::new("benefit.csv"), benefit), known).err()
}

fn benefit(text: &str) -> Option<FileError> {
    graphs(GOOD_COMPETING.as_bytes(), text.as_bytes())
}

fn competing(text: &str) -> Option<FileError> {
    graphs(text.as_bytes(), GOOD_BENEFIT.as_bytes())
}

fn list(text: &[u8]) -> Option<FileError> {
    parse_participants(Path::new("participants.txt"), text).err()
}

fn samples(text: &str) -> Option<FileError> {
    let participants = Participants::new(["City", "North"]).expect("valid");
    parse_samples(Path::new("samples.csv"), text.as_bytes(), &participants).err()
}

/// City has the rows 1 and 3 of its file, North has row 2.
fn assignments(lines: &str) -> Option<FileError> {
    let participants = Participants::new(["City", "North"]).expect("valid");
    let text = format!("participant,repeat,row,fold\n{lines}");
    let rows = [vec![1, 3], vec![2]];
    parse_assignments(Path::new("folds.csv"), text.as_bytes(), &participants, &rows).err()
}

/// An `.npy` file with this header and these entries.
fn npy(header: &str, entries: &[u8]) -> Vec<u8> {
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.as_bytes());
    bytes.extend(entries);
    bytes
}

fn two_by_two(entries: [f64; 4]) -> Vec<u8> {
    let entries: Vec<u8> = entries.into_iter().flat_map(f64::to_le_bytes).collect();
    npy("{'descr': '<f8', 'fortran_order': False, 'shape': (2, 2), }", &entries)
}

fn plan(text: &str) -> Option<FileError> {
    parse_plan(Path::new("plan.json"), text).err()
}

/// A plan whose usage is this line.
fn plan_with(edge: &str) -> Option<FileError> {
    plan(&format!(
        "{{\n\"format\": \"fedcompetitors-plan/1\",\n\"policy\": \"greedy\",\n\
         \"participants\": [\"City\", \"North\"],\n\"usage\": [\n{edge}\n],\n\
         \"welfare\": 0.5,\n\"upper_bound\": 0.5,\n\"refused\": []\n}}"
    ))
}

fn certificate(sets: &str) -> Option<FileError> {
    let text = format!("{{\"format\": \"fedcompetitors-certificate/1\",\n\"sets\": [\n{sets}\n]}}");
    let participants = Participants::new(["City", "North"]).expect("valid");
    parse_certificate(Path::new("certificate.json"), &text, &participants).err()
}

/// A catalogue whose only data set has these files.
fn catalogue(files: &str) -> Option<FileError> {
    let text = format!(
        "{{\"format\": \"fedcompetitors-catalogue/1\",\n\"datasets\": [\n\
         {{\"name\": \"set\", \"files\": [\n{files}\n]}}]}}"
    );
    parse_catalogue(Path::new("catalogue.json"), &text).err()
}

#[test]
#[expect(clippy::too_many_lines, reason = "one line a case")]
fn every_message_and_hint() {
    let none = GOOD_COMPETING.as_bytes();
    let cases: Vec<(&str, Option<FileError>)> = vec![
        // Names and edges.
        ("an empty name", benefit("from,to,benefit\nCity,,0.5\n")),
        ("a name with a space before it", competing("a,b\nCity, North\n")),
        ("a doubled participant", list(b"City\nNorth\nCity\n")),
        (
            "a misspelt participant",
            graphs_over(b"a,b\nCiti,North\n", GOOD_BENEFIT.as_bytes(), Some(&["City", "North"])),
        ),
        (
            "an unknown participant",
            graphs_over(
                b"a,b\nWolfsburg,North\n",
                GOOD_BENEFIT.as_bytes(),
                Some(&["City", "North"]),
            ),
        ),
        ("competing with itself", competing("a,b\nCity,North\nNorth,North\n")),
        ("a negative benefit", benefit("from,to,benefit\nCity,North,-0.5\n")),
        ("a benefit that is no number", benefit("from,to,benefit\nCity,North,NaN\n")),
        ("an infinite benefit", benefit("from,to,benefit\n\n\nCity,North,inf\n")),
        ("a benefit beyond all sums", benefit("from,to,benefit\nCity,North,1e300\n")),
        ("a benefit to itself", benefit("from,to,benefit\nCity,City,0.5\n")),
        (
            "a doubled benefit",
            benefit("from,to,benefit\nCity,North,0.5\nNorth,City,1\nCity,North,0.4\n"),
        ),
        (
            "benefits of all estimates",
            benefit("session,estimator,from,to,benefit,related\nfinal,evidence,City,North,1,0.9\n"),
        ),
        ("a column that is not known", benefit("from,to,benefit,allowed\nCity,North,1,no\n")),
        ("an exported column left out", benefit("from,to,benefit,related\nCity,North,1\n")),
        (
            "a name that would move the cursor",
            benefit("from,to,benefit\n\"a\u{1b}[2J\nb\",North,-1\n"),
        ),
        // Tables.
        ("an empty file", benefit("")),
        ("an open quote", benefit("from,to,benefit\nCity,North,1\n\"North,City,1\nEast,City,1\n")),
        ("an open quote at the end", competing("a,b\nCity,North\nNorth,\"East")),
        ("tabs", benefit("from\tto\tbenefit\nCity\tNorth\t1\n")),
        ("files exchanged", benefit("a,b\nCity,North\n")),
        (
            "an empty matrix",
            graphs(none, &npy("{'descr': '<f8', 'fortran_order': False, 'shape': (0, 0), }", &[])),
        ),
        ("another header", benefit("source,target,weight\nCity,North,0.5\n")),
        ("semicolons", benefit("from;to;benefit\nCity;North;0.5\n")),
        ("a decimal comma", benefit("from,to,benefit\nCity,North,0,5\n")),
        ("a missing field", competing("a,b\nCity\n")),
        ("a word for a number", benefit("from,to,benefit\nCity,North,much\n")),
        ("another encoding", graphs(b"a,b\nZo\xeb,North\n", GOOD_BENEFIT.as_bytes())),
        ("a list in another encoding", list(b"City\nZo\xeb\n")),
        ("an empty list", list(b"\n\n")),
        ("no participants at all", graphs(b"a,b\n", b"from,to,benefit\n")),
        (
            "a file that is not there",
            read_graphs(Path::new("no-such-file.csv"), Path::new("benefit.csv"), None).err(),
        ),
        ("a folder", read_graphs(Path::new("."), Path::new("."), None).err()),
        (
            "too many participants",
            list(
                (0..100_001)
                    .map(|number| number.to_string())
                    .collect::<Vec<_>>()
                    .join("\n")
                    .as_bytes(),
            ),
        ),
        // Samples.
        ("samples with another header", samples("name,rows\nCity,120\nNorth,80\n")),
        ("a word for a sample count", samples("participant,samples\nCity,many\nNorth,80\n")),
        ("no samples", samples("participant,samples\nCity,0\nNorth,80\n")),
        ("fewer than no samples", samples("participant,samples\nCity,120\nNorth,-80\n")),
        ("endless samples", samples("participant,samples\nCity,120\nNorth,inf\n")),
        ("samples of a stranger", samples("participant,samples\nCity,120\nNorht,80\n")),
        ("samples twice", samples("participant,samples\nCity,120\nNorth,80\nCity,90\n")),
        ("samples that are missing", samples("participant,samples\nCity,120\n")),
        // Matrices.
        ("a matrix cut short", graphs(none, &two_by_two([0.0; 4])[..90])),
        ("a matrix that goes on", graphs(none, &[two_by_two([0.0; 4]), vec![0]].concat())),
        ("a header cut short", graphs(none, b"\x93NUMPY\x01\x00\xff\x00{'descr'")),
        ("a header that is no dictionary", graphs(none, &npy("hello", &[]))),
        ("a later version", graphs(none, b"\x93NUMPY\x09\x00\x00\x00")),
        (
            "complex entries",
            graphs(none, &npy("{'descr': '<c16', 'fortran_order': False, 'shape': (2, 2), }", &[])),
        ),
        (
            "structured entries",
            graphs(
                none,
                &npy("{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (2, 2), }", &[]),
            ),
        ),
        (
            "a matrix that is not square",
            graphs(none, &npy("{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3), }", &[])),
        ),
        (
            "a vector",
            graphs(none, &npy("{'descr': '<f8', 'fortran_order': False, 'shape': (4,), }", &[])),
        ),
        (
            "a single number",
            graphs(none, &npy("{'descr': '<f8', 'fortran_order': False, 'shape': (), }", &[])),
        ),
        (
            "a matrix with a diagonal",
            graphs(&two_by_two([0.0; 4]), &two_by_two([0.5, 0.1, 0.1, 0.5])),
        ),
        (
            "a matrix with a negative entry",
            graphs(&two_by_two([0.0; 4]), &two_by_two([0.0, -0.1, 0.1, 0.0])),
        ),
        (
            "a matrix of competition that is not 0 and 1",
            graphs(&two_by_two([0.0, 0.7, 0.0, 0.0]), &two_by_two([0.0; 4])),
        ),
        (
            "a matrix for another number of participants",
            graphs_over(
                &two_by_two([0.0; 4]),
                GOOD_BENEFIT.as_bytes(),
                Some(&["City", "North", "South"]),
            ),
        ),
        // Plans.
        ("a plan that is no JSON", plan("{\n\"format\": \"fedcompetitors-plan/1\",\n\"policy\": ")),
        ("another format", plan("{\"format\": \"fedcompetitors-plan/9\", \"new\": 1}")),
        ("no format", plan("{\"policy\": \"greedy\"}")),
        (
            "an unknown field",
            plan("{\"format\": \"fedcompetitors-plan/1\", \"polizy\": \"greedy\"}"),
        ),
        (
            "a missing field",
            plan("{\"format\": \"fedcompetitors-plan/1\", \"policy\": \"greedy\"}"),
        ),
        ("a plan that is a list", plan("[1]")),
        ("an empty plan", plan(" ")),
        (
            "a plan of nobody",
            plan(
                "{\"format\": \"fedcompetitors-plan/1\", \"policy\": \"\", \"participants\": [], \"usage\": [], \"welfare\": 0, \"upper_bound\": 0}",
            ),
        ),
        (
            "an unknown field that would clear the screen",
            plan("{\"format\": \"fedcompetitors-plan/1\", \"\\u001b[2Jx\": 1}"),
        ),
        (
            "a negative benefit",
            plan_with("{\"from\": \"City\", \"to\": \"North\", \"benefit\": -0.5}"),
        ),
        ("an edge that is no edge", plan_with("7")),
        (
            "an edge from somebody unknown",
            plan_with("{\"from\": \"Citi\", \"to\": \"North\", \"benefit\": 0.5}"),
        ),
        (
            "an edge to itself",
            plan_with("{\"from\": \"City\", \"to\": \"City\", \"benefit\": 0.5}"),
        ),
        (
            "an edge twice",
            plan_with(
                "{\"from\": \"City\", \"to\": \"North\", \"benefit\": 0.5},\n{\"from\": \"City\", \"to\": \"North\", \"benefit\": 0.5}",
            ),
        ),
        ("an edge without an end", plan_with("{\"from\": \"City\"}")),
        (
            "another format with the same fields",
            plan(
                "{\"format\": \"fedcompetitors-plan/2\", \"policy\": \"\", \"participants\": [], \"usage\": [], \"welfare\": 0, \"upper_bound\": 0}",
            ),
        ),
        // Certificates.
        (
            "two sets for one",
            certificate(
                "{\"participant\": \"City\", \"reaches\": [\"City\"]},\n{\"participant\": \"City\", \"reaches\": []}",
            ),
        ),
        ("no set for one", certificate("{\"participant\": \"City\", \"reaches\": [\"City\"]}")),
        (
            "a set with somebody unknown",
            certificate("{\"participant\": \"City\", \"reaches\": [\"Norht\"]}"),
        ),
        // Catalogues.
        (
            "a file outside of its folder",
            catalogue("{\"name\": \"../../.profile\", \"url\": \"https://example.org/a\"}"),
        ),
        (
            "two files in one place",
            catalogue(
                "{\"name\": \"a\", \"url\": \"https://example.org/a\"},\n{\"name\": \"A\", \"url\": \"https://example.org/A\"}",
            ),
        ),
        (
            "an address on this machine",
            catalogue("{\"name\": \"a\", \"url\": \"file:///etc/passwd\"}"),
        ),
        (
            "an archive of another kind",
            catalogue(
                "{\"name\": \"a.zip\", \"url\": \"https://example.org/a\", \"unpack\": [{\"name\": \"b\"}]}",
            ),
        ),
        (
            "a checksum that is too short",
            catalogue(
                "{\"name\": \"a\", \"url\": \"https://example.org/a\", \"checksums\": [\"sha256:abc\"]}",
            ),
        ),
        ("a data set without files", catalogue("")),
        ("assignments of nothing", assignments("")),
        ("a fold that is counted from 0", assignments("City,1,1,0\n")),
        ("a fold that is too large", assignments("City,1,1,1001\n")),
        ("a repeat that is not a number", assignments("City,one,1,1\n")),
        ("a row that is not the participant's", assignments("City,1,2,1\n")),
        ("a row in two folds of one repeat", assignments("City,1,1,1\nCity,1,1,2\n")),
        ("a repeat that is skipped", assignments("City,1,1,1\nCity,3,1,1\n")),
        ("an assignment of somebody unknown", assignments("Citty,1,1,1\n")),
    ];
    insta::assert_snapshot!(refusals(cases));
}

#[test]
fn a_missing_folder_is_told() {
    let error = fedcompetitors_files::atomically(Path::new("no/such/folder/plan.json"), |_| Ok(()))
        .expect_err("there is no such folder");
    insta::assert_snapshot!(format!("error: {error}\nhint: {}", error.hint()));
}

/// The golden cases that must be refused, read by the tests of every language.
#[test]
fn golden_cases_are_refused_as_written() {
    #[derive(serde::Deserialize)]
    struct Case {
        title: String,
        competing: String,
        benefit: String,
        participants: Option<String>,
        error: String,
    }
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../cases/refused.json");
    let text = fs::read_to_string(path).expect("the golden cases");
    let cases: Vec<Case> = serde_json::from_str(&text).expect("well-formed golden cases");
    assert!(cases.len() >= 12);
    for case in cases {
        let list = case.participants.as_ref();
        let known =
            list.map(|list| parse_participants(Path::new("participants.txt"), list.as_bytes()));
        let result = known.transpose().and_then(|known| {
            let competing = (Path::new("competing.csv"), case.competing.as_bytes());
            parse_graphs(competing, (Path::new("benefit.csv"), case.benefit.as_bytes()), known)
        });
        let error = result.err().unwrap_or_else(|| panic!("{} was accepted", case.title));
        assert_eq!(error.to_string(), case.error, "{}", case.title);
    }
}
