//! Code and paths: they tell where a value is, and are none.

use super::random::{mixes, wordy};

/// `/srv/app/key.pem`, `C:\keys`, `./secrets`, `~/.pgpass`: a place, not a value.
pub(in crate::redact) fn is_path(value: &[u8]) -> bool {
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

/// Code that fetches the value: `settings.api_key`, `get_token(user)`, `os.environ["X"]`, `Vec::new()`, `&key[1..]`.
pub(in crate::redact) fn is_reference(value: &[u8]) -> bool {
    let bare = value.iter().position(|c| !matches!(c, b'&' | b'*' | b'!')).unwrap_or(value.len());
    let value = &value[bare.min(2)..];
    let end = value
        .iter()
        .position(|c| !(c.is_ascii_alphanumeric() || matches!(c, b'_' | b'.' | b':' | b'?' | b'#')))
        .unwrap_or(value.len());
    let head = value[..end].trim_ascii_end();
    if head.is_empty() || head[0].is_ascii_digit() {
        return false;
    }
    // What is called is named by people, in whatever way.
    let digits = head.iter().filter(|c| c.is_ascii_digit()).count();
    let called = matches!(value.get(end), Some(b'(')) && digits <= 4 && head.len() < 60;
    if !called && !path(head) {
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
    let parts = head.split(|c| matches!(c, b'.' | b':' | b'#')).filter(|part| !part.is_empty());
    let question = head.last() == Some(&b'?');
    let (mut count, mut odd) = (0, 0);
    for part in parts {
        let part = part.strip_suffix(b"?").filter(|_| !question).unwrap_or(part);
        count += 1;
        if !identifier_like(part) {
            // In a long path one class may be named `Argon2Hasher`.
            let digits = part.iter().filter(|c| c.is_ascii_digit()).count();
            let name = part.first().is_some_and(u8::is_ascii_uppercase) && part.len() < 40 && digits < 4;
            odd += if name && part.iter().all(|c| c.is_ascii_alphanumeric() || *c == b'_') { 1 } else { 9 };
        }
    }
    count > 0 && (odd == 0 || odd == 1 && count >= 4)
}

fn identifier_like(part: &[u8]) -> bool {
    !part.is_empty() && !part[0].is_ascii_digit() && wordy(part)
}
