//! The tables of eICU: what becomes of them, in either spelling, who takes part, and every
//! way in which they can be wrong with its message and hint.

use std::{fmt::Write as _, fs, io::Write as _, path::Path};

use fedcompetitors_files::{Cohort, Eicu, FileError, Hospitals, PAPER_HOSPITALS, read_eicu};
use fedcompetitors_learn::{Column, Targets};

const HOSPITAL: &str = "hospitalID,numBedsCategory,teachingStatus,region";
const PATIENT: &str = "patientUnitStayID,patientHealthSystemStayID,gender,age,ethnicity,hospitalID,apacheAdmissionDx,admissionHeight,hospitalDischargeYear,hospitalDischargeStatus,unitType,unitAdmitSource,unitVisitNumber,admissionWeight,uniquePid";
const PHYSIOLOGY: &str = "apacheApsVarID,patientUnitStayID,intubated,vent,dialysis,eyes,motor,verbal,meds,urine,wbc,temperature,respiratoryRate,sodium,heartRate,meanBp,ph,hematocrit,creatinine,albumin,pao2,pco2,bun,glucose,bilirubin,fio2";
const CHRONIC: &str = "apachePredVarID,patientUnitStayID,diedInHospital,aids,hepaticFailure,lymphoma,metastaticCancer,leukemia,immunosuppression,cirrhosis,electiveSurgery,diabetes";

/// The tables as they would be written.
#[derive(Clone)]
struct Tables {
    hospital: String,
    patient: String,
    physiology: String,
    chronic: String,
}

impl Tables {
    fn new() -> Self {
        let line = |header: &str| format!("{header}\n");
        Self {
            hospital: line(HOSPITAL),
            patient: line(PATIENT),
            physiology: line(PHYSIOLOGY),
            chronic: line(CHRONIC),
        }
    }

    fn hospital(&mut self, id: u32, kind: &str) {
        writeln!(self.hospital, "{id},{kind}").expect("to memory");
    }

    /// A patient with one stay, whose number is also its own; the temperature tells it apart.
    fn patient(&mut self, id: u32, hospital: u32, status: &str) {
        self.stay(id, id, 1, &format!("p{id}"), hospital, status);
        self.measured(id);
    }

    fn stay(&mut self, id: u32, stay: u32, visit: u32, who: &str, hospital: u32, status: &str) {
        writeln!(
            self.patient,
            "{id},{stay},Female,60,Asian,{hospital},\"Sepsis, lung\",170,2014,{status},MICU,Floor,{visit},70,{who}"
        )
        .expect("to memory");
    }

    fn measured(&mut self, id: u32) {
        writeln!(
            self.physiology,
            "1,{id},0,1,0,4,6,5,0,-1,10.2,{id},39,139,88,108,-1,37.8,1.04,-1,-1,-1.0,28,61,-1,-1"
        )
        .expect("to memory");
        // More values than columns, as some copies have them.
        writeln!(self.chronic, "1,{id},0,0,1,0,0,0,0,0,,1,7,8,9").expect("to memory");
    }

    /// Ten kinds of hospitals, 101 to 110, each with patients (more in the first ones), one
    /// of whom died.
    fn ten_kinds() -> Self {
        let mut tables = Self::new();
        for at in 0..10 {
            tables.hospital(101 + at, &format!("<100,f,Region {at}"));
            for patient in 0..(30 - 2 * at) {
                let status = if patient == 0 { "Expired" } else { "Alive" };
                tables.patient(1000 * (at + 1) + patient, 101 + at, status);
            }
        }
        tables
    }

    /// The ten hospitals of the paper, the first of them large.
    fn as_in_paper() -> Self {
        let mut tables = Self::new();
        for (at, id) in (0..).zip(PAPER_HOSPITALS) {
            tables.hospital(id, ">= 500,t,South");
            for patient in 0..(if at == 0 { 300 } else { 4 }) {
                let status = if patient < 2 { "Expired" } else { "Alive" };
                tables.patient(1000 * (at + 1) + patient, id, status);
            }
        }
        tables
    }

