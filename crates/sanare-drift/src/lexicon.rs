//! What business words mean, in many languages, as data (C67).
//!
//! The data are the TOML files of `data/lexicon`; their form is described in `lexicon/file.rs`. A name is read into a
//! [`Meaning`]: which concepts it names, with which qualifiers, and what is left that no entry explains.

mod file;
mod index;
mod lines;
mod reading;

use std::collections::HashMap;
use std::sync::OnceLock;

use index::Index;
pub use reading::{Meaning, Reading};

/// The number of an entry in its lexicon.
pub type EntryId = u16;

/// The concepts, qualifiers and opposites known.
#[derive(Clone, Debug, Default)]
pub struct Lexicon {
    entries: Vec<Entry>,
    ids: HashMap<String, EntryId>,
    terms: Index,
    /// Words in the longest term.
    longest: usize,
}

/// An owner's lexicon file that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unreadable {
    /// What is wrong, one line.
    pub message: String,
}

/// What kind of thing a concept says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Tells one thing from another (`order_id`).
    Identifier,
    /// What people call it.
    Name,
    /// A short code or class out of a list.
    Code,
    /// How many.
    Quantity,
    /// How much money.
    Money,
    /// A share, ratio or rate.
    Rate,
    /// A date or time.
    Date,
    /// Yes or no.
    Flag,
    /// Where.
    Place,
    /// How large, in some unit.
    Measure,
    /// Free text.
    Text,
}

/// What an entry does in a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Says what the field is.
    Concept,
    /// Says which one of several (V1).
    Qualifier,
    /// Turns it round (V2).
    Negation,
    /// Says only that this is what was recorded (`observation`, `record`); dropped in a closed record only (I8).
    Context,
    /// Says that the field is a truth value (`is`, `has`).
    Marker,
}

/// One concept or qualifier.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Its id, such as `amount`.
    pub id: String,
    /// What it does in a name.
    pub kind: Kind,
    /// What it says, if it can stand alone.
    pub role: Option<Role>,
    /// A general word that may stand before or after what it tells of (`date` of `order date`).
    pub head: bool,
    /// A word that relates what stands before it to what stands after (`per`, `to`): order is part of the sense.
    pub relation: bool,
    /// For a word made of several meanings: those, in English order; else itself.
    pub parts: Vec<EntryId>,
    /// Entries near in meaning (I8).
    pub near: Vec<EntryId>,
    /// Entries that exclude it.
    pub opposites: Vec<EntryId>,
    /// Names that mean exactly this.
    pub examples: Vec<String>,
    /// Names that look like it and mean something else.
    pub counterexamples: Vec<String>,
}

/// One meaning of a term.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sense {
    /// The entry.
    pub entry: EntryId,
    /// The languages in which the term means this, one bit each; all bits for abbreviations.
    pub languages: u32,
    /// Whether the term means something else as well and counts only when settled from outside.
    pub marked: bool,
    /// Whether an owner's file says so.
    pub owner: bool,
}

/// The languages of the lexicon, in the order of their bits.
pub const LANGUAGES: [&str; 15] =
    ["en", "de", "fr", "es", "it", "pt", "nl", "pl", "cs", "hu", "ro", "sv", "tr", "ja", "zh"];

/// Every language, for abbreviations.
pub const ANY_LANGUAGE: u32 = (1 << LANGUAGES.len()) - 1;

/// Languages that join words into one.
const COMPOUNDING: u32 = 1 << 1 | 1 << 6 | 1 << 9 | 1 << 11;

const STANDARD: &[(&str, &str)] = &[
    ("qualifiers", include_str!("../data/lexicon/qualifiers.toml")),
    ("general", include_str!("../data/lexicon/general.toml")),
    ("time", include_str!("../data/lexicon/time.toml")),
    ("money", include_str!("../data/lexicon/money.toml")),
    ("people", include_str!("../data/lexicon/people.toml")),
    ("place", include_str!("../data/lexicon/place.toml")),
    ("trade", include_str!("../data/lexicon/trade.toml")),
    ("transport", include_str!("../data/lexicon/transport.toml")),
    ("health", include_str!("../data/lexicon/health.toml")),
    ("nature", include_str!("../data/lexicon/nature.toml")),
    ("technology", include_str!("../data/lexicon/technology.toml")),
];

impl Lexicon {
    /// The lexicon that comes with the program.
    pub fn standard() -> &'static Self {
        static LEXICON: OnceLock<Lexicon> = OnceLock::new();
        // A test reads every file: what cannot be read here was never built.
        LEXICON.get_or_init(|| file::read(STANDARD, &[]).unwrap_or_default())
    }

    /// The standard lexicon and the owner's files on top of it.
    ///
    /// # Errors
    /// When a file is not of the lexicon's form.
    pub fn with_owner(texts: &[&str]) -> Result<Self, Unreadable> {
        file::read(STANDARD, texts)
    }

    /// The entry of that number.
    pub fn entry(&self, id: EntryId) -> &Entry {
        &self.entries[usize::from(id)]
    }

    /// The number of the entry with that id.
    pub fn find(&self, id: &str) -> Option<EntryId> {
        self.ids.get(id).copied()
    }

    /// All entries.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// All terms in their joined form and what they mean, sorted.
    pub fn terms(&self) -> Vec<(&str, &[Sense])> {
        let mut terms: Vec<(&str, &[Sense])> = self.terms.iter().collect();
        terms.sort_unstable_by_key(|(key, _)| *key);
        terms
    }

    /// What a term in joined, folded form means.
    pub fn senses(&self, key: &str) -> &[Sense] {
        self.terms.get(key)
    }

    /// Whether two entries exclude one another.
    pub fn are_opposite(&self, one: EntryId, other: EntryId) -> bool {
        self.entry(one).opposites.contains(&other) || self.entry(other).opposites.contains(&one)
    }

    /// Whether two entries are near in meaning (I8).
    pub fn are_near(&self, one: EntryId, other: EntryId) -> bool {
        self.entry(one).near.contains(&other) || self.entry(other).near.contains(&one)
    }
}

#[cfg(test)]
mod tests;
