//! Values: does this text, standing where a secret would stand, look like one?

use super::name::{Class, lexicon};
use super::place::{MARK, placeholder_end};

/// Where a value stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// In quotes, or alone in a cell or a field of data.
    Quoted,
    /// Behind `=` or `:` without quotes.
    Bare,
    /// In running text, with nothing but a space between it and the name.
    Prose,
    /// Somewhere inside a list or mapping that has the name.
    Inside,
}

/// Whether a value that stands at the place of a secret is one.
pub(super) fn is_secret(class: Class, value: &[u8], place: Place) -> bool {
    // The beginning of a long value tells enough.
    let value = value[..value.len().min(512)].trim_ascii();
    let least = match class {
        Class::Hint => 16,
        Class::Named => 4,
        _ => 2,
    };
    if value.len() < least || stands_for_another(value) {
        return false;
    }
    let word = lower(value);
    let known = if place == Place::Quoted { lexicon().absent(&word) } else { lexicon().prose(&word) };
    if known {
        return false;
    }
    match class {
        Class::Strong => strong(value, place),
        Class::Named => match place {
            Place::Prose => credential_in_prose(value),
            Place::Inside => looks_random(value, 8),
            _ => looks_random(value, 8) || digits_only(value, 4, 10) && place == Place::Quoted,
        },
        Class::Hint => looks_random(value, 16) && !is_uuid(value),
        Class::Authorization | Class::Cookie => value.len() >= 8,
    }
}

fn strong(value: &[u8], place: Place) -> bool {
    if value.iter().all(u8::is_ascii_digit) {
        return value.len() >= 4;
    }
    if is_path(value) || is_format(value) {
        return false;
    }
    match place {
        Place::Prose => credential_in_prose(value),
        Place::Inside => looks_random(value, 6) || (value.len() >= 6 && kinds(value) >= 3 && !value.contains(&b' ')),
        Place::Bare => value.len() >= 2 && !is_reference(value),
        Place::Quoted => !is_prose(value),
    }
}

/// A sentence, as a validation message or a help text has it.
pub(super) fn is_prose(value: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(value) else { return false };
    let mut words = 0;
    let mut known = 0;
    for word in text.split_whitespace() {
        words += 1;
        let word = word.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
        known += usize::from(lexicon().prose(&word));
    }
    words >= 2 && known * 4 >= words
}

/// Markers, templates and masks: they stand for a value, or say that it was taken out.
pub(super) fn stands_for_another(value: &[u8]) -> bool {
    if value.starts_with(MARK) {
        return placeholder_end(value, 0).is_some_and(|end| end == value.len());
    }
    is_mask(value) || is_template(value) || is_example(value)
}

fn is_mask(value: &[u8]) -> bool {
    let mask = |c: u8| matches!(c, b'*' | b'x' | b'X' | b'.' | b'-' | b'_' | b'#' | b'?' | b'0' | b' ');
    if value.iter().all(|&c| mask(c)) {
        return true;
    }
    // `ghp_xxxxxxxx`, `sk-********`, bullets.
    if value.starts_with("•".as_bytes()) || value.starts_with("●".as_bytes()) || value.starts_with("…".as_bytes())
    {
        return true;
    }
    let Some(&last) = value.last() else { return true };
    let tail = value.iter().rev().take_while(|&&c| c == last).count();
    (matches!(last, b'*' | b'x' | b'X' | b'.') && tail >= 4 && tail * 2 >= value.len())
        || (tail >= 12 && tail * 3 >= value.len() * 2)
        || (value.windows(5).any(|five| five == b"*****")
            && value.iter().filter(|&&c| c == b'*').count() * 2 >= value.len())
}

fn is_template(value: &[u8]) -> bool {
    let (first, last) = (value[0], value[value.len() - 1]);
    let inner_is_plain = |value: &[u8]| {
        value.len() < 60
            && value[1..value.len() - 1]
                .iter()
                .all(|&c| c.is_ascii_alphabetic() || matches!(c, b' ' | b'_' | b'-' | b'.' | b':' | b'|' | b'/'))
    };
    match first {
        b'<' if last == b'>' => {
            value.len() < 3
                || inner_is_plain(value)
                || value.starts_with(b"<function")
                || value.starts_with(b"<bound")
                || value.contains(&b' ')
        }
        b'[' if last == b']' => value.len() < 3 || inner_is_plain(value),
        b'(' if last == b')' => value.len() < 3 || inner_is_plain(value),
        b'{' => {
            value.starts_with(b"{{")
                || last == b'}'
                    && value[1..value.len() - 1]
                        .iter()
                        .all(|&c| c.is_ascii_alphanumeric() || matches!(c, b'_' | b'.' | b'!' | b':' | b'[' | b']'))
        }
        b'$' => {
            matches!(value.get(1), Some(b'{' | b'('))
                || value.len() > 1 && value[1..].iter().all(|&c| c.is_ascii_alphabetic() || c == b'_')
                || value.starts_with(b"$env:")
        }
        b'%' => value.starts_with(b"%(") || value.len() <= 3 || last == b'%',
        b'#' => value.starts_with(b"#{"),
        b'@' => value.starts_with(b"@@") && value.ends_with(b"@@") || value.starts_with(b"@Microsoft.KeyVault"),
        b'!' => {
            value.starts_with(b"!vault")
                || value.starts_with(b"!secret")
                || value.starts_with(b"!Ref")
                || value.starts_with(b"!Sub")
        }
        _ => [
            &b"op://"[..],
            b"vault:",
            b"ref+",
            b"ENC[",
            b"arn:aws:",
            b"env:",
            b"file://",
            b"secretsmanager:",
            b"ssm:",
            b"kms:",
            b"projects/",
            b"secretref:",
            b"{{resolve:",
        ]
        .iter()
        .any(|start| value.starts_with(start)),
    }
}

