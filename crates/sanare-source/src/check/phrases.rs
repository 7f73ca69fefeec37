//! Gate 4: comments and texts say what the code does; they do not speak to whoever judges it.

use ruff_python_ast::token::TokenKind;
use ruff_text_size::Ranged;
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

use super::Look;
use crate::lists::lists;
use crate::parse::Source;
use crate::vet::Case;

/// The most words that a `*` of a phrase stands for.
const GAP: usize = 4;

/// **no_instructions**: no new comment or text holds a phrase of `data/phrases.toml`.
pub(super) fn no_instructions(case: &Case<'_>) -> Look {
    let old = said(case.old_source).join("\n");
    let mut findings = Vec::new();
    let mut comments: Vec<String> = Vec::new();
    for text in said(case.new_source) {
        let is_old = !text.trim().is_empty() && old.contains(text.trim());
        if !is_old && let Some(phrase) = found_in(&text) {
            findings.push(format!("a comment or text speaks to whoever judges it (`{phrase}`)"));
        }
        if text.starts_with('#') && !is_old {
            comments.push(text.trim_start_matches(['#', ' ']).to_owned());
        }
    }
    // An instruction may be spread over several comment lines.
    if findings.is_empty()
        && comments.len() > 1
        && let Some(phrase) = found_in(&comments.join(" "))
    {
        findings.push(format!("comments speak to whoever judges them (`{phrase}`)"));
    }
    findings.dedup();
    findings.into()
}

/// Comments and string tokens, as written.
fn said(source: &Source) -> Vec<String> {
    source
        .parsed()
        .tokens()
        .iter()
        .filter(|token| matches!(token.kind(), TokenKind::Comment | TokenKind::String | TokenKind::FStringMiddle))
        .filter_map(|token| source.text().get(token.range().to_std_range()))
        .map(str::to_owned)
        .collect()
}

/// The phrase that a text holds.
pub(super) fn found_in(text: &str) -> Option<&'static str> {
    let lower = text.to_lowercase();
    let list = &lists().phrases;
    if let Some(plain) = list.plain.iter().find(|plain| lower.contains(plain.as_str())) {
        return Some(plain);
    }
    let words = words(&lower);
    list.phrases.iter().find(|phrase| (0..words.len()).any(|at| matches(phrase, &words, at))).map(String::as_str)
}

/// The words of a text: lower case, without accents, escapes of string tokens as blanks.
fn words(text: &str) -> Vec<String> {
    let folded: String = text
        .replace("\\n", " ")
        .nfd()
        .filter(|c| !is_combining_mark(*c))
        .map(|c| if c == 'ł' { 'l' } else { c })
        .collect();
    folded
        .nfc()
        .collect::<String>()
        .split(|c: char| !c.is_alphanumeric() && c != '.' && c != '_')
        .map(|word| word.trim_matches(['.', '_']).to_owned())
        .filter(|word| !word.is_empty())
        .collect()
}

/// Does a phrase begin at this word? Elements are `a|b`, `a+b`, `*`; a last `~` stands for any ending.
fn matches(phrase: &str, words: &[String], at: usize) -> bool {
    let elements: Vec<&str> = phrase.split(' ').collect();
    follow(&elements, words, at)
}

fn follow(elements: &[&str], words: &[String], at: usize) -> bool {
    let Some((first, rest)) = elements.split_first() else { return true };
    if *first == "*" {
        return (0..=GAP).any(|skip| follow(rest, words, at + skip));
    }
    first.split('|').any(|option| {
        let parts: Vec<&str> = option.split('+').collect();
        let fits =
            parts.iter().enumerate().all(|(step, part)| words.get(at + step).is_some_and(|word| fits(part, word)));
        fits && follow(rest, words, at + parts.len())
    })
}

fn fits(option: &str, word: &str) -> bool {
    match option.strip_suffix('~') {
        Some(stem) => word.starts_with(stem),
        None => word == option,
    }
}
