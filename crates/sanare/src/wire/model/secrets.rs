//! Secrets in source text: numbered placeholders go out, and come back only into the statement that they came from (C43).

use sanare_core::redact::Redactor;
use sanare_source::ast::Stmt;
use sanare_source::ast::visitor::{Visitor, walk_stmt};
use sanare_source::parse::Source;
use sanare_source::size::Ranged as _;

/// The secrets of a module, by their numbers.
#[derive(Clone, Debug, Default)]
pub struct Secrets {
    found: Vec<(String, String)>,
    /// Statements of the masked module that hold a placeholder, white space folded.
    statements: Vec<String>,
}

impl Secrets {
    /// The module without its secrets.
    pub fn of(module: &str) -> (String, Self) {
        let mut secrets = Self::default();
        let mut masked = String::with_capacity(module.len());
        let mut at = 0;
        for (range, _) in Redactor::standard().secrets_in(module) {
            let Some(secret) = module.get(range.clone()) else { continue };
            let known = secrets.found.iter().find(|(_, value)| value == secret).map(|(mark, _)| mark.clone());
            let mark = known.unwrap_or_else(|| {
                let mark = format!("<redacted:secret-{}>", secrets.found.len() + 1);
                secrets.found.push((mark.clone(), secret.to_owned()));
                mark
            });
            masked.push_str(module.get(at..range.start).unwrap_or_default());
            masked.push_str(&mark);
            at = range.end;
        }
        masked.push_str(module.get(at..).unwrap_or_default());
        if !secrets.found.is_empty() {
            secrets.statements = statements(&masked);
        }
        (masked, secrets)
    }

    /// A text in which these secrets are placeholders again.
    pub fn mask(&self, text: &str) -> String {
        self.found.iter().fold(text.to_owned(), |text, (mark, secret)| text.replace(secret, mark))
    }

    /// A candidate with the secrets back in the statements that they came from, each at most as often. A placeholder
    /// anywhere else stays, and the safety gate refuses it.
    pub fn put_back(&self, candidate: &str) -> String {
        if self.found.is_empty() || !candidate.contains(MARK) {
            return candidate.to_owned();
        }
        let mut left = self.statements.clone();
        let good = statements(candidate).into_iter().all(|statement| {
            let place = left.iter().position(|known| *known == statement);
            place.map(|place| left.swap_remove(place)).is_some()
        });
        match good {
            true => self.found.iter().fold(candidate.to_owned(), |text, (mark, secret)| text.replace(mark, secret)),
            false => candidate.to_owned(),
        }
    }
}

const MARK: &str = "<redacted:secret-";

/// The innermost statements that hold a placeholder. Of a statement with a block of its own, the head is meant.
fn statements(text: &str) -> Vec<String> {
    let flat = sanare_source::flatten(text);
    let Ok(source) = Source::parse(&flat) else { return vec![fold(text)] };
    let mut finder = Finder { source: &source, found: Vec::new(), covered: 0 };
    source.body().iter().for_each(|statement| finder.visit_stmt(statement));
    let all = flat.matches(MARK).count();
    // In a comment, say: then nothing is put back.
    if finder.covered != all {
        finder.found.push("(a placeholder outside statements)".to_owned());
    }
    finder.found
}

struct Finder<'a> {
    source: &'a Source,
    found: Vec<String>,
    covered: usize,
}

impl<'a> Visitor<'a> for Finder<'a> {
    fn visit_stmt(&mut self, statement: &'a Stmt) {
        let whole = self.source.slice(statement);
        if !whole.contains(MARK) {
            return;
        }
        let before = self.covered;
        walk_stmt(self, statement);
        let inner = self.covered - before;
        let own = whole.matches(MARK).count() - inner;
        if own > 0 {
            let start = statement.range().start().to_usize();
            let head = match first_block(statement) {
                Some(block) => self.source.text().get(start..block).unwrap_or(whole),
                None => whole,
            };
            self.found.push(fold(head));
            self.covered += head.matches(MARK).count();
        }
    }
}

/// Where the first statement of a statement's own block begins.
fn first_block(statement: &Stmt) -> Option<usize> {
    let body = match statement {
        Stmt::FunctionDef(node) => &node.body,
        Stmt::ClassDef(node) => &node.body,
        Stmt::For(node) => &node.body,
        Stmt::While(node) => &node.body,
        Stmt::If(node) => &node.body,
        Stmt::With(node) => &node.body,
        Stmt::Try(node) => &node.body,
        _ => return None,
    };
    body.first().map(|first| first.range().start().to_usize())
}

fn fold(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::Secrets;

    fn token() -> String {
        format!("ghp_{}", "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8")
    }

    fn module() -> String {
        format!("def f(row):\n    api_key = \"{}\"\n    return send(row[\"a\"], api_key)\n", token())
    }

    #[test]
    fn a_secret_goes_out_as_its_number_and_comes_back_to_its_place() {
        let (masked, secrets) = Secrets::of(&module());
        assert!(!masked.contains(&token()) && masked.contains("\"<redacted:secret-1>\""), "{masked}");
        assert_eq!(secrets.mask(&module()), masked);
        let repaired = masked.replace("row[\"a\"]", "row[\"b\"]");
        assert_eq!(secrets.put_back(&repaired), module().replace("row[\"a\"]", "row[\"b\"]"));
    }

    #[test]
    fn it_comes_back_nowhere_else_and_not_twice() {
        let (masked, secrets) = Secrets::of(&module());
        for bad in [
            masked.replace("return send", "print(\"<redacted:secret-1>\")\n    return send"),
            masked.replace("api_key = \"<redacted:secret-1>\"", "print(\"<redacted:secret-1>\")"),
            masked.replace("    return", "    api_key = \"<redacted:secret-1>\"\n    return"),
            masked.replace("    return", "    # <redacted:secret-1>\n    return"),
            masked.replace("api_key = \"<redacted:secret-1>\"", "api_key = \"x\" + \"<redacted:secret-1>\""),
        ] {
            assert!(!secrets.put_back(&bad).contains(&token()), "{bad}");
        }
    }

    #[test]
    fn text_without_secrets_stays() {
        let (masked, secrets) = Secrets::of("def f():\n    return 1\n");
        assert_eq!(masked, "def f():\n    return 1\n");
        assert_eq!(secrets.put_back("def f():\n    return 2\n"), "def f():\n    return 2\n");
    }
}
