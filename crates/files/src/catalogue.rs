//! Catalogues of data sets as JSON, `fedcompetitors-catalogue/1`: which files there are, where
//! they come from, and how to know that they are the right ones.

use std::{
    collections::BTreeSet,
    fmt,
    io::{self, Write},
    path::Path,
};

use serde::{Deserialize, Serialize};

use crate::{
    FileError,
    json::{self, Document},
};

const FORMAT: &str = "fedcompetitors-catalogue/1";

/// Data sets and where they come from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a catalogue")]
pub struct Catalogue {
    format: String,
    /// In the order in which they are listed.
    pub datasets: Vec<DataSet>,
}

/// A data set: files that belong into one folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a data set")]
pub struct DataSet {
    /// A plain name, which is also that of its folder on a mirror.
    pub name: String,
    /// What it is, in a line.
    #[serde(default)]
    pub what: String,
    /// What its publisher allows.
    #[serde(default)]
    pub licence: String,
    /// The publisher's page.
    #[serde(default)]
    pub page: String,
    /// What whoever fetches it should know.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub note: String,
    /// The publisher's own list of SHA-256 sums, for files without a checksum here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checksum_list: Option<ChecksumList>,
    /// Its files.
    pub files: Vec<DataFile>,
}

/// A list as `sha256sum` writes it, published next to the files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a list of checksums")]
pub struct ChecksumList {
    /// The name of its file.
    pub name: String,
    /// Where it is.
    pub url: String,
}

/// A file of a data set.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a file of a data set")]
pub struct DataFile {
    /// A plain name, in the folder and on a mirror.
    pub name: String,
    /// The publisher's address.
    pub url: String,
    /// Bytes, where they are known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
    /// What it must have; none if nobody knows.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub checksums: Vec<Checksum>,
    /// If it is a `.tar.gz`, what is taken out of it; it is then not kept itself.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unpack: Vec<Member>,
}

/// A file inside an archive, by its name without folders.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a file inside an archive")]
pub struct Member {
    /// A plain name.
    pub name: String,
    /// What it must have.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub checksums: Vec<Checksum>,
}

/// A checksum, in lower-case hexadecimal digits; written `sha256:…` or `md5:…`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Checksum {
    /// SHA-256.
    Sha256(String),
    /// MD5, for publishers who give nothing else.
    Md5(String),
}

impl TryFrom<String> for Checksum {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        const FORM: &str =
            "a checksum is `sha256:` and 64 hexadecimal digits, or `md5:` and 32 of them";
        let (kind, digits) = text.split_once(':').ok_or(FORM)?;
        let digits = digits.to_ascii_lowercase();
        if !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
            return Err(FORM);
        }
        match (kind, digits.len()) {
            ("sha256", 64) => Ok(Self::Sha256(digits)),
            ("md5", 32) => Ok(Self::Md5(digits)),
            _ => Err(FORM),
        }
    }
}

impl From<Checksum> for String {
    fn from(checksum: Checksum) -> Self {
        match checksum {
            Checksum::Sha256(digits) => format!("sha256:{digits}"),
            Checksum::Md5(digits) => format!("md5:{digits}"),
        }
    }
}

impl fmt::Display for Checksum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sha256(digits) => write!(f, "SHA-256 {digits}"),
            Self::Md5(digits) => write!(f, "MD5 {digits}"),
        }
    }
}

/// What can be wrong with a catalogue that is JSON of the right form.
#[derive(Debug, thiserror::Error)]
pub enum CatalogueProblem {
    /// A name that could lead out of the folder, or be another file's.
    #[error("\"{}\" cannot be the name of a data set or file", fedcompetitors_graphs::shown(.0))]
    Name(String),
    /// Two data sets, or two files of one, have the same name.
    #[error("the name \"{}\" is given twice", fedcompetitors_graphs::shown(.0))]
    Twice(String),
    /// An address of another kind.
    #[error("\"{}\" is not the URL of a web server", fedcompetitors_graphs::shown(.0))]
    Address(String),
    /// Something to unpack that is no `.tar.gz`.
    #[error("\"{}\" cannot be unpacked", fedcompetitors_graphs::shown(.0))]
    Unpack(String),
    /// A data set of nothing.
    #[error("the data set \"{}\" has no files", fedcompetitors_graphs::shown(.0))]
    NoFiles(String),
}

