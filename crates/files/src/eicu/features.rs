//! What of the tables is used, and how.
//!
//! Categories are declared here and never gathered: all participants need the same.

/// The table that a feature stands in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum From {
    /// `patient`: who is admitted, and from where.
    Admission,
    /// `apacheApsVar`: what was measured on the first day.
    Physiology,
    /// `apachePredVar`: what was known before.
    Chronic,
}

/// A feature of a patient.
#[derive(Debug)]
pub(super) struct Feature {
    /// Its column as the full database writes it.
    pub column: &'static str,
    pub from: From,
    pub kind: Kind,
}

/// What a feature can say.
#[derive(Debug, Clone, Copy)]
pub(super) enum Kind {
    /// A number.
    Number,
    /// A number between these bounds. What lies outside was mistyped and counts as missing: a
    /// single height of 600 cm would set the scale of a small hospital.
    Within(f32, f32),
    /// Years; `> 89` is how the database hides higher ages.
    Age,
    /// One of these, each with the texts that mean it; any other text counts as missing.
    Category(&'static [(&'static str, &'static [&'static str])]),
}

/// What a patient's feature is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Value {
    Number(Option<f32>),
    Category(Option<u32>),
}

impl Kind {
    pub fn missing(self) -> Value {
        match self {
            Self::Category(_) => Value::Category(None),
            _ => Value::Number(None),
        }
    }
}

/// The features of a table.
pub(super) fn of(from: From) -> impl Iterator<Item = &'static Feature> {
    FEATURES.iter().filter(move |feature| feature.from == from)
}

const fn admission(column: &'static str, kind: Kind) -> Feature {
    Feature { column, from: From::Admission, kind }
}

const fn physiology(column: &'static str) -> Feature {
    Feature { column, from: From::Physiology, kind: Kind::Number }
}

const fn chronic(column: &'static str) -> Feature {
    Feature { column, from: From::Chronic, kind: Kind::Number }
}

const GENDER: Kind = Kind::Category(&[("Female", &["Female"]), ("Male", &["Male"])]);

const ETHNICITY: Kind = Kind::Category(&[
    ("African American", &["African American"]),
    ("Asian", &["Asian"]),
    ("Caucasian", &["Caucasian"]),
    ("Hispanic", &["Hispanic"]),
    ("Native American", &["Native American"]),
    ("Other", &["Other/Unknown"]),
]);

/// Units of one speciality are one category: a small hospital has but one or two of them.
const UNIT: Kind = Kind::Category(&[
    ("mixed", &["Med-Surg ICU"]),
    ("medical", &["MICU"]),
    ("surgical", &["SICU"]),
    ("heart", &["Cardiac ICU", "CCU-CTICU", "CSICU", "CTICU"]),
    ("nerves", &["Neuro ICU"]),
]);

const SOURCE: Kind = Kind::Category(&[
    ("emergency", &["Emergency Department", "Chest Pain Center", "Observation"]),
    ("ward", &["Floor", "Acute Care/Floor", "Step-Down Unit (SDU)"]),
    ("surgery", &["Operating Room", "Recovery Room", "PACU"]),
    ("direct", &["Direct Admit"]),
    ("intensive care", &["ICU", "Other ICU", "ICU to SDU"]),
    ("other hospital", &["Other Hospital"]),
]);

/// All features, those of one table together, in the order of [`From`].
pub(super) static FEATURES: &[Feature] = &[
    admission("age", Kind::Age),
    admission("gender", GENDER),
    admission("ethnicity", ETHNICITY),
    admission("admissionHeight", Kind::Within(100.0, 250.0)),
    admission("admissionWeight", Kind::Within(20.0, 400.0)),
    admission("unitType", UNIT),
    admission("unitAdmitSource", SOURCE),
    physiology("intubated"),
    physiology("vent"),
    physiology("dialysis"),
    physiology("eyes"),
    physiology("motor"),
    physiology("verbal"),
    physiology("meds"),
    Feature { column: "urine", from: From::Physiology, kind: Kind::Within(0.0, 15_000.0) },
    physiology("wbc"),
    physiology("temperature"),
    physiology("respiratoryRate"),
    physiology("sodium"),
    physiology("heartRate"),
    physiology("meanBp"),
    physiology("ph"),
    physiology("hematocrit"),
    physiology("creatinine"),
    physiology("albumin"),
    physiology("pao2"),
    physiology("pco2"),
    physiology("bun"),
    physiology("glucose"),
    physiology("bilirubin"),
    physiology("fio2"),
    chronic("aids"),
    chronic("hepaticFailure"),
    chronic("lymphoma"),
    chronic("metastaticCancer"),
    chronic("leukemia"),
    chronic("immunosuppression"),
    chronic("cirrhosis"),
    chronic("diabetes"),
    chronic("electiveSurgery"),
];

#[cfg(test)]
mod tests {
    use super::*;

    /// What would tell how a stay ended, in any of the tables that are read.
    const ENDINGS: &[&str] =
        &["discharge", "died", "status", "los", "actual", "predicted", "offset", "unabridged"];

    #[test]
    fn nothing_tells_how_the_stay_ends() {
        for feature in FEATURES {
            let column = feature.column.to_lowercase();
            assert!(!ENDINGS.iter().any(|ending| column.contains(ending)), "{column}");
        }
    }

    /// Values are put together table by table.
    #[test]
    fn features_of_one_table_stand_together() {
        let tables: Vec<u8> = FEATURES.iter().map(|feature| feature.from as u8).collect();
        assert!(tables.is_sorted());
    }

    #[test]
    fn a_text_means_one_category() {
        for feature in FEATURES {
            if let Kind::Category(categories) = feature.kind {
                let mut texts: Vec<&str> =
                    categories.iter().flat_map(|(_, texts)| *texts).copied().collect();
                texts.sort_unstable();
                let count = texts.len();
                texts.dedup();
                assert_eq!(texts.len(), count, "{}", feature.column);
            }
        }
    }
}
