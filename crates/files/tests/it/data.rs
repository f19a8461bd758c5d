//! Participants' data files: what is read from good ones, every way in which one can be
//! wrong with its message and hint, and tables that come back as they were written.

use std::{collections::BTreeMap, fs, io::Write as _, path::Path};

use fedcompetitors_files::{
    ColumnSurvey, DataProblem, DataRules, FileError, Incomplete, Problem, ReadTable, TargetMeaning,
    count_values, parse_survey, parse_table, read_table, survey,
};
use fedcompetitors_learn::{Column, Table, Targets};
use fedcompetitors_testing::cases;
use proptest::prelude::*;

use super::refusals;

pub fn texts(texts: &[&str]) -> Vec<String> {
    texts.iter().map(ToString::to_string).collect()
}

/// Age and dose are numbers, pain is a category, ill the target; features come in the order of names.
pub fn rules() -> DataRules {
    DataRules {
        beside: Vec::new(),
        header: None,
        target: "ill".into(),
        meaning: TargetMeaning::Classes(vec![texts(&["0", "no"]), texts(&["1", "2", "yes"])]),
        ignore: Vec::new(),
        use_only: None,
        categories: BTreeMap::from([("pain".into(), texts(&["none", "much"]))]),
        other: false,
        missing: texts(&["", "?"]),
        missing_in: BTreeMap::from([("dose".into(), texts(&["0"]))]),
        incomplete: Incomplete::Fill,
        named: Vec::new(),
    }
}

fn numbers() -> DataRules {
    let (categories, missing_in) = (BTreeMap::new(), BTreeMap::new());
    DataRules { meaning: TargetMeaning::Number, categories, missing_in, ..rules() }
}

fn read_only(
    text: impl AsRef<[u8]>,
    rules: &DataRules,
    only: Option<(&str, &str)>,
) -> Result<ReadTable, FileError> {
    parse_table(Path::new("city.csv"), text.as_ref(), "City", rules, only)
}

fn read(text: impl AsRef<[u8]>, rules: &DataRules) -> Result<ReadTable, FileError> {
    read_only(text, rules, None)
}

fn packed(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(bytes).expect("to memory");
    encoder.finish().expect("to memory")
}

const GOOD: &str = "age,pain,dose,ill\n\
    40,none,1.5,no\n\
    ?,much,0,yes\n\
    60,,2,2\n\
    70,none,3,?\n\
    80 , much , 4e0 , 1 \n";

fn good_table() -> Table {
    let columns = vec![
        Column::Numbers(vec![Some(40.0), None, Some(60.0), Some(80.0)]),
        Column::Numbers(vec![Some(1.5), None, Some(2.0), Some(4.0)]),
        Column::Categories {
            names: texts(&["none", "much"]),
            codes: vec![Some(0), Some(1), None, Some(1)],
        },
    ];
    let targets = Targets::Classes { labels: vec![0, 1, 1, 1], count: 2 };
    Table::new(texts(&["age", "dose", "pain"]), columns, targets).expect("good")
}

#[test]
fn a_good_file_is_read() {
    let found = read(GOOD, &rules()).expect("good");
    assert_eq!(found.table, good_table());
    assert_eq!((found.incomplete, found.without_target), (0, 1));
    assert_eq!(found.missing, [1, 1, 1]);
}

#[test]
fn how_it_is_packed_and_how_its_lines_end_make_no_difference() {
    let folder = tempfile::tempdir().expect("a folder");
    let (first, rest) = GOOD.as_bytes().split_at(40);
    let same = [
        GOOD.into(),
        GOOD.trim_end().into(),
        GOOD.replace('\n', "\r\n").into_bytes(),
        GOOD.replace('\n', "\r\n\r\n").into_bytes(),
        format!("\u{feff}{GOOD}").into_bytes(),
        packed(GOOD.as_bytes()),
        packed(format!("\u{feff}{GOOD}").as_bytes()),
        // Gzip files may be put one behind the other.
        [packed(first), packed(rest)].concat(),
        GOOD.replace("none", "\"none\"").replace("pain", " \"pain\"").replace(" \"", "\"").into(),
    ];
    for bytes in same {
        let path = folder.path().join("city.data");
        fs::write(&path, bytes).expect("written");
        let found = read_table(&path, "City", &rules(), None).expect("good");
        assert_eq!(found.table, good_table());
    }
}

