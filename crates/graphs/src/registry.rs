//! Registries: what users choose by name, each kind listed in one place.
//!
//! A policy, an estimator, a trainer, a metric or a model is an [`Entry`] with a name and a line of help.
//! [`Registry`] lists all entries of a kind. The federation file, the command line, Python and the
//! documentation take their lists from there, so a new entry appears everywhere at once.

use std::{fmt, ops::Deref, str::FromStr};

use fedcompetitors_record::Rule;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::participants::{nearest, shown};

/// Something that users choose by its name.
pub trait Entry {
    /// The name in files and on the command line, in kebab case.
    fn name(&self) -> &'static str;

    /// What it is, in a sentence or two.
    fn help(&self) -> &'static str;
}

/// Gives a type its name and help: `entry!(Greedy, "greedy", "The paper's selection.");`
#[macro_export]
macro_rules! entry {
    ($type:ty, $name:literal, $help:literal) => {
        impl $crate::Entry for $type {
            fn name(&self) -> &'static str {
                $name
            }

            fn help(&self) -> &'static str {
                $help
            }
        }
    };
}

/// A kind of entries, all of them listed.
pub trait Registry: Entry + Sync + 'static {
    /// What an entry is called in messages, such as "policy".
    const KIND: &'static str;

    /// All entries, in the order in which lists show them.
    fn entries() -> &'static [&'static Self];
}

impl Entry for Rule {
    fn name(&self) -> &'static str {
        Rule::name(*self)
    }

    fn help(&self) -> &'static str {
        Rule::help(*self)
    }
}

impl Registry for Rule {
    const KIND: &'static str = "rule";

    fn entries() -> &'static [&'static Self] {
        &[&Self::Paths, &Self::Messages]
    }
}

/// An entry that was chosen.
pub struct Choice<T: ?Sized + 'static>(pub &'static T);

/// A name that no entry has.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the {kind} \"{}\" is unknown", shown(.name))]
pub struct UnknownEntry {
    /// What was looked for, such as "policy".
    pub kind: &'static str,
    /// The name as given.
    pub name: String,
    /// The known name closest to it, if any is close.
    pub nearest: Option<String>,
    /// All names, in order.
    pub known: Vec<&'static str>,
}

impl UnknownEntry {
    /// What the person who gave the name can do about it.
    pub fn hint(&self) -> String {
        match &self.nearest {
            Some(nearest) => format!("did you mean \"{nearest}\"?"),
            None => format!("one of {}", self.known.join(", ")),
        }
    }
}

impl<T: Registry + ?Sized> Choice<T> {
    /// All entries, in order.
    pub fn all() -> impl ExactSizeIterator<Item = Self> {
        T::entries().iter().copied().map(Self)
    }

    /// The entry of this name.
    ///
    /// # Errors
    /// If there is none.
    pub fn named(name: &str) -> Result<Self, UnknownEntry> {
        Self::all().find(|entry| entry.name() == name).ok_or_else(|| {
            let known: Vec<&str> = Self::all().map(|entry| entry.0.name()).collect();
            let nearest = nearest(name, known.iter().copied());
            UnknownEntry { kind: T::KIND, name: name.to_owned(), nearest, known }
        })
    }
}

impl<T: ?Sized> Clone for Choice<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: ?Sized> Copy for Choice<T> {}

impl<T: ?Sized> Deref for Choice<T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.0
    }
}

impl<T: Entry + ?Sized> PartialEq for Choice<T> {
    fn eq(&self, other: &Self) -> bool {
        self.name() == other.name()
    }
}

impl<T: Entry + ?Sized> Eq for Choice<T> {}

impl<T: Entry + ?Sized> fmt::Debug for Choice<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

impl<T: Entry + ?Sized> fmt::Display for Choice<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.name())
    }
}

impl<T: Registry + ?Sized> FromStr for Choice<T> {
    type Err = UnknownEntry;

    fn from_str(name: &str) -> Result<Self, UnknownEntry> {
        Self::named(name)
    }
}

impl<T: Entry + ?Sized> Serialize for Choice<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl<'de, T: Registry + ?Sized> Deserialize<'de> for Choice<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        Self::named(&name).map_err(|unknown| {
            // Worded as serde words an enum's unknown variant, which readers of files take apart.
            let known: Vec<String> = unknown.known.iter().map(|name| format!("`{name}`")).collect();
            let known = known.join(", ");
            de::Error::custom(format!("unknown variant `{name}`, expected one of {known}"))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Fruit(&'static str);

    impl Entry for Fruit {
        fn name(&self) -> &'static str {
            self.0
        }

        fn help(&self) -> &'static str {
            "A fruit."
        }
    }

    impl Registry for Fruit {
        const KIND: &'static str = "fruit";

        fn entries() -> &'static [&'static Self] {
            &[&Fruit("apple"), &Fruit("pear")]
        }
    }

    #[test]
    fn an_unknown_name_is_refused_with_the_nearest_or_with_all() {
        assert_eq!(Choice::<Fruit>::named("pear").expect("known").name(), "pear");
        let unknown = Choice::<Fruit>::named("aple").expect_err("unknown");
        assert_eq!(unknown.to_string(), "the fruit \"aple\" is unknown");
        assert_eq!(unknown.hint(), "did you mean \"apple\"?");
        assert_eq!(
            Choice::<Fruit>::named("nut").expect_err("unknown").hint(),
            "one of apple, pear"
        );
    }
}
