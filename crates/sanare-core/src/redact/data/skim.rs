//! Skimming JSON text: which of its values may hold a secret, without reading any of them as data.
//!
//! A value is left out if the walk over data would find nothing in it, whatever stands beside it. When in doubt it is a part,
//! and parts are read as data, so that this decides about time and never about secrets.

use super::Known;
use super::key::Key;
use crate::redact::encoded::{self, next_run};
use crate::redact::name::lexicon;
use crate::redact::quick::Quick;
use crate::redact::scan::Scanner;
use crate::redact::search::Hit;
use crate::redact::sql::parameter_names;
use std::collections::HashMap;

/// A value that must be read as data.
pub(super) struct Part {
    pub start: usize,
    pub end: usize,
    /// How many lists and mappings it is in.
    pub depth: usize,
    /// What its key says.
    pub known: Option<Known>,
}

/// Deeper text is not skimmed.
const DEEPEST: usize = 100;

/// The parts of a JSON text that may hold secrets, in order. Places of `named` count as such. Nothing if it cannot be told.
pub(super) fn skim(scanner: Scanner<'_>, text: &str, hits: &[Hit], named: &[(usize, usize)]) -> Option<Vec<Part>> {
    let mut skim = Skim::new(scanner, text, hits, named);
    skim.blanks();
    skim.value(0, false)?;
    skim.blanks();
    (skim.at == text.len()).then_some(skim.parts)
}

/// The members of a JSON mapping as they are written: names without their quotes, and values. Nothing if it is no
/// mapping, or a name has escapes.
pub(in crate::redact) fn members<'t>(scanner: Scanner<'_>, text: &'t str) -> Option<Vec<(&'t str, &'t str)>> {
    let mut skim = Skim::new(scanner, text, &[], &[]);
    let mut found = Vec::new();
    let mut next = b'{';
    loop {
        skim.blanks();
        if skim.bytes.get(skim.at) != Some(&next) {
            break;
        }
        skim.at += 1;
        next = b',';
        skim.blanks();
        let name = skim.key_and_colon()?;
        let start = skim.at;
        skim.value(1, true)?;
        if name.escapes {
            return None;
        }
        found.push((text.get(name.start..name.end)?, text.get(start..skim.at)?));
    }
    if skim.bytes.get(skim.at) != Some(&b'}') {
        return None;
    }
    skim.at += 1;
    skim.blanks();
    (skim.at == text.len()).then_some(found)
}

// What a byte in a text is.
const QUOTE: u8 = 1;
const ESCAPE: u8 = 2;
const CONTROL: u8 = 3;
/// The beginning of an escape of other writings.
const LOUD: u8 = 4;

const BYTES: [u8; 256] = {
    let mut table = [0; 256];
    let mut i = 0;
    while i < 0x20 {
        table[i] = CONTROL;
        i += 1;
    }
    table[b'"' as usize] = QUOTE;
    table[b'\\' as usize] = ESCAPE;
    table[b'%' as usize] = LOUD;
    table[b'&' as usize] = LOUD;
    table
};

// What the keys of a mapping say together.
const NAMES: u8 = 1;
const VALUES: u8 = 2;
const COLUMNS: u8 = 4;
const ROWS: u8 = 8;
const STATEMENT: u8 = 16;
/// The mapping is read as data.
const WHOLE: u8 = 32;

/// What a key says.
#[derive(Clone, Copy)]
struct Says {
    known: Option<Known>,
    flags: u8,
}

/// A text between its quotes.
#[derive(Clone, Copy)]
struct Text {
    start: usize,
    end: usize,
    escapes: bool,
    loud: bool,
}

/// What a value is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Without escapes.
    Text,
    Escaped,
    /// A list of at least two texts.
    Texts,
    List,
    Mapping,
    Other,
}

