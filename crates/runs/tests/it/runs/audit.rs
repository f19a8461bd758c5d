//! The audit against naive accounts and against whoever tampers with the record.

use std::{collections::BTreeSet, fs, path::Path};

use fedcompetitors_files::parse_federation;
use fedcompetitors_graphs::random::Stream;
use fedcompetitors_record::{Audit, Finding};
use fedcompetitors_report::flaw_text;
use fedcompetitors_runs::{audit, reseal};
use fedcompetitors_testing::repeat;
use rusqlite::{Connection, params};

use super::{Case, FEDERATION};

impl Case {
    fn audit(&self) -> Audit {
        audit(&self.path(), None, None).expect("it can be read")
    }

    fn flaws(&self) -> Vec<String> {
        flaws(self.audit())
    }
}

fn flaws(audit: Audit) -> Vec<String> {
    let told = |finding| match finding {
        Finding::Flaw { flaw, .. } => flaw_text(&flaw),
        Finding::Breach { path, .. } => format!("breach: {}", path.join(" ")),
        Finding::Stopped { message, .. } => format!("stopped: {message}"),
    };
    audit.findings.into_iter().map(told).collect()
}

#[test]
fn every_method_passes() {
    let all = r#"compare = ["fedavg", "fedprox", "scaffold", "ce", "fedegoists", "greedy+hypernetworks", "cliques+mixing", "pooled"]"#;
    let found = Case::new(&format!("{all}\n{FEDERATION}")).audit();
    assert_eq!(found.findings, []);
    // Each is evaluated, and one has final models.
    assert_eq!(found.trainings, 9 + 1);
    assert_eq!(found.models, 5);
    assert_eq!(found.references, ["pooled"]);
    assert!(found.transfers > 100, "{}", found.transfers);
    assert!(found.uncovered.iter().all(|one| one.method.contains("hyper")
        || one.method == "ce"
        || one.method == "fedegoists"));
}

/// What the estimators and trainers show to whom beside the ledger is on record.
#[test]
fn flows_beside_the_ledger_are_told() {
    let joint = "[training.hypernetworks]\nhidden = 4\n[benefit]\nestimator = \"hypernetwork\"\n[data]\nscaling = \"shared\"\n";
    let text = FEDERATION.replace("[benefit]\nestimator = \"mixture\"\n", "").replace(
        "[training]\ntrainer = \"mixing\"",
        &format!("{joint}[training]\ntrainer = \"hypernetworks\""),
    );
    let found = Case::new(&text).audit();
    let pairs = vec![("A".to_owned(), "C".to_owned()), ("D".to_owned(), "E".to_owned())];
    for word in ["show each participant traces of all others", "common mean and deviation"] {
        let told = found.uncovered.iter().find(|one| one.flow.statement.contains(word));
        assert_eq!(told.expect(word).pairs, pairs, "{word}");
    }
}

