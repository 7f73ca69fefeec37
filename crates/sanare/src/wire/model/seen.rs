//! The values of a failing call that a candidate must not know by heart (C81, `no_seen_literal`).
//!
//! A model has seen them. Names that the data is read by (keys, headers), single words, which may be the values of a list
//! that the code tells apart, and numbers that units are converted by are left out: a repair may need them.

use std::collections::BTreeSet;

use sanare_core::evidence::Argument;
use sanare_core::value::Value;
use serde_json::Value as Json;

/// How much of each text or file is looked at.
const BYTES: usize = 256 * 1024;
/// How many values are kept.
const VALUES: usize = 5_000;
/// Lines at the top of a table among which its header may be.
const HEADERS: usize = 10;
/// Numbers by which units are converted.
const FACTORS: &[&str] = &["100", "365", "366", "1000", "1024", "1440", "3600", "10000", "86400", "100000", "1000000"];

/// The telling values of these arguments.
pub(super) fn seen(arguments: &[Argument]) -> Vec<String> {
    let mut found = Found::default();
    for argument in arguments {
        match &argument.file {
            Some(file) => found.bytes(&file.bytes),
            None => found.value(&argument.value),
        }
    }
    let Found { names, values } = found;
    values.into_iter().filter(|text| !names.contains(&text.to_lowercase())).collect()
}

#[derive(Default)]
struct Found {
    /// What the data is read by, in lower case.
    names: BTreeSet<String>,
    values: BTreeSet<String>,
}

impl Found {
    fn name(&mut self, name: &str) {
        self.names.insert(name.trim().to_lowercase());
    }

    fn leaf(&mut self, text: &str) {
        let text = text.trim();
        let is_number = text.parse::<f64>().is_ok();
        let digits = text.chars().filter(char::is_ascii_digit).count();
        let is_telling = if is_number {
            digits >= 3 && !FACTORS.contains(&text)
        } else {
            text.chars().count() >= 4 && text.chars().any(|c| c.is_ascii_digit() || c.is_whitespace() || c == '@')
        };
        if is_telling && self.values.len() < VALUES {
            self.values.insert(text.to_owned());
        }
    }

    fn value(&mut self, value: &Value) {
        match value {
            Value::Int(number) => self.leaf(&number.to_string()),
            Value::Float(number) => self.leaf(&number.to_string()),
            Value::Text(text) => self.text(text),
            Value::Bytes(bytes) => self.bytes(bytes),
            Value::List(items) => items.iter().for_each(|item| self.value(item)),
            Value::Map(items) => {
                for (key, item) in items {
                    self.name(key);
                    self.value(item);
                }
            }
            Value::Table(table) => {
                for column in &table.columns {
                    self.name(&column.name);
                    column.cells.iter().for_each(|item| self.value(item));
                }
            }
            Value::Null | Value::Bool(_) | Value::Opaque(_) | Value::Cut(_) => {}
        }
    }

    fn bytes(&mut self, bytes: &[u8]) {
        let head = bytes.get(..bytes.len().min(BYTES)).unwrap_or_default();
        // A workbook or a picture has no values that can be read here.
        if !head.contains(&0) && !head.starts_with(b"PK") {
            self.text(&String::from_utf8_lossy(head));
        }
    }

    /// A leaf, or a whole document: JSON, lines of JSON, a table.
    fn text(&mut self, text: &str) {
        let whole = text.trim_start_matches('\u{feff}').trim();
        if whole.starts_with(['{', '['])
            && let Ok(document) = serde_json::from_str::<Json>(whole)
        {
            return self.json(&document);
        }
        if !whole.contains('\n') {
            return self.leaf(whole);
        }
        let mut seen_columns = false;
        for (number, line) in whole.lines().enumerate() {
            if let Ok(document @ Json::Object(_)) = serde_json::from_str::<Json>(line) {
                self.json(&document);
                continue;
            }
            let cells: Vec<&str> =
                line.split([',', ';', '\t', '|']).map(|cell| cell.trim().trim_matches('"')).collect();
            let is_words = cells.iter().all(|cell| !cell.starts_with(|c: char| c.is_ascii_digit() || c == '-'));
            let is_header = !seen_columns || (number < HEADERS && is_words);
            seen_columns |= cells.len() > 1;
            for cell in cells {
                if is_header { self.name(cell) } else { self.leaf(cell) }
            }
        }
    }

    fn json(&mut self, document: &Json) {
        match document {
            Json::Number(number) => self.leaf(&number.to_string()),
            Json::String(text) => self.leaf(text),
            Json::Array(items) => items.iter().for_each(|item| self.json(item)),
            Json::Object(items) => {
                for (key, item) in items {
                    self.name(key);
                    self.json(item);
                }
            }
            Json::Null | Json::Bool(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use sanare_core::evidence::{Argument, FileView};
    use sanare_core::value::Value;

    use super::seen;

    fn check(value: Value, file: Option<&str>, expected: &[&str]) {
        let file = file.map(|text| FileView { bytes: text.into(), complete: true, name: "in.csv".to_owned() });
        assert_eq!(seen(&[Argument { name: "data".to_owned(), value, file }]), expected);
    }

    #[test]
    fn values_that_tell_a_row_are_kept_and_names_are_not() {
        let table = "datum,ugyfel,osszeg\n2026-01-05,Alfa Kft,1200\n2026-01-06,Beta Zrt,800\n";
        check(
            Value::Text(table.to_owned()),
            None,
            &["1200", "2026-01-05", "2026-01-06", "800", "Alfa Kft", "Beta Zrt"],
        );
        check(Value::Text("in.csv".to_owned()), Some("a;b\n12;open\n1000;5417\n"), &["5417"]);
        check(Value::Text("{\"order id\": \"A 17\", \"state\": \"locked\"}".to_owned()), None, &["A 17"]);
        let map = Value::Map(vec![("net amount".to_owned(), Value::Float(12.75)), ("n".to_owned(), Value::Int(7))]);
        check(Value::List(vec![map]), None, &["12.75"]);
        check(Value::Bytes(b"PK\x03\x04 123456".to_vec()), None, &[]);
    }
}
