//! Writing a layer into the target: helpers and statements at its top, replaced expressions, in the file's own style.

use sanare_source::ast::visitor::{Visitor, walk_stmt};
use sanare_source::ast::{Expr, Stmt};
use sanare_source::edit::{self, Edit};
use sanare_source::size::{Ranged, TextRange};

use crate::code::object_view::Scene;

/// Longest line written.
const WIDTH: usize = 110;

/// A layer being written.
pub struct Draft<'a> {
    subject: Scene<'a>,
    edits: Vec<Edit>,
    top: Vec<String>,
    taken: Vec<String>,
    made: Vec<(Vec<String>, String)>,
}

impl<'a> Draft<'a> {
    /// Nothing changed yet.
    pub fn new(subject: Scene<'a>) -> Self {
        Self { subject, edits: Vec::new(), top: Vec::new(), taken: Vec::new(), made: Vec::new() }
    }

    /// An expression becomes this text.
    pub fn replace(&mut self, range: TextRange, text: impl Into<String>) {
        let edit = Edit::replace(range, text);
        if !self.edits.contains(&edit) {
            self.edits.push(edit);
        }
    }

    /// A replacement that is made already.
    pub fn edit(&mut self, edit: Edit) {
        self.edits.push(edit);
    }

    /// Lines at the top of the target as they are, quotes included.
    pub fn verbatim(&mut self, lines: Vec<String>) {
        self.top.extend(lines);
    }

