//! Everybody's model as a file: its tensors by name, and beside them whatever is needed to
//! use it and to know where it comes from.

use std::{
    collections::{BTreeMap, HashMap},
    fs,
    path::{Path, PathBuf},
};

use fedcompetitors_files::{FileError, Problem, atomically, make_folder, sync_folder};
use safetensors::{Dtype, SafeTensors, tensor::TensorView};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::{
    Learning, Prepared, RunError,
    store::{Store, StoredModel, WrittenModel},
};
use fedcompetitors_federate::exchange::{self, hex};

/// The folder of the models in a run directory.
pub const FOLDER: &str = "models";

/// The one key of the metadata. (A file with several would have them in another order each
/// time, as the library keeps them in a hash map.)
const KEY: &str = "fedcompetitors";

/// What stands in a model's file beside its tensors.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct ModelFile {
    /// The federation.
    pub federation: String,
    /// Whose model it is.
    pub participant: String,
    /// How it was trained.
    pub method: String,
    /// With which seed.
    pub seed: u64,
    /// What its inputs are, in order.
    pub features: Vec<String>,
    /// Mean and deviation that number columns are scaled by, in the order of the columns;
    /// nothing if they are not.
    pub scales: Option<Vec<(f64, f64)>>,
    /// The number that stands for a missing one, in the order of the number columns: the
    /// participant's own mean.
    pub fills: Option<Vec<f64>>,
    /// The number columns whose logarithms, sign(x) · ln(1 + |x|), are scaled.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub logs: Vec<String>,
    /// The number columns that are normal scores of ranks: values in ascending order, each with its
    /// score. Between them scores are interpolated, beyond them they stay the same.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub ranks: BTreeMap<String, Vec<(f64, f64)>>,
    /// The limit for scaled numbers, in deviations on both sides of 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clip: Option<f64>,
    /// Mean and deviation of the target in the participant's training rows, where numbers are predicted:
    /// a prediction is the output of the model times the deviation plus the mean. Without them it is the output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<(f64, f64)>,
    /// The texts that mean each class; nothing for numbers.
    pub classes: Vec<Vec<String>>,
    /// Whose data it carries.
    pub provenance: Vec<String>,
    /// From whom it has learned, itself included, with the part of each.
    pub learned_from: Vec<(String, f32)>,
    /// The SHA-256 of its parameters, little-endian, tensor after tensor as listed.
    pub hash: String,
    /// Its tensors in the order of the parameters. An ensemble has those of its networks without their last
    /// layers, `network1.layer1.weights` and so on, and `head.weights` and `head.intercepts`.
    pub tensors: Vec<String>,
}

/// Whose model is to be written, and what it was trained with.
pub struct Described<'a> {
    pub prepared: &'a Prepared,
    pub learning: &'a Learning,
    pub participant: usize,
    pub method: &'a str,
    pub seed: u64,
}

impl Described<'_> {
    /// Writes a model; returns its file.
    pub fn write(
        &self,
        folder: &Path,
        model: &StoredModel,
        parameters: &[f32],
    ) -> Result<WrittenModel, RunError> {
        let participants = self.prepared.participants();
        let name = |who: usize| participants.name(who).to_owned();
        let learner = &self.learning.learner;
        let tensors = learner.tensors(parameters.len());
        let settings = self.prepared.settings();
        let inputs = self.learning.inputs.as_ref();
        let scales = inputs.and_then(|inputs| inputs.scales.as_ref());
        let ranks = inputs.into_iter().flat_map(|inputs| &inputs.ranks);
        let about = ModelFile {
            federation: settings.name.clone(),
            participant: name(self.participant),
            method: self.method.to_owned(),
            seed: self.seed,
            features: self.prepared.features(),
            scales: scales.map(|all| all.iter().map(|one| (one.mean, one.deviation)).collect()),
            fills: inputs.map(|inputs| inputs.own.iter().map(|one| one.mean).collect()),
            logs: inputs.map(|inputs| inputs.logs.clone()).unwrap_or_default(),
            ranks: ranks.map(|(name, ranks)| (name.clone(), ranks.knots().to_vec())).collect(),
            clip: inputs.and_then(|inputs| inputs.clip),
            target: learner.target_scale().map(|one| (one.mean, one.deviation)),
            classes: settings.classes(),
            provenance: model.provenance.iter().map(|&who| name(who)).collect(),
            learned_from: model.parts.iter().map(|&(who, part)| (name(who), part)).collect(),
            hash: model.hash.clone(),
            tensors: tensors.iter().map(|(name, _)| name.clone()).collect(),
        };
        write_model(folder, self.participant, &about, &tensors, parameters)
    }
}

