//! Putting a new body into a function and leaving every other byte of the file alone.
//!
//! The header is never taken from the candidate: from the first decorator to the colon, comments included, the file's own
//! bytes stay. Indentation is re-based by tokens, so that the text inside strings that span lines is not touched.

mod rebase;

use ruff_python_ast::comparable::ComparableStmt;
use ruff_python_ast::token::TokenKind;
use ruff_python_ast::{Stmt, StmtFunctionDef};
use ruff_text_size::{Ranged, TextRange, TextSize};

use crate::candidate;
use crate::edit::indentation;
use crate::parse::{Broken, Source};

/// A module with the body of one function exchanged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spliced {
    /// The whole new module.
    pub text: String,
    /// First byte that was replaced, in the old text.
    pub body_start: usize,
    /// One past the last byte that was replaced, in the old text.
    pub body_end: usize,
    /// What stands there now.
    pub new_body: String,
}

/// Why a body cannot be exchanged.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SpliceError {
    /// The file is not valid Python.
    #[error("the file does not parse")]
    File(#[source] Broken),
    /// The candidate is not valid Python.
    #[error("the candidate does not parse")]
    Candidate(#[source] Broken),
    /// The file has no such function, or several and none at that line.
    #[error("no single function `{0}` at that line")]
    NotFound(String),
    /// The candidate is not one function.
    #[error("the candidate is not one function `{0}`")]
    NotOneFunction(String),
    /// The file with the new body would say something else than the candidate.
    #[error("the new body cannot be indented like the file without changing its meaning")]
    Unfaithful,
}

/// The module with the candidate's body in place of the body of `qualified_name`.
///
/// `first_line` (from 1, decorators included) tells several functions of one name apart; where there is only one it is
/// not looked at. What is replaced begins after the line of the header's colon (for a body on that same line: after the
/// colon) and ends with the line of the body's last statement, its comment included, its line end not.
///
/// # Errors
/// [`SpliceError`] when either text does not parse, the function is not there, or the result would differ in meaning.
pub fn splice(
    old_module: &str,
    qualified_name: &str,
    first_line: usize,
    candidate: &str,
) -> Result<Spliced, SpliceError> {
    let file = Source::parse(old_module).map_err(SpliceError::File)?;
    let target =
        file.function_at(qualified_name, first_line).ok_or_else(|| SpliceError::NotFound(qualified_name.to_owned()))?;
    if let Some(why) = candidate::too_deep(candidate) {
        return Err(SpliceError::Candidate(Broken { message: why.to_owned(), line: 1 }));
    }
    let flat = candidate::flatten(candidate);
    let new = Source::parse(&flat).map_err(SpliceError::Candidate)?;
    let wanted = only_function(&new, target.name.as_str())?;

    let old_region = region(&file, target).ok_or(SpliceError::Unfaithful)?;
    let new_region = region(&new, wanted).ok_or(SpliceError::Unfaithful)?;
    let new_body = body_text(&file, target, &old_region, &new, wanted, &new_region);

    let mut text = String::with_capacity(old_module.len() + new_body.len());
    text.push_str(old_module.get(..old_region.start).unwrap_or_default());
    text.push_str(&new_body);
    text.push_str(old_module.get(old_region.end..).unwrap_or_default());
    if !is_faithful(&text, qualified_name, file.line(target.start().to_usize()), target, wanted) {
        return Err(SpliceError::Unfaithful);
    }
    Ok(Spliced { text, body_start: old_region.start, body_end: old_region.end, new_body })
}

/// The bytes of a function's body as [`splice`] sees them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Region {
    /// First byte of the body.
    pub start: usize,
    /// One past its last byte.
    pub end: usize,
    /// The body stands on the line of the colon.
    pub one_line: bool,
}

/// Where the body of a function begins and ends.
pub(crate) fn region(source: &Source, function: &StmtFunctionDef) -> Option<Region> {
    let (first, last) = (function.body.first()?, function.body.last()?);
    let (mut colon, mut newline) = (None, None);
    let header = TextRange::new(function.start(), first.start());
    for token in source.parsed().tokens().iter().filter(|token| header.contains_range(token.range())) {
        match token.kind() {
            TokenKind::Colon => (colon, newline) = (Some(token.range().end()), None),
            TokenKind::Newline if newline.is_none() => newline = Some(token.range().end()),
            _ => {}
        }
    }
    let start = newline.or(colon)?;
    let end = line_end(source, last);
    Some(Region { start: start.to_usize(), end: end.to_usize(), one_line: newline.is_none() })
}

/// The end of the line of a body's last statement: after its comment, before its line end.
fn line_end(source: &Source, last: &Stmt) -> TextSize {
    let mut end = last.end();
    for token in source.parsed().tokens().iter().filter(|token| token.start() >= last.end()) {
        match token.kind() {
            TokenKind::Semi | TokenKind::Comment => end = token.range().end(),
            _ => break,
        }
    }
    end
}

fn only_function<'a>(source: &'a Source, name: &str) -> Result<&'a StmtFunctionDef, SpliceError> {
    match source.body() {
        [Stmt::FunctionDef(function)] if function.name.as_str() == name => Ok(function),
        _ => Err(SpliceError::NotOneFunction(name.to_owned())),
    }
}

fn body_text(
    file: &Source,
    target: &StmtFunctionDef,
    old: &Region,
    new: &Source,
    wanted: &StmtFunctionDef,
    region: &Region,
) -> String {
    let header = indentation(file.text(), target.start().to_usize());
    let wanted_indent =
        if old.one_line { format!("{header}{}", rebase::unit(file)) } else { first_indent(file, target).to_owned() };
    let text = new.text().get(region.start..region.end).unwrap_or_default();
    if region.one_line {
        let text = text.trim_start_matches([' ', '\t', '\u{c}']);
        let text = text.strip_prefix("\\\n").unwrap_or(text).trim_start();
        let body = format!("{wanted_indent}{text}");
        return if old.one_line { format!("\n{body}") } else { body };
    }
    let shape = rebase::Shape { from: first_indent(new, wanted), to: &wanted_indent, unit: &rebase::unit(file) };
    let body = rebase::rebase(new, *region, &shape);
    if old.one_line { format!("\n{body}") } else { body }
}

/// The white space before the first statement of a body that has lines of its own.
fn first_indent<'a>(source: &'a Source, function: &StmtFunctionDef) -> &'a str {
    let indent = function.body.first().map_or("", |first| indentation(source.text(), first.start().to_usize()));
    indent.rsplit('\u{c}').next().unwrap_or(indent)
}

/// The new file holds the old header, the candidate's body, and nothing else of it changed in meaning.
fn is_faithful(
    text: &str,
    qualified_name: &str,
    first_line: usize,
    target: &StmtFunctionDef,
    wanted: &StmtFunctionDef,
) -> bool {
    let Ok(result) = Source::parse(text) else { return false };
    let Some(function) = result.function_at(qualified_name, first_line) else { return false };
    let body = |function: &StmtFunctionDef| -> Vec<String> {
        function.body.iter().map(|statement| format!("{:?}", ComparableStmt::from(statement))).collect()
    };
    body(function) == body(wanted)
        && function.name == target.name
        && function.decorator_list.len() == target.decorator_list.len()
        && function.parameters.len() == target.parameters.len()
}

#[cfg(test)]
mod tests;
