//! Data written in a text, as JSON or as Python writes it: read leniently, so that what is secret by its structure (a
//! column of a table, the name beside a value) is found there as well as in data.

use super::place::Finding;
use super::quote::{close, quote_at, skip_space};
use super::scan::Scanner;
use super::worth::is_telling;
use serde_json::{Map, Value};

/// How deep brackets are followed.
const DEEPEST: usize = 40;

/// A text in the data: its range without quotes.
type Leaf = (usize, usize);

/// What is secret by its structure in the data that a text holds.
pub(super) fn find<'r>(scanner: Scanner<'r>, text: &[u8], found: &mut Vec<Finding<'r>>) {
    let mut fuel = text.len() * 2;
    let mut at = 0;
    while let Some(open) = memchr::memchr2(b'{', b'[', &text[at..]).map(|n| at + n) {
        let mut reader = Reader { text, at: open, leaves: Vec::new() };
        let value = reader.value(0);
        fuel = fuel.saturating_sub(reader.at - open + 8);
        match value {
            Some(value) => {
                compare(scanner, text, value, &reader.leaves, found);
                at = reader.at;
            }
            None => at = open + 1,
        }
        if fuel == 0 {
            return;
        }
    }
}

/// Texts that the structure makes secret as a whole.
fn compare<'r>(scanner: Scanner<'r>, text: &[u8], before: Value, leaves: &[Leaf], found: &mut Vec<Finding<'r>>) {
    let mut after = before.clone();
    super::data::by_structure(scanner, &mut after);
    let mut index = 0;
    pairs(&before, &after, &mut |old, new| {
        if let Some(leaf) = leaves.get(index)
            && old != new
            && let Some(rule) = super::data::rule_of(new)
        {
            found.push(Finding {
                start: leaf.0,
                end: leaf.1,
                rule,
                shaped: false,
                repeats: is_telling(&text[leaf.0..leaf.1]),
            });
        }
        index += 1;
    });
}

/// The texts of two values of the same structure, in order.
fn pairs(before: &Value, after: &Value, each: &mut dyn FnMut(&str, &str)) {
    match (before, after) {
        (Value::String(old), Value::String(new)) => each(old, new),
        (Value::Array(old), Value::Array(new)) => old.iter().zip(new).for_each(|(old, new)| pairs(old, new, each)),
        (Value::Object(old), Value::Object(new)) => {
            old.values().zip(new.values()).for_each(|(old, new)| pairs(old, new, each));
        }
        _ => {}
    }
}

struct Reader<'t> {
    text: &'t [u8],
    at: usize,
    leaves: Vec<Leaf>,
}

impl Reader<'_> {
    fn byte(&self) -> u8 {
        self.text.get(self.at).copied().unwrap_or(0)
    }

    fn value(&mut self, depth: usize) -> Option<Value> {
        if depth > DEEPEST {
            return None;
        }
        match self.byte() {
            b'{' => self.map(depth),
            b'[' => self.list(b']', depth),
            b'(' => self.list(b')', depth),
            _ => self.text_or_word(),
        }
    }

    fn text_or_word(&mut self) -> Option<Value> {
        if let Some((start, end)) = self.literal() {
            self.leaves.push((start, end));
            return Some(Value::String(String::from_utf8_lossy(&self.text[start..end]).into_owned()));
        }
        // Numbers, `None`, `true`, `Decimal(…)`: of no interest, but they must be read to go on.
        let start = self.at;
        while self.at < self.text.len()
            && !matches!(self.byte(), b',' | b'}' | b']' | b')' | b':' | b'\n' | b'"' | b'\'' | b'{' | b'[')
        {
            self.at += 1;
            if self.at - start > 200 {
                return None;
            }
            if self.byte() == b'(' {
                self.at += self.text[self.at..].iter().take(200).position(|c| *c == b')')? + 1;
            }
        }
        (self.at > start).then_some(Value::Null)
    }

    /// The text of a literal, and the place behind it.
    fn literal(&mut self) -> Option<Leaf> {
        let prefix = usize::from(matches!(self.byte(), b'b' | b'u' | b'r'));
        let quote = quote_at(self.text, self.at).or_else(|| quote_at(self.text, self.at + prefix))?;
        let (end, next) = close(self.text, quote, 8192)?;
        self.at = next;
        Some((quote.end, end))
    }

    fn list(&mut self, closing: u8, depth: usize) -> Option<Value> {
        self.at += 1;
        let mut items = Vec::new();
        loop {
            self.at = skip_space(self.text, self.at);
            if self.byte() == closing {
                self.at += 1;
                return Some(Value::Array(items));
            }
            items.push(self.value(depth + 1)?);
            self.at = skip_space(self.text, self.at);
            match self.byte() {
                b',' => self.at += 1,
                byte if byte == closing => {}
                _ => return None,
            }
        }
    }

    fn map(&mut self, depth: usize) -> Option<Value> {
        self.at += 1;
        let mut map = Map::new();
        loop {
            self.at = skip_space(self.text, self.at);
            if self.byte() == b'}' {
                self.at += 1;
                return Some(Value::Object(map));
            }
            let start = self.at;
            let key = match self.literal() {
                Some((start, end)) => String::from_utf8_lossy(&self.text[start..end]).into_owned(),
                None => {
                    self.text_or_word()?;
                    String::from_utf8_lossy(&self.text[start..self.at]).trim().to_owned()
                }
            };
            self.at = skip_space(self.text, self.at);
            if self.byte() != b':' {
                return None;
            }
            self.at = skip_space(self.text, self.at + 1);
            let value = self.value(depth + 1)?;
            // The same key twice would put the leaves out of step.
            if map.insert(key, value).is_some() {
                return None;
            }
            self.at = skip_space(self.text, self.at);
            match self.byte() {
                b',' => self.at += 1,
                b'}' => {}
                _ => return None,
            }
        }
    }
}
