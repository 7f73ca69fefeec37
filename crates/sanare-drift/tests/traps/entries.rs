//! The lexicon's files as they are written, to make names of.
#![allow(clippy::disallowed_methods, reason = "tests read the data files")]

use std::sync::OnceLock;

/// An entry as written.
#[derive(Debug)]
pub struct Entry {
    /// `concept`, `qualifier`, ….
    pub kind: String,
    /// Its id.
    pub id: String,
    /// Its role, if any.
    pub role: String,
    /// Whether it is a general word.
    pub head: bool,
    /// Its parts.
    pub parts: Vec<String>,
    /// Entries near to it.
    pub near: Vec<String>,
    /// Language and term, unmarked ones only.
    pub terms: Vec<(String, String)>,
}

impl Entry {
    /// Terms in a language.
    pub fn terms_in(&self, language: &str) -> Vec<&str> {
        self.terms.iter().filter(|(one, _)| one == language).map(|(_, term)| term.as_str()).collect()
    }

    /// The kind of values that a field of this role holds (see [`super::desk::values`]).
    pub fn values(&self) -> char {
        match self.role.as_str() {
            "money" | "measure" => 'n',
            "quantity" => 'c',
            "rate" => 'r',
            "date" => 'd',
            "flag" => 'f',
            "identifier" => 'i',
            "code" => 'k',
            _ => 't',
        }
    }
}

/// The languages that the lexicon promises, and the others.
pub const LANGUAGES: [&str; 15] =
    ["en", "de", "fr", "es", "it", "pt", "nl", "pl", "cs", "hu", "ro", "sv", "tr", "ja", "zh"];

/// All entries.
pub fn entries() -> &'static [Entry] {
    static ENTRIES: OnceLock<Vec<Entry>> = OnceLock::new();
    ENTRIES.get_or_init(|| {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("data/lexicon");
        let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        files.sort();
        let mut entries = Vec::new();
        for file in files {
            let table: toml::Table = std::fs::read_to_string(&file).unwrap().parse().unwrap();
            for (kind, group) in &table {
                for (id, record) in group.as_table().unwrap() {
                    entries.push(entry(kind, id, record.as_table().unwrap()));
                }
            }
        }
        entries
    })
}

/// The entry with an id.
pub fn find(id: &str) -> &'static Entry {
    entries().iter().find(|entry| entry.id == id).unwrap_or_else(|| panic!("no entry {id}"))
}

fn entry(kind: &str, id: &str, record: &toml::Table) -> Entry {
    let list = |key: &str| -> Vec<String> {
        let items = record.get(key).and_then(toml::Value::as_array);
        items.into_iter().flatten().map(|item| item.as_str().unwrap().to_owned()).collect()
    };
    let mut terms = Vec::new();
    for language in LANGUAGES {
        let text = record.get(language).and_then(toml::Value::as_str).unwrap_or_default();
        for term in text.split(',').map(str::trim).filter(|term| !term.is_empty() && !term.starts_with('~')) {
            terms.push((language.to_owned(), term.to_owned()));
        }
    }
    Entry {
        kind: kind.to_owned(),
        id: id.to_owned(),
        role: record.get("role").and_then(toml::Value::as_str).unwrap_or_default().to_owned(),
        head: record.get("head").and_then(toml::Value::as_bool).unwrap_or(false),
        parts: list("parts"),
        near: list("near"),
        terms,
    }
}
