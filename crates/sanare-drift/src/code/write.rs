//! Writing into the target: helper functions in the manner of the file, and the edits around them.

use sanare_source::ast::{Stmt, StmtFunctionDef};
use sanare_source::edit::{self, Edit};
use sanare_source::size::Ranged;

use super::Code;

/// Names of the helper functions that this engine writes; by them it knows its earlier layers.
pub const HELPERS: &[&str] = &[
    "field",
    "with_known_names",
    "in_known_order",
    "from_header",
    "delimiter_of",
    "encoding_of",
    "plain_numbers",
    "read_date",
    "read_iso_date",
    "flag_as_digit",
    "known_flag",
    "empty_if_null",
    "read_dates",
    "date_as_before",
    "sheet_of",
    "column_names",
    "joined",
    "moment",
    "rows_above_header",
    "without_footer",
    "plain_number",
    "position",
];

/// A layer in the making.
pub struct Writer<'a, 'c> {
    code: &'c Code<'a>,
    edits: Vec<Edit>,
    helpers: Vec<String>,
}

impl<'a, 'c> Writer<'a, 'c> {
    /// An empty layer.
    pub fn new(code: &'c Code<'a>) -> Self {
        Self { code, edits: Vec::new(), helpers: Vec::new() }
    }

    /// A text as a Python literal with the quotes that the file uses most.
    pub fn quote(&self, text: &str) -> String {
        quoted(text, self.prefers_single())
    }

    /// Replaces a node's text.
    pub fn replace(&mut self, node: impl Ranged, text: impl Into<String>) {
        self.edits.push(Edit::replace(node.range(), text));
    }

    /// Puts text in front of a node.
    pub fn before(&mut self, node: impl Ranged, text: impl Into<String>) {
        self.edits.push(Edit::insert(node.start().to_usize(), text));
    }

    /// Puts text behind a node.
    pub fn after(&mut self, node: impl Ranged, text: impl Into<String>) {
        self.edits.push(Edit::insert(node.end().to_usize(), text));
    }

    /// Wraps a node into a call: `name(node, rest)`.
    pub fn wrap(&mut self, node: impl Ranged + Copy, name: &str, rest: &[String]) {
        self.before(node, format!("{name}("));
        let rest: String = rest.iter().map(|argument| format!(", {argument}")).collect();
        self.after(node, format!("{rest})"));
    }

    /// Puts text at an offset.
    pub fn insert(&mut self, at: usize, text: impl Into<String>) {
        self.edits.push(Edit::insert(at, text));
    }

    /// Puts a comment on a line of its own above the line that holds a node's statement.
    pub fn comment(&mut self, node: impl Ranged, comment: &str) {
        let text = self.code.source.text();
        let start =
            self.code.tree.statement_at(node.start().to_usize()).map_or(node.start(), |statement| statement.start());
        let at = line_start(text, start.to_usize());
        let indent = edit::indentation(text, start.to_usize());
        let newline = if text.contains("\r\n") { "\r\n" } else { "\n" };
        self.edits.push(Edit::insert(at, format!("{indent}# {comment}{newline}")));
    }

    /// Adds a helper function: lines with four spaces a level, double quotes, no line ends.
    pub fn helper(&mut self, text: &str) {
        self.helpers.push(text.trim_matches('\n').to_owned());
    }

    /// Gives a helper of an earlier layer this text, written like that of [`Writer::helper`].
    pub fn rewrite(&mut self, helper: &StmtFunctionDef, text: &str) {
        let whole = self.code.source.text();
        let newline = if whole.contains("\r\n") { "\r\n" } else { "\n" };
        let indent = edit::indentation(whole, helper.start().to_usize());
        let outer = edit::indentation(whole, self.code.target.name.start().to_usize());
        let unit = indent.strip_prefix(outer).filter(|unit| !unit.is_empty()).unwrap_or("    ");
        let single = self.prefers_single();
        let lines: Vec<String> = text.lines().map(|line| laid_out(line, indent, unit, single)).collect();
        let block = lines.join(newline);
        self.replace(helper, block.strip_prefix(indent).unwrap_or(&block));
    }

