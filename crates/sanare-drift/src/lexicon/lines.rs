//! Reads the lexicon's own files, which keep to one line an item: the part of TOML that they use, at many times the
//! speed of a whole TOML reader. Owner's files are read by the whole one; a test compares the two.

use super::file::{GROUPS, KEYS, Record};
use super::{Kind, LANGUAGES, Role};

/// Records of a file: kind, id, record.
pub(super) fn read(text: &str) -> Result<Vec<(Kind, &str, Record<'_>)>, String> {
    let mut records: Vec<(Kind, &str, Record)> = Vec::with_capacity(96);
    for (number, line) in text.lines().enumerate() {
        let wrong = || format!("line {}: `{line}` is not understood", number + 1);
        let Some(first) = line.bytes().next() else { continue };
        match first {
            b'#' => continue,
            b'[' => {
                let inside = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).ok_or_else(wrong)?;
                let (group, id) = inside.split_once('.').ok_or_else(wrong)?;
                let (_, kind) = GROUPS.iter().find(|(name, _)| *name == group).ok_or_else(wrong)?;
                records.push((*kind, id, Record::default()));
                continue;
            }
            _ => {}
        }
        let (key, value) = line.split_once(" = ").ok_or_else(wrong)?;
        let (.., record) = records.last_mut().ok_or_else(wrong)?;
        set(record, key, value).ok_or_else(wrong)?;
    }
    Ok(records)
}

fn set<'a>(record: &mut Record<'a>, key: &str, value: &'a str) -> Option<()> {
    match key {
        "role" => record.role = Some(role(string(value)?)?),
        "head" => record.head = value == "true",
        "relation" => record.relation = value == "true",
        "parts" => record.parts = list(value)?,
        "near" => record.near = list(value)?,
        "opposites" => record.opposites = list(value)?,
        "yes" => record.yes = list(value)?,
        "no" => record.no = list(value)?,
        "abbr" => record.terms[LANGUAGES.len()] = string(value)?,
        _ => {
            let at = KEYS.iter().position(|language| *language == key)?;
            record.terms[at] = string(value)?;
        }
    }
    Some(())
}

fn string(value: &str) -> Option<&str> {
    let inside = value.strip_prefix('"')?.strip_suffix('"')?;
    (!inside.contains(['"', '\\'])).then_some(inside)
}

fn list(value: &str) -> Option<Vec<&str>> {
    let inside = value.strip_prefix('[')?.strip_suffix(']')?;
    if inside.is_empty() {
        return Some(Vec::new());
    }
    inside.split("\", \"").map(|item| Some(item.trim_matches('"'))).collect()
}

fn role(text: &str) -> Option<Role> {
    Some(match text {
        "identifier" => Role::Identifier,
        "name" => Role::Name,
        "code" => Role::Code,
        "quantity" => Role::Quantity,
        "money" => Role::Money,
        "rate" => Role::Rate,
        "date" => Role::Date,
        "flag" => Role::Flag,
        "place" => Role::Place,
        "measure" => Role::Measure,
        "text" => Role::Text,
        _ => return None,
    })
}
