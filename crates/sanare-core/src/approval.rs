//! Approval: the only way from a checked candidate to an act.

use serde::{Deserialize, Serialize};

use crate::hash::Digest;

/// Who approved.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "by", rename_all = "snake_case")]
pub enum Approver {
    /// Policy, by these rules.
    Policy {
        /// Their ids.
        rules: Vec<String>,
    },
    /// A person.
    Person {
        /// The account's name.
        name: String,
        /// Their words, redacted.
        why: String,
    },
}

/// The hashes that an approval is bound to (C97): if one differs, it is void.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Binding {
    /// Hash of the whole file that the candidate was made for.
    pub before: Digest,
    /// Hash of the whole file with the candidate in place.
    pub after: Digest,
    /// Hash of path and qualified name.
    pub target: Digest,
    /// Hash of the candidate's text.
    pub candidate: Digest,
    /// Hash of the owner's policy file.
    pub policy: Digest,
    /// Hash of the evidence as it stands in the ledger.
    pub evidence: Digest,
}

impl Binding {
    /// One hash over all of them: what a person's answer names.
    pub fn digest(&self) -> Digest {
        let parts = [&self.before, &self.after, &self.target, &self.candidate, &self.policy, &self.evidence];
        Digest::of_parts(&parts.map(|part| part.as_str().as_bytes()))
    }

    /// The hash of a target: its file, as the incident names it, and its qualified name.
    pub fn target_of(path: &str, function: &str) -> Digest {
        Digest::of_parts(&[path.as_bytes(), function.as_bytes()])
    }
}

/// Something that may be acted on.
///
/// INVARIANT: made only by [`crate::policy::permit`] or from a person's recorded answer; the field is private.
#[derive(Clone, Debug, PartialEq)]
pub struct Approved<T> {
    inner: T,
    approver: Approver,
}

impl<T> Approved<T> {
    pub(crate) fn by_policy(inner: T, approver: Approver) -> Self {
        Self { inner, approver }
    }

    /// A person's answer, which the caller has written to the ledger before.
    pub fn by_person(inner: T, recorded: &crate::ledger::Record, name: &str, why: &str) -> Option<Self> {
        (recorded.step == "approved")
            .then(|| Self { inner, approver: Approver::Person { name: name.to_owned(), why: why.to_owned() } })
    }

    /// What was approved.
    pub fn inner(&self) -> &T {
        &self.inner
    }

    /// Who approved it.
    pub fn approver(&self) -> &Approver {
        &self.approver
    }
}