#[test]
fn incomplete_rows_can_be_left_out() {
    let found = read(GOOD, &DataRules { incomplete: Incomplete::LeaveOut, ..rules() });
    let found = found.expect("good");
    assert_eq!((found.incomplete, found.without_target), (2, 1));
    assert_eq!(found.missing, [1, 1, 1]);
    assert_eq!(found.table.len(), 2);
    assert_eq!(found.table.columns()[0], Column::Numbers(vec![Some(40.0), Some(80.0)]));
    assert_eq!(*found.table.targets(), Targets::Classes { labels: vec![0, 1], count: 2 });
}

#[test]
fn columns_are_chosen_and_named() {
    let names = |rules: &DataRules| read(GOOD, rules).expect("good").table.names().join(" ");
    assert_eq!(names(&DataRules { ignore: texts(&["pain"]), ..rules() }), "age dose");
    let use_only = Some(texts(&["dose", "age"]));
    assert_eq!(names(&DataRules { use_only, ..rules() }), "dose age");
    let header = Some(texts(&["age", "pain", "dose", "ill"]));
    let without_header = GOOD.split_once('\n').expect("a header").1;
    let found = read(without_header, &DataRules { header, ..rules() }).expect("good");
    assert_eq!(found.table.names(), ["age", "pain", "dose"], "the order of the declared header");
    // However a participant orders its columns, the table is the same.
    let turned: String = GOOD
        .lines()
        .map(|line| line.split(',').rev().collect::<Vec<_>>().join(",") + "\n")
        .collect();
    assert_eq!(read(turned, &rules()).expect("good").table, good_table());
}

#[test]
fn several_participants_share_a_file() {
    let text = "where,age,ill\n7,x,no\n1,40,no\n 1.0 ,50,yes\n2,60,?\n";
    let rules = DataRules { categories: BTreeMap::new(), missing_in: BTreeMap::new(), ..rules() };
    let found = read_only(text, &rules, Some(("where", "1"))).expect("good");
    assert_eq!(found.table.names(), ["age"]);
    assert_eq!(*found.table.columns(), [Column::Numbers(vec![Some(40.0), Some(50.0)])]);
    assert_eq!(found.without_target, 0);
}

#[test]
fn an_undeclared_category_can_count_as_missing() {
    let text = GOOD.replace("none", "unbearable");
    let found = read(&text, &DataRules { other: true, ..rules() }).expect("good");
    assert_eq!(found.missing, [1, 1, 2]);
}

#[test]
fn amounts_are_numbers() {
    let text = "price,ill\n\"$60,000.00\",\"$1,234,567\"\n$7,-8.5\n";
    let found = read(text, &numbers()).expect("good");
    assert_eq!(*found.table.columns(), [Column::Numbers(vec![Some(60_000.0), Some(7.0)])]);
    assert_eq!(*found.table.targets(), Targets::Values(vec![1_234_567.0, -8.5]));
}

/// What a program says to a Parquet file that was built without reading them.
fn without_parquet() -> FileError {
    if cfg!(not(feature = "parquet")) {
        return read("PAR1\x15\x04", &rules()).expect_err("a Parquet file");
    }
    let problem = Box::new(DataProblem::Parquet);
    let problem = Problem::Data { participant: Some("City".into()), problem };
    FileError { path: "city.csv".into(), line: None, problem }
}

