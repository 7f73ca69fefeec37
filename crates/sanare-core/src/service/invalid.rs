//! The one refusal of a value: which field, and why (S1).

use serde::{Deserialize, Serialize};

use crate::model::escape::plain_line;

/// A value that is refused. In Python a `ValueError`, over HTTP 422 with a pointer to the field.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("`{field}` {reason}")]
pub struct Invalid {
    /// The field, such as `signal` or `labels.host`.
    pub field: String,
    /// Why, lower case, such as "is blank".
    pub reason: String,
}

/// Characters of a refused value that a message repeats.
const QUOTED: usize = 80;

impl Invalid {
    /// A refusal with a reason of our own words.
    pub fn new(field: impl Into<String>, reason: impl Into<String>) -> Self {
        Self { field: field.into(), reason: reason.into() }
    }

    /// A refusal that shows what was given, cleaned and cut.
    pub fn quoting(field: impl Into<String>, given: &str, reason: &str) -> Self {
        Self::new(field, format!("is `{}`; {reason}", quoted(given)))
    }

    /// The same under a longer path: `value` within `observation` is `observation.value`.
    #[must_use]
    pub fn within(mut self, outer: &str) -> Self {
        self.field = format!("{outer}.{}", self.field);
        self
    }
}

/// At most 80 visible characters of a text, on one line.
pub fn quoted(text: &str) -> String {
    let start: String = text.chars().take(QUOTED * 4).collect();
    plain_line(&start).chars().take(QUOTED).collect()
}

#[cfg(test)]
mod tests {
    use super::Invalid;

    #[test]
    fn a_message_repeats_little_and_nothing_hidden() {
        let given = format!("a\u{202e}b\n{}", "x".repeat(1_000));
        let invalid = Invalid::quoting("signal", &given, "letters and digits");
        let text = invalid.to_string();
        assert!(text.starts_with("`signal` is `ab xxx"), "{text}");
        assert!(text.chars().count() < 130 && !text.contains('\u{202e}'), "{text}");
    }
}
