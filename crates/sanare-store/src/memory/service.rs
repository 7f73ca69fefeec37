//! The service half in memory: a change is looked at whole, then made whole.

mod forget;

use std::collections::{BTreeMap, HashMap};

use sanare_core::hash::Digest;
use sanare_core::id::Id;
use sanare_core::ledger::{ChainBreak, Record, SYSTEM};
use sanare_core::port::StoreFault;
use sanare_core::port::store::{Lease, Store};
use sanare_core::service::approval::Approval;
use sanare_core::service::confidence::{FigureKey, Measured};
use sanare_core::service::limits::PastAct;
use sanare_core::service::word::{ApprovalState, ReceiptState, Status};
use sanare_core::service::{
    Application, Change, Context, Delivery, DeliveryState, Incident, Message, Moment, NotMade, Observation, Receipt,
    Run, ServiceStore, Silence, Source, TargetKey,
};

use super::{Kept, Memory};

/// What the service half keeps.
#[derive(Debug, Default)]
pub(super) struct Service {
    /// In the order in which they came.
    observations: BTreeMap<u64, Observation>,
    /// How many there ever were.
    observed: u64,
    /// Their places, by what makes each the only one, and by id.
    by_source: HashMap<(Application, Source, String), u64>,
    by_id: HashMap<Id, u64>,
    incidents: Vec<Incident>,
    runs: HashMap<Id, Run>,
    snapshots: HashMap<Digest, Context>,
    receipts: Vec<Receipt>,
    approvals: Vec<Approval>,
    acts: Vec<PastAct>,
    measured: BTreeMap<Id, Measured>,
    messages: Vec<(Message, bool)>,
    silences: Vec<Silence>,
    states: BTreeMap<String, Vec<u8>>,
    /// By message and route.
    deliveries: BTreeMap<(String, String), Delivery>,
}

impl Service {
    fn in_use(&self, target: &TargetKey, besides: &[&Id], settling: &[&Id]) -> bool {
        let run = |run: &&Run| run.target.as_ref() == Some(target) && !besides.contains(&&run.incident);
        let receipt = |one: &&Receipt| one.target == *target && one.state.blocks() && !settling.contains(&&one.id);
        self.runs.values().any(|one| run(&one)) || self.receipts.iter().any(|one| receipt(&one))
    }

    fn same_source(&self, seen: &Observation) -> Option<&Observation> {
        self.by_source.get(&source_of(seen)).and_then(|place| self.observations.get(place))
    }

    fn deliveries(&self, key: &str) -> Vec<Delivery> {
        let of = self.deliveries.iter().filter(|((message, _), _)| message == key);
        of.map(|(_, delivery)| delivery.clone()).collect()
    }

    /// Ids of incidents, newest first.
    pub(super) fn incident_ids(&self) -> Vec<Id> {
        self.incidents.iter().rev().map(|one| one.id.clone()).collect()
    }

    fn receipt(&self, id: &Id) -> Option<&Receipt> {
        self.receipts.iter().find(|one| one.id == *id)
    }

    fn approval(&self, id: &Id) -> Option<&Approval> {
        self.approvals.iter().find(|one| one.id == *id)
    }