    fn all(&self) -> [(&'static str, &String); 4] {
        [
            ("hospital", &self.hospital),
            ("patient", &self.patient),
            ("apacheApsVar", &self.physiology),
            ("apachePredVar", &self.chronic),
        ]
    }

    fn write(&self, folder: &Path) {
        for (name, text) in self.all() {
            fs::write(folder.join(format!("{name}.csv")), text).expect("written");
        }
    }

    fn read(&self) -> Result<Eicu, FileError> {
        let folder = tempfile::tempdir().expect("a folder");
        self.write(folder.path());
        read_eicu(folder.path())
    }

    fn participants(&self) -> Hospitals {
        self.read().expect("good").participants().expect("good")
    }
}

fn packed(text: &str) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(text.as_bytes()).expect("to memory");
    encoder.finish().expect("to memory")
}

fn column<'c>(cohort: &'c Cohort, name: &str) -> &'c Column {
    let at = cohort.table.names().iter().position(|column| column == name);
    &cohort.table.columns()[at.expect("a feature")]
}

fn numbers(cohort: &Cohort, name: &str) -> Vec<Option<f32>> {
    match column(cohort, name) {
        Column::Numbers(values) => values.clone(),
        Column::Categories { .. } => panic!("{name} is a category"),
    }
}

fn categories(cohort: &Cohort, name: &str) -> Vec<Option<String>> {
    match column(cohort, name) {
        Column::Categories { names, codes } => {
            codes.iter().map(|code| code.map(|code| names[code as usize].clone())).collect()
        }
        Column::Numbers(_) => panic!("{name} is a number"),
    }
}

#[test]
fn values_and_what_means_that_there_is_none() {
    let mut tables = Tables::ten_kinds();
    // The patients of hospital 110 are as few as they can be: 12, numbered from 10000 on.
    let stay = |id: u32| format!("{id},{id},Female,60,Asian,110,\"Sepsis, lung\",170,2014,");
    let after = |id: u32| format!("Alive,MICU,Floor,1,70,p{id}");
    let change = |text: &mut String, from: String, to: &str| {
        assert!(text.contains(&from), "{from}");
        *text = text.replacen(&from, to, 1);
    };
    change(
        &mut tables.patient,
        stay(10_001) + &after(10_001),
        "10001,10001,,> 89,,110,,600,2014,Alive,CTICU,PACU,1,0.5,p10001",
    );
    change(
        &mut tables.patient,
        stay(10_002) + &after(10_002),
        "10002,10002,Other,,Martian,110,,,2014,Alive,,,1,,p10002",
    );
    let found = tables.participants();
    let cohort = &found.cohorts[9];
    assert_eq!((cohort.table.len(), cohort.deaths, cohort.hospitals), (12, 1, 1));
    assert_eq!(numbers(cohort, "age")[..3], [Some(60.0), Some(90.0), None]);
    assert_eq!(numbers(cohort, "admissionHeight")[..3], [Some(170.0), None, None]);
    assert_eq!(numbers(cohort, "admissionWeight")[..3], [Some(70.0), None, None]);
    let texts = |name| categories(cohort, name).into_iter().take(3).map(Option::unwrap_or_default);
    assert!(texts("gender").eq(["Female", "", ""]));
    assert!(texts("ethnicity").eq(["Asian", "", ""]));
    assert!(texts("unitType").eq(["medical", "heart", ""]));
    assert!(texts("unitAdmitSource").eq(["ward", "surgery", ""]));
    // -1 is missing in the tables of APACHE, 0 is not.
    for missing in ["urine", "ph", "albumin", "pco2", "fio2", "electiveSurgery"] {
        assert!(numbers(cohort, missing).iter().all(Option::is_none), "{missing}");
    }
    assert_eq!(numbers(cohort, "intubated")[0], Some(0.0));
    assert_eq!(numbers(cohort, "wbc")[0], Some(10.2));
    assert_eq!(numbers(cohort, "diabetes")[0], Some(1.0));
    assert_eq!(numbers(cohort, "hepaticFailure")[0], Some(1.0));
    // Rows are still those of their patients.
    let expected: Vec<_> = (10_000..10_012).map(|id| Some(id as f32)).collect();
    assert_eq!(numbers(cohort, "temperature"), expected);
    let Targets::Classes { labels, count: 2 } = cohort.table.targets() else {
        panic!("two classes");
    };
    assert_eq!(labels.iter().sum::<u32>(), labels[0]);
}

