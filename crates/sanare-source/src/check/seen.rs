//! Gate 3: the candidate does not know the failing values by heart.

use ruff_python_ast::{Expr, Number};

use super::Look;
use crate::vet::Case;

/// **no_seen_literal**: no new text of 4 characters or number of 3 digits that stands in the failing values. Keys,
/// headers and parts of formats may be named.
pub(super) fn no_seen_literal(case: &Case<'_>) -> Look {
    if case.context.seen_literals.is_empty() {
        return Look::Skipped("no failing values were given".to_owned());
    }
    let structural: Vec<String> =
        case.context.seen_literals.iter().filter(|seen| seen.structural).map(|seen| plain(&seen.text)).collect();
    let seen: Vec<String> = case
        .context
        .seen_literals
        .iter()
        .filter(|seen| !seen.structural)
        .map(|seen| plain(&seen.text))
        .filter(|text| is_telling(text) && !structural.contains(text))
        .collect();
    let mut findings = Vec::new();
    for node in &case.new.code.exprs {
        let text = match node.expr {
            Expr::StringLiteral(literal) => literal.value.to_str().to_owned(),
            Expr::NumberLiteral(number) => match &number.value {
                Number::Int(value) => value.to_string(),
                Number::Float(value) => value.to_string(),
                Number::Complex { .. } => continue,
            },
            _ => continue,
        };
        let new = plain(&text);
        if case.is_old(node.expr) || case.old_texts.contains(text.as_str()) || !is_telling(&new) {
            continue;
        }
        if seen.iter().any(|seen| *seen == new || (new.chars().count() >= 6 && is_word_of(&new, seen))) {
            findings.push("a literal of the failing values stands in the code".to_owned());
        }
    }
    findings.dedup();
    findings.into()
}

fn plain(text: &str) -> String {
    let text = text.trim().to_lowercase();
    match text.parse::<f64>() {
        Ok(number) if number.is_finite() => number.to_string(),
        _ => text,
    }
}

/// Long enough to be more than a coincidence.
fn is_telling(text: &str) -> bool {
    let digits = text.chars().filter(char::is_ascii_digit).count();
    match text.parse::<f64>() {
        Ok(_) => digits >= 3,
        Err(_) => text.chars().count() >= 4,
    }
}

/// Does a literal stand in a longer seen text as a word of its own?
fn is_word_of(literal: &str, seen: &str) -> bool {
    seen.match_indices(literal).any(|(at, _)| {
        let edge = |character: Option<char>| character.is_none_or(|c| !c.is_alphanumeric());
        edge(seen.get(..at).and_then(|before| before.chars().next_back()))
            && edge(seen.get(at + literal.len()..).and_then(|after| after.chars().next()))
    })
}
