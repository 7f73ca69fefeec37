//! `[[service.NAME.log]]`: patterns that are counted in log lines (S30).

use regex::{Regex, RegexBuilder};
use serde::Serialize;

use super::reader::Table;
use crate::service::invalid::Invalid;
use crate::service::name::{Component, Signal};

/// Bytes that a compiled pattern may take.
const SIZE: usize = 1 << 20;

/// One pattern.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LogSettings {
    /// The signal of its counts.
    pub signal: Signal,
    /// The component that it is about.
    pub component: Component,
    /// The pattern, a regular expression that is found anywhere in a line.
    pub pattern: String,
    /// The file that is followed, from the folder of the configuration; what the program itself gives, if absent.
    pub file: Option<String>,
    /// Line of the file.
    #[serde(skip)]
    pub line: usize,
}

impl LogSettings {
    /// The pattern, compiled: it takes time in proportion to a line, whatever stands there.
    ///
    /// # Errors
    /// [`Invalid`] for a pattern that is none, or is too large.
    pub fn regex(&self) -> Result<Regex, Invalid> {
        regex(&self.pattern)
    }
}

pub(super) fn log(mut table: Table<'_>) -> Option<LogSettings> {
    let signal = table.name::<Signal>("signal");
    let component = table.name::<Component>("component").unwrap_or_default();
    let pattern = table.read("pattern", |text| regex(text).map(|_| text.to_owned()));
    let file = table.text("file", 1_000);
    let (signal, pattern) = (table.needed("signal", signal), table.needed("pattern", pattern));
    let line = table.line();
    table.finish();
    Some(LogSettings { signal: signal?, component, pattern: pattern?, file, line })
}

fn regex(pattern: &str) -> Result<Regex, Invalid> {
    let built = RegexBuilder::new(pattern).size_limit(SIZE).build();
    let built = built.map_err(|error| {
        // The library draws the place over several lines; its last line says what is wrong.
        let told = error.to_string();
        let why = told.lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned();
        Invalid::quoting("pattern", pattern, &format!("no pattern: {why}"))
    })?;
    if built.is_match("") {
        return Err(Invalid::quoting("pattern", pattern, "it fits every line"));
    }
    Ok(built)
}