/// What the demo and the full database differ in, how files are packed and in which order
/// their rows stand: none of it makes a difference.
#[test]
fn spelling_packing_and_order_make_no_difference() {
    let tables = Tables::ten_kinds();
    let expected = tables.read().expect("good");
    let lower_header = |text: &String| {
        let (header, rows) = text.split_once('\n').expect("a header");
        format!("{}\n{rows}", header.to_lowercase())
    };
    let folder = tempfile::tempdir().expect("a folder");
    for (name, text) in tables.all() {
        let path = folder.path().join(format!("{name}.csv.gz"));
        fs::write(path, packed(&lower_header(text))).expect("written");
    }
    assert_eq!(read_eicu(folder.path()).expect("good"), expected);

    let backwards = |text: &String| {
        let (header, rows) = text.split_once('\n').expect("a header");
        let rows: Vec<&str> = rows.lines().rev().collect();
        format!("{header}\r\n{}\r\n", rows.join("\r\n"))
    };
    let other = Tables {
        hospital: backwards(&tables.hospital),
        patient: backwards(&tables.patient),
        physiology: backwards(&tables.physiology),
        chronic: backwards(&tables.chronic),
    };
    assert_eq!(other.read().expect("good"), expected);
}

#[test]
fn a_patient_is_one_row() {
    let mut tables = Tables::ten_kinds();
    let before = tables.read().expect("good").len();
    // A second unit stay of the same hospital stay, listed first; a second hospital stay, and
    // one at another hospital.
    tables.stay(20_002, 20_000, 2, "Ann", 110, "Expired");
    tables.stay(20_001, 20_000, 1, "Ann", 110, "Expired");
    tables.stay(20_003, 20_003, 1, "Ann", 110, "Alive");
    tables.stay(20_004, 20_004, 1, "Ann", 101, "Alive");
    (20_001..=20_004).for_each(|id| tables.measured(id));
    // One of whom the end is not known, and one of whom the first day is not.
    tables.patient(20_005, 110, "");
    tables.stay(20_006, 20_006, 1, "Cid", 110, "Expired");
    let found = tables.read().expect("good");
    assert_eq!(found.len(), before + 1);
    assert_eq!((found.without_outcome, found.without_physiology), (1, 1));
    let cohorts = found.participants().expect("good").cohorts;
    assert_eq!(numbers(&cohorts[9], "temperature").last(), Some(&Some(20_001.0)));
    assert_eq!(cohorts[9].deaths, 2);
}

#[test]
fn small_hospitals_learn_in_groups() {
    let mut tables = Tables::ten_kinds();
    let groups = tables.participants();
    assert!(!groups.as_in_paper);
    let sizes: Vec<usize> = groups.cohorts.iter().map(|cohort| cohort.table.len()).collect();
    assert_eq!(sizes, [30, 28, 26, 24, 22, 20, 18, 16, 14, 12]);

    // Another hospital of the largest kind, and two of small kinds: they join what is most
    // like them; what is like all joins the smallest of the large groups.
    tables.hospital(111, "<100,f,Region 0");
    tables.hospital(112, "<100,t,Region 1");
    tables.hospital(113, "<100,f,");
    tables.patient(20_001, 111, "Alive");
    tables.patient(20_002, 112, "Alive");
    tables.patient(20_003, 113, "Alive");
    // A hospital without patients is no part of anything.
    tables.hospital(114, "<100,f,Region 2");
    let groups = tables.participants();
    let told: Vec<(usize, usize, &str)> = groups
        .cohorts
        .iter()
        .map(|cohort| (cohort.table.len(), cohort.hospitals, &cohort.about[..]))
        .collect();
    assert_eq!(told[0], (31, 2, "Region 0, not teaching, <100 beds"));
    assert_eq!(told[1], (29, 2, "Region 1, not teaching, <100 beds, and one other kind"));
    assert_eq!(told[2], (26, 1, "Region 2, not teaching, <100 beds"));
    assert_eq!(told[4], (23, 2, "Region 4, not teaching, <100 beds, and one other kind"));
    assert_eq!(told[9], (12, 1, "Region 9, not teaching, <100 beds"));
}

#[test]
fn large_hospitals_are_those_of_the_paper() {
    let mut tables = Tables::as_in_paper();
    tables.hospital(999, "<100,f,West");
    tables.patient(90_000, 999, "Alive");
    let found = tables.participants();
    assert!(found.as_in_paper);
    let about: Vec<&str> = found.cohorts.iter().map(|cohort| &cohort.about[..]).collect();
    assert_eq!((about[0], about[4], about[9]), ("hospital 300", "hospital 183", "hospital 391"));
    let sizes: Vec<usize> = found.cohorts.iter().map(|cohort| cohort.table.len()).collect();
    assert_eq!(sizes, [300, 4, 4, 4, 4, 4, 4, 4, 4, 4]);
}

