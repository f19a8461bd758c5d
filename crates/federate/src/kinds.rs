//! Estimators and trainers as their registries list them: with name, help and settings.

use std::{fmt, ops::Deref, sync::Arc};

use fedcompetitors_graphs::{Choice, Entry};
use serde::{Serialize, Serializer, de::DeserializeOwned, ser::SerializeMap};
use toml::{Table, de::ValueDeserializer};

/// A key of a settings table.
#[derive(Debug, Clone, Copy)]
pub struct Key {
    field: &'static str,
    lines: &'static [&'static str],
}

impl Key {
    /// A key of a field of a settings type, with the lines of its comment.
    #[doc(hidden)]
    pub const fn new(field: &'static str, lines: &'static [&'static str]) -> Self {
        Self { field, lines }
    }

    /// The key, in kebab case.
    pub fn name(self) -> String {
        self.field.replace('_', "-")
    }

    /// What it sets, in a sentence or two.
    pub fn help(self) -> String {
        self.lines.concat().trim().to_owned()
    }
}

/// Defines a settings type: fields with defaults, whose comments are the help of their keys.
macro_rules! settings {
    (
        $(#[$about:meta])*
        pub struct $name:ident {
            $($(#[doc = $help:literal])+ pub $field:ident: $type:ty = $default:expr,)*
        }
    ) => {
        $(#[$about])*
        #[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
        #[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
        pub struct $name {
            $($(#[doc = $help])+ pub $field: $type,)*
        }

        impl Default for $name {
            fn default() -> Self {
                Self { $($field: $default,)* }
            }
        }

        impl $crate::kinds::Keys for $name {
            const KEYS: &'static [$crate::kinds::Key] =
                &[$($crate::kinds::Key::new(stringify!($field), &[$($help),+]),)*];
        }
    };
}

pub(crate) use settings;

/// A settings table that cannot be used.
#[derive(Debug, Clone, PartialEq)]
pub enum BadSettings {
    /// An unknown key, or a value of another type.
    Toml(Box<toml::de::Error>),
    /// A value out of its range.
    Range {
        /// The key.
        key: &'static str,
        /// What its value should be.
        wanted: &'static str,
    },
}

/// The models that an estimator or a trainer can use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Models {
    /// All.
    Any,
    /// Those without hidden layers.
    Linear,
    /// Those with hidden layers.
    Hidden,
}

impl Models {
    /// Whether models without hidden layers, or with them, are among these.
    pub fn include(self, have_hidden_layers: bool) -> bool {
        match self {
            Self::Any => true,
            Self::Linear => !have_hidden_layers,
            Self::Hidden => have_hidden_layers,
        }
    }
}

/// The keys of a settings type.
pub trait Keys {
    /// The keys, in the order in which lists show them.
    const KEYS: &'static [Key];
}

/// What a federation file sets for an estimator or a trainer, in a table of its own.
pub trait Settings: Keys + Serialize + DeserializeOwned {
    /// Checks values that the types allow and the algorithm does not.
    ///
    /// # Errors
    /// If a value is out of its range.
    fn check(&self) -> Result<(), BadSettings> {
        Ok(())
    }
}

/// [`BadSettings::Range`] unless a value is in its range.
pub(crate) fn in_range(
    key: &'static str,
    is_in: bool,
    wanted: &'static str,
) -> Result<(), BadSettings> {
    if is_in { Ok(()) } else { Err(BadSettings::Range { key, wanted }) }
}

/// An entry of the registry of estimators or of trainers.
pub struct Kind<T: ?Sized + 'static> {
    name: &'static str,
    help: &'static str,
    keys: &'static [Key],
    read: Read<T>,
}

/// Reads a settings table; gives it with all defaults, and what it sets.
type Read<T> = fn(ValueDeserializer<'_>) -> Result<(Table, Arc<T>), BadSettings>;

/// Makes a trait object of a settings type.
pub trait Made<S> {
    /// The settings as the trait object.
    fn made(settings: S) -> Arc<Self>;
}

impl<T: ?Sized> Kind<T> {
    /// The entry of settings of this type.
    pub const fn new<S: Settings>(name: &'static str, help: &'static str) -> Self
    where
        T: Made<S>,
    {
        Self { name, help, keys: S::KEYS, read: read::<T, S> }
    }

    /// The keys of its settings table.
    pub fn keys(&self) -> &'static [Key] {
        self.keys
    }

    /// Reads its settings table.
    ///
    /// # Errors
    /// If a key is unknown, or a value of another type or out of its range.
    pub fn read(&'static self, table: ValueDeserializer<'_>) -> Result<Configured<T>, BadSettings> {
        let (settings, made) = (self.read)(table)?;
        Ok(Configured { kind: Choice(self), settings, made })
    }

    /// With the default of every setting.
    ///
    /// # Panics
    /// Never: a test reads the empty table of every entry.
    pub fn with_defaults(&'static self) -> Configured<T> {
        let empty = ValueDeserializer::parse("{}").expect("an empty table");
        self.read(empty).expect("every setting has a default")
    }
}

fn read<T: Made<S> + ?Sized, S: Settings>(
    table: ValueDeserializer<'_>,
) -> Result<(Table, Arc<T>), BadSettings> {
    let settings = S::deserialize(table).map_err(|error| BadSettings::Toml(Box::new(error)))?;
    settings.check()?;
    let table = Table::try_from(&settings).expect("settings are plain values");
    Ok((table, T::made(settings)))
}

impl<T: ?Sized> Entry for Kind<T> {
    fn name(&self) -> &'static str {
        self.name
    }

    fn help(&self) -> &'static str {
        self.help
    }
}

/// An estimator or a trainer with its settings.
pub struct Configured<T: ?Sized + 'static> {
    kind: Choice<Kind<T>>,
    settings: Table,
    made: Arc<T>,
}

impl<T: ?Sized> Configured<T> {
    /// Its entry in the registry.
    pub fn kind(&self) -> Choice<Kind<T>> {
        self.kind
    }

    /// The value of a setting; none where it has no value by default and none was given.
    pub fn setting(&self, key: &str) -> Option<&toml::Value> {
        self.settings.get(key)
    }
}

impl<T: ?Sized> Configured<T> {
    /// The same with another value of a setting.
    ///
    /// # Errors
    /// If the value is of another type or out of its range.
    pub fn with(&self, key: &str, value: toml::Value) -> Result<Self, BadSettings> {
        let mut settings = self.settings.clone();
        settings.insert(key.to_owned(), value);
        let text = toml::Value::Table(settings).to_string();
        let toml = |error: toml::de::Error| BadSettings::Toml(Box::new(error));
        self.kind.0.read(ValueDeserializer::parse(&text).map_err(toml)?)
    }
}

impl<T: ?Sized> Deref for Configured<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.made
    }
}

