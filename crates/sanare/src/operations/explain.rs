//! The whole reasoning about one incident: what was looked for, what was weighed, what decided.

use serde::Serialize;
use serde_json::Value as Json;

use sanare_core::port::Store;

use crate::operations::show::{self, Show};
use crate::report::Report;

/// Why an incident ended as it did.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Explanation {
    /// The incident.
    pub incident: String,
    /// The function, with its file and line.
    pub function: String,
    /// Class and message of the error, redacted.
    pub error: String,
    /// `healed`, `refused` and so on; `open` where it is not decided yet.
    pub decision: String,
    /// The reason code, and its sentence.
    pub reason: String,
    /// The sentence.
    pub because: String,
    /// What changed in the data, one line a layer, and the evidence for it, for the candidate that was made.
    pub layers: Vec<String>,
    /// The evidence.
    pub evidence: Vec<String>,
    /// The tier of its weakest part.
    pub tier: String,
    /// Checks that said no, and those that could not be made.
    pub checks: Vec<String>,
    /// What each proposer that had nothing says.
    pub refusals: Vec<Refusal>,
    /// What the rule ids mean that stand above.
    pub rules: Vec<String>,
    /// What to do next.
    pub next: Vec<String>,
}

/// A proposer's reasoning for having nothing to propose.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Refusal {
    /// The reason code.
    pub reason: String,
    /// What was looked for, what was found.
    pub summary: String,
    /// For each needed field what was weighed.
    pub fields: Vec<Field>,
    /// What would settle it.
    pub hint: String,
}

/// One needed field.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Field {
    /// The name that the code reads.
    pub needed: String,
    /// The clause that was not met.
    pub unmet: String,
    /// Candidates, best first.
    pub candidates: Vec<Candidate>,
}

/// One candidate for a field.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Candidate {
    /// Its name in the data.
    pub seen: String,
    /// Evidence for it.
    pub evidence: Vec<String>,
    /// Vetoes that fired.
    pub vetoes: Vec<String>,
}

/// Rule ids and what they say.
const RULES: &[(&str, &str)] = &[
    ("I1", "the owner's contract or lexicon names it so"),
    ("I2", "it was accepted before, and the values still look as they did"),
    ("I3", "the same name, written another way"),
    ("I4", "the same meaning by the lexicon, with equal qualifiers"),
    ("I5", "the same words in another order"),
    ("I6", "the same identifying values"),
    ("I7", "a declared equation holds for it alone"),
    ("I8", "near in meaning, in a record whose other fields are all there"),
    ("S", "support: type, format, parent or neighbours fit; never enough alone"),
    ("V1", "a qualifier differs (net, gross, start, end …)"),
    ("V2", "one is the opposite of the other"),
    ("V3", "unit or currency differs, or only one side has it"),
    ("V4", "another role: money is no identifier, a date no number"),
    ("V5", "a single value against a list or an object"),
    ("V6", "sizes or signs are not those that were remembered"),
    ("V7", "empty far more often than before"),
    ("V8", "a field that would be it is vetoed, so no other may take its place"),
    ("V9", "leading zeros would be lost"),
];

/// Explains an incident.
///
/// # Errors
/// [`Show`].
pub fn explain(store: &dyn Store, given: &str) -> Result<Explanation, Show> {
    Ok(Explanation::of(&show::show(store, given)?))
}

impl Explanation {
    /// From a report.
    pub fn of(report: &Report) -> Self {
        let refusals: Vec<Refusal> = report.refusals.as_array().into_iter().flatten().map(refusal).collect();
        let decision = if report.outcome.is_empty() { report.status.clone() } else { report.outcome.clone() };
        let mut explanation = Self {
            incident: report.id.clone(),
            function: format!("{} in {}:{}", report.function, report.path, report.line),
            error: report.error.clone(),
            decision,
            reason: report.reason.clone(),
            because: report.summary.clone(),
            layers: report.changes.clone(),
            evidence: report.evidence.clone(),
            tier: report.tier.clone(),
            checks: checks(report),
            refusals,
            rules: Vec::new(),
            next: report.next.clone(),
        };
        explanation.rules = explanation.rules_used();
        explanation
    }

    fn rules_used(&self) -> Vec<String> {
        let mut lines: Vec<&str> = self.evidence.iter().map(String::as_str).collect();
        for refusal in &self.refusals {
            lines.push(&refusal.summary);
            for candidate in refusal.fields.iter().flat_map(|field| &field.candidates) {
                lines.extend(candidate.evidence.iter().chain(&candidate.vetoes).map(String::as_str));
            }
        }
        let words = |line: &str, id: &str| line.split([' ', ':', ';', ',']).any(|word| word == id);
        let used = RULES.iter().filter(|(id, _)| lines.iter().any(|line| words(line, id)));
        used.map(|(id, said)| format!("{id}: {said}")).collect()
    }

