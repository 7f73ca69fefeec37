//! Gate 1: the text is of bearable size, fits the file's encoding, and is Python.

use ruff_python_ast::PySourceType;
use ruff_python_ast::PythonVersion;
use ruff_python_ast::token::TokenKind;
use ruff_python_parser::{ParseOptions, parse_unchecked, parse_unchecked_source};
use ruff_text_size::Ranged;

use super::Look;
use crate::candidate::{flatten, too_deep};
use crate::vet::VetContext;

/// The most a candidate may hold, in bytes.
const MAX_BYTES: usize = 64 * 1024;

/// **size**: at most 64 KiB, no NUL, something in it, and nothing nested beyond what can be read safely.
pub(super) fn size(candidate: &str, _context: &VetContext) -> Look {
    let why = if candidate.len() > MAX_BYTES {
        Some(format!("{} bytes are more than {MAX_BYTES}", candidate.len()))
    } else if candidate.contains('\0') {
        Some("it holds a NUL".to_owned())
    } else if candidate.trim().is_empty() {
        Some("it is empty".to_owned())
    } else {
        too_deep(candidate).map(str::to_owned)
    };
    why.map_or(Look::Passed, |why| Look::Failed(vec![why]))
}

/// **encodes**: every character outside strings is in the file's encoding (inside strings an escape can stand for it).
pub(super) fn encodes(candidate: &str, context: &VetContext) -> Look {
    let Some(fits) = fits(&context.encoding) else {
        return Look::Skipped(format!("no table for the encoding `{}`", context.encoding));
    };
    if candidate.chars().all(fits) || candidate.len() > MAX_BYTES || too_deep(candidate).is_some() {
        return Look::Passed;
    }
    let text = flatten(candidate);
    let parsed = parse_unchecked_source(&text, PySourceType::Python);
    let mut at = 0;
    let mut outside = String::new();
    for token in parsed.tokens().iter() {
        let range = token.range().to_std_range();
        if matches!(token.kind(), TokenKind::String | TokenKind::FStringMiddle | TokenKind::TStringMiddle) {
            outside.push_str(text.get(at..range.start).unwrap_or_default());
            at = range.end.max(at);
        }
    }
    outside.push_str(text.get(at..).unwrap_or_default());
    match outside.chars().find(|character| !fits(*character)) {
        Some(character) => Look::Failed(vec![format!(
            "U+{:04X} outside strings is not in the file's encoding {}",
            u32::from(character),
            context.encoding
        )]),
        None => Look::Passed,
    }
}

fn fits(encoding: &str) -> Option<fn(char) -> bool> {
    let plain: String = encoding.to_ascii_lowercase().chars().filter(char::is_ascii_alphanumeric).collect();
    match plain.as_str() {
        "utf8" | "utf8sig" | "u8" | "utf" | "utf16" | "utf32" => Some(|_| true),
        "ascii" | "usascii" | "646" => Some(|character| character.is_ascii()),
        "latin1" | "iso88591" | "8859" | "cp819" | "l1" => Some(|character| u32::from(character) < 0x100),
        "cp1252" | "windows1252" => Some(|character| {
            let code = u32::from(character);
            code < 0x80 || (0xa0..0x100).contains(&code) || CP1252.contains(&character)
        }),
        _ => None,
    }
}

const CP1252: &[char] = &[
    '€', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', 'Ž', '‘', '’', '“', '”', '•', '–', '—', '˜', '™', 'š',
    '›', 'œ', 'ž', 'Ÿ',
];

/// **parses**: Python in the grammar of the running version.
pub(super) fn parses(candidate: &str, context: &VetContext) -> Look {
    if candidate.len() > MAX_BYTES || too_deep(candidate).is_some() {
        return Look::Skipped("too large to be read".to_owned());
    }
    let (major, minor) = context.python;
    let options = ParseOptions::from(PySourceType::Python).with_target_version(PythonVersion { major, minor });
    let text = flatten(candidate);
    let parsed = parse_unchecked(&text, options);
    let line = |offset: usize| text.get(..offset).unwrap_or(&text).matches('\n').count() + 1;
    if let Some(error) = parsed.errors().first() {
        return Look::Failed(vec![format!("line {}: {}", line(error.location.start().to_usize()), error.error)]);
    }
    match parsed.unsupported_syntax_errors().first() {
        Some(error) => Look::Failed(vec![format!("line {}: {error}", line(error.range.start().to_usize()))]),
        None => Look::Passed,
    }
}

/// **compiles**: the running interpreter takes the whole new file. Asked there, not here.
pub(super) fn compiles(_candidate: &str, _context: &VetContext) -> Look {
    Look::Skipped("asked of the running interpreter".to_owned())
}
