//! Views: a text with one level of escapes taken away, and for each byte of the view the place it came from.
//!
//! Backslash, percent and HTML escapes are decoded; colour codes, NULs and invisible characters are left out, so that
//! a secret that is written with them reads as one.

use std::ops::Range;

/// A decoded part of a text.
pub(super) struct View {
    /// The decoded bytes; not always UTF-8.
    pub bytes: Vec<u8>,
    starts: Vec<u32>,
    ends: Vec<u32>,
}

impl View {
    fn with_capacity(capacity: usize) -> Self {
        Self {
            bytes: Vec::with_capacity(capacity),
            starts: Vec::with_capacity(capacity),
            ends: Vec::with_capacity(capacity),
        }
    }

    fn push(&mut self, bytes: &[u8], start: usize, end: usize) {
        for byte in bytes {
            self.bytes.push(*byte);
            self.starts.push(start as u32);
            self.ends.push(end as u32);
        }
    }

    /// The range of the text that a range of the view came from.
    pub fn origin(&self, start: usize, end: usize) -> Range<usize> {
        if start >= end || end > self.bytes.len() {
            return 0..0;
        }
        self.starts[start] as usize..self.ends[end - 1] as usize
    }
}

/// One unit of a text: the escape or byte at `at`, what it stands for, and its length.
struct Unit {
    bytes: [u8; 4],
    count: usize,
    length: usize,
}

/// The view of a range of a text, or nothing if there is nothing to decode in it.
pub(super) fn decode(text: &[u8], range: Range<usize>) -> Option<View> {
    let mut view = View::with_capacity(range.len());
    let mut at = range.start;
    let mut changed = false;
    while at < range.end {
        let Some(unit) = unit(text, at) else {
            view.push(&text[at..at + 1], at, at + 1);
            at += 1;
            continue;
        };
        changed = true;
        let end = (at + unit.length).min(text.len());
        view.push(&unit.bytes[..unit.count], at, end);
        at = end;
    }
    changed.then_some(view)
}

/// Ranges of a text that hold escapes worth decoding, each with enough around it to read names and whole words.
pub(super) fn regions(text: &[u8], odd: &[usize]) -> Vec<Range<usize>> {
    const AROUND: usize = 128;
    let mut spots = odd.iter().copied().peekable();
    let mut regions: Vec<Range<usize>> = Vec::new();
    let mut add = |at: usize| {
        if regions.last().is_some_and(|last| at + 8 < last.end) {
            return;
        }
        let start = word_start(text, at.saturating_sub(AROUND));
        let end = word_end(text, (at + AROUND).min(text.len()));
        match regions.last_mut() {
            Some(last) if start <= last.end => last.end = last.end.max(end),
            _ => regions.push(start..end),
        }
    };
    for at in memchr::memchr3_iter(b'\\', b'%', b'&', text) {
        while spots.peek().is_some_and(|spot| *spot < at) {
            add(spots.next().unwrap_or(at));
        }
        if telling(text, at) {
            add(at);
        }
    }
    for spot in spots {
        add(spot);
    }
    regions
}

/// Whether the escape at `at` hides something; `\n`, `\"` and the like are read as they stand.
fn telling(text: &[u8], at: usize) -> bool {
    let next = text.get(at + 1).copied().unwrap_or(b' ');
    match text[at] {
        b'\\' => matches!(next, b'u' | b'U' | b'x' | b'/' | b'\\' | b'0'..=b'7'),
        b'%' => next.is_ascii_hexdigit() && text.get(at + 2).is_some_and(u8::is_ascii_hexdigit),
        _ => (next == b'#' || next.is_ascii_alphabetic()) && entity(text, at).is_some(),
    }
}

const FAR: usize = 16 * 1024;

fn word_start(text: &[u8], at: usize) -> usize {
    let least = at.saturating_sub(FAR);
    (least..at).rev().find(|&i| ends_word(text[i])).map_or(least, |i| i + 1)
}

fn word_end(text: &[u8], at: usize) -> usize {
    let most = (at + FAR).min(text.len());
    (at..most).find(|&i| ends_word(text[i])).unwrap_or(most)
}

fn ends_word(byte: u8) -> bool {
    byte == b' ' || byte == b'\n' || byte == b'"' || byte == b'\''
}

fn unit(text: &[u8], at: usize) -> Option<Unit> {
    match text[at] {
        b'\\' => backslash(text, at),
        b'%' => {
            let value = hex(text, at + 1, 2)?;
            Some(byte(value as u8, 3))
        }
        b'&' => entity(text, at),
        0 => Some(nothing(1)),
        0x1b => colour(text, at),
        // Zero-width characters, word joiner, byte order mark, soft hyphen.
        0xe2 if text.get(at + 1) == Some(&0x80) && matches!(text.get(at + 2), Some(0x8b..=0x8f)) => Some(nothing(3)),
        0xe2 if text.get(at + 1) == Some(&0x81) && text.get(at + 2) == Some(&0xa0) => Some(nothing(3)),
        // Typographic quotes and wide signs stand for plain ones.
        0xe2 if text.get(at + 1) == Some(&0x80) && matches!(text.get(at + 2), Some(0x9c..=0x9f)) => Some(byte(b'"', 3)),
        0xe2 if text.get(at + 1) == Some(&0x80) && matches!(text.get(at + 2), Some(0x98..=0x9b)) => {
            Some(byte(b'\'', 3))
        }
        0xc2 if matches!(text.get(at + 1), Some(0xab | 0xbb)) => Some(byte(b'"', 2)),
        0xef if text.get(at + 1) == Some(&0xbc) && matches!(text.get(at + 2), Some(0x81..=0xbf)) => {
            Some(byte(text[at + 2] - 0x60, 3))
        }
        0xe3 if text.get(at + 1) == Some(&0x80) && matches!(text.get(at + 2), Some(0x80..=0x82)) => Some(byte(b' ', 3)),
        0xef if text.get(at + 1) == Some(&0xbb) && text.get(at + 2) == Some(&0xbf) => Some(nothing(3)),
        0xc2 if text.get(at + 1) == Some(&0xad) => Some(nothing(2)),
        _ => None,
    }
}

