//! Quiet by default: what is silenced, explained, grouped, stormy or flapping, at the face (S49 to S52, S54).

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use sanare_core::service::declaration::Written;
use sanare_core::service::port::Intent;
use sanare_core::service::rules::RulesAgent;
use sanare_core::service::run::MessageKind;
use sanare_core::service::silence::{Matcher, Test};
use sanare_core::service::target::{Identity, Mark};
use sanare_core::service::{
    Action, Application, Incident, IncidentFlag, IncidentKind, Message, ServiceStore, Signal, Status,
};
use sanare_effects::service::callback::End;
use sanare_store::{Memory, Sqlite};

use super::super::{Asking, Capability, Healer, Hushed, NotLifted, NotSilenced, Options, Service, Setup, Tools};
use super::{AUTO, Hand};
use crate::wire::person;

/// A fleet of services with two rules each, on a clock that the test moves.
pub(super) struct Fleet {
    _folder: tempfile::TempDir,
    pub clock: Arc<Hand>,
    pub healer: Healer,
    pub services: Vec<Service>,
    /// Times that something was restarted, by service.
    acts: Arc<[AtomicU64]>,
    minute: AtomicU64,
}

const RULES: &str = r#"
[service.NAME]
instances = 3
[[service.NAME.rule]]
id = "errors"
signal = "error_share"
kind = "error_rate_high"
above = 0.1
for = "1m"
keep = "1m"
[[service.NAME.rule]]
id = "slow"
signal = "latency"
kind = "latency_high"
above = 500
for = "1m"
keep = "1m"
[[service.NAME.rule]]
id = "gone"
signal = "gone"
kind = "unreachable"
above = 0
for = "1m"
keep = "1m"
"#;

/// What a service shows in a minute: share of errors, latency, and whether it is gone.
pub(super) type Shown = (f64, f64, f64);
pub(super) const WELL: Shown = (0.01, 100.0, 0.0);
pub(super) const ILL: Shown = (0.5, 100.0, 0.0);

pub(super) fn name(number: usize) -> Application {
    Application::parse(format!("app-{number}")).unwrap()
}

impl Fleet {
    pub fn new(size: usize, more: &str, policy: &str) -> Self {
        Self::on(size, more, policy, |_| Arc::new(Memory::default()))
    }

    fn on(size: usize, more: &str, policy: &str, store: impl Fn(&std::path::Path) -> Arc<dyn ServiceStore>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let services: String = (0..size).map(|number| RULES.replace("NAME", name(number).as_str())).collect();
        let text = format!("[policy]\nfile = \"policy.toml\"\n{services}{more}");
        std::fs::write(folder.path().join("sanare.toml"), text).unwrap();
        std::fs::write(folder.path().join("policy.toml"), policy.replace("ME", &person::current().name)).unwrap();
        let setup = Setup::read(&folder.path().join("sanare.toml")).unwrap();
        let clock = Arc::new(Hand(AtomicU64::new(0)));
        let tools = Tools { store: store(folder.path()), clock: clock.clone(), agent: Arc::new(RulesAgent) };
        let healer = Healer::with(setup, tools).unwrap();
        let services = (0..size).map(|number| healer.service(name(number), Options::default())).collect();
        let acts = (0..size).map(|_| AtomicU64::new(0)).collect();
        Self { _folder: folder, clock, healer, services, acts, minute: AtomicU64::new(0) }
    }

    /// Lends every service a restart.
    pub fn lend(&self) {
        for (number, service) in self.services.iter().enumerate() {
            let acts = Arc::clone(&self.acts);
            let function = move |_: &Intent| {
                acts[number].fetch_add(1, Ordering::SeqCst);
                End::Done
            };
            let acts = Arc::clone(&self.acts);
            let started = move || {
                let started = format!("start {}", acts[number].load(Ordering::SeqCst));
                Some(Identity::default().with(Mark::StartTime, started.as_str()))
            };
            let declared = Written { idempotent: Some(true), ..Written::default() };
            let capability = Capability { declared, probe: Some(Arc::new(Asking::new(started))) };
            service.capability(Action::RestartComponent, Arc::new(function), capability).unwrap();
        }
    }

