//! Federation files: what is read from good ones, and every way in which one can be wrong,
//! with its message and hint.

use std::{fs, path::Path};

use fedcompetitors_federate::{kinds::Configured, train::TrainerKind};
use fedcompetitors_files::{
    FederationFile, FileError,
    federation::{Method, SHORT_NAMES, Settings, read_faults},
    parse_federation, read_federation,
};
use fedcompetitors_graphs::Choice;
use fedcompetitors_select::Policy;

const GOOD: &str = r#"
name = "city"
compare = ["fedavg", "greedy+mixing", "local", "optimal+evidence"]
[task]
kind = "binary"
target = "ill"
[training]
rounds = 20
[[participants]]
name = "General"
data = "general.csv"
competes-with = ["St Mary"]
[[participants]]
name = "St Mary"
data = "mary.csv"
[[participants]]
name = "University"
data = "university.csv"
competes-with = ["St Mary"]
"#;

fn parse(text: &str) -> Result<FederationFile, FileError> {
    parse_federation(Path::new("city.toml"), text)
}

#[test]
fn a_good_file_is_read_and_every_default_can_be_written_out() {
    let federation = parse(GOOD).expect("a good file");
    let pairs: Vec<_> = federation.competing.pairs().collect();
    assert_eq!(pairs, [(0, 1), (1, 2)]);
    assert!(federation.competing.reports(2, 1) && !federation.competing.reports(1, 2));
    let settings = &federation.settings;
    let names: Vec<String> = settings.methods().iter().map(|method| method.name()).collect();
    // The file's own first, then Local, and nothing twice.
    assert_eq!(names, ["optimal+evidence", "local", "fedavg", "greedy+mixing"]);
    insta::assert_snapshot!(settings.to_toml());
    let again = parse(&settings.to_toml()).expect("what was written out");
    assert_eq!(again, federation);
}

#[test]
fn method_names_are_read_as_they_are_written() {
    for short in SHORT_NAMES {
        assert_eq!(Method::parse(short.name).expect("a short name").name(), short.name);
    }
    for policy in Choice::<dyn Policy>::all() {
        for trainer in Choice::<TrainerKind>::all() {
            let method = Method::parse(&format!("{policy}+{trainer}")).expect("both are known");
            assert_eq!(method, Method::Planned(policy, trainer));
            assert_eq!(Method::parse(&method.name()), Ok(method));
        }
    }
    let unknown = Method::parse("egoists+nothing").expect_err("an unknown trainer");
    assert_eq!(unknown.to_string(), "the trainer \"nothing\" is unknown");
}

