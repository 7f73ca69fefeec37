//! Detection goes on where it was, wherever the process dies (S19, S36).

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use sanare_core::service::rules::RulesAgent;
use sanare_core::service::{Application, Moment, ObservedValue, ServiceStore, Signal};
use sanare_store::{Memory, Sqlite};

use super::super::{Healer, More, Options, Setup, Tools};
use super::Hand;
use super::dying::Dying;

const CONFIGURATION: &str = r#"
[service.fraud]
watch = ["beat"]
[[service.fraud.rule]]
id = "errors"
signal = "error_share"
kind = "error_rate_high"
above = 0.1
for = "30s"
keep = "30s"
[[service.fraud.rule]]
id = "slow"
signal = "latency"
kind = "latency_high"
above = 500
for = "1m"
keep = "30s"
"#;

fn fraud() -> Application {
    Application::parse("fraud").unwrap()
}

fn setup(folder: &Path) -> Setup {
    std::fs::write(folder.join("sanare.toml"), CONFIGURATION).unwrap();
    Setup::read(&folder.join("sanare.toml")).unwrap()
}

/// A history of ten minutes: errors twice, slowness once, and a beat that stays away from the seventh minute on.
const SECONDS: u64 = 600;
const STEP: u64 = 5;

fn shown(second: u64) -> (f64, f64, bool) {
    let bad = (60..150).contains(&second) || (300..420).contains(&second);
    let slow = (100..260).contains(&second);
    (if bad { 0.5 } else { 0.01 }, if slow { 900.0 } else { 100.0 }, second < 420)
}

/// Readings of `from..to`, as one process that dies takes them; the second at which the store died.
fn live(
    setup: &Setup,
    store: Arc<dyn ServiceStore>,
    clock: &Arc<Hand>,
    from: u64,
    to: u64,
    dead: impl Fn() -> bool,
) -> u64 {
    let tools = Tools { store, clock: clock.clone(), agent: Arc::new(RulesAgent) };
    let healer = Healer::with(setup.clone(), tools).unwrap();
    let service = healer.service(fraud(), Options::default());
    let [errors, latency, beat] = ["error_share", "latency", "beat"].map(|signal| Signal::parse(signal).unwrap());
    for second in (from..to).step_by(STEP as usize) {
        clock.0.store(second * 1_000, Ordering::SeqCst);
        let (share, millis, beats) = shown(second);
        service.observe(&errors, share);
        service.observe(&latency, millis);
        if beats {
            service.observe(&beat, 1.0);
        }
        drop(healer.run_once());
        if dead() {
            return second + STEP;
        }
    }
    to
}

/// What came of it: incidents with their openings and how they stand, and what was told.
fn outcome(store: &dyn ServiceStore) -> Vec<String> {
    let mut all: Vec<String> = store
        .newest_incidents(1_000)
        .unwrap()
        .iter()
        .map(|one| {
            let records = store.records_of(&one.id).unwrap();
            let openings =
                records.iter().filter(|record| matches!(record.step.as_str(), "opened" | "reopened")).count();
            format!("{} {} {} opened {openings}", one.kind, one.condition, one.status())
        })
        .collect();
    all.extend(store.outbox(1_000).unwrap().iter().map(|one| format!("told {}", one.kind)));
    all.sort();
    all
}

fn undisturbed(setup: &Setup) -> Vec<String> {
    let (store, clock) = (Arc::new(Memory::default()), Arc::new(Hand(AtomicU64::new(0))));
    live(setup, store.clone(), &clock, 0, SECONDS, || false);
    outcome(&*store)
}

#[test]
fn nothing_is_found_twice_or_lost_whatever_write_is_the_last() {
    let folder = tempfile::tempdir().unwrap();
    let setup = setup(folder.path());
    let expected = undisturbed(&setup);
    assert!(expected.iter().any(|one| one.starts_with("error_rate_high cleared")), "{expected:?}");
    assert!(expected.iter().any(|one| one.starts_with("signal_missing firing")), "{expected:?}");
    let mut deaths = 0;
    // Every third write in an ordinary build; all of them where there is time.
    let every = std::env::var("QUIET_EVERY_WRITE").map_or(3, |_| 1);
    for after in [false, true] {
        for last in (1..).step_by(every) {
            let (inner, clock) = (Arc::new(Memory::default()), Arc::new(Hand(AtomicU64::new(0))));
            let dying = Arc::new(Dying::new(inner.clone(), last, after));
            let died = live(&setup, dying.clone(), &clock, 0, SECONDS, || dying.is_dead());
            if !dying.is_dead() {
                break;
            }
            deaths += 1;
            live(&setup, inner.clone(), &clock, died, SECONDS, || false);
            // Who dies near the end has nobody who takes over in time.
            clock.0.store((SECONDS + 60) * 1_000, Ordering::SeqCst);
            live(&setup, inner.clone(), &clock, SECONDS + 20, SECONDS + 40, || false);
            assert_eq!(outcome(&*inner), expected, "dead at write {last}, after it: {after}, second {died}");
        }
    }
    assert!(deaths > 80, "{deaths}");
}

