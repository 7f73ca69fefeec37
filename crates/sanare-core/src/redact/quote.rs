//! Quotes and other small grammar of texts: literals at any depth of escaping, spaces, brackets, idents.

/// An opening or closing quote: its character, how many backslashes are before it, and where it ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Quote {
    pub mark: u8,
    pub slashes: usize,
    /// Three quotes.
    pub triple: bool,
    pub end: usize,
}

/// The quote at `at`, its backslashes included.
pub(super) fn quote_at(text: &[u8], at: usize) -> Option<Quote> {
    let slashes = text.get(at..)?.iter().take(16).take_while(|c| **c == b'\\').count();
    let mark = *text.get(at + slashes)?;
    if !matches!(mark, b'"' | b'\'' | b'`') {
        return None;
    }
    let end = at + slashes + 1;
    let triple = slashes == 0 && text.get(end) == Some(&mark) && text.get(end + 1) == Some(&mark);
    Some(Quote { mark, slashes, triple, end: if triple { end + 2 } else { end } })
}

/// The quote that ends right before `at`, its backslashes included.
pub(super) fn quote_before(text: &[u8], at: usize) -> Option<Quote> {
    let mark = *text.get(at.checked_sub(1)?)?;
    if !matches!(mark, b'"' | b'\'' | b'`') {
        return None;
    }
    let slashes = text[..at - 1].iter().rev().take(16).take_while(|c| **c == b'\\').count();
    Some(Quote { mark, slashes, triple: false, end: at })
}

/// Where the text in a quote ends, and where the closing quote ends: at the same mark with the same backslashes.
pub(super) fn close(text: &[u8], quote: Quote, limit: usize) -> Option<(usize, usize)> {
    let end = text.len().min(quote.end + limit);
    let mut at = quote.end;
    while let Some(found) = memchr::memchr(quote.mark, text.get(at..end)?) {
        let mark = at + found;
        let slashes = text[quote.end..mark].iter().rev().take_while(|c| **c == b'\\').count();
        let fits = if quote.slashes == 0 {
            slashes % 2 == 0
        } else {
            slashes <= quote.slashes && slashes % 2 == quote.slashes % 2
        };
        if fits && quote.triple {
            if text.get(mark + 1) == Some(&quote.mark) && text.get(mark + 2) == Some(&quote.mark) {
                return Some((mark, mark + 3));
            }
        } else if fits {
            let own = slashes.min(quote.slashes);
            return Some((mark - own, mark + 1));
        }
        at = mark + 1;
    }
    None
}

/// The first place from `at` on that is no space or tab.
pub(super) fn skip_blanks(text: &[u8], at: usize) -> usize {
    at + text[at.min(text.len())..].iter().take(200).take_while(|c| matches!(c, b' ' | b'\t')).count()
}

/// The first place from `at` on that is no white space, written as escape or not.
pub(super) fn skip_space(text: &[u8], mut at: usize) -> usize {
    let limit = text.len().min(at + 400);
    while at < limit {
        match text[at] {
            b' ' | b'\t' | b'\n' | b'\r' => at += 1,
            b'\\' if matches!(text.get(at + 1), Some(b'n' | b'r' | b't' | b'\n')) => at += 2,
            _ => break,
        }
    }
    at
}

/// Whether a byte may stand in a name; bytes of other letters than ASCII's count.
pub(super) fn in_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b'$') || byte >= 0x80
}

/// The length of the character at `at` if it is punctuation, a box line or the like beyond ASCII.
fn sign_at(text: &[u8], at: usize) -> Option<usize> {
    match (text[at], text.get(at + 1)) {
        (0xc2, _) => Some(2),
        (0xe2, _) | (0xe3, Some(0x80)) | (0xef, Some(0xbc)) => Some(3),
        (0xf0.., _) => Some(4),
        _ => None,
    }
}

/// The whole name round `start..end`, without punctuation at its ends and without the letters of an escape before it.
pub(super) fn whole_name(text: &[u8], start: usize, end: usize, longest: usize) -> Option<(usize, usize)> {
    let least = start.saturating_sub(longest);
    let mut from = start;
    while from > least && in_name(text[from - 1]) {
        if let Some(length) = sign_at(text, from - 1) {
            from += length - 1;
            break;
        }
        from -= 1;
    }
    from = from.min(start);
    if from == least && from > 0 && in_name(text[from - 1]) {
        return None;
    }
    if from > 0 && text[from - 1] == b'\\' {
        from += match text[from] {
            b'n' | b'r' | b't' | b'b' | b'f' | b'v' | b'0' | b'a' => 1,
            b'x' => 3,
            b'u' => 5,
            _ => 0,
        };
    }
    let mut percent = from > 0 && text[from - 1] == b'%';
    while percent && from + 2 <= text.len() && text[from].is_ascii_hexdigit() && text[from + 1].is_ascii_hexdigit() {
        percent = &text[from..from + 2] == b"25";
        from += 2;
    }
    let most = text.len().min(end + longest);
    let mut to = end;
    while to < most && in_name(text[to]) && sign_at(text, to).is_none() {
        to += 1;
    }
    if to == most && to < text.len() && in_name(text[to]) && sign_at(text, to).is_none() {
        return None;
    }
    if from > start {
        from = start;
    }
    while from < start && matches!(text[from], b'-' | b'.' | b'_' | b'$') {
        from += 1;
    }
    while to > end && matches!(text[to - 1], b'-' | b'.') {
        to -= 1;
    }
    Some((from, to))
}

/// The end of the line that `at` is on, or a place far enough on a line that is longer than lines are.
pub(super) fn line_end(text: &[u8], at: usize) -> usize {
    const LONG_LINE: usize = 8 * 1024;
    let limit = text.len().min(at + LONG_LINE);
    memchr::memchr(b'\n', &text[at..limit]).map_or(limit, |found| {
        let end = at + found;
        if end > at && text[end - 1] == b'\r' { end - 1 } else { end }
    })
}

/// The beginning of the line that `at` is on, at most `limit` bytes back.
pub(super) fn line_start(text: &[u8], at: usize, limit: usize) -> usize {
    let least = at.saturating_sub(limit);
    memchr::memrchr(b'\n', &text[least..at]).map_or(least, |found| least + found + 1)
}