struct Skim<'t, 'h, 'r> {
    scanner: Scanner<'r>,
    text: &'t str,
    bytes: &'t [u8],
    at: usize,
    /// Keywords that end behind what was read.
    hits: &'h [Hit],
    /// Places that end behind what was read.
    named: &'h [(usize, usize)],
    keys: HashMap<&'t [u8], Says, Quick>,
    /// Texts, and whether they are names of secrets.
    words: HashMap<&'t str, bool, Quick>,
    /// Values whose meaning depends on the keys beside theirs.
    noted: Vec<(u8, Kind, usize, usize)>,
    parts: Vec<Part>,
}

impl<'t, 'h, 'r> Skim<'t, 'h, 'r> {
    fn new(scanner: Scanner<'r>, text: &'t str, hits: &'h [Hit], named: &'h [(usize, usize)]) -> Self {
        Self {
            scanner,
            text,
            bytes: text.as_bytes(),
            at: 0,
            hits,
            named,
            keys: HashMap::default(),
            words: HashMap::default(),
            noted: Vec::new(),
            parts: Vec::new(),
        }
    }

    fn blanks(&mut self) {
        while let Some(b' ' | b'\n' | b'\r' | b'\t') = self.bytes.get(self.at) {
            self.at += 1;
        }
    }

    /// Reads a value. What is `inside` a part is read only to find its end.
    fn value(&mut self, depth: usize, inside: bool) -> Option<Kind> {
        match self.bytes.get(self.at)? {
            b'"' => {
                let text = self.string()?;
                if !inside && !self.is_quiet(text) {
                    self.part(text.start - 1, depth, None);
                }
                Some(if text.escapes { Kind::Escaped } else { Kind::Text })
            }
            b'{' => self.mapping(depth, inside),
            b'[' => self.list(depth, inside),
            b't' => self.word(b"true"),
            b'f' => self.word(b"false"),
            b'n' => self.word(b"null"),
            _ => self.number(),
        }
    }

    /// What was read from `start` on is a part.
    fn part(&mut self, start: usize, depth: usize, known: Option<Known>) {
        self.parts.push(Part { start, end: self.at, depth, known });
    }

    fn string(&mut self) -> Option<Text> {
        let start = self.at + 1;
        let mut text = Text { start, end: start, escapes: false, loud: false };
        let mut at = start;
        loop {
            at += self.bytes.get(at..)?.iter().position(|c| BYTES[usize::from(*c)] != 0)?;
            match BYTES[usize::from(self.bytes[at])] {
                QUOTE => break,
                CONTROL => return None,
                ESCAPE => {
                    text.escapes = true;
                    at += 2;
                }
                _ => {
                    text.loud = true;
                    at += 1;
                }
            }
        }
        text.end = at;
        self.at = at + 1;
        Some(text)
    }

    fn word(&mut self, word: &[u8]) -> Option<Kind> {
        self.bytes[self.at..].starts_with(word).then(|| self.at += word.len())?;
        Some(Kind::Other)
    }

    fn digits(&mut self) -> usize {
        let count = self.bytes[self.at..].iter().take_while(|c| c.is_ascii_digit()).count();
        self.at += count;
        count
    }

    /// A number, unless it is so long or large that not all readers can have it.
    fn number(&mut self) -> Option<Kind> {
        if self.bytes[self.at] == b'-' {
            self.at += 1;
        }
        let zero = self.bytes.get(self.at) == Some(&b'0');
        let whole = self.digits();
        if whole == 0 || whole > 200 || zero && whole > 1 {
            return None;
        }
        if self.bytes.get(self.at) == Some(&b'.') {
            self.at += 1;
            if self.digits() == 0 {
                return None;
            }
        }
        if let Some(b'e' | b'E') = self.bytes.get(self.at) {
            self.at += 1;
            if let Some(b'+' | b'-') = self.bytes.get(self.at) {
                self.at += 1;
            }
            if !(1..=2).contains(&self.digits()) {
                return None;
            }
        }
        Some(Kind::Other)
    }

