//! Replacing byte ranges of a text.

use ruff_text_size::TextRange;

/// One replacement: these bytes become this text. An empty range inserts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    /// First byte.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
    /// What stands there afterwards.
    pub text: String,
}

impl Edit {
    /// Replaces a node's range.
    pub fn replace(range: TextRange, text: impl Into<String>) -> Self {
        Self { start: range.start().to_usize(), end: range.end().to_usize(), text: text.into() }
    }

    /// Inserts before an offset.
    pub fn insert(at: usize, text: impl Into<String>) -> Self {
        Self { start: at, end: at, text: text.into() }
    }
}

/// Applies edits that do not overlap; `None` when two overlap or one lies outside the text.
/// Insertions at one place keep the order in which they were given.
pub fn apply(text: &str, edits: &[Edit]) -> Option<String> {
    let mut ordered: Vec<&Edit> = edits.iter().collect();
    ordered.sort_by_key(|edit| (edit.start, edit.end));
    let mut out = String::with_capacity(text.len() + edits.iter().map(|edit| edit.text.len()).sum::<usize>());
    let mut at = 0;
    for edit in ordered {
        if edit.start < at || edit.end < edit.start {
            return None;
        }
        out.push_str(text.get(at..edit.start)?);
        out.push_str(&edit.text);
        at = edit.end;
    }
    out.push_str(text.get(at..)?);
    Some(out)
}

/// The white space at the start of the line that holds this offset.
pub fn indentation(text: &str, offset: usize) -> &str {
    let before = text.get(..offset).unwrap_or(text);
    let start = before.rfind(['\n', '\r']).map_or(0, |at| at + 1);
    let line = text.get(start..).unwrap_or_default();
    let width = line.len() - line.trim_start_matches([' ', '\t']).len();
    line.get(..width).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::{Edit, apply};

    #[test]
    fn edits_apply_in_order_and_overlap_is_refused() {
        let edits = [Edit { start: 4, end: 5, text: "Z".into() }, Edit { start: 0, end: 1, text: "A".into() }];
        assert_eq!(apply("abcdef", &edits).as_deref(), Some("AbcdZf"));
        let overlapping =
            [Edit { start: 0, end: 3, text: String::new() }, Edit { start: 2, end: 4, text: String::new() }];
        assert_eq!(apply("abcdef", &overlapping), None);
    }
}