    /// Minutes pass with two readings each; what a service shows is told by its number and the minute.
    pub fn minutes(&self, minutes: u64, shown: impl Fn(usize, u64) -> Shown) {
        let [errors, latency, gone] = ["error_share", "latency", "gone"].map(|signal| Signal::parse(signal).unwrap());
        for half in 0..minutes * 2 {
            self.clock.0.fetch_add(30_000, Ordering::SeqCst);
            let minute = self.minute.load(Ordering::SeqCst);
            for (number, service) in self.services.iter().enumerate() {
                let (share, millis, away) = shown(number, minute);
                service.observe(&errors, share);
                service.observe(&latency, millis);
                service.observe(&gone, away);
            }
            self.healer.run_once().unwrap();
            self.minute.fetch_add(half % 2, Ordering::SeqCst);
        }
    }

    pub fn acts(&self) -> u64 {
        self.acts.iter().map(|acts| acts.load(Ordering::SeqCst)).sum()
    }

    fn messages(&self) -> Vec<Message> {
        self.healer.store().outbox(1_000).unwrap()
    }

    pub fn told(&self) -> Vec<String> {
        self.messages().iter().map(|one| one.kind.to_string()).collect()
    }

    pub fn incidents(&self) -> Vec<Incident> {
        self.healer.incidents(1_000).unwrap()
    }

    pub fn of(&self, kind: IncidentKind) -> Incident {
        self.incidents().into_iter().find(|one| one.kind == kind).expect("an incident of this kind")
    }

    pub fn steps(&self, incident: &Incident) -> Vec<String> {
        self.healer.store().records_of(&incident.id).unwrap().into_iter().map(|one| one.step).collect()
    }

    fn hush(&self, matcher: &str, value: &str, minutes: u64) -> Result<String, NotSilenced> {
        let asked = Hushed {
            matchers: vec![Matcher::new(matcher, Test::Equals(value.to_owned()))?],
            reason: "new disks".to_owned(),
            length: Some(minutes * 60_000_000),
            ..Hushed::default()
        };
        self.healer.silence(asked).map(|silence| silence.id.to_string())
    }
}

pub(super) const ASKS: &str = "version = 1\nblast = { share = 1.0 }\napprovals = { approvers = [\"ME\"] }\n";

#[test]
fn what_is_silenced_is_recorded_and_begins_afresh_afterwards() {
    let fleet = Fleet::new(2, "", AUTO);
    fleet.lend();
    fleet.hush("application", "app-0", 20).unwrap();
    fleet.minutes(2, |_, _| WELL);
    fleet.minutes(15, |number, _| if number == 0 { ILL } else { WELL });
    let incident = fleet.of(IncidentKind::ErrorRateHigh);
    assert!(incident.is(IncidentFlag::Silenced));
    assert_eq!(fleet.steps(&incident), ["opened", "condition", "condition"][..1], "recorded, and no more");
    assert_eq!((fleet.acts(), fleet.told()), (0, vec![]));
    fleet.minutes(5, |number, _| if number == 0 { ILL } else { WELL });
    let incident = fleet.of(IncidentKind::ErrorRateHigh);
    assert!(!incident.is(IncidentFlag::Silenced));
    assert_eq!(fleet.acts(), 1, "{:?} {:?}", fleet.steps(&incident), fleet.healer.pending_approvals());
    let steps = fleet.steps(&incident);
    let released = steps.iter().position(|step| step == "silenced").unwrap();
    assert!(steps.iter().position(|step| step == "evident").unwrap() > released, "{steps:?}");
}

#[test]
fn a_silence_takes_back_what_was_asked_and_its_end_asks_again() {
    let fleet = Fleet::new(1, "", ASKS);
    fleet.lend();
    fleet.minutes(4, |_, _| ILL);
    assert_eq!(fleet.healer.pending_approvals().unwrap().len(), 1);
    let id = fleet.hush("kind", "error_rate_high", 60).unwrap();
    fleet.minutes(2, |_, _| ILL);
    assert!(fleet.healer.pending_approvals().unwrap().is_empty(), "the question is void");
    assert!(fleet.steps(&fleet.of(IncidentKind::ErrorRateHigh)).contains(&"put_back".to_owned()));
    fleet.healer.end_silence(&id[..12]).unwrap();
    assert!(fleet.healer.silences().unwrap().is_empty());
    fleet.minutes(2, |_, _| ILL);
    assert_eq!(fleet.healer.pending_approvals().unwrap().len(), 1, "what still fires is asked about anew");
    assert_eq!(fleet.acts(), 0);
    let steps = fleet.healer.store().records_of(&sanare_core::id::Id::from_text(&id)).unwrap();
    assert_eq!(steps.iter().map(|one| one.step.as_str()).collect::<Vec<_>>(), ["silence", "silence_ended"]);
    assert!(fleet.healer.verify_ledger().unwrap().is_ok());
}

