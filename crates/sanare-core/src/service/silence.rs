//! Silences as they are asked for and kept (S50). Whom one covers is for detection to say; what is refused too.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::invalid::Invalid;
use super::moment::Moment;
use super::name::{Application, Component, Labels};
use super::text::Text;
use super::word::Severity;
use crate::id::Id;

/// What of an incident a matcher looks at.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Field {
    /// The application's name.
    Application,
    /// The component's.
    Component,
    /// The kind's word.
    Kind,
    /// The severity's word.
    Severity,
    /// A label; an absent one is empty.
    Label(String),
}

/// How a matcher compares.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Test {
    /// With one text.
    Equals(String),
    /// With several.
    OneOf(BTreeSet<String>),
    /// With a regular expression that has to cover the whole.
    Matches(String),
}

/// One condition; all of a list have to hold.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Matcher {
    /// What is looked at.
    pub field: Field,
    /// How.
    pub test: Test,
}

impl Matcher {
    /// A matcher of a field by its name: `application`, `component`, `kind`, `severity`, or `label.NAME`. A text that the
    /// field can never hold would match nothing, in silence: it is refused.
    ///
    /// # Errors
    /// [`Invalid`].
    pub fn new(name: &str, test: Test) -> Result<Self, Invalid> {
        let field = match name.split_once('.') {
            Some(("label", key)) => Field::Label(key.to_owned()),
            _ => match name {
                "application" => Field::Application,
                "component" => Field::Component,
                "kind" => Field::Kind,
                "severity" => Field::Severity,
                _ => {
                    let known = "application, component, kind, severity or label.NAME";
                    return Err(Invalid::quoting("matchers", name, known));
                }
            },
        };
        let texts: Vec<&String> = match &test {
            Test::Equals(text) => vec![text],
            Test::OneOf(texts) if texts.is_empty() => return Err(Invalid::new("matchers", "compare with nothing")),
            Test::OneOf(texts) => texts.iter().collect(),
            Test::Matches(_) => Vec::new(),
        };
        for text in texts {
            match &field {
                Field::Application => drop(Application::parse(text.as_str())?),
                Field::Component => drop(Component::parse(text.as_str())?),
                Field::Kind => drop(super::kind::IncidentKind::parse(text)?),
                Field::Severity => drop(Severity::parse(text)?),
                Field::Label(_) => {}
            }
        }
        if let Field::Label(key) = &field {
            let texts = match &test {
                Test::Equals(text) => vec![text.clone()],
                Test::OneOf(texts) => texts.iter().cloned().collect(),
                Test::Matches(_) => vec![String::new()],
            };
            for text in texts {
                Labels::new([(key.clone(), text)].into())?;
            }
        }
        Ok(Self { field, test })
    }
}

impl std::fmt::Display for Matcher {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.field {
            Field::Application => f.write_str("application"),
            Field::Component => f.write_str("component"),
            Field::Kind => f.write_str("kind"),
            Field::Severity => f.write_str("severity"),
            Field::Label(key) => write!(f, "label.{key}"),
        }?;
        match &self.test {
            Test::Equals(text) => write!(f, "={text}"),
            Test::OneOf(texts) => write!(f, "={}", texts.iter().map(String::as_str).collect::<Vec<_>>().join(",")),
            Test::Matches(pattern) => write!(f, "~{pattern}"),
        }
    }
}

/// A silence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Silence {
    /// `sil_…`.
    pub id: Id,
    /// All have to hold; none, if everything is meant.
    pub matchers: Vec<Matcher>,
    /// Who wants it.
    pub author: String,
    /// Why, in at least five characters.
    pub reason: Text,
    /// From when.
    pub start: Moment,
    /// Until when; at most 30 days later.
    pub end: Moment,
    /// Whether everything is meant.
    pub all: bool,
    /// Who ended it early.
    pub ended_by: Option<String>,
}

impl Silence {
    /// Whether it holds at a moment.
    pub fn is_on(&self, now: Moment) -> bool {
        self.start <= now && now < self.end
    }

    /// The one service that it is about, where it is about one.
    pub fn application(&self) -> Option<&str> {
        self.matchers.iter().find_map(|matcher| match (&matcher.field, &matcher.test) {
            (Field::Application, Test::Equals(name)) => Some(name.as_str()),
            (Field::Application, Test::OneOf(names)) if names.len() == 1 => names.first().map(String::as_str),
            _ => None,
        })
    }

    /// What is left of it once a service is forgotten: nothing of one that is about no other.
    #[must_use]
    pub fn without(&self, application: &str) -> Option<Self> {
        if self.application() == Some(application) {
            return None;
        }
        let mut left = self.clone();
        for matcher in left.matchers.iter_mut().filter(|matcher| matcher.field == Field::Application) {
            if let Test::OneOf(names) = &mut matcher.test {
                names.remove(application);
            }
        }
        Some(left)
    }
}

#[cfg(test)]
mod tests {
    use super::{Matcher, Test};

    fn check(name: &str, text: &str) -> String {
        match Matcher::new(name, Test::Equals(text.to_owned())) {
            Ok(matcher) => matcher.to_string(),
            Err(invalid) => format!("refused: {}", invalid.field),
        }
    }

    #[test]
    fn what_could_never_match_is_refused() {
        assert_eq!(check("application", "fraud"), "application=fraud");
        assert_eq!(check("label.zone", "eu-1"), "label.zone=eu-1");
        assert!(check("application", "Fraud!").starts_with("refused"));
        assert!(check("kind", "latency").starts_with("refused"));
        assert!(check("severity", "urgent").starts_with("refused"));
        assert!(check("label.no space", "x").starts_with("refused"));
        assert_eq!(check("applications", "fraud"), "refused: matchers");
        assert_eq!(check("zone", "eu"), "refused: matchers");
        assert!(Matcher::new("kind", Test::OneOf([].into())).is_err());
    }
}
