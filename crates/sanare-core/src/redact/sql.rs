//! SQL: a column that is the name of a secret, and its value by position, in the statement or among its parameters.

use super::assign::Spot;
use super::name::{Name, lexicon};
use super::quote::{close, quote_at, skip_space};
use super::worth::{Place, is_secret};

/// How far the values may be from the column.
const FAR: usize = 4000;

/// The values of the column at `spot`, which found no value beside it.
pub(super) fn values(text: &[u8], spot: &Spot) -> Vec<(usize, usize)> {
    let Some((index, close)) = column(text, spot) else { return assigned(text, spot) };
    let mut at = skip_space(text, close + 1);
    if !text[at..].get(..6).is_some_and(|word| word.eq_ignore_ascii_case(b"values")) {
        return Vec::new();
    }
    at += 6;
    let mut found = Vec::new();
    loop {
        at = skip_space(text, at);
        if text.get(at) != Some(&b'(') || at > close + FAR {
            break;
        }
        let (items, end) = items(text, at);
        if let Some(&(start, stop)) = items.get(index) {
            take(text, spot, start, stop, &mut found);
            if items.iter().all(|(start, stop)| is_parameter(&text[*start..*stop])) {
                parameters(text, spot, end, index, &mut found);
                return found;
            }
        }
        at = skip_space(text, end);
        if text.get(at) != Some(&b',') {
            break;
        }
        at += 1;
    }
    found
}

/// The position of the column in a list in brackets, and where the list ends.
fn column(text: &[u8], spot: &Spot) -> Option<(usize, usize)> {
    let plain = |c: u8| {
        c.is_ascii_alphanumeric()
            || matches!(c, b'_' | b',' | b' ' | b'"' | b'`' | b'.' | b'\n' | b'[' | b']' | b'\\')
            || c >= 0x80
    };
    let mut open = spot.start;
    while open > 0 && spot.start - open < 1000 && plain(text[open - 1]) {
        open -= 1;
    }
    if open == 0 || text[open - 1] != b'(' {
        return None;
    }
    let length = text[spot.end..].iter().take(1000).position(|c| !plain(*c))?;
    let close = spot.end + length;
    if text[close] != b')' {
        return None;
    }
    Some((text[open..spot.start].iter().filter(|c| **c == b',').count(), close))
}

/// `SET password = ?`: the value is the parameter with the number of the mark.
fn assigned(text: &[u8], spot: &Spot) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    let sign = skip_space(text, spot.end);
    if text.get(sign) != Some(&b'=') {
        return found;
    }
    let mark = skip_space(text, sign + 1);
    let length = text[mark..]
        .iter()
        .take(12)
        .take_while(|c| !c.is_ascii_whitespace() && !matches!(c, b',' | b')' | b']' | b'"'))
        .count();
    if !is_parameter(&text[mark..mark + length]) {
        return found;
    }
    let start = mark.saturating_sub(1000);
    let statement = [&b"UPDATE "[..], b"update ", b"SELECT ", b"select "]
        .iter()
        .filter_map(|word| text[start..mark].windows(word.len()).rposition(|window| window == *word))
        .max();
    let Some(statement) = statement else { return found };
    let index = text[start + statement..mark].windows(2).filter(|two| two[0] == b'?' || *two == b"%s").count();
    parameters(text, spot, mark, index, &mut found);
    found
}

/// `?`, `%s`, `:name`, `$1`, `@p1`, `%(name)s`.
fn is_parameter(value: &[u8]) -> bool {
    value == b"?" || value == b"%s" || matches!(value.first(), Some(b':' | b'$' | b'@' | b'%')) && value.len() < 40
}

/// The parameter of that number in the tuple that follows the statement.
fn parameters(text: &[u8], spot: &Spot, from: usize, index: usize, found: &mut Vec<(usize, usize)>) {
    let window = &text[from..text.len().min(from + FAR)];
    let Some(word) = window.windows(5).position(|five| {
        five.eq_ignore_ascii_case(b"param") || five == b"args=" || five == b"args:" || five == b"bind "
    }) else {
        return;
    };
    let Some(open) = window[word..].iter().take(40).position(|c| *c == b'(' || *c == b'[') else { return };
    let mut at = from + word + open;
    while text.get(at + 1) == Some(&b'(') || text.get(at + 1) == Some(&b'[') {
        at += 1;
    }
    let (items, _) = items(text, at);
    if let Some(&(start, stop)) = items.get(index) {
        take(text, spot, start, stop, found);
    }
}

/// The items of a list in brackets that begins at `open`, and the place behind it.
fn items(text: &[u8], open: usize) -> (Vec<(usize, usize)>, usize) {
    let mut items = Vec::new();
    let mut at = open + 1;
    let mut start = skip_space(text, at);
    let limit = text.len().min(open + FAR);
    while at < limit {
        match text[at] {
            b'\'' | b'"' => {
                let Some(quote) = quote_at(text, at) else { break };
                let Some((_, next)) = close(text, quote, FAR) else { break };
                at = next;
                continue;
            }
            b',' => {
                items.push((start, at));
                start = skip_space(text, at + 1);
            }
            b')' | b']' => {
                if start < at {
                    items.push((start, at));
                }
                return (items, at + 1);
            }
            _ => {}
        }
        at += 1;
    }
    (items, at.min(text.len()))
}

fn take(text: &[u8], spot: &Spot, start: usize, stop: usize, found: &mut Vec<(usize, usize)>) {
    let prefix =
        usize::from(matches!(text.get(start), Some(b'N' | b'b' | b'E')) && quote_at(text, start + 1).is_some());
    let Some(quote) = quote_at(text, start + prefix) else { return };
    let Some((end, _)) = close(text, quote, stop - start + 1) else { return };
    if is_secret(spot.name.class, &text[quote.end..end], Place::Quoted) {
        found.push((quote.end, end));
    }
}

/// For each parameter mark of a statement the name of the column it is for, if that is a secret's.
pub(super) fn parameter_names(statement: &str) -> Vec<Option<Name>> {
    let text = statement.as_bytes();
    let columns: Vec<&str> = inserted_columns(statement);
    let values = statement.to_ascii_lowercase().find("values").unwrap_or(text.len());
    let mut names = Vec::new();
    let mut item = 0;
    let mut at = 0;
    while at < text.len() {
        let mark = text[at] == b'?'
            || text[at..].starts_with(b"%s")
            || matches!(text[at], b':' | b'$' | b'@') && text.get(at + 1).is_some_and(u8::is_ascii_digit);
        if at > values && text[at] == b',' {
            item += 1;
        }
        if mark {
            let column = if at > values { columns.get(item).copied() } else { column_before(statement, at) };
            names.push(column.and_then(|column| lexicon().name(column)));
        }
        at += 1;
    }
    names
}

fn inserted_columns(statement: &str) -> Vec<&str> {
    let (Some(open), Some(close)) = (statement.find('('), statement.find(')')) else { return Vec::new() };
    if open > close || !statement.trim_start().get(..6).is_some_and(|word| word.eq_ignore_ascii_case("insert")) {
        return Vec::new();
    }
    statement[open + 1..close].split(',').map(str::trim).collect()
}

/// `password = ?`: the column before the sign.
fn column_before(statement: &str, mark: usize) -> Option<&str> {
    let before = statement[..mark].trim_end().strip_suffix('=')?.trim_end();
    let start = before.rfind(|c: char| !(c.is_alphanumeric() || c == '_')).map_or(0, |n| n + 1);
    before.get(start..)
}
