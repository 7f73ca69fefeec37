//! JSON text: what cannot hold a secret stays as it is written, and only the rest is read as data.

use super::skim::{Part, skim};
use super::tree::each_text;
use super::{Walk, echoes, echoes_replaced, search};
use crate::redact::scan::Scanner;
use serde_json::Value;
use std::collections::BTreeSet;

/// Redacted JSON text, as [`super::redact`] redacts the data that it stands for. Nothing if the text is to be read as data
/// as a whole: it is not JSON, or too deep, or does not come to rest.
pub(in crate::redact) fn redact_text(scanner: Scanner<'_>, text: &str) -> Option<String> {
    if scanner.personal || !scanner.extra.is_empty() {
        return None;
    }
    let hits = scanner.rules.search.as_ref()?.hits(text.as_bytes());
    // Places at which a value stands that was found elsewhere: they are read as data, too.
    let mut named: BTreeSet<(usize, usize)> = BTreeSet::new();
    for _ in 0..4 {
        let parts = skim(scanner, text, &hits, &Vec::from_iter(named.iter().copied()))?;
        if parts.is_empty() {
            return Some(text.to_owned());
        }
        let mut data = parts.iter().map(|part| read(text, part)).collect::<Option<Vec<Value>>>()?;
        let before = named.len();
        rest(scanner, text, &parts, &mut data, &mut named)?;
        if named.len() == before {
            return write(text, &parts, &data);
        }
    }
    None
}

fn read(text: &str, part: &Part) -> Option<Value> {
    serde_json::from_str(text.get(part.start..part.end)?).ok()
}

/// Redacts the parts until nothing more is found. Adds the places between them where a value stands that was found.
fn rest(
    scanner: Scanner<'_>,
    text: &str,
    parts: &[Part],
    data: &mut [Value],
    named: &mut BTreeSet<(usize, usize)>,
) -> Option<()> {
    for _ in 0..6 {
        let mut walk = Walk::new(scanner, true);
        for (part, value) in parts.iter().zip(&mut *data) {
            walk.value(value, part.known, part.depth);
        }
        let secrets = walk.told();
        if let Some(search) = search(&secrets) {
            for value in &mut *data {
                each_text(value, &|text| echoes_replaced(&search, &secrets, text));
            }
            for (start, end) in between(text, parts) {
                let echoes = echoes(&search, &text.as_bytes()[start..end]);
                named.extend(echoes.iter().map(|echo| (start + echo.start, start + echo.end)));
            }
        }
        if !walk.changed {
            return Some(());
        }
    }
    None
}

/// The text before, between and behind the parts.
fn between<'p>(text: &str, parts: &'p [Part]) -> impl Iterator<Item = (usize, usize)> + 'p {
    let starts = std::iter::once(0).chain(parts.iter().map(|part| part.end));
    let ends = parts.iter().map(|part| part.start).chain(std::iter::once(text.len()));
    starts.zip(ends)
}

fn write(text: &str, parts: &[Part], data: &[Value]) -> Option<String> {
    let mut out = Vec::with_capacity(text.len() + text.len() / 8);
    for ((start, end), value) in between(text, parts).zip(data.iter().map(Some).chain(std::iter::once(None))) {
        out.extend_from_slice(text.as_bytes().get(start..end)?);
        if let Some(value) = value {
            serde_json::to_writer(&mut out, value).ok()?;
        }
    }
    String::from_utf8(out).ok()
}
