//! The experiment with eICU's hospitals.

use std::fmt::Write;

use fedcompetitors_record::Spread;

use super::{
    ExperimentRow, ExperimentTable,
    methods::{Agreement, MethodFigures, agreement_text, means, named, spreads},
    standings::Comparing,
};

/// What came out for the hospitals.
#[derive(Debug)]
pub struct HospitalFigures {
    /// Whether these are the paper's hospitals.
    pub as_in_paper: bool,
    /// The participants.
    pub cohorts: Vec<Cohort>,
    /// Patients that are left out: without a known outcome, and without physiology of the first day.
    pub left_out: (usize, usize),
    /// Who competes.
    pub competing: Vec<(String, String)>,
    /// How many folds a repeat has.
    pub folds: usize,
    /// Gradients that each method may take for each participant.
    pub budget: usize,
    /// Among how many rules validation data has chosen.
    pub rules: usize,
    /// The methods; the first is Local.
    pub methods: Vec<MethodFigures>,
    /// For each other method how much more it has than Local, in the same repeats.
    pub gains: Vec<(String, Vec<Vec<f64>>)>,
    /// How well estimates rank helpers, where that was measured.
    pub agreements: Vec<Agreement>,
}

/// The patients of a participant.
#[derive(Debug)]
pub struct Cohort {
    /// The participant.
    pub name: String,
    /// Whose patients they are, in words.
    pub about: String,
    /// How many there are.
    pub patients: usize,
    /// How many of them died.
    pub deaths: usize,
    /// From how many hospitals they are.
    pub hospitals: usize,
}

const COMPARING: Comparing = Comparing {
    lower_is_better: false,
    once: "in one repeat",
    each: "repeat by repeat",
    by_interval: true,
    digits: 3,
};

/// Whose data it is, and what figures of groups are worth.
pub fn hospitals_title(as_in_paper: bool) -> &'static str {
    if as_in_paper {
        "eICU, the paper's hospitals"
    } else {
        "eICU demo, groups of hospitals; not comparable with the paper's figures"
    }
}

/// A method's row: means with half of their 95 % intervals.
fn row(method: &str, cells: &[Vec<f64>], paper: Vec<(f64, Option<f64>)>) -> ExperimentRow {
    let mean = Spread::of(&means(cells));
    ExperimentRow {
        method: method.to_owned(),
        cells: spreads(cells).map(|cell| (cell.mean, cell.interval)).collect(),
        paper,
        mean: (mean.mean, mean.interval),
    }
}

impl HospitalFigures {
    /// Its table.
    pub fn table(&self) -> ExperimentTable {
        let rows = self.methods.iter();
        let (whose, folds) = (hospitals_title(self.as_in_paper), self.folds);
        let repeats = self.methods.first().map_or(0, |method| method.cells.len());
        ExperimentTable {
            title: match repeats {
                1 => format!("{whose}, {folds} folds once: spread unknown."),
                _ => format!("{whose}, {folds} folds, {repeats} repeats."),
            },
            metric: "Test AUC of deaths in hospital, mean ± half of the 95 % interval over the repeats; the last\n\
                     column is the mean over the participants. All repeats have the same patients: the interval\n\
                     shows the variation from splits and training, not from other patients, which is larger."
                .into(),
            columns: self.columns(),
            rows: rows.map(|one| row(&one.name, &one.cells, one.paper.clone())).collect(),
            remarks: self.remarks(),
        }
    }

    /// The table of gains over Local.
    pub fn gains_table(&self) -> ExperimentTable {
        let rows = self.gains.iter().map(|(name, cells)| row(name, cells, Vec::new()));
        ExperimentTable {
            title: format!("Gain over Local. {}.", hospitals_title(self.as_in_paper)),
            metric:
                "Test AUC minus that of Local in the same repeat, mean ± half of the 95 % interval."
                    .into(),
            columns: self.columns(),
            rows: rows.collect(),
            remarks: Vec::new(),
        }
    }

    fn columns(&self) -> Vec<String> {
        self.cohorts.iter().map(|cohort| cohort.name.clone()).collect()
    }

    fn remarks(&self) -> Vec<String> {
        let mut remarks = vec![COMPARING.standings(&named(&self.methods))];
        remarks.extend(self.cohorts.iter().map(cohort_text));
        let (outcome, physiology) = self.left_out;
        remarks.push(format!(
            "One row per patient, from the first stay; left out: {outcome} without a known outcome, {physiology} without\nphysiology of the first day."
        ));
        let pairs: Vec<String> =
            self.competing.iter().map(|(a, b)| format!("{a} and {b}")).collect();
        remarks.push(format!("Competing: {}.", pairs.join(", ")));
        remarks.push(format!(
            "Logistic regression for every method, deaths and survivors weighted equally; at most {} gradients\nfor each participant on average, estimation included.",
            self.budget
        ));
        if self.rules > 1 {
            remarks.push(format!(
                "Rate and decay chosen among {} by validation loss in two other repeats\nwith the same patients (there are no others).",
                self.rules
            ));
        }
        remarks.extend(self.methods.iter().map(MethodFigures::cost_text));
        remarks.extend(self.agreements.iter().map(agreement_text));
        remarks
    }
}

fn cohort_text(cohort: &Cohort) -> String {
    let Cohort { name, about, patients, deaths, hospitals } = cohort;
    let mut line = format!("  {name}: {about}: {patients} patients, {deaths} deaths");
    if *hospitals > 1 {
        let _ = write!(line, ", {hospitals} hospitals");
    }
    line + "."
}
