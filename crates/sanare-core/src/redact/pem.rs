//! Private keys in PEM: with line ends of any kind, in lists of lines, cut short at either end.

use super::place::MARK;
use super::quote::skip_space;

/// The parts of the private key whose `PRIVATE KEY` stands at `at`, and where it ends.
pub(super) fn find(text: &[u8], at: usize) -> Option<(Vec<(usize, usize)>, usize)> {
    let (mark, begins) = marker_start(text, at)?;
    let mark_end = marker_end(text, at)?;
    if !begins {
        let start = lines_before(text, mark);
        return (start < mark).then(|| (vec![(start, mark_end)], mark_end));
    }
    let body = Body { text };
    let (parts, end) = body.parts(mark, mark_end);
    Some((parts, end))
}

/// Where the dashes before `BEGIN … PRIVATE KEY` are, and whether it is `BEGIN`.
fn marker_start(text: &[u8], at: usize) -> Option<(usize, bool)> {
    let least = at.saturating_sub(60);
    let dash = memchr::memrchr(b'-', &text[least..at])? + least;
    let label = text[dash + 1..at].trim_ascii();
    let begins = label.starts_with(b"BEGIN");
    if !(begins || label.starts_with(b"END")) || label.iter().any(|c| !(c.is_ascii_alphanumeric() || *c == b' ')) {
        return None;
    }
    let dashes = text[..=dash].iter().rev().take(5).take_while(|c| **c == b'-').count();
    Some((dash + 1 - dashes, begins))
}

fn marker_end(text: &[u8], at: usize) -> Option<usize> {
    let rest = &text[at + b"PRIVATE KEY".len()..];
    let block = if rest.starts_with(b" BLOCK") { 6 } else { 0 };
    let space = usize::from(rest.get(block) == Some(&b' '));
    let dashes = rest[block + space..].iter().take(5).take_while(|c| **c == b'-').count();
    (dashes > 0).then_some(at + b"PRIVATE KEY".len() + block + space + dashes)
}

struct Body<'t> {
    text: &'t [u8],
}

impl Body<'_> {
    /// The parts of a key, cut where quotes and commas stand between its lines.
    fn parts(&self, mark: usize, mark_end: usize) -> (Vec<(usize, usize)>, usize) {
        let text = self.text;
        let mut parts = Vec::new();
        let mut part = mark;
        let mut end = mark_end;
        let mut at = mark_end;
        loop {
            let (line, between) = self.next_line(at);
            if text[line..].starts_with(MARK) || line >= text.len() {
                break;
            }
            if let Some(close) = self.closing(line) {
                if between {
                    parts.push((part, end));
                    part = line;
                }
                end = close;
                break;
            }
            let Some(stop) = self.line(line) else { break };
            if between {
                parts.push((part, end));
                part = line;
            }
            end = stop;
            at = stop;
        }
        parts.push((part, end));
        (parts, end)
    }

    /// Where the next line of the key begins, and whether quotes or commas are between.
    fn next_line(&self, at: usize) -> (usize, bool) {
        let text = self.text;
        let mut at = at;
        let mut between = false;
        for _ in 0..12 {
            let next = skip_space(text, at);
            let skipped = text[next.min(text.len())..]
                .iter()
                .enumerate()
                .take(40)
                .take_while(|(i, c)| match c {
                    b'"' | b'\'' | b',' | b'(' | b')' | b'|' | b'>' | b'\\' => true,
                    // A line of base64 may begin with it.
                    b'+' => {
                        text.get(next + i + 1).is_some_and(|c| c.is_ascii_whitespace() || matches!(c, b'"' | b'\''))
                    }
                    _ => false,
                })
                .count();
            // `\n` was skipped as space; another backslash belongs to a quote or ends a line of source.
            if skipped == 0 {
                let bytes =
                    text[next.min(text.len())..].starts_with(b"b'") || text[next.min(text.len())..].starts_with(b"b\"");
                if bytes && between {
                    at = next + 1;
                    continue;
                }
                return (next, between);
            }
            between = true;
            at = next + skipped;
        }
        (at, between)
    }

    /// The end of `-----END … PRIVATE KEY-----` if it begins at `at`.
    fn closing(&self, at: usize) -> Option<usize> {
        let rest = &self.text[at..self.text.len().min(at + 80)];
        let dashes = rest.iter().take(5).take_while(|c| **c == b'-').count();
        let label = rest[dashes..].trim_ascii_start();
        if dashes == 0 || !label.starts_with(b"END") {
            return None;
        }
        let length = rest[dashes..].iter().position(|c| *c == b'-')?;
        let tail = rest[dashes + length..].iter().take(5).take_while(|c| **c == b'-').count();
        Some(at + dashes + length + tail)
    }

    /// The end of a line of base64, or of a header such as `DEK-Info:`.
    fn line(&self, at: usize) -> Option<usize> {
        let text = self.text;
        let rest = &text[at..];
        for header in [&b"Proc-Type:"[..], b"DEK-Info:", b"Comment:", b"Version:"] {
            if rest.starts_with(header) {
                let length = rest.iter().position(|c| matches!(c, b'\n' | b'\r' | b'\\' | b'"' | b'\''))?;
                return Some(at + length);
            }
        }
        let length = rest.iter().take_while(|c| c.is_ascii_alphanumeric() || matches!(c, b'+' | b'/' | b'=')).count();
        let next = rest.get(length).copied().unwrap_or(b'\n');
        let word = next == b' ' && rest.get(length + 1).is_some_and(|c| c.is_ascii_alphabetic()) && length < 40;
        let ends =
            rest[length.min(rest.len())..].starts_with(b"\n-") || rest[length.min(rest.len())..].starts_with(b"\\n-");
        let padded = length > 0 && rest[length - 1] == b'=';
        if length == 0 || word || matches!(next, b':' | b'_' | b'(') || (length < 16 && !ends && !padded) {
            return None;
        }
        Some(at + length)
    }
}

/// The beginning of the lines of base64 that stand before `at`: a key whose beginning was cut away.
fn lines_before(text: &[u8], at: usize) -> usize {
    let mut start = at;
    loop {
        let mut end = start;
        loop {
            match text[..end].last() {
                Some(b'\n' | b'\r' | b' ' | b'\t') => end -= 1,
                Some(b'n' | b'r') if end >= 2 && text[end - 2] == b'\\' => end -= 2,
                _ => break,
            }
        }
        let length = text[..end]
            .iter()
            .rev()
            .take_while(|c| c.is_ascii_alphanumeric() || matches!(c, b'+' | b'/' | b'='))
            .count();
        let mut from = end - length;
        if from > 0 && text[from - 1] == b'\\' && length > 0 {
            from += 1;
        }
        if end == start || end - from < 16 && start != at || end <= from {
            return start;
        }
        start = from;
    }
}
