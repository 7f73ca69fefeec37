//! Names that come in from outside, checked once, so that each can be shown, sent and cited exactly as it is (S3).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::invalid::Invalid;
use crate::model::escape::is_hidden;
use crate::redact::Redactor;

macro_rules! names {
    ($($(#[$doc:meta])* $name:ident, $field:literal, $fits:ident, $form:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(String);

        impl $name {
            /// Checks a name.
            ///
            /// # Errors
            /// [`Invalid`] when it does not have the form.
            pub fn parse(text: impl Into<String>) -> Result<Self, Invalid> {
                let text = text.into();
                if $fits(&text) { Ok(Self(text)) } else { Err(Invalid::quoting($field, &text, $form)) }
            }

            /// The name.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl TryFrom<String> for $name {
            type Error = Invalid;

            fn try_from(text: String) -> Result<Self, Invalid> {
                Self::parse(text)
            }
        }

        impl From<$name> for String {
            fn from(name: $name) -> Self {
                name.0
            }
        }
    )*};
}

names! {
    /// A service under care.
    Application, "application", is_place,
        "1 to 63 of a-z, 0-9, `.`, `_`, `-`, the first a letter or digit";
    /// A part of an application.
    Component, "component", is_place,
        "1 to 63 of a-z, 0-9, `.`, `_`, `-`, the first a letter or digit";
    /// The configured name of a door: where an observation came in.
    Source, "source", is_place,
        "1 to 63 of a-z, 0-9, `.`, `_`, `-`, the first a letter or digit";
    /// One named series of readings.
    Signal, "signal", is_signal,
        "1 to 200 of letters, digits, `_`, `:`, `.`, `/`, `-`, the first a letter, `_` or `:`";
    /// A version of a model or service, as its registry writes it.
    Version, "version", is_version,
        "1 to 128 of letters, digits, `.`, `_`, `:`, `+`, `/`, `@`, `-`, the first a letter or digit";
}

impl Default for Component {
    fn default() -> Self {
        Self("application".to_owned())
    }
}

impl Default for Application {
    fn default() -> Self {
        Self("application".to_owned())
    }
}

impl Application {
    /// The application that a project of code healing is: its name in our letters.
    ///
    /// # Errors
    /// [`Invalid`] when nothing of the name can be kept.
    pub fn of_project(project: &str) -> Result<Self, Invalid> {
        let kept: String = project
            .chars()
            .map(|symbol| symbol.to_ascii_lowercase())
            .map(|symbol| if symbol.is_ascii_alphanumeric() || "._-".contains(symbol) { symbol } else { '-' })
            .collect();
        let kept: String = kept.trim_start_matches(['.', '_', '-']).chars().take(63).collect();
        if kept.is_empty() {
            Err(Invalid::quoting("project", project, "it has no letter or digit"))
        } else {
            Self::parse(kept)
        }
    }
}

fn is_place(text: &str) -> bool {
    let first = text.bytes().next().is_some_and(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
    let rest = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"._-".contains(&byte);
    first && text.len() <= 63 && text.bytes().all(rest)
}

fn is_signal(text: &str) -> bool {
    let first = text.bytes().next().is_some_and(|byte| byte.is_ascii_alphabetic() || b"_:".contains(&byte));
    let rest = |byte: u8| byte.is_ascii_alphanumeric() || b"_:./-".contains(&byte);
    first && text.len() <= 200 && text.bytes().all(rest)
}

fn is_version(text: &str) -> bool {
    let first = text.bytes().next().is_some_and(|byte| byte.is_ascii_alphanumeric());
    let rest = |byte: u8| byte.is_ascii_alphanumeric() || b"._:+/@-".contains(&byte);
    first && text.len() <= 128 && text.bytes().all(rest)
}

/// Labels of an observation: at most 32, 8 KiB together.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "BTreeMap<String, String>", into = "BTreeMap<String, String>")]
pub struct Labels(BTreeMap<String, String>);

/// A value of fewer bytes is no secret that could be known as one.
const SHORT: usize = 6;

impl Labels {
    /// Checks labels.
    ///
    /// # Errors
    /// [`Invalid`] for the first that is out of bounds.
    pub fn new(labels: BTreeMap<String, String>) -> Result<Self, Invalid> {
        if labels.len() > 32 {
            return Err(Invalid::new("labels", format!("are {}; at most 32", labels.len())));
        }
        for (key, value) in &labels {
            if !is_key(key) {
                return Err(Invalid::quoting("labels", key, "a key is 1 to 64 of letters, digits, `_`, `.`"));
            }
            if value.chars().count() > 512 {
                return Err(Invalid::new(format!("labels.{key}"), "is longer than 512 characters"));
            }
            if value.chars().any(|symbol| is_hidden(symbol) || "\n\t\u{2028}\u{2029}".contains(symbol)) {
                return Err(Invalid::new(format!("labels.{key}"), "has a character that cannot be shown"));
            }
        }
        let bytes: usize = labels.iter().map(|(key, value)| key.len() + value.len()).sum();
        if bytes > 8 * 1024 {
            return Err(Invalid::new("labels", "are longer than 8 KiB together"));
        }
        Ok(Self(labels))
    }

    /// Without what is a secret by its form or its key (S118). The same labels are the same afterwards.
    #[must_use]
    pub fn redacted(mut self) -> Self {
        for (key, value) in self.0.iter_mut().filter(|(_, value)| value.len() >= SHORT) {
            let redacted = Redactor::standard().json(&serde_json::json!({ key.as_str(): value.as_str() }));
            match redacted.as_ref().get(key.as_str()).and_then(serde_json::Value::as_str) {
                Some(text) if text == value => {}
                Some(text) => *value = text.chars().take(512).collect(),
                // The key itself was taken for one.
                None => *value = "<redacted>".to_owned(),
            }
        }
        self
    }

    /// The value of a key.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.0.get(key).map(String::as_str)
    }

    /// All of them, by key.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(key, value)| (key.as_str(), value.as_str()))
    }
}