/// A process that stood still finds in one look that something fell ill and was well again, and dies at any write of it.
#[test]
fn what_came_and_went_within_one_look_is_told_once() {
    let folder = tempfile::tempdir().unwrap();
    let setup = setup(folder.path());
    let errors = Signal::parse("error_share").unwrap();
    let made = |store: Arc<dyn ServiceStore>, clock: &Arc<Hand>| {
        let tools = Tools { store, clock: clock.clone(), agent: Arc::new(RulesAgent) };
        let healer = Healer::with(setup.clone(), tools).unwrap();
        let service = healer.service(fraud(), Options::default());
        (healer, service)
    };
    let (mut ends, mut found) = (0, 0);
    for after in [false, true] {
        for last in 1.. {
            let (inner, clock) = (Arc::new(Memory::default()), Arc::new(Hand(AtomicU64::new(0))));
            live(&setup, inner.clone(), &clock, 0, 30, || false);
            clock.0.store(60_000, Ordering::SeqCst);
            let dying = Arc::new(Dying::new(inner.clone(), last, after));
            let (healer, service) = made(dying.clone(), &clock);
            for second in (185..300).step_by(5) {
                clock.0.store(second * 1_000, Ordering::SeqCst);
                let at = Moment::from_millis(1_767_225_600_000 + second * 1_000);
                let share = if (195..240).contains(&second) { 0.5 } else { 0.01 };
                service.report(&errors, ObservedValue::metric(share), More { at: Some(at), ..More::default() });
            }
            drop(healer.run_once());
            let died = dying.is_dead();
            let (healer, service) = made(inner.clone(), &clock);
            for second in (320..360).step_by(10) {
                clock.0.store(second * 1_000, Ordering::SeqCst);
                service.observe(&errors, 0.01);
                healer.run_once().unwrap();
            }
            let stored = inner.recent(&fraud(), 1_000).unwrap().iter().any(|one| one.value.number() == Some(0.5));
            let of: Vec<String> = outcome(&*inner).into_iter().filter(|one| one.starts_with("error")).collect();
            let expected = if stored { vec!["error_rate_high cleared closed opened 1".to_owned()] } else { Vec::new() };
            assert_eq!(of, expected, "dead at write {last}, after it: {after}");
            found += usize::from(stored);
            if !died {
                break;
            }
            ends += 1;
        }
    }
    assert!(ends > 8 && found > 6, "{ends} {found}");
}

#[test]
fn restarts_on_disk_find_what_one_process_finds() {
    let folder = tempfile::tempdir().unwrap();
    let setup = setup(folder.path());
    let path = folder.path().join(".sanare/store.db");
    let clock = Arc::new(Hand(AtomicU64::new(0)));
    for from in (0..SECONDS).step_by(30) {
        let store: Arc<dyn ServiceStore> = Arc::new(Sqlite::open(&path).unwrap());
        live(&setup, store, &clock, from, from + 30, || false);
    }
    let store = Sqlite::open(&path).unwrap();
    assert_eq!(outcome(&store), undisturbed(&setup));
    assert!(store.verify_chain().unwrap().is_ok());
    assert!(!store.states("detection/bank/").unwrap().is_empty());
}

#[test]
fn a_replay_finds_what_was_found_and_finds_it_again() {
    let folder = tempfile::tempdir().unwrap();
    let setup = setup(folder.path());
    let (store, clock) = (Arc::new(Memory::default()), Arc::new(Hand(AtomicU64::new(0))));
    live(&setup, store.clone(), &clock, 0, SECONDS, || false);
    let replayed = setup.replay_detection_in(&*store, None, None).unwrap();
    let found: Vec<String> =
        replayed.opened.iter().map(|one| format!("{} {}", one.kind, one.cleared.is_some())).collect();
    assert_eq!(found, ["error_rate_high true", "latency_high true", "error_rate_high true", "signal_missing false"]);
    assert_eq!(setup.replay_detection_in(&*store, None, None).unwrap(), replayed);
    let mut live: Vec<_> = store.newest_incidents(100).unwrap().into_iter().map(|one| one.kind).collect();
    live.dedup();
    for kind in live {
        assert!(replayed.opened.iter().any(|one| one.kind == kind), "{kind}");
    }
    // Other settings over the same history.
    let strict = CONFIGURATION.replace("above = 0.1", "above = 0.001");
    std::fs::write(folder.path().join("strict.toml"), strict).unwrap();
    let strict = Setup::read(&folder.path().join("strict.toml")).unwrap();
    let found = strict.replay_detection_in(&*store, Some(&fraud()), None).unwrap();
    assert_eq!(found.opened.iter().filter(|one| one.rule == "errors").count(), 1, "never within");
    let late = Moment::from_millis(1_767_225_600_000 + 560_000);
    assert!(setup.replay_detection_in(&*store, None, Some(late)).unwrap().opened.is_empty());
    assert!(setup.replay_detection_in(&*store, Some(&Application::parse("frod").unwrap()), None).is_err());
    assert!(setup.replay_detection(None, None).is_err(), "nothing was recorded there");
}
