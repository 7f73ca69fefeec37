//! Values: does this text, standing where a secret would stand, look like one?

mod code;
mod random;
mod stand_in;

pub(super) use code::is_path;
pub(super) use random::{kinds, looks_random, wordy};
pub(super) use stand_in::stands_for_another;

use code::is_reference;
use random::{is_date, is_type_name, is_uuid};
use stand_in::is_format;

use super::name::{Class, lexicon};

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

/// So much of a long value tells enough.
pub(super) const ENOUGH: usize = 512;

/// Whether a value that stands at the place of a secret is one.
pub(super) fn is_secret(class: Class, value: &[u8], place: Place) -> bool {
    let value = value[..value.len().min(ENOUGH)].trim_ascii();
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
            Place::Prose => credential_in_prose(value) && !is_type_name(value),
            Place::Inside => is_token(value) && looks_random(value, 8) && !is_type_name(value),
            _ => !is_pattern(value) && looks_random(value, 8) || digits_only(value, 4, 10) && place == Place::Quoted,
        },
        Class::Hint => is_token(value) && looks_random(value, 16) && !is_uuid(value),
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
        Place::Inside if is_pattern(value) => false,
        Place::Inside => {
            looks_random(value, 6)
                || (value.len() >= 6 && kinds(value) >= 3 && !value.contains(&b' ') && !is_reference(value))
        }
        Place::Bare => value.len() >= 2 && !is_reference(value),
        Place::Quoted => !is_prose(value),
    }
}

/// Whether a value is so telling that it is looked for elsewhere, too.
pub(super) fn is_telling(value: &[u8]) -> bool {
    let random = kinds(value) >= 2 && looks_random(value, 8);
    value.len() >= 8 && random || value.len() >= 10 && kinds(value) >= 3 && value.iter().any(u8::is_ascii_digit)
}

/// `--verbose`: a flag, and no value that happens to begin with a dash.
pub(super) fn is_flag(value: &[u8]) -> bool {
    value.starts_with(b"-") && !looks_random(value, 8)
}

/// Letters, digits and the signs that tokens are made of.
fn is_token(value: &[u8]) -> bool {
    value
        .iter()
        .all(|c| c.is_ascii_alphanumeric() || matches!(c, b'+' | b'/' | b'=' | b'_' | b'-' | b'.' | b'~' | b':'))
}

/// A regular expression.
fn is_pattern(value: &[u8]) -> bool {
    let class = |two: &[u8]| {
        two[0] == b'\\' && matches!(two[1], b'd' | b'w' | b's' | b'b' | b'.' | b'[' | b'(' | b'S' | b'W' | b'D')
    };
    let group = |two: &[u8]| matches!(two, b"(?" | b"[^" | b"]+" | b"]*" | b")*" | b")+" | b")?" | b".*");
    value.windows(2).any(class) || value.windows(2).filter(|two| group(two)).count() >= 2
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

fn digits_only(value: &[u8], least: usize, most: usize) -> bool {
    (least..=most).contains(&value.len()) && value.iter().all(u8::is_ascii_digit)
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
