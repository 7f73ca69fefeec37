//! Memory of the service half: one transaction a step, and what is read back of it (S120).

use crate::hash::Digest;
use crate::id::Id;
use crate::ledger::{ChainBreak, Record};
use crate::port::store::Lease;
use crate::port::{Store, StoreFault};
use crate::service::approval::Approval;
use crate::service::confidence::{FigureKey, Measured};
use crate::service::context::Context;
use crate::service::delivery::Delivery;
use crate::service::incident::Incident;
use crate::service::limits::PastAct;
use crate::service::moment::Moment;
use crate::service::name::{Application, Source};
use crate::service::observation::Observation;
use crate::service::receipt::Receipt;
use crate::service::run::{Change, Message, NotMade, Run};
use crate::service::silence::Silence;
use crate::service::target::TargetKey;

/// One store, behind SQLite or in memory.
pub trait ServiceStore: Send + Sync {
    /// The whole store, both halves of it, where this is the store itself and no stand-in.
    fn whole(&self) -> Option<&dyn Store> {
        None
    }

    /// Makes a change: all of it, durable when this returns, or nothing of it. Gives back the ledger's records.
    ///
    /// # Errors
    /// [`NotMade`].
    fn commit(&self, change: &Change) -> Result<Vec<Record>, NotMade>;

    /// An incident.
    ///
    /// # Errors
    /// [`StoreFault`].
    fn incident(&self, id: &Id) -> Result<Option<Incident>, StoreFault>;

    /// The newest incident of a fingerprint, open or not.
    ///
    /// # Errors
    /// [`StoreFault`].
    fn newest_of(&self, fingerprint: &Digest) -> Result<Option<Incident>, StoreFault>;

    /// Incidents, newest first.
    ///
    /// # Errors
    /// [`StoreFault`].
    fn newest_incidents(&self, limit: usize) -> Result<Vec<Incident>, StoreFault>;

    /// Incidents that are open or handed over, oldest first.
    ///
    /// # Errors
    /// [`StoreFault`].
    fn open_incidents(&self, limit: usize) -> Result<Vec<Incident>, StoreFault>;

    /// The run of an incident.
    ///
    /// # Errors
    /// [`StoreFault`].
    fn run(&self, incident: &Id) -> Result<Option<Run>, StoreFault>;

    /// Runs that are due, longest due first.
    ///
    /// # Errors
    /// [`StoreFault`].
    fn due(&self, now: Moment, limit: usize) -> Result<Vec<Run>, StoreFault>;

    /// Whether observations are there already by application, source and the sender's id: with the same content, with
    /// another one, or not at all; in their order.
    ///
    /// # Errors
    /// [`StoreFault`].
    fn known(&self, observations: &[Observation]) -> Result<Vec<Option<bool>>, StoreFault>;

    /// Observations by id, in the order asked for; one that is not kept any more is left out.
    ///
    /// # Errors
    /// [`StoreFault`].
    fn observations(&self, ids: &[Id]) -> Result<Vec<Observation>, StoreFault>;

    /// The newest observations of an application, oldest of them first.
    ///
    /// # Errors
    /// [`StoreFault`].
    fn recent(&self, application: &Application, limit: usize) -> Result<Vec<Observation>, StoreFault>;

    /// Observations of all applications after a place among all, in the order in which they came.
    ///
    /// # Errors
    /// [`StoreFault`].
    fn observations_after(&self, sequence: u64, limit: usize) -> Result<Vec<Observation>, StoreFault>;

    /// The place of the newest observation among all; 0 where there is none.
    ///
    /// # Errors
    /// [`StoreFault`].
    fn newest_sequence(&self) -> Result<u64, StoreFault>;

    /// Silences that end after a moment, in the order in which they were made.
    ///
    /// # Errors
    /// [`StoreFault`].
    fn silences(&self, since: Moment) -> Result<Vec<Silence>, StoreFault>;

    /// What detection remembers, by keys that begin so, in their order.
    ///
    /// # Errors
    /// [`StoreFault`].
    fn states(&self, prefix: &str) -> Result<Vec<(String, Vec<u8>)>, StoreFault>;

    /// Observations of a door that came after a place among all, in order, and the last place that there is now: what
    /// another process let in is found so.
    ///
    /// # Errors
    /// [`StoreFault`].
    fn observed_after(&self, source: &Source, after: u64) -> Result<(Vec<Observation>, u64), StoreFault>;