fn byte(value: u8, length: usize) -> Unit {
    if value == 0 { nothing(length) } else { Unit { bytes: [value, 0, 0, 0], count: 1, length } }
}

fn nothing(length: usize) -> Unit {
    Unit { bytes: [0; 4], count: 0, length }
}

fn character(code: u32, length: usize) -> Option<Unit> {
    if code == 0 {
        return Some(nothing(length));
    }
    let mut bytes = [0; 4];
    let count = char::from_u32(code)?.encode_utf8(&mut bytes).len();
    Some(Unit { bytes, count, length })
}

fn backslash(text: &[u8], at: usize) -> Option<Unit> {
    let next = *text.get(at + 1)?;
    let simple = match next {
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        b'"' | b'\'' | b'\\' | b'/' | b'`' => next,
        b'e' => 0x1b,
        b'x' => return Some(byte(hex(text, at + 2, 2)? as u8, 4)),
        b'u' if text.get(at + 2) == Some(&b'{') => {
            let close = text[at + 3..].iter().take(7).position(|c| *c == b'}')?;
            return character(hex(text, at + 3, close)?, close + 4);
        }
        b'u' => return surrogate(text, at).or_else(|| character(hex(text, at + 2, 4)?, 6)),
        b'U' => return character(hex(text, at + 2, 8)?, 10),
        b'0'..=b'7' => {
            let digits = text[at + 1..].iter().take(3).take_while(|c| matches!(c, b'0'..=b'7')).count();
            if digits != 3 && !(digits == 1 && next == b'0') {
                return None;
            }
            let value = text[at + 1..at + 1 + digits].iter().fold(0u32, |sum, c| sum * 8 + u32::from(c - b'0'));
            return (value < 256).then(|| byte(value as u8, 1 + digits));
        }
        b'\n' => return Some(nothing(2)),
        _ => return None,
    };
    Some(byte(simple, 2))
}

fn surrogate(text: &[u8], at: usize) -> Option<Unit> {
    let high = hex(text, at + 2, 4)?;
    if !(0xd800..0xdc00).contains(&high) || text.get(at + 6..at + 8)? != b"\\u" {
        return None;
    }
    let low = hex(text, at + 8, 4)?;
    (0xdc00..0xe000).contains(&low).then(|| character(0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00), 12))?
}

fn entity(text: &[u8], at: usize) -> Option<Unit> {
    let rest = &text[at..text.len().min(at + 10)];
    for (name, value) in [
        (&b"&amp;"[..], b'&'),
        (b"&quot;", b'"'),
        (b"&lt;", b'<'),
        (b"&gt;", b'>'),
        (b"&apos;", b'\''),
        (b"&nbsp;", b' '),
        (b"&equals;", b'='),
    ] {
        if rest.starts_with(name) {
            return Some(byte(value, name.len()));
        }
    }
    let number = rest.strip_prefix(b"&#")?;
    let end = number.iter().position(|c| *c == b';')?;
    let digits = std::str::from_utf8(&number[..end]).ok()?;
    let code = match digits.strip_prefix(['x', 'X']) {
        Some(digits) => u32::from_str_radix(digits, 16).ok()?,
        None => digits.parse().ok()?,
    };
    character(code, end + 3)
}

fn colour(text: &[u8], at: usize) -> Option<Unit> {
    if text.get(at + 1) != Some(&b'[') {
        return None;
    }
    let body =
        text[at + 2..].iter().take(24).take_while(|c| c.is_ascii_digit() || matches!(c, b';' | b':' | b'?')).count();
    text.get(at + 2 + body).is_some_and(u8::is_ascii_alphabetic).then(|| nothing(body + 3))
}

fn hex(text: &[u8], at: usize, digits: usize) -> Option<u32> {
    let text = std::str::from_utf8(text.get(at..at + digits)?).ok()?;
    if digits == 0 || text.starts_with('+') {
        return None;
    }
    u32::from_str_radix(text, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        let view = decode(text.as_bytes(), 0..text.len());
        let bytes = view.map_or_else(|| text.as_bytes().to_vec(), |view| view.bytes);
        assert_eq!(String::from_utf8_lossy(&bytes), expected, "{text}");
    }

    #[test]
    fn escapes() {
        check(r"\u0061\x62\143 %41%c3%a9 &amp;&#65;&#x42;", "abc Aé &AB");
        check("a\x1b[1;31mb\x1b[0m\0c\u{200b}d", "abcd");
        check(r#"\"x\" \\n \ud83d\ude00"#, "\"x\" \\n 😀");
        check("100% of 5%", "100% of 5%");
    }

    #[test]
    fn origins() {
        let text = br"a=\u0062\u0063d";
        let view = decode(text, 0..text.len()).map(|view| (view.origin(2, 4), view.bytes.len()));
        assert_eq!(view, Some((2..14, 5)));
    }
}
