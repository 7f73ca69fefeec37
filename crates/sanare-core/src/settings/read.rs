//! Reading one source of settings.

use serde_json::Value as Json;
use toml::Value as Toml;

use super::key::{KEYS, Key};
use super::{Origin, SettingsFile, Trouble};
use crate::redact::looks_like_secret;
use crate::service::config::ROOTS;

type Layer = Vec<(String, (Json, Origin))>;

/// Keys of a TOML file.
pub(super) fn file(file: &SettingsFile, troubles: &mut Vec<Trouble>) -> Layer {
    let at = |line| Origin::File { path: file.path.clone(), line };
    let table: toml::Table = match file.text.parse() {
        Ok(table) => table,
        Err(error) => {
            let line = error.span().map_or(1, |span| line_of(&file.text, span.start));
            let message = format!("not TOML: {}", error.message());
            troubles.push(Trouble { origin: at(line), key: String::new(), message, hint: String::new() });
            return Vec::new();
        }
    };
    let root = match file.in_pyproject {
        true => {
            table.get("tool").and_then(|tool| tool.get("sanare")).and_then(Toml::as_table).cloned().unwrap_or_default()
        }
        false => table,
    };
    let mut flat = Vec::new();
    flatten("", &root, &mut flat);
    let mut flat: Vec<(usize, String, Toml)> =
        flat.into_iter().map(|(path, value)| (find_line(&file.text, &path), path, value)).collect();
    flat.sort_by_key(|(line, _, _)| *line);
    let mut layer = Vec::new();
    for (line, path, value) in flat {
        let origin = at(line);
        match KEYS.iter().find(|key| key.path == path) {
            Some(key) => accept(key, &path, &value, origin, &mut layer, troubles),
            // The service half reads its own tables.
            None if is_service(&path) => {}
            None => troubles.push(unknown_path(origin, &path)),
        }
    }
    layer
}

/// Keys of variables; lists are TOML values, texts stand as they are.
pub(super) fn variables(variables: &[(String, String)], troubles: &mut Vec<Trouble>) -> Layer {
    let mut layer = Vec::new();
    for (name, text) in variables {
        // These name a file, an interpreter: they are no keys.
        if matches!(name.as_str(), "SANARE_CONFIG" | "SANARE_PYTHON") {
            continue;
        }
        let origin = Origin::Variable { name: name.clone() };
        let Some(key) = KEYS.iter().find(|key| key.variable() == *name) else {
            troubles.push(unknown(origin, name, KEYS.iter().map(Key::variable)));
            continue;
        };
        let parsed = format!("x = {text}").parse::<toml::Table>().ok().and_then(|mut table| table.remove("x"));
        let plain = Toml::String(text.clone());
        let value = match parsed {
            Some(value) if key.kind.accept(&value).is_ok() => value,
            _ => plain,
        };
        accept(key, key.path, &value, origin, &mut layer, troubles);
    }
    layer
}

/// Options of the decorator; their values were checked there, their names stand under `heal.`.
pub(super) fn decorator(options: &[(String, Json)], troubles: &mut Vec<Trouble>) -> Layer {
    let mut layer = Vec::new();
    for (name, value) in options {
        let path = format!("heal.{name}");
        let Some(key) = KEYS.iter().find(|key| key.path == path) else {
            troubles.push(unknown(Origin::Decorator, name, KEYS.iter().map(|key| key.path.to_owned())));
            continue;
        };
        let toml = match (value, key.kind) {
            (Json::Number(number), super::Kind::Duration(..)) => {
                Some(Toml::String(format!("{}ms", (number.as_f64().unwrap_or(-1.0) * 1_000.0).round())))
            }
            (other, _) => Toml::try_from(other).ok(),
        };
        match toml {
            Some(toml) => accept(key, name, &toml, Origin::Decorator, &mut layer, troubles),
            None => troubles.push(Trouble {
                origin: Origin::Decorator,
                key: name.clone(),
                message: "this value is not allowed here".to_owned(),
                hint: key.kind.wants(),
            }),
        }
    }
    layer
}

