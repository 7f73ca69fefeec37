//! Assignments: from the name of a secret to its value, in the grammars that logs, code, files and commands have.

mod bare;
mod header;
mod literal;
mod markup;
mod sentence;

pub(super) use bare::bare_end;
use literal::{annotation, literal_start, sized, wrapped_literal};
use sentence::is_name;

use super::entry::Plain;
use super::name::{Class, Name};
use super::quote::{Quote, line_end, quote_at, quote_before, skip_blanks, skip_space};
use super::worth::{self, Place};
use std::cell::Cell;

/// Longest literal that is looked at before it is known to be a secret.
const LONG: usize = 32 * 1024;

/// A name of a secret in a text.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spot {
    pub start: usize,
    pub end: usize,
    pub name: Name,
}

/// Where values of secrets were found.
pub(super) type Values = Vec<(usize, usize)>;

/// What earlier names of the same text have looked at already; it keeps the whole linear.
#[derive(Debug, Default)]
pub(super) struct Memo {
    /// The last value without quotes.
    bare: Cell<(usize, usize)>,
    /// The end of the last header.
    header: Cell<usize>,
    /// Bytes of lists and mappings that may still be looked at.
    fuel: Cell<usize>,
    /// Bytes of values that may still be judged.
    judged: Cell<usize>,
    /// Words round names that are no keys of values.
    plain: Plain,
}

impl Memo {
    /// What a text may cost. Values without end, each of which holds all that follow, are judged for every name: that is
    /// eight times the text only if the text is made for it.
    pub fn of(text: &[u8]) -> Self {
        let memo = Self::default();
        memo.fuel.set(text.len() * 4 + (1 << 16));
        memo.judged.set(text.len() * 8 + (1 << 16));
        memo
    }

    /// Whether a value that stands at the place of a secret is one, or there is no fuel left to tell.
    fn is_secret(&self, class: Class, value: &[u8], place: Place) -> bool {
        let cost = value.len().min(worth::ENOUGH);
        let left = self.judged.get();
        self.judged.set(left.saturating_sub(cost));
        left < cost || worth::is_secret(class, value, place)
    }
}

/// The values that belong to a name. Nothing if the name stands there for itself, as in a message or a table's header.
pub(super) fn values(text: &[u8], spot: Spot, memo: &Memo) -> Values {
    let mut found = Values::new();
    let reader = Reader { text, spot, memo };
    reader.read(&mut found);
    found
}

struct Reader<'t> {
    text: &'t [u8],
    spot: Spot,
    memo: &'t Memo,
}

/// What stands behind a separator.
enum Behind {
    Nothing,
    Found,
}

