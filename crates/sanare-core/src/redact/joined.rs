//! Tokens in pieces: wrapped at the end of a line, or written as literals that are joined.

/// The text from a place on with line breaks, quotes between pieces, and colour codes taken out.
pub(super) struct Joined {
    pub bytes: Vec<u8>,
    from: Vec<usize>,
    pub pieces: usize,
}

impl Joined {
    /// Joined from a place on, up to a length.
    pub fn new(text: &[u8], start: usize, length: usize) -> Self {
        let mut joined = Self { bytes: Vec::new(), from: Vec::new(), pieces: 1 };
        let mut at = start;
        let limit = text.len().min(start + length * 2);
        while at < limit && joined.bytes.len() < length {
            let byte = text[at];
            if byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'=' | b'+' | b'/' | b'.' | b'~' | b'%') {
                joined.bytes.push(byte);
                joined.from.push(at);
                at += 1;
                continue;
            }
            let gap = gap(text, at);
            if gap == 0 || joined.bytes.is_empty() {
                break;
            }
            joined.pieces += 1;
            at += gap;
        }
        joined
    }

    /// The ranges of the text that a range of the joined text came from.
    pub fn origins(&self, from: usize, to: usize) -> Vec<(usize, usize)> {
        let mut ranges: Vec<(usize, usize)> = Vec::new();
        for &at in self.from.get(from..to).unwrap_or_default() {
            match ranges.last_mut() {
                Some(last) if last.1 == at => last.1 += 1,
                _ => ranges.push((at, at + 1)),
            }
        }
        ranges
    }
}

/// The length of what may stand between two pieces of a token: a line break, or the end and beginning of a literal.
fn gap(text: &[u8], at: usize) -> usize {
    let white = |mut at: usize| {
        while at < text.len()
            && (text[at].is_ascii_whitespace() || text[at..].starts_with(b"\\\n") || text[at..].starts_with(b"\\n"))
        {
            at += if text[at] == b'\\' { 2 } else { 1 };
        }
        at
    };
    match text[at] {
        b'\n' | b'\r' => white(at) - at,
        b'\\' if matches!(text.get(at + 1), Some(b'\n' | b'n' | b'r')) => white(at) - at,
        mark @ (b'"' | b'\'') => {
            let mut next = white(at + 1);
            if matches!(text.get(next), Some(b'+' | b'.' | b'\\')) {
                next = white(next + 1);
            }
            if matches!(text.get(next), Some(b'b' | b'f' | b'r' | b'u')) {
                next += 1;
            }
            if text.get(next) == Some(&mark) { next + 1 - at } else { 0 }
        }
        _ => 0,
    }
}