fn is_example(value: &[u8]) -> bool {
    if value.len() > 80 {
        return false;
    }
    let text = lower(value);
    text.starts_with("your")
        && text[4..].starts_with(|c: char| !c.is_alphanumeric() || c == 'a' || c == 't' || c == 's' || c == 'p')
        && !text.bytes().any(|c| c.is_ascii_digit())
        || text.contains("your-")
        || text.contains("your_")
        || text.contains("<your")
        || text.contains("-here")
        || text.contains("_here")
        || text.contains("change-me")
        || text.contains("changeme")
        || text.contains("replace-me")
        || text.contains("replace_me")
        || value.ends_with(b"EXAMPLE")
        || value.ends_with(b"EXAMPLEKEY")
        || text.contains("placeholder")
        || text.starts_with("example")
        || text.starts_with("dummy")
        || text == "not-a-real-key"
        || text.starts_with("insert")
}

/// `/srv/app/key.pem`, `C:\keys`, `./secrets`, `~/.pgpass`: a place, not a value.
pub(super) fn is_path(value: &[u8]) -> bool {
    let rooted = value.starts_with(b"/")
        || value.starts_with(b"./")
        || value.starts_with(b"../")
        || value.starts_with(b"~/")
        || value.get(1) == Some(&b':') && matches!(value.get(2), Some(b'\\' | b'/'));
    if !rooted || value.contains(&b' ') && value.len() > 200 {
        return false;
    }
    let parts = value.split(|&c| c == b'/' || c == b'\\').filter(|part| !part.is_empty());
    parts.clone().count() >= 1
        && parts.clone().all(|part| part.len() <= 1 || part.len() < 10 && !mixes(part) || wordy(part))
}

fn is_format(value: &[u8]) -> bool {
    matches!(value, b"%s" | b"%r" | b"%d" | b"{}" | b"?" | b"{!r}" | b":password" | b"...")
        || (value.starts_with(b":")
            && value.len() < 30
            && value[1..].iter().all(|c| c.is_ascii_lowercase() || *c == b'_'))
}

/// Code that fetches the value: `settings.api_key`, `get_token(user)`, `os.environ["X"]`, `Vec::new()`, `&key[1..]`.
pub(super) fn is_reference(value: &[u8]) -> bool {
    let bare = value.iter().position(|c| !matches!(c, b'&' | b'*' | b'!')).unwrap_or(value.len());
    let value = &value[bare.min(2)..];
    let end = value
        .iter()
        .position(|c| !(c.is_ascii_alphanumeric() || matches!(c, b'_' | b'.' | b':' | b'?')))
        .unwrap_or(value.len());
    let head = value[..end].trim_ascii_end();
    if head.is_empty() || head[0].is_ascii_digit() || !path(head) {
        return false;
    }
    let next = value.get(end + 1).copied().unwrap_or(b')');
    match value.get(end) {
        Some(b'(' | b'[') => true,
        Some(b'!') => matches!(next, b'(' | b'['),
        Some(b'<') => next.is_ascii_alphabetic() || matches!(next, b'(' | b'&' | b'\''),
        Some(b'{' | b';') => next == b')' || next == b' ',
        None => {
            let snake = head.contains(&b'_') && head.iter().all(|c| c.is_ascii_lowercase() || matches!(c, b'_' | b'.'));
            let constant = head.contains(&b'_') && head.iter().all(|c| c.is_ascii_uppercase() || *c == b'_');
            head.contains(&b'.') || head.contains(&b':') || snake || constant
        }
        _ => false,
    }
}

/// Identifiers joined by `.`, `::`, `?.`.
fn path(head: &[u8]) -> bool {
    let mut any = false;
    for part in head.split(|c| matches!(c, b'.' | b':')) {
        if part.is_empty() {
            // Between two signs, or behind the last one.
            continue;
        }
        any = true;
        let part = part.strip_suffix(b"?").filter(|_| head.last() != Some(&b'?')).unwrap_or(part);
        if !identifier_like(part) {
            return false;
        }
    }
    any
}

