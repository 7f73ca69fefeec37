//! How the numbers of a column are written, decided by elimination over all its values.

use serde::{Deserialize, Serialize};

/// Everything that reading the numbers of a column needs to know.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grammar {
    /// The decimal character; `None` when no value has decimals.
    pub decimal: Option<char>,
    /// Characters that group digits and are to be removed (`,`, `.`, space, `'`, no-break spaces).
    pub grouping: Vec<char>,
    /// Texts in front of the number that are to be removed, such as `€` or `EUR `.
    pub prefixes: Vec<String>,
    /// Texts after the number that are to be removed, such as `%` or ` kg`.
    pub suffixes: Vec<String>,
    /// How negative numbers are marked.
    pub negative: Negative,
    /// Unit ids that the values themselves show (`eur`, `percent`).
    pub units: Vec<String>,
    /// Whether every value is there with its affix (a mixed column is not decided).
    pub integer_only: bool,
}

/// How negative numbers are marked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Negative {
    /// With a minus in front, as Python reads it.
    #[default]
    Leading,
    /// With a minus behind.
    Trailing,
    /// In parentheses.
    Parentheses,
}

/// Why the grammar is not decided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Undecided {
    /// There is no value to judge by.
    NoValues,
    /// These values are no numbers in any grammar (positions in the list).
    NotNumbers(Vec<usize>),
    /// Two readings fit every value, such as `1.234`: how it reads both ways.
    TwoReadings(String),
    /// No single grammar fits all values.
    Mixed(String),
    /// More than one currency or unit in one column.
    MixedUnits(Vec<String>),
    /// Leading zeros: text that identifies something.
    LeadingZeros,
}

/// Decides the grammar of a column. Empty values and null words are to be left out by the caller.
///
/// # Errors
/// When no single reading survives.
pub fn decide(values: &[&str], _remembered: Option<&Grammar>) -> Result<Grammar, Undecided> {
    if values.is_empty() {
        return Err(Undecided::NoValues);
    }
    Err(Undecided::Mixed(String::new()))
}
