//! One look: readings are let in, detected on and stored, and what is found is told to the loop.

mod forget;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, Mutex};

use sanare_core::hash::Digest;
use sanare_core::id::Id;
use sanare_core::port::{Clock, StoreFault};
use sanare_core::service::config::{Configuration, RuleSettings};
use sanare_core::service::context::MovedBy;
use sanare_core::service::history::{Marked, WentLive};
use sanare_core::service::limits::PastAct;
use sanare_core::service::moment::DAY;
use sanare_core::service::run::Change;
use sanare_core::service::{
    Application, ClosedBy, Component, Condition, Draft, Flag, IncidentFlag, Moment, NotMade, Observation,
    ObservedValue, ServiceStore, Source, Stamp, StepName, Trust,
};
use sanare_detect::bank::{Bank, Finding, Settings, Unread};
use sanare_detect::flapping::History;
use sanare_detect::group::Part;
use sanare_engine::service::{Loop, Reported, Symptom};

use super::accounts::{Accounts, Fate};
use super::calm::{Calm, Open};
use super::detectors::{CLIENT, COMMAND, PERSON};
use super::healer::{Pass, locked};
use super::house::{LiveHouse, Memory};
use super::memoir::{Memoir, Now};
use super::operation::write_down;
use super::pulse::Pulse;
use super::queue::Queue;
use super::timed::{Timed, moved};
use crate::wire::steady::Steady;

/// Readings that are stored together (S14).
const TOGETHER: usize = 500;
/// Open incidents that are looked at before the clock is set.
const OPEN: usize = 10_000;
/// Observations that are looked through for versions when it begins.
const LOOKED_THROUGH: usize = 50_000;
/// Readings of one finding that become evidence.
const EVIDENCE: usize = 5;
/// The label by which a person's word is known.
const GOOD: &str = "marked_good";

/// Detection, with everything that it remembers.
pub(super) struct Watch {
    bank: Timed,
    pulse: Pulse,
    memory: Arc<Mutex<Memory>>,
    /// What was found and could not be told yet, because the store failed.
    pending: VecDeque<(Finding, Vec<Observation>)>,
    /// What came of each fingerprint so far (S51).
    histories: BTreeMap<Digest, History>,
    /// What has cleared while it flaps, and is not told as such yet.
    owed: BTreeMap<Digest, Finding>,
    calm: Calm,
    memoir: Memoir,
    settings: Arc<Settings>,
    /// The place among all readings up to which those of other processes were heard.
    heard: u64,
    /// When what is pending was first out of bounds.
    began: BTreeMap<Digest, Moment>,
}

impl Watch {
    pub fn new(settings: Settings, calm: Calm, memory: Arc<Mutex<Memory>>) -> Self {
        let settings = Arc::new(settings);
        Self {
            bank: Timed { bank: Bank::new(Arc::clone(&settings)), set_by: 0 },
            pulse: Pulse::default(),
            memory,
            pending: VecDeque::new(),
            histories: BTreeMap::new(),
            owed: BTreeMap::new(),
            calm,
            memoir: Memoir::default(),
            settings,
            heard: 0,
            began: BTreeMap::new(),
        }
    }

    /// Reads back which versions were live, and which of them persons call good.
    pub fn remember(&mut self, store: &dyn ServiceStore, configuration: &Configuration) -> Result<(), StoreFault> {
        for application in configuration.services.keys() {
            for seen in store.recent(application, LOOKED_THROUGH)? {
                self.note_version(&seen);
            }
        }
        // Detection begins now: what was told before is history.
        (_, self.heard) = store.observed_after(&door(PERSON)?, u64::MAX)?;
        Ok(())
    }

    /// What persons and scripts told the store since, in whichever process.
    fn hear(&mut self, store: &dyn ServiceStore) -> Result<(), StoreFault> {
        let (said, last) = store.observed_after(&door(PERSON)?, self.heard)?;
        let (told, _) = store.observed_after(&door(COMMAND)?, self.heard)?;
        said.iter().for_each(|one| self.note_version(one));
        for one in told.into_iter().filter(|one| one.sequence <= last) {
            let noted = self.bank.observe(&one);
            self.pending.extend(noted.findings.into_iter().map(|finding| (finding, vec![one.clone()])));
            self.note_version(&one);
            locked(&self.memory).accounts.count(&one.application, COMMAND, Fate::Accepted, one.arrival_time);
        }
        self.heard = last;
        Ok(())
    }