impl<T: ?Sized> Clone for Configured<T> {
    fn clone(&self) -> Self {
        Self { kind: self.kind, settings: self.settings.clone(), made: Arc::clone(&self.made) }
    }
}

impl<T: ?Sized> PartialEq for Configured<T> {
    fn eq(&self, other: &Self) -> bool {
        self.kind == other.kind && self.settings == other.settings
    }
}

impl<T: ?Sized> fmt::Debug for Configured<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} {:?}", self.kind, self.settings)
    }
}

/// The settings table, in the order of the keys.
impl<T: ?Sized> Serialize for Configured<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for key in self.kind.keys {
            if let Some(value) = self.settings.get(&key.name()) {
                map.serialize_entry(&key.name(), value)?;
            }
        }
        map.end()
    }
}

#[cfg(test)]
mod tests {
    use fedcompetitors_graphs::Registry;

    use super::*;
    use crate::{estimate::EstimatorKind, train::TrainerKind};

    /// Every entry has defaults, and a table with all of them is read again.
    #[test]
    fn every_entry_has_defaults() {
        fn check<T: ?Sized>(kinds: &[&'static Kind<T>]) {
            for kind in kinds {
                let configured = kind.with_defaults();
                let text = toml::to_string(&configured).expect("a table");
                let text = format!("{{ {} }}", text.trim().replace('\n', ", "));
                let again = ValueDeserializer::parse(&text).expect("a table");
                assert!(kind.read(again).as_ref() == Ok(&configured), "{}: {text}", kind.name());
                assert!(kind.keys.iter().all(|key| key.help().ends_with('.')), "{}", kind.name());
            }
        }
        check(TrainerKind::entries());
        check(EstimatorKind::entries());
    }
}
