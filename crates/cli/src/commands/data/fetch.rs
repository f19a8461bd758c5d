//! `data fetch`: the files of a data set, each whole and the right one, or not there.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    io,
    path::{Path, PathBuf},
};

use fedcompetitors_files::{
    Checksum, ChecksumList, DataFile, DataSet, FileError, Problem, is_web_address, make_folder,
};
use fedcompetitors_graphs::shown;
use indicatif::DecimalBytes;

use super::{
    checksum::{mismatch, sha256},
    download::{Client, Download},
    unpack::unpack,
};
use crate::{
    Failure, Outcome,
    arguments::DataFetchArguments,
    output::{shown_path, tell},
};

pub fn fetch(arguments: &DataFetchArguments) -> Result<Outcome, Failure> {
    let catalogue = super::catalogue(arguments.catalogue.as_deref())?;
    let Some(set) = catalogue.datasets.iter().find(|set| set.name == arguments.name) else {
        let names: Vec<&str> = catalogue.datasets.iter().map(|set| &*set.name).collect();
        return Err(Failure::Usage {
            error: format!("unknown data set \"{}\"", shown(&arguments.name)),
            hint: format!("choose one of {}", names.join(", ")),
        });
    };
    // An empty variable in the environment says as much as none.
    let mirror = arguments.mirror.as_deref().filter(|mirror| !mirror.is_empty());
    if let Some(mirror) = mirror.filter(|mirror| !is_web_address(mirror)) {
        return Err(Failure::Usage {
            error: format!("the mirror \"{}\" is not the URL of a web server", shown(mirror)),
            hint: "give a URL that starts with http:// or https://".into(),
        });
    }
    let folder = arguments.to.clone().unwrap_or_else(|| Path::new("data").join(&set.name));
    make_folder(&folder)?;
    Fetch { set, folder, mirror, client: Client::new() }.all()?;
    Ok(Outcome::Done)
}

/// A data set on its way into a folder.
struct Fetch<'a> {
    set: &'a DataSet,
    folder: PathBuf,
    mirror: Option<&'a str>,
    client: Client,
}