    fn list(&mut self, depth: usize, inside: bool) -> Option<Kind> {
        if depth >= DEEPEST {
            return None;
        }
        let (open, parts) = (self.at, self.parts.len());
        let (mut count, mut texts, mut stirs) = (0usize, true, false);
        let mut first = (Kind::Other, 0, 0);
        let mut table = false;
        self.at += 1;
        self.blanks();
        if self.bytes.get(self.at) == Some(&b']') {
            self.at += 1;
            return Some(Kind::List);
        }
        loop {
            let start = self.at;
            let kind = if self.bytes.get(start) == Some(&b'"') {
                let text = self.string()?;
                if !inside {
                    // Names, markers and flags are read together with the items beside them.
                    stirs |= text.escapes || self.bytes[text.start] == b'-' || self.stirs(text);
                    if !self.is_quiet(text) {
                        stirs = true;
                        self.part(start, depth + 1, None);
                    }
                }
                Kind::Text
            } else {
                texts = false;
                self.value(depth + 1, inside)?
            };
            match count {
                0 => first = (kind, start, self.at),
                1 => table = first.0 == Kind::Texts && matches!(kind, Kind::List | Kind::Texts),
                _ => {}
            }
            count += 1;
            self.blanks();
            match self.bytes.get(self.at)? {
                b',' => self.at += 1,
                b']' => break,
                _ => return None,
            }
            self.blanks();
        }
        self.at += 1;
        if inside {
            return Some(Kind::List);
        }
        if texts && stirs && count > 1 || table && (self.any_part(first.1, first.2) || self.any_name(first.1, first.2))
        {
            self.parts.truncate(parts);
            self.part(open, depth, None);
        }
        Some(if texts && count > 1 { Kind::Texts } else { Kind::List })
    }

    fn mapping(&mut self, depth: usize, inside: bool) -> Option<Kind> {
        if depth >= DEEPEST {
            return None;
        }
        let (open, parts, noted) = (self.at, self.parts.len(), self.noted.len());
        let mut all = 0;
        self.at += 1;
        self.blanks();
        if self.bytes.get(self.at) == Some(&b'}') {
            self.at += 1;
            return Some(Kind::Mapping);
        }
        loop {
            let key = self.key_and_colon()?;
            let says = if inside || all & WHOLE != 0 { Says { known: None, flags: 0 } } else { self.key(key) };
            all |= says.flags;
            let start = self.at;
            let kind = self.value(depth + 1, inside || all & WHOLE != 0 || says.known.is_some())?;
            if says.known.is_some() && all & WHOLE == 0 {
                self.part(start, depth + 1, says.known);
            }
            if says.flags & (NAMES | COLUMNS | STATEMENT) != 0 {
                self.noted.push((says.flags, kind, start, self.at));
            }
            self.blanks();
            match self.bytes.get(self.at)? {
                b',' => self.at += 1,
                b'}' => break,
                _ => return None,
            }
            self.blanks();
        }
        self.at += 1;
        if !inside && (all & WHOLE != 0 || self.tells(all, noted)) {
            self.parts.truncate(parts);
            self.part(open, depth, None);
        }
        self.noted.truncate(noted);
        Some(Kind::Mapping)
    }

    /// Reads a key up to its value.
    fn key_and_colon(&mut self) -> Option<Text> {
        if self.bytes.get(self.at) != Some(&b'"') {
            return None;
        }
        let key = self.string()?;
        self.blanks();
        if self.bytes.get(self.at) != Some(&b':') {
            return None;
        }
        self.at += 1;
        self.blanks();
        Some(key)
    }

    /// What a key says by itself.
    fn key(&mut self, key: Text) -> Says {
        let whole = Says { known: None, flags: WHOLE };
        let Some(text) = self.text.get(key.start..key.end) else { return whole };
        if key.escapes || self.is_named(key) {
            return whole;
        }
        if let Some(says) = self.keys.get(text.as_bytes()) {
            return *says;
        }
        let info = Key::of_text(text, self.scanner);
        let flag = |set: bool, flag: u8| if set { flag } else { 0 };
        let says = Says {
            known: info.name.map(|name| Known { name, direct: true }),
            flags: flag(info.names, NAMES)
                | flag(info.values, VALUES)
                | flag(info.columns, COLUMNS)
                | flag(info.rows, ROWS)
                | flag(info.statement, STATEMENT)
                | flag(!info.clean || info.label, WHOLE),
        };
        if self.keys.len() < 4096 && text.len() < 200 {
            self.keys.insert(text.as_bytes(), says);
        }
        says
    }