fn identifier_like(part: &[u8]) -> bool {
    !part.is_empty() && !part[0].is_ascii_digit() && wordy(part)
}

/// A token that looks made by a machine: long enough, of mixed kinds, not made of words, numbers and dates.
pub(super) fn looks_random(value: &[u8], least: usize) -> bool {
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
    value
        .split(|c| matches!(c, b'_' | b'-' | b'.' | b'/' | b':' | b'@' | b',' | b'|' | b'='))
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
fn mixes(part: &[u8]) -> bool {
    !wordy(part) && (part.len() >= 6 || kinds(part) >= 3)
}

/// Words, abbreviations, numbers, `word12`, `CamelCase`, `v1beta2`: what people and programs name things.
pub(super) fn wordy(part: &[u8]) -> bool {
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
    for c in &letters {
        run = if matches!(c.to_ascii_lowercase(), b'a' | b'e' | b'i' | b'o' | b'u' | b'y') { 0 } else { run + 1 };
        longest = longest.max(run);
    }
    (vowels + other) * 5 >= letters.len()
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

/// A value in running text: it must look like nothing that prose has.
pub(super) fn credential_in_prose(value: &[u8]) -> bool {
    if value.len() < 8 || is_path(value) || is_reference(value) || is_date(value) || is_uuid(value) {
        return false;
    }
    let digits = value.iter().any(u8::is_ascii_digit);
    let letters = value.iter().any(u8::is_ascii_alphabetic);
    let foreign = value.iter().any(|c| *c >= 0x80);
    digits && letters && foreign && !value.contains(&b' ')
        || digits
            && letters
            && (looks_random(value, 8) || kinds(value) >= 4 || kinds(value) == 3 && ends_like_password(value))
}

fn ends_like_password(value: &[u8]) -> bool {
    matches!(value.last(), Some(b'!' | b'?' | b'*' | b'#' | b'$' | b'%' | b'&'))
        || value.iter().any(|c| matches!(c, b'!' | b'#' | b'$' | b'*'))
}

/// How many of lower case, upper case, digits and other characters a value has.
pub(super) fn kinds(value: &[u8]) -> usize {
    let lower = value.iter().any(|c| c.is_ascii_lowercase());
    let upper = value.iter().any(u8::is_ascii_uppercase);
    let digit = value.iter().any(u8::is_ascii_digit);
    let other = value.iter().any(|c| !c.is_ascii_alphanumeric());
    usize::from(lower) + usize::from(upper) + usize::from(digit) + usize::from(other)
}

fn digits_only(value: &[u8], least: usize, most: usize) -> bool {
    (least..=most).contains(&value.len()) && value.iter().all(u8::is_ascii_digit)
}

fn is_date(value: &[u8]) -> bool {
    value.len() >= 8
        && value
            .iter()
            .all(|c| c.is_ascii_digit() || matches!(c, b'-' | b'/' | b'.' | b':' | b'T' | b'Z' | b'+' | b' '))
}

fn is_uuid(value: &[u8]) -> bool {
    value.len() == 36
        && value
            .iter()
            .enumerate()
            .all(|(i, c)| if matches!(i, 8 | 13 | 18 | 23) { *c == b'-' } else { c.is_ascii_hexdigit() })
}

fn lower(value: &[u8]) -> String {
    String::from_utf8_lossy(&value[..value.len().min(120)]).to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_and_not() {
        for text in [
            "q8Zk2LmX9pWvT4",
            "5f4dcc3b5aa765d61d8327deb882cf99",
            "a1B2c3D4e5F6",
            "aB3_xY-9kQ2m_Zz81-pLw0",
            "d41d8cd98f",
        ] {
            assert!(looks_random(text.as_bytes(), 8), "{text}");
        }
        for text in [
            "order_id",
            "sales:2026-01:hu",
            "2026-01-17",
            "galamb",
            "part-00000",
            "read",
            "get_token(user, scope='read')",
            "settings.api_key",
            "/srv/app/keys/signing.pem",
            "cl100k_base",
            "user1234",
            "HttpClient",
            "v1beta2",
            "api.example.org",
            "datetime64[ns]",
            "self._secret",
        ] {
            assert!(!looks_random(text.as_bytes(), 8), "{text}");
        }
    }

    #[test]
    fn placeholders() {
        for text in [
            "**********",
            "<redacted>",
            "[Filtered]",
            "${DB_PASSWORD}",
            "{{ vault.api_key }}",
            "ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
            "<YOUR_TOKEN>",
            "%(password)s",
            "<redacted:password>",
            "your-api-key",
            "YOUR_API_KEY_HERE",
            "changeme",
        ] {
            assert!(stands_for_another(text.as_bytes()), "{text}");
        }
        assert!(!stands_for_another(b"<redacted:password>abc"));
    }
}