/// Each of these is one mistake in the good file.
#[test]
fn every_message_and_hint() {
    let replaced = |what: &str, with: &str| {
        assert!(GOOD.contains(what), "{what}");
        GOOD.replacen(what, with, 1)
    };
    let more = |section: &str| format!("{section}\n{GOOD}");
    let data = |keys: &str| replaced("[training]", &format!("[data]\n{keys}\n[training]"));
    let mistakes = [
        replaced("rounds = 20", "rouns = 20"),
        replaced("rounds = 20", "zzz = 20"),
        replaced("rounds = 20", "rounds = \"many\""),
        replaced("rounds = 20", "rounds = 0"),
        replaced("rounds = 20", "rate = -0.5"),
        replaced("rounds = 20", "trainer = \"mixng\""),
        replaced("rounds = 20", "trainer = \"trunks\""),
        replaced("rounds = 20", "trainer = \"evidence\"\n[model]\nhidden = [5]"),
        replaced("compare = [", "compare = [\"local-ensemble\", "),
        replaced("compare = [", "compare = [\"cliques+evidence\", ")
            .replace("[training]", "[model]\nhidden = [5]\n[training]"),
        replaced("[training]", "[benefit]\nestimator = \"trunks\"\n[training]"),
        replaced("rounds = 20", "rounds = 20\nrounds = 21"),
        replaced("rounds = 20", "rounds = "),
        replaced("data = \"mary.csv\"", "date = \"mary.csv\""),
        replaced("data = \"mary.csv\"", ""),
        replaced("data = \"mary.csv\"", "data = \"mary.csv\"\ngenerate = {}"),
        replaced("data = \"mary.csv\"", "generate = { samples = 20 }"),
        replaced("name = \"St Mary\"", "name = \"General\""),
        replaced("name = \"St Mary\"", "name = \" St Mary\""),
        replaced("name = \"St Mary\"", "name = \"\""),
        replaced("competes-with = [\"St Mary\"]", "competes-with = [\"Saint Mary\"]"),
        replaced("competes-with = [\"St Mary\"]", "competes-with = [\"General\"]"),
        replaced("competes-with = [\"St Mary\"]", "competes-with = \"St Mary\""),
        replaced("target = \"ill\"", ""),
        replaced("target = \"ill\"", "target = \"ill\"\nmetric = \"mse\""),
        replaced("target = \"ill\"", "target = \"ill\"\nclasses = [\"a\", \"b\", \"c\"]"),
        replaced("target = \"ill\"", "target = \"ill\"\nclasses = [\"a\", [\"b\", \"a\"]]"),
        replaced("kind = \"binary\"", "kind = \"regresion\""),
        replaced("kind = \"binary\"", "kind = \"classes\""),
        replaced("\"fedavg\"", "\"fedavgg\""),
        replaced("[training]", "[data]\ntest = 0.9\n[training]"),
        replaced("[training]", "[data]\nignore = [\"ill\"]\n[training]"),
        replaced("[training]", "[data]\ncategories = { ward = [\"a\", \"a\"] }\n[training]"),
        replaced("[training]", "[benefit]\nestimator = \"given\"\n[training]"),
        replaced("[training]", "[benefit.given]\nfile = \"b.csv\"\nthreshold = 0.1\n[training]"),
        replaced("[training]", "[benefit]\nthreshold = 0.1\n[training]"),
        replaced("rounds = 20", "rounds = 20\npull = 0.1"),
        replaced("rounds = 20", "rounds = 20\n[training.mixing]\nmixx = \"models\""),
        replaced("rounds = 20", "rounds = 20\n[training.mixing]\nmix = \"model\""),
        replaced("rounds = 20", "rounds = 20\n[training.mixing]\nserver-rate = \"fast\""),
        replaced("rounds = 20", "rounds = 20\n[training.mixing]\nserver-rate = 0"),
        replaced("rounds = 20", "rounds = 20\n[training.mixng]\nmix = \"models\""),
        replaced("rounds = 20", "rounds = 20\nmixing = 3"),
        replaced("rounds = 20", "rounds = 20\n[training.hypernetworks]\ntrial = 51"),
        replaced("[training]", "[model]\nkind = \"mlp\"\n[training]"),
        replaced("[training]", "[model]\nkind = \"linear\"\nhidden = [3]\n[training]"),
        replaced("target = \"ill\"", "target = \"ill\"\nclasses = [\"0\", [\"1\", \"0.0\"]]"),
        replaced("target = \"ill\"", "target = \"ill\"\nclasses = [\"NA\", \"1\"]"),
        replaced("[training]", "[data]\ncategories = { ward = [\"a\", \"?\"] }\n[training]"),
        replaced("[training]", "[model]\nown-head = true\n[training]"),
        data("clip = 0"),
        data("clip = nan"),
        data("clip = \"far\""),
        data("log = [\"dose\", \"dose\"]"),
        data("log = [\"dose\"]\nrank = [\"dose\"]"),
        data("log = [\"ill\"]"),
        data("rank = [\"ward\"]\ncategories = { ward = [\"a\"] }"),
        data("features = [\"dose\"]\nignore = [\"dose\"]"),
        data("categories = { ward = [] }"),
        data("scales = { \"\\u001b[2J\" = {} }"),
        data("[data.scales]\ndose = { mean = 3 }"),
        data("[data.scales]\ndose = { mean = 3, deviation = 1, max = 9 }"),
        data("[data.scales]\ndose = { mean = 3, deviation = 0 }"),
        data("[data.scales]\ndose = { mean = 3, deviation = inf }"),
        data("[data.scales]\ndose = { mean = nan, deviation = 1 }"),
        data("[data.scales]\ndose = { mean = 3e9, deviation = 1 }"),
        data("[data.scales]\ndose = { min = 3, max = 3 }"),
        data("[data.scales]\ndose = { min = -1e308, max = 1e308 }"),
        data("[data.scales]\ndose = { min = 3, most = 4 }"),
        data("rank = [\"dose\"]\n[data.scales]\ndose = { min = 3, max = 4 }"),
        data("categories = { ward = [\"a\"] }\nscales = { ward = { min = 3, max = 4 } }"),
        data("[data.scales]\nill = { min = 3, max = 4 }"),
        more("participants = []"),
        more("seed = -1"),
        "name = \"nobody\"\nparticipants = []".to_owned(),
        "name = \"nobody\"".to_owned(),
        String::new(),
        "[[participants]]\nname = \"A\"\ngenerate = { samples = 3 }".to_owned(),
        "[[participants]]\nname = \"A\"\ngenerate = { features = 3 }\n[[participants]]\nname = \"B\"\ngenerate = {}".to_owned(),
    ];
    let told: Vec<String> = mistakes
        .iter()
        .map(|text| match parse(text) {
            Ok(_) => panic!("nothing wrong with {text}"),
            Err(error) => format!("{error}\nhint: {}", error.hint()),
        })
        .collect();
    insta::assert_snapshot!(told.join("\n\n"));
}

