//! Words inside cells: nulls, truth values, units, currencies.

/// Words that stand for "no value", folded.
pub fn null_words() -> &'static [&'static str] {
    &["", "-", "--", "n/a", "na", "nan", "null", "none", "nil", "#n/a"]
}

/// Whether a cell says "no value".
pub fn is_null_word(text: &str) -> bool {
    null_words().contains(&text.trim().to_lowercase().as_str())
}

/// Two spellings of truth.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BooleanPair {
    /// As written for true (all spellings seen, such as `Y` and `y`).
    pub truthy: Vec<String>,
    /// As written for false.
    pub falsy: Vec<String>,
}

/// The pair that a column uses, if it holds one pair of the lexicon and nothing else.
pub fn boolean_pair(_values: &[&str]) -> Option<BooleanPair> {
    None
}
