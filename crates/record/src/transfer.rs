//! What moves between participants and coordinator, and what goes wrong.

use crate::named::named;

named! {
    /// The content of a transfer.
    pub enum Content {
        /// Everything a participant knows, for a coordinator that is trusted with it.
        Data = "data",
        /// The shared parameters of a model, or a mixture of such.
        Model = "model",
        /// The change by local steps, or a mixture of such.
        Update = "update",
        /// The mean gradient of a round, or a mixture of such.
        Gradient = "gradient",
        /// What a participant's data says about the coefficients of a linear model, or a sum of such.
        Summary = "summary",
        /// The parameters of a network that was trained alone, without its last layer.
        Trunk = "trunk",
    }
}

named! {
    /// What went wrong with a participant in a round.
    pub enum IncidentKind {
        /// It did not answer.
        Missing = "missing",
        /// Its values are NaN or infinite.
        NotFinite = "not-finite",
        /// It sent another number of values than the others.
        WrongLength = "wrong-length",
        /// Its values are far larger than all before.
        TooLarge = "too-large",
        /// Its summary is of no data: the curvature has a negative eigenvalue.
        NotPositive = "not-positive",
        /// Its message cannot be read.
        Unreadable = "unreadable",
    }
}

/// One line of the ledger.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transfer {
    /// Its number in the ledger, counted from 1.
    pub entry: u64,
    /// The round, counted from 1.
    pub round: usize,
    /// The sender; none for the coordinator.
    pub from: Option<usize>,
    /// The receiver; none for the coordinator.
    pub to: Option<usize>,
    /// What was transferred.
    pub content: Content,
    /// The entries that it was computed from.
    pub made_of: Vec<u64>,
    /// The participants whose data it carries.
    pub provenance: Vec<usize>,
    /// Its size.
    pub bytes: u64,
    /// The SHA-256 of its values, little-endian, one after the other.
    pub hash: [u8; 32],
}

/// Something that went wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Incident {
    /// The round, counted from 1.
    pub round: usize,
    /// The participant.
    pub participant: usize,
    /// What went wrong.
    pub kind: IncidentKind,
}
