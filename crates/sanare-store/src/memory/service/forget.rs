//! What is kept of one application in memory, and its end.

use std::collections::HashSet;

use sanare_core::id::Id;
use sanare_core::port::{Keeping, Tidied};
use sanare_core::service::word::{ApprovalState, Status};
use sanare_core::service::{Application, Incident, Moment, Observation, ObservedValue};

use super::Service;

impl Service {
    pub(in crate::memory) fn is_open(&self, id: &Id) -> bool {
        self.incidents.iter().any(|incident| incident.id == *id && incident.status() != Status::Closed)
    }

    pub(in crate::memory) fn needed_of(&self, application: &str) -> Option<String> {
        let mut incidents = self.incidents.iter().filter(|one| one.application.as_str() == application);
        let open = incidents.find(|one| one.status() != Status::Closed).map(|one| one.id.to_string());
        let mut receipts = self.receipts.iter().filter(|one| one.application.as_str() == application);
        open.or_else(|| receipts.find(|one| one.ended_at.is_none()).map(|one| one.id.to_string()))
    }

    /// Everything of an application; acts that the limits count from then on stay. How many rows went.
    pub(in crate::memory) fn forget(&mut self, application: &str, since: u64) -> u64 {
        let of = |name: &Application| name.as_str() == application;
        let before = self.rows();
        let ids: Vec<_> = self.incidents.iter().filter(|one| of(&one.application)).map(|one| one.id.clone()).collect();
        let receipts: Vec<_> =
            self.receipts.iter().filter(|one| of(&one.application)).map(|one| one.id.clone()).collect();
        let keys: Vec<_> = self
            .messages
            .iter()
            .filter(|(one, _)| ids.contains(&one.incident))
            .map(|(one, _)| one.key.clone())
            .collect();
        self.observations.retain(|_, one| !of(&one.application));
        self.by_source.retain(|(name, _, _), _| !of(name));
        self.by_id.retain(|_, place| self.observations.contains_key(place));
        self.snapshots.retain(|_, context| !of(&context.incident.application));
        self.approvals.retain(|one| !ids.contains(&one.binding.incident));
        self.runs.retain(|id, _| !ids.contains(id));
        self.deliveries.retain(|(message, _), _| !keys.contains(message));
        self.messages.retain(|(one, _)| !ids.contains(&one.incident));
        self.measured.retain(|receipt, _| !receipts.contains(receipt));
        self.acts.retain(|act| !of(&act.application) || act.at.micros() >= since);
        self.receipts.retain(|one| !of(&one.application));
        self.incidents.retain(|one| !of(&one.application));
        before - self.rows()
    }

    fn rows(&self) -> u64 {
        let all = [
            self.observations.len(),
            self.snapshots.len(),
            self.approvals.len(),
            self.runs.len(),
            self.deliveries.len(),
            self.messages.len(),
            self.measured.len(),
            self.acts.len(),
            self.receipts.len(),
            self.incidents.len(),
        ];
        all.iter().sum::<usize>() as u64
    }

    /// Forgets what is older than it is to be kept, about so many rows. In memory nothing is folded, and there is no file that
    /// could be too large.
    pub(in crate::memory) fn tidy(&mut self, keeping: &Keeping, now: Moment, rows: usize) -> Tidied {
        let open = self.incidents.iter().filter(|one| one.status() != Status::Closed);
        let needed: HashSet<&Id> = open.flat_map(|one| &one.evidence).map(|one| &one.observation).collect();
        let (old, ancient) = (now.minus(keeping.observations), now.minus(keeping.incidents));
        let goes = |one: &&Observation| {
            let before = if matches!(one.value, ObservedValue::Deployment { .. }) { ancient } else { old };
            one.arrival_time < before && !needed.contains(&one.id)
        };
        let gone: Vec<Observation> = self.observations.values().filter(goes).take(rows).cloned().collect();
        for one in &gone {
            self.observations.remove(&one.sequence);
            self.by_id.remove(&one.id);
            self.by_source.remove(&super::source_of(one));
        }
        let needed = |one: &Incident| {
            one.status() != Status::Closed
                || self.receipts.iter().any(|receipt| receipt.key.incident == one.id && receipt.ended_at.is_none())
                || self.approvals.iter().any(|asked| {
                    asked.binding.incident == one.id
                        && matches!(asked.state, ApprovalState::Waiting | ApprovalState::Granted)
                })
        };
        let ended = |one: &&Incident| one.closed.or(one.cleared).unwrap_or(one.updated) < ancient && !needed(one);
        let ids: Vec<Id> =
            self.incidents.iter().filter(ended).take(rows.div_ceil(20)).map(|one| one.id.clone()).collect();
        self.snapshots.retain(|_, context| !ids.contains(&context.incident.id));
        self.approvals.retain(|one| !ids.contains(&one.binding.incident));
        self.runs.retain(|id, _| !ids.contains(id));
        self.messages.retain(|(one, _)| !ids.contains(&one.incident));
        let keys: HashSet<&str> = self.messages.iter().map(|(one, _)| one.key.as_str()).collect();
        self.deliveries.retain(|(message, _), _| keys.contains(message.as_str()));
        self.receipts.retain(|one| !ids.contains(&one.key.incident));
        self.incidents.retain(|one| !ids.contains(&one.id));
        Tidied { observations: gone.len() as u64, incidents: ids.len() as u64, ..Tidied::default() }
    }
}