impl CatalogueProblem {
    /// What the user can do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Name(_) => {
                "use up to 100 letters, digits, `.`, `_` and `-`; start with a letter or a digit, and do not end with `.part`"
            }
            Self::Twice(_) => "give each data set, and each file in a data set, a unique name",
            Self::Address(_) => "give a URL that starts with http:// or https://",
            Self::Unpack(_) => "only archives named .tar.gz or .tgz can be unpacked",
            Self::NoFiles(_) => "list its files under `files`",
        }
    }
}

/// Reads a catalogue.
///
/// # Errors
/// If the file cannot be read, is no catalogue, or names a file that could be written
/// outside of its folder.
pub fn read_catalogue(path: &Path) -> Result<Catalogue, FileError> {
    parse_catalogue(path, &json::read_text(path)?)
}

/// Reads a catalogue from its text; `path` names it in errors.
///
/// # Errors
/// As [`read_catalogue`].
pub fn parse_catalogue(path: &Path, text: &str) -> Result<Catalogue, FileError> {
    let document = Document { path, text };
    let catalogue: Catalogue = document.parse(FORMAT)?;
    document.expect_format(catalogue.format.clone(), FORMAT)?;
    check(&catalogue).map_err(|problem| FileError::new(path, problem))?;
    Ok(catalogue)
}

/// Writes a catalogue as JSON.
///
/// # Errors
/// If the writer fails.
pub fn write_catalogue(catalogue: &Catalogue, writer: &mut dyn Write) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *writer, catalogue)?;
    writer.write_all(b"\n")
}

fn check(catalogue: &Catalogue) -> Result<(), CatalogueProblem> {
    distinct(catalogue.datasets.iter().map(|set| &set.name))?;
    for set in &catalogue.datasets {
        if set.files.is_empty() {
            return Err(CatalogueProblem::NoFiles(set.name.clone()));
        }
        let list = set.checksum_list.iter();
        let files = set.files.iter();
        let members = set.files.iter().flat_map(|file| &file.unpack);
        distinct(
            list.clone()
                .map(|list| &list.name)
                .chain(files.clone().map(|file| &file.name))
                .chain(members.map(|member| &member.name)),
        )?;
        for url in list.map(|list| &list.url).chain(files.map(|file| &file.url)) {
            if !is_web_address(url) {
                return Err(CatalogueProblem::Address(url.clone()));
            }
        }
        let archive = |name: &str| {
            let name = name.to_ascii_lowercase();
            [".tar.gz", ".tgz"].iter().any(|ending| name.ends_with(ending))
        };
        if let Some(file) =
            set.files.iter().find(|file| !file.unpack.is_empty() && !archive(&file.name))
        {
            return Err(CatalogueProblem::Unpack(file.name.clone()));
        }
    }
    Ok(())
}

/// Is each a plain name, and each another one, also where upper and lower case are the same?
fn distinct<'a>(names: impl Iterator<Item = &'a String>) -> Result<(), CatalogueProblem> {
    let mut seen = BTreeSet::new();
    for name in names {
        if !is_plain_name(name) {
            return Err(CatalogueProblem::Name(name.clone()));
        }
        if !seen.insert(name.to_ascii_lowercase()) {
            return Err(CatalogueProblem::Twice(name.clone()));
        }
    }
    Ok(())
}

/// A name that means the same in any folder and in any address, and nothing else.
fn is_plain_name(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    name.starts_with(|c: char| c.is_ascii_alphanumeric())
        && name.len() <= 100
        && name.chars().all(plain)
        && ![".part", ".part.version"].iter().any(|taken| lower.ends_with(taken))
}

/// Is this an address that a file can be fetched from?
pub fn is_web_address(text: &str) -> bool {
    let rest = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
    rest.is_some_and(|rest| {
        rest.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '[')
            && rest.chars().all(|c| c.is_ascii_graphic())
    })
}