    /// One look.
    pub fn pass(&mut self, house: &LiveHouse, queue: &Queue, acting: &Loop<'_>) -> Result<Pass, StoreFault> {
        let clock = &*house.clock;
        let now = Moment::from_millis(clock.now());
        if clock.is_broken() {
            return Err(StoreFault::Unusable("the clock gives no time".to_owned()));
        }
        self.take_up(house, acting)?;
        let mut pass = Pass::default();
        let heard = self.pulse.beat(&house.hands, now);
        for ((application, component), health) in heard.serving {
            locked(&self.memory).serving.insert((application, component), health);
        }
        let mut keeps = !heard.started.is_empty() | self.forget_what_is_asked(&*house.store)?;
        locked(&self.memory).told.extend(heard.told);
        for (application, component) in heard.started {
            self.pending.extend(self.bank.started(&application, &component, now).map(|finding| (finding, Vec::new())));
        }
        // One process writes it down for all of them.
        for (application, told) in heard.registries.iter().filter(|_| self.memoir.is_keeper()) {
            write_down(&*house.store, now.millis(), application, told)
                .inspect_err(|_| self.pulse.starts.forget_registry(application))?;
            keeps = true;
        }
        let mut came = Came::default();
        heard.readings.into_iter().for_each(|(door, draft)| came.let_in(draft, &door, clock));
        pass.stored += self.take(&*house.store, came)?.0;
        self.hear(&*house.store)?;
        loop {
            let drafts = queue.take(TOGETHER);
            let taken = drafts.len();
            let mut came = Came::default();
            drafts.iter().cloned().for_each(|draft| came.let_in(draft, CLIENT, clock));
            match self.take(&*house.store, came) {
                Ok((stored, refused)) => {
                    queue.stored(taken as u64 - refused, refused);
                    pass.stored += stored;
                }
                Err(fault) => {
                    queue.back(drafts);
                    return Err(fault);
                }
            }
            if taken < TOGETHER {
                break;
            }
        }
        self.pending.extend(self.bank.tick(now).into_iter().map(|finding| (finding, Vec::new())));
        self.settle(now);
        let calm = &self.calm;
        self.pending.make_contiguous().sort_by_key(|(finding, _)| !calm.is_cause(finding.kind));
        // What opens or clears is kept before it is told; what only threatens to is found again.
        let tells =
            self.pending.iter().any(|(finding, _)| matches!(finding.change.to, Condition::Firing | Condition::Cleared));
        keeps |= tells || self.memoir.is_due(house);
        if keeps {
            self.keep(house)?;
        }
        self.calm.refresh(&*house.store, now)?;
        self.tell(house, acting, tells, &mut pass)?;
        self.calm.weather(house, acting)?;
        self.calm.look(house, acting)?;
        Ok(pass)
    }

    /// Goes on where detection was, if this process is the one to do so now.
    fn take_up(&mut self, house: &LiveHouse, acting: &Loop<'_>) -> Result<(), StoreFault> {
        let Some(known) = self.memoir.take(house, &self.settings)? else { return Ok(()) };
        if known.went_back {
            locked(&self.memory).jumped = Some(house.clock.elapsed());
            acting.void_approvals(None, "the clock was set back")?;
        }
        (self.bank, self.pending, self.histories, self.owed) = (known.bank, known.pending, known.histories, known.owed);
        self.pulse.starts = known.starts;
        {
            let mut memory = locked(&self.memory);
            memory.weather = known.weather;
            memory.accounts.add(&known.accounts);
        }
        for _ in 0..known.told {
            let Some((finding, _)) = self.pending.pop_front() else { break };
            self.history(&finding, house)?;
            self.memoir.tells(false);
        }
        Ok(())
    }

    /// The detectors as they go on under other settings.
    ///
    /// # Errors
    /// [`Unread`]: never, what is read was written here.
    pub fn under(&self, settings: Settings) -> Result<(Arc<Settings>, Bank), Unread> {
        let settings = Arc::new(settings);
        Bank::load(Arc::clone(&settings), &self.bank.bank.save()).map(|bank| (settings, bank))
    }

    /// Whether this process keeps detection.
    pub fn keeps(&self) -> bool {
        self.memoir.is_keeper()
    }

    /// Goes on under another configuration.
    pub fn change(&mut self, (settings, bank): (Arc<Settings>, Bank), calm: Calm) {
        (self.settings, self.bank.bank, self.calm) = (settings, bank, calm);
    }

