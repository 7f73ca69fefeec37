//! What a healer does for its store beside its work: it forgets what is old, and sends the ledger's signed heads where they
//! are kept (S117, S119). One process does it at a time.

mod age;

use std::time::Duration;

use sanare_core::id::Id;
use sanare_core::ledger::{Entry, Heads};
use sanare_core::port::{Keeping, Store, StoreFault};
use sanare_core::redact::Redactor;
use sanare_core::service::config::HeadsSettings;
use sanare_core::service::moment::MINUTE;
use sanare_core::service::run::{Message, MessageKind, OF_ALL};
use sanare_core::service::word::Severity;
use sanare_core::service::{Change, Moment};
use sanare_effects::head_key::replace;
use sanare_effects::service::message::Outgoing;
use serde_json::json;

use self::age::{Age, Gap};
use super::Healer;
use super::courier::Route;
use super::healer::locked;
use super::watch::fault;
use crate::operations::heads::sign;

/// Rows of one small transaction: a reading that comes in waits for no more than one.
const ROWS: usize = 250;
/// Transactions of one round: readings come in between them.
const ROUND: usize = 80;
/// What lies between two rounds that found nothing to do.
const PAUSE: u64 = 10 * MINUTE;
/// Milliseconds of a lease beside the time that sending may take.
const LEASE_MS: u64 = 30_000;
/// Which policy the store knows of.
const POLICY: &str = "known/policy";
/// By which message people were told that the policy cannot be read, while it is so.
pub(super) const TROUBLE: &str = "known/policy_trouble";
/// How old things are.
const AGE: &str = "upkeep/age";
/// When heads went out the last time, and why they did not.
const SENT: &str = "upkeep/heads";

/// When this process did what the last time, as far as it knows.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Upkept {
    tidied: Option<Moment>,
    /// The clock that nobody can set, when it last looked how old things are.
    aged: Option<u64>,
    sent: Option<Moment>,
}

impl Healer {
    /// Does what is due of it.
    pub(super) fn upkeep(&self) -> Result<(), StoreFault> {
        let now = Moment::from_millis(self.clock().now());
        let configuration = &self.setup().configuration;
        let heads = configuration.heads.clone();
        let every = heads.as_ref().map(|heads| heads.every);
        let over = |at: Option<Moment>, pause: u64| at.is_none_or(|at| now.since(at) >= pause || at > now);
        let last = *locked(self.upkept());
        let tidy = over(last.tidied, PAUSE);
        let mut send = every.is_some_and(|every| over(last.sent, every));
        if send {
            // Another process may have sent them.
            let sent = self.noted(SENT)?.map(|(at, _)| at);
            locked(self.upkept()).sent = sent;
            send = over(sent, every.unwrap_or(PAUSE));
        }
        if !tidy && !send {
            return Ok(());
        }
        let Some(whole) = self.store().whole() else { return Ok(()) };
        let owner = format!("{:020x}", self.clock().chance());
        let Some(lease) = self.store().lease("upkeep", &owner, self.clock().now(), LEASE_MS)? else { return Ok(()) };
        let done = self.tidy(whole, now, tidy).and_then(|()| match heads.filter(|_| send) {
            Some(heads) => self.send_heads(whole, &heads, now),
            None => Ok(()),
        });
        self.store().release(&lease)?;
        done
    }

    /// Writes down that the policy is another one than the store knows of: it is read anew each time, and what was decided by it
    /// is to be understood later. The first one is only remembered.
    pub(super) fn note_policy(&self) -> Result<(), StoreFault> {
        let policy = self.setup().policy(self.clock().now());
        let digest = policy.digest();
        if locked(self.upkept_policy()).as_ref() == Some(&digest) {
            return Ok(());
        }
        let owner = format!("{:020x}", self.clock().chance());
        let Some(lease) = self.store().lease("policy", &owner, self.clock().now(), LEASE_MS)? else { return Ok(()) };
        let known = self.store().states(POLICY)?.into_iter().find(|(key, _)| key == POLICY);
        let known = known.and_then(|(_, state)| String::from_utf8(state).ok());
        let now = self.clock().now();
        let mut change = Change { now, ..Change::default() };
        if known.as_deref() != Some(digest.as_str()) {
            change.states.push((POLICY.to_owned(), Some(digest.as_str().as_bytes().to_vec())));
            if let Some(from) = known {
                let payload = json!({ "from": from, "to": digest, "trouble": policy.trouble() });
                let payload = Redactor::standard().json(&payload);
                let incident = Id::new("pol", now, self.clock().chance());
                change.entries.push(Entry { incident, step: "policy".to_owned(), at: now, payload });
            }
        }
        let told = self.store().states(TROUBLE)?.into_iter().any(|(key, _)| key == TROUBLE);
        match policy.trouble() {
            Some(why) if !told => {
                let message = self.policy_refuses(why, now);
                change.states.push((TROUBLE.to_owned(), Some(message.key.clone().into_bytes())));
                change.messages.push(message);
            }
            None if told => change.states.push((TROUBLE.to_owned(), None)),
            _ => {}
        }
        if !change.states.is_empty() {
            self.store().commit(&change).map(drop).map_err(fault)?;
        }
        *locked(self.upkept_policy()) = Some(digest);
        self.store().release(&lease)
    }

