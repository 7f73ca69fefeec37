//! `[[service.NAME.drift]]`: which profiles are compared with which reference, and what of them counts (S43 to S45).

use std::collections::BTreeMap;

use serde::Serialize;

use super::reader::{SecretRef, Table};
use crate::service::invalid::Invalid;
use crate::service::name::Signal;
use crate::service::profile::COLUMNS;

/// Profiles of one signal.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DriftSettings {
    /// The profiles' signal.
    pub signal: Signal,
    /// The file of the reference, from the folder of the configuration. It is learned, never written by hand.
    pub reference: String,
    /// Where the key is by which words are hashed; beside the store, if absent.
    pub key: Option<SecretRef>,
    /// Features whose drift alone is an incident.
    pub important: Vec<String>,
    /// Whether types, ranges and words of the reference are expected of every column: its owner confirms them so.
    pub confirmed: bool,
    /// What is expected of single columns.
    pub columns: BTreeMap<String, ColumnSettings>,
    /// Line of the file.
    #[serde(skip)]
    pub line: usize,
}

/// What is expected of a column; what is left out is as the reference shows it.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ColumnSettings {
    /// Whether rows may lack it.
    pub nullable: Option<bool>,
    /// Its least number.
    pub min: Option<f64>,
    /// Its largest.
    pub max: Option<f64>,
    /// Whether words that the reference does not know are wrong.
    pub closed: Option<bool>,
    /// Line of the file.
    #[serde(skip)]
    pub line: usize,
}

pub(super) fn drift(mut table: Table<'_>) -> Option<DriftSettings> {
    let signal = table.name::<Signal>("signal");
    let reference = table.text("reference", 1_000);
    let key = table.secret("key");
    let important = table.reads("important", column_name).unwrap_or_default();
    let confirmed = table.read("schema", schema).is_some();
    let mut columns = BTreeMap::new();
    for (name, one) in table.named("column") {
        match column_name(&name) {
            Ok(name) => drop(columns.insert(name, column(one))),
            Err(invalid) => one.trouble("", invalid.reason, ""),
        }
    }
    if columns.len() > COLUMNS {
        table.trouble("column", format!("are {}; at most {COLUMNS}", columns.len()), "");
    }
    let (signal, reference) = (table.needed("signal", signal), table.needed("reference", reference));
    let line = table.line();
    table.finish();
    Some(DriftSettings { signal: signal?, reference: reference?, key, important, confirmed, columns, line })
}

fn column(mut table: Table<'_>) -> ColumnSettings {
    let (nullable, closed) = (table.flag("nullable"), table.flag("closed"));
    let (min, max) = (table.number("min"), table.number("max"));
    if let (Some(min), Some(max)) = (min, max)
        && min > max
    {
        table.trouble("min", "is above `max`", "");
    }
    if closed == Some(true) && (min.is_some() || max.is_some()) {
        table.trouble("closed", "is about words, and `min` and `max` about numbers", "");
    }
    let line = table.line();
    table.finish();
    ColumnSettings { nullable, min, max, closed, line }
}

fn schema(word: &str) -> Result<(), Invalid> {
    match word {
        "reference" => Ok(()),
        other => Err(Invalid::quoting("schema", other, "\"reference\", or leave it out")),
    }
}

fn column_name(text: &str) -> Result<String, Invalid> {
    if text.trim().is_empty() || text.chars().count() > 200 {
        return Err(Invalid::new("column", "has a name that is blank or longer than 200 characters"));
    }
    Ok(text.to_owned())
}