    /// Whether a mapping tells what the value of one key is by the value of another: a name, columns, a statement.
    fn tells(&mut self, all: u8, from: usize) -> bool {
        let (names, columns) = (all & VALUES != 0, all & ROWS != 0);
        if !(names && all & NAMES != 0 || columns && all & COLUMNS != 0 || all & STATEMENT != 0) {
            return false;
        }
        for at in from..self.noted.len() {
            let (flags, kind, start, end) = self.noted[at];
            // With a placeholder in it, it may be a name that it was not before.
            if self.any_part(start, end) {
                return true;
            }
            let inner = self.text.get(start + 1..end.saturating_sub(1)).unwrap_or_default();
            let tells = match kind {
                Kind::Text => {
                    names && flags & NAMES != 0 && self.is_name(inner.rsplit('/').next().unwrap_or_default())
                        || flags & STATEMENT != 0 && parameter_names(inner).iter().any(Option::is_some)
                }
                Kind::Texts => {
                    (names && flags & NAMES != 0 || columns && flags & COLUMNS != 0) && self.any_name(start, end)
                }
                Kind::Escaped => names && flags & NAMES != 0 || flags & STATEMENT != 0,
                Kind::List => names && flags & NAMES != 0 || columns && flags & COLUMNS != 0,
                Kind::Mapping | Kind::Other => false,
            };
            if tells {
                return true;
            }
        }
        false
    }

    /// Whether there is a part in what was read from `start` to `end`.
    fn any_part(&self, start: usize, end: usize) -> bool {
        let first = self.parts.partition_point(|part| part.start < start);
        self.parts.get(first).is_some_and(|part| part.end <= end)
    }

    fn is_name(&mut self, word: &'t str) -> bool {
        if let Some(known) = self.words.get(word) {
            return *known;
        }
        let is_name = lexicon().name(word).is_some();
        if self.words.len() < 4096 {
            self.words.insert(word, is_name);
        }
        is_name
    }

    /// Whether any text of a list of texts is, or ends as, the name of a secret.
    fn any_name(&self, start: usize, end: usize) -> bool {
        let list = self.text.get(start..end).and_then(|list| serde_json::from_str::<Vec<String>>(list).ok());
        let named = |text: &String| {
            lexicon().name(text).is_some() || lexicon().name(text.rsplit('/').next().unwrap_or_default()).is_some()
        };
        list.is_none_or(|list| list.iter().any(named))
    }

    /// Whether a keyword is in a text.
    fn stirs(&mut self, text: Text) -> bool {
        while let Some((first, rest)) = self.hits.split_first()
            && first.end <= text.start
        {
            self.hits = rest;
        }
        self.hits.iter().take_while(|hit| hit.end <= text.end).any(|hit| hit.start >= text.start)
    }

    /// Whether a value that was found elsewhere stands in a text.
    fn is_named(&mut self, text: Text) -> bool {
        while let Some((first, rest)) = self.named.split_first()
            && first.1 <= text.start
        {
            self.named = rest;
        }
        self.named.first().is_some_and(|place| place.0 < text.end)
    }

    /// Whether nothing is to be found in a text that has no name.
    fn is_quiet(&mut self, text: Text) -> bool {
        // With escapes it is not written as it reads.
        if text.escapes || self.is_named(text) {
            return false;
        }
        let bytes = &self.bytes[text.start..text.end];
        let stirs = text.loud || self.stirs(text) || bytes.len() >= encoded::SHORTEST && next_run(bytes, 0).is_some();
        !stirs || self.text.get(text.start..text.end).is_some_and(|text| self.scanner.find(text).is_empty())
    }
}
