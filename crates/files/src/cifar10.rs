//! CIFAR-10 in its official binary form: five files of training images and one of test
//! images, each of 10,000 records of a label and the 3,072 bytes of an image.

use std::{fs, io, path::Path};

use fedcompetitors_learn::Images;

use crate::{FileError, Problem};

/// How many classes there are.
pub const CIFAR10_CLASSES: u8 = 10;

const SIDE: usize = 32;
const CHANNELS: usize = 3;
const IMAGE: usize = CHANNELS * SIDE * SIDE;
const RECORD: usize = 1 + IMAGE;
const RECORDS: usize = 10_000;

const TRAINING: [&str; 5] = [
    "data_batch_1.bin",
    "data_batch_2.bin",
    "data_batch_3.bin",
    "data_batch_4.bin",
    "data_batch_5.bin",
];
const TEST: &str = "test_batch.bin";

/// Why a file is not one of CIFAR-10's.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum Cifar10Problem {
    /// One of the files is not there.
    #[error("this file of CIFAR-10 is missing")]
    NotThere,
    /// The file is not as long as it should be.
    #[error("{found} bytes instead of {expected}")]
    Size {
        /// How long it is.
        found: usize,
        /// How long it should be.
        expected: usize,
    },
    /// A label that there is not.
    #[error("record {record} has the label {label}, and labels go from 0 to 9")]
    Label {
        /// The record, counted from 1.
        record: usize,
        /// What it says.
        label: u8,
    },
    /// Not as many images of a class as there are in CIFAR-10.
    #[error(
        "{found} images with the label {label} instead of {expected}, in all files of its kind"
    )]
    Count {
        /// The class.
        label: usize,
        /// How many there are.
        found: usize,
        /// How many there should be.
        expected: usize,
    },
}

impl Cifar10Problem {
    /// What the user can do about it.
    pub fn hint(&self) -> String {
        match self {
            Self::NotThere => {
                "give the folder with data_batch_1.bin to data_batch_5.bin and test_batch.bin; `fedcompetitors data fetch cifar10 --to DIR` fetches them"
            }
            Self::Size { .. } | Self::Label { .. } => {
                "the file is damaged or has another format (the \"binary version\" is needed): fetch it again with `fedcompetitors data fetch cifar10`"
            }
            Self::Count { .. } => {
                "one file may be there twice under two names: fetch them again with `fedcompetitors data fetch cifar10`"
            }
        }
        .into()
    }
}

/// Reads the training images and the test images from a folder.
///
/// # Errors
/// If a file is missing, or is not what CIFAR-10 has there.
pub fn read_cifar10(folder: &Path) -> Result<(Images, Images), FileError> {
    let training: Vec<_> = TRAINING.iter().map(|name| folder.join(name)).collect();
    Ok((read(&training, RECORDS)?, read(&[folder.join(TEST)], RECORDS)?))
}

/// All images of some files of so many records each, which together have as many of each class.
fn read(files: &[impl AsRef<Path>], records: usize) -> Result<Images, FileError> {
    let (mut pixels, mut labels) = (Vec::with_capacity(files.len() * records * IMAGE), Vec::new());
    for path in files.iter().map(AsRef::as_ref) {
        let bytes = fs::read(path).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => FileError::new(path, Cifar10Problem::NotThere),
            _ => FileError::new(path, Problem::Unreadable(error)),
        })?;
        let (found, expected) = (bytes.len(), records * RECORD);
        if found != expected {
            return Err(FileError::new(path, Cifar10Problem::Size { found, expected }));
        }
        for (record, bytes) in (1..).zip(bytes.chunks_exact(RECORD)) {
            let label = bytes[0];
            if label >= CIFAR10_CLASSES {
                return Err(FileError::new(path, Cifar10Problem::Label { record, label }));
            }
            labels.push(label);
            pixels.extend_from_slice(&bytes[1..]);
        }
    }
    let first = files.first().map_or(Path::new(""), AsRef::as_ref);
    let expected = labels.len() / usize::from(CIFAR10_CLASSES);
    for label in 0..CIFAR10_CLASSES {
        let found = labels.iter().filter(|&&other| other == label).count();
        if found != expected {
            let label = label.into();
            return Err(FileError::new(first, Cifar10Problem::Count { label, found, expected }));
        }
    }
    Images::new(SIDE, CHANNELS, pixels, labels)
        .map_err(|_| FileError::new(first, Cifar10Problem::Size { found: 0, expected: RECORD }))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file of twenty records, two of each class.
    fn small() -> Vec<u8> {
        (0..20)
            .flat_map(|record: u8| {
                let mut bytes = vec![record; RECORD];
                bytes[0] = record % 10;
                bytes
            })
            .collect()
    }

    fn problem(files: &[&[u8]]) -> String {
        let folder = tempfile::tempdir().expect("a folder");
        let paths: Vec<_> =
            (0..files.len()).map(|at| folder.path().join(format!("{at}.bin"))).collect();
        for (path, bytes) in paths.iter().zip(files) {
            fs::write(path, bytes).expect("written");
        }
        let error = read(&paths, 20).expect_err("damaged");
        assert!(!error.hint().is_empty());
        error.problem.to_string()
    }

    #[test]
    fn good_files_are_read_and_others_refused_by_name() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("small.bin");
        fs::write(&path, small()).expect("written");
        let images = read(&[&path, &path], 20).expect("good");
        assert_eq!(images.labels().len(), 40);
        assert_eq!(images.labels()[..12], [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 1]);

        let whole = small();
        assert_eq!(problem(&[&whole, &whole[1..]]), "61459 bytes instead of 61460");
        assert_eq!(problem(&[&[]]), "0 bytes instead of 61460");
        let mut wrong = small();
        wrong[3 * RECORD] = 10;
        assert_eq!(problem(&[&wrong]), "record 4 has the label 10, and labels go from 0 to 9");
        wrong[3 * RECORD] = 2;
        assert_eq!(
            problem(&[&wrong]),
            "3 images with the label 2 instead of 2, in all files of its kind"
        );
        let error = read_cifar10(folder.path()).expect_err("nothing is there");
        assert!(error.to_string().contains("data_batch_1.bin: this file of CIFAR-10 is missing"));
        assert!(error.hint().contains("fedcompetitors data fetch cifar10"));
    }
}