#[test]
fn every_message_and_hint() {
    let good = Tables::ten_kinds();
    let mut text = String::new();
    let mut tell = |what: &str, folder: &Path, error: FileError| {
        let shown = error.to_string().replace(&folder.display().to_string(), "eicu");
        writeln!(text, "{what}\n  error: {shown}\n  hint: {}", error.hint()).expect("to memory");
    };
    let mut change = |what: &str, change: &dyn Fn(&mut Tables)| {
        let mut tables = good.clone();
        change(&mut tables);
        let folder = tempfile::tempdir().expect("a folder");
        tables.write(folder.path());
        tell(what, folder.path(), read_eicu(folder.path()).expect_err(what));
    };
    change("no such column", &|tables| {
        tables.patient = tables.patient.replace("unitAdmitSource", "unitAdmitSourc");
    });
    change("nothing like the column", &|tables| {
        tables.physiology = tables.physiology.replace("albumin", "x");
    });
    change("a number that is none", &|tables| {
        tables.physiology = tables.physiology.replacen("10.2", "ten", 1);
    });
    change("an age that is none", &|tables| {
        tables.patient = tables.patient.replacen("Female,60", "Female,old", 1);
    });
    change("a number of a stay that is none", &|tables| {
        tables.chronic = tables.chronic.replacen("1,1000", "1,1e3", 1);
    });
    change("a patient without a name", &|tables| {
        tables.patient = tables.patient.replacen("p1000", "", 1);
    });
    change("an end that is none", &|tables| {
        tables.patient = tables.patient.replacen("Expired", "Discharged", 1);
    });
    change("an unknown hospital", &|tables| tables.patient(90_000, 777, "Alive"));
    change("a stay twice", &|tables| tables.patient(1000, 101, "Alive"));
    change("measured twice", &|tables| tables.measured(1000));
    change("a hospital twice", &|tables| tables.hospital(101, "<100,f,West"));
    change("too few values", &|tables| tables.patient.push_str("90000,1,Male\n"));
    change("too many values", &|tables| {
        tables.patient = tables.patient.replacen("\"Sepsis, lung\"", "Sepsis, lung", 1);
    });
    change("nothing in it", &|tables| tables.hospital.clear());
    change("a column twice", &|tables| {
        tables.hospital = tables.hospital.replace("region", "hospitalID");
    });

    let folder = tempfile::tempdir().expect("a folder");
    good.write(folder.path());
    fs::remove_file(folder.path().join("apachePredVar.csv")).expect("it was there");
    tell("a missing table", folder.path(), read_eicu(folder.path()).expect_err("it is missing"));
    let cut = packed(&good.chronic);
    let path = folder.path().join("apachePredVar.csv.gz");
    fs::write(&path, &cut[..cut.len() / 2]).expect("written");
    tell("a cut table", folder.path(), read_eicu(folder.path()).expect_err("it is cut"));
    let nowhere = folder.path().join("nowhere");
    tell("no folder", folder.path(), read_eicu(&nowhere).expect_err("it is not there"));
    insta::assert_snapshot!(text);
}

#[test]
fn who_cannot_take_part() {
    let refused = |tables: &Tables| {
        let problem = tables.read().expect("good").participants().expect_err("refused");
        format!("error: {problem}\nhint: {}\n", problem.hint())
    };
    let mut text = String::new();
    let mut tables = Tables::ten_kinds();
    tables.patient = tables.patient.replacen("Expired", "Alive", 1);
    text += &refused(&tables);
    let mut tables = Tables::as_in_paper();
    let all_died: Vec<String> = (10_002..10_004).map(|id| format!("{id},{id},")).collect();
    tables.patient = tables
        .patient
        .lines()
        .map(|line| {
            let died = all_died.iter().any(|start| line.starts_with(start));
            let line = if died { line.replace("Alive", "Expired") } else { line.to_owned() };
            line + "\n"
        })
        .collect();
    text += &refused(&tables);
    let mut tables = Tables::as_in_paper();
    tables.patient = tables.patient.replace(",413,", ",300,");
    text += &refused(&tables);
    let mut tables = Tables::new();
    tables.hospital(1, "<100,f,West");
    tables.patient(1, 1, "Alive");
    text += &refused(&tables);
    insta::assert_snapshot!(text);
}
