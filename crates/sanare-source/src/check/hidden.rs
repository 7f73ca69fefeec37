//! Gate 4: what a reader sees is what the code says.

use std::collections::{BTreeMap, BTreeSet};

use ruff_python_ast::token::TokenKind;
use ruff_python_ast::{Expr, ExprCall};
use ruff_text_size::Ranged;
use unicode_normalization::UnicodeNormalization;

use super::Look;
use crate::constant;
use crate::lens::Lens;
use crate::parse::Source;
use crate::script::{Script, is_hidden, is_odd_space, script, skeleton};
use crate::vet::Case;

/// **no_hidden_text**: no new bidirectional, zero-width, format or control character as such in names, texts or comments
/// (escapes pass), no name that looks like another in scope or mixes scripts, no text that is put together or decoded
/// from parts that say nothing.
pub(super) fn no_hidden_text(case: &Case<'_>) -> Look {
    let mut findings = characters(case);
    findings.extend(identifiers(case));
    findings.extend(mixed_words(case));
    findings.extend(encoded(case));
    findings.dedup();
    findings.into()
}

/// Hidden characters that do not stand in the old function already, token by token.
fn characters(case: &Case<'_>) -> Vec<String> {
    let old = case.old_source.slice(case.old.code.function);
    let mut findings = Vec::new();
    for (kind, text) in pieces(case.new_source) {
        let mut before = None;
        for character in text.chars() {
            let emoji = character == '\u{fe0f}' && before.is_some_and(|c: char| u32::from(c) >= 0x2000);
            let hidden = is_hidden(character) && !emoji;
            let space = is_odd_space(character) && kind != Piece::Comment;
            if (hidden || space) && !old.contains(character) {
                findings.push(format!("U+{:04X} stands in {} as such", u32::from(character), kind.say()));
            }
            before = Some(character);
        }
    }
    findings
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Piece {
    Code,
    Text,
    Comment,
}

impl Piece {
    fn say(self) -> &'static str {
        match self {
            Self::Code => "the code",
            Self::Text => "a text",
            Self::Comment => "a comment",
        }
    }
}

/// The text of a source in pieces: code with the blanks between, strings, comments.
fn pieces(source: &Source) -> Vec<(Piece, &str)> {
    let mut found = Vec::new();
    let mut at = 0;
    for token in source.parsed().tokens().iter() {
        let range = token.range().to_std_range();
        let piece = match token.kind() {
            TokenKind::String | TokenKind::FStringMiddle | TokenKind::TStringMiddle => Piece::Text,
            TokenKind::Comment => Piece::Comment,
            _ => continue,
        };
        found.push((Piece::Code, source.text().get(at..range.start).unwrap_or_default()));
        found.push((piece, source.text().get(range.clone()).unwrap_or_default()));
        at = range.end;
    }
    found.push((Piece::Code, source.text().get(at..).unwrap_or_default()));
    found
}

/// New names: of one script, not changed by the interpreter's normal form, not the double of another name.
fn identifiers(case: &Case<'_>) -> Vec<String> {
    let old: BTreeSet<&str> = names(case.old_source).into_iter().collect();
    let new: BTreeSet<&str> = names(case.new_source).into_iter().collect();
    let mut doubles: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
    for name in old.iter().chain(&new).chain(BUILTINS).copied() {
        doubles.entry(skeleton(name)).or_default().insert(name);
    }
    let mut findings = Vec::new();
    for name in new.iter().filter(|name| !old.contains(*name)) {
        if !name.is_ascii() {
            if name.nfkc().ne(name.chars()) {
                findings.push(format!("the name `{}` is written in letters that stand for others", escaped(name)));
            } else if scripts(name).len() > 1 {
                findings.push(format!("the name `{}` mixes scripts", escaped(name)));
            } else if skeleton(name).is_ascii() && scripts(name) != BTreeSet::from([Script::Latin]) {
                findings.push(format!("the name `{}` looks like `{}`", escaped(name), skeleton(name)));
            }
        }
        if let Some(other) = doubles.get(&skeleton(name)).into_iter().flatten().find(|other| *other != name) {
            findings.push(format!("the name `{}` looks like `{}`", escaped(name), escaped(other)));
        }
    }
    findings
}

/// Built-in names that a double could hide behind.
const BUILTINS: &[&str] = &[
    "open", "print", "eval", "exec", "len", "str", "int", "float", "list", "dict", "set", "sum", "min", "max",
    "sorted", "range", "type", "self", "True", "False", "None",
];

fn names(source: &Source) -> Vec<&str> {
    source
        .parsed()
        .tokens()
        .iter()
        .filter(|token| token.kind() == TokenKind::Name)
        .filter_map(|token| source.text().get(token.range().to_std_range()))
        .collect()
}

