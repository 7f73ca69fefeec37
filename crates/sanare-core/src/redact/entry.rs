//! Entries: `name: NAME` with `value: VALUE` beside it, in JSON, Python, YAML, XML attributes and form data.

use super::assign::bare_end;
use super::quote::{quote_at, quote_before, skip_blanks, skip_space};

/// The value beside a name.
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

/// Whether a key says that its value is what the name beside it stands for.
pub(super) fn is_value_key(key: &str) -> bool {
    const KEYS: &[&str] = &[
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
    let lower = key.to_lowercase().replace(['_', '-'], "");
    KEYS.contains(&lower.as_str()) || ends_with_word(key, &["value", "string"], &[])
}

/// The value beside the name at `start..end`.
pub(super) fn value_beside(text: &[u8], start: usize, end: usize) -> Option<Beside> {
    let key_start = name_key(text, start)?;
    let behind = quote_at(text, end).map_or(end, |quote| quote.end);
    if let Some(content) = content(text, behind) {
        return Some(content);
    }
    let limit = text.len().min(behind + 400);
    let stop = text[behind..limit].iter().position(|c| matches!(c, b'}' | b'>' | b'{')).map_or(limit, |n| behind + n);
    let stop = next_item(text, behind, stop);
    if let Some(found) = value_key(text, behind, stop) {
        return Some(found);
    }
    let least = key_start.saturating_sub(300);
    let open =
        text[least..key_start].iter().rposition(|c| matches!(c, b'{' | b'<' | b'}' | b'>')).map(|n| least + n + 1)?;
    value_key(text, open, key_start)
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
fn value_key(text: &[u8], from: usize, to: usize) -> Option<Beside> {
    let mut at = from;
    while at < to {
        let length = text[at..to]
            .iter()
            .take_while(|c| c.is_ascii_alphanumeric() || matches!(c, b'_' | b'-') || **c >= 0x80)
            .count();
        if length == 0 {
            at += 1;
            continue;
        }
        let end = at + length;
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
        at = end;
    }
    None
}
