//! One pass over a text: keywords call rules and names, runs and escapes are decoded and searched again.

use super::assign;
use super::encoded;
use super::joined::Joined;
use super::literal;
use super::name::{Class, LONGEST, Name, lexicon};
use super::pem;
use super::personal;
use super::place::{Finding, placeholder_end};
use super::quick::Quick;
use super::quote::whole_name;
use super::repeat::repeats;
use super::rule::{Rules, Trigger};
use super::search::Hit;
use super::sql;
use super::table;
use super::url;
use super::view;
use super::worth;
use regex::bytes::Regex;
use std::collections::HashMap;

/// How deep escapes and encodings are followed.
const DEEPEST: u8 = 4;

/// The rules and switches of a scan.
#[derive(Clone, Copy)]
pub(super) struct Scanner<'r> {
    pub rules: &'r Rules,
    pub personal: bool,
    /// Rules of the user.
    pub extra: &'r [(String, Regex)],
}

impl<'r> Scanner<'r> {
    /// Whether a text has any keyword in it.
    pub fn stirs(self, text: &str) -> bool {
        self.rules.search.as_ref().is_none_or(|search| !search.hits(text.as_bytes()).is_empty())
    }

    /// Everything that must go from a text, in no order and with overlap.
    pub fn find(self, text: &str) -> Vec<Finding<'r>> {
        let mut found = Vec::new();
        self.level(text.as_bytes(), 0, &mut found);
        if !found.is_empty() {
            repeats(text.as_bytes(), &mut found);
        }
        found
    }

    fn level(self, text: &[u8], depth: u8, found: &mut Vec<Finding<'r>>) {
        #[cfg(test)]
        super::tests::may_panic();
        let Some(search) = &self.rules.search else {
            // Without its keywords the redactor cannot read: everything goes.
            found.push(Finding { start: 0, end: text.len(), rule: "unreadable", shaped: true, repeats: false });
            return;
        };
        let hits = search.hits(text);
        let before = found.len();
        let mut pass = Pass::new(self, text, depth, found);
        for hit in &hits {
            pass.hit(hit);
        }
        pass.tables();
        pass.runs();
        if self.personal {
            pass.personal();
        }
        pass.extra();
        pass.views();
        let marks = std::mem::take(&mut pass.marks);
        if !marks.is_empty() {
            spare(&marks, found, before);
        }
    }
}

/// Placeholders stay: what lies in one is no finding, what reaches into one begins or ends beside it.
fn spare(marks: &[(usize, usize)], found: &mut Vec<Finding<'_>>, from: usize) {
    for finding in &mut found[from..] {
        let mut first = marks.partition_point(|mark| mark.1 <= finding.start);
        while let Some(mark) = marks.get(first).filter(|mark| mark.0 <= finding.start) {
            finding.start = mark.1;
            first += 1;
        }
        let mut last = marks.partition_point(|mark| mark.0 < finding.end);
        while let Some(mark) = last.checked_sub(1).map(|i| marks[i]).filter(|mark| mark.1 >= finding.end) {
            finding.end = mark.0;
            last -= 1;
        }
    }
    let rest = found.split_off(from);
    found.extend(rest.into_iter().filter(|finding| finding.start < finding.end));
}

struct Pass<'r, 't, 'f> {
    scanner: Scanner<'r>,
    text: &'t [u8],
    depth: u8,
    found: &'f mut Vec<Finding<'r>>,
    /// Behind the last name that was read.
    names_done: usize,
    /// Behind the last placeholder.
    marked: usize,
    marks: Vec<(usize, usize)>,
    /// For each rule the end of its last finding.
    rules_done: Vec<(usize, usize)>,
    /// Bytes that rules may still look at; text made to be slow runs out of it.
    fuel: usize,
    pem_done: usize,
    sql: bool,
    labels: Vec<usize>,
    urls_done: usize,
    values_done: usize,
    odd: Vec<usize>,
    headers: Vec<assign::Spot>,
    names: HashMap<Box<[u8]>, Option<Name>, Quick>,
    memo: assign::Memo,
}

impl<'r, 't, 'f> Pass<'r, 't, 'f> {
    fn new(scanner: Scanner<'r>, text: &'t [u8], depth: u8, found: &'f mut Vec<Finding<'r>>) -> Self {
        Self {
            scanner,
            text,
            depth,
            found,
            names_done: 0,
            marked: 0,
            marks: Vec::new(),
            rules_done: Vec::new(),
            fuel: text.len() * 24 + (1 << 16),
            pem_done: 0,
            sql: false,
            labels: Vec::new(),
            urls_done: 0,
            values_done: 0,
            odd: Vec::new(),
            headers: Vec::new(),
            names: HashMap::default(),
            memo: assign::Memo::of(text),
        }
    }

