//! What comes in is counted, bounded, fed once, and what comes at the wrong time decides nothing (S19, S31, S35).

use sanare_core::service::moment::{DAY, HOUR, MINUTE, SECOND};
use sanare_core::service::value::Quality;
use sanare_core::service::{Flag, Health, IncidentKind, Moment, ObservedValue, Signal};

use super::super::{Account, More};
use super::{ASKS, AUTO, CONFIGURATION, Plant, fraud};

fn account(plant: &Plant) -> Account {
    let mine = plant.healer.intake().unwrap().into_iter().find(|one| one.source == "client").unwrap();
    assert_eq!(mine.application, "fraud");
    let refused: u64 = mine.account.refused.values().sum();
    assert_eq!(mine.account.received, mine.account.accepted + mine.account.duplicate + refused, "it adds up");
    mine.account
}

fn reading(plant: &Plant, value: f64, at: u64, id: &str) {
    let signal = Signal::parse("error_share").unwrap();
    let more = More { at: Some(Moment::from_micros(at)), id: Some(id.to_owned()), ..More::default() };
    plant.service.report(&signal, ObservedValue::metric(value), more);
}

#[test]
fn each_reading_is_stored_once_fed_once_and_counted() {
    let plant = Plant::new(CONFIGURATION, ASKS);
    let now = || plant.clock.now_micros();
    let at = now();
    for _ in 0..2 {
        reading(&plant, 0.5, at, "a");
        reading(&plant, 0.5, at, "a");
        reading(&plant, 0.9, at, "a");
        reading(&plant, 0.5, at + 3 * DAY, "b");
        reading(&plant, 0.5, at, &"x".repeat(129));
        plant.healer.run_once().unwrap();
    }
    let account = account(&plant);
    assert_eq!((account.received, account.accepted, account.duplicate), (10, 1, 3));
    let refused: Vec<(&str, u64)> = account.refused.iter().map(|(reason, count)| (reason.as_str(), *count)).collect();
    assert_eq!(refused, [("conflict", 2), ("event_time", 2), ("source_id", 2)]);
    assert_eq!(account.last, Some(Moment::from_micros(now())));
    let stats = plant.service.stats();
    assert_eq!((stats.sent, stats.refused, stats.queued, stats.dropped), (4, 6, 0, 0));
    assert_eq!(plant.healer.store().recent(&fraud(), 10).unwrap().len(), 1);
    // Another id that says later what this one said before is no reading that detection would see.
    reading(&plant, 0.5, at + 40 * SECOND, "a");
    plant.minutes(1);
    assert!(plant.healer.incidents(5).unwrap().is_empty());
    plant.healer.rest().unwrap();
    assert_eq!(super::account_kept(&plant), plant.healer.intake().unwrap(), "and it outlives the process");
}

#[test]
fn fresh_names_are_refused_and_counted_and_old_ones_go_on() {
    let plant = Plant::new(CONFIGURATION, AUTO);
    plant.minutes(1);
    let before = account(&plant);
    let mut number = 0_u64;
    for _ in 0..60 {
        plant.clock.0.fetch_add(1_000, std::sync::atomic::Ordering::SeqCst);
        for _ in 0..10 {
            for _ in 0..1_000 {
                plant.service.observe(&Signal::parse(format!("fresh_{number}")).unwrap(), 1.0);
                number += 1;
            }
            plant.healer.watch_once().unwrap();
        }
    }
    let after = account(&plant);
    assert_eq!(after.received - before.received, 600_000);
    assert_eq!(after.accepted - before.accepted, 1_999, "2,000 with the one that was there");
    assert_eq!(after.refused.get("too_many_signals"), Some(&(600_000 - 1_999)));
    // What was there before is watched as ever.
    *plant.served.lock().unwrap() = "2".to_owned();
    plant.minutes(2);
    assert_eq!(plant.only_incident().kind.word(), "error_rate_high");
}

