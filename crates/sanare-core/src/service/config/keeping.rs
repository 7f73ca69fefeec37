//! `[retention]` and `[heads]`: how long what is kept, and where the ledger's signed heads go (S117, S119).

use std::path::PathBuf;

use serde::Serialize;

use super::reader::Table;
use crate::port::Keeping;
use crate::service::invalid::Invalid;
use crate::service::moment::{DAY, MINUTE};

/// What may be asked for at most.
const LONGEST: u64 = 3_650 * DAY;
/// Bytes that a store may be told to keep to.
const SIZES: std::ops::RangeInclusive<u64> = (64 << 20)..=(16 << 40);

/// Where signed heads go.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct HeadsSettings {
    /// How often, in microseconds.
    pub every: u64,
    /// A file that is replaced by the newest.
    pub file: Option<PathBuf>,
    /// Names of the routes that they go by.
    pub routes: Vec<String>,
    /// Line of the file.
    #[serde(skip)]
    pub line: usize,
}

pub(super) fn keeping(mut table: Table<'_>) -> Keeping {
    let whole = Keeping::default();
    let mut length = |key: &'static str, usual: u64| table.duration(key, DAY, LONGEST).unwrap_or(usual);
    let observations = length("observations", whole.observations);
    let minutes = length("minutes", whole.minutes);
    let incidents = length("incidents", whole.incidents);
    let size = table.read("size", bytes).unwrap_or(whole.size);
    if observations > minutes {
        table.trouble(
            "minutes",
            "is less than what is kept of readings",
            "readings are folded into minutes before they go",
        );
    }
    table.finish();
    Keeping { observations, size, minutes, incidents }
}

fn bytes(text: &str) -> Result<u64, Invalid> {
    let units = [("MiB", 20), ("GiB", 30), ("TiB", 40)];
    let found = units.iter().find_map(|(unit, power)| {
        let number: u64 = text.strip_suffix(unit)?.trim_end().parse().ok()?;
        number.checked_shl(*power).filter(|bytes| bytes >> power == number)
    });
    let wrong = || Invalid::quoting("size", text, "is no text such as \"20GiB\", from 64MiB to 16TiB");
    found.filter(|bytes| SIZES.contains(bytes)).ok_or_else(wrong)
}

pub(super) fn heads(mut table: Table<'_>) -> Option<HeadsSettings> {
    let every = table.duration("every", MINUTE, DAY).unwrap_or(10 * MINUTE);
    let file = table.text("file", 4_096).map(PathBuf::from);
    let routes = table.texts("routes", 20).unwrap_or_default();
    let line = table.line();
    if file.is_none() && routes.is_empty() {
        table.trouble("file", "goes nowhere", "write file, routes, or both");
    }
    table.finish();
    (file.is_some() || !routes.is_empty()).then_some(HeadsSettings { every, file, routes, line })
}
