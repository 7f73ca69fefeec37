//! `sanare.capture`: the calling frame, recorded because the program says so (C47).

use std::path::PathBuf;

use sanare_core::evidence::Evidence;
use sanare_core::id::Id;
use sanare_core::ledger::Entry;
use sanare_core::port::{Clock, Store, StoreFault};
use sanare_core::settings::Settings;
use serde_json::{Map, Value as Json, json};

use crate::operations::evidence::{Amounts, captured};
use crate::wire::clock::SystemClock;

/// A moment to be kept.
#[derive(Debug)]
pub struct Capture {
    /// The project's folder.
    pub project_root: PathBuf,
    /// What the program calls it.
    pub label: String,
    /// The calling function's qualified name.
    pub function: String,
    /// Its file, relative to the project.
    pub path: String,
    /// The line of the call.
    pub line: usize,
    /// The calling frame.
    pub evidence: Evidence,
}

/// Records it, and writes a file of its own where `capture.folder` says so. A folder that cannot be written costs the
/// file alone; why is in the second part of the answer.
///
/// # Errors
/// [`StoreFault`].
pub fn capture(
    store: &dyn Store,
    settings: &Settings,
    capture: &Capture,
) -> Result<(Id, Option<std::io::Error>), StoreFault> {
    let clock = SystemClock::new();
    let at = clock.now();
    let id = Id::new("cap", at, clock.chance());
    let mut about = Map::new();
    about.insert("label".to_owned(), json!(capture.label));
    about.insert("function".to_owned(), json!(capture.function));
    about.insert("path".to_owned(), json!(capture.path));
    about.insert("line".to_owned(), json!(capture.line));
    let payload = captured(&capture.evidence, Amounts::on_disk(settings), about);
    let mut shown: Json = payload.as_ref().clone();
    store.append(&Entry { incident: id.clone(), step: "captured".to_owned(), at, payload })?;
    let folder = settings.text("capture.folder");
    if folder.is_empty() {
        return Ok((id, None));
    }
    if let Some(shown) = shown.as_object_mut() {
        shown.insert("id".to_owned(), json!(id.as_str()));
        shown.insert("at".to_owned(), json!(at));
    }
    let name = [stamp(at), plain(&capture.label), id.to_string()];
    let name = name.iter().filter(|part| !part.is_empty()).map(String::as_str).collect::<Vec<_>>().join("_");
    let path = capture.project_root.join(folder).join(format!("{name}.json"));
    let text = serde_json::to_string_pretty(&shown).unwrap_or_default();
    let trouble = sanare_effects::private_file::write_new(&path, text.as_bytes()).err();
    Ok((id, trouble))
}

/// A label as part of a file's name: letters, digits, `-` and `_`, at most 40.
fn plain(label: &str) -> String {
    label.chars().filter(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_')).take(40).collect()
}

/// Milliseconds since 1970 as `20261130T154500Z`.
fn stamp(at: u64) -> String {
    let (days, seconds) = (at / 86_400_000, at / 1_000 % 86_400);
    // Civil date from a count of days, with years that begin in March.
    let shifted = days + 719_468;
    let (era, of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let march = (5 * of_year + 2) / 153;
    let (day, month) = (of_year - (153 * march + 2) / 5 + 1, if march < 10 { march + 3 } else { march - 9 });
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    format!("{year:04}{month:02}{day:02}T{:02}{:02}{:02}Z", seconds / 3_600, seconds / 60 % 60, seconds % 60)
}

#[cfg(test)]
mod tests {
    use super::{plain, stamp};

    #[test]
    fn names_of_files() {
        assert_eq!(plain("../../x y"), "xy");
        assert_eq!(plain(&"a".repeat(50)).len(), 40);
        assert_eq!(stamp(0), "19700101T000000Z");
        assert_eq!(stamp(951_782_400_000), "20000229T000000Z");
        assert_eq!(stamp(1_796_082_065_000), "20261130T234105Z");
    }
}