#[test]
fn what_comes_at_the_wrong_time_decides_nothing_and_says_so() {
    // Each: how much later or earlier than now, the flag that it is stored with, or that it is refused.
    let cases: [(i64, Option<Flag>, bool); 4] = [
        (-(HOUR as i64), Some(Flag::Late), true),
        (-(25 * HOUR as i64), Some(Flag::Backfill), true),
        (10 * MINUTE as i64, Some(Flag::Future), true),
        (2 * DAY as i64, None, false),
    ];
    for (by, flag, is_stored) in cases {
        // Ill: good readings close nothing. Well: bad ones open nothing.
        for ill in [true, false] {
            let plant = Plant::new(CONFIGURATION, ASKS);
            plant.minutes(2);
            *plant.served.lock().unwrap() = if ill { "2" } else { "1" }.to_owned();
            plant.minutes(2);
            let opened = plant.healer.incidents(5).unwrap().len();
            assert_eq!(opened, usize::from(ill));
            for number in 0..40_u64 {
                let at = plant.clock.now_micros().saturating_add_signed(by) + number * 5 * SECOND;
                reading(&plant, if ill { 0.0 } else { 0.9 }, at, &format!("odd {number}"));
            }
            plant.healer.run_once().unwrap();
            plant.minutes(1);
            let incidents = plant.healer.incidents(5).unwrap();
            assert_eq!(incidents.len(), opened, "{by}");
            assert!(incidents.iter().all(|one| one.condition.word() == "firing"), "{by}: {incidents:?}");
            let stored = plant.healer.store().recent(&fraud(), 1_000).unwrap();
            let odd: Vec<_> = stored.iter().filter(|one| one.source_id.starts_with("odd")).collect();
            assert_eq!(odd.len(), if is_stored { 40 } else { 0 }, "{by}");
            let flagged = |one: &&sanare_core::service::Observation| {
                flag.is_some_and(|flag| one.flags.contains(&flag)) && !one.proves_freshness()
            };
            assert!(odd.iter().all(flagged), "{by}: {odd:?}");
            let refused = account(&plant).refused;
            assert_eq!(refused.get("event_time").copied(), (!is_stored).then_some(40), "{by}: {refused:?}");
        }
    }
}

/// What a service says of itself, or how good it predicts, at the wrong time: it opens nothing and clears nothing either.
#[test]
fn answers_and_qualities_at_the_wrong_time_decide_nothing() {
    const QUALITY: &str =
        "[service.fraud]\ninstances = 3\n[[service.fraud.quality]]\nid = \"auc\"\nsignal = \"auc\"\nbelow = 0.8\n";
    let health = |good: bool, _: u64| {
        let status = if good { Health::Pass } else { Health::Fail };
        ObservedValue::Health { status, detail: None }
    };
    let quality = |good: bool, at: u64| {
        let (from, to) = (Moment::from_micros(at - HOUR), Moment::from_micros(at));
        let value = if good { 0.9 } else { 0.6 };
        let (half, positives, deviation) = (Some(0.02), None, None);
        ObservedValue::PredictionQuality(Quality { value, samples: 900, from, to, half, positives, deviation })
    };
    let kinds: [(&str, &dyn Fn(bool, u64) -> ObservedValue, IncidentKind); 2] =
        [("database", &health, IncidentKind::HalfAlive), ("auc", &quality, IncidentKind::QualityLow)];
    for (name, value, kind) in kinds {
        for by in [-(HOUR as i64), -(25 * HOUR as i64), 10 * MINUTE as i64, 2 * DAY as i64] {
            for ill in [true, false] {
                let plant = Plant::new(QUALITY, ASKS);
                let signal = Signal::parse(name).unwrap();
                let tell = |good: bool, by: i64, id: String| {
                    let at = plant.clock.now_micros().saturating_add_signed(by);
                    let more = More { at: Some(Moment::from_micros(at)), id: Some(id), ..More::default() };
                    plant.service.report(&signal, value(good, at), more);
                };
                let turn = |good: bool, by: i64, what: &str, number: u64| {
                    plant.clock.0.fetch_add(5_000, std::sync::atomic::Ordering::SeqCst);
                    tell(good, by, format!("{what} {number}"));
                    plant.healer.run_once().unwrap();
                };
                let told = || {
                    let all = plant.healer.incidents(5).unwrap();
                    all.iter().map(|one| format!("{} {}", one.kind, one.condition)).collect::<Vec<_>>()
                };
                (0..6).for_each(|number| turn(!ill, 0, "now", number));
                let before = told();
                assert_eq!(before, if ill { vec![format!("{kind} firing")] } else { Vec::new() }, "{name} {by}");
                (0..6).for_each(|number| turn(ill, by, "odd", number));
                assert_eq!(told(), before, "{name} {by} ill {ill}");
                // What is true now does decide.
                (0..6).for_each(|number| turn(ill, 0, "then", number));
                assert_eq!(told(), [format!("{kind} {}", if ill { "cleared" } else { "firing" })], "{name} {by}");
            }
        }
    }
}