    /// The text of a range.
    pub fn text(&self, range: TextRange) -> &'a str {
        self.subject.source.slice(range)
    }

    /// A helper function at the top of the target, or the one that is there already. `lines` gets the name; the first
    /// line is the `def`, the comment goes below it. Four blanks are one level.
    pub fn helper(&mut self, names: &[&str], comment: &str, lines: impl Fn(&str) -> Vec<String>) -> String {
        let signature = lines("helper");
        if let Some((_, name)) = self.made.iter().find(|(known, _)| *known == signature) {
            return name.clone();
        }
        for name in names {
            if let Some(at) = self.same_helper(&lines(name)) {
                let indent = self.body_indent() + &self.unit();
                let comment: String = commented(comment, WIDTH.saturating_sub(indent.len()))
                    .into_iter()
                    .map(|line| format!("{}{indent}{}", self.newline(), self.quoted(&line)))
                    .collect();
                self.edits.push(Edit::insert(at, comment));
                self.made.push((signature, (*name).to_owned()));
                return (*name).to_owned();
            }
        }
        let name = self.free(names);
        self.made.push((signature, name.clone()));
        let mut lines = lines(&name);
        let rest = lines.split_off(1.min(lines.len()));
        lines.extend(commented(comment, WIDTH - 8).into_iter().map(|line| format!("    {line}")));
        lines.extend(rest);
        let block: Vec<String> = lines.iter().map(|line| self.quoted(line)).collect();
        self.top.extend(block);
        self.top.push(String::new());
        name
    }

    /// Statements at the top of the target, after its docstring and the helpers.
    pub fn top(&mut self, lines: Vec<String>) {
        let lines: Vec<String> = lines.iter().map(|line| self.quoted(line)).collect();
        self.top.extend(lines);
    }

    /// Statements after another one, on its level.
    pub fn after(&mut self, statement: TextRange, lines: &[String]) {
        let source = self.subject.source.text();
        let indent = edit::indentation(source, statement.start().to_usize()).to_owned();
        let text = self.rendered(lines, &indent);
        self.edits
            .push(Edit::insert(statement.end().to_usize(), format!("{}{}", self.newline(), text.join(self.newline()))));
    }

    /// Statements before another one, on its level.
    pub fn before(&mut self, statement: TextRange, lines: &[String]) {
        let source = self.subject.source.text();
        let indent = edit::indentation(source, statement.start().to_usize()).to_owned();
        let text = self.rendered(lines, &indent).join(self.newline());
        let text = text.strip_prefix(indent.as_str()).unwrap_or(&text).to_owned();
        self.edits.push(Edit::insert(statement.start().to_usize(), format!("{text}{}{indent}", self.newline())));
    }

    /// A comment line above the statement that holds a range.
    pub fn note(&mut self, range: TextRange, comment: &str) {
        let Some(statement) = self.statement(range) else { return };
        let source = self.subject.source.text();
        let at = statement.range().start().to_usize();
        let line = source.get(..at).and_then(|before| before.rfind(['\n', '\r'])).map_or(0, |at| at + 1);
        let indent = edit::indentation(source, at).to_owned();
        let lines: String = commented(comment, WIDTH - indent.len())
            .iter()
            .map(|line| format!("{indent}{line}{}", self.newline()))
            .collect();
        self.edits.push(Edit::insert(line, lines));
    }

    /// The innermost simple statement that holds a range, or the line of a compound one.
    pub fn statement(&self, range: TextRange) -> Option<&'a Stmt> {
        struct Finder<'a> {
            range: TextRange,
            found: Option<&'a Stmt>,
        }
        impl<'a> Visitor<'a> for Finder<'a> {
            fn visit_stmt(&mut self, statement: &'a Stmt) {
                if statement.range().contains_range(self.range) {
                    self.found = Some(statement);
                    walk_stmt(self, statement);
                }
            }
        }
        let mut finder = Finder { range, found: None };
        for statement in &self.subject.target.body {
            finder.visit_stmt(statement);
        }
        finder.found
    }

    /// Whether a range is all that a statement assigns or returns.
    pub fn is_whole_value(&self, range: TextRange) -> bool {
        match self.statement(range) {
            Some(Stmt::Assign(assign)) => assign.value.range() == range,
            Some(Stmt::Return(back)) => back.value.as_ref().is_some_and(|value| value.range() == range),
            _ => false,
        }
    }

    /// The first name that means nothing in the module yet.
    pub fn free(&mut self, names: &[&str]) -> String {
        let module = self.subject.source.text();
        let taken = |name: &str| has_word(module, name) || self.taken.iter().any(|known| known == name);
        let fresh = names.iter().find(|name| !taken(name)).map(|name| (*name).to_owned());
        let first = names.first().copied().unwrap_or("value");
        let fresh = fresh.unwrap_or_else(|| {
            (2..100)
                .map(|number| format!("{first}_{number}"))
                .find(|name| !taken(name))
                .unwrap_or_else(|| format!("{first}_"))
        });
        self.taken.push(fresh.clone());
        fresh
    }

    /// The module's text with the layer; `None` when edits collide or the target's body stands on the line of its `def`
    /// and cannot be opened.
    pub fn finish(mut self) -> Option<String> {
        if !self.top.is_empty() {
            let (at, text) = self.opening()?;
            self.edits.push(Edit::insert(at, text));
        }
        self.edits.dedup();
        edit::apply(self.subject.source.text(), &outermost(&self.edits))
    }

    /// Where the target's own statements begin, and the text to put there.
    fn opening(&self) -> Option<(usize, String)> {
        let source = self.subject.source.text();
        let body = &self.subject.target.body;
        let docstring = usize::from(is_docstring(body.first()?));
        let indent = self.body_indent();
        let newline = self.newline();
        let block = self.rendered(&self.top, &indent);
        if let Some(first) = body.get(docstring) {
            let start = first_byte(first);
            let on_line = self.own_line(start);
            if on_line {
                let text = block.join(newline);
                let text = text.strip_prefix(indent.as_str()).unwrap_or(&text).to_owned();
                return Some((start, format!("{text}{newline}{indent}")));
            }
            if source.get(..start)?.trim_end_matches([' ', '\t']).ends_with(':') {
                return Some((start, format!("{newline}{}{newline}{indent}", block.join(newline))));
            }
            return None;
        }
        let end = body.first()?.range().end().to_usize();
        Some((end, format!("{newline}{}", block.join(newline).trim_end())))
    }

    fn own_line(&self, start: usize) -> bool {
        let source = self.subject.source.text();
        let before = source.get(..start).unwrap_or_default();
        let line = before.rfind(['\n', '\r']).map_or(before, |at| before.get(at + 1..).unwrap_or_default());
        line.trim().is_empty()
    }

    fn rendered(&self, lines: &[String], indent: &str) -> Vec<String> {
        let unit = self.unit();
        lines
            .iter()
            .map(|line| {
                let text = line.trim_start_matches(' ');
                let levels = (line.len() - text.len()) / 4;
                if text.is_empty() { String::new() } else { format!("{indent}{}{text}", unit.repeat(levels)) }
            })
            .collect()
    }

    fn body_indent(&self) -> String {
        let source = self.subject.source.text();
        let target = self.subject.target;
        let first = target.body.first().map_or(0, first_byte);
        if self.own_line(first) {
            return edit::indentation(source, first).to_owned();
        }
        format!("{}    ", edit::indentation(source, target.range().start().to_usize()))
    }

    fn unit(&self) -> String {
        let source = self.subject.source.text();
        let outer = edit::indentation(source, self.subject.target.range().start().to_usize());
        let body = self.body_indent();
        body.strip_prefix(outer).filter(|unit| !unit.is_empty()).unwrap_or("    ").to_owned()
    }

    fn newline(&self) -> &'static str {
        let source = self.subject.source.text();
        match source.find('\n') {
            Some(at) if source.as_bytes().get(at.wrapping_sub(1)) == Some(&b'\r') => "\r\n",
            Some(_) => "\n",
            None if source.contains('\r') => "\r",
            None => "\n",
        }
    }

    /// Our text has double quotes; the target may prefer single ones.
    pub fn quoted(&self, line: &str) -> String {
        let text = self.subject.source.slice(self.subject.target);
        let singles = text.matches('\'').count() > text.matches('"').count();
        if singles && !line.contains('\'') && !line.contains('\\') { line.replace('"', "'") } else { line.to_owned() }
    }

    /// The end of the `def` line of an inner function with exactly these lines, comments aside.
    fn same_helper(&self, lines: &[String]) -> Option<usize> {
        let wanted: Vec<String> = lines.iter().map(|line| self.quoted(line).trim().to_owned()).collect();
        for statement in &self.subject.target.body {
            let Stmt::FunctionDef(inner) = statement else { continue };
            let text = self.subject.source.slice(inner);
            let there: Vec<&str> =
                text.lines().map(str::trim).filter(|line| !line.starts_with('#') && !line.is_empty()).collect();
            if there == wanted.iter().map(String::as_str).collect::<Vec<_>>() {
                let start = inner.range().start().to_usize();
                let first = text.find(['\n', '\r'])?;
                return Some(start + first);
            }
        }
        None
    }
}

