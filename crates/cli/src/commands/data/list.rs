//! `data list`: what there is.

use std::fmt::Write as _;

use fedcompetitors_files::{Checksum, DataSet, write_catalogue};
use fedcompetitors_graphs::shown;
use fedcompetitors_report::plural;
use indicatif::DecimalBytes;

use crate::{
    Failure, Outcome,
    arguments::{DataListArguments, Format},
    output::print,
};

pub fn list(arguments: &DataListArguments) -> Result<Outcome, Failure> {
    let catalogue = super::catalogue(arguments.catalogue.as_deref())?;
    print(|output| match arguments.format {
        Format::Text => {
            let sets: Vec<String> = catalogue.datasets.iter().map(set_text).collect();
            output.write_all(sets.join("\n").as_bytes())
        }
        Format::Json => write_catalogue(&catalogue, output),
    })?;
    Ok(Outcome::Done)
}

fn set_text(set: &DataSet) -> String {
    let mut text = format!("{}\n", set.name);
    let mut line = |key: &str, value: &str| {
        if !value.is_empty() {
            let _ = writeln!(text, "  {key:<8} {value}");
        }
    };
    line("what", &escaped(&set.what));
    line("licence", &escaped(&set.licence));
    line("page", &escaped(&set.page));
    line("checked", &checks_text(set));
    line("note", &escaped(&set.note));
    let known: Vec<u64> = set.files.iter().filter_map(|file| file.size).collect();
    let size = if known.len() == set.files.len() {
        DecimalBytes(known.iter().sum()).to_string()
    } else {
        "size not known".to_owned()
    };
    line("files", &format!("{}, {size}", plural(set.files.len(), "file", "files")));
    for file in &set.files {
        let size = file.size.map(|size| format!(" ({})", DecimalBytes(size))).unwrap_or_default();
        let _ = writeln!(text, "    {}{size}", file.url);
        let members: Vec<&str> = file.unpack.iter().map(|member| &*member.name).collect();
        if !members.is_empty() {
            let _ = writeln!(text, "      unpacked: {}", members.join(", "));
        }
    }
    text
}

/// How it is known that the right files came.
fn checks_text(set: &DataSet) -> String {
    let mut ways: Vec<String> = Vec::new();
    let mut add = |way: String| {
        if !ways.contains(&way) {
            ways.push(way);
        }
    };
    for file in &set.files {
        match (&set.checksum_list, &*file.checksums) {
            (_, [_, ..]) => {
                let members = file.unpack.iter().flat_map(|member| &member.checksums);
                for checksum in file.checksums.iter().chain(members) {
                    add(match checksum {
                        Checksum::Sha256(_) => "by SHA-256".into(),
                        Checksum::Md5(_) => "by MD5".into(),
                    });
                }
            }
            (Some(list), []) => {
                add(format!("by the publisher's {}, which is fetched first", list.name));
            }
            (None, []) => {
                add("not at all: no checksum is known; the SHA-256 of the fetched file is printed"
                    .into());
            }
        }
    }
    ways.join(", ")
}

/// A text of a catalogue, which may be anybody's, harmless to a terminal whatever its length.
fn escaped(text: &str) -> String {
    text.split_whitespace().map(shown).collect::<Vec<_>>().join(" ")
}
