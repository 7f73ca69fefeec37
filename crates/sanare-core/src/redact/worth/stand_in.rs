//! Stand-ins: placeholders, masks, templates and examples, which are no secrets.

use crate::redact::place::{MARK, placeholder_end};

/// Markers, templates and masks: they stand for a value, or say that it was taken out.
pub(in crate::redact) fn stands_for_another(value: &[u8]) -> bool {
    if value.starts_with(MARK) {
        return placeholder_end(value, 0).is_some_and(|end| end == value.len());
    }
    is_mask(value) || is_template(value) || is_example(value) || is_filled_in(value)
}

/// A text with fields to be filled in, and nothing much beside them: `%s:%s`, `{user}:{password}`.
fn is_filled_in(value: &[u8]) -> bool {
    let mut rest = 0;
    let mut fields = 0;
    let mut at = 0;
    while at < value.len() {
        let two = value.get(at..at + 2).unwrap_or_default();
        if two[..two.len().min(1)] == *b"%" && matches!(two.get(1), Some(b's' | b'r' | b'd')) {
            fields += 1;
            at += 2;
        } else if value[at] == b'{' {
            let Some(end) = value[at..].iter().take(40).position(|c| *c == b'}') else { return false };
            fields += 1;
            at += end + 1;
        } else {
            rest += usize::from(value[at].is_ascii_alphanumeric());
            at += 1;
        }
    }
    fields > 0 && rest < 4
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
        b'$' => matches!(value.get(1), Some(b'{' | b'(')) || value.starts_with(b"$env:") || is_variable(&value[1..]),
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

/// `$NAME` without its sign, or what begins with it: `self->{x}`, `row[1]`.
fn is_variable(value: &[u8]) -> bool {
    let end = value.iter().position(|c| !(c.is_ascii_alphabetic() || *c == b'_')).unwrap_or(value.len());
    let rest = &value[end..];
    end > 0
        && (rest.is_empty()
            || rest.starts_with(b"->")
            || rest.starts_with(b"::")
            || matches!(rest[0], b'[' | b'{' | b'('))
}

fn is_example(value: &[u8]) -> bool {
    if value.len() > 80 {
        return false;
    }
    let text = super::lower(value);
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

pub(super) fn is_format(value: &[u8]) -> bool {
    matches!(value, b"%s" | b"%r" | b"%d" | b"{}" | b"?" | b"{!r}" | b":password" | b"...")
        || (value.starts_with(b":")
            && value.len() < 30
            && value[1..].iter().all(|c| c.is_ascii_lowercase() || *c == b'_'))
}
