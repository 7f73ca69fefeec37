//! What an agent thinks is wrong, and how sure of it one may be (S10).

use serde::{Deserialize, Serialize};

use super::invalid::Invalid;
use super::moment::Moment;
use super::text::Text;
use super::word::{Origin, words};
use crate::hash::Digest;
use crate::id::Id;

/// Entries of a list of texts, at most.
pub const ENTRIES: usize = 8;

words! {
    /// The way in which an agent failed; its words never say more (S72).
    AgentFailure("failure") {
        /// No answer within the time.
        Timeout = "timeout",
        /// The provider could not be reached.
        Connection = "connection",
        /// The provider asked to slow down.
        RateLimited = "rate_limited",
        /// The provider did not accept the key.
        NotAuthorised = "not_authorised",
        /// The provider failed.
        Provider = "provider",
        /// The reply was not of the form, twice.
        InvalidReply = "invalid_reply",
        /// Our own limit of calls or tokens is reached.
        LimitReached = "limit_reached",
        /// It answered for another incident, or with what was not offered.
        InvalidResult = "invalid_result",
        /// It broke down.
        Panicked = "panicked",
        /// It has nothing to say.
        Declined = "declined",
    }
}

/// Who made a diagnosis, so exactly that measured figures of one are not another's.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum AgentName {
    /// A rule.
    Rule {
        /// Its id.
        id: String,
        /// Version of the rules file.
        version: u32,
    },
    /// A language model with its prompt.
    Model {
        /// The provider's word.
        provider: String,
        /// The model's name there.
        model: String,
        /// The prompt's id.
        prompt: String,
        /// The prompt's version.
        version: u32,
        /// The prompt's hash.
        hash: Digest,
    },
    /// A person.
    Person {
        /// The account's name.
        name: String,
    },
}

impl AgentName {
    /// What measured figures are kept under.
    pub fn figure_key(&self) -> String {
        match self {
            Self::Rule { id, version } => format!("rule/{id}/{version}"),
            Self::Model { provider, model, prompt, version, hash } => {
                format!("model/{provider}/{model}/{prompt}/{version}/{}", hash.short())
            }
            Self::Person { name } => format!("person/{name}"),
        }
    }
}

/// A diagnosis.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Diagnosis {
    /// `dia_…`.
    pub id: Id,
    /// The incident that it is of.
    pub incident_id: Id,
    /// Who made it, by kind.
    pub origin: Origin,
    /// Who made it, exactly.
    pub agent: AgentName,
    /// Why the model did not, where the rules stood in.
    pub failure: Option<AgentFailure>,
    /// One sentence.
    pub summary: Text,
    /// How sure the agent says it is.
    pub confidence_reported: f64,
    /// The same, capped.
    pub confidence: f64,
    /// How often it was right, where that was measured.
    pub confidence_measured: Option<f64>,
    /// The cause, if it names one.
    pub probable_cause: Option<Text>,
    /// Observations that it cites.
    pub evidence_used: Vec<Id>,
    /// Other explanations.
    pub alternatives: Vec<Text>,
    /// What it would need to know.
    pub missing_information: Vec<Text>,
    /// The snapshot that it was made from.
    pub evidence_digest: Digest,
    /// When.
    pub at: Moment,
}

impl Diagnosis {
    /// Checks a diagnosis.
    ///
    /// # Errors
    /// [`Invalid`] for the first field that is wrong.
    pub fn check(self) -> Result<Self, Invalid> {
        if self.summary.is_empty() {
            return Err(Invalid::new("summary", "is blank"));
        }
        let share = |number: f64| (0.0..=1.0).contains(&number);
        if !share(self.confidence_reported) {
            return Err(Invalid::new("confidence_reported", "goes from 0 to 1"));
        }
        if !share(self.confidence) || self.confidence > self.confidence_reported {
            return Err(Invalid::new("confidence", "goes from 0 to what was reported"));
        }
        if self.confidence_measured.is_some_and(|number| !share(number)) {
            return Err(Invalid::new("confidence_measured", "goes from 0 to 1"));
        }
        if self.probable_cause.as_ref().is_some_and(Text::is_empty) {
            return Err(Invalid::new("probable_cause", "is blank"));
        }
        for (field, list) in [("alternatives", &self.alternatives), ("missing_information", &self.missing_information)]
        {
            if list.len() > ENTRIES {
                return Err(Invalid::new(field, format!("has more than {ENTRIES} entries")));
            }
            if list.iter().any(Text::is_empty) {
                return Err(Invalid::new(field, "has a blank entry"));
            }
        }
        if self.evidence_used.len() > ENTRIES {
            return Err(Invalid::new("evidence_used", format!("has more than {ENTRIES} entries")));
        }
        if self.probable_cause.is_none() && self.missing_information.is_empty() {
            return Err(Invalid::new("missing_information", "is empty although there is no cause"));
        }
        if (self.origin == Origin::Fallback) != self.failure.is_some() {
            return Err(Invalid::new("failure", "stands with a fallback, and only with one"));
        }
        Ok(self)
    }