impl Fetch<'_> {
    fn all(&self) -> Result<(), Failure> {
        let listed = match &self.set.checksum_list {
            Some(list) => self.checksum_list(list)?,
            None => BTreeMap::new(),
        };
        for file in &self.set.files {
            let checksums = self.checksums(file, &listed)?;
            if file.unpack.is_empty() {
                self.file(&file.name, &file.url, file.size, &checksums)?;
            } else {
                self.archive(file, &checksums)?;
            }
        }
        Ok(())
    }

    /// What a file must have, by the catalogue or else by the publisher's list.
    fn checksums(
        &self,
        file: &DataFile,
        listed: &BTreeMap<String, Checksum>,
    ) -> Result<Vec<Checksum>, Failure> {
        let Some(list) = self.set.checksum_list.as_ref().filter(|_| file.checksums.is_empty())
        else {
            return Ok(file.checksums.clone());
        };
        match listed.get(&file.name) {
            Some(checksum) => Ok(vec![checksum.clone()]),
            None => Err(Failure::Damaged {
                error: format!(
                    "{}: no line for {}",
                    shown_path(&self.folder.join(&list.name)),
                    file.name
                ),
                hint: "remove the list and fetch again; it may be damaged".into(),
            }),
        }
    }

    /// The publisher's list of checksums, by file.
    fn checksum_list(&self, list: &ChecksumList) -> Result<BTreeMap<String, Checksum>, Failure> {
        let path = self.folder.join(&list.name);
        self.file(&list.name, &list.url, None, &[])?;
        if self.mirror.is_some() {
            tell(&format!(
                "{} comes from the mirror: it detects damage in transfer, but not changes by the mirror",
                list.name
            ));
        }
        let bytes = fs::read(&path).map_err(|error| FileError {
            path,
            line: None,
            problem: Problem::Unreadable(error),
        })?;
        let text = String::from_utf8_lossy(&bytes);
        Ok(text.lines().filter_map(listed_checksum).collect())
    }

    /// One file, unless it is there.
    fn file(
        &self,
        name: &str,
        url: &str,
        size: Option<u64>,
        checksums: &[Checksum],
    ) -> Result<(), Failure> {
        let target = self.folder.join(name);
        let shown = shown_path(&target);
        if target.exists() {
            if checksums.is_empty() {
                let found = sha256(&target)?;
                tell(&format!("{shown}: already exists, not checked; it has {found}"));
                return Ok(());
            }
            if mismatch(&target, checksums)?.is_none() {
                tell(&format!("{shown}: already exists"));
                return Ok(());
            }
            tell(&format!(
                "{shown}: a different file exists; it is replaced once the right one is fetched"
            ));
        }
        let url = match self.mirror {
            Some(mirror) => format!("{}/{}/{name}", mirror.trim_end_matches('/'), self.set.name),
            None => url.to_owned(),
        };
        let part = part_of(&target);
        let checked = !checksums.is_empty();
        self.client.download(&Download {
            url: &url,
            part: &part,
            target: &target,
            size,
            checked,
        })?;
        finish(&part, &target, checksums)?;
        let length = fs::metadata(&target).map_or(0, |metadata| metadata.len());
        let size = DecimalBytes(length);
        if checked {
            tell(&format!("{shown}: fetched and checked, {size}"));
        } else {
            let found = sha256(&target)?;
            tell(&format!("{shown}: fetched, {size}; no checksum is known for it, it has {found}"));
        }
        Ok(())
    }

    /// The files of an archive, unless they are there. An archive that had to be fetched
    /// goes again when it is unpacked.
    fn archive(&self, file: &DataFile, checksums: &[Checksum]) -> Result<(), Failure> {
        let mut complete = true;
        for member in &file.unpack {
            let target = self.folder.join(&member.name);
            complete &= target.exists() && mismatch(&target, &member.checksums)?.is_none();
        }
        if complete {
            for member in &file.unpack {
                tell(&format!("{}: already exists", shown_path(&self.folder.join(&member.name))));
            }
            return Ok(());
        }
        let archive = self.folder.join(&file.name);
        let was_there = archive.exists();
        self.file(&file.name, &file.url, file.size, checksums)?;
        unpack(&archive, &file.unpack, &self.folder)?;
        if !was_there {
            fs::remove_file(&archive).map_err(|error| unwritable(&archive, error))?;
        }
        Ok(())
    }
}

/// A line as `sha256sum` writes it.
fn listed_checksum(line: &str) -> Option<(String, Checksum)> {
    let (digits, name) = line.split_once(char::is_whitespace)?;
    let checksum = Checksum::try_from(format!("sha256:{digits}")).ok()?;
    let name = name.trim().trim_start_matches('*').trim_start_matches("./");
    Some((name.to_owned(), checksum))
}

/// Gives a file that has come whole its name, if it is the right one.
pub fn finish(part: &Path, target: &Path, checksums: &[Checksum]) -> Result<(), Failure> {
    if let Some((expected, found)) = mismatch(part, checksums)? {
        let _ = fs::remove_file(part);
        let _ = fs::remove_file(version_of(part));
        return Err(Failure::Damaged {
            error: format!("{}: has {found} instead of {expected}", shown_path(target)),
            hint: "it was not kept; fetch it again. If that does not help, the publisher or mirror has another version: compare it, and list it in your own catalogue (--catalogue)".into(),
        });
    }
    let named = File::options().write(true).open(part).and_then(|file| file.sync_all());
    named.and_then(|()| fs::rename(part, target)).map_err(|error| unwritable(target, error))?;
    let _ = fs::remove_file(version_of(part));
    Ok(())
}

/// Where the bytes of a file go until all of them are there.
pub fn part_of(target: &Path) -> PathBuf {
    with_ending(target, ".part")
}

/// Where it is remembered which version of a file its part is of.
pub fn version_of(part: &Path) -> PathBuf {
    with_ending(part, ".version")
}

fn with_ending(path: &Path, ending: &str) -> PathBuf {
    let mut path = path.as_os_str().to_owned();
    path.push(ending);
    path.into()
}

pub fn unwritable(path: &Path, error: io::Error) -> Failure {
    FileError { path: path.to_owned(), line: None, problem: Problem::Unwritable(error) }.into()
}
