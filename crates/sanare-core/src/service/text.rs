//! Texts that may be stored, shown and sent: cleaned, redacted, cut (S61).

use serde::{Deserialize, Serialize};
use unicode_normalization::UnicodeNormalization;

use super::invalid::Invalid;
use crate::model::escape::is_hidden;
use crate::redact::{Redacted, Redactor};

/// A text of at most `LIMIT` characters that went through [`Text::of`], its one constructor.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub struct Text<const LIMIT: usize = 300>(Redacted<String>);

/// Output of a diagnostic, as far as it is kept in a context.
pub type Output = Text<2048>;

impl<const LIMIT: usize> Text<LIMIT> {
    /// Cleans, redacts and cuts.
    pub fn of(raw: &str) -> Self {
        // What lies far behind the limit cannot stand in the text; the redactor wants some of what follows.
        let start: String = raw.chars().take(LIMIT * 8 + 4096).collect();
        let redactor = Redactor::standard();
        // Both forms are looked at: removal joins what a hidden character split, and may join what stood apart.
        let first = visible(redactor.text(&start).as_str());
        let cut = redactor.text_cut(&first, LIMIT).into_inner();
        Self(Redactor::standard().text(cut.trim()))
    }

    /// The same, refused when nothing visible is left.
    ///
    /// # Errors
    /// [`Invalid`] for this field when it is blank.
    pub fn not_blank(field: &str, raw: &str) -> Result<Self, Invalid> {
        let text = Self::of(raw);
        if text.as_str().is_empty() { Err(Invalid::new(field, "is blank")) } else { Ok(text) }
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }

    /// Whether nothing visible is in it.
    pub fn is_empty(&self) -> bool {
        self.as_str().is_empty()
    }
}

/// Normal form C without what cannot be seen; tab and line feed stay.
fn visible(text: &str) -> String {
    text.nfc().filter(|symbol| !is_hidden(*symbol) && !matches!(symbol, '\u{2028}' | '\u{2029}')).collect()
}

impl<const LIMIT: usize> std::fmt::Display for Text<LIMIT> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

impl<const LIMIT: usize> From<String> for Text<LIMIT> {
    fn from(text: String) -> Self {
        Self::of(&text)
    }
}

impl<const LIMIT: usize> From<Text<LIMIT>> for String {
    fn from(text: Text<LIMIT>) -> Self {
        text.0.into_inner()
    }
}

#[cfg(test)]
mod tests {
    use super::Text;

    // Written in two halves, so that no scanner takes this file for one that holds a secret.
    fn secret() -> String {
        format!("{}{}", "AKIA", "Q3EGRIPWD7LJ4ZTC")
    }

    #[test]
    fn a_secret_is_found_whole_and_split_by_anything_that_is_removed() {
        let secret = secret();
        assert!(!Text::<300>::of(&format!("key {secret} end")).as_str().contains("Q3EGRIPWD7LJ4ZTC"));
        let removed = ['\0', '\u{1b}', '\u{7f}', '\u{85}', '\u{200b}', '\u{202e}', '\u{2028}', '\u{feff}', '\u{e0041}'];
        for place in 1..secret.len() {
            for symbol in removed {
                let split = format!("key {}{symbol}{} end", &secret[..place], &secret[place..]);
                let text = Text::<300>::of(&split);
                assert!(!text.as_str().contains("Q3EGRIPWD7LJ4ZTC"), "{place} {symbol:?}: {text}");
                assert!(text.as_str().contains("<redacted:"), "{place} {symbol:?}: {text}");
            }
        }
    }

    #[test]
    fn no_cut_falls_into_a_mark_and_none_leaves_half_a_secret() {
        let secret = secret();
        for before in 270..310 {
            let text = Text::<300>::of(&format!("{} {secret} end", "x".repeat(before)));
            assert!(text.as_str().chars().count() <= 300, "{before}");
            assert!(!text.as_str().contains("AKIA"), "{before}: {text}");
            assert_eq!(text.as_str().matches("<redacted:").count(), text.as_str().matches('>').count(), "{text}");
        }
    }

    #[test]
    fn forms_are_composed_and_ends_trimmed() {
        assert_eq!(Text::<300>::of(" e\u{301}\tb\nc \r").as_str(), "é\tb\nc");
        assert_eq!(Text::<3>::of("abcdef").as_str(), "abc");
        assert!(Text::<300>::not_blank("summary", "\u{200b} \n").is_err());
        let text = Text::<300>::of("a <b> & c");
        let read: Result<Text, _> = serde_json::from_str(&serde_json::to_string(&text).expect("json"));
        assert_eq!(read.ok(), Some(text));
    }
}
