//! The tables of estimators and trainers: `[benefit.mixture]`, `[training.mixing]`.
//!
//! A table belongs to an entry of a registry, which reads it; what is left of a section is read as the
//! fields of its own type.

use fedcompetitors_federate::kinds::{BadSettings, Configured, Kind};
use fedcompetitors_graphs::{Choice, Entry, Registry, UnknownEntry};
use serde::{Serializer, ser::SerializeMap};
use toml::{
    Spanned,
    de::{DeTable, DeValue, ValueDeserializer},
};

/// A table that cannot be used: of which entry, and why.
pub type Unusable = (&'static str, BadSettings);

/// A table of an entry.
type Taken<'a, T> = (Choice<Kind<T>>, Spanned<DeValue<'a>>);

/// Takes the tables of a registry's entries out of a section.
///
/// # Errors
/// If another table is in the section: of which name, and where.
pub fn take<'a, T: ?Sized>(
    file: &mut DeTable<'a>,
    section: &str,
) -> Result<Vec<Taken<'a, T>>, (UnknownEntry, usize)>
where
    Kind<T>: Registry,
{
    let Some(DeValue::Table(section)) = file.get_mut(section).map(Spanned::get_mut) else {
        return Ok(Vec::new());
    };
    let taken = Choice::<Kind<T>>::all().map(|kind| Some((kind, section.remove(kind.name())?)));
    let taken = taken.flatten().collect();
    let other = section.iter().find(|(_, value)| matches!(value.get_ref(), DeValue::Table(_)));
    match other.map(|(name, _)| (Choice::<Kind<T>>::named(name.get_ref()), name.span().start)) {
        Some((Err(unknown), start)) => Err((unknown, start)),
        _ => Ok(taken),
    }
}

/// The entries whose tables a file has, and those in use with their defaults, in the registry's order.
///
/// # Errors
/// If a table cannot be used: of which entry, and why.
pub fn configured<T: ?Sized>(
    mut tables: Vec<Taken<'_, T>>,
    used: &[Choice<Kind<T>>],
) -> Result<Vec<Configured<T>>, Unusable>
where
    Kind<T>: Registry,
{
    let mut all = Vec::new();
    for kind in Choice::<Kind<T>>::all() {
        if let Some(at) = tables.iter().position(|(of, _)| *of == kind) {
            let table = ValueDeserializer::from(tables.swap_remove(at).1);
            all.push(kind.0.read(table).map_err(|error| (kind.0.name(), error))?);
        } else if used.contains(&kind) {
            all.push(kind.0.with_defaults());
        }
    }
    Ok(all)
}

/// The whole number that a table of an entry has for a key, if it is in the file.
pub fn number<T: ?Sized>(tables: &[Taken<'_, T>], name: &str, key: &str) -> Option<i64>
where
    Kind<T>: Registry,
{
    let (_, table) = tables.iter().find(|(kind, _)| kind.name() == name)?;
    let DeValue::Table(table) = table.get_ref() else { return None };
    let DeValue::Integer(number) = table.get(key)?.get_ref() else { return None };
    i64::from_str_radix(number.as_str(), number.radix()).ok()
}

/// Sets a number of an entry, where it is configured.
pub fn set<T: ?Sized>(
    all: &mut [Configured<T>],
    name: &str,
    (key, value): (&str, i64),
) -> Result<(), Unusable>
where
    Kind<T>: Registry,
{
    for one in all.iter_mut().filter(|one| one.kind().name() == name) {
        let kind = one.kind().0.name();
        *one = one.with(key, value.into()).map_err(|error| (kind, error))?;
    }
    Ok(())
}

/// The one of these that belongs to an entry.
///
/// # Panics
/// If there is none.
pub fn find<T: ?Sized>(all: &[Configured<T>], kind: Choice<Kind<T>>) -> &Configured<T> {
    all.iter().find(|one| one.kind() == kind).expect("settings of what is used")
}

/// Each table under the name of its entry.
pub fn tables<T: ?Sized, S: Serializer>(
    all: &[Configured<T>],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let mut map = serializer.serialize_map(Some(all.len()))?;
    for one in all {
        map.serialize_entry(one.kind().name(), one)?;
    }
    map.end()
}

/// Keys that were in another section: which section (empty for the top of a file), the key, and where it
/// is now.
pub const MOVED: &[(&str, &str, &str)] = &[
    ("", "repeats", "`repeats` in `[evaluation]`"),
    ("data", "test", "`test` in `[evaluation]`, together with `folds = 1`"),
    ("benefit", "file", "`file` in `[benefit.given]`"),
    (
        "benefit",
        "threshold",
        "`threshold` in the table of the estimator, such as `[benefit.mixture]`",
    ),
    ("training", "mix", "`mix` in `[training.mixing]`"),
    ("training", "weights", "`weights` in `[training.mixing]`"),
    ("training", "own-part", "`own-part` in `[training.mixing]`"),
    ("training", "server-rate", "`server-rate` in `[training.mixing]`"),
    ("training", "against-drift", "`against-drift` in `[training.mixing]`"),
    ("training", "checked", "`checked` in `[training.mixing]`"),
    ("training", "trial", "`trial` in `[training.hypernetworks]`"),
    ("training", "pull", "`pull` in `[training.proximal]`"),
    ("training", "hypernetwork-hidden", "`hidden` in `[training.hypernetworks]`"),
];