    /// Keeps what detection knows.
    fn keep(&mut self, house: &LiveHouse) -> Result<(), StoreFault> {
        let (weather, accounts) = {
            let memory = locked(&self.memory);
            (memory.weather.clone(), memory.accounts.clone())
        };
        let now = Now {
            bank: &self.bank,
            pending: &self.pending,
            histories: &self.histories,
            owed: &self.owed,
            weather: &weather,
            starts: &self.pulse.starts,
            accounts: &accounts,
        };
        self.memoir.keep(house, &now)
    }

    /// Keeps what detection knows and lets another process go on with it.
    pub fn rest(&mut self, house: &LiveHouse) -> Result<(), StoreFault> {
        self.keep(house)?;
        self.memoir.release(&*house.store)
    }

    /// Detects on readings and stores them with what that noted of them; how many are stored, and how many were refused. What
    /// is there already is not detected on again, and a signal too many is not taken (S19, S35).
    fn take(&mut self, store: &dyn ServiceStore, came: Came) -> Result<(u64, u64), StoreFault> {
        let Came { observations, mut counted, mut refused } = came;
        let known = store.known(&observations)?;
        let (mut kept, mut here) = (Vec::with_capacity(observations.len()), BTreeMap::new());
        for (mut one, known) in observations.into_iter().zip(known) {
            let name = (one.application.clone(), one.source.clone(), one.source_id.clone());
            let content = one.content();
            let same = known.or_else(|| here.get(&name).map(|before| *before == content));
            let fate = match same {
                Some(true) => Fate::Duplicate,
                Some(false) => Fate::Refused("conflict"),
                None => {
                    let noted = self.bank.observe(&one);
                    one.flags.extend(noted.flags);
                    self.pending.extend(noted.findings.into_iter().map(|finding| (finding, vec![one.clone()])));
                    if noted.crowded { Fate::Refused("too_many_signals") } else { Fate::Accepted }
                }
            };
            refused += u64::from(matches!(fate, Fate::Refused(_)));
            if fate == Fate::Accepted {
                self.note_version(&one);
                here.insert(name, content);
                kept.push(one);
            } else {
                counted.count(&one.application, one.source.as_str(), fate, one.arrival_time);
            }
        }
        let mut stored = 0;
        if let Some(now) = kept.first().map(|one| one.arrival_time.millis()) {
            let change = Change { now, observations: kept, ..Change::default() };
            let together = match store.commit(&change) {
                Ok(_) => true,
                Err(NotMade::Store(fault)) => return Err(fault),
                Err(_) => false,
            };
            for one in &change.observations {
                // Another process took a sender's id meanwhile: each is stored alone, and that one is not.
                let fate = match together {
                    true => Fate::Accepted,
                    false => {
                        match store.commit(&Change { observations: vec![one.clone()], now, ..Change::default() }) {
                            Ok(_) => Fate::Accepted,
                            Err(NotMade::Store(fault)) => return Err(fault),
                            Err(_) => Fate::Refused("conflict"),
                        }
                    }
                };
                stored += u64::from(fate == Fate::Accepted);
                refused += u64::from(fate != Fate::Accepted);
                counted.count(&one.application, one.source.as_str(), fate, one.arrival_time);
            }
        }
        locked(&self.memory).accounts.add(&counted);
        Ok((stored, refused))
    }

    /// Takes notice of a version that went live, or that a person calls good.
    pub fn note_version(&self, seen: &Observation) {
        let ObservedValue::Deployment { after, .. } = &seen.value else { return };
        let mut memory = locked(&self.memory);
        if seen.source.as_str() == PERSON && seen.labels.get(GOOD).is_some() {
            let mark = Marked { at: seen.event_time, version: after.clone() };
            memory.marks.entry(seen.application.clone()).or_default().push(mark);
        } else {
            let went = WentLive { at: seen.event_time, version: after.clone(), moved_by: MovedBy::Others };
            memory.live.entry(seen.application.clone()).or_default().push(went);
        }
    }

    /// The clock goes on by what the wall tells, so many milliseconds later: detection does not notice, and the limits of
    /// acts are as far away as before. Not while a storm is on, or a step is under way that lasts a time.
    ///
    /// # Errors
    /// [`StoreFault`].
    pub fn follow(&mut self, house: &LiveHouse, steady: &Steady) -> Result<Option<i64>, StoreFault> {
        let store = &*house.store;
        let lasts = |step: StepName| {
            use StepName::{Applied, Approved, Prepared, Undoing, Waiting};
            matches!(step, Waiting | Approved | Prepared | Applied | Undoing)
        };
        let stormy = locked(&self.memory).weather.is_storm();
        if stormy || store.open_incidents(OPEN)?.iter().any(|one| lasts(one.step)) {
            return Ok(None);
        }
        let acts = store.acts(Moment::from_millis(house.clock.now()).minus(DAY))?;
        let by = steady.follow();
        self.bank.set_by = self.bank.set_by.saturating_add(by);
        // One process does it for all of them.
        if self.memoir.is_keeper() && !acts.is_empty() {
            let acts = acts.into_iter().map(|act| PastAct { at: moved(act.at, by), ..act }).collect();
            store.commit(&Change { now: house.clock.now(), acts, ..Change::default() }).map_err(fault)?;
        }
        self.keep(house)?;
        Ok(Some(by))
    }

