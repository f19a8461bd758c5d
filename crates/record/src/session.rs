//! The sessions of a run.

use std::{fmt, str::FromStr};

use crate::UnknownName;

/// A pass through the whole pipeline of estimate, plan and training.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Session {
    /// All rows train or choose, and none is tested. Its plan and its models are those of the run.
    Final,
    /// Cross-validation: the rows of a fold test what was trained on the others. Repeats and folds are
    /// counted from 1.
    Fold {
        /// Which time the rows were dealt out.
        repeat: u32,
        /// The fold that is tested.
        fold: u32,
    },
}

impl fmt::Display for Session {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Final => formatter.write_str("final"),
            Self::Fold { repeat, fold } => write!(formatter, "repeat {repeat} fold {fold}"),
        }
    }
}

impl FromStr for Session {
    type Err = UnknownName;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let fold = || {
            let (repeat, fold) = text.strip_prefix("repeat ")?.split_once(" fold ")?;
            Some(Self::Fold { repeat: repeat.parse().ok()?, fold: fold.parse().ok()? })
        };
        let found = if text == "final" { Some(Self::Final) } else { fold() };
        // Only the one way to write it.
        let found = found.filter(|session| session.to_string() == text);
        found.ok_or_else(|| UnknownName(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_is_read_as_it_is_written() {
        for session in [Session::Final, Session::Fold { repeat: 12, fold: 3 }] {
            assert_eq!(session.to_string().parse(), Ok(session));
        }
        for text in
            ["", "Final", "repeat 1", "repeat 01 fold 1", "repeat 1 fold 2 ", "repeat +1 fold 2"]
        {
            assert_eq!(text.parse::<Session>(), Err(UnknownName(text.into())), "{text}");
        }
    }
}
