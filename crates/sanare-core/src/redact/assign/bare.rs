//! Values without quotes: where they end, and whether a sentence or code stands there instead.

use super::{Behind, LONG, Reader, Sign, Values};
use crate::redact::name::{Class, lexicon};
use crate::redact::place::MARK;
use crate::redact::quote::{line_end, line_start, skip_blanks};
use crate::redact::worth::{self, Place, is_secret};

/// Bytes of the longest pass phrase.
const LONGEST_PHRASE: usize = 200;

impl Reader<'_> {
    /// A value without quotes.
    pub(super) fn bare(&self, start: usize, sign: Sign, found: &mut Values) -> Behind {
        let text = self.text;
        if text[start.min(text.len())..].starts_with(MARK) {
            return Behind::Nothing;
        }
        let line = self.is_line();
        if self.class() == Class::Strong
            && (line || matches!(sign, Sign::Colon))
            && let Some(end) = self.phrase(start, line)
        {
            found.push((start, end));
            return Behind::Found;
        }
        let (from, to) = self.memo.bare.get();
        let mut end = if from < start && start < to { to } else { bare_end(text, start) };
        self.memo.bare.set((start, end));
        if self.class() == Class::Strong
            && self.byte(end) == b' '
            && self.spot.start > 0
            && matches!(text[self.spot.start - 1], b'&' | b'?')
        {
            end = form_end(text, end);
        }
        let mut value = &text[start..end];
        if let Some(scheme) = scheme(value) {
            // `token: Bearer abc`.
            let from = skip_blanks(text, start + scheme);
            let end = bare_end(text, from);
            if self.memo.is_secret(self.class(), &text[from..end], Place::Bare) {
                found.push((from, end));
                return Behind::Found;
            }
            value = &text[start..start + scheme];
        }
        // `passwd:home-dir`, as programs name procedures and scopes.
        let tight = sign == Sign::Colon && start > 0 && text[start - 1] == b':';
        let enough = &value[..value.len().min(worth::ENOUGH)];
        if tight && enough.iter().all(|c| c.is_ascii_lowercase() || matches!(c, b'-' | b'_' | b':' | b'?')) {
            return Behind::Nothing;
        }
        let identifier = value.iter().all(|c| c.is_ascii_alphabetic() || *c == b'_');
        if self.class() == Class::Strong && identifier && (sign == Sign::Equals { tight: false } || self.in_call()) {
            return Behind::Nothing;
        }
        if self.class() == Class::Strong && matches!(sign, Sign::Colon) && !line && self.sentence_follows(start, end) {
            return if worth::credential_in_prose(value) { self.push(start, end, found) } else { Behind::Nothing };
        }
        let cut = self.byte(end) == b'.' || text[end..].starts_with("…".as_bytes()) || value.ends_with(b"...");
        if self.memo.is_secret(self.class(), value, Place::Bare) || cut && worth::looks_random(enough, 6) {
            return self.push(start, end, found);
        }
        Behind::Nothing
    }

    /// Whether the name is the first thing on its line, as in files of settings.
    pub(super) fn is_line(&self) -> bool {
        let start = line_start(self.text, self.spot.start, 120);
        let before = self.text[start..self.spot.start].trim_ascii();
        matches!(before, b"" | b"-" | b"export" | b"set" | b"+ export" | b"$" | b"+" | b"\"" | b"'" | b"- \"" | b"- '")
            || before.iter().all(|c| matches!(c, b'/' | b':' | b'_' | b'-' | b' '))
            || "│┃║".contains(std::str::from_utf8(before).unwrap_or("?"))
    }

    /// A pass phrase: plain words up to the end of the line, none of which a message would use.
    pub(super) fn phrase(&self, start: usize, line: bool) -> Option<usize> {
        let text = self.text;
        // So much is looked at as tells that the line is too long.
        let mut end = line_end(&text[..text.len().min(start + LONGEST_PHRASE + 3)], start);
        if end - start > LONGEST_PHRASE {
            return None;
        }
        if line && let Some(comment) = text[start..end].windows(2).position(|two| two == b" #") {
            end = start + comment;
        }
        while end > start && matches!(text[end - 1], b' ' | b'\t' | b'\r') {
            end -= 1;
        }
        let words = std::str::from_utf8(&text[start..end]).ok()?;
        let mut count = 0;
        for word in words.split(' ') {
            let plain = !word.is_empty()
                && word
                    .chars()
                    .all(|c| c.is_alphabetic() || line && (c.is_numeric() || matches!(c, '-' | '!' | '.' | '\'')));
            if !plain || lexicon().prose(&word.to_lowercase()) {
                return None;
            }
            count += 1;
        }
        (if line { 2..=16 } else { 3..=16 }).contains(&count).then_some(end)
    }

    /// Whether the words behind a value make a sentence with it: `password: must be longer`.
    pub(super) fn sentence_follows(&self, start: usize, end: usize) -> bool {
        let value = &self.text[start..end];
        if !value.iter().all(|c| c.is_ascii_alphabetic() || *c >= 0x80 || *c == b'\'') {
            return false;
        }
        let near = &self.text[..self.text.len().min(end + 64)];
        let rest = &near[end..line_end(near, end)];
        rest.first() == Some(&b' ')
            && rest.get(1).is_some_and(|c| c.is_ascii_alphabetic() || *c >= 0x80)
            && !rest[1..].iter().take(40).take_while(|c| **c != b' ').any(|c| matches!(c, b'=' | b':'))
    }

    /// Whether the name is an argument's in a call in source code.
    pub(super) fn in_call(&self) -> bool {
        let start = line_start(self.text, self.spot.start, 300);
        let mut depth = 0;
        for &byte in self.text[start..self.spot.start].iter().rev() {
            match byte {
                b')' => depth += 1,
                b'(' if depth == 0 => return true,
                b'(' => depth -= 1,
                _ => {}
            }
        }
        false
    }

    /// Lines that are indented deeper than the name, as YAML's blocks are, or one value on the next line.
    pub(super) fn block(&self, at: usize, found: &mut Values) -> Behind {
        let text = self.text;
        if self.class() < Class::Named {
            return Behind::Nothing;
        }
        let own = self.spot.start - line_start(text, self.spot.start, 300);
        let mut at = line_end(text, at);
        let before = found.len();
        for _ in 0..200 {
            if at >= text.len() {
                break;
            }
            let line = at + 1 + usize::from(self.byte(at) == b'\r');
            let start = skip_blanks(text, line.min(text.len()));
            let end = line_end(text, line.min(text.len()));
            if start - line.min(start) <= own || start >= end {
                break;
            }
            let value = text[start..end].trim_ascii_end();
            if value.contains(&b':') && value.contains(&b' ') {
                break;
            }
            let value = value.strip_prefix(b"- ").unwrap_or(value);
            let from = end - text[start..end].len() + (text[start..end].trim_ascii_end().len() - value.len());
            if value.iter().any(|c| matches!(c, b' ' | b'(' | b'=' | b'[')) && !value.ends_with(b"=") {
                break;
            }
            let any = self.class() == Class::Strong && is_secret(Class::Strong, value, Place::Bare);
            if !any && !worth::looks_random(value, 8) {
                break;
            }
            found.push((from, from + value.len()));
            at = end;
        }
        if found.len() > before { Behind::Found } else { Behind::Nothing }
    }
}