/// A Python text literal.
pub fn literal(text: &str) -> String {
    let mut out = String::from("\"");
    for letter in text.chars() {
        match letter {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            other if other.is_control() || is_hidden(other) => out.push_str(&escaped(other)),
            other => out.push(other),
        }
    }
    out.push('"');
    out
}

/// A text that may stand in a comment: no line break, nothing hidden.
pub fn plain(text: &str) -> String {
    text.chars().map(|letter| if letter.is_control() || is_hidden(letter) { ' ' } else { letter }).take(80).collect()
}

/// A text that may stand inside an f-string as it is.
pub fn bare(text: &str) -> String {
    plain(text).replace(['"', '\'', '\\', '{', '}'], "")
}

fn escaped(letter: char) -> String {
    let code = u32::from(letter);
    if code <= 0xffff { format!("\\u{code:04x}") } else { format!("\\U{code:08x}") }
}

fn is_hidden(letter: char) -> bool {
    matches!(letter, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}' | '\u{ad}' | '\u{2028}' | '\u{2029}')
}

fn commented(comment: &str, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = String::from("#");
    for word in comment.split_whitespace() {
        if line.len() + word.len() + 1 > width && line.len() > 1 {
            lines.push(std::mem::replace(&mut line, String::from("#")));
        }
        line.push(' ');
        line.push_str(word);
    }
    lines.push(line);
    lines
}

/// Comment lines for statements that are not helpers.
pub fn comment_lines(comment: &str, indent: &str) -> Vec<String> {
    commented(comment, WIDTH - 8 - indent.len()).into_iter().map(|line| format!("{indent}{line}")).collect()
}

/// Replacements inside another replacement are left to the outer one.
fn outermost(edits: &[Edit]) -> Vec<Edit> {
    edits
        .iter()
        .filter(|inner| {
            !edits.iter().any(|outer| {
                !std::ptr::eq(outer, *inner)
                    && outer.start <= inner.start
                    && inner.end <= outer.end
                    && outer.end - outer.start > inner.end - inner.start
                    && inner.end > inner.start
            })
        })
        .cloned()
        .collect()
}

fn first_byte(statement: &Stmt) -> usize {
    match statement {
        Stmt::FunctionDef(function) => {
            function.decorator_list.first().map_or(function.range().start(), |first| first.range().start())
        }
        other => other.range().start(),
    }
    .to_usize()
}

fn is_docstring(statement: &Stmt) -> bool {
    matches!(statement, Stmt::Expr(expr) if matches!(*expr.value, Expr::StringLiteral(_)))
}

/// Whether a word stands in a text, not as a part of another.
pub fn has_word(text: &str, word: &str) -> bool {
    let inside = |letter: char| letter.is_alphanumeric() || letter == '_';
    text.match_indices(word).any(|(at, _)| {
        let before = text.get(..at).and_then(|text| text.chars().next_back());
        let after = text.get(at + word.len()..).and_then(|text| text.chars().next());
        !before.is_some_and(inside) && !after.is_some_and(inside)
    })
}
