//! How the dates and times of a column are written, decided by elimination over all its values.

use crate::profile::Profile;

/// The one way that all values of a column are written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decided {
    /// `strptime` formats; together they read every value, each value has one format only.
    pub formats: Vec<String>,
    /// What settled it, one line.
    pub because: String,
}

/// Why the format is not decided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Undecided {
    /// There is no value to judge by.
    NoValues,
    /// These values are dates in no known format (positions in the list).
    NotDates(Vec<usize>),
    /// Day first and month first both read every value: the two formats.
    DayOrMonth(String, String),
    /// Two-digit years and nothing that says which century.
    Century,
    /// Seconds, milliseconds or microseconds since 1970: which (`s`, `ms`, `us`, `ns`).
    Epoch(String),
    /// Days since 1899-12-30, as a spreadsheet counts.
    ExcelSerial,
    /// Some values have a zone or offset and the old format had none, or the reverse.
    Zone(String),
    /// No single format reads all values.
    Mixed(String),
}

/// Decides the format of a column. Empty values and null words are to be left out by the caller.
///
/// # Errors
/// When no single reading survives.
pub fn decide(values: &[&str], _old_format: Option<&str>, _remembered: Option<&Profile>) -> Result<Decided, Undecided> {
    if values.is_empty() {
        return Err(Undecided::NoValues);
    }
    Err(Undecided::NotDates(Vec::new()))
}
