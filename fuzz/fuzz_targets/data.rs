//! Participants' data: no bytes panic, and what is read can be encoded.
#![no_main]

use std::{collections::BTreeMap, path::Path};

use fedcompetitors_files::{DataRules, Incomplete, TargetMeaning, parse_survey, parse_table};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let here = Path::new("here");
    let texts = |texts: &[&str]| texts.iter().map(ToString::to_string).collect::<Vec<_>>();
    let rules = DataRules {
        header: None,
        target: "y".into(),
        meaning: TargetMeaning::Number,
        ignore: Vec::new(),
        use_only: None,
        categories: BTreeMap::new(),
        other: false,
        missing: texts(&["", "?"]),
        missing_in: BTreeMap::new(),
        incomplete: Incomplete::Fill,
    };
    let _ = parse_survey(here, bytes);
    // With a header of its own a file is more often good.
    let with_header = [b"x,y\n", bytes].concat();
    for bytes in [bytes, &with_header] {
        if let Ok(read) = parse_table(here, bytes, "v1", &rules, None) {
            let samples = read.table.encode(None, true).expect("read numbers are finite");
            assert_eq!(samples.columns(), read.table.feature_names(true).len());
        }
    }
});