    /// The module's new text; nothing if the target's body cannot take a helper.
    pub fn finish(mut self) -> Option<String> {
        let text = self.code.source.text();
        if !self.helpers.is_empty() {
            let first = self.code.target.body.iter().find(|statement| !self.stays_first(statement))?;
            let at = line_start(text, first.start().to_usize());
            let indent = edit::indentation(text, first.start().to_usize());
            if text.get(at..first.start().to_usize())? != indent {
                return None;
            }
            let outer = edit::indentation(text, self.code.target.name.start().to_usize());
            let unit = indent.strip_prefix(outer).filter(|unit| !unit.is_empty()).unwrap_or("    ");
            let newline = if text.contains("\r\n") { "\r\n" } else { "\n" };
            let mut block = String::new();
            let follows = self.code.target.body.first().is_some_and(|head| head.start() < first.start());
            if follows && !text.get(..at)?.ends_with(&format!("{newline}{newline}")) {
                block.push_str(newline);
            }
            for helper in &self.helpers {
                for line in helper.lines() {
                    block.push_str(&laid_out(line, indent, unit, self.prefers_single()));
                    block.push_str(newline);
                }
                block.push_str(newline);
            }
            self.edits.push(Edit::insert(at, block));
        }
        edit::apply(text, &self.edits)
    }

    fn stays_first(&self, statement: &Stmt) -> bool {
        match statement {
            Stmt::Expr(expr) => expr.value.is_string_literal_expr(),
            Stmt::FunctionDef(inner) => self.code.helpers.contains(&inner.name.as_str()),
            Stmt::Import(_) | Stmt::ImportFrom(_) => true,
            _ => false,
        }
    }

    fn prefers_single(&self) -> bool {
        let text = self.code.source.text();
        text.matches('\'').count() > text.matches('"').count()
    }
}

fn line_start(text: &str, offset: usize) -> usize {
    text.get(..offset).and_then(|before| before.rfind(['\n', '\r'])).map_or(0, |at| at + 1)
}

/// One helper line with the file's indentation and quotes. Helpers hold no text with quotes inside quotes.
fn laid_out(line: &str, indent: &str, unit: &str, single: bool) -> String {
    let body = line.trim_start_matches("    ");
    if body.is_empty() {
        return String::new();
    }
    let levels = (line.len() - body.len()) / 4;
    let mut out = format!("{indent}{}", unit.repeat(levels));
    if single && !body.contains('\'') && !body.trim_start().starts_with('#') {
        out.push_str(&body.replace('"', "'"));
    } else {
        out.push_str(body);
    }
    out
}

/// A text as a Python literal.
pub fn quoted(text: &str, single: bool) -> String {
    let quote = if single
        != (text.contains(if single { '\'' } else { '"' }) && !text.contains(if single { '"' } else { '\'' }))
    {
        '\''
    } else {
        '"'
    };
    let mut out = String::from(quote);
    for letter in text.chars() {
        match letter {
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            letter if letter == quote => {
                out.push('\\');
                out.push(letter);
            }
            letter if is_hidden(letter) => out.push_str(&if letter as u32 > 0xffff {
                format!("\\U{:08x}", letter as u32)
            } else if letter as u32 > 0xff {
                format!("\\u{:04x}", letter as u32)
            } else {
                format!("\\x{:02x}", letter as u32)
            }),
            letter => out.push(letter),
        }
    }
    out.push(quote);
    out
}

/// Characters that a reader cannot see; they are written as escapes.
fn is_hidden(letter: char) -> bool {
    letter.is_control()
        || matches!(letter, '\u{a0}' | '\u{ad}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202f}' | '\u{205f}'..='\u{206f}' | '\u{2000}'..='\u{200a}' | '\u{3000}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}')
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn literals_read_back() {
        assert_eq!(quoted("a\"b", false), "'a\"b'");
        assert_eq!(quoted("it's", true), "\"it's\"");
        assert_eq!(quoted("geo\\time\u{feff}", false), "\"geo\\\\time\\ufeff\"");
        assert_eq!(quoted("plain", true), "'plain'");
    }
}
