//! Targets: what an action touches, named by what it physically is, and the marks by which it is known again (S79).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::invalid::Invalid;
use super::word::words;

/// What a target physically is, such as `systemd:host/unit`: two names for one thing share it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct TargetKey(String);

impl TargetKey {
    /// Checks a key: a word for the kind of thing, `:`, and parts between `/`.
    ///
    /// # Errors
    /// [`Invalid`] for anything else, `.` and `..` as parts included.
    pub fn parse(text: impl Into<String>) -> Result<Self, Invalid> {
        let text = text.into();
        let fits = text.split_once(':').is_some_and(|(kind, rest)| {
            let kind_fits = !kind.is_empty() && kind.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
            let symbol = |byte: u8| byte.is_ascii_alphanumeric() || b"._:@+-".contains(&byte);
            let part = |part: &str| !part.is_empty() && part != "." && part != ".." && part.bytes().all(symbol);
            kind_fits && rest.split('/').all(part)
        });
        if fits && text.len() <= 300 {
            Ok(Self(text))
        } else {
            Err(Invalid::quoting(
                "target",
                &text,
                "a kind, `:`, and parts of letters, digits, `.`, `_`, `-` between `/`",
            ))
        }
    }

    /// The key.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Display for TargetKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl TryFrom<String> for TargetKey {
    type Error = Invalid;

    fn try_from(text: String) -> Result<Self, Invalid> {
        Self::parse(text)
    }
}

impl From<TargetKey> for String {
    fn from(key: TargetKey) -> Self {
        key.0
    }
}

words! {
    /// Something by which a target is known again, or by which a change of it shows.
    Mark("mark") {
        /// The one process or container.
        Instance = "instance",
        /// When it was started.
        StartTime = "start_time",
        /// When it loaded its model.
        LoadTime = "load_time",
        /// A count that grows with every load or roll-out.
        Generation = "generation",
        /// The version that answers.
        ServedVersion = "served_version",
        /// The version that the registry's alias names.
        AliasVersion = "alias_version",
        /// The revision that is rolled out.
        Revision = "revision",
        /// The newest version that is not live.
        CandidateVersion = "candidate_version",
    }
}

/// A target at one moment, by the marks that could be read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Identity(BTreeMap<Mark, String>);

impl Identity {
    /// With one mark more; a value longer than 300 characters is not read.
    #[must_use]
    pub fn with(mut self, mark: Mark, value: impl Into<String>) -> Self {
        let value = value.into();
        if !value.is_empty() && value.chars().count() <= 300 {
            self.0.insert(mark, value);
        }
        self
    }

    /// The value of a mark.
    pub fn get(&self, mark: Mark) -> Option<&str> {
        self.0.get(&mark).map(String::as_str)
    }

    /// Whether no mark could be read.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// All marks.
    pub fn marks(&self) -> impl Iterator<Item = (Mark, &str)> {
        self.0.iter().map(|(mark, value)| (*mark, value.as_str()))
    }

    /// Whether this is still `earlier` by all of these marks, each of which both must have.
    pub fn is_still(&self, earlier: &Self, by: &[Mark]) -> bool {
        !by.is_empty() && by.iter().all(|mark| self.get(*mark).is_some() && self.get(*mark) == earlier.get(*mark))
    }

    /// Whether a mark that both have differs.
    pub fn differs(&self, earlier: &Self, mark: Mark) -> bool {
        matches!((self.get(mark), earlier.get(mark)), (Some(now), Some(then)) if now != then)
    }
}

#[cfg(test)]
mod tests {
    use super::{Identity, Mark, TargetKey};

    #[test]
    fn keys_are_paths_of_plain_parts() {
        for good in
            ["systemd:host/fraud-api.service", "mlflow:ml.internal:5000/fraud/champion", "command:fraud/restart"]
        {
            assert!(TargetKey::parse(good).is_ok(), "{good}");
        }
        for bad in ["", "x", ":a", "systemd:", "systemd:a//b", "systemd:../x", "systemd:a b", "Sys:a", "a:b/.", "a:b\n"]
        {
            assert!(TargetKey::parse(bad).is_err(), "{bad:?}");
        }
        assert!(TargetKey::parse(format!("a:{}", "x".repeat(299))).is_err());
    }

    #[test]
    fn what_could_not_be_read_is_neither_the_same_nor_different() {
        let one = Identity::default().with(Mark::StartTime, "10").with(Mark::Instance, "");
        let other = Identity::default().with(Mark::StartTime, "11").with(Mark::Instance, "a");
        assert!(other.differs(&one, Mark::StartTime) && !other.differs(&one, Mark::Instance));
        assert!(one.is_still(&one, &[Mark::StartTime]) && !one.is_still(&one, &[Mark::StartTime, Mark::Instance]));
        assert!(!one.is_still(&one, &[]), "no mark, no proof");
    }
}