#[test]
fn whoever_tampers_is_found() {
    let whole = Case::new(FEDERATION);
    let found = |statements: &str| {
        let case = whole.copy();
        case.tamper(statements);
        case.flaws()
    };
    let has = |flaws: Vec<String>, words: &str| {
        assert!(flaws.iter().any(|flaw| flaw.contains(words)), "{words}: {flaws:?}");
    };
    assert_eq!(found(""), Vec::<String>::new());
    has(found("DELETE FROM ledger WHERE training = 1 AND entry = 5"), "from entry 4 to entry 6");
    has(
        found("UPDATE ledger SET provenance = '[1]' WHERE receiver IS NOT NULL"),
        "as carrying other data than its parts",
    );
    has(
        found("UPDATE ledger SET provenance = '[]' WHERE sender = 1"),
        "as carrying data that it cannot carry, or not its own",
    );
    has(
        found("UPDATE ledger SET made_of = '[9999]' WHERE receiver IS NOT NULL"),
        "which was not sent before",
    );
    has(found("UPDATE ledger SET made_of = 'x' WHERE receiver IS NOT NULL"), "cannot be read");
    has(found("UPDATE ledger SET content = 'update' WHERE receiver IS NOT NULL"), "is made of a");
    has(found("UPDATE ledger SET content = 'letter' WHERE entry = 1"), "entry 1 cannot be read");
    has(found("UPDATE ledger SET round = 1 WHERE entry > 20"), "earlier round");
    has(found("UPDATE ledger SET receiver = 2 WHERE sender = 1"), "not between");
    has(found("INSERT INTO usage VALUES (1, 0, 2)"), "connects \"A\" with its competitor \"C\"");
    has(
        found("UPDATE models SET provenance = '[0,2]' WHERE participant = 2"),
        "data of its competitor",
    );
    has(found("UPDATE models SET provenance = '[3,4]' WHERE participant = 0"), "never delivered");
    has(found("UPDATE models SET hash = 'ff'"), "not the one that was trained");
    has(found("UPDATE models SET provenance = 'x'"), "the provenance of the model of");
    has(found("UPDATE flows SET pairs = '[[0,'"), "the pairs that a flow connects cannot be read");
    has(found("DELETE FROM ledger WHERE training = 1 AND round = 4"), "entries, but had");
    has(
        found("UPDATE ledger SET made_of = '[]', provenance = '[]' WHERE receiver IS NOT NULL"),
        "bytes and is made of nothing",
    );
    has(
        found("DELETE FROM competing WHERE a = 0"),
        "the competitions differ from those at the start",
    );
    has(found("UPDATE trainings SET gradients = NULL WHERE id = 2"), "it is not complete");
    has(
        found("UPDATE metrics SET value = value + 0.001 WHERE training = 2"),
        "changed after it was written",
    );
    has(found("DELETE FROM benefits WHERE helper = 0"), "changed after it was written");
    has(found("DELETE FROM estimate_ledger WHERE entry = 7"), "from entry 6 to entry 8");
    has(
        found("UPDATE estimate_ledger SET bytes = 0 WHERE entry = 7"),
        "changed after it was written",
    );
    // A's probe would have been in what was shown to C.
    has(
        found("UPDATE estimate_ledger SET made_of = '[1]', provenance = '[0]' WHERE receiver = 2"),
        "breach: A",
    );
    // Both records may be changed to agree; what was handed over tells all the same.
    let swap = "UPDATE ledger SET receiver = 2 WHERE receiver = (SELECT helped FROM usage WHERE helper = 0 LIMIT 1)";
    has(found(swap), "breach: A");
    let case = whole.copy();
    let model = fs::read_dir(case.path().join("models")).expect("models").next();
    let model = model.expect("one").expect("an entry").path();
    let mut bytes = fs::read(&model).expect("readable");
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    fs::write(&model, bytes).expect("written");
    has(case.flaws(), "not the one that was trained");
}

/// What is committed once must be sent before its sender receives anything.
#[test]
fn late_commitments_are_found() {
    let participants = ["A", "B", "C", "D"].map(|name| {
        format!(
            "[[participants]]\nname = \"{name}\"\ngenerate = {{ samples = 60, features = 4 }}\n"
        )
    });
    let whole = Case::new(&participants.concat());
    assert_eq!(whole.flaws(), Vec::<String>::new());
    // An update may come at any time.
    for (content, is_late) in [("summary", true), ("trunk", true), ("update", false)] {
        let case = whole.copy();
        case.tamper(&format!(
            "INSERT INTO ledger
             SELECT training, (SELECT max(entry) + 1 FROM ledger WHERE training = 1), 2, sender, NULL,
                    '{content}', made_of, provenance, bytes, hash
             FROM ledger WHERE training = 1 AND sender = 0"
        ));
        let flaws = case.flaws();
        let words = "was committed late: \"A\" had received something before";
        assert_eq!(flaws.iter().any(|flaw| flaw.ends_with(words)), is_late, "{flaws:?}");
    }
}

