//! Assignments: from the name of a secret to its value, in the grammars that logs, code, files and commands have.

use super::name::{Class, Name, lexicon};
use super::place::{MARK, placeholder_end};
use super::quote::{Quote, close, line_end, line_start, quote_at, quote_before, skip_blanks, skip_space};
use super::worth::{self, Place, is_secret};
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
    pub fuel: Cell<usize>,
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
        if text[..self.spot.start].ends_with(b"://") {
            // A user in an address.
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
            b'-' if self.byte(at + 1) == b'>' => self.value(at + 2, Sign::Colon, found),
            b':' if self.byte(at + 1) == b'=' => self.value(at + 2, Sign::Equals { tight: false }, found),
            b':' if self.byte(at + 1) == b':' => match self.byte(at + 2) {
                b' ' => self.value(at + 2, Sign::Colon, found),
                _ => Behind::Nothing,
            },
            b':' => self.value(at + 1, Sign::Colon, found),
            b'>' => self.element(at + 1, found),
            b',' if quoted => self.pair(skip_space(text, at + 1), found),
            b'<' if self.byte(at + 1) == b'/' => self.next_element(at, found),
            b'|' if near != at && !quoted => self.cell(at + 1, found),
            0xe2 if near != at && self.text.get(at..at + 3) == Some("│".as_bytes()) => self.cell(at + 3, found),
            _ if flag && near != at => self.flag_value(at, found),
            _ if self.spot.start > 0 && self.byte(self.spot.start - 1) == b'<' && near != at => self.tag(found),
            _ if near != at && !quoted => self.prose(at, found),
            b'(' if !quoted && self.class() >= Class::Named => self.prose(at, found),
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

    /// `PWD={value};`
    fn braced(&self, start: usize, found: &mut Values) -> bool {
        let rest = &self.text[start + 1..self.text.len().min(start + 200)];
        let Some(length) = rest.iter().position(|c| matches!(c, b'}' | b'{' | b'"' | b'\'' | b',' | b'\n')) else {
            return false;
        };
        let plain = rest[length] == b'}' && self.byte(start + length + 2) == b';';
        if plain && is_secret(self.class(), &rest[..length], Place::Quoted) {
            found.push((start + 1, start + 1 + length));
        }
        plain
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

    /// A literal, and those that are joined to it.
    fn literals(&self, at: usize, found: &mut Values) -> bool {
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
            if first && !is_secret(self.class(), value, Place::Quoted) && !self.joined(value, next) {
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
    fn closes_here(&self, at: usize, mark: u8) -> bool {
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

    /// A short literal that is continued by another one: judged as one.
    fn joined(&self, value: &[u8], next: usize) -> bool {
        let behind = skip_space(self.text, next);
        let joint = if self.byte(behind) == b'+' { skip_space(self.text, behind + 1) } else { behind };
        let Some(quote) = quote_at(self.text, joint) else { return false };
        if joint == next {
            return false;
        }
        let Some((end, _)) = close(self.text, quote, 4096) else { return false };
        let whole = [value, &self.text[quote.end..end]].concat();
        is_secret(self.class(), &whole, Place::Quoted)
    }

    /// A value without quotes.
    fn bare(&self, start: usize, sign: Sign, found: &mut Values) -> Behind {
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
            if is_secret(self.class(), &text[from..end], Place::Bare) {
                found.push((from, end));
                return Behind::Found;
            }
            value = &text[start..start + scheme];
        }
        let identifier = value.iter().all(|c| c.is_ascii_alphabetic() || *c == b'_');
        if self.class() == Class::Strong && identifier && (sign == Sign::Equals { tight: false } || self.in_call()) {
            return Behind::Nothing;
        }
        if self.class() == Class::Strong && matches!(sign, Sign::Colon) && !line && self.sentence_follows(start, end) {
            return if worth::credential_in_prose(value) { self.push(start, end, found) } else { Behind::Nothing };
        }
        let cut = self.byte(end) == b'.' || text[end..].starts_with("…".as_bytes()) || value.ends_with(b"...");
        if is_secret(self.class(), value, Place::Bare) || cut && worth::looks_random(value, 6) {
            return self.push(start, end, found);
        }
        Behind::Nothing
    }

    fn push(&self, start: usize, end: usize, found: &mut Values) -> Behind {
        found.push((start, end));
        Behind::Found
    }

    /// Whether the name is the first thing on its line, as in files of settings.
    fn is_line(&self) -> bool {
        let start = line_start(self.text, self.spot.start, 120);
        let before = self.text[start..self.spot.start].trim_ascii();
        matches!(before, b"" | b"-" | b"export" | b"set" | b"+ export" | b"$" | b"+" | b"\"" | b"'" | b"- \"" | b"- '")
            || before.iter().all(|c| matches!(c, b'/' | b':' | b'_' | b'-' | b' '))
            || "│┃║".contains(std::str::from_utf8(before).unwrap_or("?"))
    }

    /// A pass phrase: plain words up to the end of the line, none of which a message would use.
    fn phrase(&self, start: usize, line: bool) -> Option<usize> {
        let text = self.text;
        let mut end = line_end(text, start);
        if end - start > 200 {
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
                && word.chars().all(|c| c.is_alphanumeric() || (line && matches!(c, '-' | '!' | '.' | '\'')));
            if !plain || lexicon().prose(&word.to_lowercase()) {
                return None;
            }
            count += 1;
        }
        (if line { 2..=16 } else { 3..=16 }).contains(&count).then_some(end)
    }

    /// Whether the words behind a value make a sentence with it: `password: must be longer`.
    fn sentence_follows(&self, start: usize, end: usize) -> bool {
        let value = &self.text[start..end];
        if !value.iter().all(|c| c.is_ascii_alphabetic() || *c >= 0x80 || *c == b'\'') {
            return false;
        }
        let rest = &self.text[end..line_end(self.text, end)];
        rest.first() == Some(&b' ')
            && rest.get(1).is_some_and(|c| c.is_ascii_alphabetic() || *c >= 0x80)
            && !rest[1..].iter().take(40).take_while(|c| **c != b' ').any(|c| matches!(c, b'=' | b':'))
    }

    /// Whether the name is an argument's in a call in source code.
    fn in_call(&self) -> bool {
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

    /// A list, tuple or mapping: the literals in it.
    fn container(&self, start: usize, found: &mut Values) -> Behind {
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

    /// Lines that are indented deeper than the name, as YAML's blocks are, or one value on the next line.
    fn block(&self, at: usize, found: &mut Values) -> Behind {
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
            if !worth::looks_random(value, 8)
                && !(self.class() == Class::Strong && is_secret(Class::Strong, value, Place::Bare))
            {
                break;
            }
            found.push((from, from + value.len()));
            at = end;
        }
        if found.len() > before { Behind::Found } else { Behind::Nothing }
    }

    // ---- other grammars

    /// `("name", "value")`, `["name", "value"]`, `"--name", "value"`, `setenv("NAME", "value")`.
    fn pair(&self, at: usize, found: &mut Values) -> Behind {
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
        if value.starts_with(b"-") || !is_secret(self.class(), value, place) || is_name(value) {
            return Behind::Nothing;
        }
        push_value(text, quote.end, end, found);
        Behind::Found
    }

    /// `name: NAME` with `value: VALUE` beside it, in any notation; attributes of a tag; form data.
    fn entry_value(&self, found: &mut Values) -> bool {
        match super::entry::value_beside(self.text, self.spot.start, self.spot.end) {
            Some(super::entry::Beside::Literal(quote)) => self.literals(quote, found),
            Some(super::entry::Beside::Bare(start, end))
                if is_secret(self.class(), &self.text[start..end], Place::Quoted) =>
            {
                found.push((start, end));
                true
            }
            _ => false,
        }
    }

    /// `<name>value</name>`, with attributes or without.
    fn element(&self, at: usize, found: &mut Values) -> Behind {
        let open = &self.text[..self.spot.start];
        let opened = open.ends_with(b"<")
            || open.ends_with(b":") && memchr::memrchr(b'<', &open[open.len().saturating_sub(40)..]).is_some();
        if !opened || open.ends_with(b"redacted:") {
            return Behind::Nothing;
        }
        self.content(at, found)
    }

    /// `<name type="…">value</name>`.
    fn tag(&self, found: &mut Values) -> Behind {
        let rest = &self.text[self.spot.end..self.text.len().min(self.spot.end + 300)];
        match rest.iter().position(|c| matches!(c, b'>' | b'<' | b'\n')) {
            Some(end) if rest[end] == b'>' && (end == 0 || rest[end - 1] != b'/') => {
                self.content(self.spot.end + end + 1, found)
            }
            _ => Behind::Nothing,
        }
    }

    fn content(&self, at: usize, found: &mut Values) -> Behind {
        let text = self.text;
        let mut start = skip_space(text, at.min(text.len()));
        if text[start..].starts_with(b"<![CDATA[") {
            start += 9;
        }
        let limit = text.len().min(start + 4096);
        let end = memchr::memchr2(b'<', b']', &text[start..limit]).map_or(limit, |found| start + found);
        let value = text[start..end].trim_ascii_end();
        let closed = matches!((self.byte(end), self.byte(end + 1)), (b'<', b'/') | (b']', b']'))
            || end == text.len() && worth::looks_random(value, 8);
        if !closed {
            return Behind::Nothing;
        }
        if text[start..].starts_with(MARK) || !is_secret(self.class(), value, Place::Quoted) {
            return Behind::Nothing;
        }
        self.push(start, start + value.len(), found)
    }

    /// `<key>name</key><string>value</string>` and cells of an HTML table.
    fn next_element(&self, at: usize, found: &mut Values) -> Behind {
        let text = self.text;
        let open = &text[..self.spot.start];
        if !open.ends_with(b">") || placeholder_end(text, at).is_some() {
            return Behind::Nothing;
        }
        let Some(end) = text[at..].iter().take(60).position(|c| *c == b'>') else { return Behind::Nothing };
        let tag = text[at + 2..at + end].to_ascii_lowercase();
        if ![
            &b"key"[..],
            b"dt",
            b"td",
            b"th",
            b"name",
            b"b",
            b"strong",
            b"code",
            b"string",
            b"field",
            b"id",
            b"property",
            b"n",
        ]
        .contains(&tag.as_slice())
        {
            return Behind::Nothing;
        }
        let next = skip_space(text, at + end + 1);
        if self.byte(next) != b'<' || self.byte(next + 1) == b'/' {
            return Behind::Nothing;
        }
        match text[next..].iter().take(120).position(|c| *c == b'>') {
            Some(end) => self.content(next + end + 1, found),
            None => Behind::Nothing,
        }
    }

    /// `name | value`, alone on its line.
    fn cell(&self, at: usize, found: &mut Values) -> Behind {
        let text = self.text;
        let start = skip_blanks(text, at);
        let line = line_start(text, self.spot.start, 200);
        let before = text[line..self.spot.start].trim_ascii();
        let end = line_end(text, start);
        let rest = &text[start..end];
        let framed = !before.is_empty();
        let cells = rest.split(|c| *c == b'|').filter(|cell| !cell.trim_ascii().is_empty()).count();
        if !matches!(before, b"" | b"|" | b"\xe2\x94\x82") || cells != 1 {
            return Behind::Nothing;
        }
        let mut value = rest.trim_ascii();
        if framed {
            value =
                value.strip_suffix(b"|").or_else(|| value.strip_suffix("│".as_bytes())).unwrap_or(value).trim_ascii();
        }
        if value.starts_with(MARK) || !is_secret(self.class(), value, Place::Quoted) {
            return Behind::Nothing;
        }
        self.push(start, start + value.len(), found)
    }

    /// `--name value`.
    fn flag_value(&self, at: usize, found: &mut Values) -> Behind {
        let text = self.text;
        if self.literals(at, found) {
            return Behind::Found;
        }
        if self.byte(at) == b'-' || text[at..].starts_with(MARK) || quote_at(text, at).is_some() {
            return Behind::Nothing;
        }
        let end = bare_end(text, at);
        let value = &text[at..end];
        let class = self.class();
        if is_secret(class, value, Place::Bare)
            && (class != Class::Strong || !worth::is_prose(&text[at..line_end(text, at)]) || worth::kinds(value) > 1)
        {
            return self.push(at, end, found);
        }
        Behind::Nothing
    }

    /// `with password VALUE as user`, `bad token (VALUE)`, `password is VALUE`.
    fn prose(&self, at: usize, found: &mut Values) -> Behind {
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
            && is_secret(class, &text[start..end], Place::Prose)
        {
            return self.push(start, end, found);
        }
        Behind::Nothing
    }

    /// A header whose value has a grammar of its own.
    fn header(&self, start: usize, found: &mut Values) -> Behind {
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
    fn authorization(&self, start: usize, found: &mut Values) -> Behind {
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
    fn cookie(&self, start: usize, found: &mut Values) -> Behind {
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
    fn outer_end(&self, start: usize) -> usize {
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

/// The separator between a name and its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sign {
    Equals { tight: bool },
    Colon,
}

/// The values of a cookie header's pairs.
pub(super) fn cookie_values(text: &[u8], from: usize, end: usize) -> Values {
    let mut found = Values::new();
    let mut at = from;
    while at < end {
        let stop = memchr::memchr(b';', &text[at..end]).map_or(end, |n| at + n);
        if let Some(equals) = memchr::memchr(b'=', &text[at..stop]) {
            let name = text[at..at + equals].trim_ascii();
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

/// A value that may already hold placeholders: what is around them goes, too.
fn push_value(text: &[u8], start: usize, end: usize, found: &mut Values) {
    if end > start && !worth::stands_for_another(&text[start..end]) {
        found.push((start, end));
    }
}

/// The length of a word that joins a name to its value in a sentence, and of the space behind it.
fn connector(text: &[u8], at: usize) -> usize {
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

/// Behind the letters of a literal's prefix: `b'`, `rb"`, `f'`.
fn literal_start(text: &[u8], at: usize) -> usize {
    let letters = text[at.min(text.len())..]
        .iter()
        .take(2)
        .take_while(|c| matches!(c, b'b' | b'r' | b'f' | b'u' | b'B' | b'R' | b'@' | b'L'))
        .count();
    if letters > 0 && quote_at(text, at + letters).is_some() { at + letters } else { at }
}

/// A literal in a call that only wraps it: `SecretStr('x')`, `quote("x")`.
fn wrapped_literal(text: &[u8], at: usize) -> Option<usize> {
    let rest = &text[at.min(text.len())..text.len().min(at + 60)];
    let open = rest.iter().position(|c| !(c.is_ascii_alphanumeric() || matches!(c, b'_' | b'.')))?;
    if open == 0 || rest[open] != b'(' {
        return None;
    }
    let callee = rest[..open].to_ascii_lowercase();
    let wraps = [&b"secret"[..], b"str", b"bytes", b"pass", b"quote", b"literal", b"text", b"encode", b"token"]
        .iter()
        .any(|part| callee.windows(part.len()).any(|window| window == *part));
    let fetches = [&b"get"[..], b"env", b"load", b"read", b"fetch", b"find", b"input", b"prompt"]
        .iter()
        .any(|part| callee.windows(part.len()).any(|window| window == *part));
    let inner = at + open + 1;
    (wraps && !fetches && quote_at(text, literal_start(text, inner)).is_some()).then_some(inner)
}

/// Behind the type and size that PHP writes before a text: `string(20) "x"`.
fn sized(text: &[u8], at: usize) -> usize {
    let next = skip_space(text, at);
    let rest = &text[next.min(text.len())..text.len().min(next + 24)];
    match rest.strip_prefix(b"string(").and_then(|rest| rest.iter().position(|c| *c == b')')) {
        Some(digits) if text.get(next + digits + 9) == Some(&b'"') => next + digits + 9,
        _ => at,
    }
}

/// Behind a type annotation: `: str = "x"`, `: SecretStr | None = "x"`.
fn annotation(text: &[u8], at: usize) -> Option<usize> {
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

/// The length of a scheme word that precedes credentials.
fn scheme(value: &[u8]) -> Option<usize> {
    [&b"bearer"[..], b"basic", b"token", b"apikey", b"digest", b"negotiate", b"jwt", b"key"]
        .iter()
        .find(|word| value.eq_ignore_ascii_case(word))
        .map(|word| word.len())
}

/// The end of a value without quotes.
pub(super) fn bare_end(text: &[u8], start: usize) -> usize {
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
fn form_end(text: &[u8], end: usize) -> usize {
    let line = line_end(text, end).min(end + 200);
    let stop = text[end..line].iter().position(|c| matches!(c, b'&' | b'"' | b'\'' | b'<'));
    match stop {
        Some(n) if text[end + n] == b'&' && ends_pair(text, end + n) => end + n,
        _ => end,
    }
}

/// Whether a value is itself the name of a secret, as in a list of names.
pub(super) fn is_name(value: &[u8]) -> bool {
    let plain = value.len() < 48
        && value.iter().all(|c| c.is_ascii_alphanumeric() || matches!(c, b'_' | b'-' | b'.'))
        && value.split(|c| matches!(c, b'_' | b'-' | b'.')).all(|part| part.len() < 12 && worth::wordy(part));
    plain && lexicon().name(&String::from_utf8_lossy(value)).is_some()
}

/// `name=value`.
fn is_pair(value: &[u8]) -> bool {
    let name = value.iter().take_while(|c| c.is_ascii_alphanumeric() || matches!(c, b'_' | b'.')).count();
    (1..30).contains(&name)
        && value[0].is_ascii_alphabetic()
        && value.get(name) == Some(&b'=')
        && name + 2 < value.len()
}

fn ends_here(text: &[u8], at: usize, signs: &[u8]) -> bool {
    text.get(at).is_none_or(|c| signs.contains(c) || c.is_ascii_whitespace() || c.is_ascii_alphabetic())
}

/// Whether the bracket before `at` closes something outside the value.
fn ends_bracket(text: &[u8], at: usize) -> bool {
    text.get(at).is_none_or(|c| {
        !c.is_ascii_alphanumeric() && !matches!(c, b'!' | b'#' | b'*' | b'_' | b'+' | b'-' | b'%' | b'$')
    })
}

/// Whether the separator at `at` ends a pair: another pair, a space or the end follows.
fn ends_pair(text: &[u8], at: usize) -> bool {
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
