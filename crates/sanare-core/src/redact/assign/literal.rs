//! Literals: quoted values, pieces that are joined, lists and mappings, pairs.

use super::{Behind, LONG, Reader, Values, is_name, push_value};
use crate::redact::entry;
use crate::redact::name::Class;
use crate::redact::quote::{close, line_end, line_start, quote_at, quote_before, skip_blanks, skip_space};
use crate::redact::worth::{Place, is_flag, is_secret};

impl Reader<'_> {
    /// `PWD={value};`
    pub(super) fn braced(&self, start: usize, found: &mut Values) -> bool {
        let rest = &self.text[start + 1..self.text.len().min(start + 200)];
        let Some(length) = rest.iter().position(|c| matches!(c, b'}' | b'{' | b'"' | b'\'' | b',' | b'\n')) else {
            return false;
        };
        let plain = rest[length] == b'}' && self.byte(start + length + 2) == b';';
        if plain && self.memo.is_secret(self.class(), &rest[..length], Place::Quoted) {
            found.push((start + 1, start + 1 + length));
        }
        plain
    }

    /// A literal, and those that are joined to it.
    pub(super) fn literals(&self, at: usize, found: &mut Values) -> bool {
        let text = self.text;
        let before = found.len();
        let mut at = at;
        let mut first = true;
        if self.byte(at) == b'(' {
            let inner = skip_space(text, at + 1);
            // `("part" "part")`: a literal in brackets; with a comma it is a tuple.
            let Some(quote) = quote_at(text, literal_start(text, inner)) else { return false };
            let Some((_, end)) = close(text, quote, LONG) else { return false };
            if !matches!(self.byte(skip_space(text, end)), b')' | b'"' | b'\'') {
                return false;
            }
            at = inner;
        }
        loop {
            let open = literal_start(text, at);
            let Some(quote) = quote_at(text, open) else { break };
            if first && quote.slashes == 0 && self.closes_here(open, quote.mark) {
                return false;
            }
            let (end, next) = match close(text, quote, LONG) {
                Some(ends) => ends,
                None => {
                    // Cut short, or not a literal: up to the end of the line.
                    let end = line_end(text, quote.end);
                    (end, end)
                }
            };
            let value = &text[quote.end..end];
            if first && self.names_itself(value) {
                return false;
            }
            if first && !self.memo.is_secret(self.class(), value, Place::Quoted) && !self.joined(value, next) {
                return false;
            }
            push_value(text, quote.end, end, found);
            first = false;
            let behind = skip_space(text, next);
            let joint = match self.byte(behind) {
                b'+' | b'.' => skip_space(text, behind + 1),
                b'\\' if self.byte(behind + 1) == b'\n' => skip_space(text, behind + 2),
                b'"' | b'\'' if quote.slashes == 0 && next != behind => behind,
                b'b' | b'r' | b'f' | b'u' if quote.slashes == 0 && next != behind => behind,
                _ => break,
            };
            let inner = literal_start(text, joint);
            if !matches!(self.byte(inner), b'"' | b'\'') || self.byte(inner) != quote.mark {
                break;
            }
            at = joint;
        }
        found.len() > before
    }

    /// Whether the quote at `at` closes a literal that the name stands in, as in `input('Password: ')`.
    pub(super) fn closes_here(&self, at: usize, mark: u8) -> bool {
        let text = self.text;
        if text.get(at + 1).is_some_and(|c| c.is_ascii_alphanumeric()) {
            return false;
        }
        let start = line_start(text, at, 400);
        let word = |i: usize| text.get(i).is_some_and(u8::is_ascii_alphanumeric);
        let before = (start..at)
            .filter(|&i| text[i] == mark && !(i > start && (word(i - 1) && word(i + 1) || text[i - 1] == b'\\')));
        before.count() % 2 == 1
    }

    /// `API_KEY = "api_key"`: a constant for the name.
    fn names_itself(&self, value: &[u8]) -> bool {
        let letters = |text: &[u8]| -> Vec<u8> {
            text.iter().filter(|c| c.is_ascii_alphanumeric()).map(u8::to_ascii_lowercase).collect()
        };
        value.len() < 64 && letters(value) == letters(&self.text[self.spot.start..self.spot.end])
    }

    /// A short literal that is continued by another one: judged as one.
    pub(super) fn joined(&self, value: &[u8], next: usize) -> bool {
        let behind = skip_space(self.text, next);
        let joint = if self.byte(behind) == b'+' { skip_space(self.text, behind + 1) } else { behind };
        let Some(quote) = quote_at(self.text, joint) else { return false };
        if joint == next {
            return false;
        }
        let Some((end, _)) = close(self.text, quote, 4096) else { return false };
        let whole = [value, &self.text[quote.end..end]].concat();
        self.memo.is_secret(self.class(), &whole, Place::Quoted)
    }

    /// A list, tuple or mapping: the literals in it.
    pub(super) fn container(&self, start: usize, found: &mut Values) -> Behind {
        let text = self.text;
        let before = found.len();
        let mut depth = 0usize;
        let mut at = start;
        let fuel = self.memo.fuel.get();
        let limit = text.len().min(start + 4096.min(fuel.max(128)));
        let mut literals: Vec<(usize, usize, usize)> = Vec::new();
        while at < limit {
            match text[at] {
                b'(' | b'[' | b'{' => depth += 1,
                b')' | b']' | b'}' => {
                    depth = depth.saturating_sub(1);
                    if depth == 0 {
                        break;
                    }
                }
                b'"' | b'\'' | b'`' | b'\\' => {
                    if let Some(quote) = quote_at(text, at) {
                        let (end, next) = close(text, quote, LONG).unwrap_or_else(|| {
                            let end = line_end(text, quote.end);
                            (end, end)
                        });
                        literals.push((quote.end, end, next));
                        at = next;
                        continue;
                    }
                }
                _ => {}
            }
            at += 1;
        }
        self.memo.fuel.set(fuel.saturating_sub(at - start));
        let tuple = literals.len() == 2 && matches!(self.byte(start), b'(' | b'[');
        let user_and_password = matches!(self.spot.name.rule, "authorization" | "credential");
        for (index, &(from, end, next)) in literals.iter().enumerate() {
            let is_key = self.byte(skip_blanks(text, next)) == b':';
            let (class, place) = match (tuple && user_and_password, index) {
                (true, 1) => (Class::Strong, Place::Quoted),
                (true, _) => continue,
                _ => (self.class(), Place::Inside),
            };
            if !is_key && is_secret(class, &text[from..end], place) {
                push_value(text, from, end, found);
            }
        }
        if found.len() > before { Behind::Found } else { Behind::Nothing }
    }

    /// `("name", "value")`, `["name", "value"]`, `"--name", "value"`, `setenv("NAME", "value")`.
    pub(super) fn pair(&self, at: usize, found: &mut Values) -> Behind {
        let text = self.text;
        let open = literal_start(text, at);
        let Some(quote) = quote_at(text, open) else { return Behind::Nothing };
        let Some((end, next)) = close(text, quote, LONG).or_else(|| {
            let end = line_end(text, quote.end);
            Some((end, end))
        }) else {
            return Behind::Nothing;
        };
        let value = &text[quote.end..end];
        if self.class() >= Class::Authorization {
            return self.header(open, found);
        }
        let before = &text[..self.spot.start];
        let dashes = before.iter().rev().take(2).take_while(|c| **c == b'-').count();
        let first = quote_before(text, self.spot.start - dashes).map(|quote| {
            let open = self.spot.start - dashes - 1 - quote.slashes;
            matches!(self.byte(open.wrapping_sub(1)), b'(' | b'[' | b'b' | b'u')
        });
        let place = if dashes > 0 || first == Some(true) && matches!(self.byte(skip_space(text, next)), b')' | b']' | 0)
        {
            Place::Quoted
        } else {
            Place::Inside
        };
        if is_flag(value) || !self.memo.is_secret(self.class(), value, place) || is_name(value) {
            return Behind::Nothing;
        }
        push_value(text, quote.end, end, found);
        Behind::Found
    }

    /// `name: NAME` with `value: VALUE` beside it, in any notation; attributes of a tag; form data.
    pub(super) fn entry_value(&self, found: &mut Values) -> bool {
        match entry::value_beside(self.text, self.spot.start, self.spot.end, &self.memo.plain) {
            Some(entry::Beside::Literal(quote)) => self.literals(quote, found),
            Some(entry::Beside::Bare(start, end))
                if self.memo.is_secret(self.class(), &self.text[start..end], Place::Quoted) =>
            {
                found.push((start, end));
                true
            }
            _ => false,
        }
    }
}