#[test]
fn silences_of_nothing_and_for_ever_are_refused() {
    let fleet = Fleet::new(1, "", ASKS);
    assert!(matches!(fleet.hush("application", "app-7", 5), Err(NotSilenced::UnknownService(_))));
    assert!(fleet.hush("application", "fleet", 5).is_ok());
    assert!(matches!(fleet.hush("kind", "error_rate_high", 31 * 24 * 60), Err(NotSilenced::Refused(_))));
    assert!(matches!(fleet.hush("kind", "error_rate_high", 0), Err(NotSilenced::Refused(_))));
    assert!(matches!(fleet.hush("kind", "errors", 5), Err(NotSilenced::Refused(_))));
    let all = |all: bool, reason: &str| {
        let asked = Hushed { all, reason: reason.to_owned(), length: Some(60_000_000), ..Hushed::default() };
        fleet.healer.silence(asked).is_ok()
    };
    assert!(!all(false, "new disks") && !all(true, "why ") && all(true, "new disks"));
    assert!(matches!(fleet.healer.end_silence("sil_nothing"), Err(NotSilenced::NotFound(_))));
}

#[test]
fn in_a_window_of_maintenance_nothing_is_begun() {
    // The clock begins on Thursday 1 January 2026 at 00:00 UTC, 01:00 in Brussels.
    let window = "[[maintenance]]\nmatch = { application = \"app-0\" }\ndays = [\"Wed\"]\nfrom = \"22:00\"\n\
        to = \"01:10\"\nzone = \"Europe/Brussels\"\n";
    let fleet = Fleet::new(2, window, AUTO);
    fleet.lend();
    fleet.minutes(9, |_, _| ILL);
    let acts = |number: usize| fleet.acts[number].load(Ordering::SeqCst);
    assert_eq!((acts(0), acts(1)), (0, 1));
    let began = |number: usize| {
        let incident = fleet.incidents().into_iter().find(|one| one.application == name(number)).unwrap();
        fleet.steps(&incident).contains(&"evident".to_owned())
    };
    assert!(!began(0) && began(1));
    fleet.minutes(4, |_, _| ILL);
    assert!(began(0), "the window is over");
    let wrong = window.replace("Europe/Brussels", "Europe/Nowhere");
    let file = fleet.healer.setup().file.with_file_name("other.toml");
    std::fs::write(&file, format!("[service.app-0]\n{wrong}")).unwrap();
    let setup = Setup::read(&file).unwrap();
    let said = super::super::checked(&setup).unwrap_err();
    assert!(said[0].to_string().contains("other.toml:2: `maintenance.zone`"), "{}", said[0]);
}

#[test]
fn what_is_explained_does_not_run_until_its_cause_has_cleared() {
    let fleet = Fleet::new(1, "", AUTO);
    // The symptom first: it is put back when its cause comes.
    fleet.minutes(3, |_, _| (0.01, 900.0, 0.0));
    fleet.minutes(4, |_, _| (0.01, 900.0, 1.0));
    let (cause, symptom) = (fleet.of(IncidentKind::Unreachable), fleet.of(IncidentKind::LatencyHigh));
    assert_eq!(symptom.status(), Status::HandedOver, "without a hand it was a person's before");
    assert_eq!(cause.inhibited_by, None);

    let fleet = Fleet::new(1, "", AUTO);
    fleet.minutes(4, |_, _| (0.01, 100.0, 1.0));
    fleet.minutes(4, |_, _| (0.01, 900.0, 1.0));
    let (cause, symptom) = (fleet.of(IncidentKind::Unreachable), fleet.of(IncidentKind::LatencyHigh));
    assert_eq!(symptom.inhibited_by.as_ref(), Some(&cause.id));
    assert_eq!(fleet.steps(&symptom), ["opened"]);
    fleet.minutes(4, |_, _| (0.01, 900.0, 0.0));
    let symptom = fleet.of(IncidentKind::LatencyHigh);
    assert_eq!(symptom.inhibited_by, None);
    assert!(fleet.steps(&symptom).contains(&"evident".to_owned()), "{:?}", fleet.steps(&symptom));

    let own = "[[inhibit]]\ncause = \"error_rate_high\"\nsymptoms = [\"latency_high\"]\n";
    let fleet = Fleet::new(1, own, AUTO);
    fleet.minutes(4, |_, _| (0.5, 900.0, 0.0));
    assert!(fleet.of(IncidentKind::LatencyHigh).inhibited_by.is_some(), "by the owner's own rule");
    let circle = "[[inhibit]]\ncause = \"latency_high\"\nsymptoms = [\"unreachable\"]\n";
    let file = fleet.healer.setup().file.with_file_name("other.toml");
    std::fs::write(&file, format!("[service.app-0]\n{circle}")).unwrap();
    let said = super::super::checked(&Setup::read(&file).unwrap()).unwrap_err();
    assert!(said[0].to_string().contains("`inhibit.inhibit`"), "{}", said[0]);
}

