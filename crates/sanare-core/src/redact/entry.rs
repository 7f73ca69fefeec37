//! Entries: `name: NAME` with `value: VALUE` beside it, in JSON, Python, YAML, XML attributes and form data.

use super::assign::bare_end;
use super::quick::Quick;
use super::quote::{quote_at, quote_before, skip_blanks, skip_space};
use std::cell::Cell;
use std::collections::HashSet;
use std::sync::OnceLock;

/// The value beside a name.
#[derive(Debug, PartialEq)]
pub(super) enum Beside {
    /// A literal, at the place of its quote.
    Literal(usize),
    /// Without quotes.
    Bare(usize, usize),
}

/// Whether a key says that its value is a name.
pub(super) fn is_name_key(key: &str) -> bool {
    const KEYS: &[&str] = &[
        "name",
        "key",
        "id",
        "field",
        "variable",
        "header",
        "headername",
        "param",
        "parameter",
        "k",
        "label",
        "var",
        "env",
        "setting",
        "property",
        "attribute",
        "option",
        "column",
        "envvar",
        "parametername",
        "variablename",
        "keyname",
        "settingname",
        "fieldname",
        "attributename",
        "argument",
        "arg",
        "kulcs",
        "név",
        "path",
        "slug",
        "identifier",
        "title",
        "nev",
        "loc",
        "target",
        "item",
        "what",
        "type",
    ];
    let lower = key.to_lowercase().replace(['_', '-'], "");
    KEYS.contains(&lower.as_str())
        || ends_with_word(
            key,
            &["name", "key"],
            &["user", "file", "host", "display", "primary", "foreign", "first", "last", "class", "type"],
        )
}

/// Whether the last word of a key is one of these, and the first is none of those.
fn ends_with_word(key: &str, last: &[&str], first: &[&str]) -> bool {
    let words = super::name::words(key);
    words.len() > 1
        && words.last().is_some_and(|word| last.contains(&word.as_str()))
        && !first.contains(&words[0].as_str())
}

/// Keys whose value is what the name beside them stands for.
const VALUE_KEYS: &[&str] = &[
    "value",
    "val",
    "v",
    "data",
    "content",
    "default",
    "current",
    "secret",
    "string",
    "text",
    "new",
    "old",
    "newvalue",
    "oldvalue",
    "raw",
    "input",
    "values",
    "parametervalue",
    "defaultvalue",
    "repr",
    "plain",
    "plaintext",
    "érték",
    "ertek",
    "wert",
    "stringvalue",
    "secretvalue",
    "inputvalue",
    "actual",
    "got",
    "before",
    "after",
    "from",
    "to",
    "body",
    "payload",
    "result",
    "answer",
];

/// Whether a key says that its value is what the name beside it stands for.
pub(super) fn is_value_key(key: &str) -> bool {
    if !may_be_value_key(key.as_bytes()) {
        return false;
    }
    let lower = key.to_lowercase().replace(['_', '-'], "");
    VALUE_KEYS.contains(&lower.as_str()) || ends_with_word(key, &["value", "string"], &[])
}

/// Whether it is worth a closer look: a text asks this for every word around every name, so that it must cost next to
/// nothing.
fn may_be_value_key(key: &[u8]) -> bool {
    static LISTED: OnceLock<HashSet<&'static [u8], Quick>> = OnceLock::new();
    let mut lower = [0; 16];
    let mut count = 0;
    for byte in key {
        match byte {
            0x80.. => return true,
            b'_' | b'-' => {}
            _ => {
                if let Some(place) = lower.get_mut(count) {
                    *place = byte.to_ascii_lowercase();
                }
                count += 1;
            }
        }
    }
    let listed = || LISTED.get_or_init(|| VALUE_KEYS.iter().map(|key| key.as_bytes()).collect());
    if lower.get(..count).is_some_and(|lower| listed().contains(lower)) {
        return true;
    }
    let letters = key.iter().rposition(u8::is_ascii_alphabetic).map_or(0, |last| last + 1);
    let ends = |word: &[u8]| letters > word.len() && key[letters - word.len()..letters].eq_ignore_ascii_case(word);
    ends(b"value") || ends(b"string")
}

