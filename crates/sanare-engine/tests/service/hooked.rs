//! A store with a hand in it: what happens at a write, and whether it answers at all, is up to the test.

use sanare_core::hash::Digest;
use sanare_core::id::Id;
use sanare_core::ledger::{ChainBreak, Record};
use sanare_core::port::StoreFault;
use sanare_core::port::store::Lease;
use sanare_core::service::approval::Approval;
use sanare_core::service::confidence::{FigureKey, Measured};
use sanare_core::service::context::Context;
use sanare_core::service::limits::PastAct;
use sanare_core::service::{
    Application, Change, Delivery, Incident, Message, Moment, NotMade, Observation, Receipt, Run, ServiceStore,
    Silence, Source, TargetKey,
};

/// What is done with a change.
pub type Hand<'a> = dyn Fn(&dyn ServiceStore, &Change) -> Result<Vec<Record>, NotMade> + Send + Sync + 'a;

/// The store.
pub struct Hooked<'a> {
    pub inner: &'a dyn ServiceStore,
    pub commit: Box<Hand<'a>>,
    pub is_dead: Box<dyn Fn() -> bool + Send + Sync + 'a>,
}

impl<'a> Hooked<'a> {
    /// One that always answers.
    pub fn new(inner: &'a dyn ServiceStore, commit: Box<Hand<'a>>) -> Self {
        Self { inner, commit, is_dead: Box::new(|| false) }
    }

    fn alive<T>(&self, look: impl FnOnce(&dyn ServiceStore) -> Result<T, StoreFault>) -> Result<T, StoreFault> {
        if (self.is_dead)() { Err(StoreFault::Busy) } else { look(self.inner) }
    }
}

impl ServiceStore for Hooked<'_> {
    fn commit(&self, change: &Change) -> Result<Vec<Record>, NotMade> {
        (self.commit)(self.inner, change)
    }
    fn incident(&self, id: &Id) -> Result<Option<Incident>, StoreFault> {
        self.alive(|store| store.incident(id))
    }
    fn newest_of(&self, fingerprint: &Digest) -> Result<Option<Incident>, StoreFault> {
        self.alive(|store| store.newest_of(fingerprint))
    }
    fn newest_incidents(&self, limit: usize) -> Result<Vec<Incident>, StoreFault> {
        self.alive(|store| store.newest_incidents(limit))
    }
    fn open_incidents(&self, limit: usize) -> Result<Vec<Incident>, StoreFault> {
        self.alive(|store| store.open_incidents(limit))
    }
    fn run(&self, incident: &Id) -> Result<Option<Run>, StoreFault> {
        self.alive(|store| store.run(incident))
    }
    fn due(&self, now: Moment, limit: usize) -> Result<Vec<Run>, StoreFault> {
        self.alive(|store| store.due(now, limit))
    }
    fn observations(&self, ids: &[Id]) -> Result<Vec<Observation>, StoreFault> {
        self.alive(|store| store.observations(ids))
    }
    fn recent(&self, application: &Application, limit: usize) -> Result<Vec<Observation>, StoreFault> {
        self.alive(|store| store.recent(application, limit))
    }
    fn observations_after(&self, sequence: u64, limit: usize) -> Result<Vec<Observation>, StoreFault> {
        self.alive(|store| store.observations_after(sequence, limit))
    }
    fn known(&self, observations: &[Observation]) -> Result<Vec<Option<bool>>, StoreFault> {
        self.alive(|store| store.known(observations))
    }
    fn newest_sequence(&self) -> Result<u64, StoreFault> {
        self.alive(|store| store.newest_sequence())
    }
    fn silences(&self, since: Moment) -> Result<Vec<Silence>, StoreFault> {
        self.alive(|store| store.silences(since))
    }
    fn states(&self, prefix: &str) -> Result<Vec<(String, Vec<u8>)>, StoreFault> {
        self.alive(|store| store.states(prefix))
    }
    fn observed_after(&self, source: &Source, after: u64) -> Result<(Vec<Observation>, u64), StoreFault> {
        self.alive(|store| store.observed_after(source, after))
    }
    fn snapshot(&self, digest: &Digest) -> Result<Option<Context>, StoreFault> {
        self.alive(|store| store.snapshot(digest))
    }
    fn service_receipt(&self, id: &Id) -> Result<Option<Receipt>, StoreFault> {
        self.alive(|store| store.service_receipt(id))
    }
    fn receipts_of(&self, incident: &Id) -> Result<Vec<Receipt>, StoreFault> {
        self.alive(|store| store.receipts_of(incident))
    }
    fn unsettled(&self) -> Result<Vec<Receipt>, StoreFault> {
        self.alive(|store| store.unsettled())
    }
    fn approval(&self, id: &Id) -> Result<Option<Approval>, StoreFault> {
        self.alive(|store| store.approval(id))
    }
    fn waiting_approvals(&self) -> Result<Vec<Approval>, StoreFault> {
        self.alive(|store| store.waiting_approvals())
    }
    fn open_approvals(&self) -> Result<Vec<Approval>, StoreFault> {
        self.alive(|store| store.open_approvals())
    }
    fn acts(&self, since: Moment) -> Result<Vec<PastAct>, StoreFault> {
        self.alive(|store| store.acts(since))
    }
    fn measured(&self, key: &FigureKey) -> Result<Vec<Measured>, StoreFault> {
        self.alive(|store| store.measured(key))
    }
    fn measured_of(&self, receipt: &Id) -> Result<Option<Measured>, StoreFault> {
        self.alive(|store| store.measured_of(receipt))
    }
    fn target_in_use(&self, target: &TargetKey, besides: &Id) -> Result<bool, StoreFault> {
        self.alive(|store| store.target_in_use(target, besides))
    }
    fn outbox(&self, limit: usize) -> Result<Vec<Message>, StoreFault> {
        self.alive(|store| store.outbox(limit))
    }
    fn delivered(&self, key: &str) -> Result<(), StoreFault> {
        self.alive(|store| store.delivered(key))
    }
    fn note_delivery(&self, key: &str, delivery: &Delivery) -> Result<(), StoreFault> {
        self.alive(|store| store.note_delivery(key, delivery))
    }
    fn deliveries(&self, key: &str) -> Result<Vec<Delivery>, StoreFault> {
        self.alive(|store| store.deliveries(key))
    }
    fn undelivered(&self, limit: usize) -> Result<Vec<(Message, Vec<Delivery>)>, StoreFault> {
        self.alive(|store| store.undelivered(limit))
    }
    fn lease(&self, key: &str, holder: &str, now: u64, millis: u64) -> Result<Option<Lease>, StoreFault> {
        self.alive(|store| store.lease(key, holder, now, millis))
    }
    fn release(&self, lease: &Lease) -> Result<(), StoreFault> {
        self.alive(|store| store.release(lease))
    }
    fn records_of(&self, incident: &Id) -> Result<Vec<Record>, StoreFault> {
        self.alive(|store| store.records_of(incident))
    }
    fn verify_chain(&self) -> Result<Result<u64, ChainBreak>, StoreFault> {
        self.alive(|store| store.verify_chain())
    }
}