#[test]
fn the_competing_file_adds_to_everybodys_own_list() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("city.toml");
    fs::write(&path, format!("competing = \"rivals.csv\"\n{GOOD}")).expect("written");
    fs::write(folder.path().join("rivals.csv"), "a,b\nGeneral,University\n").expect("written");
    let federation = read_federation(&path).expect("both are good");
    assert_eq!(federation.competing.pairs().collect::<Vec<_>>(), [(0, 1), (0, 2), (1, 2)]);
    assert!(federation.competing.reports(0, 2) && !federation.competing.reports(2, 0));
    fs::write(folder.path().join("rivals.csv"), "a,b\nGeneral,Nobody\n").expect("written");
    let error = read_federation(&path).expect_err("somebody unknown");
    assert!(
        error.to_string().ends_with("rivals.csv, line 2: the participant \"Nobody\" is unknown")
    );
}

/// Every federation file among the examples makes sense.
#[test]
fn every_example_is_read() {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let mut found = 0;
    for entry in fs::read_dir(examples).expect("examples") {
        let path = entry.expect("an entry").path().join("federation.toml");
        if path.is_file() {
            let federation = read_federation(&path).expect("an example");
            let _: &Settings = &federation.settings;
            found += 1;
        }
    }
    assert!(found >= 3, "{found} examples");
}

/// The examples of the documentation are read, each as what it is.
#[test]
fn the_examples_of_the_documentation_are_read() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/federation-file.md");
    let documentation = fs::read_to_string(path).expect("the documentation");
    let blocks: Vec<&str> = documentation
        .split("\n```toml\n")
        .skip(1)
        .map(|rest| rest.split("\n```").next().expect("its end"))
        .collect();
    let [federation, data, given, trainers, faults] = blocks[..] else {
        panic!("{} examples", blocks.len())
    };
    for more in [data, given, trainers] {
        parse(&format!("{federation}\n{more}")).expect("a federation with these tables");
    }
    let federation = parse(federation).expect("a federation");
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("faults.toml");
    fs::write(&file, faults).expect("written");
    let (faults, _) = read_faults(&file, federation.competing.participants()).expect("faults");
    assert_eq!(faults.len(), 1);
}

/// What a file sets for a trainer counts, and nothing else of the table changes.
#[test]
fn trainers_have_tables_of_their_own() {
    let text = GOOD.replace("rounds = 20", "rounds = 20\n[training.mixing]\nserver-rate = 0.5");
    let settings = parse(&text).expect("a good file").settings;
    let kind = Choice::named("mixing").expect("known");
    let found = |key| settings.trainer(kind).setting(key).map(ToString::to_string);
    assert_eq!(found("server-rate").as_deref(), Some("0.5"));
    assert_eq!(found("mix").as_deref(), Some("\"models\""));
    assert_eq!(found("own-part"), None);
    // Those in use are written out; `fedavg` is compared.
    let names: Vec<_> = settings.training.trainers.iter().map(Configured::kind).collect();
    let expected = ["mixing", "evidence", "local", "averaging"]
        .map(|name| Choice::named(name).expect("known"));
    assert_eq!(names, expected);
}

