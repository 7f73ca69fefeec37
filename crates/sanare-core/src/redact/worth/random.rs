//! Randomness: whether a token looks made by a machine, or like words, dates and names.

use super::code::{is_path, is_reference};
use super::stand_in::is_format;

/// A token that looks made by a machine: long enough, of mixed kinds, not made of words, numbers and dates.
pub(in crate::redact) fn looks_random(value: &[u8], least: usize) -> bool {
    if value.len() < least || value.iter().any(|&c| c <= b' ') {
        return false;
    }
    if is_path(value)
        || is_format(value)
        || is_reference(value)
        || value.starts_with(b"http://")
        || value.starts_with(b"https://")
    {
        return false;
    }
    if value.contains(&b':') && value.split(|&c| c == b':').all(|part| wordy(part) || is_date(part))
        || is_date(value)
        || is_host(value)
    {
        return false;
    }
    let (lower, upper) = (value.iter().any(u8::is_ascii_lowercase), value.iter().any(u8::is_ascii_uppercase));
    let digit = value.iter().any(u8::is_ascii_digit);
    if usize::from(lower) + usize::from(upper) + usize::from(digit) < 2 && value.len() < 24 {
        return false;
    }
    value
        .split(|c| matches!(c, b'_' | b'-' | b'.' | b'/' | b':' | b'@' | b',' | b'|' | b'=' | b'+'))
        .any(|part| part.len() >= 5 && mixes(part))
        || pieces_mix(value)
        || is_uuid(value)
}

/// Random text that its own `-`, `_`, `/` cut into short pieces: many pieces, most of them not words.
fn pieces_mix(value: &[u8]) -> bool {
    value.len() >= 20
        && kinds(value) >= 3
        && value.iter().filter(|c| c.is_ascii_digit()).count() >= 2
        && !value.split(|c| matches!(c, b'_' | b'-' | b'.' | b'/')).all(|part| wordy(part) || is_date(part))
}

fn is_host(value: &[u8]) -> bool {
    let port = value.iter().rev().take_while(|c| c.is_ascii_digit()).count();
    let value = match value.strip_suffix(&value[value.len() - port..]) {
        Some(host) if port > 0 && host.ends_with(b":") => &host[..host.len() - 1],
        _ => value,
    };
    value.contains(&b'.')
        && value.split(|&c| c == b'.').all(|part| !part.is_empty() && wordy(part))
        && value.iter().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, b'.' | b'-' | b':'))
}

/// Digits and letters (or both cases) in an order that words and counters do not have.
pub(super) fn mixes(part: &[u8]) -> bool {
    !wordy(part) && (part.len() >= 6 || kinds(part) >= 3)
}

/// Words, abbreviations, numbers, `word12`, `CamelCase`, `v1beta2`: what people and programs name things.
pub(in crate::redact) fn wordy(part: &[u8]) -> bool {
    let digits = part.iter().filter(|c| c.is_ascii_digit()).count();
    let letters = part.iter().filter(|c| c.is_ascii_alphabetic() || **c >= 0x80).count();
    if part.iter().any(|c| !(c.is_ascii_alphanumeric() || *c >= 0x80 || matches!(c, b'_' | b'-' | b'.'))) {
        return false;
    }
    if letters == 0 {
        return digits < 24;
    }
    let turns = part.windows(2).filter(|two| two[0].is_ascii_digit() != two[1].is_ascii_digit()).count();
    if digits > 0 && (turns > 2 || digits > 6 || part.len() > 24 || turns == 2 && part.len() > 10) {
        return false;
    }
    digits == 0 && reads_like_words(part)
        || digits > 0
            && (turns <= 1 && (letters >= 3 || part.len() <= 5) || part.len() <= 8 && turns <= 2)
            && reads_like_words(part)
}

/// Whether letters come as in words: vowels between consonants, capitals at starts only.
fn reads_like_words(part: &[u8]) -> bool {
    let letters: Vec<u8> = part.iter().copied().filter(u8::is_ascii_alphabetic).collect();
    if letters.len() < 5 {
        return true;
    }
    if letters.iter().all(u8::is_ascii_uppercase) && letters.len() < 12 {
        return true;
    }
    let vowels =
        letters.iter().filter(|c| matches!(c.to_ascii_lowercase(), b'a' | b'e' | b'i' | b'o' | b'u' | b'y')).count();
    let other = part.iter().filter(|c| **c >= 0x80).count();
    let mut run = 0;
    let mut longest = 0;
    for (i, c) in letters.iter().enumerate() {
        if i > 0 && c.is_ascii_uppercase() && letters[i - 1].is_ascii_lowercase() {
            run = 0;
        }
        run = if matches!(c.to_ascii_lowercase(), b'a' | b'e' | b'i' | b'o' | b'u' | b'y') { 0 } else { run + 1 };
        longest = longest.max(run);
    }
    (vowels + other) * 10 >= letters.len()
        && longest <= 5
        && humps(&letters) * if letters.len() < part.len() { 4 } else { 3 }
            <= letters.len().max(if letters.len() < part.len() { 8 } else { 9 })
}

/// How many words capitals cut letters into: `HTTPServerError` has three.
fn humps(letters: &[u8]) -> usize {
    let after_lower =
        letters.windows(2).filter(|two| two[0].is_ascii_lowercase() && two[1].is_ascii_uppercase()).count();
    let after_upper = letters
        .windows(3)
        .filter(|three| three[0].is_ascii_uppercase() && three[1].is_ascii_uppercase() && three[2].is_ascii_lowercase())
        .count();
    1 + after_lower + after_upper
}

pub(super) fn is_date(value: &[u8]) -> bool {
    value.len() >= 8
        && value
            .iter()
            .all(|c| c.is_ascii_digit() || matches!(c, b'-' | b'/' | b'.' | b':' | b'T' | b'Z' | b'+' | b' '))
}

pub(super) fn is_uuid(value: &[u8]) -> bool {
    value.len() == 36
        && value
            .iter()
            .enumerate()
            .all(|(i, c)| if matches!(i, 8 | 13 | 18 | 23) { *c == b'-' } else { c.is_ascii_hexdigit() })
}

/// How many of lower case, upper case, digits and other characters a value has.
pub(in crate::redact) fn kinds(value: &[u8]) -> usize {
    let lower = value.iter().any(|c| c.is_ascii_lowercase());
    let upper = value.iter().any(u8::is_ascii_uppercase);
    let digit = value.iter().any(u8::is_ascii_digit);
    let other = value.iter().any(|c| !c.is_ascii_alphanumeric());
    usize::from(lower) + usize::from(upper) + usize::from(digit) + usize::from(other)
}

/// A name as programs have it, with a digit or two in it: `sampler2DArray`, `min16float`.
pub(super) fn is_type_name(value: &[u8]) -> bool {
    let letters: Vec<u8> = value.iter().copied().filter(u8::is_ascii_alphabetic).collect();
    let digits = value.len() - letters.len();
    digits <= 2 && value.len() < 32 && value.iter().all(u8::is_ascii_alphanumeric) && reads_like_words(&letters)
}
