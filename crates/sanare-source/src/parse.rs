//! Parsing a module and finding functions in it by qualified name.

use ruff_python_ast::{ModModule, Stmt, StmtFunctionDef};
use ruff_python_parser::{Parsed, parse_module};
use ruff_text_size::{Ranged, TextRange};

/// A parsed module together with its text. Offsets are bytes of the UTF-8 text.
#[derive(Debug)]
pub struct Source {
    text: String,
    parsed: Parsed<ModModule>,
}

/// Why a text is not a module.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {message}")]
pub struct Broken {
    /// The parser's words.
    pub message: String,
    /// Line, from 1.
    pub line: usize,
}

impl Source {
    /// Parses UTF-8 text as a module.
    ///
    /// # Errors
    /// [`Broken`] when it is not valid Python.
    pub fn parse(text: &str) -> Result<Self, Broken> {
        match parse_module(text) {
            Ok(parsed) => Ok(Self { text: text.to_owned(), parsed }),
            Err(error) => {
                Err(Broken { message: error.error.to_string(), line: line_of(text, error.location.start().to_usize()) })
            }
        }
    }

    /// The text that was parsed.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The statements of the module.
    pub fn body(&self) -> &[Stmt] {
        &self.parsed.syntax().body
    }

    /// The parser's tokens and tree, for those who need more.
    pub fn parsed(&self) -> &Parsed<ModModule> {
        &self.parsed
    }

    /// The text of a node.
    pub fn slice(&self, node: impl Ranged) -> &str {
        self.text.get(node.range().to_std_range()).unwrap_or_default()
    }

    /// The text of a node with the white space before it on its first line, so that all its lines are indented alike.
    pub fn whole_lines(&self, node: impl Ranged) -> &str {
        let range = node.range().to_std_range();
        let before = self.text.get(..range.start).unwrap_or_default();
        let blank = before.len() - before.trim_end_matches([' ', '\t', '\u{c}']).len();
        self.text.get(range.start - blank..range.end).unwrap_or_default()
    }

    /// Line of an offset, from 1.
    pub fn line(&self, offset: usize) -> usize {
        line_of(&self.text, offset)
    }

    /// The functions with this qualified name (`Class.method`, `outer.<locals>.inner`), in order of their text.
    /// Several definitions of one name (under `if`, say) are all returned.
    pub fn functions(&self, qualified: &str) -> Vec<&StmtFunctionDef> {
        let path: Vec<&str> = qualified.split('.').filter(|part| *part != "<locals>").collect();
        let mut found = Vec::new();
        find(self.body(), &path, &mut found);
        found
    }

    /// The one function with this qualified name whose text covers `line`, or the only one there is.
    pub fn function_at(&self, qualified: &str, line: usize) -> Option<&StmtFunctionDef> {
        let found = self.functions(qualified);
        if let [only] = found.as_slice() {
            return Some(only);
        }
        found.into_iter().find(|function| {
            let range = function.range();
            (self.line(range.start().to_usize())..=self.line(range.end().to_usize())).contains(&line)
        })
    }
}

/// The range from the first decorator to the last byte of the body, trailing comments not included.
pub fn full_range(function: &StmtFunctionDef) -> TextRange {
    function.range()
}

fn line_of(text: &str, offset: usize) -> usize {
    let before = text.as_bytes().get(..offset).unwrap_or(text.as_bytes());
    let mut line = 1;
    let mut previous = 0u8;
    for byte in before {
        match byte {
            b'\r' => line += 1,
            b'\n' if previous != b'\r' => line += 1,
            _ => {}
        }
        previous = *byte;
    }
    line
}

fn find<'a>(body: &'a [Stmt], path: &[&str], found: &mut Vec<&'a StmtFunctionDef>) {
    let Some((first, rest)) = path.split_first() else { return };
    for statement in body {
        match statement {
            Stmt::FunctionDef(function) if function.name.as_str() == *first => {
                if rest.is_empty() {
                    found.push(function);
                } else {
                    find(&function.body, rest, found);
                }
            }
            Stmt::ClassDef(class) if class.name.as_str() == *first => find(&class.body, rest, found),
            Stmt::If(branch) => {
                find(&branch.body, path, found);
                branch.elif_else_clauses.iter().for_each(|clause| find(&clause.body, path, found));
            }
            Stmt::Try(attempt) => {
                find(&attempt.body, path, found);
                for handler in &attempt.handlers {
                    let ruff_python_ast::ExceptHandler::ExceptHandler(handler) = handler;
                    find(&handler.body, path, found);
                }
                find(&attempt.orelse, path, found);
                find(&attempt.finalbody, path, found);
            }
            Stmt::With(with) => find(&with.body, path, found),
            Stmt::For(each) => find(&each.body, path, found),
            Stmt::While(each) => find(&each.body, path, found),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Source;

    #[test]
    fn finds_methods_and_inner_functions() {
        let source = Source::parse("class A:\n    @x\n    def f(self):\n        def g():\n            pass\n").unwrap();
        assert_eq!(source.functions("A.f").len(), 1);
        assert_eq!(source.functions("A.f.<locals>.g").len(), 1);
        assert!(source.functions("g").is_empty());
    }

    #[test]
    fn broken_text_names_its_line() {
        assert_eq!(Source::parse("x = 1\ndef (:\n").unwrap_err().line, 2);
    }
}
