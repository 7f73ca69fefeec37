//! The last candidate of an incident as the ledger has it, for whoever decides on it again.

use sanare_core::gate::GateReport;
use sanare_core::incident::{Incident, ProposerName};
use sanare_core::ledger::Record;
use sanare_core::policy::{Policy, Situation};
use sanare_core::proposal::{Declined, Tier};
use serde_json::Value as Json;

use crate::run::{CONTINUED, of_last_target};
use crate::stage::judge::{changed_lines, facts};

/// What a decision is made from.
#[derive(Clone, Debug)]
pub struct Recorded {
    /// The incident with its rules.
    pub incident: Incident,
    /// The class of the failure in its word.
    pub class: String,
    /// Who made the candidate.
    pub proposer: ProposerName,
    /// Its tier.
    pub tier: Tier,
    /// What the gates said, if they ran to the end.
    pub report: Option<GateReport>,
    /// The diff; empty before the gates.
    pub diff: String,
    /// What other proposers said before.
    pub declined: Vec<Declined>,
    /// The candidate's text, as the ledger has it.
    pub function: String,
    /// How sure a model said that it is.
    pub confidence: Option<f64>,
    /// The lines that the project's lockfile gets with it.
    pub lock: Vec<Json>,
}

impl Recorded {
    /// Reads the records of one incident; `None` when there was no candidate, or a record is not complete.
    pub fn read(records: &[Record]) -> Option<Self> {
        let records = of_last_target(records);
        let last = |step: &str| records.iter().rev().find(|record| record.step == step);
        let opened = last(CONTINUED).or_else(|| last("opened"))?.json();
        let proposed = last("proposed")?;
        let checked = last("checked").filter(|checked| checked.seq > proposed.seq).map(Record::json);
        let diagnosed = records.iter().rev().find(|record| record.step == "diagnosed" && record.seq < proposed.seq)?;
        let (proposed, diagnosed) = (proposed.json(), diagnosed.json());
        let report = match &checked {
            Some(checked) => Some(GateReport { checks: from(&checked["gates"])? }),
            None => None,
        };
        Some(Self {
            incident: from(&opened["incident"])?,
            class: text(&diagnosed["class"]),
            proposer: from(&proposed["proposer"])?,
            tier: from(&proposed["tier"])?,
            report,
            diff: checked.map(|checked| text(&checked["diff"])).unwrap_or_default(),
            declined: from(&proposed["declined"]).unwrap_or_default(),
            function: text(&proposed["function"]),
            confidence: proposed["confidence"].as_f64(),
            lock: proposed["lock"].as_array().cloned().unwrap_or_default(),
        })
    }

    /// The situation at a moment, under a policy.
    pub fn situation<'a>(&'a self, policy: &'a Policy, now: u64, stopped: bool) -> Situation<'a> {
        let mut facts = facts(policy, &self.incident, &self.class, self.proposer, self.tier, now);
        facts.numbers.extend(self.confidence.map(|confidence| ("confidence", confidence)));
        if !self.diff.is_empty() {
            facts.numbers.insert("changed_lines", changed_lines(&self.diff));
        }
        Situation {
            rules: &self.incident.rules,
            proposer: self.proposer,
            tier: self.tier,
            stopped,
            policy,
            facts,
            declined: self.declined.iter().flat_map(|declined| declined.against(&self.function)).collect(),
        }
    }
}

/// A value of a record in its type.
pub(crate) fn from<T: serde::de::DeserializeOwned>(json: &Json) -> Option<T> {
    serde_json::from_value(json.clone()).ok()
}

fn text(json: &Json) -> String {
    json.as_str().unwrap_or_default().to_owned()
}
