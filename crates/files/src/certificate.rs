//! Certificates as JSON, `fedcompetitors-certificate/1`.

use std::{
    io::{self, Write},
    path::Path,
};

use fedcompetitors_graphs::{
    Certificate, Choice, Participants, Rule,
    bits::{BitMatrix, insert, ones},
};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::{
    FileError, Problem,
    json::{self, Document},
};

const FORMAT: &str = "fedcompetitors-certificate/1";

#[derive(Serialize)]
struct CertificateView<'a> {
    format: &'static str,
    rule: Rule,
    sets: Vec<SetView<'a>>,
}

#[derive(Serialize)]
struct SetView<'a> {
    participant: &'a str,
    reaches: Vec<&'a str>,
}

/// Writes a certificate as JSON: for each participant those whom it reaches.
///
/// # Errors
/// If the writer fails.
pub fn write_certificate(certificate: &Certificate, writer: &mut dyn Write) -> io::Result<()> {
    let participants = certificate.participants();
    let sets = (0..participants.len()).map(|owner| SetView {
        participant: participants.name(owner),
        reaches: ones(certificate.set(owner)).map(|other| participants.name(other)).collect(),
    });
    json::to_writer(
        writer,
        &CertificateView { format: FORMAT, rule: certificate.rule(), sets: sets.collect() },
    )
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "a certificate")]
struct CertificateText<'a> {
    format: String,
    /// Absent in what was written before there was a choice.
    #[serde(default = "paths")]
    rule: Choice<Rule>,
    #[serde(borrow)]
    sets: Vec<&'a RawValue>,
}

/// The rule of plans and certificates that name none.
pub fn paths() -> Choice<Rule> {
    Choice(&Rule::Paths)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "the set of a participant")]
struct SetText {
    participant: String,
    reaches: Vec<String>,
}

/// Reads a certificate over the participants of a plan. It is a claim: whether it
/// proves anything is for [`Certificate::check`] to say.
///
/// # Errors
/// If the file cannot be read, is no certificate, or is about other participants.
pub fn read_certificate(
    path: &Path,
    participants: &Participants,
) -> Result<Certificate, FileError> {
    parse_certificate(path, &json::read_text(path)?, participants)
}

/// Reads a certificate from its text; `path` names it in errors.
///
/// # Errors
/// As [`read_certificate`].
pub fn parse_certificate(
    path: &Path,
    text: &str,
    participants: &Participants,
) -> Result<Certificate, FileError> {
    let document = Document { path, text };
    let certificate: CertificateText = document.parse(FORMAT)?;
    document.expect_format(certificate.format, FORMAT)?;
    let mut reached = BitMatrix::new(participants.len());
    let mut sets_of = vec![0; participants.len()];
    for raw in certificate.sets {
        let set: SetText = document.entry(raw)?;
        let find =
            |name: &str| participants.find(name).map_err(|error| document.refuse(raw, error));
        let owner = find(&set.participant)?;
        sets_of[owner] += 1;
        if sets_of[owner] > 1 {
            let problem = Problem::Sets { name: set.participant, count: sets_of[owner] };
            return Err(document.refuse(raw, problem));
        }
        for name in &set.reaches {
            insert(reached.row_mut(owner), find(name)?);
        }
    }
    if let Some(owner) = sets_of.iter().position(|&count| count == 0) {
        let name = participants.name(owner).to_owned();
        return Err(FileError::new(path, Problem::Sets { name, count: 0 }));
    }
    Ok(Certificate::claimed(*certificate.rule, participants, reached))
}