#[test]
#[expect(clippy::too_many_lines, reason = "one line a case")]
fn every_message_and_hint() {
    let rows = |rows: &str| read(format!("age,pain,dose,ill\n{rows}"), &rules()).err();
    let good = |rules: DataRules| read(GOOD, &rules).err();
    let packed_good = packed(GOOD.as_bytes());
    let mut damaged = packed_good.clone();
    let at = damaged.len() - 6;
    damaged[at] ^= 1;
    let header = || Some(texts(&["age", "pain", "dose", "ill"]));
    let many: Vec<String> = (1..=13).map(|grade| grade.to_string()).collect();
    let with_pain = |names| BTreeMap::from([("pain".to_owned(), names)]);
    let cases: Vec<(&str, Option<FileError>)> = vec![
        // The file.
        (
            "a file that is not there",
            read_table(Path::new("no-such-file.csv"), "City", &rules(), None).err(),
        ),
        ("a Parquet file", Some(without_parquet())),
        ("a folder", read_table(Path::new("."), "City", &rules(), None).err()),
        ("an empty file", read("", &rules()).err()),
        ("nothing but a header", rows("")),
        ("nothing at all", read("", &DataRules { header: header(), ..rules() }).err()),
        ("a gzip file cut short", read(&packed_good[..packed_good.len() - 20], &rules()).err()),
        (
            "a gzip file cut at its very end",
            read(&packed_good[..packed_good.len() - 3], &rules()).err(),
        ),
        ("the beginning of a gzip file", read(&packed_good[..2], &rules()).err()),
        ("a damaged gzip file", read(&damaged, &rules()).err()),
        (
            "a gzip file that goes on",
            read([&packed_good[..], b"age,pain,dose,ill"].concat(), &rules()).err(),
        ),
        ("semicolons", read(GOOD.replace(',', ";"), &rules()).err()),
        ("tabs", read(GOOD.replace(',', "\t"), &rules()).err()),
        (
            "semicolons without a header",
            read("40;none;1;no\n", &DataRules { header: header(), ..rules() }).err(),
        ),
        ("an open quote", rows("40,none,1,no\n50,\"none,1,no\n60,none,1,no\n")),
        ("a header in another encoding", read(b"age,gr\xf6sse,ill\n1,2,no\n", &rules()).err()),
        ("another encoding", read(b"age,pain,dose,ill\n1,gro\xdf,1,no\n", &rules()).err()),
        // Columns.
        ("a doubled column", read("age,pain, age,ill\n", &rules()).err()),
        ("a misspelt target", good(DataRules { target: "Ill".into(), ..rules() })),
        ("an unknown target", good(DataRules { target: "xyz".into(), ..rules() })),
        ("an unknown column to ignore", good(DataRules { ignore: texts(&["doses"]), ..rules() })),
        (
            "an unknown column to use",
            good(DataRules { use_only: Some(texts(&["aged"])), ..rules() }),
        ),
        (
            "an unknown column of categories",
            good(DataRules { categories: BTreeMap::from([("pian".into(), vec![])]), ..rules() }),
        ),
        (
            "an unknown column with gaps",
            good(DataRules { missing_in: BTreeMap::from([("Dose".into(), vec![])]), ..rules() }),
        ),
        (
            "an unknown column of participants",
            read_only(GOOD, &rules(), Some(("city", "City"))).err(),
        ),
        ("the target as a feature", good(DataRules { use_only: Some(texts(&["ill"])), ..rules() })),
        ("no features", good(DataRules { ignore: texts(&["age", "pain", "dose"]), ..rules() })),
        (
            "a name that would move the cursor",
            good(DataRules { target: "\u{1b}[2Jill".into(), ..rules() }),
        ),
        // Rows.
        ("a line cut short", rows("40,none,1,no\n50,no")),
        ("a decimal comma", rows("40,5,none,1,no\n")),
        ("nobody's rows", read_only(GOOD, &rules(), Some(("age", "41"))).err()),
        ("no target anywhere", rows("40,none,1,?\n50,none,1,\n")),
        (
            "no complete row",
            read(
                "age,pain,dose,ill\n?,none,1,no\n?,,1,no\n5,none,1,?\n",
                &DataRules { incomplete: Incomplete::LeaveOut, ..rules() },
            )
            .err(),
        ),
        ("a gap where none may be", good(DataRules { incomplete: Incomplete::Refuse, ..rules() })),
        // Values.
        ("a word for a number", rows("40,none,1,no\nold,none,1,no\n")),
        (
            "a header where none should be",
            read(GOOD, &DataRules { header: header(), ..rules() }).err(),
        ),
        (
            "no number",
            read("age,pain,dose,ill\n,none,1,no\n", &DataRules { missing: Vec::new(), ..rules() })
                .err(),
        ),
        ("NaN", rows("NaN,none,1,no\n")),
        ("minus infinity", rows("-inf,none,1,no\n")),
        ("a percentage", rows("40%,none,1,no\n")),
        ("thousands", rows("\"40,000\",none,1,no\n")),
        ("an amount with a decimal comma", rows("\"$40,5\",none,1,no\n")),
        ("too large a number", rows("1e39,none,1,no\n")),
        ("a target that is no number", read("age,ill\n1,high\n", &numbers()).err()),
        ("an unknown category", rows("\n\r\n40,\"no\n ne\",1,no\n")),
        ("an unknown category after a line break", rows("40,\"\nnone\n\",1,no\n40,some,1,no\n")),
        ("one of many categories", good(DataRules { categories: with_pain(many), ..rules() })),
        ("no categories", good(DataRules { categories: with_pain(vec![]), ..rules() })),
        ("an unknown class", rows("40,none,1,maybe\n")),
    ];
    insta::assert_snapshot!(refusals(cases));
}

