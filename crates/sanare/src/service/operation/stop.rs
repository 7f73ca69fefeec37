//! The stop switch: files beside the store, read before every act (S97). Setting one needs no store that works; lifting it
//! needs somebody who may, a reason, and a record of both.

use std::io::{Error, ErrorKind};

use sanare_core::id::Id;
use sanare_core::ledger::Entry;
use sanare_core::port::StoreFault;
use sanare_core::redact::Redactor;
use sanare_core::service::run::Change;
use sanare_core::service::{Application, Text};
use serde_json::{Value as Json, json};

use crate::operations::stop::{at, said, words};
use crate::service::house::stop_path;
use crate::service::watch::fault;
use crate::service::{Healer, Setup, gate};
use crate::wire::person::{self, Person};

/// What the store remembers of a switch that is set, by the application that it is for.
const SET: &str = "stop/";
/// Who writes down what became of switches, in milliseconds: one at a time.
const NOTES: u64 = 5_000;
/// How long a person waits for their turn to write it down.
const TURNS: u32 = 300;

/// Why a switch was not lifted.
#[derive(Debug, thiserror::Error)]
pub enum NotStarted {
    /// A reason is needed.
    #[error("a reason is needed")]
    NoReason,
    /// The policy names others, or cannot be read.
    #[error("`{0}` may not lift the stop switch: {1}")]
    NotAllowed(String, &'static str),
    /// It could not be written down.
    #[error("it could not be written down, and the switch stays: {0}")]
    Store(#[from] StoreFault),
    /// The file could not be removed.
    #[error(transparent)]
    File(#[from] Error),
}

impl Setup {
    /// Sets the switch for all, or for one application. When it returns, within two seconds, no act begins any more, in
    /// whatever process; one that is in progress is followed to its end.
    ///
    /// # Errors
    /// When it cannot be written; or, of the kind `TimedOut`, when it is set and a worker stands still right before an act.
    pub fn stop(&self, application: Option<&Application>, reason: &str) -> std::io::Result<()> {
        let path = stop_path(self, application);
        let folder = path.parent().map_or(Ok(()), std::fs::create_dir_all);
        folder.and_then(|()| std::fs::write(&path, said(reason))).map_err(|error| at(&path, &error))?;
        gate::pass(self).map_err(|error| at(&path, &error))
    }

    /// Whether this very switch is set; one that cannot be looked at is.
    pub fn is_stopped(&self, application: Option<&Application>) -> bool {
        stop_path(self, application).try_exists().unwrap_or(true)
    }

    /// Whether this account may lift a switch: one of the approvers, where the policy names any.
    fn may_start(&self, who: &Person, now: u64) -> Result<(), &'static str> {
        let policy = self.policy(now);
        if policy.trouble().is_some() {
            return Err("the policy file, which names the approvers, cannot be used");
        }
        let named = policy.file().and_then(|file| file.approvals.approvers.as_ref());
        if named.is_none_or(|named| who.is_among(named)) { Ok(()) } else { Err("it is not among the approvers") }
    }
}

impl Healer {
    /// Stops all acting, or on one application. When it returns no act begins any more, and questions are void, whether they
    /// wait or are granted; that it was done, and by whom, is in the ledger.
    ///
    /// # Errors
    /// When the switch cannot be written; the store's faults are told as such, and the switch is set.
    pub fn stop(&self, application: Option<&Application>, reason: &str) -> std::io::Result<()> {
        self.setup().stop(application, reason)?;
        let house = self.house();
        self.within(&house, |acting| acting.void_approvals(application, "stopped")).map_err(Error::other)?;
        self.in_turn(|healer| healer.note_switches()).map_err(Error::other)
    }

    /// Lifts the switch; it begins nothing by itself. Who did it and why is in the ledger before it is lifted.
    ///
    /// # Errors
    /// [`NotStarted`]; then the switch stays.
    pub fn start_again(&self, application: Option<&Application>, reason: &str) -> Result<(), NotStarted> {
        let reason = Text::<300>::of(reason);
        if reason.is_empty() {
            return Err(NotStarted::NoReason);
        }
        let (who, setup) = (person::current(), self.setup());
        setup.may_start(&who, self.clock().now()).map_err(|why| NotStarted::NotAllowed(who.name.clone(), why))?;
        if !setup.is_stopped(application) {
            return Ok(());
        }
        self.in_turn(|healer| {
            healer.note_switches()?;
            let payload = json!({ "application": application, "by": who.name, "reason": reason });
            healer.note_switch("started", application.map(Application::as_str).unwrap_or_default(), &payload)?;
            let path = stop_path(&setup, application);
            Ok(match std::fs::remove_file(&path) {
                Err(error) if error.kind() != ErrorKind::NotFound => Err(NotStarted::File(at(&path, &error))),
                _ => Ok(()),
            })
        })?
    }

    /// Writes down what became of switches, by whomever and however they were set or lifted: a file says it as well as a
    /// command.
    pub(in crate::service) fn note_switches_if_free(&self) -> Result<(), StoreFault> {
        let known = self.known_switches()?;
        if known == self.set_switches() {
            return Ok(());
        }
        self.alone(Healer::note_switches).map(drop)
    }

    fn note_switches(&self) -> Result<(), StoreFault> {
        let (known, set) = (self.known_switches()?, self.set_switches());
        for name in set.iter().filter(|name| !known.contains(name)) {
            let (by, reason) = words(&stop_path(&self.setup(), application(name).as_ref()));
            let payload = json!({ "application": application(name), "by": by, "reason": reason });
            self.note_switch("stopped", name, &payload)?;
        }
        for name in known.iter().filter(|name| !set.contains(name)) {
            let payload = json!({ "application": application(name), "by": Json::Null, "reason": "its file is gone" });
            self.note_switch("started", name, &payload)?;
        }
        Ok(())
    }

    fn note_switch(&self, step: &str, name: &str, payload: &Json) -> Result<(), StoreFault> {
        let now = self.clock().now();
        let payload = Redactor::standard().json(payload);
        let entry =
            Entry { incident: Id::new("stp", now, self.clock().chance()), step: step.to_owned(), at: now, payload };
        let state = (step == "stopped").then(|| b"1".to_vec());
        let change =
            Change { now, entries: vec![entry], states: vec![(format!("{SET}{name}"), state)], ..Change::default() };
        self.store().commit(&change).map(drop).map_err(fault)
    }

    fn known_switches(&self) -> Result<Vec<String>, StoreFault> {
        let known = self.store().states(SET)?;
        Ok(known.into_iter().filter_map(|(key, _)| key.strip_prefix(SET).map(str::to_owned)).collect())
    }

    /// By application; the empty name is all of them.
    fn set_switches(&self) -> Vec<String> {
        let setup = self.setup();
        let names = setup.configuration.services.keys().map(|name| name.as_str().to_owned());
        let known = self.known_switches().unwrap_or_default();
        let mut all: Vec<String> = std::iter::once(String::new()).chain(names).chain(known).collect();
        all.sort();
        all.dedup();
        all.retain(|name| setup.is_stopped(application(name).as_ref()));
        all
    }

    /// Does something while nobody else writes down what became of switches; `None` where somebody does.
    fn alone<T>(&self, act: impl FnOnce(&Self) -> Result<T, StoreFault>) -> Result<Option<T>, StoreFault> {
        let owner = format!("{:020x}", self.clock().chance());
        let Some(lease) = self.store().lease("switches", &owner, self.clock().now(), NOTES)? else { return Ok(None) };
        let done = act(self);
        self.store().release(&lease)?;
        done.map(Some)
    }

    fn in_turn<T>(&self, act: impl Fn(&Self) -> Result<T, StoreFault>) -> Result<T, StoreFault> {
        for _ in 0..TURNS {
            if let Some(done) = self.alone(&act)? {
                return Ok(done);
            }
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        Err(StoreFault::Busy)
    }
}

fn application(name: &str) -> Option<Application> {
    Application::parse(name).ok()
}
