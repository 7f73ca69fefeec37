//! The configuration read again: checked whole, then swapped as a whole, or left as it was (S139).

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use sanare_core::hash::Digest;
use sanare_core::id::Id;
use sanare_core::ledger::Entry;
use sanare_core::port::StoreFault;
use sanare_core::redact::Redactor;
use sanare_core::service::Signal;
use sanare_core::service::run::Change;
use sanare_core::settings::Trouble;
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

use crate::service::calm::Calm;
use crate::service::hands::Hands;
use crate::service::healer::{Live, locked};
use crate::service::references::{self, References};
use crate::service::setup::trouble;
use crate::service::watch::fault;
use crate::service::{Healer, Setup, detectors};
use crate::wire;

/// Changes that a record names, at most.
const NAMED: usize = 200;
/// Which configuration the store knows of.
const KNOWN: &str = "known/configuration";
/// Tables whose texts may hold what nobody should read: that they changed is told, and nothing of them.
const UNTOLD: [&str; 6] = ["headers", "env", "argv", "undo_argv", "body", "command"];

/// One thing that changed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Changed {
    /// Which, by its path in what is in effect.
    pub key: String,
    /// What it was; nothing for what is new.
    pub from: Option<Json>,
    /// What it is; nothing for what is gone.
    pub to: Option<Json>,
}

/// Why the configuration stays as it was.
#[derive(Debug, thiserror::Error)]
pub enum NotReloaded {
    /// It is wrong.
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
    Configuration(Vec<Trouble>),
    /// The change could not be written down.
    #[error(transparent)]
    Store(#[from] StoreFault),
}

/// What is known of the file.
#[derive(Debug, Default)]
pub(in crate::service) struct Watched {
    /// As it was read; `None` where it was gone.
    read: Option<Digest>,
    /// As it was at the last look, where that is something else: it is taken once it stands still.
    seen: Option<Option<Digest>>,
}

impl Watched {
    pub fn of(path: &Path) -> Self {
        Self { read: std::fs::read(path).ok().map(|bytes| Digest::of(&bytes)), seen: None }
    }

    /// Whether the file is another one than was read, and stood still since the last look; then it counts as read.
    fn is_due(&mut self, bytes: Option<&[u8]>) -> bool {
        let now = bytes.map(Digest::of);
        if self.read == now {
            self.seen = None;
            return false;
        }
        if self.seen.as_ref() != Some(&now) {
            self.seen = Some(now);
            return false;
        }
        (self.read, self.seen) = (now, None);
        true
    }
}

impl Healer {
    /// Reads the configuration again. All of it is checked first; then everything but the store and the policy, which is
    /// read anew each time, is swapped at once. What is being done goes on with the target that it was begun on; what was
    /// asked of people is asked anew. Gives back what changed.
    ///
    /// # Errors
    /// [`NotReloaded`]; then everything is as it was, and that is in the ledger.
    pub fn reload(&self) -> Result<Vec<Changed>, NotReloaded> {
        // Read by whoever has the turn: what was read before another one's change would take that change back.
        let _one = locked(self.reloading());
        self.reload_from(&std::fs::read(&self.setup().file))
    }

    fn reload_from(&self, bytes: &std::io::Result<Vec<u8>>) -> Result<Vec<Changed>, NotReloaded> {
        let before = self.live();
        let read = self.read(&before, bytes);
        match read {
            Ok(next) => self.swap(&before, next),
            Err(troubles) => {
                let said: Vec<String> = troubles.iter().map(ToString::to_string).collect();
                let hash = before.setup.configuration.hash();
                self.write_down("configuration_refused", &json!({ "stays": hash, "troubles": said }))?;
                Err(NotReloaded::Configuration(troubles))
            }
        }
    }

    /// Looks whether the file changed, or somebody asked, and reads it then.
    pub(in crate::service) fn reload_if_due(&self) {
        let asked = self.hangs_up() && sanare_effects::hangup::take();
        let Some(watched) = self.watched() else { return };
        let one = locked(self.reloading());
        // What is judged is what was seen: a file that is being written is not read a second time.
        let bytes = std::fs::read(&self.setup().file);
        let due = locked(watched).is_due(bytes.as_deref().ok());
        if !asked && !due {
            return;
        }
        let done = self.reload_from(&bytes);
        // Whoever is told may ask for a reload.
        drop(one);
        if let Some(tell) = &*locked(self.teller()) {
            tell(&done);
        }
    }