#[test]
fn an_unknown_class_is_found_in_incomplete_rows_too() {
    let rules = DataRules { incomplete: Incomplete::LeaveOut, ..rules() };
    assert!(read("age,pain,dose,ill\n?,none,1,maybe\n5,none,1,no\n", &rules).is_err());
}

#[test]
fn quotes_at_the_edge_of_what_is_read_at_once_are_no_open_quotes() {
    // Last fields that end with a line break, and quotes everywhere.
    let row = "40,none,1,\"no\n\"\n";
    let text = format!("age,pain,dose,ill\n{}", row.repeat(20_000));
    assert_eq!(read(&text, &rules()).expect("good").table.len(), 20_000);
    let error = read(text + "x,none,1,no", &rules()).expect_err("no number");
    assert_eq!(error.line, Some(40_002));
}

fn column(
    name: &str,
    values: usize,
    distinct: Option<&[&str]>,
    (no_numbers, first): (usize, Option<(u64, &str)>),
    missing: &[&str],
) -> ColumnSurvey {
    ColumnSurvey {
        name: name.into(),
        values,
        distinct: distinct.map(texts),
        texts: no_numbers,
        first_text: first.map(|(line, text)| (line, text.to_owned())),
        missing: texts(missing),
        impression: None,
    }
}

#[test]
fn a_survey_tells_what_columns_hold() {
    let here = Path::new("here.csv");
    let text = "grade,name,gone,price\n10,b,?,\"$1,000\"\n9,a,,nan\n 10 ,a b,NULL,3\n1e1,NA,?,2\n";
    for bytes in [text.as_bytes().to_vec(), packed(text.as_bytes())] {
        let found = parse_survey(here, &bytes[..]).expect("good");
        assert!(found.header);
        assert_eq!(found.rows, 4);
        let expected = [
            column("grade", 4, Some(&["9", "10", "1e1"]), (0, None), &[]),
            column("name", 3, Some(&["a", "a b", "b"]), (3, Some((2, "b"))), &["NA"]),
            column("gone", 0, Some(&[]), (0, None), &["", "?", "NULL"]),
            column("price", 3, Some(&["2", "3", "$1,000"]), (0, None), &["nan"]),
        ];
        assert_eq!(found.columns, expected);
    }
    let found = parse_survey(here, &b"63.0,1.0,?\n63.0,2.0,0\n"[..]).expect("good");
    assert!(!found.header);
    assert_eq!(found.rows, 2);
    assert_eq!(found.columns[0], column("column 1", 2, Some(&["63"]), (0, None), &[]));
    for (most, known) in [(20, true), (21, false)] {
        let text: String = (0..most).fold("x\n".into(), |text, row| format!("{text}{row}\n"));
        let found = parse_survey(here, text.as_bytes()).expect("good");
        assert_eq!(found.columns[0].distinct.is_some(), known);
    }
    let error = parse_survey(here, &b"a,b\n1\n"[..]).expect_err("cut short");
    assert_eq!(error.to_string(), "here.csv, line 2: 1 value for 2 columns");
    assert!(parse_survey(here, &b""[..]).is_err());
    assert!(parse_survey(here, &b"a;b\n1;2\n"[..]).is_err());
    assert!(survey(Path::new("no-such-file.csv")).is_err());
}