#[test]
fn scales_are_declared_by_mean_or_by_range() {
    let text = GOOD.replace(
        "[training]",
        "[data]\nlog = [\"amount\"]\nclip = inf\n[data.scales]\nage = { mean = 60, deviation = 15 }\n\
         dose = { min = 0, max = 8.0 }\namount = { min = 0, max = 99 }\n[training]",
    );
    let federation = parse(&text).expect("a good file");
    let data = &federation.settings.data;
    let scale = |column: &str| {
        let scale = data.scales[column].scale(data.transform(column)).expect("a scale");
        (scale.mean, scale.deviation)
    };
    assert_eq!(scale("age"), (60.0, 15.0));
    assert_eq!(scale("dose"), (4.0, 2.0));
    let log = 100f64.ln();
    assert_eq!(scale("amount"), (log / 2.0, log / 4.0));
    assert!(data.clip.is_infinite());
    let written = federation.settings.to_toml();
    assert_eq!(parse(&written).expect("what was written out"), federation);
}

/// Where no row with a gap is left, no column says so.
#[test]
fn indicators_are_for_gaps_that_are_filled() {
    for (incomplete, has) in [("fill", true), ("leave-out", false), ("refuse", false)] {
        let data = format!("[data]\nincomplete = \"{incomplete}\"\n[training]");
        let settings = parse(&GOOD.replace("[training]", &data)).expect("a good file").settings;
        assert_eq!(settings.data.has_indicators(), has, "{incomplete}");
    }
}

/// Every key is explained.
#[test]
fn the_documentation_misses_no_key() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/federation-file.md");
    let documentation = fs::read_to_string(path).expect("the documentation");
    // Refused with all known keys beside it, in every section.
    for section in [
        "",
        "[task]",
        "[data]",
        "[model]",
        "[benefit]",
        "[selection]",
        "[training]",
        "[evaluation]",
        "[[participants]]",
    ] {
        let text = format!("{section}\nzzzzzz = 1\n");
        let hint = parse(&text).expect_err("an unknown key").hint();
        let keys = hint
            .split('`')
            .skip(1)
            .step_by(2)
            .filter(|key| !documentation.contains(&format!("`{key}`")));
        let sections = [
            "task",
            "data",
            "model",
            "benefit",
            "selection",
            "training",
            "evaluation",
            "participants",
        ];
        let missing: Vec<&str> = keys.filter(|key| !sections.contains(key)).collect();
        assert!(missing.is_empty(), "{section}: {missing:?}");
        assert!(hint.starts_with("known here: "), "{section}: {hint}");
    }
}

/// Estimate and training send the same summaries: what one table says of rare columns counts for both, of two
/// numbers the larger.
#[test]
fn one_number_of_rows_counts_for_all_summaries() {
    let fewest = |sections: &str| {
        let text = format!(
            "{sections}\n[[participants]]\nname = \"A\"\ngenerate = {{}}\n[[participants]]\nname = \"B\"\ngenerate = {{}}\n"
        );
        let settings = parse_federation(Path::new("test.toml"), &text).expect("good").settings;
        let of = |value: Option<&toml::Value>| value.and_then(toml::Value::as_integer);
        let estimator = of(settings.estimator().setting("fewest"));
        let trainer = of(settings.trainer(settings.trainer_kind()).setting("fewest"));
        // What is written out says the same.
        let again = parse_federation(Path::new("test.toml"), &settings.to_toml()).expect("good");
        assert_eq!(again.settings, settings);
        [estimator, trainer].map(|number| number.expect("a number"))
    };
    assert_eq!(fewest(""), [5, 5]);
    assert_eq!(fewest("[training.evidence]\nfewest = 10"), [10, 10]);
    assert_eq!(fewest("[benefit.evidence]\nfewest = 3"), [3, 3]);
    assert_eq!(
        fewest("[benefit.evidence]\nfewest = 3\n[training.evidence]\nfewest = 0x10"),
        [16, 16]
    );
}