    /// Whether everything that the change expects is so.
    fn look(&self, change: &Change) -> Result<(), NotMade> {
        let runs: Vec<&Id> = change.runs.iter().map(|(run, _)| &run.incident).collect();
        let settling: Vec<&Id> = change.receipts.iter().map(|(receipt, _)| &receipt.id).collect();
        if let Some(target) = change.free.iter().find(|target| self.in_use(target, &runs, &settling)) {
            return Err(NotMade::InUse(target.to_string()));
        }
        if let Some((since, seen)) = change.acts_seen
            && self.acts.iter().filter(|act| act.at >= since).count() != seen
        {
            return Err(NotMade::Moved("the limits".to_owned()));
        }
        for seen in &change.observations {
            let known = self.same_source(seen);
            if known.is_some_and(|known| known.content() != seen.content()) {
                return Err(NotMade::Conflict(seen.source_id.clone()));
            }
        }
        for incident in change.incidents.iter().filter(|one| one.status() != Status::Closed) {
            let other = |known: &&Incident| known.fingerprint == incident.fingerprint && known.id != incident.id;
            if let Some(open) = self.incidents.iter().filter(other).find(|known| known.status() != Status::Closed) {
                return Err(NotMade::Open(open.id.to_string()));
            }
        }
        for (run, made_from) in &change.runs {
            if self.runs.get(&run.incident).map(|known| known.revision) != *made_from {
                return Err(NotMade::Moved(format!("the run of {}", run.incident)));
            }
        }
        for (receipt, expected) in &change.receipts {
            let known = self.receipt(&receipt.id).map(|known| known.state);
            let legal = expected.is_none_or(|expected| expected.may_become(receipt.state));
            if known != *expected || !legal {
                return Err(NotMade::Moved(format!("receipt {}", receipt.id)));
            }
        }
        for (approval, expected) in &change.approvals {
            if self.approval(&approval.id).map(|known| known.state) != *expected {
                return Err(NotMade::Moved(format!("approval {}", approval.id)));
            }
        }
        Ok(())
    }

    fn make(&mut self, change: &Change) {
        for seen in &change.observations {
            if self.same_source(seen).is_none() {
                self.observed += 1;
                let sequence = self.observed;
                self.by_source.insert(source_of(seen), sequence);
                self.by_id.insert(seen.id.clone(), sequence);
                self.observations.insert(sequence, Observation { sequence, ..seen.clone() });
            }
        }
        for incident in &change.incidents {
            put(&mut self.incidents, incident, |known| known.id == incident.id);
        }
        for (run, _) in &change.runs {
            self.runs.insert(run.incident.clone(), run.clone());
        }
        for context in &change.snapshots {
            self.snapshots.insert(context.digest(), context.clone());
        }
        for (receipt, _) in &change.receipts {
            put(&mut self.receipts, receipt, |known| known.id == receipt.id);
        }
        for (approval, _) in &change.approvals {
            put(&mut self.approvals, approval, |known| known.id == approval.id);
        }
        for act in &change.acts {
            put(&mut self.acts, act, |known| known.receipt == act.receipt);
        }
        for (receipt, measured) in &change.measured {
            self.measured.insert(receipt.clone(), measured.clone());
        }
        for message in &change.messages {
            if !self.messages.iter().any(|(known, _)| known.key == message.key) {
                self.messages.push((message.clone(), false));
            }
        }
        for silence in &change.silences {
            put(&mut self.silences, silence, |known| known.id == silence.id);
        }
        for (key, state) in &change.states {
            match state {
                Some(state) => drop(self.states.insert(key.clone(), state.clone())),
                None => drop(self.states.remove(key)),
            }
        }
    }
}

fn source_of(one: &Observation) -> (Application, Source, String) {
    (one.application.clone(), one.source.clone(), one.source_id.clone())
}

fn put<T: Clone>(list: &mut Vec<T>, item: &T, is: impl Fn(&T) -> bool) {
    match list.iter_mut().find(|known| is(known)) {
        Some(place) => place.clone_from(item),
        None => list.push(item.clone()),
    }
}

impl Kept {
    /// A record that is not in the index of code healing's incidents, in the chain that it belongs to.
    pub(super) fn chain(&mut self, entry: &sanare_core::ledger::Entry) -> Record {
        let of_incident = || self.ledger.iter().rev().find(|record| record.incident == entry.incident);
        let chain = match entry.application() {
            Some(application) => application.to_owned(),
            None => of_incident().map_or(SYSTEM.to_owned(), |record| record.chain.clone()),
        };
        self.add(&chain, entry)
    }
}

impl ServiceStore for Memory {
    fn whole(&self) -> Option<&dyn Store> {
        Some(self)
    }

    fn commit(&self, change: &Change) -> Result<Vec<Record>, NotMade> {
        let mut kept = self.kept();
        if let Some(lost) = change.under.iter().find(|lease| !kept.holds(lease, change.now)) {
            return Err(NotMade::LeaseLost(lost.key.clone()));
        }
        kept.service.look(change)?;
        kept.service.make(change);
        Ok(change.entries.iter().map(|entry| kept.chain(entry)).collect())
    }

