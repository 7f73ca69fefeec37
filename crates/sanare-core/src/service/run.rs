//! A run: one incident's way through the steps, and everything that one step changes (S105, S120).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::action::Action;
use super::approval::Approval;
use super::confidence::Measured;
use super::context::{Context, DiagnosticOutput};
use super::incident::Incident;
use super::limits::PastAct;
use super::moment::Moment;
use super::name::Application;
use super::observation::Observation;
use super::receipt::Receipt;
use super::silence::Silence;
use super::step::Step;
use super::target::TargetKey;
use super::word::{ApprovalState, ReceiptState, words};
use crate::id::Id;
use crate::ledger::Entry;
use crate::port::store::Lease;
use crate::redact::Redacted;

/// One run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Run {
    /// Its incident.
    pub incident: Id,
    /// The service.
    pub application: Application,
    /// Grows with every change; a change names the one that it was made from.
    pub revision: u64,
    /// Where it is.
    pub step: Step,
    /// When it is looked at again; nothing for one that has ended.
    pub due: Option<Moment>,
    /// The target that it acts on or verifies.
    pub target: Option<TargetKey>,
    /// Attempts begun, for the keys of receipts.
    pub attempt: u32,
    /// Attempts before a person retried it: they are told, and not counted again.
    pub attempts_before: usize,
    /// Times that it was diagnosed.
    pub rounds: u32,
    /// Times that a gate failed, by action.
    pub gate_failures: BTreeMap<Action, u32>,
    /// What configured checks said.
    pub diagnostics: Vec<DiagnosticOutput>,
    /// Whether it was held because another run had the target: then it begins again with fresh evidence.
    pub held_for_target: bool,
    /// Until when a proposed wait lasts.
    pub wait_until: Option<Moment>,
    /// When it began.
    pub began: Moment,
    /// Microseconds that it has waited for people and jobs.
    pub waited: u64,
    /// Since when it waits for a person or a job.
    pub waiting_since: Option<Moment>,
}

impl Run {
    /// A new run.
    pub fn new(incident: &Incident, at: Moment) -> Self {
        Self {
            incident: incident.id.clone(),
            application: incident.application.clone(),
            revision: 0,
            step: Step::Opened,
            due: Some(at),
            target: None,
            attempt: 0,
            attempts_before: 0,
            rounds: 0,
            gate_failures: BTreeMap::new(),
            diagnostics: Vec::new(),
            held_for_target: false,
            wait_until: None,
            began: at,
            waited: 0,
            waiting_since: None,
        }
    }

    /// The wait for a person or a job is over.
    pub fn end_wait(&mut self, now: Moment) {
        if let Some(since) = self.waiting_since.take() {
            self.waited += now.since(since);
        }
    }

    /// Microseconds of active time: waiting for people and jobs is not counted.
    pub fn active(&self, now: Moment) -> u64 {
        let waiting = self.waiting_since.map_or(0, |since| now.since(since));
        now.since(self.began).saturating_sub(self.waited).saturating_sub(waiting)
    }
}

words! {
    /// What is sent out to people.
    MessageKind("message") {
        /// An incident is handed over.
        Escalation = "escalation",
        /// An approval is asked for.
        ApprovalAsked = "approval_asked",
        /// An act of ours was taken back.
        RolledBack = "rolled_back",
        /// Policy refused what would have been done.
        Refused = "refused",
        /// It is well again after people were told.
        Healed = "healed",
    }
}

/// What the key of a message about all services begins with.
pub const OF_ALL: &str = "policy/";

/// A message to people, sent from the outbox.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Unique: the same message is never queued twice.
    pub key: String,
    /// What it is.
    pub kind: MessageKind,
    /// The incident.
    pub incident: Id,
    /// What it says.
    pub body: Redacted<Json>,
    /// When it was queued.
    pub at: Moment,
}

impl Message {
    /// Which reminder of another message it is, if it is one.
    pub fn reminder(&self) -> Option<u64> {
        self.body.as_ref().get("reminder")?.as_u64()
    }

    /// Whether it is about what stops all services, and about no incident.
    pub fn is_of_all(&self) -> bool {
        self.key.starts_with(OF_ALL)
    }
}

/// Everything that one step changes, in one transaction: all of it is stored, or nothing.
#[derive(Clone, Debug, Default)]
pub struct Change {
    /// Now, in milliseconds since 1970.
    pub now: u64,
    /// Leases that must still be held.
    pub under: Vec<Lease>,
    /// Targets on which no other run may be acting or verifying, and no receipt but those of this change be started or
    /// unknown.
    pub free: Vec<TargetKey>,
    /// How many acts there were since a moment when the limits were looked at: if it is another number now, the
    /// decision rests on limits that have moved.
    pub acts_seen: Option<(Moment, usize)>,
    /// Records of the ledger, in order.
    pub entries: Vec<Entry>,
    /// New observations; one that is there already with the same content is left alone.
    pub observations: Vec<Observation>,
    /// Incidents; one open or handed-over incident has a fingerprint.
    pub incidents: Vec<Incident>,
    /// Runs, each with the revision that it was made from; `None` for one that must not exist yet.
    pub runs: Vec<(Run, Option<u64>)>,
    /// Frozen pictures.
    pub snapshots: Vec<Context>,
    /// Receipts, each with the state that it must be in; `None` for one that must not exist yet.
    pub receipts: Vec<(Receipt, Option<ReceiptState>)>,
    /// Approvals, each with the state that it must be in; `None` for one that must not exist yet.
    pub approvals: Vec<(Approval, Option<ApprovalState>)>,
    /// Acts for the limits; the same receipt again replaces the act.
    pub acts: Vec<PastAct>,
    /// Attempts for the figures, by the receipt that they count once.
    pub measured: Vec<(Id, Measured)>,
    /// Messages to people.
    pub messages: Vec<Message>,
    /// Silences; the same id again replaces it.
    pub silences: Vec<Silence>,
    /// What detection remembers, by key; nothing takes the key out.
    pub states: Vec<(String, Option<Vec<u8>>)>,
}

/// What a person, or another process, sees when a change cannot be made. Nothing of it was stored.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotMade {
    /// The store failed.
    #[error(transparent)]
    Store(#[from] crate::port::StoreFault),
    /// A lease is another's now.
    #[error("a lease is lost: {0}")]
    LeaseLost(String),
    /// Something changed meanwhile.
    #[error("it has changed meanwhile: {0}")]
    Moved(String),
    /// Another run has the target.
    #[error("the target is in use: {0}")]
    InUse(String),
    /// There is an open incident with this fingerprint.
    #[error("there is an open incident of this kind: {0}")]
    Open(String),
    /// An observation of this id has another content.
    #[error("another observation has this source id: {0}")]
    Conflict(String),
}