/// Where no word is a key that has a value: names that stand close together look at the same words.
#[derive(Debug, Default)]
pub(super) struct Plain(Cell<(usize, usize)>);

impl Plain {
    /// Behind the words from `at` on that are known.
    fn skip(&self, text: &[u8], at: usize) -> usize {
        let (start, end) = self.0.get();
        if at < start || at >= end || at > 0 && in_key(text[at - 1]) && in_key(text[at]) {
            return at;
        }
        end
    }

    fn add(&self, start: usize, end: usize) {
        let (from, to) = self.0.get();
        let start = if (from..=to).contains(&start) { from } else { start };
        let end = if (from..=to).contains(&end) { to } else { end };
        self.0.set((start, end));
    }
}

/// Whether a byte may stand in a key; bytes of other letters than ASCII's count.
fn in_key(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-') || byte >= 0x80
}

/// The value beside the name at `start..end`.
pub(super) fn value_beside(text: &[u8], start: usize, end: usize, plain: &Plain) -> Option<Beside> {
    let key_start = name_key(text, start)?;
    let behind = quote_at(text, end).map_or(end, |quote| quote.end);
    if let Some(content) = content(text, behind) {
        return Some(content);
    }
    let limit = text.len().min(behind + 400);
    let stop = memchr::memchr3(b'}', b'>', b'{', &text[behind..limit]).map_or(limit, |n| behind + n);
    let stop = next_item(text, behind, stop);
    if let Some(found) = value_key(text, behind, stop, plain) {
        return Some(found);
    }
    let least = key_start.saturating_sub(300);
    let before = &text[least..key_start];
    let brace = memchr::memrchr2(b'{', b'}', before).max(memchr::memrchr2(b'<', b'>', before));
    let open = least + brace? + 1;
    value_key(text, open, key_start, plain)
}

/// Where the next item of a YAML list begins, before `stop`.
fn next_item(text: &[u8], from: usize, stop: usize) -> usize {
    let mut at = from;
    while let Some(found) = memchr::memchr(b'\n', &text[at..stop]) {
        let line = at + found + 1;
        if text.get(skip_blanks(text, line)) == Some(&b'-') {
            return line.min(stop);
        }
        at = line;
    }
    stop
}

/// Where the key begins whose value is the name at `start`, if it is a name key.
fn name_key(text: &[u8], start: usize) -> Option<usize> {
    let quote = quote_before(text, start);
    let mut at = quote.map_or(start, |quote| start - 1 - quote.slashes);
    at = back_blanks(text, at);
    match text.get(at.checked_sub(1)?)? {
        b'=' | b':' => at -= 1,
        b'>' if text.get(at.checked_sub(2)?) == Some(&b'=') => at -= 2,
        _ => return None,
    }
    at = back_blanks(text, at);
    if let Some(quote) = quote_before(text, at) {
        at -= 1 + quote.slashes;
    }
    let length = text[..at]
        .iter()
        .rev()
        .take(32)
        .take_while(|c| c.is_ascii_alphanumeric() || matches!(c, b'_' | b'-') || **c >= 0x80)
        .count();
    let key = std::str::from_utf8(&text[at - length..at]).ok()?;
    (length > 0 && is_name_key(key)).then_some(at - length)
}

fn back_blanks(text: &[u8], at: usize) -> usize {
    at - text[..at].iter().rev().take(20).take_while(|c| matches!(c, b' ' | b'\t')).count()
}