    fn incident(&self, id: &Id) -> Result<Option<Incident>, StoreFault> {
        Ok(self.kept().service.incidents.iter().find(|one| one.id == *id).cloned())
    }

    fn newest_of(&self, fingerprint: &Digest) -> Result<Option<Incident>, StoreFault> {
        Ok(self.kept().service.incidents.iter().rfind(|one| one.fingerprint == *fingerprint).cloned())
    }

    fn newest_incidents(&self, limit: usize) -> Result<Vec<Incident>, StoreFault> {
        Ok(self.kept().service.incidents.iter().rev().take(limit).cloned().collect())
    }

    fn open_incidents(&self, limit: usize) -> Result<Vec<Incident>, StoreFault> {
        let kept = self.kept();
        let open = kept.service.incidents.iter().filter(|incident| incident.status() != Status::Closed);
        Ok(open.take(limit).cloned().collect())
    }

    fn run(&self, incident: &Id) -> Result<Option<Run>, StoreFault> {
        Ok(self.kept().service.runs.get(incident).cloned())
    }

    fn due(&self, now: Moment, limit: usize) -> Result<Vec<Run>, StoreFault> {
        let kept = self.kept();
        let mut due: Vec<&Run> =
            kept.service.runs.values().filter(|run| run.due.is_some_and(|due| due <= now)).collect();
        due.sort_by(|one, other| (one.due, &one.incident).cmp(&(other.due, &other.incident)));
        Ok(due.into_iter().take(limit).cloned().collect())
    }

    fn known(&self, observations: &[Observation]) -> Result<Vec<Option<bool>>, StoreFault> {
        let kept = self.kept();
        let known = |seen: &Observation| kept.service.same_source(seen).map(|one| one.content() == seen.content());
        Ok(observations.iter().map(known).collect())
    }

    fn observations(&self, ids: &[Id]) -> Result<Vec<Observation>, StoreFault> {
        let kept = self.kept();
        let places = ids.iter().filter_map(|id| kept.service.by_id.get(id));
        let found = places.filter_map(|place| kept.service.observations.get(place));
        Ok(found.cloned().collect())
    }

    fn recent(&self, application: &Application, limit: usize) -> Result<Vec<Observation>, StoreFault> {
        let kept = self.kept();
        let of = kept.service.observations.values().rev().filter(|seen| seen.application == *application);
        let mut recent: Vec<Observation> = of.take(limit).cloned().collect();
        recent.reverse();
        Ok(recent)
    }

    fn observations_after(&self, sequence: u64, limit: usize) -> Result<Vec<Observation>, StoreFault> {
        let after = sequence.saturating_add(1);
        Ok(self.kept().service.observations.range(after..).take(limit).map(|(_, one)| one.clone()).collect())
    }

    fn newest_sequence(&self) -> Result<u64, StoreFault> {
        Ok(self.kept().service.observed)
    }

    fn silences(&self, since: Moment) -> Result<Vec<Silence>, StoreFault> {
        Ok(self.kept().service.silences.iter().filter(|silence| silence.end > since).cloned().collect())
    }

    fn states(&self, prefix: &str) -> Result<Vec<(String, Vec<u8>)>, StoreFault> {
        let kept = self.kept();
        let from = kept.service.states.range(prefix.to_owned()..);
        Ok(from
            .take_while(|(key, _)| key.starts_with(prefix))
            .map(|(key, state)| (key.clone(), state.clone()))
            .collect())
    }

    fn observed_after(&self, source: &Source, after: u64) -> Result<(Vec<Observation>, u64), StoreFault> {
        let kept = self.kept();
        let all = kept.service.observations.range(after.saturating_add(1)..);
        let found = all.map(|(_, one)| one).filter(|one| one.source == *source).cloned().collect();
        Ok((found, kept.service.observed))
    }

    fn snapshot(&self, digest: &Digest) -> Result<Option<Context>, StoreFault> {
        Ok(self.kept().service.snapshots.get(digest).cloned())
    }

    fn service_receipt(&self, id: &Id) -> Result<Option<Receipt>, StoreFault> {
        Ok(self.kept().service.receipt(id).cloned())
    }