    fn add(&mut self, start: usize, end: usize, rule: &'r str, shaped: bool, repeats: bool) {
        self.found.push(Finding { start, end, rule, shaped, repeats });
    }

    fn hit(&mut self, hit: &Hit) {
        let (start, end) = (hit.start, hit.end);
        let rules = self.scanner.rules;
        for trigger in &rules.triggers[hit.keyword] {
            match trigger {
                Trigger::Placeholder => {
                    if let Some(end) = placeholder_end(self.text, start) {
                        self.marked = end;
                        self.marks.push((start, end));
                    }
                }
                _ if start < self.marked => {}
                Trigger::Name { any } => {
                    if *any || !self.plain_word(end) {
                        self.name(start, end);
                    }
                }
                Trigger::Rule(index) => self.rule(*index, start, end),
                Trigger::Url => {
                    if end < self.urls_done {
                        return;
                    }
                    let (seen, secret) = url::find(self.text, end);
                    self.urls_done = seen;
                    if let Some((start, end, rule)) = secret {
                        self.add(start, end, rule, false, worth::is_telling(&self.text[start..end]));
                    }
                }
                Trigger::Pem => self.pem(start),
                Trigger::Sql => self.sql = true,
                Trigger::Label => self.labels.push(end),
                Trigger::Odd => self.odd.push(start),
                Trigger::At => {
                    if let Some((start, end)) = personal::email(self.text, start) {
                        self.add(start, end, "email", false, false);
                    }
                }
            }
        }
    }

    fn rule_done(&mut self, index: usize, end: usize) {
        match self.rules_done.iter_mut().find(|(rule, _)| *rule == index) {
            Some(done) => done.1 = end,
            None => self.rules_done.push((index, end)),
        }
    }

    fn rule(&mut self, index: usize, start: usize, end: usize) {
        let rule = &self.scanner.rules.list[index];
        if self.rules_done.iter().any(|(rule, done)| *rule == index && start < *done)
            || !rule.called(self.text, start, end)
        {
            return;
        }
        let cost = 16 + rule.text.window.min(self.text.len() - start);
        if self.fuel < cost {
            // Made to be slow: the word goes unread.
            let stop = start + self.text[start..].iter().take(4096).take_while(|c| !c.is_ascii_whitespace()).count();
            self.add(start, stop, "unreadable", false, false);
            self.rule_done(index, stop);
            return;
        }
        match rule.find(self.text, start, end) {
            Some((from, to)) => {
                self.rule_done(index, to.max(end));
                self.add(from, to, &rule.text.id, true, true);
                self.fuel -= (to - from.min(start)).min(self.fuel);
            }
            None => {
                self.fuel -= cost.min(self.fuel);
                if rule.text.telling {
                    self.broken(index, start, end);
                }
            }
        }
    }

    /// A telling prefix whose token is cut short, wrapped, or written in pieces.
    fn broken(&mut self, index: usize, start: usize, end: usize) {
        let rule = &self.scanner.rules.list[index];
        let text = self.text;
        let token = end
            + text[end..]
                .iter()
                .take(400)
                .take_while(|c| c.is_ascii_alphanumeric() || matches!(c, b'_' | b'-' | b'=' | b'+' | b'/' | b'.'))
                .count();
        let joined = Joined::new(text, start, rule.text.window.min(1024));
        if joined.pieces > 1
            && let Some((from, to)) = rule.find(&joined.bytes, 0, end - start)
            && from == 0
        {
            for (start, end) in joined.origins(from, to) {
                self.add(start, end, &rule.text.id, true, true);
            }
            return;
        }
        let rest = &text[token..];
        let cut = rest.is_empty()
            || rest.starts_with("…".as_bytes())
            || text[end..token].ends_with(b"...")
            || matches!(rest[0], b'"' | b'\'' | b'\n' | b' ' | b')' | b',');
        let value = text[end..token].strip_suffix(b"...").unwrap_or(&text[end..token]);
        let real = value.len() >= 4
            && value.iter().any(u8::is_ascii_digit)
            && value.iter().any(u8::is_ascii_alphabetic)
            && !worth::stands_for_another(value);
        if cut && real && worth::looks_random(value, if value.len() < 8 { 4 } else { 8 }) {
            self.add(start, end + value.len(), &rule.text.id, true, false);
        }
    }

    fn pem(&mut self, at: usize) {
        if at < self.pem_done {
            return;
        }
        if let Some((parts, end)) = pem::find(self.text, at) {
            for (start, end) in parts {
                self.add(start, end, "private-key", true, false);
            }
            self.pem_done = end;
        }
    }

