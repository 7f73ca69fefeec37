//! Elements of XML and HTML, and cells of vertical tables.

use super::{Behind, Reader, Values};
use crate::redact::place::{MARK, placeholder_end};
use crate::redact::quote::{line_end, line_start, skip_blanks, skip_space};
use crate::redact::worth::{self, Place, is_secret};

impl Reader<'_> {
    /// `<name>value</name>`, with attributes or without.
    pub(super) fn element(&self, at: usize, found: &mut Values) -> Behind {
        if !self.opens_tag() {
            return Behind::Nothing;
        }
        self.content(at, found)
    }

    /// Whether the name is that of a tag: `<name`, `<space:name`.
    pub(super) fn opens_tag(&self) -> bool {
        let open = &self.text[self.spot.start.saturating_sub(40)..self.spot.start];
        let prefix = open.strip_suffix(b":").map(|open| {
            let letters =
                open.iter().rev().take_while(|c| c.is_ascii_alphanumeric() || matches!(c, b'-' | b'_')).count();
            &open[..open.len() - letters]
        });
        open.ends_with(b"<") || prefix.is_some_and(|open| open.ends_with(b"<")) && !open.ends_with(b"<redacted:")
    }

    /// `<name type="…">value</name>`.
    pub(super) fn tag(&self, found: &mut Values) -> Behind {
        let rest = &self.text[self.spot.end..self.text.len().min(self.spot.end + 300)];
        match rest.iter().position(|c| matches!(c, b'>' | b'<' | b'\n')) {
            Some(end) if rest[end] == b'>' && (end == 0 || rest[end - 1] != b'/') => {
                self.content(self.spot.end + end + 1, found)
            }
            _ => Behind::Nothing,
        }
    }

    pub(super) fn content(&self, at: usize, found: &mut Values) -> Behind {
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
    pub(super) fn next_element(&self, at: usize, found: &mut Values) -> Behind {
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
    pub(super) fn cell(&self, at: usize, found: &mut Values) -> Behind {
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
}