    fn receipts_of(&self, incident: &Id) -> Result<Vec<Receipt>, StoreFault> {
        Ok(self.kept().service.receipts.iter().filter(|one| one.key.incident == *incident).cloned().collect())
    }

    fn unsettled(&self) -> Result<Vec<Receipt>, StoreFault> {
        let open = |one: &&Receipt| {
            matches!(one.state, ReceiptState::Intended | ReceiptState::Started | ReceiptState::Unknown)
        };
        Ok(self.kept().service.receipts.iter().filter(open).cloned().collect())
    }

    fn approval(&self, id: &Id) -> Result<Option<Approval>, StoreFault> {
        Ok(self.kept().service.approval(id).cloned())
    }

    fn waiting_approvals(&self) -> Result<Vec<Approval>, StoreFault> {
        let waiting = |one: &&Approval| one.state == ApprovalState::Waiting;
        Ok(self.kept().service.approvals.iter().filter(waiting).cloned().collect())
    }

    fn open_approvals(&self) -> Result<Vec<Approval>, StoreFault> {
        let open = |one: &&Approval| matches!(one.state, ApprovalState::Waiting | ApprovalState::Granted);
        Ok(self.kept().service.approvals.iter().filter(open).cloned().collect())
    }

    fn acts(&self, since: Moment) -> Result<Vec<PastAct>, StoreFault> {
        Ok(self.kept().service.acts.iter().filter(|act| act.at >= since).cloned().collect())
    }

    fn measured(&self, key: &FigureKey) -> Result<Vec<Measured>, StoreFault> {
        Ok(self.kept().service.measured.values().filter(|one| one.key == *key).cloned().collect())
    }

    fn measured_of(&self, receipt: &Id) -> Result<Option<Measured>, StoreFault> {
        Ok(self.kept().service.measured.get(receipt).cloned())
    }

    fn target_in_use(&self, target: &TargetKey, besides: &Id) -> Result<bool, StoreFault> {
        Ok(self.kept().service.in_use(target, &[besides], &[]))
    }

    fn outbox(&self, limit: usize) -> Result<Vec<Message>, StoreFault> {
        let kept = self.kept();
        let open = kept.service.messages.iter().filter(|(_, delivered)| !delivered);
        Ok(open.take(limit).map(|(message, _)| message.clone()).collect())
    }

    fn delivered(&self, key: &str) -> Result<(), StoreFault> {
        let mut kept = self.kept();
        if let Some((_, delivered)) = kept.service.messages.iter_mut().find(|(message, _)| message.key == key) {
            *delivered = true;
        }
        Ok(())
    }

    fn note_delivery(&self, key: &str, delivery: &Delivery) -> Result<(), StoreFault> {
        let place = (key.to_owned(), delivery.route.clone());
        self.kept().service.deliveries.insert(place, delivery.clone());
        Ok(())
    }

    fn deliveries(&self, key: &str) -> Result<Vec<Delivery>, StoreFault> {
        Ok(self.kept().service.deliveries(key))
    }

    fn undelivered(&self, limit: usize) -> Result<Vec<(Message, Vec<Delivery>)>, StoreFault> {
        let kept = self.kept();
        let all = kept.service.messages.iter().rev();
        let with = all.map(|(message, _)| (message.clone(), kept.service.deliveries(&message.key)));
        let open = |(_, of): &(Message, Vec<Delivery>)| {
            !of.is_empty() && of.iter().all(|one| one.state != DeliveryState::Delivered)
        };
        Ok(with.filter(open).take(limit).collect())
    }

    fn lease(&self, key: &str, holder: &str, now: u64, millis: u64) -> Result<Option<Lease>, StoreFault> {
        self.take_lease(key, holder, now, millis)
    }

    fn release(&self, lease: &Lease) -> Result<(), StoreFault> {
        self.give_back(lease)
    }

    fn records_of(&self, incident: &Id) -> Result<Vec<Record>, StoreFault> {
        self.records(incident)
    }

    fn verify_chain(&self) -> Result<Result<u64, ChainBreak>, StoreFault> {
        Store::verify(self)
    }
}