    /// The confidence that policy judges: the lower of capped and measured.
    pub fn judged_confidence(&self) -> f64 {
        self.confidence_measured.map_or(self.confidence, |measured| measured.min(self.confidence))
    }

    /// The summary for people, with its origin before it. The tag is decoration: nothing reads it back.
    pub fn shown_summary(&self) -> String {
        match (&self.agent, self.failure) {
            (_, Some(failure)) => format!("[fallback: {failure}] {}", self.summary),
            (AgentName::Model { provider, model, .. }, None) => format!("[model {provider}/{model}] {}", self.summary),
            _ => self.summary.to_string(),
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::{AgentFailure, AgentName, Diagnosis};
    use crate::hash::Digest;
    use crate::id::Id;
    use crate::service::moment::Moment;
    use crate::service::text::Text;
    use crate::service::word::Origin;

    pub(crate) fn diagnosis() -> Diagnosis {
        Diagnosis {
            id: Id::new("dia", 1, 1),
            incident_id: Id::new("inc", 1, 1),
            origin: Origin::Rules,
            agent: AgentName::Rule { id: "latency_changed".to_owned(), version: 1 },
            failure: None,
            summary: Text::of("latency rose after version 42 went live"),
            confidence_reported: 0.8,
            confidence: 0.8,
            confidence_measured: None,
            probable_cause: Some(Text::of("version 42 is slower")),
            evidence_used: vec![Id::new("obs", 1, 1)],
            alternatives: Vec::new(),
            missing_information: Vec::new(),
            evidence_digest: Digest::of(b"snapshot"),
            at: Moment::from_micros(5),
        }
    }

    fn refused(change: impl FnOnce(&mut Diagnosis)) -> String {
        let mut one = diagnosis();
        change(&mut one);
        one.check().map_or_else(|invalid| invalid.field, |_| "good".to_owned())
    }

    #[test]
    fn each_rule_refuses() {
        assert_eq!(refused(|_| {}), "good");
        for odd in [f64::NAN, 1.0001, -0.1, f64::INFINITY] {
            assert_eq!(refused(|one| one.confidence_reported = odd), "confidence_reported", "{odd}");
            assert_eq!(refused(|one| one.confidence = odd), "confidence", "{odd}");
            assert_eq!(refused(|one| one.confidence_measured = Some(odd)), "confidence_measured", "{odd}");
        }
        assert_eq!(refused(|one| one.confidence = 0.9), "confidence", "above what was reported");
        assert_eq!(refused(|one| one.summary = Text::of(" ")), "summary");
        assert_eq!(refused(|one| one.probable_cause = Some(Text::of(""))), "probable_cause");
        assert_eq!(refused(|one| one.probable_cause = None), "missing_information");
        assert_eq!(refused(|one| one.alternatives = vec![Text::of("x"); 9]), "alternatives");
        assert_eq!(refused(|one| one.missing_information = vec![Text::of("")]), "missing_information");
        assert_eq!(refused(|one| one.failure = Some(AgentFailure::Timeout)), "failure");
        assert_eq!(refused(|one| one.origin = Origin::Fallback), "failure");
        let json = serde_json::json!({ "confidence": "0.9" });
        assert!(serde_json::from_value::<Diagnosis>(json).is_err());
    }

    #[test]
    fn a_tag_is_decoration() {
        let imitating = Diagnosis { summary: Text::of("[model a/b] sure"), ..diagnosis() }.check().expect("good");
        assert_eq!(imitating.origin, Origin::Rules);
        let fallback = Diagnosis { origin: Origin::Fallback, failure: Some(AgentFailure::Timeout), ..diagnosis() };
        assert!(fallback.shown_summary().starts_with("[fallback: timeout] latency"));
        assert_eq!(Diagnosis { confidence_measured: Some(0.6), ..diagnosis() }.judged_confidence(), 0.6);
        assert_eq!(Diagnosis { confidence_measured: Some(0.95), ..diagnosis() }.judged_confidence(), 0.8);
    }
}