    /// When the first bad reading of what fires now was true; nothing where this process did not see it.
    fn since(&mut self, finding: &Finding) -> Option<Moment> {
        match (finding.change.from, finding.change.to) {
            (_, Condition::Pending) => {
                self.began.insert(finding.fingerprint.clone(), finding.at());
                None
            }
            (Condition::Pending, Condition::Firing) => self.began.get(&finding.fingerprint).copied(),
            (Condition::Cleared, Condition::Firing) => Some(finding.at()),
            _ => {
                self.began.remove(&finding.fingerprint);
                None
            }
        }
    }

    /// What the history of a fingerprint marks its incident with, and how its condition is told: what flaps stays open
    /// until it was quiet for half an hour (S51).
    fn history(
        &mut self,
        finding: &Finding,
        house: &LiveHouse,
    ) -> Result<(BTreeSet<IncidentFlag>, Condition), StoreFault> {
        let at = self.bank.own(finding.at());
        let history = self.histories.entry(finding.fingerprint.clone()).or_default();
        match finding.change.to {
            Condition::Firing => drop(history.fires(at)),
            Condition::Cleared => {
                let open = house.store.newest_of(&finding.fingerprint)?;
                let healed = open.is_some_and(|one| one.closed_by == Some(ClosedBy::Action));
                history.clears(at, healed);
            }
            Condition::Pending | Condition::Clearing => {}
        }
        history.settles(at);
        let flags: BTreeSet<IncidentFlag> = history.flags(at).into_iter().collect();
        let mut condition = finding.change.to;
        self.owed.remove(&finding.fingerprint);
        if condition == Condition::Cleared && flags.contains(&IncidentFlag::Flapping) {
            condition = Condition::Clearing;
            self.owed.insert(finding.fingerprint.clone(), finding.clone());
        }
        Ok((flags, condition))
    }

    /// What flapped and was quiet for long enough has cleared.
    fn settle(&mut self, now: Moment) {
        let own = self.bank.own(now);
        let settled: Vec<Digest> = self
            .histories
            .iter_mut()
            .filter_map(|(print, history)| history.settles(own).then(|| print.clone()))
            .collect();
        for print in settled {
            let owed = self.owed.remove(&print);
            self.pending.extend(owed.map(|mut finding| {
                finding.change.at = now;
                (finding, Vec::new())
            }));
        }
        self.histories.retain(|_, history| !history.is_over(own));
    }

    /// Tells the loop of what was found, causes before what they may explain. What cannot be told stays.
    fn tell(&mut self, house: &LiveHouse, acting: &Loop<'_>, is_kept: bool, pass: &mut Pass) -> Result<(), StoreFault> {
        if self.pending.is_empty() {
            return Ok(());
        }
        let now = Moment::from_millis(house.clock.now());
        let calm = &self.calm;
        let mut open = Open::read(&*house.store)?;
        calm.forecast(self.pending.iter().map(|(finding, _)| finding), &open, house, acting)?;
        while let Some((finding, readings)) = self.pending.front().cloned() {
            let (mut flags, condition) = self.history(&finding, house)?;
            if self.calm.silences(&finding, now) {
                flags.insert(IncidentFlag::Silenced);
            }
            let inhibited_by = self.calm.cause(&finding, &open);
            let symptom = Symptom { flags, condition, inhibited_by, ..symptom(house, &finding, readings)? };
            let states = self.memoir.tells(is_kept);
            let since = self.since(&finding);
            let reported = acting.report_with(&symptom, since, &states).inspect_err(|_| self.memoir.did_not_tell());
            match reported.map_err(fault)? {
                Reported::Opened(id) | Reported::Reopened(id) => {
                    pass.opened += 1;
                    open.note(&finding, &id, condition);
                }
                Reported::Updated(id) => open.note(&finding, &id, condition),
                Reported::Nothing => {}
            }
            self.pending.pop_front();
        }
        Ok(())
    }
}

