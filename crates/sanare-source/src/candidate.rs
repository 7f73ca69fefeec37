//! A candidate's text: one function, at the margin or indented as it stood in its class.

use ruff_python_ast::PySourceType;
use ruff_python_ast::token::TokenKind;
use ruff_python_parser::{Mode, lexer, parse_unchecked_source};
use ruff_text_size::Ranged;

/// The candidate moved to the margin. Lines inside strings are not touched; a candidate at the margin comes back as it is.
pub fn flatten(candidate: &str) -> String {
    let Some(first) = candidate.lines().find(|line| {
        let text = line.trim();
        !text.is_empty() && !text.starts_with('#')
    }) else {
        return candidate.to_owned();
    };
    let margin = first.len() - first.trim_start_matches([' ', '\t']).len();
    let prefix = first.get(..margin).unwrap_or_default();
    if prefix.is_empty() {
        return candidate.to_owned();
    }
    let frozen = string_ranges(candidate, prefix);
    let mut out = String::with_capacity(candidate.len());
    let mut at = 0;
    for line in candidate.split_inclusive('\n') {
        if frozen.iter().any(|(start, end)| *start < at && at < *end) {
            out.push_str(line);
        } else {
            out.push_str(line.strip_prefix(prefix).unwrap_or(line));
        }
        at += line.len();
    }
    out
}

/// The ranges of strings, found on the text put under a block so that its indentation is legal.
fn string_ranges(candidate: &str, prefix: &str) -> Vec<(usize, usize)> {
    let head = format!("if 1:\n{prefix}pass\n");
    let parsed = parse_unchecked_source(&format!("{head}{candidate}"), PySourceType::Python);
    let (mut found, mut open) = (Vec::new(), Vec::new());
    for token in parsed.tokens().iter() {
        let (start, end) = (token.range().start().to_usize(), token.range().end().to_usize());
        match token.kind() {
            TokenKind::String => found.push((start, end)),
            TokenKind::FStringStart | TokenKind::TStringStart => open.push(start),
            TokenKind::FStringEnd | TokenKind::TStringEnd => {
                if let Some(start) = open.pop() {
                    found.push((start, end));
                }
            }
            _ => {}
        }
    }
    found.into_iter().map(|(start, end)| (start.saturating_sub(head.len()), end.saturating_sub(head.len()))).collect()
}

/// How deep an expression may nest before a candidate is refused unread: the parser and those who walk the tree recurse.
const MAX_CHAIN: usize = 400;
/// How deep blocks may nest before a candidate is refused unread (the interpreter's own bound is 100).
const MAX_BLOCKS: usize = 100;

/// Why a text is too deeply nested to be read safely; `None` when it is not.
///
/// Counts, for each open bracket, the operators since the last comma: their sum over all open brackets bounds the depth
/// of the tree.
pub fn too_deep(text: &str) -> Option<&'static str> {
    let mut lexer = lexer::lex(text, Mode::Module);
    let (mut chains, mut blocks) = (vec![0usize], 0usize);
    loop {
        let kind = lexer.next_token();
        match kind {
            TokenKind::EndOfFile => return None,
            TokenKind::Indent => blocks += 1,
            TokenKind::Dedent => blocks = blocks.saturating_sub(1),
            TokenKind::Newline => chains = vec![0],
            TokenKind::Lpar | TokenKind::Lsqb | TokenKind::Lbrace => chains.push(1),
            TokenKind::Rpar | TokenKind::Rsqb | TokenKind::Rbrace if chains.len() > 1 => {
                chains.pop();
                if let Some(last) = chains.last_mut() {
                    *last += 1;
                }
            }
            TokenKind::Comma | TokenKind::Semi => {
                if let Some(last) = chains.last_mut() {
                    *last = 0;
                }
            }
            kind if deepens(kind) => {
                if let Some(last) = chains.last_mut() {
                    *last += 1;
                }
            }
            _ => {}
        }
        if blocks > MAX_BLOCKS {
            return Some("blocks are nested too deeply to be read");
        }
        if chains.iter().sum::<usize>() > MAX_CHAIN {
            return Some("an expression is nested too deeply to be read");
        }
    }
}

fn deepens(kind: TokenKind) -> bool {
    kind.is_operator()
        || matches!(
            kind,
            TokenKind::Not
                | TokenKind::Lambda
                | TokenKind::If
                | TokenKind::Await
                | TokenKind::Yield
                | TokenKind::FStringStart
                | TokenKind::TStringStart
        )
}

#[cfg(test)]
mod tests {
    use super::{flatten, too_deep};

    #[test]
    fn flatten_moves_code_and_not_the_inside_of_strings() {
        let text = "    @x\n    def f():\n        return \"\"\"\n    a\n\"\"\"\n";
        assert_eq!(flatten(text), "@x\ndef f():\n    return \"\"\"\n    a\n\"\"\"\n");
        assert_eq!(flatten("def f():\n    pass\n"), "def f():\n    pass\n");
    }

    #[test]
    fn deep_texts_are_noticed_before_they_are_parsed() {
        let deep = |text: &str| too_deep(text).is_some();
        assert!(deep(&format!("x = {}1{}", "(".repeat(1000), ")".repeat(1000))));
        assert!(deep(&format!("x = a{}", ".b".repeat(1000))));
        assert!(deep(&format!("x = {}1", "not ".repeat(1000))));
        assert!(deep(&format!("x = a{}", "(1, 2)".repeat(1000))));
        let blocks: String = (0..200).map(|level| format!("{}if x:\n", " ".repeat(level))).collect();
        assert!(deep(&blocks));
        let table: String = (0..5000).map(|n| format!("    \"k{n}\": -{n},\n")).collect();
        assert!(!deep(&format!("x = {{\n{table}}}\n")));
    }
}
