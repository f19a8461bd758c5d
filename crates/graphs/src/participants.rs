//! The organisations of a federation: their names, in a fixed order.

use std::{borrow::Cow, collections::HashMap, sync::Arc};

use crate::GraphError;

/// The participants of a federation, in their listed order.
///
/// A participant is its index here; the order breaks ties and orders results.
/// Cloning is cheap.
#[derive(Clone)]
pub struct Participants(Arc<Listing>);

#[derive(Default)]
struct Listing {
    names: Vec<Arc<str>>,
    index: HashMap<Arc<str>, usize>,
}

impl Participants {
    /// The participants with these names, in this order.
    ///
    /// # Errors
    /// On an empty or a doubled name, or one with white space around it.
    pub fn new<S: AsRef<str>>(names: impl IntoIterator<Item = S>) -> Result<Self, GraphError> {
        let mut builder = ParticipantsBuilder::default();
        for name in names {
            builder.add(name.as_ref())?;
        }
        Ok(builder.build())
    }

    /// `v1`, `v2`, …, the paper's names, for matrices that come without names.
    pub fn numbered(count: usize) -> Self {
        let mut builder = ParticipantsBuilder::default();
        for number in 1..=count {
            builder.intern_valid(&format!("v{number}"));
        }
        builder.build()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.names.len()
    }

    /// Are there none?
    pub fn is_empty(&self) -> bool {
        self.0.names.is_empty()
    }

    /// The name of participant `index`.
    pub fn name(&self, index: usize) -> &str {
        &self.0.names[index]
    }

    /// The names in order.
    pub fn names(&self) -> impl ExactSizeIterator<Item = &str> {
        self.0.names.iter().map(|name| &**name)
    }

    /// The known name closest to `name`, where one is close enough to be meant.
    pub fn nearest(&self, name: &str) -> Option<String> {
        nearest(name, self.names())
    }

    /// The participant called `name`.
    ///
    /// # Errors
    /// If there is none; the error carries the nearest known name.
    pub fn find(&self, name: &str) -> Result<usize, GraphError> {
        self.0.index.get(name).copied().ok_or_else(|| GraphError::UnknownParticipant {
            name: name.to_owned(),
            nearest: self.nearest(name),
        })
    }
}

impl PartialEq for Participants {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.0.names == other.0.names
    }
}

impl Eq for Participants {}

impl std::fmt::Debug for Participants {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.names()).finish()
    }
}

/// Collects participants one by one.
#[derive(Default)]
pub struct ParticipantsBuilder(Listing);

impl ParticipantsBuilder {
    /// Adds a participant and returns its index.
    ///
    /// # Errors
    /// On an empty or a doubled name, or one with white space around it.
    pub fn add(&mut self, name: &str) -> Result<usize, GraphError> {
        check_name(name)?;
        if self.0.index.contains_key(name) {
            return Err(GraphError::DoubledParticipant { name: name.to_owned() });
        }
        Ok(self.intern_valid(name))
    }

    /// The index of `name`, adding it where it is new: the order of first appearance.
    ///
    /// # Errors
    /// On an empty name or one with white space around it.
    pub fn find_or_add(&mut self, name: &str) -> Result<usize, GraphError> {
        if let Some(&index) = self.0.index.get(name) {
            return Ok(index);
        }
        check_name(name)?;
        Ok(self.intern_valid(name))
    }

    fn intern_valid(&mut self, name: &str) -> usize {
        let index = self.0.names.len();
        let name: Arc<str> = name.into();
        self.0.names.push(Arc::clone(&name));
        self.0.index.insert(name, index);
        index
    }

    /// How many there are so far.
    pub fn len(&self) -> usize {
        self.0.names.len()
    }

    /// Are there none so far?
    pub fn is_empty(&self) -> bool {
        self.0.names.is_empty()
    }

    /// The finished list.
    pub fn build(self) -> Participants {
        Participants(Arc::new(self.0))
    }
}