fn scripts(word: &str) -> BTreeSet<Script> {
    word.chars().map(script).filter(|script| *script != Script::Common).collect()
}

/// Words in new texts and comments that mix letters of two scripts where one kind looks like the other.
fn mixed_words(case: &Case<'_>) -> Vec<String> {
    let old = case.old_source.text();
    let mut findings = Vec::new();
    for (kind, text) in pieces(case.new_source) {
        if kind == Piece::Code {
            continue;
        }
        for word in text.split(|c: char| !c.is_alphanumeric()) {
            let scripts = scripts(word);
            let confusing = scripts.contains(&Script::Latin)
                && (scripts.contains(&Script::Cyrillic) || scripts.contains(&Script::Greek))
                && word
                    .chars()
                    .any(|c| !c.is_ascii() && skeleton(&c.to_string()).is_ascii() && script(c) != Script::Latin);
            if confusing && !old.contains(word) {
                findings.push(format!("the word `{}` mixes scripts", escaped(word)));
            }
            let full_width = word.chars().any(|c| ('\u{ff01}'..='\u{ff5e}').contains(&c));
            let mathematical = word.chars().any(|c| ('\u{1d400}'..='\u{1d7ff}').contains(&c));
            if (full_width && word.chars().any(|c| c.is_ascii_alphabetic()) || mathematical) && !old.contains(word) {
                findings.push(format!("the word `{}` is written in letters that stand for others", escaped(word)));
            }
        }
    }
    findings
}

/// Texts decoded from constants that say nothing to a reader.
fn encoded(case: &Case<'_>) -> Vec<String> {
    let lens = &case.new;
    let mut findings = Vec::new();
    for node in &lens.code.exprs {
        if case.is_old(node.expr) {
            continue;
        }
        let found = match node.expr {
            Expr::Call(call) => decodes(lens, call),
            Expr::Subscript(subscript) => match &*subscript.slice {
                Expr::Slice(slice) => {
                    slice.step.as_deref().and_then(constant::integer) == Some(-1)
                        && matches!(&*subscript.value, Expr::StringLiteral(text) if text.value.len() > 2)
                }
                _ => false,
            },
            Expr::BinOp(sum) if sum.op == ruff_python_ast::Operator::Add => is_split_word(&sum.left, &sum.right),
            _ => false,
        };
        if found {
            findings.push(format!("`{}` hides what it says", case.text(node.expr)));
        }
    }
    findings
}

fn decodes(lens: &Lens<'_>, call: &ExprCall) -> bool {
    let long = |expr: &Expr| match expr {
        Expr::StringLiteral(text) => text.value.len() >= 8,
        Expr::BytesLiteral(bytes) => bytes.value.len() >= 8,
        _ => constant::texts(lens, expr, Some(lens.code.scope_of(expr))).iter().any(|text| text.len() >= 8),
    };
    let Some(first) = call.arguments.args.first() else { return false };
    let decoder = lens.paths(&call.func).iter().any(|path| {
        path.starts_with("base64.")
            || path.starts_with("binascii.")
            || path.starts_with("zlib.decompress")
            || matches!(path.as_str(), "codecs.decode" | "quopri.decodestring" | "lzma.decompress" | "bz2.decompress")
    });
    let from_hex = matches!(&*call.func, Expr::Attribute(node) if node.attr.as_str() == "fromhex");
    if (decoder || from_hex) && long(first) {
        return true;
    }
    // `"".join(chr(c) for c in (111, 115))`, `bytes((111, 115))`
    let joins = matches!(&*call.func, Expr::Attribute(node) if node.attr.as_str() == "join");
    let bytes = matches!(&*call.func, Expr::Name(name) if matches!(name.id.as_str(), "bytes" | "bytearray"));
    let codes = |expr: &Expr| {
        crate::code::collect_elements(expr).is_some_and(|parts| {
            parts.len() >= 2 && parts.iter().all(|part| constant::integer(part).is_some_and(|n| (32..127).contains(&n)))
        })
    };
    (joins && constant::characters(first).is_some()) || (bytes && codes(first))
}

/// `"o" + "s"`: two short texts that make one word have no reason to be apart.
fn is_split_word(left: &Expr, right: &Expr) -> bool {
    let (Expr::StringLiteral(left), Expr::StringLiteral(right)) = (left, right) else { return false };
    let (left, right) = (left.value.to_str(), right.value.to_str());
    let letters = |text: &str| !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || c == '_');
    letters(left) && letters(right) && left.len() + right.len() <= 24
}

fn escaped(text: &str) -> String {
    text.chars().flat_map(char::escape_default).collect()
}
