//! What business words mean, in many languages, as data (C67).

use std::sync::OnceLock;

/// The concepts, qualifiers and opposites known.
#[derive(Debug, Default)]
pub struct Lexicon {}

/// An owner's lexicon file that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unreadable {
    /// What is wrong, one line.
    pub message: String,
}

impl Lexicon {
    /// The lexicon that comes with the program.
    pub fn standard() -> &'static Self {
        static STANDARD: OnceLock<Lexicon> = OnceLock::new();
        STANDARD.get_or_init(Self::default)
    }

    /// The standard lexicon and the owner's files on top of it.
    ///
    /// # Errors
    /// When a file is not of the lexicon's form.
    pub fn with_owner(_texts: &[&str]) -> Result<Self, Unreadable> {
        Ok(Self::default())
    }
}