    /// Whether the name that goes on at `end` has a short word as its value, as most `key=` have.
    fn plain_word(&self, end: usize) -> bool {
        let mut rest = self.text[end..].iter().copied();
        if rest.next() != Some(b'=') {
            return false;
        }
        let mut letters = 0;
        let next = rest.find(|c| {
            letters += 1;
            !c.is_ascii_lowercase() || letters > 15
        });
        letters > 1 && matches!(next, Some(b' ' | b'\n'))
    }

    fn name(&mut self, start: usize, end: usize) {
        let start = start + usize::from(self.text[start] == b' ');
        let end = end - usize::from(self.text[end - 1] == b' ');
        if start < self.names_done {
            return;
        }
        let names = &mut self.names;
        let mut name_of = |name: &str| -> Option<Name> {
            if let Some(known) = names.get(name.as_bytes()) {
                return *known;
            }
            let class = lexicon().name(name);
            if names.len() < 4096 {
                names.insert(name.as_bytes().into(), class);
            }
            class
        };
        let Some((from, to)) = whole_name(self.text, start, end, LONGEST) else { return };
        self.names_done = to;
        let Some(spot) = assign::spot(self.text, from, to, &mut name_of) else { return };
        if spot.start < self.values_done && spot.end <= self.values_done {
            return;
        }
        let values = assign::values(self.text, spot, &self.memo);
        if values.is_empty() {
            let next = self.text.get(spot.end).copied().unwrap_or(b'\n');
            let alone = matches!(
                next,
                b' ' | b'\t' | b'\n' | b'\r' | b',' | b';' | b'|' | b'"' | b'\'' | b'\\' | b')' | b'<' | 0xe2
            );
            let parameter =
                next == b'=' && matches!(self.text.get(spot.end + 1), Some(b'?' | b'%' | b':' | b'$' | b'@'));
            if spot.name.class <= Class::Strong && (alone || parameter) {
                self.headers.push(spot);
            }
            return;
        }
        for (start, end) in values {
            let value = &self.text[start..end];
            let repeats = worth::is_telling(value);
            self.add(start, end, spot.name.rule, false, repeats);
            self.values_done = self.values_done.max(end);
        }
    }

    fn tables(&mut self) {
        let headers = std::mem::take(&mut self.headers);
        let quoted = |spot: &assign::Spot| self.text.get(spot.end).is_some_and(|c| matches!(c, b'"' | b'\'' | b'\\'));
        if headers.iter().any(quoted) {
            literal::find(self.scanner, self.text, self.found);
        }
        let mut done = 0;
        for (index, spot) in headers.iter().enumerate() {
            if self.sql {
                for (start, end) in sql::values(self.text, spot) {
                    self.add(start, end, spot.name.rule, false, worth::is_telling(&self.text[start..end]));
                }
            }
            if spot.start < done {
                continue;
            }
            let (cells, end) = table::cells(self.text, spot, &headers[index..]);
            for (start, end, rule) in cells {
                self.add(start, end, rule, false, worth::is_telling(&self.text[start..end]));
            }
            done = end;
        }
    }

    /// Base64 and hex: if there is a secret in what a run stands for, the run goes.
    fn runs(&mut self) {
        if self.depth >= DEEPEST {
            return;
        }
        let mut at = 0;
        while let Some((start, end)) = encoded::next_run(self.text, at) {
            at = end;
            let Some(bytes) = encoded::decode(&self.text[start..end]) else { continue };
            let mut inner = Vec::new();
            Scanner { personal: false, ..self.scanner }.level(&bytes, self.depth + 2, &mut inner);
            if let Some(first) = inner.first() {
                let padding = self.text[end..].iter().take(2).take_while(|c| **c == b'=').count();
                self.add(start, end + padding, first.rule, true, true);
            }
        }
    }

    fn extra(&mut self) {
        for (id, regex) in self.scanner.extra {
            for captures in regex.captures_iter(self.text) {
                let Some(hit) = captures.name("secret").or_else(|| captures.get(0)) else { continue };
                if !worth::stands_for_another(hit.as_bytes()) {
                    self.add(hit.start(), hit.end(), id, true, true);
                }
            }
        }
    }

    fn personal(&mut self) {
        for (start, end, rule) in personal::find(self.text, &self.labels) {
            self.add(start, end, rule, false, false);
        }
    }

    /// Escapes are decoded one level at a time, in the regions that have any.
    fn views(&mut self) {
        if self.depth >= DEEPEST {
            return;
        }
        for region in view::regions(self.text, &self.odd) {
            let Some(view) = view::decode(self.text, region) else { continue };
            let mut inner = Vec::new();
            self.scanner.level(&view.bytes, self.depth + 1, &mut inner);
            for finding in inner {
                let origin = view.origin(finding.start, finding.end);
                self.found.push(Finding { start: origin.start, end: origin.end, ..finding });
            }
        }
    }
}
