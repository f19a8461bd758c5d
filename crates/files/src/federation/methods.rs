//! Methods: a policy with a trainer, some by a short name.

use fedcompetitors_federate::train::TrainerKind;
use fedcompetitors_graphs::{Choice, UnknownEntry, nearest};
use fedcompetitors_select::Policy;

/// A method of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// A plan and a trainer along it.
    Planned(Choice<dyn Policy>, Choice<TrainerKind>),
    /// One model for the data of all participants, including competitors: an upper limit, for reference only.
    Pooled,
}

/// A method with a name of its own, beside `POLICY+TRAINER`.
#[derive(Debug)]
pub struct ShortName {
    /// The name.
    pub name: &'static str,
    /// Policy and trainer; none for the reference.
    planned: Option<(&'static str, &'static str)>,
    /// What it is.
    pub help: &'static str,
}

/// The short names, in the order of lists.
pub const SHORT_NAMES: &[ShortName] = &[
    ShortName {
        name: "local",
        planned: Some(("none", "local")),
        help: "Every participant trains alone. Always runs.",
    },
    ShortName {
        name: "local-ensemble",
        planned: Some(("none", "trunks")),
        help: "Every participant alone, with several networks and one head: what `trunks` gives without others. Always runs where `trunks` does.",
    },
    ShortName {
        name: "fedavg",
        planned: Some(("cliques", "averaging")),
        help: "FedAvg on cliques without competitors.",
    },
    ShortName {
        name: "fedprox",
        planned: Some(("cliques", "proximal")),
        help: "FedProx on cliques without competitors.",
    },
    ShortName {
        name: "scaffold",
        planned: Some(("cliques", "scaffold")),
        help: "SCAFFOLD on cliques without competitors.",
    },
    ShortName {
        name: "ce",
        planned: Some(("coalitions", "hypernetworks")),
        help: "Collaboration equilibrium: coalitions, with hypernetworks.",
    },
    ShortName {
        name: "fedegoists",
        planned: Some(("egoists", "hypernetworks")),
        help: "Coalitions in which every member helps and is helped, with hypernetworks.",
    },
    ShortName {
        name: "pooled",
        planned: None,
        help: "One model for the data of all participants, including competitors; a reference that breaks the rule.",
    },
];

impl ShortName {
    fn method(&self) -> Result<Method, UnknownEntry> {
        self.planned.map_or(Ok(Method::Pooled), |(policy, trainer)| planned(policy, trainer))
    }
}

fn planned(policy: &str, trainer: &str) -> Result<Method, UnknownEntry> {
    Ok(Method::Planned(Choice::named(policy)?, Choice::named(trainer)?))
}

impl Method {
    /// Every participant alone.
    ///
    /// # Panics
    /// Never: a test reads every short name.
    pub fn local() -> Self {
        Self::parse("local").expect("a short name")
    }

    /// Its trainer without others, where that gains by more than learning from them.
    pub fn control(self) -> Option<Self> {
        let Self::Planned(_, kind) = self else { return None };
        let has_control = kind.0.with_defaults().has_control();
        has_control
            .then(|| Choice::named("none").ok())
            .flatten()
            .map(|none| Self::Planned(none, kind))
    }

    /// The method of a short name, or of `POLICY+TRAINER`.
    ///
    /// # Errors
    /// If there is none.
    pub fn parse(text: &str) -> Result<Self, UnknownEntry> {
        if let Some(short) = SHORT_NAMES.iter().find(|short| short.name == text) {
            return short.method();
        }
        if let Some((policy, trainer)) = text.split_once('+') {
            return planned(policy, trainer);
        }
        let mut known: Vec<&str> = SHORT_NAMES.iter().map(|short| short.name).collect();
        let nearest = nearest(text, known.iter().copied());
        known.push("POLICY+TRAINER");
        Err(UnknownEntry { kind: "method", name: text.to_owned(), nearest, known })
    }

    /// The trainer of a method with a plan.
    pub fn trainer(self) -> Option<Choice<TrainerKind>> {
        match self {
            Self::Planned(_, trainer) => Some(trainer),
            Self::Pooled => None,
        }
    }

    /// Its short name, or `POLICY+TRAINER`.
    pub fn name(self) -> String {
        if let Some(short) = SHORT_NAMES.iter().find(|short| short.method() == Ok(self)) {
            return short.name.into();
        }
        match self {
            Self::Planned(policy, trainer) => format!("{policy}+{trainer}"),
            Self::Pooled => "pooled".into(),
        }
    }
}
