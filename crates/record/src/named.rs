//! Enums whose values have a name in files and in the store.

use std::fmt;

/// A text that names no value of its kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownName(pub String);

impl fmt::Display for UnknownName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "\"{}\" is unknown", self.0)
    }
}

impl std::error::Error for UnknownName {}

/// An enum with the name of each value, which [`FromStr`](std::str::FromStr) reads.
macro_rules! named {
    ($(#[$about:meta])* pub enum $kind:ident { $($(#[$what:meta])* $value:ident = $name:literal,)+ }) => {
        $(#[$about])*
        #[derive(
            Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize,
        )]
        pub enum $kind {
            $($(#[$what])* #[serde(rename = $name)] $value,)+
        }

        impl $kind {
            /// All values, in order.
            pub const ALL: &'static [Self] = &[$(Self::$value),+];

            /// The name in files.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$value => $name,)+
                }
            }
        }

        impl std::str::FromStr for $kind {
            type Err = $crate::UnknownName;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                let found = Self::ALL.iter().copied().find(|one| one.name() == text);
                found.ok_or_else(|| $crate::UnknownName(text.to_owned()))
            }
        }

        impl std::fmt::Display for $kind {
            fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.pad(self.name())
            }
        }
    };
}

pub(crate) use named;
