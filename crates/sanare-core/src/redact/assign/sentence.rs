//! Values in sentences and behind flags.

use super::{Behind, Reader, Sign, Values, bare_end};
use crate::redact::name::{Class, lexicon};
use crate::redact::place::MARK;
use crate::redact::quote::{close, line_end, quote_at};
use crate::redact::worth::{self, Place, is_flag};

impl Reader<'_> {
    /// `--name value`.
    pub(super) fn flag_value(&self, at: usize, found: &mut Values) -> Behind {
        let text = self.text;
        if self.literals(at, found) {
            return Behind::Found;
        }
        if is_flag(&text[at..bare_end(text, at)]) || text[at..].starts_with(MARK) || quote_at(text, at).is_some() {
            return Behind::Nothing;
        }
        let end = bare_end(text, at);
        let value = &text[at..end];
        let class = self.class();
        if self.memo.is_secret(class, value, Place::Bare)
            && (class != Class::Strong || !worth::is_prose(&text[at..line_end(text, at)]) || worth::kinds(value) > 1)
        {
            return self.push(at, end, found);
        }
        Behind::Nothing
    }

    /// `with password VALUE as user`, `bad token (VALUE)`, `password is VALUE`.
    pub(super) fn prose(&self, at: usize, found: &mut Values) -> Behind {
        let text = self.text;
        let mut at = at;
        for _ in 0..if self.class() == Class::Hint { 0 } else { 3 } {
            match connector(text, at) {
                0 => break,
                length => at += length,
            }
        }
        if text[at..].starts_with(b"user ") || text[at..].starts_with(b"account ") {
            // `password for user etl: VALUE`
            let line = &text[at..line_end(text, at).min(at + 80)];
            if let Some(colon) = line.windows(2).position(|two| two == b": ") {
                return self.value(at + colon + 1, Sign::Colon, found);
            }
        }
        if self.byte(at) == b'(' || self.byte(at) == b'<' || self.byte(at) == b'[' {
            at += 1;
        }
        let (start, end) = match quote_at(text, at) {
            Some(quote) => match close(text, quote, 300) {
                Some((end, _)) => (quote.end, end),
                None => return Behind::Nothing,
            },
            None => (at, bare_end(text, at)),
        };
        let end = text[start..end]
            .iter()
            .rposition(|c| !matches!(c, b'.' | b',' | b':' | b';' | b')' | b']' | b'>'))
            .map_or(start, |n| start + n + 1);
        let pair = is_pair(&text[start..end]);
        if end <= start || pair || text[start.saturating_sub(1)..].starts_with(MARK) || text[start..].starts_with(MARK)
        {
            return Behind::Nothing;
        }
        let class = if self.class() == Class::Hint { Class::Hint } else { self.class().min(Class::Strong) };
        if matches!(class, Class::Hint | Class::Named | Class::Strong)
            && self.memo.is_secret(class, &text[start..end], Place::Prose)
        {
            return self.push(start, end, found);
        }
        Behind::Nothing
    }
}

/// The length of a word that joins a name to its value in a sentence, and of the space behind it.
pub(super) fn connector(text: &[u8], at: usize) -> usize {
    const WORDS: &[&[u8]] = &[
        b"is",
        b"was",
        b"set",
        b"to",
        b"of",
        b"as",
        b"value",
        b"for",
        b"using",
        b"named",
        b"called",
        b"header",
        b"a",
        b"the",
        b"used",
        b"reset",
        b"changed",
        b"updated",
        b"given",
        b"provided",
        b"entered",
        b"sent",
        b"received",
        b"supplied",
        b"-",
        b"=",
        b"->",
        b"\xe2\x86\x92",
        b"\xe2\x80\x93",
        b"volt",
        b"lautet",
        b"ist",
        b"a",
        b"est",
        b"es",
    ];
    let length = text[at..].iter().take(12).position(|c| *c == b' ').unwrap_or(0);
    let word = &text[at..at + length];
    let word = word.strip_suffix(b":").unwrap_or(word);
    if length > 0 && WORDS.contains(&word) { length + 1 } else { 0 }
}

/// Whether a value is itself the name of a secret, as in a list of names.
pub(super) fn is_name(value: &[u8]) -> bool {
    let plain = value.len() < 48
        && value.iter().all(|c| c.is_ascii_alphanumeric() || matches!(c, b'_' | b'-' | b'.'))
        && value.split(|c| matches!(c, b'_' | b'-' | b'.')).all(|part| part.len() < 12 && worth::wordy(part));
    plain && lexicon().name(&String::from_utf8_lossy(value)).is_some()
}

/// `name=value`.
pub(super) fn is_pair(value: &[u8]) -> bool {
    let name = value.iter().take_while(|c| c.is_ascii_alphanumeric() || matches!(c, b'_' | b'.')).count();
    (1..30).contains(&name)
        && value[0].is_ascii_alphabetic()
        && value.get(name) == Some(&b'=')
        && name + 2 < value.len()
}