#[test]
fn values_of_a_column_are_counted() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("all.csv");
    let counted = |bytes: &[u8], column: &str| {
        fs::write(&path, bytes).expect("written");
        count_values(&path, column)
            .map(|counts| counts.into_iter().collect::<Vec<_>>())
            .map_err(|error| error.to_string().replace(&path.display().to_string(), "all.csv"))
    };
    let text = "age,clinic\n1,North\n2, North \n3,\n4,?\n5,10.0\n6,10\n";
    let expected = vec![("10".to_owned(), 2), ("North".to_owned(), 2)];
    assert_eq!(counted(text.as_bytes(), "clinic"), Ok(expected.clone()));
    assert_eq!(counted(&packed(text.as_bytes()), "clinic"), Ok(expected));
    assert_eq!(counted(b"1,7\n2,7\n", "column 2"), Ok(vec![("7".to_owned(), 2)]));
    assert_eq!(counted(b"age,clinic\n", "clinic"), Ok(vec![]));
    for (bytes, column, expected) in [
        (&b""[..], "clinic", "all.csv: the file is empty"),
        (b"age,clinic\n1\n", "clinic", "all.csv, line 2: 1 value for 2 columns"),
        (
            b"age,clinic\n1,\xff\n",
            "clinic",
            "all.csv, line 2: the column \"clinic\" is not UTF-8 text",
        ),
        (
            b"age,clinic\n",
            "Clinic",
            "all.csv, line 1: there is no column \"Clinic\" (named with --by)",
        ),
    ] {
        assert_eq!(counted(bytes, column), Err(expected.to_owned()));
    }
}

/// Texts that are hard on a CSV file, without white space around them.
fn odd_texts() -> impl Strategy<Value = Vec<String>> {
    let odd =
        prop::sample::select(vec!["a,b", "\"q\"", "x\ny", "x\r\ny", "聖", ";", "\u{1f}x", "1"]);
    let text = prop_oneof![odd.prop_map(String::from), any::<String>(), "[a-z]{1,6}"];
    prop::collection::btree_set(text, 1..6).prop_map(|texts| {
        let missing = |text: &str| ["", "?"].contains(&text);
        // What looks like a byte order mark at the start of a file is taken for one.
        let fit =
            |text: &String| text.trim() == text && !missing(text) && !text.starts_with('\u{feff}');
        let mut texts: Vec<String> =
            texts.into_iter().filter(fit).chain(["always there".into()]).collect();
        texts.sort();
        texts
    })
}

fn any_column(rows: usize) -> impl Strategy<Value = Column> {
    let value = any::<f32>().prop_filter("finite", |value| value.is_finite());
    let numbers = prop::collection::vec(prop::option::of(value), rows).prop_map(Column::Numbers);
    let categories = odd_texts().prop_flat_map(move |names| {
        let codes = prop::collection::vec(prop::option::of(0..names.len() as u32), rows);
        codes.prop_map(move |codes| Column::Categories { names: names.clone(), codes })
    });
    prop_oneof![numbers, categories]
}

