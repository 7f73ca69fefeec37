//! Addresses: of mail, and of machines on the public network.

use super::{Hit, has, label};

/// The e-mail address round the `@` at `at`.
pub(in crate::redact) fn email(text: &[u8], at: usize) -> Option<(usize, usize)> {
    let local = text[..at]
        .iter()
        .rev()
        .take(65)
        .take_while(|c| {
            c.is_ascii_alphanumeric() || matches!(c, b'.' | b'_' | b'%' | b'+' | b'-' | b'\'') || **c >= 0x80
        })
        .count();
    let mut start = at - local;
    while start < at && matches!(text[start], b'.' | b'\'' | b'-' | b'%' | b'+') {
        start += 1;
    }
    if start == at || local > 64 {
        return None;
    }
    let domain = text[at + 1..]
        .iter()
        .take(254)
        .take_while(|c| c.is_ascii_alphanumeric() || matches!(c, b'.' | b'-') || **c >= 0x80)
        .count();
    let mut end = at + 1 + domain;
    while end > at + 1 && matches!(text[end - 1], b'.' | b'-') {
        end -= 1;
    }
    let host = &text[at + 1..end];
    let dot = memchr::memrchr(b'.', host)?;
    let top = &host[dot + 1..];
    let good = dot > 0 && top.len() >= 2 && top.iter().all(u8::is_ascii_alphabetic);
    // `git@host:path` and `//user@host` are places of programs.
    let service = text.get(end) == Some(&b':')
        && text.get(end + 1).is_some_and(|c| c.is_ascii_alphanumeric() || matches!(c, b'/' | b'~'))
        || text.get(end) == Some(&b'/');
    let address = text[..start].ends_with(b"://")
        || start > 0
            && matches!(text[start - 1], b':' | b'/')
            && text[start.saturating_sub(60)..start].windows(2).any(|two| two == b"//" || two == b"\\/");
    (good && !service && !address && host[0] != b'.').then_some((start, end))
}

pub(super) fn ipv4(text: &[u8], start: usize) -> Option<Hit> {
    let mut parts = [0u32; 4];
    let mut at = start;
    for (index, part) in parts.iter_mut().enumerate() {
        let count = text[at..].iter().take(4).take_while(|c| c.is_ascii_digit()).count();
        if count == 0 || count > 3 || count > 1 && text[at] == b'0' {
            return None;
        }
        *part = text[at..at + count].iter().fold(0, |sum, c| sum * 10 + u32::from(c - b'0'));
        at += count;
        if index < 3 {
            if text.get(at) != Some(&b'.') {
                return None;
            }
            at += 1;
        }
    }
    if parts.iter().any(|part| *part > 255)
        || start > 0 && matches!(text[start - 1], b'.' | b'-' | b'v' | b'=') && text[start - 1] != b'='
        || text.get(at).is_some_and(|c| c.is_ascii_alphanumeric() || *c == b'-')
        || text.get(at) == Some(&b'.') && text.get(at + 1).is_some_and(u8::is_ascii_digit)
    {
        return None;
    }
    let private = matches!(
        parts,
        [0 | 10 | 127 | 255, ..]
            | [172, 16..=31, ..]
            | [192, 168, ..]
            | [169, 254, ..]
            | [100, 64..=127, ..]
            | [192, 0, 2, _]
            | [198, 51, 100, _]
            | [203, 0, 113, _]
    ) || parts[0] >= 224;
    let label = label(text, start);
    let version = has(
        &label,
        &[
            "version",
            "driver",
            "schema",
            "release",
            "requires",
            "python",
            "build",
            "pandas",
            "numpy",
            "openssl",
            "upgrade",
            "firmware",
            "sdk",
            "client version",
            "ver",
            "oid",
            "section",
            "chapter",
        ],
    );
    let small = parts.iter().all(|part| *part < 40);
    let told = has(&label, &["ip", "addr", "client", "peer", "host", "remote", "from"]);
    (!private && !version && (!small || told)).then_some((start, at, "ip-address"))
}

/// The address whose first group is the word at `start..end`.
pub(super) fn ipv6(text: &[u8], start: usize, end: usize) -> Option<Hit> {
    if end - start > 4 || text.get(end) != Some(&b':') || start > 0 && matches!(text[start - 1], b':' | b'.') {
        return None;
    }
    let hex = |c: &u8| c.is_ascii_hexdigit() || *c == b':';
    let end = start + text[start..].iter().take(45).take_while(|c| hex(c)).count();
    let span = &text[start..end];
    let colons = span.iter().filter(|c| **c == b':').count();
    if colons < 3 || text.get(end).is_some_and(|c| c.is_ascii_alphanumeric()) {
        return None;
    }
    let text = std::str::from_utf8(span).ok()?.trim_end_matches(|c| c == ':' && !span.ends_with(b"::"));
    let address: std::net::Ipv6Addr = text.parse().ok()?;
    let first = address.segments()[0];
    let public = (0x2000..0x4000).contains(&first) && !(first == 0x2001 && address.segments()[1] == 0xdb8);
    public.then_some((start, start + text.len(), "ip-address"))
}