/// `name="password">value<`, and the part of a form: an empty line, then the value.
fn content(text: &[u8], at: usize) -> Option<Beside> {
    if text.get(at) == Some(&b'>') {
        let start = skip_space(text, at + 1);
        let mut inner = start;
        if text.get(start) == Some(&b'<') && text.get(start + 1).is_some_and(|c| c.is_ascii_alphabetic()) {
            inner = skip_space(text, start + text[start..].iter().take(80).position(|c| *c == b'>')? + 1);
        }
        let length = text[inner..].iter().take(8192).position(|c| *c == b'<')?;
        let value = text[inner..inner + length].trim_ascii_end();
        return (!value.is_empty()).then_some(Beside::Bare(inner, inner + value.len()));
    }
    for gap in [&b"\r\n\r\n"[..], b"\n\n", b"\\r\\n\\r\\n", b"\\n\\n"] {
        if text[at..].starts_with(gap) {
            let start = at + gap.len();
            let rest = &text[start..text.len().min(start + 8192)];
            let ends = [&b"\r\n"[..], b"\n", b"\\r\\n", b"\\n", b"'", b"\""];
            let length =
                (0..rest.len()).find(|&i| ends.iter().any(|end| rest[i..].starts_with(end))).unwrap_or(rest.len());
            return (length > 0).then_some(Beside::Bare(start, start + length));
        }
    }
    None
}

/// The value of the first value key between two places.
fn value_key(text: &[u8], from: usize, to: usize, plain: &Plain) -> Option<Beside> {
    let mut at = plain.skip(text, from);
    // Behind the last whole word that is no key, or a key without a value.
    let mut known = from;
    while at < to {
        let length = text[at..to].iter().take_while(|c| in_key(**c)).count();
        if length == 0 {
            at += 1;
            continue;
        }
        let end = at + length;
        if end < to {
            known = end;
        }
        if let Ok(key) = std::str::from_utf8(&text[at..end])
            && is_value_key(key)
        {
            let behind = quote_at(text, end).map_or(end, |quote| quote.end);
            let sign = skip_blanks(text, behind);
            if matches!(text.get(sign), Some(b':' | b'=')) {
                let more = usize::from(text.get(sign + 1) == Some(&b'>'));
                let value = skip_space(text, sign + 1 + more);
                let prefix =
                    usize::from(matches!(text.get(value), Some(b'b' | b'u')) && quote_at(text, value + 1).is_some());
                if quote_at(text, value + prefix).is_some() {
                    return Some(Beside::Literal(value + prefix));
                }
                let end = bare_end(text, value);
                return (end > value && !matches!(text[value], b'{' | b'[')).then_some(Beside::Bare(value, end));
            }
        }
        at = plain.skip(text, end);
    }
    if known > from {
        plain.add(from, known);
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What earlier names saw changes no name's value, whatever stands round them.
    #[test]
    fn what_is_known_changes_no_value() {
        const PIECES: &[&str] = &[
            "key", "name=key", "value=", "val", "=", ": ", "=>", "\"", " ", "_", "-", "{", "}", ",", "x1", "\n- ", "é",
            "…",
        ];
        let mut seed = 11u64;
        let mut found = 0;
        // The first name looks up to the middle of a word.
        let cut = format!("name=key name=key{}xxval=zzz", " .".repeat(194) + " ");
        for round in 0..400 {
            let mut text = if round == 0 { cut.clone() } else { String::new() };
            for _ in 0..if round == 0 { 0 } else { 200 } {
                seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                text.push_str(PIECES[(seed >> 33) as usize % PIECES.len()]);
            }
            let (bytes, plain) = (text.as_bytes(), Plain::default());
            for (start, name) in text.match_indices("key") {
                let end = start + name.len();
                let alone = value_beside(bytes, start, end, &Plain::default());
                assert_eq!(value_beside(bytes, start, end, &plain), alone, "{start} in {text}");
                found += usize::from(alone.is_some());
            }
        }
        assert!(found > 100, "{found}");
    }

    #[test]
    fn keys_of_values() {
        for key in VALUE_KEYS.iter().chain(&["newValue", "DB_VALUE", "param-string", "my_value2", "EnvString", "ÉRTÉK"])
        {
            assert!(is_value_key(key), "{key}");
        }
        for key in ["key", "values_of", "strings", "name", "", "-", "x", "unvalue", "averyveryverylongwordindeed"] {
            assert!(!is_value_key(key), "{key}");
        }
    }
}