/// A name is any text but the empty one; white space around it is refused, since
/// "General" and " General" would be two participants and a competition would be lost.
fn check_name(name: &str) -> Result<(), GraphError> {
    if name.is_empty() {
        Err(GraphError::EmptyName)
    } else if name.trim() != name {
        Err(GraphError::NameNotTrimmed { name: name.to_owned() })
    } else {
        Ok(())
    }
}

/// The known word closest to `name`, where one is close enough to be meant.
pub fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<String> {
    // Comparing takes the product of the lengths.
    if name.len() > LONGEST_SHOWN {
        return None;
    }
    let folded = name.trim().to_lowercase();
    known
        .filter(|candidate| candidate.len() <= LONGEST_SHOWN)
        .map(|candidate| (strsim::jaro_winkler(&folded, &candidate.to_lowercase()), candidate))
        .filter(|(likeness, _)| *likeness > 0.8)
        // `max_by` keeps the last of equals; the first listed is the better guess.
        .reduce(|best, next| if next.0 > best.0 { next } else { best })
        .map(|(_, candidate)| candidate.to_owned())
}

/// A name as it is shown to people: control characters, marks that turn the writing
/// direction and spaces of no width are escaped, so that no name can move the cursor,
/// colour the terminal, break a line or pass for another; so is the backslash, so that
/// an escape cannot be feigned.
pub fn shown(name: &str) -> Cow<'_, str> {
    let hidden = |c: char| c == '\\' || is_hidden(c);
    let too_long = name.len() > LONGEST_SHOWN && name.chars().count() > LONGEST_SHOWN;
    if !too_long && !name.contains(hidden) {
        return Cow::Borrowed(name);
    }
    let mut text = String::new();
    for c in name.chars().take(LONGEST_SHOWN) {
        if hidden(c) {
            text.extend(c.escape_default());
        } else {
            text.push(c);
        }
    }
    if too_long {
        text.push('…');
    }
    Cow::Owned(text)
}

/// Is this a character that can pretend something in a text: a control character, a mark that
/// turns the writing direction, or a space of no width?
pub fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}')
        || matches!(c, '\u{2060}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
}

/// Characters of a name that are shown; a file that is no table may be one long name.
const LONGEST_SHOWN: usize = 120;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_and_keep_their_order() {
        let participants = Participants::new(["St Mary", "聖マリア", "a,\"b\"\nc"]).expect("valid");
        assert_eq!(participants.find("聖マリア"), Ok(1));
        assert_eq!(participants.names().collect::<Vec<_>>(), ["St Mary", "聖マリア", "a,\"b\"\nc"]);
    }

    #[test]
    fn an_unknown_name_comes_with_the_nearest_known_one() {
        let participants = Participants::new(["General", "City", "Generali"]).expect("valid");
        let nearest = |name| match participants.find(name) {
            Err(GraphError::UnknownParticipant { nearest, .. }) => nearest,
            other => panic!("{other:?}"),
        };
        assert_eq!(nearest("Genral").as_deref(), Some("General"));
        assert_eq!(nearest("city").as_deref(), Some("City"));
        assert_eq!(nearest("Wolfsburg"), None);
    }

    #[test]
    fn empty_doubled_and_untrimmed_names_are_refused() {
        assert_eq!(Participants::new([""]), Err(GraphError::EmptyName));
        assert!(matches!(Participants::new([" a"]), Err(GraphError::NameNotTrimmed { .. })));
        assert!(matches!(
            Participants::new(["a", "a"]),
            Err(GraphError::DoubledParticipant { .. })
        ));
    }

    #[test]
    fn nothing_that_moves_the_cursor_is_shown_raw() {
        assert_eq!(shown("a\u{1b}[31mb\nc"), "a\\u{1b}[31mb\\nc");
        assert_eq!(shown("a\u{202e}b"), "a\\u{202e}b");
        assert_eq!(shown("two\\nlines"), "two\\\\nlines", "not as \"two\nlines\" is shown");
        assert_eq!(shown("Zoë 聖"), "Zoë 聖");
        assert_eq!(shown(&"x".repeat(1000)).chars().count(), LONGEST_SHOWN + 1);
    }
}