    fn read(&self, before: &Live, bytes: &std::io::Result<Vec<u8>>) -> Result<Next, Vec<Trouble>> {
        let file = &before.setup.file;
        let whole = |key: &str, message: &str| {
            let mut one = trouble(file, 1, message, "");
            one.key = key.to_owned();
            vec![one]
        };
        if self.watched().is_none() {
            return Err(whole("", "this healer is not made from a file"));
        }
        let setup = Setup::of(file, bytes.as_deref())?;
        if setup.configuration.services.is_empty() && !before.setup.configuration.services.is_empty() {
            return Err(whole("service", "names no service any more: half a file looks like that"));
        }
        if setup.store() != before.setup.store() {
            return Err(whole("store.path", "is taken when the program starts"));
        }
        let settings = detectors(&setup)?;
        // A reference that is still the same stays the one that rows are being counted by.
        let mut references = references::with_keys(&setup, &settings.drifts);
        for (place, reference) in &mut references {
            let known = before.references.get(place).filter(|known| ***known == **reference);
            if let Some(known) = known {
                *reference = Arc::clone(known);
            }
        }
        let calm = Calm::of(&setup, self.memory())?;
        let mut hands = Hands::of(&setup)?;
        for lent in locked(self.lent()).iter() {
            lent.to(&mut hands, &setup.configuration)
                .map_err(|invalid| whole(&format!("service.{}.target", lent.application), &invalid.to_string()))?;
        }
        let agent = match self.remade(&setup) {
            Some(made) => made.map_err(|why| whole("model", &why))?,
            None => {
                let model = |setup: &Setup| wire::model::setup_in(&setup.settings, &setup.folder);
                if model(&setup) != model(&before.setup) {
                    return Err(whole("model", "is taken when the program starts"));
                }
                Arc::clone(&before.agent)
            }
        };
        let live = Live { setup: Arc::new(setup), hands: Arc::new(hands), agent, references: Arc::new(references) };
        Ok(Next { live, settings, calm })
    }

    fn swap(&self, before: &Live, next: Next) -> Result<Vec<Changed>, NotReloaded> {
        let mut changed = difference(&before.setup, &next.live.setup);
        changed.extend(learned(&before.references, &next.live.references));
        if changed.is_empty() {
            return Ok(changed);
        }
        let Next { mut live, settings, calm } = next;
        let mut hands = Hands::clone(&live.hands);
        hands.keep(&before.hands, self.store())?;
        live.hands = Arc::new(hands);
        // No look is under way while it is swapped: what is queued waits, and nothing is detected by half of each.
        let mut watch = locked(self.watch());
        let bank = watch.under(settings).map_err(|unread| StoreFault::Corrupt(unread.to_string()))?;
        let told: Vec<&Changed> = changed.iter().take(NAMED).collect();
        let (from, to) = (before.setup.configuration.hash(), live.setup.configuration.hash());
        let payload = json!({ "from": from, "to": to, "changed": told, "more": changed.len().saturating_sub(NAMED) });
        self.write_down_with("configuration", &payload, vec![known(&live.setup)])?;
        *locked(self.noted_configuration()) = Some(Arc::clone(&live.setup));
        watch.change(bank, calm);
        self.go_live(live);
        Ok(changed)
    }

    /// Writes down that the configuration is another one than the store knows of: it changed while no healer ran that could have
    /// said so. The first one is only remembered.
    pub(in crate::service) fn note_configuration(&self) -> Result<(), StoreFault> {
        let setup = self.setup();
        if locked(self.noted_configuration()).as_ref().is_some_and(|noted| Arc::ptr_eq(noted, &setup)) {
            return Ok(());
        }
        let owner = format!("{:020x}", self.clock().chance());
        let Some(lease) = self.store().lease("configuration", &owner, self.clock().now(), 30_000)? else {
            return Ok(());
        };
        let before = self.store().states(KNOWN)?.into_iter().find(|(key, _)| key == KNOWN);
        let before = before.and_then(|(_, bytes)| serde_json::from_slice::<Known>(&bytes).ok());
        let now = Known::of(&setup);
        if before.as_ref() != Some(&now) {
            let states = vec![known(&setup)];
            match before {
                None => {
                    let change = Change { now: self.clock().now(), states, ..Change::default() };
                    self.store().commit(&change).map(drop).map_err(fault)?;
                }
                Some(before) => {
                    let changed = between(&before.rows, &now.rows);
                    let told: Vec<&Changed> = changed.iter().take(NAMED).collect();
                    let more = changed.len().saturating_sub(NAMED);
                    let payload = json!({
                        "from": before.hash, "to": now.hash, "changed": told, "more": more, "while": "no healer ran"
                    });
                    self.write_down_with("configuration", &payload, states)?;
                }
            }
        }
        *locked(self.noted_configuration()) = Some(setup);
        self.store().release(&lease)
    }