/// Behind the letters of a literal's prefix: `b'`, `rb"`, `f'`.
pub(super) fn literal_start(text: &[u8], at: usize) -> usize {
    let letters = text[at.min(text.len())..]
        .iter()
        .take(2)
        .take_while(|c| matches!(c, b'b' | b'r' | b'f' | b'u' | b'B' | b'R' | b'@' | b'L'))
        .count();
    if letters > 0 && quote_at(text, at + letters).is_some() { at + letters } else { at }
}

/// A literal in a call that only wraps it: `SecretStr('x')`, `quote("x")`.
pub(super) fn wrapped_literal(text: &[u8], at: usize) -> Option<usize> {
    let rest = &text[at.min(text.len())..text.len().min(at + 60)];
    let open = rest.iter().position(|c| !(c.is_ascii_alphanumeric() || matches!(c, b'_' | b'.')))?;
    if open == 0 || rest[open] != b'(' {
        return None;
    }
    let callee = rest[..open].rsplit(|c| *c == b'.').next().unwrap_or_default().to_ascii_lowercase();
    let wraps = [&b"secret"[..], b"str", b"bytes", b"pass", b"quote", b"literal", b"text", b"token"]
        .iter()
        .any(|part| callee.windows(part.len()).any(|window| window == *part));
    let fetches = [&b"get"[..], b"env", b"load", b"read", b"fetch", b"find", b"input", b"prompt"]
        .iter()
        .any(|part| callee.windows(part.len()).any(|window| window == *part));
    let inner = at + open + 1;
    (wraps && !fetches && quote_at(text, literal_start(text, inner)).is_some()).then_some(inner)
}

