//! A candidate for a repair, and what came of asking for one.

use serde::{Deserialize, Serialize};

use crate::evidence::TwinCall;
use crate::incident::ProposerName;
use crate::outcome::Reason;

/// How far a repair may go by itself (C57).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Tier {
    /// Certain by construction.
    A,
    /// By meaning: lexicon, token order, overlap.
    B,
    /// A proposal for a person, never automatic.
    C,
    /// Refused.
    D,
}

/// A proposed new text of the one function.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    /// Who proposed it.
    pub proposer: ProposerName,
    /// The function's whole text, decorators included, `\n` line ends.
    pub function: String,
    /// The tier of its weakest part; a model's is [`Tier::C`] at best.
    pub tier: Tier,
    /// What changed in the data or in the code, one line a layer.
    pub summary: Vec<String>,
    /// The evidence for it, one line each.
    pub evidence: Vec<String>,
    /// Accepted mappings, `expected` to `seen`.
    pub mappings: Vec<(String, String)>,
    /// Synthetic calls of the old shape on which old and new body must agree.
    pub twins: Vec<TwinCall>,
    /// Names that the old body reads and the new one must go on reading.
    pub expected_names: Vec<String>,
    /// The lines that the project's lockfile gets with it, for whoever applies it later.
    pub lock: Vec<serde_json::Value>,
    /// Values of the failing call that it must not know by heart; empty where its maker never sees values.
    pub seen: Vec<String>,
    /// How sure a model says that it is, capped; none of the offline engine, which has tiers.
    pub confidence: Option<f64>,
}

/// Why a proposer has no candidate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Declined {
    /// The reason code.
    pub reason: Reason,
    /// One sentence: what was looked for, what was found.
    pub summary: String,
    /// The whole report (C59): for each needed field the ranked candidates and what spoke for and against them.
    #[serde(default, skip_serializing_if = "serde_json::Value::is_null")]
    pub report: serde_json::Value,
}

impl Declined {
    /// What it says against a candidate with this text: its own reason, and a veto where it vetoed every field that could
    /// be meant, or one that the candidate names.
    pub fn against(&self, function: &str) -> Vec<Reason> {
        let vetoed =
            |candidate: &serde_json::Value| candidate["vetoes"].as_array().is_some_and(|list| !list.is_empty());
        let named = |candidate: &serde_json::Value| {
            let seen = candidate["seen"].as_str().unwrap_or_default();
            let last = seen.rsplit(['.', '[', ']']).find(|part| !part.is_empty()).unwrap_or(seen);
            !seen.is_empty() && (function.contains(seen) || function.contains(last))
        };
        let stands = self.report["fields"].as_array().into_iter().flatten().any(|field| {
            let candidates = field["candidates"].as_array().map(Vec::as_slice).unwrap_or_default();
            let all = !candidates.is_empty() && candidates.iter().all(vetoed);
            all || candidates.iter().any(|candidate| vetoed(candidate) && named(candidate))
        });
        let mut reasons = vec![self.reason];
        if stands {
            reasons.push(Reason::Vetoed);
        }
        reasons
    }
}

/// A candidate that did not get through, told to the next attempt.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rejection {
    /// Who proposed it.
    pub proposer: ProposerName,
    /// The candidate's function text.
    pub function: String,
    /// `gate/check` or `rerun`.
    pub check: String,
    /// Why.
    pub reason: String,
}

#[cfg(test)]
mod tests {
    use super::Declined;
    use crate::outcome::Reason;
    use serde_json::json;

    #[test]
    fn a_veto_stands_against_what_names_the_field_or_has_no_other() {
        let declined = |candidates: serde_json::Value| Declined {
            reason: Reason::NoIdentity,
            summary: String::new(),
            report: json!({ "fields": [{ "expected": "amount", "candidates": candidates }] }),
        };
        let vetoed = json!({ "seen": "order_id", "vetoes": ["V4 role"] });
        let free = json!({ "seen": "xy", "vetoes": [] });
        let both = declined(json!([vetoed, free]));
        assert_eq!(both.against("row[\"xy\"]"), [Reason::NoIdentity]);
        assert_eq!(both.against("row[\"order_id\"]"), [Reason::NoIdentity, Reason::Vetoed]);
        assert_eq!(declined(json!([vetoed])).against("row[2]"), [Reason::NoIdentity, Reason::Vetoed]);
        assert_eq!(declined(json!([])).against("row[2]"), [Reason::NoIdentity]);
    }
}
