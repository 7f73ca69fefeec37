//! Outward: where a function could not be repaired, the decorated function that called it may be, in the same incident
//! and on what is left of its budgets (C119).

use sanare_core::id::Id;
use sanare_core::incident::{Incident, Rules};
use sanare_core::ledger::Record;
use sanare_core::outcome::Reason;
use sanare_core::port::Store;
use sanare_core::port::store::Rest;
use sanare_engine::run::{CONTINUED, of_last_target};

use crate::report::Report;

/// Outer functions that one incident may go on to.
const OUTER: usize = 3;

/// An incident that ended, and what it used of its time.
#[derive(Clone, Debug)]
pub struct Continues {
    /// Its id.
    pub incident: Id,
    /// Milliseconds since the failure, on a clock that never goes back.
    pub spent_ms: u64,
}

/// What an incident had used up when it went on to this function.
#[derive(Clone, Debug)]
pub(super) struct Begun {
    /// Candidates, and questions to a model that brought none.
    pub(super) attempts: u32,
    /// The failure's own fingerprints, as each function before met it.
    fingerprints: Vec<String>,
}

impl Begun {
    /// The failure is dealt with: it rests no more where it was met first.
    pub(super) fn end_rests(&self, store: &dyn Store) {
        for key in &self.fingerprints {
            // A store that fails here leaves a rest that ends by itself.
            let _ = store.set_rest(key, &Rest::default());
        }
    }
}

/// Makes `incident` the next target of the incident that it continues.
///
/// # Errors
/// Nothing is left of its budgets, or it ended for a reason that holds outside as well: then it stays as it ended.
pub(super) fn take_over(
    store: &dyn Store,
    continues: Option<&Continues>,
    incident: &mut Incident,
) -> Result<Option<Begun>, Box<Report>> {
    let Some(Continues { incident: id, spent_ms }) = continues else { return Ok(None) };
    let records = store.records(id).unwrap_or_default();
    let first = rules(&records);
    let left = first.as_ref().map_or(0, |rules| rules.deadline_ms.saturating_sub(*spent_ms));
    let (Some(first), true) = (first, left > 0 && goes_on(&records)) else {
        return Err(Box::new(Report::from_records(id, &records)));
    };
    incident.id = id.clone();
    incident.rules.attempts = incident.rules.attempts.min(first.attempts);
    incident.rules.deadline_ms = incident.rules.deadline_ms.min(left);
    let attempts = used(&records);
    if attempts >= incident.rules.attempts {
        return Err(Box::new(Report::from_records(id, &records)));
    }
    let fingerprints = records.iter().filter(|record| begins(record));
    let fingerprints =
        fingerprints.filter_map(|record| record.json()["incident"]["fingerprint"].as_str().map(str::to_owned));
    Ok(Some(Begun { attempts, fingerprints: fingerprints.collect() }))
}

/// Whether an outer function may go on with an incident that ended so.
pub(super) fn goes_on(records: &[Record]) -> bool {
    let outer = records.iter().filter(|record| record.step == CONTINUED).count();
    let Some(rules) = rules(records) else { return false };
    let ended = of_last_target(records).last().filter(|record| record.step == "closed");
    let reason = ended.and_then(|record| serde_json::from_value(record.json()["reason"].clone()).ok());
    outer < OUTER && used(records) < rules.attempts && reason.is_some_and(says_nothing_of_the_caller)
}

/// What is about this function, its text or the tries to repair it. A verdict about the data, the machine, the owner's
/// rules or the budgets holds for the caller too: what was vetoed here is not to be tried a frame further out.
fn says_nothing_of_the_caller(reason: Reason) -> bool {
    matches!(
        reason,
        Reason::MissingField
            | Reason::NoIdentity
            | Reason::NoProposer
            | Reason::GatesFailed
            | Reason::UnsupportedTarget
            | Reason::NoSource
            | Reason::SourceChanged
            | Reason::RerunFailed
    )
}

fn begins(record: &Record) -> bool {
    matches!(record.step.as_str(), "opened" | CONTINUED)
}

fn rules(records: &[Record]) -> Option<Rules> {
    let opened = records.iter().find(|record| record.step == "opened")?;
    serde_json::from_value(opened.json()["incident"]["rules"].clone()).ok()
}

/// Candidates of the incident so far. A question to a model that brought none counts as well: asking is what costs.
fn used(records: &[Record]) -> u32 {
    let count = |step: &str| records.iter().filter(|record| record.step == step).count();
    u32::try_from(count("proposed").max(count("model_call"))).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use sanare_core::outcome::Reason;

    use super::says_nothing_of_the_caller;

    #[test]
    fn a_verdict_about_the_data_is_not_overruled_further_out() {
        let held = [
            Reason::Vetoed,
            Reason::ScaleOrUnit,
            Reason::Ambiguous,
            Reason::IncompleteData,
            Reason::NotData,
            Reason::Deliberate,
            Reason::Policy,
            Reason::Cooldown,
            Reason::BudgetSpent,
            Reason::Deadline,
            Reason::Settings,
            Reason::Internal,
        ];
        assert!(!held.into_iter().any(says_nothing_of_the_caller));
        assert!(says_nothing_of_the_caller(Reason::GatesFailed));
    }
}