#[test]
fn one_story_is_handed_over_once() {
    let fleet = Fleet::new(1, "", AUTO);
    fleet.minutes(6, |_, _| (0.5, 900.0, 0.0));
    let incidents = fleet.incidents();
    assert_eq!(incidents.len(), 2);
    assert!(incidents.iter().all(|one| one.group == incidents[1].group && one.group.is_some()), "{incidents:?}");
    assert!(incidents.iter().all(|one| one.status() == Status::HandedOver));
    assert_eq!(fleet.told(), ["escalation"]);
    // An hour later it is another story, and told.
    let fleet = Fleet::new(1, "", AUTO);
    fleet.minutes(10, |_, _| (0.5, 100.0, 0.0));
    fleet.minutes(60, |_, _| (0.5, 900.0, 0.0));
    assert_eq!(fleet.told(), ["escalation", "escalation"]);
}

/// A hundred services fail at once.
fn a_hundred_at_once(fleet: &Fleet) {
    fleet.lend();
    fleet.minutes(3, |_, _| WELL);
    fleet.minutes(12, |_, _| ILL);
    assert_eq!(fleet.acts(), 0, "nobody acts in a storm");
    assert_eq!(fleet.told(), ["escalation"], "one message, not a hundred");
    let message = &fleet.messages()[0];
    let storm = fleet.of(IncidentKind::Storm);
    assert_eq!((message.kind, &message.incident), (MessageKind::Escalation, &storm.id));
    let said = storm.summary.to_string();
    assert!(said.contains("of 100 services fell ill within 10 minutes: app-0, app-1"), "{said}");
    assert!(fleet.healer.pending_approvals().unwrap().is_empty());
    let held = fleet.incidents().into_iter().filter(|one| one.kind != IncidentKind::Storm).collect::<Vec<_>>();
    assert_eq!(held.len(), 100);
    assert!(held.iter().all(|one| one.group.as_ref() == Some(&storm.id)));
    assert!(held.iter().all(|one| fleet.steps(one) == ["opened", "grouped"]), "{:?}", fleet.steps(&held[0]));
}

#[test]
fn a_hundred_that_fail_at_once_are_one_message_and_no_act() {
    let fleet = Fleet::new(100, "", AUTO);
    a_hundred_at_once(&fleet);
    // Lifted for one, that one goes on.
    assert!(fleet.healer.lift_storm(Some(&Application::parse("app-200").unwrap())).is_err());
    let storm = fleet.healer.lift_storm(Some(&name(7))).unwrap();
    fleet.minutes(2, |number, _| if number == 7 { WELL } else { ILL });
    let acts: Vec<u64> = fleet.acts.iter().map(|acts| acts.load(Ordering::SeqCst)).collect();
    assert_eq!((acts[7], fleet.acts()), (1, 1));
    let lifted: Vec<String> =
        fleet.healer.store().records_of(&storm).unwrap().into_iter().map(|one| one.step).collect();
    assert!(lifted.contains(&"storm_lifted".to_owned()), "{lifted:?}");
    // Twenty minutes later all are well, and it is over.
    fleet.minutes(25, |_, _| WELL);
    assert_eq!(fleet.of(IncidentKind::Storm).status(), Status::Closed);
    assert!(matches!(fleet.healer.lift_storm(None), Err(NotLifted::NoStorm)));
    assert_eq!(fleet.acts(), 1);
    assert_eq!(fleet.told(), ["escalation", "healed"]);
}

#[test]
fn a_hundred_that_fail_at_once_on_disk() {
    let fleet = Fleet::on(100, "", AUTO, |folder| Arc::new(Sqlite::open(&folder.join(".sanare/store.db")).unwrap()));
    a_hundred_at_once(&fleet);
}

