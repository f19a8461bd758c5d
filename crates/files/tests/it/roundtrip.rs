//! What is written is read back the same, whatever the names; and no bytes at all make
//! a reader panic.

use std::path::Path;

use fedcompetitors_files::{
    PlanDocument, parse_certificate, parse_graphs, parse_participants, parse_plan, parse_samples,
    plan_json, write_benefit, write_benefit_matrix, write_certificate, write_competing,
    write_competing_matrix, write_participants,
};
use fedcompetitors_graphs::{BenefitGraph, Certificate, CompetingGraph, Participants, Provenance};
use fedcompetitors_select::{Past, Setting, greedy};
use fedcompetitors_testing::cases;
use proptest::prelude::*;

/// Names of any text: separators, quotes, line breaks, other scripts.
fn names() -> impl Strategy<Value = Vec<String>> {
    let odd = prop::sample::select(vec![
        "a,b",
        "\"q\"",
        "x\ny",
        "聖マリア",
        "<b>",
        "a\u{1b}[0m",
        "a;b",
        "\u{feff}bom",
        "#x",
        "'",
    ]);
    let name = prop_oneof![odd.prop_map(String::from), any::<String>(), "[a-z]{1,6}"];
    prop::collection::btree_set(name, 2..9).prop_map(|names| {
        names.into_iter().filter(|name| !name.is_empty() && name.trim() == name).collect()
    })
}

fn graphs() -> impl Strategy<Value = (CompetingGraph, BenefitGraph)> {
    (names(), any::<u64>(), any::<u64>()).prop_map(|(names, rivals, helpers)| {
        let participants = Participants::new(&names).expect("valid");
        let mut competing = CompetingGraph::builder(&participants);
        let mut benefit = BenefitGraph::builder(&participants);
        let pairs = (0..names.len()).flat_map(|a| (0..names.len()).map(move |b| (a, b)));
        for (at, (a, b)) in pairs.filter(|(a, b)| a != b).enumerate() {
            if (rivals >> (at % 64)).trailing_zeros() >= 3 {
                competing.report(a, b).expect("two participants");
            }
            if helpers >> (at % 64) & 1 == 0 {
                benefit.add(a, b, 0.1 + at as f64 / 3.0).expect("valid");
            }
        }
        (competing.build(), benefit.build())
    })
}

const HERE: &str = "here";

proptest! {
    #![proptest_config(cases(256))]

    #[test]
    fn tables_and_matrices_come_back((competing, benefit) in graphs()) {
        let participants = benefit.participants();
        let (mut a, mut b) = (Vec::new(), Vec::new());
        write_competing(&competing, &mut a).expect("to memory");
        write_benefit(&benefit, &mut b).expect("to memory");
        let here = Path::new(HERE);
        let read = parse_graphs((here, &a[..]), (here, &b[..]), Some(participants.clone())).expect("valid");
        prop_assert_eq!((&read.competing, &read.benefit), (&competing, &benefit));

        let (mut a, mut b) = (Vec::new(), Vec::new());
        write_competing_matrix(&competing, &mut a).expect("to memory");
        write_benefit_matrix(&benefit, &mut b).expect("to memory");
        let read = parse_graphs((here, &a[..]), (here, &b[..]), Some(participants.clone())).expect("valid");
        prop_assert_eq!((&read.competing, &read.benefit), (&competing, &benefit));

        // A list has one name a line, so it cannot hold names with line breaks.
        if participants.names().all(|name| !name.contains(['\n', '\r', '\u{feff}'])) {
            let mut list = Vec::new();
            write_participants(participants, &mut list).expect("to memory");
            prop_assert_eq!(&parse_participants(here, &list[..]).expect("valid"), participants);
        }
    }

    #[test]
    fn plans_and_certificates_come_back(
        (competing, benefit) in graphs(),
        with_refusals: bool,
        with_past: bool,
        carried in prop::collection::vec((0_usize..9, 0_usize..9), 0..6),
    ) {
        let plan = greedy(Setting::new(&competing, &benefit));
        let mut text = Vec::new();
        let mut provenance = Provenance::own(benefit.participants());
        for (owner, other) in carried {
            provenance.add(owner % benefit.participants().len(), other % benefit.participants().len());
        }
        let past = Past { provenance, left: vec![0], competing: competing.pairs().collect() };
        let past = with_past.then_some(past);
        let document = PlanDocument {
            plan: &plan, competing: &competing, benefit: &benefit, past: past.as_ref(), with_refusals,
        };
        plan_json(&mut text, &document).expect("to memory");
        let text = String::from_utf8(text).expect("UTF-8");
        let stated = parse_plan(Path::new(HERE), &text).expect("valid");
        prop_assert_eq!(&stated.usage, &plan.usage);
        prop_assert_eq!(&stated.past, &past);
        prop_assert_eq!(stated.welfare.to_bits(), plan.welfare.to_bits());
        prop_assert!((stated.benefit_sum - plan.welfare).abs() < 1e-9);

        let certificate = Certificate::prove(&competing, &plan.usage).expect("the rule holds");
        let mut text = Vec::new();
        write_certificate(&certificate, &mut text).expect("to memory");
        let text = String::from_utf8(text).expect("UTF-8");
        let read = parse_certificate(Path::new(HERE), &text, benefit.participants()).expect("valid");
        prop_assert_eq!(read, certificate);
    }
}