    /// A frozen picture.
    ///
    /// # Errors
    /// [`StoreFault`].
    fn snapshot(&self, digest: &Digest) -> Result<Option<Context>, StoreFault>;

    /// A receipt.
    ///
    /// # Errors
    /// [`StoreFault`].
    fn service_receipt(&self, id: &Id) -> Result<Option<Receipt>, StoreFault>;

    /// Receipts of an incident, oldest first.
    ///
    /// # Errors
    /// [`StoreFault`].
    fn receipts_of(&self, incident: &Id) -> Result<Vec<Receipt>, StoreFault>;

    /// Receipts that are intended, started or unknown, oldest first.
    ///
    /// # Errors
    /// [`StoreFault`].
    fn unsettled(&self) -> Result<Vec<Receipt>, StoreFault>;

    /// An approval.
    ///
    /// # Errors
    /// [`StoreFault`].
    fn approval(&self, id: &Id) -> Result<Option<Approval>, StoreFault>;

    /// Approvals that wait for an answer, oldest first.
    ///
    /// # Errors
    /// [`StoreFault`].
    fn waiting_approvals(&self) -> Result<Vec<Approval>, StoreFault>;

    /// Approvals that wait for an answer, or are granted and not used, oldest first.
    ///
    /// # Errors
    /// [`StoreFault`].
    fn open_approvals(&self) -> Result<Vec<Approval>, StoreFault>;

    /// Acts since a moment, oldest first.
    ///
    /// # Errors
    /// [`StoreFault`].
    fn acts(&self, since: Moment) -> Result<Vec<PastAct>, StoreFault>;

    /// Attempts that were measured under a key.
    ///
    /// # Errors
    /// [`StoreFault`].
    fn measured(&self, key: &FigureKey) -> Result<Vec<Measured>, StoreFault>;

    /// The measured attempt that belongs to a receipt.
    ///
    /// # Errors
    /// [`StoreFault`].
    fn measured_of(&self, receipt: &Id) -> Result<Option<Measured>, StoreFault>;

    /// Whether a run other than this incident's acts on or verifies a target, or any receipt of it is started or unknown.
    ///
    /// # Errors
    /// [`StoreFault`].
    fn target_in_use(&self, target: &TargetKey, besides: &Id) -> Result<bool, StoreFault>;

    /// Messages that were not delivered yet, oldest first.
    ///
    /// # Errors
    /// [`StoreFault`].
    fn outbox(&self, limit: usize) -> Result<Vec<Message>, StoreFault>;

    /// Takes a message out, once nothing more is to be done with it.
    ///
    /// # Errors
    /// [`StoreFault`].
    fn delivered(&self, key: &str) -> Result<(), StoreFault>;

    /// Notes how a message stands on a route; it is durable when this returns.
    ///
    /// # Errors
    /// [`StoreFault`].
    fn note_delivery(&self, key: &str, delivery: &Delivery) -> Result<(), StoreFault>;

    /// How a message stands on the routes that it was tried by, in the order of their names.
    ///
    /// # Errors
    /// [`StoreFault`].
    fn deliveries(&self, key: &str) -> Result<Vec<Delivery>, StoreFault>;

    /// Messages that were tried and that no route has taken yet, newest first; those that failed for good among them.
    ///
    /// # Errors
    /// [`StoreFault`].
    fn undelivered(&self, limit: usize) -> Result<Vec<(Message, Vec<Delivery>)>, StoreFault>;

    /// Takes a lease if it is free, expired, or already `holder`'s; `None` while another holds it.
    ///
    /// # Errors
    /// [`StoreFault`].
    fn lease(&self, key: &str, holder: &str, now: u64, millis: u64) -> Result<Option<Lease>, StoreFault>;

    /// Gives a lease back if it is still this one.
    ///
    /// # Errors
    /// [`StoreFault`].
    fn release(&self, lease: &Lease) -> Result<(), StoreFault>;

    /// Records of the ledger of an incident, in order.
    ///
    /// # Errors
    /// [`StoreFault`].
    fn records_of(&self, incident: &Id) -> Result<Vec<Record>, StoreFault>;

    /// Looks at the whole chain; the number of records, or its first break.
    ///
    /// # Errors
    /// [`StoreFault`].
    fn verify_chain(&self) -> Result<Result<u64, ChainBreak>, StoreFault>;
}