/// Behind the type and size that PHP writes before a text: `string(20) "x"`.
pub(super) fn sized(text: &[u8], at: usize) -> usize {
    let next = skip_space(text, at);
    let rest = &text[next.min(text.len())..text.len().min(next + 24)];
    match rest.strip_prefix(b"string(").and_then(|rest| rest.iter().position(|c| *c == b')')) {
        Some(digits) if text.get(next + digits + 9) == Some(&b'"') => next + digits + 9,
        _ => at,
    }
}

/// Behind a type annotation: `: str = "x"`, `: SecretStr | None = "x"`.
pub(super) fn annotation(text: &[u8], at: usize) -> Option<usize> {
    let rest = &text[at.min(text.len())..text.len().min(at + 80)];
    let length = rest.iter().position(|c| {
        !(c.is_ascii_alphanumeric() || matches!(c, b'_' | b'.' | b'[' | b']' | b' ' | b'|' | b',' | b'?'))
    })?;
    let kind = rest[..length].trim_ascii_end();
    let named = kind.first().is_some_and(u8::is_ascii_alphabetic)
        && rest[length] == b'='
        && rest.get(length + 1) != Some(&b'=')
        && rest[..length].ends_with(b" ");
    let known = [
        &b"str"[..],
        b"Str",
        b"Optional",
        b"bytes",
        b"string",
        b"String",
        b"Final",
        b"Any",
        b"Secret",
        b"ClassVar",
        b"Annotated",
    ]
    .iter()
    .any(|part| kind.windows(part.len()).any(|window| window == *part));
    (named && known).then_some(at + length + 1)
}