fn accept(key: &Key, shown: &str, value: &Toml, origin: Origin, layer: &mut Layer, troubles: &mut Vec<Trouble>) {
    if holds_credential(value) {
        let message = "this looks like a credential; it is not read".to_owned();
        let hint = "name a variable or a file that holds it".to_owned();
        troubles.push(Trouble { origin, key: shown.to_owned(), message, hint });
        return;
    }
    match key.kind.accept(value) {
        Ok(kept) => layer.push((key.path.to_owned(), (kept, origin))),
        Err((message, hint)) => troubles.push(Trouble { origin, key: shown.to_owned(), message, hint }),
    }
}

/// Whether a path lies in a table of the service half.
fn is_service(path: &str) -> bool {
    ROOTS.contains(&path.split('.').next().unwrap_or(path))
}

/// An unknown key of a file: perhaps a table of the service half whose name is misspelt.
fn unknown_path(origin: Origin, path: &str) -> Trouble {
    let root = path.split('.').next().unwrap_or(path);
    match ROOTS.iter().map(|known| (distance(root, known), *known)).min() {
        Some((1..=2, known)) if !KEYS.iter().any(|key| key.path.split('.').next() == Some(root)) => {
            let hint = format!("did you mean `{known}`");
            Trouble { origin, key: path.to_owned(), message: "unknown key".to_owned(), hint }
        }
        _ => unknown(origin, path, KEYS.iter().map(|key| key.path.to_owned())),
    }
}

fn unknown(origin: Origin, given: &str, known: impl Iterator<Item = String>) -> Trouble {
    // The right name in another table is nearer than any that is spelt alike.
    let last = given.rsplit('.').next().unwrap_or(given);
    let far = |name: &str| if name.rsplit('.').next() == Some(last) { 0 } else { distance(given, name) };
    let nearest = known.map(|name| (far(&name), name)).filter(|(far, _)| *far <= 2).min();
    let hint = nearest.map(|(_, name)| format!("did you mean `{name}`")).unwrap_or_default();
    Trouble { origin, key: given.to_owned(), message: "unknown key".to_owned(), hint }
}

fn flatten(prefix: &str, table: &toml::Table, out: &mut Vec<(String, Toml)>) {
    for (name, value) in table {
        let path = if prefix.is_empty() { name.clone() } else { format!("{prefix}.{name}") };
        match value {
            // A table that is a value of its own stays whole.
            Toml::Table(inner) if !is_table_key(&path) => flatten(&path, inner, out),
            other => out.push((path, other.clone())),
        }
    }
}

fn is_table_key(path: &str) -> bool {
    KEYS.iter().any(|key| key.path == path && matches!(key.kind, super::Kind::Table(_)))
}

/// Whether a text somewhere in a value looks like a credential.
fn holds_credential(value: &Toml) -> bool {
    match value {
        Toml::String(text) => looks_like_secret(text).is_some(),
        Toml::Array(items) => items.iter().any(holds_credential),
        Toml::Table(table) => table.values().any(holds_credential),
        _ => false,
    }
}

/// The line on which the last part of a path is assigned: in its table if that can be told, else the first.
fn find_line(text: &str, path: &str) -> usize {
    let (table, name) = path.rsplit_once('.').unwrap_or(("", path));
    let mut current = String::new();
    let mut first = 1;
    for (number, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.starts_with('[') {
            current =
                line.trim_matches(['[', ']']).trim_start_matches("tool.sanare").trim_start_matches('.').to_owned();
        }
        let assigned = line.split('=').next().unwrap_or_default().trim();
        if assigned == name && current == table {
            return number + 1;
        }
        if (assigned == name || assigned == path) && first == 1 {
            first = number + 1;
        }
    }
    first
}

fn line_of(text: &str, offset: usize) -> usize {
    text.get(..offset).unwrap_or(text).matches('\n').count() + 1
}

/// Edit distance after lower-casing and dropping underscores (Levenshtein).
pub(crate) fn distance(a: &str, b: &str) -> usize {
    let fold = |text: &str| text.to_lowercase().chars().filter(|symbol| *symbol != '_').collect::<Vec<char>>();
    let (a, b) = (fold(a), fold(b));
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, left) in a.iter().enumerate() {
        let mut diagonal = i;
        let mut last = i + 1;
        let mut next = vec![last];
        for (right, above) in b.iter().zip(row.iter().skip(1)) {
            let cost = diagonal + usize::from(left != right);
            last = cost.min(last + 1).min(above + 1);
            diagonal = *above;
            next.push(last);
        }
        row = next;
    }
    row.last().copied().unwrap_or(0)
}