fn is_key(key: &str) -> bool {
    let first = key.bytes().next().is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'_');
    let rest = |byte: u8| byte.is_ascii_alphanumeric() || b"_.".contains(&byte);
    first && key.len() <= 64 && key.bytes().all(rest)
}

impl TryFrom<BTreeMap<String, String>> for Labels {
    type Error = Invalid;

    fn try_from(labels: BTreeMap<String, String>) -> Result<Self, Invalid> {
        Self::new(labels)
    }
}

impl From<Labels> for BTreeMap<String, String> {
    fn from(labels: Labels) -> Self {
        labels.0
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::{Application, Component, Labels, Signal, Version};

    #[test]
    fn the_longest_legal_names_pass_and_one_more_does_not() {
        assert!(Application::parse("a".repeat(63)).is_ok() && Application::parse("a".repeat(64)).is_err());
        assert!(Signal::parse("a".repeat(200)).is_ok() && Signal::parse("a".repeat(201)).is_err());
        assert!(Version::parse("1".repeat(128)).is_ok() && Version::parse("1".repeat(129)).is_err());
        for good in ["p99", "_x", ":sum:rate5m", "a.b/c-d", "latency_p99_ms"] {
            assert!(Signal::parse(good).is_ok(), "{good}");
        }
        assert_eq!(Component::default().as_str(), "application");
    }

    #[test]
    fn what_cannot_be_shown_as_it_is_gets_refused() {
        // The sixth holds a Cyrillic letter that looks like a Latin one.
        for bad in ["", " ", "a\0", "a\n", "</data>", "fr\u{430}ud", "a\u{202e}b", "-a", "a b"] {
            assert!(Application::parse(bad).is_err(), "{bad:?}");
            assert!(Component::parse(bad).is_err(), "{bad:?}");
            assert!(Signal::parse(bad).is_err(), "{bad:?}");
            assert!(Version::parse(bad).is_err(), "{bad:?}");
        }
        assert!(Application::parse("Fraud").is_err(), "upper case");
    }

    #[test]
    fn labels_have_bounds() {
        let check = |pairs: &[(&str, &str)]| {
            let map: BTreeMap<String, String> = pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
            Labels::new(map).map(|labels| labels.iter().count()).map_err(|invalid| invalid.to_string())
        };
        assert_eq!(check(&[("host", "a"), ("_k.x", "</data> é")]), Ok(2));
        assert_eq!(check(&[("host", &"é".repeat(512))]), Ok(1));
        assert!(check(&[("host", &"é".repeat(513))]).is_err());
        assert!(check(&[("1host", "a")]).is_err() && check(&[("", "a")]).is_err());
        assert!(check(&[("host", "a\nb")]).is_err() && check(&[("host", "a\u{200b}b")]).is_err());
        let many: Vec<String> = (0..33).map(|number| format!("k{number}")).collect();
        let pairs: Vec<(&str, &str)> = many.iter().map(|key| (key.as_str(), "v")).collect();
        assert!(check(&pairs).is_err() && check(&pairs[..32]).is_ok());
        let wide: Vec<(&str, String)> = many.iter().take(17).map(|key| (key.as_str(), "x".repeat(500))).collect();
        let pairs: Vec<(&str, &str)> = wide.iter().map(|(key, value)| (*key, value.as_str())).collect();
        assert!(check(&pairs).is_err() && check(&pairs[..16]).is_ok());
    }

    #[test]
    fn a_project_has_one_application() {
        let name = |project: &str| Application::of_project(project).map(String::from).ok();
        assert_eq!(name("Nightly Job").as_deref(), Some("nightly-job"));
        assert_eq!(name("_etl").as_deref(), Some("etl"));
        assert_eq!(name("日本"), None);
    }
}
