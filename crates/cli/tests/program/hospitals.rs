//! `reproduce eicu` on a small folder of made-up tables.

use std::{fmt::Write as _, io::Write as _};

use super::*;

const HOSPITAL: &str = "hospitalID,numBedsCategory,teachingStatus,region";
const PATIENT: &str = "patientUnitStayID,patientHealthSystemStayID,gender,age,ethnicity,hospitalID,admissionHeight,hospitalDischargeYear,hospitalDischargeStatus,unitType,unitAdmitSource,unitVisitNumber,admissionWeight,uniquePid";
const PHYSIOLOGY: &str = "patientUnitStayID,intubated,vent,dialysis,eyes,motor,verbal,meds,urine,wbc,temperature,respiratoryRate,sodium,heartRate,meanBp,ph,hematocrit,creatinine,albumin,pao2,pco2,bun,glucose,bilirubin,fio2";
const CHRONIC: &str = "patientUnitStayID,aids,hepaticFailure,lymphoma,metastaticCancer,leukemia,immunosuppression,cirrhosis,electiveSurgery,diabetes";

/// Tables with ten kinds of hospitals or, as `paper`, its ten hospitals. The old and the sick
/// die, but not all of them; there is no chance in it.
fn tables(paper: bool) -> [(&'static str, String); 4] {
    let line = |header: &str| format!("{header}\n");
    let (mut hospitals, mut patients) = (line(HOSPITAL), line(PATIENT));
    let (mut physiology, mut chronic) = (line(PHYSIOLOGY), line(CHRONIC));
    let ids = [300, 148, 365, 413, 183, 154, 301, 184, 152, 391];
    for (at, id) in ids.into_iter().enumerate() {
        writeln!(hospitals, "{id},<100,f,Region {at}").expect("to memory");
        let count = if paper && at == 0 { 300 } else { 40 - 2 * at };
        for patient in 0..count {
            let stay = 1000 * (at + 1) + patient;
            let age = 20 + (patient * 37) % 70;
            let dies = age > 60 && patient % 3 != 1;
            let age = if age > 85 { "> 89".to_owned() } else { age.to_string() };
            let status = if dies { "Expired" } else { "Alive" };
            writeln!(
                patients,
                "{stay},{stay},Male,{age},Asian,{id},170,2014,{status},MICU,Floor,1,70,p{stay}"
            )
            .expect("to memory");
            let pulse = 60 + (patient * 13) % 50 + 20 * usize::from(dies);
            writeln!(
                physiology,
                "{stay},0,1,0,4,6,5,0,-1,10.2,37,20,139,{pulse},88,-1,37,1,-1,-1,-1,28,61,-1,-1"
            )
            .expect("to memory");
            writeln!(chronic, "{stay},0,0,0,0,0,0,0,,{},9,9", patient % 2).expect("to memory");
        }
    }
    [
        ("hospital", hospitals),
        ("patient", patients),
        ("apacheApsVar", physiology),
        ("apachePredVar", chronic),
    ]
}

impl Sandbox {
    /// The tables as the full database has them.
    fn plain_tables(&self, paper: bool) {
        fs::create_dir(self.path("eicu")).expect("made");
        for (name, text) in tables(paper) {
            self.write(&format!("eicu/{name}.csv"), &text);
        }
    }

    /// The same as the demo has them: compressed, names in lower case.
    fn packed_tables(&self) {
        fs::create_dir(self.path("demo")).expect("made");
        for (name, text) in tables(false) {
            let (header, rows) = text.split_once('\n').expect("a header");
            let file = fs::File::create(self.path(&format!("demo/{name}.csv.gz"))).expect("made");
            let mut packed = flate2::write::GzEncoder::new(file, flate2::Compression::fast());
            write!(packed, "{}\n{rows}", header.to_lowercase()).expect("written");
            packed.finish().expect("written");
        }
    }

    fn eicu(&self, data: &str, repeats: &str, more: &[&str]) -> Output {
        let small = ["--evaluations", "500", "--rate", "0.03", "--decay", "0"];
        let arguments = ["reproduce", "eicu", "--data", data, "--repeats", repeats];
        self.run(&[&arguments[..], &small, more].concat())
    }
}

/// A figure for every method and participant, whichever way the tables are spelt and however
/// many threads there are, and files that hold the same.
#[test]
fn hospitals_learn_in_either_spelling() {
    let sandbox = Sandbox::new();
    sandbox.plain_tables(false);
    sandbox.packed_tables();
    let output =
        sandbox.eicu("eicu", "2", &["--format", "json", "--out", "results", "--threads", "1"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let results: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(results["comparable_with_paper"], false);
    let methods = results["methods"].as_array().expect("a list");
    let names: Vec<&str> = methods.iter().filter_map(|row| row["method"].as_str()).collect();
    let expected = [
        "Local",
        "FedAvg",
        "FedProx",
        "SCAFFOLD",
        "CE",
        "FedCompetitors",
        "FedCompetitors, optimal",
        "FedCompetitors, mixing",
    ];
    assert_eq!(names, expected);
    for row in methods {
        let repeats = row["cells"].as_array().expect("a list");
        assert_eq!(repeats.len(), 2);
        for cells in repeats {
            let cells = cells.as_array().expect("a list");
            assert_eq!(cells.len(), 10);
            // Age and pulse tell nearly everything, so nobody should do as badly as chance.
            let good = |cell: &Value| cell.as_f64().is_some_and(|auc| auc > 0.6 && auc <= 1.0);
            assert!(cells.iter().all(good), "{}: {cells:?}", row["method"]);
        }
        assert_eq!(row["plans"].as_array().map(Vec::len), Some(10));
        assert!(row["gradients"].as_f64().is_some_and(|count| count <= 500.0));
        assert!(row["paper"].is_null());
    }
    // A gain is the difference in the same repeat.
    let cell = |of: &Value| of["cells"][1][3].as_f64().expect("a number");
    let gain = cell(&results["gains_over_local"][0]);
    assert!((gain - (cell(&methods[1]) - cell(&methods[0]))).abs() < 1e-12);

    let written = fs::read(sandbox.path("results/results.json")).expect("written");
    assert_eq!(written, output.stdout);
    let read = |name: &str| fs::read_to_string(sandbox.path(name)).expect("written");
    let label = "eICU demo, groups of hospitals; not comparable with the paper's figures";
    for name in ["results/table.txt", "results/table.md"] {
        assert!(read(name).contains(label) && read(name).contains("Gain over Local"), "{name}");
        assert!(!read(name).contains("In brackets"), "{name}");
    }
    let other = sandbox.eicu("demo", "2", &["--format", "json", "--threads", "2"]);
    assert_eq!(other.stdout, output.stdout, "{}", text(&other.stderr));
}

/// With large hospitals it is the ten of the paper, and its figures stand beside ours.
#[test]
fn the_papers_hospitals_are_compared_with_the_paper() {
    let sandbox = Sandbox::new();
    sandbox.plain_tables(true);
    let output = sandbox.eicu("eicu", "1", &["--out", "results"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let shown = text(&output.stdout);
    assert!(shown.starts_with("eICU, the paper's hospitals, 5 folds"), "{shown}");
    assert!(shown.contains("  v10: hospital 391: 22 patients"), "{shown}");
    let figures = shown.lines().find_map(|line| line.strip_prefix("  the paper's "));
    let first = figures.expect("a line of the paper's").split_whitespace().next();
    assert_eq!(first, Some("0.76"));
    let results: Value = serde_json::from_str(
        &fs::read_to_string(sandbox.path("results/results.json")).expect("written"),
    )
    .expect("JSON");
    assert_eq!(results["methods"][5]["method"], "FedCompetitors");
    assert_eq!(results["methods"][5]["paper"][9], 0.9524);
    assert!(results["methods"][2]["paper"].is_null());
}

#[test]
fn tables_that_cannot_be_used_are_told() {
    let run = |change: &dyn Fn(&Sandbox)| {
        let sandbox = Sandbox::new();
        sandbox.plain_tables(false);
        change(&sandbox);
        seen(&sandbox.eicu("eicu", "1", &[]))
    };
    let replace = |sandbox: &Sandbox, table: &str, from: &str, to: &str| {
        let name = format!("eicu/{table}.csv");
        let text = fs::read_to_string(sandbox.path(&name)).expect("written");
        assert!(text.contains(from), "{from}");
        sandbox.write(&name, &text.replace(from, to));
    };
    let remove =
        |sandbox: &Sandbox, name: &str| fs::remove_file(sandbox.path(name)).expect("it was there");
    insta::assert_snapshot!(run(&|sandbox| remove(sandbox, "eicu/apacheApsVar.csv")));
    insta::assert_snapshot!(run(&|sandbox| replace(sandbox, "patient", "unitType", "unitTyp")));
    insta::assert_snapshot!(run(&|sandbox| replace(sandbox, "apacheApsVar", ",10.2,", ",low,")));
    insta::assert_snapshot!(run(&|sandbox| replace(
        sandbox,
        "patient",
        ",Asian,391,",
        ",Asian,392,"
    )));
    insta::assert_snapshot!(run(&|sandbox| replace(sandbox, "patient", "Expired", "Alive")));
    insta::assert_snapshot!(run(&|sandbox| {
        remove(sandbox, "eicu/patient.csv");
        let whole = {
            sandbox.packed_tables();
            fs::read(sandbox.path("demo/patient.csv.gz")).expect("written")
        };
        fs::write(sandbox.path("eicu/patient.csv.gz"), &whole[..whole.len() / 2]).expect("written");
    }));
    // The folder must be named, and only here.
    insta::assert_snapshot!(seen(&Sandbox::new().run(&["reproduce", "eicu"])));
    insta::assert_snapshot!(seen(&Sandbox::new().run(&[
        "reproduce",
        "synthetic-weak",
        "--data",
        "."
    ])));
}

/// Of the same tables `data eicu` makes a federation that runs.
#[test]
fn tables_become_a_federation() {
    let sandbox = Sandbox::new();
    sandbox.plain_tables(false);
    let made = sandbox.run(&["data", "eicu", "--data", "eicu", "--out", "hospitals"]);
    assert!(text(&made.stderr).contains("with 10 participants"), "{}", text(&made.stderr));
    let file = fs::read_to_string(sandbox.path("hospitals/federation.toml")).expect("written");
    assert_eq!(file.matches("[[participants]]").count(), 10);
    assert!(file.contains("competes-with = [\"group 4\", \"group 5\"]"), "{file}");
    let checked = sandbox.run(&["check", "hospitals/federation.toml"]);
    assert_eq!(checked.status.code(), Some(0), "{}", text(&checked.stderr));
    let rows = fs::read_to_string(sandbox.path("hospitals/group-1.csv")).expect("written");
    // Region 0 has the most patients, 40 of them; the header comes first.
    assert_eq!(rows.lines().count(), 41);
    assert!(
        rows.starts_with("age,gender,")
            && rows.lines().next().is_some_and(|line| line.ends_with(",died"))
    );
}