#[test]
fn small_fleets_have_no_storms_and_a_silenced_one_makes_none() {
    for size in 1..=3 {
        let fleet = Fleet::new(size, "", AUTO);
        fleet.lend();
        fleet.minutes(4, |_, _| ILL);
        assert!(fleet.incidents().iter().all(|one| one.kind != IncidentKind::Storm), "a fleet of {size}");
        assert!(fleet.acts() > 0, "a fleet of {size}");
    }
    let fleet = Fleet::new(10, "", AUTO);
    let asked =
        Hushed { all: true, reason: "moving house".to_owned(), length: Some(3_600_000_000), ..Hushed::default() };
    fleet.healer.silence(asked).unwrap();
    fleet.minutes(6, |_, _| ILL);
    assert!(fleet.told().is_empty() && fleet.acts() == 0);
    assert!(fleet.incidents().iter().all(|one| one.kind != IncidentKind::Storm));
}

#[test]
fn ill_every_five_minutes_for_a_day() {
    let fleet = Fleet::new(1, "", AUTO);
    fleet.lend();
    fleet.minutes(24 * 60, |_, minute| if minute % 5 < 2 { ILL } else { WELL });
    let told: BTreeMap<String, usize> = fleet.told().into_iter().fold(BTreeMap::new(), |mut all, kind| {
        *all.entry(kind).or_default() += 1;
        all
    });
    assert!(fleet.acts() <= 3, "{} acts", fleet.acts());
    assert_eq!(told, BTreeMap::from([("escalation".to_owned(), 1)]), "one message, and no more");
    let said = fleet.messages()[0].body.clone().into_inner().to_string();
    assert!(said.contains("it heals and falls ill again"), "{said}");
    let incident = fleet.of(IncidentKind::ErrorRateHigh);
    assert!(incident.is(IncidentFlag::Flapping));
    assert_eq!(fleet.incidents().len(), 1);
    // Half an hour without a change, and it has cleared.
    fleet.minutes(35, |_, _| WELL);
    assert_eq!(fleet.of(IncidentKind::ErrorRateHigh).status(), Status::Closed);
}

/// A number from 0 to 1 that looks like chance and is the same each time.
fn noise(seed: u64) -> f64 {
    let mixed = (seed ^ (seed >> 31)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    ((mixed ^ (mixed >> 29)).wrapping_mul(0xBF58_476D_1CE4_E5B9) >> 40) as f64 / 16_777_216.0
}

/// Seven normal days (S54, S147): the load comes and goes, single readings are far out, some are missing, versions go live,
/// the process starts anew. Nobody is told, nothing is done.
fn seven_normal_days(fleet: &Fleet) {
    fleet.lend();
    let [errors, latency, gone] = ["error_share", "latency", "gone"].map(|signal| Signal::parse(signal).unwrap());
    for minute in 0..7 * 24 * 60_u64 {
        fleet.clock.0.fetch_add(60_000, Ordering::SeqCst);
        for (number, service) in fleet.services.iter().enumerate() {
            let seed = minute * 16 + number as u64 * 4;
            let day = ((minute % 1_440) as f64 / 1_440.0 * std::f64::consts::TAU).sin();
            // Of the minute before: what is missing or far out is so for one reading.
            let before = |share: f64, what: u64| minute > 0 && noise(seed + what - 16) < share;
            if noise(seed) < 0.02 && !before(0.02, 0) {
                continue;
            }
            let odd = noise(seed + 1) < 1.0 / 300.0 && !before(1.0 / 300.0, 1) && !before(0.02, 0);
            service.observe(&errors, if odd { 0.4 } else { 0.02 + 0.01 * day + 0.02 * noise(seed + 2) });
            service.observe(&latency, if odd { 2_000.0 } else { 200.0 + 100.0 * day + 80.0 * noise(seed + 3) });
            service.observe(&gone, 0.0);
            if minute % 1_440 == 600 {
                let version = sanare_core::service::Version::parse(format!("{}", minute / 1_440)).unwrap();
                service.deployed(None, version).unwrap();
            }
        }
        fleet.healer.run_once().unwrap();
        if minute % 1_440 == 700 {
            fleet.healer.rest().unwrap();
        }
    }
    assert_eq!((fleet.acts(), fleet.told(), fleet.incidents().len()), (0, vec![], 0));
    // The same services are not deaf.
    fleet.minutes(4, |number, _| if number == 1 { ILL } else { WELL });
    assert_eq!((fleet.acts(), fleet.incidents().len()), (1, 1));
}

#[test]
fn seven_normal_days_in_memory() {
    seven_normal_days(&Fleet::new(3, "", AUTO));
}

#[test]
fn seven_normal_days_on_disk() {
    let store = |folder: &std::path::Path| -> Arc<dyn ServiceStore> {
        Arc::new(Sqlite::open(&folder.join(".sanare/store.db")).unwrap())
    };
    seven_normal_days(&Fleet::on(3, "", AUTO, store));
}
