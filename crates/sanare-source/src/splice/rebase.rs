//! Moving lines of code to another indentation without touching the inside of strings.

use ruff_python_ast::token::TokenKind;
use ruff_text_size::Ranged;

use super::Region;
use crate::parse::Source;

/// From which indentation to which, and what one more level is worth in the file.
pub(super) struct Shape<'a> {
    /// White space before the body's first statement now.
    pub from: &'a str,
    /// White space that shall stand there.
    pub to: &'a str,
    /// One level in the file.
    pub unit: &'a str,
}

/// The lines of a region at their new place. Lines that begin inside a string stay as they are.
pub(super) fn rebase(source: &Source, region: Region, shape: &Shape<'_>) -> String {
    let text = source.text().get(region.start..region.end).unwrap_or_default();
    if shape.from == shape.to {
        return text.to_owned();
    }
    let frozen = frozen_ranges(source);
    let depths = depths(source, region);
    let levels = levels(source, &depths);
    let same_kind = is_same_kind(shape.from, shape.to);
    let mut out = String::with_capacity(text.len() + text.len() / 4);
    let mut at = region.start;
    let mut logical = shape.from;
    let mut level = 0;
    for line in text.split_inclusive('\n') {
        if frozen.iter().any(|(start, end)| *start < at && at < *end) || line.trim().is_empty() {
            out.push_str(line);
        } else {
            let (feed, space, code) = split_line(line);
            if code.starts_with('#') {
                // A comment stands before the token that opens its block: its own white space says where it belongs.
                if let Some((_, depth)) = levels.iter().find(|(known, _)| *known == space) {
                    (level, logical) = (*depth, space);
                }
            } else if let Some((_, depth)) = depths.iter().find(|(offset, _)| *offset == at + feed.len() + space.len())
            {
                (level, logical) = (*depth, space);
            }
            out.push_str(feed);
            if same_kind && let Some(rest) = space.strip_prefix(shape.from) {
                out.push_str(shape.to);
                out.push_str(rest);
            } else if same_kind {
                // A line that stands left of its block: only comments and lines inside brackets may.
                out.push_str(if code.starts_with('#') { shape.to } else { space });
            } else {
                out.push_str(shape.to);
                (0..level).for_each(|_| out.push_str(shape.unit));
                out.push_str(space.strip_prefix(logical).unwrap_or_default());
            }
            out.push_str(code);
        }
        at += line.len();
    }
    out
}

/// What one level is worth in a file: the first indented block says so.
pub(super) fn unit(source: &Source) -> String {
    let mut stack = Vec::new();
    for token in source.parsed().tokens().iter() {
        if token.kind() == TokenKind::Indent {
            let text = source.text().get(token.range().to_std_range()).unwrap_or_default();
            stack.push(text.rsplit('\u{c}').next().unwrap_or(text));
            break;
        }
    }
    stack.first().filter(|text| !text.is_empty()).map_or_else(|| "    ".to_owned(), |text| (*text).to_owned())
}

fn is_same_kind(from: &str, to: &str) -> bool {
    let kind = |text: &str| (text.contains('\t'), text.contains(' '));
    kind(from) == kind(to) || from.is_empty() || to.is_empty()
}

/// Leading form feeds, then white space, then the rest.
fn split_line(line: &str) -> (&str, &str, &str) {
    let blank = line.len() - line.trim_start_matches([' ', '\t', '\u{c}']).len();
    let (white, code) = line.split_at(blank);
    let feed = white.rfind('\u{c}').map_or(0, |at| at + 1);
    let (feed, space) = white.split_at(feed);
    (feed, space, code)
}

/// The ranges of strings; a line that begins inside one is data.
fn frozen_ranges(source: &Source) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    let mut open = Vec::new();
    for token in source.parsed().tokens().iter() {
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
    found
}

/// The white space that stands before code at each depth.
fn levels<'s>(source: &'s Source, depths: &[(usize, usize)]) -> Vec<(&'s str, usize)> {
    depths
        .iter()
        .map(|(offset, depth)| {
            let space = crate::edit::indentation(source.text(), *offset);
            (space.rsplit('\u{c}').next().unwrap_or(space), *depth)
        })
        .collect()
}

/// Offset and block depth (0 in the body itself) of the first token of each logical line, comments not counted.
fn depths(source: &Source, region: Region) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    let (mut depth, mut fresh) = (0usize, true);
    for token in source.parsed().tokens().iter() {
        match token.kind() {
            TokenKind::Indent => depth += 1,
            TokenKind::Dedent => depth = depth.saturating_sub(1),
            TokenKind::Newline => fresh = true,
            TokenKind::NonLogicalNewline | TokenKind::Comment => {}
            _ => {
                let start = token.start().to_usize();
                if fresh && start >= region.start {
                    found.push((start, depth.saturating_sub(1)));
                }
                fresh = false;
            }
        }
    }
    found
}
