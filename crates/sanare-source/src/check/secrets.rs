//! Gate 4: no credential comes in with the repair, and no placeholder stands where a secret was.

use ruff_python_ast::{Expr, Stmt};

use super::Look;
use crate::constant;
use crate::lists::lists;
use crate::vet::Case;

/// **no_new_secrets**: no new text that is a credential by its look or its name, and no placeholder of the redactor that
/// the file does not hold.
pub(super) fn no_new_secrets(case: &Case<'_>) -> Look {
    let file = case.old_source.text();
    let mut findings = Vec::new();
    let mut texts: Vec<String> = case.new.code.texts.iter().map(|text| text.value.to_owned()).collect();
    for node in &case.new.code.exprs {
        if node.expr.is_bin_op_expr() {
            texts.extend(constant::texts(&case.new, node.expr, Some(node.scope)));
        }
        if let Expr::BytesLiteral(bytes) = node.expr {
            texts.push(String::from_utf8_lossy(&bytes.value.bytes().collect::<Vec<u8>>()).into_owned());
        }
    }
    for text in texts {
        if file.contains(text.as_str()) {
            continue;
        }
        if let Some(what) = by_look(&text) {
            findings.push(what.to_owned());
        }
    }
    for (name, value) in named_texts(case) {
        if is_credential_name(&name) && is_credential_value(&value) && !file.contains(value.as_str()) {
            findings.push(format!("`{name}` is given a text that looks like a credential"));
        }
    }
    findings.dedup();
    findings.into()
}

fn by_look(text: &str) -> Option<&'static str> {
    if has_placeholder(text) {
        return Some("a placeholder of a secret stands in a text");
    }
    let known = lists().secrets.prefix.iter().any(|prefix| {
        text.match_indices(prefix.start.as_str()).any(|(at, _)| {
            let before = text.get(..at).and_then(|before| before.chars().next_back());
            let rest = text.get(at + prefix.start.len()..).unwrap_or_default();
            let length = rest.chars().take_while(|c| c.is_ascii_alphanumeric() || "-_./+=".contains(*c)).count();
            before.is_none_or(|c| !c.is_ascii_alphanumeric()) && length >= prefix.rest
        })
    });
    if known {
        return Some("a text looks like a credential");
    }
    if has_user_and_password(text) {
        return Some("an address holds a password");
    }
    is_opaque(text).then_some("a long text says nothing to a reader")
}

/// `<redacted:aws-key>`, `[secret:3]`, `<secret-1>` and their like.
fn has_placeholder(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    ["redacted", "secret", "masked", "removed", "hidden"].iter().any(|word| {
        lower.match_indices(word).any(|(at, _)| {
            let opens = lower.get(..at).is_some_and(|before| before.ends_with(['<', '[', '{', '«', '‹']));
            let rest = lower.get(at + word.len()..).unwrap_or_default();
            let end = rest.find(['>', ']', '}', '»', '›']).unwrap_or(usize::MAX);
            opens && (end == 0 || (rest.starts_with([':', '-', '_', '#', ' ']) && end <= 64))
        })
    })
}

/// `scheme://user:password@host`
fn has_user_and_password(text: &str) -> bool {
    let Some(at) = text.find("://") else { return false };
    let authority = text.get(at + 3..).unwrap_or_default().split(['/', '?', ' ']).next().unwrap_or_default();
    let Some((user, _)) = authority.rsplit_once('@') else { return false };
    user.split_once(':').is_some_and(|(_, password)| !password.is_empty() && !password.starts_with('{'))
}

/// Letters and digits without sense: long, of three classes, not an alphabet.
fn is_opaque(text: &str) -> bool {
    if text.len() < 32 || !text.chars().all(|c| c.is_ascii_alphanumeric() || "+/=_-".contains(c)) {
        return false;
    }
    let hex = text.chars().all(|c| c.is_ascii_hexdigit()) && text.chars().any(|c| c.is_ascii_digit());
    let classes = [char::is_ascii_uppercase, char::is_ascii_lowercase, char::is_ascii_digit]
        .iter()
        .filter(|class| text.chars().any(|c| class(&c)))
        .count();
    let bytes = text.as_bytes();
    let steps = bytes
        .windows(2)
        .filter(|pair| pair.get(1).zip(pair.first()).is_some_and(|(b, a)| *b == a.wrapping_add(1)))
        .count();
    let words = text.split(['_', '-', '/']).all(|word| word.len() <= 16);
    (hex || classes == 3) && steps * 2 < bytes.len() && !(words && text.contains(['_', '-']) && classes < 3)
}

/// Texts with the name they are given to: assignments, keywords, fields.
fn named_texts(case: &Case<'_>) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut add = |name: &str, value: &Expr| {
        if let Expr::StringLiteral(text) = value {
            found.push((name.to_owned(), text.value.to_str().to_owned()));
        }
    };
    for node in &case.new.code.stmts {
        if let Stmt::Assign(assign) = node.stmt {
            for target in &assign.targets {
                match target {
                    Expr::Name(name) => add(name.id.as_str(), &assign.value),
                    Expr::Attribute(attribute) => add(attribute.attr.as_str(), &assign.value),
                    Expr::Subscript(subscript) => {
                        if let Expr::StringLiteral(key) = &*subscript.slice {
                            add(key.value.to_str(), &assign.value);
                        }
                    }
                    _ => {}
                }
            }
        }
    }
    for node in &case.new.code.exprs {
        match node.expr {
            Expr::Call(call) => {
                for keyword in &*call.arguments.keywords {
                    if let Some(arg) = &keyword.arg {
                        add(arg.as_str(), &keyword.value);
                    }
                }
            }
            Expr::Dict(dict) => {
                for item in &dict.items {
                    if let Some(Expr::StringLiteral(key)) = &item.key {
                        add(key.value.to_str(), &item.value);
                    }
                }
            }
            Expr::Compare(compare) => {
                if let (Expr::Name(name), [value]) = (&*compare.left, &*compare.comparators) {
                    add(name.id.as_str(), value);
                }
            }
            _ => {}
        }
    }
    found
}

fn is_credential_name(name: &str) -> bool {
    let plain: String = name.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect();
    lists().secrets.names.endings.iter().any(|ending| plain.ends_with(ending.as_str()))
}

fn is_credential_value(value: &str) -> bool {
    let harmless = &lists().secrets.names.harmless;
    let digits = value.chars().any(|c| c.is_ascii_digit());
    value.len() >= 6
        && !value.contains(' ')
        && !harmless.contains(&value.to_ascii_lowercase())
        && (digits || value.len() >= 12)
}