impl Reader<'_> {
    fn class(&self) -> Class {
        self.spot.name.class
    }

    fn byte(&self, at: usize) -> u8 {
        self.text.get(at).copied().unwrap_or(0)
    }

    fn read(&self, found: &mut Values) -> Behind {
        let text = self.text;
        if text[..self.spot.start].ends_with(b"://") || text[..self.spot.start].ends_with(b"::") {
            // A user in an address, or the end of a path of types.
            return Behind::Nothing;
        }
        let before = quote_before(text, self.spot.start);
        let mut at = self.spot.end;
        let mut quoted = false;
        if let Some(quote) = quote_at(text, at)
            && (before.is_some_and(|before| before.mark == quote.mark) || self.starts_in_quote(quote))
        {
            at = quote.end.min(at + quote.slashes + 1);
            quoted = true;
        }
        let flag = self.is_flag();
        if self.entry_value(found) {
            return Behind::Found;
        }
        if self.byte(at) == b']' && (quoted || self.in_brackets()) {
            at += 1;
        }
        let near = at;
        at = skip_blanks(text, at);
        match self.byte(at) {
            b'=' => {
                let more = text[at + 1..].iter().take(2).take_while(|c| matches!(c, b'=' | b'>' | b'~')).count();
                self.value(at + 1 + more, Sign::Equals { tight: near == at && more == 0 }, found)
            }
            b'-' if near != at && self.byte(at + 1) == b'>' => self.value(at + 2, Sign::Colon, found),
            b':' if self.byte(at + 1) == b'=' => self.value(at + 2, Sign::Equals { tight: false }, found),
            b':' if self.byte(at + 1) == b':' => match self.byte(at + 2) {
                b' ' => self.value(at + 2, Sign::Colon, found),
                _ => Behind::Nothing,
            },
            b':' if near != at && !matches!(self.byte(at + 1), b' ' | b'\t' | b'"' | b'\'' | b'\\') => Behind::Nothing,
            b':' => self.value(at + 1, Sign::Colon, found),
            b'>' => self.element(at + 1, found),
            b',' if quoted => self.pair(skip_space(text, at + 1), found),
            b'<' if self.byte(at + 1) == b'-' => self.value(at + 2, Sign::Colon, found),
            b'<' if self.byte(at + 1) == b'/' => self.next_element(at, found),
            b'|' if near != at && !quoted => self.cell(at + 1, found),
            0xe2 if near != at && self.text.get(at..at + 3) == Some("│".as_bytes()) => self.cell(at + 3, found),
            _ if flag && near != at => self.flag_value(at, found),
            _ if near != at && self.opens_tag() => self.tag(found),
            _ if near != at && !quoted => self.prose(at, found),
            _ => Behind::Nothing,
        }
    }

    /// A name that is the end of a quoted text, as `"--db-password"` or `"env.API_KEY"` are.
    fn starts_in_quote(&self, quote: Quote) -> bool {
        let before = &self.text[..self.spot.start];
        let dashes = before.iter().rev().take(2).take_while(|c| matches!(c, b'-' | b':' | b'/')).count();
        quote_before(self.text, self.spot.start - dashes).is_some_and(|open| open.mark == quote.mark)
    }

    /// `[name] => value`
    fn in_brackets(&self) -> bool {
        self.spot.start > 0
            && self.byte(self.spot.start - 1) == b'['
            && self.text[self.spot.end + 1..].starts_with(b" => ")
    }

    fn is_flag(&self) -> bool {
        let start = self.spot.start;
        start > 0
            && self.text[start - 1] == b'-'
            && (start == 1 || matches!(self.text[start - 2], b'-' | b' ' | b'\'' | b'"' | b'\n' | b'[' | b'\t'))
    }

    // ---- behind a separator

    fn value(&self, at: usize, sign: Sign, found: &mut Values) -> Behind {
        let text = self.text;
        let mut start = skip_blanks(text, at);
        if self.class() >= Class::Authorization {
            return self.header(start, found);
        }
        if self.too_short(start) {
            return Behind::Nothing;
        }
        if sign == Sign::Colon
            && let Some(behind) = annotation(text, start)
        {
            start = skip_blanks(text, behind);
        }
        if sign == Sign::Colon && matches!(self.byte(start), b'&' | b'!') {
            // An anchor or a tag of YAML.
            let word = text[start..].iter().take(40).take_while(|c| !c.is_ascii_whitespace()).count();
            if self.byte(start + word) == b' ' && word > 1 {
                start = skip_blanks(text, start + word);
            }
        }
        start = sized(text, start);
        if self.byte(start) == b'\n' || self.byte(start) == b'\r' {
            return self.block(start, found);
        }
        if matches!(self.byte(start), b'|' | b'>') && sign == Sign::Colon {
            return self.block(line_end(text, start), found);
        }
        if self.literals(start, found) {
            return Behind::Found;
        }
        if quote_at(text, literal_start(text, start)).is_some() {
            return Behind::Nothing;
        }
        match self.byte(start) {
            b'{' if sign == (Sign::Equals { tight: true }) && self.braced(start, found) => return Behind::Found,
            b'(' | b'[' | b'{' if !self.is_template(start) => return self.container(start, found),
            _ => {}
        }
        if let Some(inner) = wrapped_literal(text, start) {
            return if self.literals(inner, found) { Behind::Found } else { Behind::Nothing };
        }
        self.bare(start, sign, found)
    }

    /// A word that is shorter than a secret of this class can be; most values of `key=` are.
    fn too_short(&self, start: usize) -> bool {
        let least = if self.class() == Class::Hint { 16 } else { 4 };
        let rest = &self.text[start.min(self.text.len())..];
        self.class() <= Class::Named
            && rest.first().is_some_and(u8::is_ascii_alphanumeric)
            && rest.iter().take(least).position(|c| !c.is_ascii_alphanumeric()).is_some_and(|n| {
                matches!(rest[n], b' ' | b'\n' | b'\r' | b'\t')
                    || matches!(rest[n], b',' | b';' | b'&' | b'"' | b'\'') && n > 2
            })
    }

    fn is_template(&self, at: usize) -> bool {
        self.byte(at) == b'{' && self.byte(at + 1) == b'{'
            || self.byte(at) == b'[' && self.text[at..].len() > 1 && self.byte(at + 1).is_ascii_uppercase()
    }

    fn push(&self, start: usize, end: usize, found: &mut Values) -> Behind {
        found.push((start, end));
        Behind::Found
    }

    // ---- other grammars
}

/// The separator between a name and its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sign {
    Equals { tight: bool },
    Colon,
}

/// A value that may already hold placeholders: what is around them goes, too.
fn push_value(text: &[u8], start: usize, end: usize, found: &mut Values) {
    if end > start && !worth::stands_for_another(&text[start..end]) {
        found.push((start, end));
    }
}

/// The name at `from..to`, looking at the words before it if it is one word: `api key`, `secret access key`.
pub(super) fn spot(text: &[u8], from: usize, to: usize, name_of: &mut dyn FnMut(&str) -> Option<Name>) -> Option<Spot> {
    let own = std::str::from_utf8(&text[from..to]).ok()?;
    let name = name_of(own);
    let single = own.bytes().all(|c| c.is_ascii_alphabetic());
    if single
        && name.is_none_or(|name| name.class == Class::Hint)
        && from > 1
        && text[from - 1] == b' '
        && text[from - 2].is_ascii_alphabetic()
        && text.get(to) != Some(&b'=')
    {
        let mut begin = from - 1;
        for _ in 0..2 {
            let word = text[..begin].iter().rev().take(24).take_while(|c| c.is_ascii_alphabetic()).count();
            if word == 0 {
                break;
            }
            begin -= word;
            let phrase = std::str::from_utf8(&text[begin..to]).ok()?;
            match name_of(phrase) {
                Some(longer) if longer.class > name.map_or(Class::Hint, |name| name.class) => {
                    return Some(Spot { start: from, end: to, name: longer });
                }
                None if name.is_some() => return None,
                _ => {}
            }
            if begin == 0 || text[begin - 1] != b' ' {
                break;
            }
            begin -= 1;
        }
    }
    name.map(|name| Spot { start: from, end: to, name })
}
