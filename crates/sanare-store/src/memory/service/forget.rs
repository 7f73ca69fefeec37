//! What is kept of one application in memory, and its end.

use std::collections::HashSet;

use sanare_core::hash::Digest;
use sanare_core::id::Id;
use sanare_core::port::{Item, Keeping, Sort, Tidied};
use sanare_core::service::word::{ApprovalState, Status};
use sanare_core::service::{Application, Context, Incident, Moment, Observation, ObservedValue};
use serde_json::{Value as Json, json};

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
        let silences = self.silences.len();
        self.silences = self.silences.iter().filter_map(|one| one.without(application)).collect();
        (before - self.rows()) + (silences - self.silences.len()) as u64
    }

    /// Whether anything is kept of an application beside its records.
    pub(in crate::memory) fn has_of(&self, application: &str, since: u64) -> bool {
        let of = |name: &Application| name.as_str() == application;
        self.observations.values().any(|one| of(&one.application))
            || self.incidents.iter().any(|one| of(&one.application))
            || self.snapshots.values().any(|one| of(&one.incident.application))
            || self.receipts.iter().any(|one| of(&one.application))
            || self.acts.iter().any(|act| of(&act.application) && act.at.micros() < since)
            || self.silences.iter().any(|one| one.without(application).as_ref() != Some(one))
    }

    /// What is kept of a sort after a place, in order. In memory nothing is folded into minutes.
    pub(in crate::memory) fn items(&self, sort: Sort, after: &str) -> impl Iterator<Item = Item> {
        let number = after.parse::<usize>().unwrap_or_default();
        let numbered = |place: usize, application: &str, value: Json| Item {
            place: place.to_string(),
            application: application.to_owned(),
            value,
        };
        let owner = |id: &Id| self.incidents.iter().find(|one| one.id == *id).map(|one| one.application.to_string());
        let mut all: Vec<Item> = match sort {
            Sort::Observation => {
                let after = self.observations.range(number as u64 + 1..);
                after.map(|(place, one)| numbered(*place as usize, one.application.as_str(), json!(one))).collect()
            }
            Sort::Minute => Vec::new(),
            Sort::Incident => {
                let all = self.incidents.iter().enumerate();
                all.map(|(place, one)| numbered(place + 1, one.application.as_str(), json!(one))).collect()
            }
            Sort::Snapshot => {
                let of = |(digest, one): (&Digest, &Context)| Item {
                    place: digest.to_string(),
                    application: one.incident.application.to_string(),
                    value: json!(one),
                };
                self.snapshots.iter().map(of).collect()
            }
            Sort::Receipt => {
                let all = self.receipts.iter().enumerate();
                all.map(|(place, one)| numbered(place + 1, one.application.as_str(), json!(one))).collect()
            }
            Sort::Approval => {
                let all = self.approvals.iter().enumerate();
                all.map(|(place, one)| {
                    numbered(place + 1, &owner(&one.binding.incident).unwrap_or_default(), json!(one))
                })
                .collect()
            }
        };
        match sort {
            Sort::Snapshot => {
                all.retain(|one| one.place.as_str() > after);
                all.sort_by(|one, other| one.place.cmp(&other.place));
            }
            _ => all.retain(|one| one.place.parse::<usize>().is_ok_and(|place| place > number)),
        }
        all.into_iter()
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