    /// What people are told, once, when the policy cannot be read (S93).
    fn policy_refuses(&self, why: &str, now: u64) -> Message {
        let id = Id::new("pol", now, self.clock().chance());
        let body = json!({
            "severity": Severity::Critical,
            "summary": format!("the policy cannot be read, so every action on a service is refused: {why}"),
            "next": ["sanare check"],
        });
        Message {
            key: format!("{OF_ALL}{id}"),
            kind: MessageKind::Escalation,
            incident: id,
            body: Redactor::standard().json(&body),
            at: Moment::from_millis(now),
        }
    }

    fn tidy(&self, whole: &dyn Store, now: Moment, due: bool) -> Result<(), StoreFault> {
        let Some(keeper) = whole.keeper().filter(|_| due) else { return Ok(()) };
        let keeping = self.setup().configuration.keeping.clone();
        let age = self.age(now, &keeping)?;
        for _ in 0..ROUND {
            if !keeper.tidy(&keeping, age, ROWS)?.is_some() {
                locked(self.upkept()).tidied = Some(now);
                return Ok(());
            }
            // Whoever waits for the store has its turn.
            std::thread::sleep(Duration::from_millis(2));
        }
        Ok(())
    }

    /// The time by which what is kept is old: a clock that was set, or a machine that was off, makes nothing old at once.
    fn age(&self, now: Moment, keeping: &Keeping) -> Result<Moment, StoreFault> {
        let found = self.store().states(AGE)?.into_iter().find(|(key, _)| key == AGE);
        let before = found.and_then(|(_, state)| Age::parse(&String::from_utf8(state).ok()?));
        let elapsed = self.clock().elapsed();
        let known = locked(self.upkept()).aged.map_or(0, |aged| elapsed.saturating_sub(aged).saturating_mul(1_000));
        let (age, gap) = before.map_or((Age::new(now), None), |before| before.goes_on(now, known, keeping));
        if let Some(Gap { passed, counted }) = gap {
            let told = json!({ "passed_ms": passed / 1_000, "counted_ms": counted / 1_000 });
            self.write_down("retention_held", &told)?;
        }
        let states = vec![(AGE.to_owned(), Some(age.text().into_bytes()))];
        self.store().commit(&Change { now: now.millis(), states, ..Change::default() }).map(drop).map_err(fault)?;
        locked(self.upkept()).aged = Some(elapsed);
        Ok(age.at())
    }

    fn send_heads(&self, whole: &dyn Store, settings: &HeadsSettings, now: Moment) -> Result<(), StoreFault> {
        let before = self.noted(SENT)?.map(|(_, why)| why).unwrap_or_default();
        let signed = sign(whole, &self.setup().store(), &**self.clock());
        let why = match signed {
            Ok(heads) => self.sent(&heads, settings).err().unwrap_or_default(),
            Err(error) => error.to_string(),
        };
        // That heads do not go out, and that they do again, is told once.
        if why != before {
            let step = if why.is_empty() { "heads_sent" } else { "heads_not_sent" };
            let payload = Redactor::standard().json(&json!({ "why": why }));
            let at = self.clock().now();
            let entry =
                Entry { incident: Id::new("hed", at, self.clock().chance()), step: step.to_owned(), at, payload };
            self.store()
                .commit(&Change { now: at, entries: vec![entry], ..Change::default() })
                .map(drop)
                .map_err(fault)?;
        }
        locked(self.upkept()).sent = Some(now);
        self.note_upkeep(SENT, now, &why)
    }

    /// Every way is tried; the first trouble is told.
    fn sent(&self, heads: &Heads, settings: &HeadsSettings) -> Result<(), String> {
        let line = serde_json::to_string(heads).map_err(|error| error.to_string())?;
        let mut trouble = None;
        if let Some(file) = &settings.file {
            let path = self.setup().folder.join(file);
            trouble = replace(&path, &format!("{line}\n")).err().map(|error| format!("{}: {error}", path.display()));
        }
        let hands = self.live().hands;
        for name in &settings.routes {
            let route = hands.routes.iter().find(|route| route.settings.name == *name);
            let sent =
                route.ok_or_else(|| "there is no such route".to_owned()).and_then(|route| by_route(route, heads));
            trouble = trouble.or(sent.err().map(|why| format!("{name}: {why}")));
        }
        trouble.map_or(Ok(()), Err)
    }

    fn noted(&self, key: &str) -> Result<Option<(Moment, String)>, StoreFault> {
        let found = self.store().states(key)?.into_iter().find(|(known, _)| known == key);
        let text = found.and_then(|(_, state)| String::from_utf8(state).ok());
        let read = |text: String| {
            let (at, why) = text.split_once(' ')?;
            Some((Moment::from_micros(at.parse().ok()?), why.to_owned()))
        };
        Ok(text.and_then(read))
    }

    fn note_upkeep(&self, key: &str, at: Moment, why: &str) -> Result<(), StoreFault> {
        let state = format!("{} {why}", at.micros()).into_bytes();
        let change = Change { now: at.millis(), states: vec![(key.to_owned(), Some(state))], ..Change::default() };
        self.store().commit(&change).map(drop).map_err(fault)
    }
}

fn by_route(route: &Route, heads: &Heads) -> Result<(), String> {
    let id = format!("heads/{}/{}", heads.store, heads.at);
    let body = json!({ "id": id, "kind": "ledger_heads", "at": Moment::from_millis(heads.at), "body": heads });
    let body = serde_json::to_vec(&body).map_err(|error| error.to_string())?;
    let outgoing = Outgoing { id: &id, body: &body, at: heads.at / 1_000 };
    route.way.send(outgoing, Duration::from_micros(route.settings.timeout))
}
