//! Who takes part: the hospitals of the paper, or groups of hospitals where the data has
//! none that is large enough, as in the demo.

use std::collections::BTreeMap;

use fedcompetitors_learn::{Column, LearnError, Table, Targets};

use super::{
    Eicu, EicuProblem, Hospital, PAPER_HOSPITALS, Patient,
    features::{FEATURES, Kind, Value},
};

/// A hospital with so many patients is one that a participant can be. The demo has at most
/// ten patients of a hospital, the large ones of the paper have about a thousand.
const LARGE_ENOUGH: usize = 300;

/// How many groups are large, and how many are small.
const HALF: usize = 5;

/// A participant with its patients.
#[derive(Debug, Clone, PartialEq)]
pub struct Cohort {
    /// Which hospital or hospitals it is.
    pub about: String,
    /// How many hospitals it is made of.
    pub hospitals: usize,
    /// How many of its patients died.
    pub deaths: usize,
    /// Its patients.
    pub table: Table,
}

/// The participants of an experiment with eICU.
#[derive(Debug, Clone, PartialEq)]
pub struct Hospitals {
    /// Five large and five small, in this order.
    pub cohorts: Vec<Cohort>,
    /// Are they the hospitals of the paper, and not groups?
    pub as_in_paper: bool,
}

/// Some hospitals that learn as one, while they are put together.
struct Group<'a> {
    begins_with: &'a Hospital,
    hospitals: Vec<u32>,
    kinds: usize,
    patients: usize,
}

impl Eicu {
    /// Patients who can be used.
    pub fn len(&self) -> usize {
        self.patients.len()
    }

    /// Is there nobody who can be used?
    pub fn is_empty(&self) -> bool {
        self.patients.is_empty()
    }

    /// The participants: the ten hospitals of the paper if any hospital is as large as those,
    /// groups of hospitals otherwise.
    ///
    /// # Errors
    /// If one of the ten is not there, if there are too few hospitals for groups, or if
    /// nobody or everybody has died at a participant.
    pub fn participants(&self) -> Result<Hospitals, EicuProblem> {
        let counts = self.counts();
        if counts.values().any(|&count| count >= LARGE_ENOUGH) {
            let one = |&id: &u32| self.cohort(format!("hospital {id}"), &[id]);
            let missing = PAPER_HOSPITALS.iter().find(|id| !counts.contains_key(id));
            if let Some(&id) = missing {
                return Err(EicuProblem::NoPatients { id });
            }
            let cohorts = PAPER_HOSPITALS.iter().map(one).collect::<Result<_, _>>()?;
            return Ok(Hospitals { cohorts, as_in_paper: true });
        }
        let cohorts = self
            .groups(&counts)?
            .into_iter()
            .map(|group| self.cohort(group.about(), &group.hospitals))
            .collect::<Result<_, _>>()?;
        Ok(Hospitals { cohorts, as_in_paper: false })
    }

    /// How many patients each hospital has that has any.
    fn counts(&self) -> BTreeMap<u32, usize> {
        let mut counts = BTreeMap::new();
        for patient in &self.patients {
            *counts.entry(patient.hospital).or_insert(0) += 1;
        }
        counts
    }