/// Who takes the competitions out of the record, with all that could tell, is found by whoever
/// has the federation file.
#[test]
fn the_federation_file_has_the_last_word() {
    let case = Case::new(FEDERATION);
    let found = |text: &str| {
        let file = parse_federation(Path::new("audited.toml"), text).expect("a federation");
        let rule = Some(*file.settings.rule);
        flaws(audit(&case.path(), Some(&file.competing), rule).expect("it can be read"))
    };
    assert_eq!(found(FEDERATION), Vec::<String>::new());
    // By other competitions what was done would have been a breach.
    let used: (usize, usize) = case.ask("SELECT helper, helped FROM usage LIMIT 1");
    let names = ["A", "B", "C", "D", "E"];
    let (a, b) = (names[used.0], names[used.1]);
    let header = format!("name = \"{a}\"\n");
    let other = FEDERATION.replace("competes-with = [\"C\"]\n", "");
    let other = other.replace("competes-with = [\"D\"]\n", "");
    let other = other.replace(&header, &format!("{header}competes-with = [\"{b}\"]\n"));
    let flaws = found(&other);
    for told in [
        "\"A\" and \"C\" compete only according to the record".to_owned(),
        format!("breach: {a} {b}"),
        format!("the plan connects \"{a}\" with its competitor \"{b}\""),
    ] {
        assert!(flaws.contains(&told), "{told}: {flaws:?}");
    }
    let file_alone =
        |flaw: &String| flaw.ends_with("compete only according to the federation file");
    assert!(flaws.iter().any(file_alone), "{flaws:?}");
    let renamed = FEDERATION.replace("name = \"B\"", "name = \"F\"");
    let flaws = found(&renamed);
    assert!(flaws.contains(&"\"F\" is a participant only in the federation file".to_owned()));
    assert!(flaws.contains(&"\"B\" is a participant, but not in the federation file".to_owned()));
}

/// Random ledgers, written without any guard: the audit finds a breach just where a naive
/// account finds a competitor's data, and the way that it names was really taken.
#[test]
fn random_histories() {
    let case = Case::new(FEDERATION);
    case.tamper(
        "DELETE FROM models; DELETE FROM usage; DELETE FROM trainings WHERE id > 1;
         UPDATE trainings SET gradients = NULL, hash = NULL;
         UPDATE run SET value = 'running' WHERE key = 'status';",
    );
    let rivals = [(0, 2), (2, 0), (3, 4), (4, 3)];
    let names = ["A", "B", "C", "D", "E"];
    let mut breached = 0;
    for seed in 0..u64::from(repeat(200)) {
        let mut stream = Stream::new(seed, "histories", 0);
        let database = Connection::open(case.path().join("run.sqlite")).expect("a database");
        database.execute_batch("DELETE FROM ledger").expect("emptied");
        let mut carried: Vec<BTreeSet<usize>> = (0..5).map(|who| BTreeSet::from([who])).collect();
        let (mut entry, mut expected) = (0_u64, BTreeSet::new());
        let mut handed = BTreeSet::new();
        let mut add = |sender: Option<usize>,
                       receiver: Option<usize>,
                       made_of: &[u64],
                       carries: &BTreeSet<usize>| {
            entry += 1;
            let json = |what: &dyn std::fmt::Debug| format!("{what:?}");
            let carries: Vec<usize> = carries.iter().copied().collect();
            database
                .execute(
                    "INSERT INTO ledger VALUES (1, ?, 1, ?, ?, 'model', ?, ?, 8, '')",
                    params![entry, sender, receiver, json(&made_of), json(&carries)],
                )
                .expect("a line");
            entry
        };
        for _ in 0..stream.below(6) {
            let to = stream.below(5) as usize;
            let mut from: BTreeSet<usize> = (0..5).filter(|_| stream.below(3) == 0).collect();
            if from.is_empty() {
                from.insert(to);
            }
            let mut parts = Vec::new();
            let mut union = BTreeSet::new();
            for &sender in &from {
                parts.push(add(Some(sender), None, &[], &carried[sender]));
                union.extend(carried[sender].clone());
                handed.insert((sender, to));
            }
            add(None, Some(to), &parts, &union);
            for &other in &union {
                if rivals.contains(&(other, to)) {
                    expected.insert((other, to));
                }
            }
            carried[to].extend(union);
        }
        database.execute("UPDATE trainings SET entries = ?", [entry]).expect("counted");
        drop(database);
        reseal(&case.path()).expect("sealed");
        let mut found = BTreeSet::new();
        for finding in case.audit().findings {
            match finding {
                Finding::Breach { path, .. } => {
                    let index = |name: &String| {
                        names.iter().position(|known| known == name).expect("a participant")
                    };
                    let path: Vec<usize> = path.iter().map(index).collect();
                    for step in path.windows(2) {
                        assert!(handed.contains(&(step[0], step[1])), "seed {seed}: {path:?}");
                    }
                    found.insert((path[0], path[path.len() - 1]));
                }
                finding => panic!("seed {seed}: {finding:?}"),
            }
        }
        assert_eq!(found, expected, "seed {seed}");
        breached += usize::from(!found.is_empty());
    }
    assert!((30..170).contains(&breached), "{breached} of 200");
}