/// The length of a scheme word that precedes credentials.
pub(super) fn scheme(value: &[u8]) -> Option<usize> {
    [&b"bearer"[..], b"basic", b"token", b"apikey", b"digest", b"negotiate", b"jwt", b"key"]
        .iter()
        .find(|word| value.eq_ignore_ascii_case(word))
        .map(|word| word.len())
}

/// The end of a value without quotes.
pub(in crate::redact) fn bare_end(text: &[u8], start: usize) -> usize {
    let mut at = start;
    let limit = text.len().min(start + LONG);
    let mut open = [0i32; 3];
    while at < limit {
        match text[at] {
            b' ' | b'\t' | b'\n' | b'\r' | b'"' | b'\'' | b'`' | b'<' | 0 | 0x1b => {
                if text[at] == b'<' && at > start && !ends_here(text, at + 1, b"/!") {
                    at += 1;
                    continue;
                }
                break;
            }
            b'\\' => match text.get(at + 1) {
                Some(b'n' | b'r' | b't' | b'"' | b'\'' | b'u' | b'x' | b'\\') | None => break,
                _ => {}
            },
            b',' | b';' | b'&' | b'|' if ends_pair(text, at) => break,
            b'?' if text.get(at + 1).is_some_and(u8::is_ascii_alphabetic) && ends_pair(text, at) => break,
            b'.' if text[at..].starts_with(b"...") => break,
            0xe2 if text[at..].starts_with("…".as_bytes()) || text[at..].starts_with("│".as_bytes()) => break,
            b'(' => open[0] += 1,
            b'[' => open[1] += 1,
            b'{' => open[2] += 1,
            b')' | b']' | b'}' => {
                let kind = match text[at] {
                    b')' => 0,
                    b']' => 1,
                    _ => 2,
                };
                if open[kind] == 0 && ends_bracket(text, at + 1) {
                    break;
                }
                open[kind] = (open[kind] - 1).max(0);
            }
            _ => {}
        }
        at += 1;
    }
    while at > start && matches!(text[at - 1], b'.' | b':' | b',' | b';') {
        at -= 1;
    }
    at
}

/// The end of a form's value that holds spaces: the next pair, if one follows on the line.
pub(super) fn form_end(text: &[u8], end: usize) -> usize {
    let line = line_end(text, end).min(end + 200);
    let stop = text[end..line].iter().position(|c| matches!(c, b'&' | b'"' | b'\'' | b'<'));
    match stop {
        Some(n) if text[end + n] == b'&' && ends_pair(text, end + n) => end + n,
        _ => end,
    }
}

pub(super) fn ends_here(text: &[u8], at: usize, signs: &[u8]) -> bool {
    text.get(at).is_none_or(|c| signs.contains(c) || c.is_ascii_whitespace() || c.is_ascii_alphabetic())
}

/// Whether the bracket before `at` closes something outside the value.
pub(super) fn ends_bracket(text: &[u8], at: usize) -> bool {
    text.get(at).is_none_or(|c| {
        !c.is_ascii_alphanumeric() && !matches!(c, b'!' | b'#' | b'*' | b'_' | b'+' | b'-' | b'%' | b'$')
    })
}

/// Whether the separator at `at` ends a pair: another pair, a space or the end follows.
pub(super) fn ends_pair(text: &[u8], at: usize) -> bool {
    let next = at + 1;
    let Some(&byte) = text.get(next) else { return true };
    if byte.is_ascii_whitespace() || matches!(byte, b'"' | b'\'' | b'\\' | b')' | b']' | b'}' | b'|') {
        return true;
    }
    if text[at] == b'&' && (text[next..].starts_with(b"amp;") || text[next..].starts_with(b"&")) {
        return true;
    }
    let length = text[next..]
        .iter()
        .take(40)
        .take_while(|c| c.is_ascii_alphanumeric() || matches!(c, b'_' | b'-' | b'.' | b' '))
        .count();
    length > 0 && matches!(text.get(next + length), Some(b'=' | b':'))
}
