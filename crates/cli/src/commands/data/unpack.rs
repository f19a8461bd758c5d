//! Archives: the files that are wanted, and nothing else.

use std::{
    fs::{self, File},
    path::Path,
};

use fedcompetitors_files::Member;
use flate2::read::GzDecoder;

use super::{
    download::{CopyError, copy},
    fetch::{finish, part_of, unwritable},
};
use crate::{
    Failure,
    output::{shown_path, tell},
};

/// Takes files out of a `.tar.gz` into a folder, by their names without folders. Nothing else
/// in the archive is looked at, whatever its path.
pub fn unpack(archive: &Path, members: &[Member], folder: &Path) -> Result<(), Failure> {
    let damaged = |error: &str| Failure::Damaged {
        error: format!("{}: cannot be unpacked: {error}", shown_path(archive)),
        hint: "remove the archive and fetch it again".into(),
    };
    let broken = |error: std::io::Error| damaged(&error.to_string());
    let file = File::open(archive).map_err(broken)?;
    let mut tar = tar::Archive::new(GzDecoder::new(file));
    let mut missing: Vec<&Member> = members.iter().collect();
    for entry in tar.entries().map_err(broken)? {
        let mut entry = entry.map_err(broken)?;
        let path = entry.path().map_err(broken)?.into_owned();
        let named = |member: &&Member| path.file_name().is_some_and(|name| name == &*member.name);
        let Some(at) = missing.iter().position(named) else { continue };
        if !entry.header().entry_type().is_file() {
            continue;
        }
        let member = missing.swap_remove(at);
        let target = folder.join(&member.name);
        let part = part_of(&target);
        let mut output = File::create(&part).map_err(|error| unwritable(&part, error))?;
        if let Err(error) = copy(&mut entry, &mut output, |_| {}) {
            let _ = fs::remove_file(&part);
            return Err(match error {
                CopyError::Read(error) => broken(error),
                CopyError::Write(error) => unwritable(&part, error),
            });
        }
        drop(output);
        finish(&part, &target, &member.checksums)?;
        tell(&format!("{}: unpacked", shown_path(&target)));
    }
    match missing.first() {
        Some(member) => Err(damaged(&format!("it does not contain {}", member.name))),
        None => Ok(()),
    }
}