#[test]
fn every_type_and_order_of_matrix_is_read() {
    // v1 helps v2 by 1, v2 helps v1 by 2.
    let types: [(&str, Vec<u8>); 3] = [
        ("<f8", [0.0, 1.0, 2.0, 0.0_f64].into_iter().flat_map(f64::to_le_bytes).collect()),
        ("<f4", [0.0, 1.0, 2.0, 0.0_f32].into_iter().flat_map(f32::to_le_bytes).collect()),
        ("|u1", vec![0, 1, 2, 0]),
    ];
    for (descr, entries) in types {
        for (by_column, expected) in [("False", (1.0, 2.0)), ("True", (2.0, 1.0))] {
            for version in [1, 2] {
                let header = format!(
                    "{{'shape': (2, 2), 'fortran_order': {by_column}, 'descr': '{descr}'}}\n"
                );
                let mut bytes = b"\x93NUMPY".to_vec();
                bytes.extend([version, 0]);
                match version {
                    1 => bytes.extend((header.len() as u16).to_le_bytes()),
                    _ => bytes.extend((header.len() as u32).to_le_bytes()),
                }
                bytes.extend(header.as_bytes());
                bytes.extend(&entries);
                let here = Path::new(HERE);
                let graphs =
                    parse_graphs((here, &b"a,b\n"[..]), (here, &bytes[..]), None).expect("valid");
                let (forth, back) = (graphs.benefit.benefit(0, 1), graphs.benefit.benefit(1, 0));
                assert_eq!((forth, back), expected, "{descr} {by_column} {version}");
            }
        }
    }
}

#[test]
fn spreadsheet_habits_are_understood() {
    let here = Path::new(HERE);
    let competing = "\u{feff}a,b\r\nSt Mary,General\r\n\r\n";
    let benefit = "\u{feff}from,to,benefit\r\n\"Smith, Jones\",General, 0.5 \r\n";
    let graphs = parse_graphs((here, competing.as_bytes()), (here, benefit.as_bytes()), None)
        .expect("valid");
    let names: Vec<_> = graphs.benefit.participants().names().collect();
    assert_eq!(
        names,
        ["Smith, Jones", "General", "St Mary"],
        "first the benefit file, then the competing file"
    );
    assert_eq!(graphs.warnings.len(), 1, "St Mary is in one file only");
}

#[test]
fn exported_columns_are_read_past() {
    let here = Path::new(HERE);
    let competing = "a,b,since\r\nSt Mary,General,0\r\n";
    let benefit = "from,to,benefit,related\r\nSmith,General,0.5,\r\nGeneral,Smith,0.2,0.9\r\n";
    let graphs = parse_graphs((here, competing.as_bytes()), (here, benefit.as_bytes()), None)
        .expect("valid");
    let participants = graphs.benefit.participants();
    let [smith, general, mary] = [0, 1, 2];
    assert!(participants.names().eq(["Smith", "General", "St Mary"]));
    let benefits: Vec<(usize, f64)> = graphs.benefit.helpers(general).collect();
    assert_eq!(benefits, [(smith, 0.5)]);
    assert!(graphs.competing.competes(mary, general) && !graphs.competing.competes(smith, mary));
    let samples = "participant,samples,few,source,source_hash\nSmith,3,1,a.csv,x\nGeneral,20,0,b.csv,\nSt Mary,7,0,c.csv,y\n";
    let samples = parse_samples(here, samples.as_bytes(), participants).expect("valid");
    assert_eq!(samples.counts(), [3.0, 20.0, 7.0]);
}

#[test]
fn misspelt_rivals_are_pointed_out() {
    let warnings = |competing: &str, benefit: &str, known: Option<Participants>| {
        let competing = (Path::new("competing.csv"), competing.as_bytes());
        let benefit = (Path::new("benefit.csv"), benefit.as_bytes());
        parse_graphs(competing, benefit, known).expect("allowed").warnings
    };
    assert_eq!(
        warnings("a,b\nSt Mary,Genral\n", "from,to,benefit\nSt Mary,General,1\n", None),
        [
            "\"Genral\" is in competing.csv but not in benefit.csv: nobody helps it and it helps \
             nobody; did you mean \"General\"?",
            "\"General\" is in benefit.csv but not in competing.csv, which has \"Genral\": if \
             both mean the same participant, a competition is lost; correct the name, or give a \
             list of participants",
        ]
    );
    // General is in both, Genral in the benefit file alone.
    let benefit = "from,to,benefit\nSt Mary,General,1\nGenral,St Mary,1\n";
    assert_eq!(warnings("a,b\nSt Mary,General\n", benefit, None).len(), 1);
    // A list of participants settles the question.
    let listed = Participants::new(["St Mary", "General", "Genral"]).expect("valid");
    assert_eq!(warnings("a,b\nSt Mary,General\n", benefit, Some(listed)), [""; 0]);
}

#[test]
fn a_thousand_strangers_are_not_pointed_out_one_by_one() {
    let strangers: Vec<String> = (0..1000).map(|i| format!("x{i},y{i}")).collect();
    let competing = format!("a,b\n{}\n", strangers.join("\n"));
    let competing = (Path::new("competing.csv"), competing.as_bytes());
    let benefit = (Path::new("benefit.csv"), &b"from,to,benefit\nA,B,1\n"[..]);
    assert_eq!(parse_graphs(competing, benefit, None).expect("allowed").warnings.len(), 11);
}

#[test]
fn a_list_cannot_hold_a_line_break() {
    let participants = Participants::new(["a\nb"]).expect("valid");
    assert!(write_participants(&participants, &mut Vec::new()).is_err());
}
