//! Checksums of files.

use std::{
    fmt::Write as _,
    fs::File,
    io::{self, Read},
    path::Path,
};

use fedcompetitors_files::{Checksum, FileError, Problem};
use md5::Md5;
use sha2::{Digest, Sha256};

use crate::Failure;

/// The SHA-256 of a file.
pub fn sha256(path: &Path) -> Result<Checksum, Failure> {
    hash::<Sha256>(path).map(Checksum::Sha256)
}

/// The first checksum that a file does not have, and what it has instead.
pub fn mismatch<'a>(
    path: &Path,
    expected: &'a [Checksum],
) -> Result<Option<(&'a Checksum, Checksum)>, Failure> {
    for checksum in expected {
        let found = match checksum {
            Checksum::Sha256(_) => sha256(path)?,
            Checksum::Md5(_) => Checksum::Md5(hash::<Md5>(path)?),
        };
        if found != *checksum {
            return Ok(Some((checksum, found)));
        }
    }
    Ok(None)
}

fn hash<D: Digest>(path: &Path) -> Result<String, Failure> {
    let hashed = || -> io::Result<String> {
        let mut file = File::open(path)?;
        let mut hasher = D::new();
        let mut piece = vec![0; 1 << 16];
        loop {
            match file.read(&mut piece)? {
                0 => break,
                length => hasher.update(&piece[..length]),
            }
        }
        Ok(hasher.finalize().iter().fold(String::new(), |mut digits, byte| {
            let _ = write!(digits, "{byte:02x}");
            digits
        }))
    };
    let unreadable = |error| FileError {
        path: path.to_owned(),
        line: None,
        problem: Problem::Unreadable(error),
    };
    Ok(hashed().map_err(unreadable)?)
}