/// Writes a participant's model with these tensors, by name and shape; returns its file.
pub fn write_model(
    folder: &Path,
    participant: usize,
    about: &ModelFile,
    tensors: &[(String, Vec<usize>)],
    parameters: &[f32],
) -> Result<WrittenModel, RunError> {
    let name = format!("{FOLDER}/{:03}-{}.safetensors", participant + 1, plain(&about.participant));
    let path = folder.join(&name);
    let bytes = exchange::bytes(parameters);
    let mut rest = &bytes[..];
    let mut views = Vec::with_capacity(tensors.len());
    for (tensor, shape) in tensors {
        let size = 4 * shape.iter().product::<usize>();
        let (these, more) = rest
            .split_at_checked(size)
            .ok_or_else(|| unusable(&path, &"its tensors are larger than its parameters"))?;
        rest = more;
        let view = TensorView::new(Dtype::F32, shape.clone(), these);
        views.push((tensor, view.map_err(|error| unusable(&path, &error))?));
    }
    let metadata = HashMap::from([(KEY.to_owned(), super::store::json(about))]);
    let content = safetensors::serialize(views, Some(metadata));
    let content = content.map_err(|error| unusable(&path, &error))?;
    make_folder(&folder.join(FOLDER))?;
    atomically(&path, |writer| writer.write_all(&content))?;
    Ok(WrittenModel { name, hash: hex(&Sha256::digest(&content)) })
}

/// Makes sure that written models outlive a power cut before the record speaks of them.
pub fn sync(folder: &Path) -> Result<(), RunError> {
    sync_folder(&folder.join(FOLDER))?;
    Ok(sync_folder(folder)?)
}

/// Checks that the files of all models are there, and are those that the record speaks of.
pub fn check(store: &Store, folder: &Path) -> Result<(), RunError> {
    let stored: Vec<(String, Option<String>)> = store.rows(
        "SELECT file, file_hash FROM models WHERE file IS NOT NULL ORDER BY training, participant",
        [],
        |row| Ok((row.get(0)?, row.get(1)?)),
    )?;
    for (file, hash) in stored {
        let path = folder.join(file);
        if Some(file_hash(&path)?) != hash {
            return Err(unusable(&path, &"it is not the model that the record speaks of"));
        }
    }
    Ok(())
}

/// The SHA-256 of a model's file.
pub fn file_hash(path: &Path) -> Result<String, RunError> {
    Ok(hex(&Sha256::digest(bytes_of(path)?)))
}

fn bytes_of(path: &Path) -> Result<Vec<u8>, RunError> {
    Ok(fs::read(path).map_err(|error| FileError {
        path: PathBuf::from(path),
        line: None,
        problem: Problem::Unreadable(error),
    })?)
}

/// A name as part of a file's name: what could be anything but a letter or a digit is not.
fn plain(name: &str) -> String {
    let plain: String =
        name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    plain.chars().take(60).collect::<String>().to_lowercase()
}

fn unusable(path: &Path, error: &dyn std::fmt::Display) -> RunError {
    RunError::Damaged { path: path.to_owned(), what: error.to_string() }
}

/// Reads a model's file: what it says, and its parameters.
///
/// # Errors
/// If it cannot be read, or is not as it was written.
pub fn read_model(path: &Path) -> Result<(ModelFile, Vec<f32>), RunError> {
    let bytes = bytes_of(path)?;
    let (_, header) = SafeTensors::read_metadata(&bytes).map_err(|error| unusable(path, &error))?;
    let tensors = SafeTensors::deserialize(&bytes).map_err(|error| unusable(path, &error))?;
    let about = header.metadata().as_ref().and_then(|metadata| metadata.get(KEY));
    let about: Option<ModelFile> = about.and_then(|text| super::store::from_json(text));
    let about = about.ok_or_else(|| unusable(path, &"it is not one of our models"))?;
    let mut parameters = Vec::new();
    for name in &about.tensors {
        let tensor = tensors.tensor(name).map_err(|error| unusable(path, &error))?;
        parameters.extend(exchange::numbers(tensor.data()).0);
    }
    Ok((about, parameters))
}
