//! What kind of failure this is, asked before anything else (C26): the world's, the owner's own, the data's or the code's.
//!
//! The table is data, `data/classify/rules.toml`; the first rule that fits decides. What no rule knows is a bug.

mod content;
mod rules;

use serde::{Deserialize, Serialize};

pub use self::content::Content;
use crate::evidence::{Evidence, Failure};
use crate::outcome::Reason;

/// The kinds of failure, in the order in which they are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    /// Memory ran out.
    Memory,
    /// The disk or a quota is full.
    DiskFull,
    /// Access was not permitted.
    Permission,
    /// The service asked to slow down.
    RateLimited,
    /// A passing failure of network or service.
    Transient,
    /// A package or shared library is not installed.
    DependencyMissing,
    /// What arrived is not the expected data at all.
    NotData,
    /// The program raised it on purpose.
    Deliberate,
    /// The data has another form than the code reads.
    Drift,
    /// An installed library has changed.
    Library,
    /// Everything else.
    Bug,
}

impl Class {
    /// Every class, in order.
    pub const ALL: [Class; 11] = [
        Self::Memory,
        Self::DiskFull,
        Self::Permission,
        Self::RateLimited,
        Self::Transient,
        Self::DependencyMissing,
        Self::NotData,
        Self::Deliberate,
        Self::Drift,
        Self::Library,
        Self::Bug,
    ];

    /// Its word in records.
    pub fn word(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::DiskFull => "disk_full",
            Self::Permission => "permission",
            Self::RateLimited => "rate_limited",
            Self::Transient => "transient",
            Self::DependencyMissing => "dependency_missing",
            Self::NotData => "not_data",
            Self::Deliberate => "deliberate",
            Self::Drift => "drift",
            Self::Library => "library",
            Self::Bug => "bug",
        }
    }

    /// Why it is not repaired; `None` for the classes that proposers are asked about.
    pub fn reason(self) -> Option<Reason> {
        match self {
            Self::Memory => Some(Reason::Memory),
            Self::DiskFull => Some(Reason::DiskFull),
            Self::Permission => Some(Reason::Permission),
            Self::RateLimited => Some(Reason::RateLimited),
            Self::Transient => Some(Reason::Transient),
            Self::DependencyMissing => Some(Reason::DependencyMissing),
            Self::NotData => Some(Reason::NotData),
            Self::Deliberate => Some(Reason::Deliberate),
            Self::Drift | Self::Library | Self::Bug => None,
        }
    }
}

/// The answer, with the rule that gave it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Classified {
    /// The class.
    pub class: Class,
    /// Why it is not repaired; `None` where proposers are asked.
    pub reason: Option<Reason>,
    /// One sentence for people: lower case, no final period.
    pub detail: String,
    /// Id of the rule in `rules.toml`, or of one of the few that look at more than the exception.
    pub rule: String,
}

impl Classified {
    fn new(class: Class, rule: &str, detail: &str) -> Self {
        Self { class, reason: class.reason(), detail: detail.to_owned(), rule: rule.to_owned() }
    }
}

/// Classifies by the exception alone.
pub fn classify(failure: &Failure) -> Classified {
    classify_with(failure, false, None)
}

/// Classifies with all that is known of the call: what arrived in place of data counts too.
///
/// `named` says that the owner named this very class in `heal_on`, not only a base of it (C27).
pub fn classify_call(evidence: &Evidence, named: bool) -> Classified {
    classify_with(&evidence.failure, named, content::of_call(evidence))
}

fn classify_with(failure: &Failure, named: bool, content: Option<Content>) -> Classified {
    if is_requested(failure) {
        return Classified::new(Class::Bug, "requested", "the program asked for a repair");
    }
    let mut pass_deliberate = named;
    loop {
        let found = rules::first(failure, pass_deliberate);
        let class = found.map_or(Class::Bug, |rule| rule.class);
        if let Some(content) = content.filter(|_| after_not_data(class)) {
            return Classified::new(Class::NotData, content.rule(), content.sentence());
        }
        if class == Class::Deliberate
            && let Some(cause) = cause_in_drift(failure)
        {
            return cause;
        }
        // A declared contract or check that the owner named is looked at again, as if nobody had raised it.
        if class == Class::Deliberate && named && !pass_deliberate {
            pass_deliberate = true;
            continue;
        }
        return match found {
            Some(rule) => Classified::new(rule.class, &rule.id, &rule.why),
            None => Classified::new(Class::Bug, "bug", "none of the known outside causes; likely the code itself"),
        };
    }
}

/// `raise … from` an error of class drift: the cause counts, and the owner's guard has to survive (C27).
fn cause_in_drift(failure: &Failure) -> Option<Classified> {
    let cause = failure.cause.as_deref().filter(|_| failure.explicit_cause)?;
    let found = classify(cause);
    (found.class == Class::Drift).then(|| Classified::new(Class::Drift, "raised-from-drift", &found.detail))
}

fn is_requested(failure: &Failure) -> bool {
    let own = |name: &String| name == "sanare.HealRequested" || name == "sanare._errors.HealRequested";
    own(&failure.class) || failure.bases.iter().any(own)
}

/// Classes that stand below "not the data" in the table.
fn after_not_data(class: Class) -> bool {
    matches!(class, Class::Deliberate | Class::Drift | Class::Library | Class::Bug)
}

#[cfg(test)]
mod tests {
    use super::{Class, rules};

    #[test]
    fn words_are_what_serde_writes_and_reasons_have_the_same_code() {
        for class in Class::ALL {
            assert_eq!(serde_json::to_string(&class).ok(), Some(format!("\"{}\"", class.word())));
            if let Some(reason) = class.reason() {
                assert_eq!(reason.code(), class.word());
            }
        }
    }

    #[test]
    fn the_table_is_sound() {
        assert_eq!(rules::faults(), Vec::<String>::new());
    }
}