    /// The reasoning for a person.
    pub fn to_text(&self) -> String {
        let mut lines = vec![self.function.clone(), format!("raised {}", self.error), String::new()];
        let reason = if self.reason.is_empty() { String::new() } else { format!(" ({})", self.reason) };
        lines.push(format!("{}{reason}: {}", self.decision, self.because));
        if !self.layers.is_empty() {
            lines.push(String::new());
            lines.push(format!("what changed in the data (tier {})", self.tier));
            lines.extend(self.layers.iter().map(|line| format!("  {line}")));
        }
        if !self.evidence.is_empty() {
            lines.push(String::new());
            lines.push("what says so".to_owned());
            lines.extend(self.evidence.iter().map(|line| format!("  {line}")));
        }
        if !self.checks.is_empty() {
            lines.push(String::new());
            lines.push("checks that did not pass".to_owned());
            lines.extend(self.checks.iter().map(|line| format!("  {line}")));
        }
        for refusal in &self.refusals {
            refusal.tell(&mut lines);
        }
        for (title, block) in [("rules", &self.rules), ("now", &self.next)] {
            if !block.is_empty() {
                lines.push(String::new());
                lines.push(title.to_owned());
                lines.extend(block.iter().map(|line| format!("  {line}")));
            }
        }
        lines.join("\n")
    }
}

impl Refusal {
    fn tell(&self, lines: &mut Vec<String>) {
        lines.push(String::new());
        lines.push(format!("declined ({}): {}", self.reason, self.summary));
        for field in &self.fields {
            lines.push(format!("  needed: {}", field.needed));
            lines.push(format!("    not settled: {}", field.unmet));
            for (number, candidate) in field.candidates.iter().enumerate() {
                lines.push(format!("    {}. {}", number + 1, candidate.seen));
                let none = ["nothing".to_owned()];
                let evidence = if candidate.evidence.is_empty() { &none[..] } else { &candidate.evidence[..] };
                lines.extend(evidence.iter().map(|line| format!("       for: {line}")));
                lines.extend(candidate.vetoes.iter().map(|line| format!("       against: {line}")));
            }
        }
        if !self.hint.is_empty() {
            lines.push(format!("  hint: {}", self.hint));
        }
    }
}

fn text(value: &Json) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn texts(value: &Json) -> Vec<String> {
    value.as_array().into_iter().flatten().map(text).collect()
}

fn refusal(declined: &Json) -> Refusal {
    let candidate = |one: &Json| Candidate {
        seen: text(&one["seen"]),
        evidence: texts(&one["evidence"]),
        vetoes: texts(&one["vetoes"]),
    };
    let field = |one: &Json| Field {
        needed: text(&one["expected"]),
        unmet: text(&one["unmet"]),
        candidates: one["candidates"].as_array().into_iter().flatten().map(candidate).collect(),
    };
    Refusal {
        reason: text(&declined["reason"]),
        summary: text(&declined["summary"]),
        fields: declined["report"]["fields"].as_array().into_iter().flatten().map(field).collect(),
        hint: text(&declined["report"]["hint"]),
    }
}

fn checks(report: &Report) -> Vec<String> {
    let mut lines: Vec<String> = report
        .attempts
        .iter()
        .filter(|attempt| !attempt.rejected_because.is_empty())
        .map(|attempt| format!("attempt {}: {}", attempt.number, attempt.rejected_because))
        .collect();
    for gate in report.gates.as_array().into_iter().flatten() {
        let answer = text(&gate["answer"]);
        if answer != "passed" {
            lines.push(format!("{} {}: {answer}: {}", text(&gate["gate"]), text(&gate["name"]), text(&gate["reason"])));
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::Explanation;
    use crate::report::Report;
    use serde_json::json;

    #[test]
    fn a_refusal_names_fields_candidates_and_vetoes() {
        let report = Report {
            id: "inc_1".into(),
            function: "load".into(),
            path: "jobs/daily.py".into(),
            line: 7,
            error: "KeyError: 'net_amount'".into(),
            outcome: "refused".into(),
            reason: "vetoed".into(),
            summary: "`net_amount` is not there".into(),
            refusals: json!([{
                "reason": "vetoed", "summary": "`net_amount` is not there",
                "report": { "hint": "add a line to the lexicon", "fields": [{
                    "expected": "net_amount", "unmet": "a veto fired", "candidates": [
                        { "seen": "gross_amount", "evidence": ["S numbers as before"], "vetoes": ["V1 qualifier net, gross"] },
                        { "seen": "id", "evidence": [], "vetoes": [] },
                    ],
                }]},
            }]),
            ..Report::default()
        };
        let explanation = Explanation::of(&report);
        let text = explanation.to_text();
        for part in [
            "load in jobs/daily.py:7\nraised KeyError: 'net_amount'",
            "refused (vetoed): `net_amount` is not there",
            "  needed: net_amount\n    not settled: a veto fired\n    1. gross_amount\n       for: S numbers as before\n       against: V1",
            "    2. id\n       for: nothing",
            "  hint: add a line",
            "rules\n  S: support",
            "  V1: a qualifier differs",
        ] {
            assert!(text.contains(part), "{part}\n---\n{text}");
        }
        assert!(!text.contains("V2"), "{text}");
        let json = serde_json::to_value(&explanation).unwrap_or_default();
        assert_eq!(json["refusals"][0]["fields"][0]["candidates"][0]["vetoes"][0], "V1 qualifier net, gross");
    }
}