    /// Hospitals of one region, teaching or not, of one size are of a kind. Of the kinds, most
    /// patients first, the first five begin the large groups, and the next five are the small
    /// ones. Every other kind joins the large group that begins with what is most like it: the
    /// most of region, teaching and size in common, of equals the one with the fewest patients
    /// so far. Who died plays no part in it.
    fn groups(&self, counts: &BTreeMap<u32, usize>) -> Result<Vec<Group<'_>>, EicuProblem> {
        let mut kinds: BTreeMap<&Hospital, (usize, Vec<u32>)> = BTreeMap::new();
        for (id, count) in counts {
            let kind = kinds.entry(&self.hospitals[id]).or_default();
            kind.0 += count;
            kind.1.push(*id);
        }
        let mut kinds: Vec<_> = kinds.into_iter().collect();
        // Those with equally many stay in the order of their names.
        kinds.sort_by_key(|(_, (patients, _))| std::cmp::Reverse(*patients));
        if kinds.len() < 2 * HALF {
            return Err(EicuProblem::TooFewKinds { found: kinds.len(), needed: 2 * HALF });
        }
        let mut groups: Vec<Group<'_>> = Vec::new();
        for (kind, (patients, hospitals)) in kinds {
            if groups.len() < 2 * HALF {
                groups.push(Group { begins_with: kind, hospitals, kinds: 1, patients });
                continue;
            }
            let likeness = |group: &&mut Group<'_>| {
                (group.begins_with.in_common(kind), std::cmp::Reverse(group.patients))
            };
            // Of complete equals the first: the last of those in reverse.
            let nearest = groups[..HALF].iter_mut().rev().max_by_key(likeness);
            if let Some(group) = nearest {
                group.hospitals.extend(hospitals);
                group.kinds += 1;
                group.patients += patients;
            }
        }
        Ok(groups)
    }

    fn cohort(&self, about: String, hospitals: &[u32]) -> Result<Cohort, EicuProblem> {
        let patients: Vec<&Patient> =
            self.patients.iter().filter(|patient| hospitals.contains(&patient.hospital)).collect();
        let deaths = patients.iter().filter(|patient| patient.died).count();
        if deaths == 0 || deaths == patients.len() {
            return Err(EicuProblem::OneOutcome { who: about, patients: patients.len(), deaths });
        }
        let table = table(&patients).expect("as many values as features, all of them finite");
        Ok(Cohort { about, hospitals: hospitals.len(), deaths, table })
    }
}

fn table(patients: &[&Patient]) -> Result<Table, LearnError> {
    let columns = FEATURES.iter().enumerate().map(|(at, feature)| match feature.kind {
        Kind::Category(categories) => Column::Categories {
            names: categories.iter().map(|(name, _)| (*name).to_owned()).collect(),
            codes: patients
                .iter()
                .map(|patient| match patient.values[at] {
                    Value::Category(code) => code,
                    Value::Number(_) => None,
                })
                .collect(),
        },
        _ => Column::Numbers(
            patients
                .iter()
                .map(|patient| match patient.values[at] {
                    Value::Number(value) => value,
                    Value::Category(_) => None,
                })
                .collect(),
        ),
    });
    let labels = patients.iter().map(|patient| u32::from(patient.died)).collect();
    Table::new(
        FEATURES.iter().map(|feature| feature.column.to_owned()).collect(),
        columns.collect(),
        Targets::Classes { labels, count: 2 },
    )
}

impl Hospital {
    /// How much of what is known of two hospitals is the same.
    fn in_common(&self, other: &Self) -> usize {
        usize::from(self.region == other.region)
            + usize::from(self.teaching == other.teaching)
            + usize::from(self.beds == other.beds)
    }
}

impl Group<'_> {
    fn about(&self) -> String {
        let Hospital { region, teaching, beds } = self.begins_with;
        let or_unknown = |text: &str, what: &str| match text {
            "" => format!("unknown {what}"),
            text => text.to_owned(),
        };
        let teaching = match &teaching.to_ascii_lowercase()[..] {
            "t" | "true" | "1" => "teaching",
            "f" | "false" | "0" => "not teaching",
            _ => "teaching or not",
        };
        let region = or_unknown(region, "region");
        let beds = match &beds[..] {
            "" => "unknown size".to_owned(),
            beds => format!("{beds} beds"),
        };
        let others = match self.kinds - 1 {
            0 => String::new(),
            1 => ", and one other kind".to_owned(),
            others => format!(", and {others} other kinds"),
        };
        format!("{region}, {teaching}, {beds}{others}")
    }
}