    /// A record of the ledger that belongs to no incident.
    pub(in super::super) fn write_down(&self, step: &str, payload: &Json) -> Result<(), StoreFault> {
        self.write_down_with(step, payload, Vec::new())
    }

    /// The same, with what is remembered in the same transaction.
    fn write_down_with(
        &self,
        step: &str,
        payload: &Json,
        states: Vec<(String, Option<Vec<u8>>)>,
    ) -> Result<(), StoreFault> {
        let (now, chance) = (self.clock().now(), self.clock().chance());
        let payload = Redactor::standard().json(payload);
        let entry = Entry { incident: Id::new("cfg", now, chance), step: step.to_owned(), at: now, payload };
        self.store().commit(&Change { now, entries: vec![entry], states, ..Change::default() }).map(drop).map_err(fault)
    }
}

/// A configuration that was read and checked.
struct Next {
    live: Live,
    settings: sanare_detect::bank::Settings,
    calm: Calm,
}

/// A configuration as the store knows it: what may be told of it, and nothing else.
#[derive(PartialEq, Serialize, Deserialize)]
struct Known {
    hash: Digest,
    rows: BTreeMap<String, Json>,
}

impl Known {
    fn of(setup: &Setup) -> Self {
        let rows = Redactor::standard().json(&json!(shown(setup)));
        let rows = serde_json::from_value(rows.as_ref().clone()).unwrap_or_default();
        Self { hash: setup.configuration.hash(), rows }
    }
}

fn known(setup: &Setup) -> (String, Option<Vec<u8>>) {
    (KNOWN.to_owned(), Some(json!(Known::of(setup)).to_string().into_bytes()))
}

/// What is in effect after and was not so before.
fn difference(before: &Setup, after: &Setup) -> Vec<Changed> {
    between(&shown(before), &shown(after))
}

fn between(before: &BTreeMap<String, Json>, after: &BTreeMap<String, Json>) -> Vec<Changed> {
    let keys: std::collections::BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    let changed = keys.into_iter().filter(|key| before.get(*key) != after.get(*key));
    let told = |key: &String| Changed { key: key.clone(), from: before.get(key).cloned(), to: after.get(key).cloned() };
    changed.map(told).collect()
}

/// Everything that is in effect, by its path, as it may be told.
fn shown(setup: &Setup) -> BTreeMap<String, Json> {
    let told = |(key, value): (String, Json)| {
        let place = key.split('.').any(|part| UNTOLD.contains(&part));
        // A text that is no name may be anything, an address with a token among it.
        let is_name = |text: &str| Signal::parse(text).is_ok() && !text.contains("//");
        let untold = place || value.as_str().is_some_and(|text| !is_name(text));
        let value = if untold { json!(Digest::of(value.to_string().as_bytes())) } else { value };
        (key, value)
    };
    flat(setup).into_iter().map(told).collect()
}

/// References that were learned, replaced or taken away, by their versions.
fn learned(before: &References, after: &References) -> Vec<Changed> {
    let places: std::collections::BTreeSet<_> = before.keys().chain(after.keys()).collect();
    let changed = places.into_iter().filter(|place| before.get(*place) != after.get(*place));
    changed
        .map(|place| {
            let version = |all: &References| all.get(place).map(|one| json!(one.drift.reference.reference_version));
            let (application, signal) = place;
            let key = format!("services.{application}.references.{signal}");
            Changed { key, from: version(before), to: version(after) }
        })
        .collect()
}

/// Everything that is in effect, by its path.
fn flat(setup: &Setup) -> BTreeMap<String, Json> {
    let mut all = BTreeMap::new();
    flatten("", &json!(setup.configuration), &mut all);
    for (path, value, _) in setup.settings.rows() {
        all.insert(path.to_owned(), value.clone());
    }
    all
}

fn flatten(prefix: &str, value: &Json, all: &mut BTreeMap<String, Json>) {
    let at = |name: &str| if prefix.is_empty() { name.to_owned() } else { format!("{prefix}.{name}") };
    match value {
        Json::Object(map) if !map.is_empty() => map.iter().for_each(|(name, value)| flatten(&at(name), value, all)),
        Json::Array(items) if !items.is_empty() => {
            items.iter().enumerate().for_each(|(place, value)| flatten(&at(&place.to_string()), value, all));
        }
        other => drop(all.insert(prefix.to_owned(), other.clone())),
    }
}
