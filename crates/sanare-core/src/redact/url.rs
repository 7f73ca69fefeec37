//! Addresses: passwords and tokens before the `@` of a URL.

use super::name::{Class, lexicon};
use super::place::MARK;
use super::worth::{self, Place, is_secret};

/// A secret in an address, with the rule that names it.
type Secret = (usize, usize, &'static str);

/// The secret in the address whose `://` ends at `at`, and up to where no other address needs to be looked at.
pub(super) fn find(text: &[u8], at: usize) -> (usize, Option<Secret>) {
    let end = at + length(&text[at..]);
    let plain = memchr::memchr2(b'@', b':', &text[at..end]).is_none();
    let nested = text[at..end].windows(3).any(|three| three == b"://");
    // In a chain of addresses without any `@` there is nothing to find again.
    let seen = if nested && memchr::memchr(b'@', &text[at..end]).is_none() { end } else { at };
    (seen, if plain { None } else { secret(text, at, end) })
}

fn secret(text: &[u8], at: usize, end: usize) -> Option<Secret> {
    let token = &text[at..end];
    let authority = token.iter().position(|c| matches!(c, b'/' | b'?' | b'#')).unwrap_or(token.len());
    let user = match memchr::memrchr(b'@', &token[..authority]) {
        Some(found) => found,
        None => match beyond(token, authority) {
            Some(found) => found,
            None => return cut(text, at, authority, end),
        },
    };
    match memchr::memchr(b':', &token[..user]) {
        Some(colon) => {
            let (start, stop) = (at + colon + 1, at + user);
            let value = &text[start..stop];
            let word = std::str::from_utf8(value).unwrap_or_default();
            let stand_in =
                value.is_empty() || worth::stands_for_another(value) || lexicon().absent(&word.to_lowercase());
            (!stand_in).then_some((start, stop, "url-password"))
        }
        None => {
            let value = &token[..user];
            is_secret(Class::Named, value, Place::Bare).then_some((at, at + user, "url-token"))
        }
    }
}

/// How long the address is from the user on.
fn length(text: &[u8]) -> usize {
    let mut at = 0;
    let limit = text.len().min(4096);
    while at < limit {
        match text[at] {
            0..=b' ' | b'"' | b'\'' | b'`' | b'<' | b'>' | b'|' | b'\\' => break,
            b'.' if text[at..].starts_with(b"...") => break,
            0xe2 if text[at..].starts_with("…".as_bytes()) => break,
            _ => at += 1,
        }
    }
    at
}

/// The `@` behind a password that holds `/`, `?` or `#` as they are.
fn beyond(token: &[u8], authority: usize) -> Option<usize> {
    let colon = memchr::memchr(b':', &token[..authority])?;
    let port = &token[colon + 1..authority];
    if port.iter().all(u8::is_ascii_digit) && colon > 0 {
        return None;
    }
    let at = memchr::memchr(b'@', &token[authority..])? + authority;
    let host =
        token[at + 1..].iter().take_while(|c| c.is_ascii_alphanumeric() || matches!(c, b'.' | b'-' | b'_')).count();
    let comma = token[..at].iter().any(|c| matches!(c, b',' | b'(' | b')' | b'=' | b'&'));
    (host >= 3 && !comma).then_some(at)
}

/// An address that was cut within its password: what stands behind the colon is no port.
fn cut(text: &[u8], at: usize, authority: usize, end: usize) -> Option<Secret> {
    let colon = memchr::memchr(b':', &text[at..at + authority])?;
    let (start, stop) = (at + colon + 1, at + authority);
    let value = &text[start..stop];
    let cut = stop == end
        && (end == text.len() || text[end..].starts_with(b"...") || text[end..].starts_with("…".as_bytes()));
    let digits = value.iter().all(u8::is_ascii_digit);
    (cut && !digits
        && !value.starts_with(MARK)
        && value.len() >= 4
        && worth::kinds(value) >= 2
        && !value.ends_with(b"]"))
    .then_some((start, stop, "url-password"))
}
