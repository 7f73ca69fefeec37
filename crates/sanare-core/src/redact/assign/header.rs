//! Headers whose values have a grammar of their own: authorization and cookies.

use super::{Behind, LONG, Reader, Spot, Values, bare_end, is_name, literal_start};
use crate::redact::name::{Class, Name, lexicon};
use crate::redact::place::{MARK, placeholder_end};
use crate::redact::quote::{close, line_end, quote_at, quote_before, skip_blanks};
use crate::redact::worth::{self, Place, is_secret};

impl Reader<'_> {
    /// A header whose value has a grammar of its own.
    pub(super) fn header(&self, start: usize, found: &mut Values) -> Behind {
        if start < self.memo.header.get() {
            return Behind::Nothing;
        }
        let behind =
            if self.class() == Class::Cookie { self.cookie(start, found) } else { self.authorization(start, found) };
        let seen = found.last().map_or(start, |last| last.1);
        self.memo.header.set(seen.max(if seen > start { seen } else { self.outer_end(start) }));
        behind
    }

    /// `scheme credentials`, to the end of the literal or, for a single token, of the word.
    pub(super) fn authorization(&self, start: usize, found: &mut Values) -> Behind {
        let text = self.text;
        let (from, end, whole) = match quote_at(text, literal_start(text, start)) {
            Some(quote) => {
                (quote.end, close(text, quote, LONG).map_or_else(|| line_end(text, start), |ends| ends.0), true)
            }
            None if matches!(self.byte(start), b'{' | b'[' | b'(') => {
                let named = Spot { name: Name { class: Class::Named, ..self.spot.name }, ..self.spot };
                return Reader { text, spot: named, memo: self.memo }.container(start, found);
            }
            None => (start, self.outer_end(start), false),
        };
        let value = &text[from..end];
        let length = value.iter().position(|c| matches!(c, b' ' | b'\t' | b'=' | b',')).unwrap_or(value.len());
        let has_scheme = length < value.len()
            && value[length] == b' '
            && length < 24
            && value[..length].iter().all(|c| c.is_ascii_alphanumeric() || matches!(c, b'-' | b'_'));
        let credentials = if has_scheme { skip_blanks(text, from + length) } else { from };
        let many = whole
            || memchr::memchr(b'=', &text[credentials..end])
                .is_some_and(|n| text[credentials..credentials + n].iter().all(u8::is_ascii_alphabetic) && n > 2);
        let stop = if many { end } else { bare_end(text, credentials).min(end) };
        let value = text[credentials..stop].trim_ascii_end();
        if value.starts_with(MARK) && placeholder_end(value, 0) == Some(value.len())
            || !is_secret(self.class(), value, Place::Quoted)
            || !whole && !has_scheme && !worth::looks_random(value, 12)
        {
            return Behind::Nothing;
        }
        let word = value.rsplit(|c| *c == b' ').next().unwrap_or(value);
        let random = worth::looks_random(word, 6) || worth::kinds(word) >= 3 || word.len() >= 24;
        if worth::is_prose(value) || is_name(value) || !many && !random || !has_scheme && !worth::looks_random(value, 8)
        {
            return Behind::Nothing;
        }
        self.push(credentials, credentials + value.len(), found)
    }

    /// `name=value; name=value`: the values, but for those of harmless names.
    pub(super) fn cookie(&self, start: usize, found: &mut Values) -> Behind {
        let text = self.text;
        let before = found.len();
        let (from, end) = match quote_at(text, literal_start(text, start)) {
            Some(quote) => (quote.end, close(text, quote, LONG).map_or_else(|| line_end(text, start), |ends| ends.0)),
            None if matches!(self.byte(start), b'{' | b'[' | b'(') => {
                let named = Spot { name: Name { class: Class::Named, ..self.spot.name }, ..self.spot };
                return Reader { text, spot: named, memo: self.memo }.container(start, found);
            }
            None => (start, self.outer_end(start)),
        };
        for (start, end) in cookie_values(text, from, end) {
            found.push((start, end));
        }
        if found.len() > before { Behind::Found } else { Behind::Nothing }
    }

    /// The end of a header's value: of the line, or of the literal that the whole header stands in.
    pub(super) fn outer_end(&self, start: usize) -> usize {
        let text = self.text;
        let mut end = line_end(text, start);
        if let Some(escape) = text[start..end].windows(2).position(|two| two == b"\\r" || two == b"\\n") {
            end = start + escape;
        }
        if let Some(quote) = text[start..end].iter().position(|c| matches!(c, b'"' | b'\'')) {
            let opened = quote_before(text, self.spot.start).is_some();
            let pairs = text[start..start + quote].ends_with(b"=");
            if opened || !pairs {
                end = start + quote;
            }
        }
        while end > start && matches!(text[end - 1], b'\\') {
            end -= 1;
        }
        end
    }
}

/// The values of a cookie header's pairs.
pub(super) fn cookie_values(text: &[u8], from: usize, end: usize) -> Values {
    let mut found = Values::new();
    let mut at = from;
    while at < end {
        let stop = memchr::memchr(b';', &text[at..end]).map_or(end, |n| at + n);
        if let Some(equals) = memchr::memchr(b'=', &text[at..stop]) {
            let name = text[at..at + equals].trim_ascii();
            if name.contains(&b' ') {
                at = stop + 1;
                continue;
            }
            let start = at + equals + 1;
            let value = text[start..stop].trim_ascii();
            let name = String::from_utf8_lossy(&name[..name.len().min(80)]).to_lowercase();
            let attribute = matches!(
                name.as_str(),
                "path" | "domain" | "expires" | "max-age" | "samesite" | "version" | "priority"
            );
            let known = lexicon().name(&name).is_some()
                || name.contains("sess")
                || name.contains("auth")
                || name.contains("sid");
            let telling = value.len() >= 6 && known || worth::looks_random(value, 12);
            if !attribute && telling && !worth::stands_for_another(value) {
                found.push((start, start + text[start..stop].trim_ascii_end().len()));
            }
        }
        at = stop + 1;
    }
    found
}