fn door(name: &str) -> Result<Source, StoreFault> {
    Source::parse(name).map_err(|invalid| StoreFault::Unusable(invalid.to_string()))
}

pub(super) fn fault(not_made: NotMade) -> StoreFault {
    match not_made {
        NotMade::Store(fault) => fault,
        other => StoreFault::Corrupt(other.to_string()),
    }
}

/// Who depends on whom, by the configuration.
pub(super) fn depends_on(configuration: &Configuration) -> BTreeMap<Part, BTreeSet<Part>> {
    let parts = |application: &Application| {
        let service = configuration.services.get(application);
        let targets = service.map(|service| service.targets.as_slice()).unwrap_or_default();
        let named = targets.iter().map(|target| target.component.clone());
        let all: BTreeSet<Component> = named.chain([Component::default()]).collect();
        all.into_iter().map(|component| (application.clone(), component)).collect::<BTreeSet<Part>>()
    };
    let mut depends_on: BTreeMap<Part, BTreeSet<Part>> = BTreeMap::new();
    for (application, service) in &configuration.services {
        let needed: BTreeSet<Part> = service.depends_on.iter().flat_map(&parts).collect();
        for part in parts(application) {
            // A dependency's probe is configured at the service that needs it.
            depends_on.entry(part.clone()).or_default().extend(needed.iter().cloned().chain(parts(application)));
        }
    }
    depends_on
}

/// What came, before it is stored.
#[derive(Default)]
struct Came {
    observations: Vec<Observation>,
    /// What was refused at the door.
    counted: Accounts,
    refused: u64,
}

impl Came {
    /// Lets a draft in, or counts why not.
    fn let_in(&mut self, draft: Draft, door: &str, clock: &dyn Clock) {
        let (application, unknown_age) = (draft.application.clone(), draft.event_time.is_none());
        let (now, arrival) = (clock.now(), Moment::from_millis(clock.now()));
        let accepted = Source::parse(door).and_then(|source| {
            let id = Id::new("obs", now, clock.chance());
            Observation::accept(draft, Stamp { id, arrival, source, trust: Trust::Own })
        });
        match accepted {
            Ok(mut seen) => {
                if unknown_age {
                    seen.flags.insert(Flag::FreshnessUnknown);
                }
                self.observations.push(seen);
            }
            Err(invalid) => {
                self.refused += 1;
                self.counted.count(&application, door, Fate::Refused(&invalid.field), arrival);
            }
        }
    }
}

/// A finding as the loop wants it, with the readings that show it.
fn symptom(house: &LiveHouse, finding: &Finding, mut readings: Vec<Observation>) -> Result<Symptom, StoreFault> {
    if let Some(signal) = &finding.signal {
        let recent = house.store.recent(&finding.application, 1_000)?;
        let same = recent
            .into_iter()
            .filter(|one| one.signal == *signal && one.component == finding.component && one.labels == finding.labels);
        let mut newest: Vec<Observation> = same.filter(|one| one.event_time <= finding.at()).collect();
        let from = newest.len().saturating_sub(EVIDENCE);
        readings.retain(|one| newest.iter().all(|known| known.id != one.id) && one.signal == *signal);
        readings.extend(newest.drain(from..));
    }
    let rules = house.setup.configuration.services.get(&finding.application);
    let rule = rules.and_then(|service| service.rules.iter().find(|rule| rule.id == finding.rule));
    let labels = rule.map(|rule| rule.distinct.clone()).unwrap_or_default();
    let labels = labels.iter().filter_map(|key| Some((key.clone(), finding.labels.get(key)?.to_owned()))).collect();
    let evidence = readings.into_iter().map(|one| {
        let badness = one.value.number().and_then(|number| rule.map(|rule| badness(rule, number)));
        (one, badness.unwrap_or(1.0))
    });
    Ok(Symptom {
        application: finding.application.clone(),
        component: finding.component.clone(),
        kind: finding.kind,
        about: finding.columns.clone(),
        severity: Some(finding.severity),
        condition: finding.change.to,
        labels,
        evidence: evidence.collect(),
        flags: BTreeSet::new(),
        inhibited_by: None,
    })
}

/// How far out of bounds a number is, in shares of the bound.
fn badness(rule: &RuleSettings, number: f64) -> f64 {
    use sanare_core::service::config::Bound::{Above, Below};
    let (bound, beyond) = match rule.bound {
        Above(bound) => (bound, number - bound),
        Below(bound) => (bound, bound - number),
    };
    (beyond / bound.abs().max(f64::MIN_POSITIVE)).clamp(0.0, 1e6)
}