fn any_table() -> impl Strategy<Value = (Table, DataRules)> {
    (1usize..12, odd_texts(), odd_texts()).prop_flat_map(|(rows, names, classes)| {
        let columns: Vec<_> = names.iter().map(|_| any_column(rows)).collect();
        let labels = prop::collection::vec(0..classes.len() as u32, rows);
        (columns, labels).prop_map(move |(columns, labels)| {
            let mut rules = numbers();
            rules.target = "the target".into();
            rules.meaning =
                TargetMeaning::Classes(classes.iter().map(|class| vec![class.clone()]).collect());
            for (name, column) in names.iter().zip(&columns) {
                if let Column::Categories { names, .. } = column {
                    rules.categories.insert(name.clone(), names.clone());
                }
            }
            let targets = Targets::Classes { labels, count: classes.len() as u32 };
            (Table::new(names.clone(), columns, targets).expect("good"), rules)
        })
    })
}

/// The table as a file, with `?` and nothing where a value is missing.
fn written(table: &Table, rules: &DataRules, line_end: csv::Terminator) -> Vec<u8> {
    let mut writer = csv::WriterBuilder::new().terminator(line_end).from_writer(Vec::new());
    let header = table.names().iter().map(String::as_str).chain([&rules.target[..]]);
    writer.write_record(header).expect("to memory");
    let TargetMeaning::Classes(classes) = &rules.meaning else { panic!("classes") };
    let Targets::Classes { labels, .. } = table.targets() else { panic!("classes") };
    for (row, &label) in labels.iter().enumerate() {
        let mut record: Vec<String> = table
            .columns()
            .iter()
            .map(|column| match column {
                Column::Numbers(values) => {
                    values[row].map_or_else(|| "?".into(), |value| value.to_string())
                }
                Column::Categories { names, codes } => {
                    codes[row].map(|code| names[code as usize].clone()).unwrap_or_default()
                }
            })
            .collect();
        record.push(classes[label as usize][0].clone());
        writer.write_record(&record).expect("to memory");
    }
    writer.into_inner().expect("to memory")
}

proptest! {
    #![proptest_config(cases(256))]

    #[test]
    fn tables_come_back((table, rules) in any_table()) {
        for line_end in [csv::Terminator::Any(b'\n'), csv::Terminator::CRLF] {
            let bytes = written(&table, &rules, line_end);
            let found = read(&bytes, &rules).expect("good");
            prop_assert_eq!(&found.table, &table);
            prop_assert_eq!(&read(packed(&bytes), &rules).expect("good").table, &table);
            let missing = table.columns().iter().map(|column| match column {
                Column::Numbers(values) => values.iter().filter(|value| value.is_none()).count(),
                Column::Categories { codes, .. } => codes.iter().filter(|code| code.is_none()).count(),
            });
            prop_assert!(missing.eq(found.missing));
        }
    }

    #[test]
    fn a_wrong_value_is_found_in_its_line((table, rules) in any_table(), at in any::<prop::sample::Index>()) {
        let lines: Vec<String> = {
            let bytes = written(&table, &rules, csv::Terminator::Any(b'\n'));
            let mut reader = csv::ReaderBuilder::new().has_headers(false).from_reader(&bytes[..]);
            let start = |record: csv::Result<csv::StringRecord>| {
                record.expect("good").position().expect("read").byte() as usize
            };
            let mut starts: Vec<usize> = reader.records().map(start).collect();
            starts.push(bytes.len());
            let text = |pair: &[usize]| String::from_utf8_lossy(&bytes[pair[0]..pair[1]]).into_owned();
            starts.windows(2).map(text).collect()
        };
        let at = at.index(table.len()) + 1;
        let (before, after) = lines.split_at(at);
        let text = format!("{}one too few\n{}", before.concat(), after.concat());
        let error = read(text, &rules).expect_err("too few values");
        let line = before.concat().matches('\n').count() as u64 + 1;
        prop_assert_eq!(error.line, Some(line));
    }

    #[test]
    fn no_bytes_make_the_reader_panic(bytes in prop::collection::vec(any::<u8>(), 0..200), gzip: bool) {
        let bytes = if gzip { [&[0x1f, 0x8b][..], &bytes].concat() } else { bytes };
        let _ = read(&bytes, &rules());
        let _ = parse_survey(Path::new("here"), &bytes[..]);
    }
}
