//! Files that are written whole or not at all.

use std::{
    collections::BTreeSet,
    fs::{self, File},
    io::{self, BufWriter, Write},
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
};

use crate::{FileError, Problem};

/// How the names of temporary files begin.
const PREFIX: &str = ".fedcompetitors-";

/// Writes a file through `content`: under a temporary name beside it, synced, then
/// renamed. Whoever reads the path sees the old file or the whole new one. A path that
/// is no plain file, such as a pipe, is written to directly.
///
/// # Errors
/// If the file cannot be written; the old file, if any, is then untouched.
pub fn atomically(
    path: &Path,
    content: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), FileError> {
    write(path, content).map_err(|error| FileError::new(path, Problem::Unwritable(error)))
}

fn write(path: &Path, content: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    if fs::metadata(path).is_ok_and(|metadata| !metadata.is_file() && !metadata.is_dir()) {
        let mut writer = BufWriter::new(File::options().write(true).open(path)?);
        content(&mut writer)?;
        return writer.flush();
    }
    // Through a link, so that the link stays and its target is replaced (a link that
    // leads nowhere is replaced itself).
    let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let old = fs::metadata(&path).ok();
    if old.as_ref().is_some_and(|old| old.permissions().readonly()) {
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, "the file is read-only"));
    }
    let mut builder = tempfile::Builder::new();
    builder.prefix(PREFIX);
    #[cfg(unix)]
    {
        // What an ordinary new file gets, less the user's mask; temporary files are
        // otherwise for their owner alone.
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    // The library's message names the temporary file, which is nobody's business.
    let (file, temporary) =
        Temporary::make(&builder, folder).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => io::Error::new(error.kind(), "there is no such folder"),
            kind => kind.into(),
        })?;
    let mut writer = BufWriter::new(file);
    content(&mut writer)?;
    let file = writer.into_inner().map_err(io::IntoInnerError::into_error)?;
    if let Some(old) = old {
        file.as_file().set_permissions(old.permissions())?;
    }
    file.as_file().sync_all()?;
    file.persist(&path).map_err(|error| error.error)?;
    drop(temporary);
    Ok(())
}

/// The temporary files that are being written now.
static TEMPORARIES: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// A temporary file for as long as it is one.
struct Temporary(PathBuf);

impl Temporary {
    /// Makes one. It is on the list before anybody can ask for the list, so that no moment
    /// is left in which a program that is told to end would overlook it.
    fn make(
        builder: &tempfile::Builder<'_, '_>,
        folder: &Path,
    ) -> io::Result<(tempfile::NamedTempFile, Self)> {
        let mut list = temporaries();
        let file = builder.tempfile_in(folder)?;
        let path = file.path().to_owned();
        list.insert(path.clone());
        Ok((file, Self(path)))
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        temporaries().remove(&self.0);
    }
}

fn temporaries() -> MutexGuard<'static, BTreeSet<PathBuf>> {
    TEMPORARIES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Removes whatever is half written, for a program that is told to end.
pub fn remove_temporaries() {
    for path in &*temporaries() {
        let _ = fs::remove_file(path);
    }
}

/// Removes what a program that was killed has left half written in a folder. Only for
/// folders in which nobody else is at work.
pub fn remove_leftovers(folder: &Path) {
    let Ok(entries) = fs::read_dir(folder) else {
        return;
    };
    for entry in entries.flatten() {
        if entry.file_name().to_string_lossy().starts_with(PREFIX) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// Makes a folder, and those that it is in.
///
/// # Errors
/// If it cannot be made.
pub fn make_folder(path: &Path) -> Result<(), FileError> {
    fs::create_dir_all(path).map_err(|error| FileError::new(path, Problem::Unwritable(error)))
}

/// Makes sure that the names of the files in a folder outlive a power cut.
///
/// # Errors
/// If that cannot be made sure.
pub fn sync_folder(path: &Path) -> Result<(), FileError> {
    // Where a folder cannot be opened as a file, its system sees to that by itself.
    File::open(path)
        .map_or(Ok(()), |folder| folder.sync_all())
        .map_err(|error| FileError::new(path, Problem::Unwritable(error)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_write_leaves_the_old_file_and_nothing_else() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("plan.json");
        atomically(&path, |writer| writer.write_all(b"old")).expect("written");
        let failed = atomically(&path, |writer| {
            writer.write_all(b"half a n")?;
            Err(io::Error::other("the disk is full"))
        });
        assert!(failed.is_err());
        assert_eq!(fs::read(&path).expect("still there"), b"old");
        assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 1);
        atomically(&path, |writer| writer.write_all(b"new")).expect("written");
        assert_eq!(fs::read(&path).expect("there"), b"new");
    }

    #[test]
    fn a_folder_that_is_not_there_is_an_error() {
        assert!(atomically(Path::new("no/such/folder/plan.json"), |_| Ok(())).is_err());
    }
}
