//! Streams through the whole bank.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use proptest::prelude::*;
use sanare_core::id::Id;
use sanare_core::service::config::{Aggregate, Bound, RuleSettings};
use sanare_core::service::moment::{DAY, HOUR, MINUTE, SECOND};
use sanare_core::service::{
    Application, Component, Flag, Health, IncidentKind, Labels, Moment, Observation, ObservedValue, Severity, Signal,
    Source, Trust,
};

use super::{Bank, BudgetRule, Finding, HealthSign, Settings, Unread, replay};
use crate::budget::{Budget, Form};
use crate::health::Sign;
use crate::order::Order;
use crate::presence::Expect;
use crate::threshold::Rule;
use crate::threshold::tests::draft;

mod whole;

const START: u64 = 20_000 * DAY;

fn app() -> Application {
    Application::parse("fraud").expect("a name")
}

fn signal(name: &str) -> Signal {
    Signal::parse(name).expect("a name")
}

/// An observation of a second, that arrives so many seconds later.
fn seen(name: &str, value: ObservedValue, second: i64, delay: u64) -> Observation {
    let event = START.checked_add_signed(second * SECOND as i64).expect("a time");
    Observation {
        id: Id::new("obs", 1, 1),
        sequence: 0,
        application: app(),
        component: Component::default(),
        signal: signal(name),
        value,
        unit: None,
        event_time: Moment::from_micros(event),
        arrival_time: Moment::from_micros(event + delay * SECOND),
        source: Source::parse("client").expect("a name"),
        source_id: "x".to_owned(),
        labels: Labels::default(),
        trust: Trust::Own,
        flags: BTreeSet::new(),
    }
}

fn metric(name: &str, value: f64, second: i64) -> Observation {
    seen(name, ObservedValue::metric(value), second, 0)
}

fn with(mut observation: Observation, key: &str, value: &str) -> Observation {
    observation.labels = Labels::new(BTreeMap::from([(key.to_owned(), value.to_owned())])).expect("labels");
    observation
}

fn rule(id: &str, name: &str, bound: Bound, kind: IncidentKind) -> (Application, Rule) {
    let draft = RuleSettings { id: id.to_owned(), signal: signal(name), kind, keep: Some(MINUTE), ..draft(bound) };
    (app(), Rule::new(draft).expect("a rule"))
}

/// A latency rule, an error budget, a rate; everything pulled in order but what comes from `client`.
fn settings() -> Settings {
    Settings {
        rules: vec![
            rule("p99", "p99", Bound::Above(500.0), IncidentKind::LatencyHigh),
            rule("rate", "rate", Bound::Below(20.0), IncidentKind::ThroughputCollapse),
        ],
        budgets: vec![BudgetRule {
            id: "slo".to_owned(),
            application: app(),
            bad: signal("errors"),
            all: signal("requests"),
            budget: Budget::new(0.999, Form::Counter).expect("a budget"),
        }],
        expects: BTreeMap::from([(signal("p99"), Expect { every: Some(10 * SECOND), ..Expect::default() })]),
        ..Settings::default()
    }
}

fn at_once(settings: Settings) -> Settings {
    Settings { orders: BTreeMap::from([(Source::parse("client").expect("a name"), Order { lag: 0 })]), ..settings }
}

fn told(findings: &[Finding]) -> Vec<String> {
    let tell = |finding: &Finding| {
        let second = finding.at().micros().saturating_sub(START) / SECOND;
        format!("{second} {} {}", finding.kind, finding.change.to)
    };
    findings.iter().map(tell).collect()
}

/// Everything in order of arrival, then two hours of nothing.
fn run(settings: Settings, mut observations: Vec<Observation>) -> Vec<String> {
    observations.sort_by_key(|observation| observation.arrival_time);
    let last = observations.last().map_or(Moment::from_micros(START), |last| last.arrival_time);
    let mut replayed = replay(Arc::new(settings), observations);
    for minute in 1..=120 {
        replayed.findings.extend(replayed.bank.tick(last.plus(minute * MINUTE)));
    }
    told(&replayed.findings)
}

fn without_missing(told: Vec<String>) -> Vec<String> {
    told.into_iter().filter(|line| !line.contains("signal_missing")).collect()
}

#[test]
fn a_rule_opens_and_closes_an_incident() {
    let p99 = |second: i64| metric("p99", if (100..=200).contains(&second) { 900.0 } else { 100.0 }, second);
    let stream = (0..60).map(|place| p99(place * 10)).collect();
    let found = without_missing(run(settings(), stream));
    let expected = ["100 latency_high pending", "160 latency_high firing", "210 latency_high clearing"];
    assert_eq!(found, [&expected[..], &["270 latency_high cleared"]].concat());
    let mut bank = Bank::new(Arc::new(at_once(settings())));
    let findings: Vec<Finding> = (0..40).flat_map(|place| bank.observe(&p99(place * 10)).findings).collect();
    assert_eq!(findings.len(), 4, "the same at once where order is by nature");
    assert_eq!(
        (findings[1].value, findings[1].severity, findings[1].rule.as_str()),
        (Some(900.0), Severity::Medium, "p99")
    );
    assert!(findings.iter().all(|finding| finding.fingerprint == findings[0].fingerprint));
}

#[test]
fn what_comes_at_the_wrong_time_decides_nothing() {
    let ill = || (0..12).map(|place| metric("p99", 900.0, place * 10 + 7_200)).collect::<Vec<_>>();
    let well = || (0..12).map(|place| metric("p99", 100.0, place * 10 + 7_200)).collect::<Vec<_>>();
    let and = |mut stream: Vec<Observation>, late: Vec<Observation>| {
        stream.extend(late);
        without_missing(run(settings(), stream))
    };
    let late = |value: f64, delay: u64| {
        (0..30)
            .map(|place| seen("p99", ObservedValue::metric(value), 7_330 + place * 10 - delay as i64, delay))
            .collect::<Vec<_>>()
    };
    let opened = ["7200 latency_high pending", "7260 latency_high firing"];
    assert_eq!(and(ill(), Vec::new()), opened);
    assert_eq!(and(ill(), late(1.0, 3_600)), opened, "good readings an hour late close nothing");
    assert_eq!(and(well(), late(900.0, 3_600)), Vec::<String>::new(), "bad ones open nothing");
    assert_eq!(and(ill(), late(1.0, 25 * 3_600)), opened);
    assert_eq!(and(well(), late(900.0, 25 * 3_600)), Vec::<String>::new());
    let ahead = |seconds: i64| {
        let mut one = metric("p99", 900.0, 7_320 + seconds);
        one.arrival_time = Moment::from_micros(START + 7_320 * SECOND);
        one
    };
    let mut bank = Bank::new(Arc::new(settings()));
    assert_eq!(bank.observe(&ahead(600)).flags, [Flag::Future]);
    assert_eq!(bank.observe(&ahead(2 * 86_400)).flags, []);
    assert_eq!(bank.observe(&seen("p99", ObservedValue::metric(1.0), 0, 25 * 3_600)).flags, [Flag::Backfill]);
    assert_eq!(told(&bank.tick(Moment::from_micros(START + 30 * HOUR))), Vec::<String>::new(), "ahead proves nothing");
}

#[test]
fn missing_no_traffic_and_nothing_are_told_apart() {
    let every = |name: &'static str, from: i64, to: i64, value: f64| {
        (from / 10..to / 10).map(move |place| metric(name, value, place * 10)).collect::<Vec<_>>()
    };
    assert_eq!(run(settings(), every("rate", 0, 600, 100.0)), ["680 signal_missing firing"], "the sender stops");
    let renamed = [every("rate", 0, 600, 100.0), every("rate_total", 600, 1_200, 100.0)].concat();
    assert_eq!(run(settings(), renamed), ["680 signal_missing firing"], "the series has another name");
    let zero = [every("rate", 0, 600, 100.0), every("rate", 600, 1_200, 0.0)].concat();
    let zero: Vec<String> = run(settings(), zero).into_iter().take(2).collect();
    assert_eq!(zero, ["600 throughput_collapse pending", "660 throughput_collapse firing"], "the rate is truly 0");
    let mut replicas = Vec::new();
    for (host, end) in [("a", 1_200), ("b", 1_200), ("c", 600)] {
        replicas.extend(every("rate", 0, end, 100.0).into_iter().map(|one| with(one, "host", host)));
    }
    assert_eq!(run(settings(), replicas), ["1280 signal_missing firing"], "one of three replicas is no news, all are");
    let unwatched = every("queue_depth", 0, 600, 1.0);
    assert_eq!(run(settings(), unwatched), Vec::<String>::new(), "nobody watches it");
    let both = [every("rate", 0, 600, 100.0), every("p99", 0, 600, 100.0)].concat();
    assert_eq!(run(settings(), both).len(), 2, "a source that dies takes all its signals with it");
    let back = [every("rate", 0, 600, 100.0), every("rate", 900, 1_200, 100.0)].concat();
    let expected = ["680 signal_missing firing", "900 signal_missing cleared", "1280 signal_missing firing"];
    assert_eq!(run(settings(), back), expected);
}

#[test]
fn without_any_rule_signs_of_life_open_incidents() {
    let health = |second: i64, status| seen("health", ObservedValue::Health { status, detail: None }, second, 0);
    use Health::{Fail, Pass, Unknown};
    let bare = || at_once(Settings::default());
    let answers = |all: &[Health]| {
        let answers = all.iter().enumerate().map(|(place, status)| health(place as i64 * 15, *status));
        without_missing(run(bare(), answers.collect()))
    };
    assert_eq!(answers(&[Pass, Fail, Fail, Fail]), ["45 half_alive firing"]);
    assert_eq!(answers(&[Pass, Fail, Unknown, Fail, Pass]), Vec::<String>::new());
    let serving = || HealthSign { application: app(), signal: signal("health"), sign: Sign::Serving };
    let probed = Settings { signs: vec![serving()], ..bare() };
    let stream = || (0..4).map(|place| health(place * 15, Fail)).collect();
    assert_eq!(without_missing(run(probed, stream())), ["30 unreachable firing"]);
}

#[test]
fn numbers_that_are_none_leave_no_trace() {
    for values in [
        vec![f64::NAN; 30],
        (0..30).map(|n| if n % 2 == 0 { f64::NAN } else { 900.0 }).collect(),
        vec![f64::INFINITY; 30],
    ] {
        let stream: Vec<Observation> =
            values.iter().enumerate().map(|(place, value)| metric("p99", *value, place as i64 * 10)).collect();
        let doubled = stream
            .iter()
            .cloned()
            .flat_map(|one| [one.clone(), Observation { value: ObservedValue::metric(1.0), ..one }]);
        for stream in [stream.clone(), doubled.collect()] {
            let replayed = replay(Arc::new(at_once(settings())), stream);
            assert!(replayed.findings.iter().all(|finding| finding.value.is_none_or(f64::is_finite)));
            let text = format!("{:?}", replayed.bank);
            assert!(!text.contains("NaN") && !text.contains("inf"), "{text}");
        }
    }
}

/// Every detector that a number reaches, on one signal and on a pair of counters.
fn every_detector() -> Settings {
    let kinds = [Aggregate::Last, Aggregate::Mean, Aggregate::Max, Aggregate::Min, Aggregate::Rate];
    let rules = kinds.into_iter().chain([Aggregate::Quantile(0.9)]).enumerate().map(|(number, aggregate)| {
        let settings = RuleSettings {
            id: format!("rule {number}"),
            signal: signal("p99"),
            kind: IncidentKind::LatencyHigh,
            keep: Some(MINUTE),
            of: (aggregate == Aggregate::Last).then_some((3, 5)),
            window: (aggregate != Aggregate::Last).then_some(MINUTE),
            aggregate,
            ..draft(Bound::Above(500.0))
        };
        (app(), Rule::new(settings).expect("a rule"))
    });
    let quality = |form| super::QualityFor {
        id: "auc".to_owned(),
        application: app(),
        signal: signal("auc"),
        rule: crate::quality::QualityRule::new(Bound::Below(0.8)).expect("a rule"),
        form,
    };
    use sanare_core::service::config::QualityForm::{Auc, Mean, Share};
    Settings {
        rules: rules.collect(),
        qualities: [Share, Auc, Mean].into_iter().map(quality).collect(),
        ..at_once(settings())
    }
}

#[test]
fn what_is_no_number_reaches_no_state_score_or_output_of_any_detector() {
    let streams: [fn(u64) -> f64; 5] = [
        |_| f64::NAN,
        |n| if n % 2 == 0 { f64::NAN } else { 900.0 },
        |_| f64::INFINITY,
        |n| if n % 3 == 0 { f64::NEG_INFINITY } else { 0.2 },
        |n| if n % 5 == 0 { f64::NAN } else { n as f64 * 1e300 },
    ];
    for values in streams {
        for doubled in [false, true] {
            let mut stream = Vec::new();
            for place in 0..120_u64 {
                let (value, second) = (values(place), place as i64 * 10);
                let window = |offset: u64| Moment::from_micros(START + (place * 10 + offset) * SECOND);
                let quality = sanare_core::service::Quality {
                    value,
                    samples: 5_000,
                    from: window(0),
                    to: window(5),
                    half: (place % 2 == 0).then_some(value),
                    positives: Some(2_500),
                    deviation: Some(value),
                };
                let health = if value > 0.5 { Health::Fail } else { Health::Pass };
                let all = [
                    metric("p99", value, second),
                    metric("rate", value, second),
                    metric("errors", value, second),
                    metric("requests", value, second),
                    seen("auc", ObservedValue::PredictionQuality(quality), second, 0),
                    seen("health", ObservedValue::Health { status: health, detail: None }, second, 0),
                ];
                for one in all {
                    if doubled {
                        stream.push(Observation { value: ObservedValue::metric(1.0), ..one.clone() });
                    }
                    stream.push(one);
                }
            }
            let replayed = replay(Arc::new(every_detector()), stream);
            assert!(replayed.findings.iter().all(|finding| finding.value.is_none_or(f64::is_finite)));
            let text = format!("{:?} {:?}", replayed.bank, replayed.findings);
            assert!(!text.contains("NaN") && !text.contains("inf"), "{text}");
        }
    }
}

#[test]
fn a_reading_without_a_number_breaks_good_in_a_row() {
    let run = |well: fn(i64) -> f64| {
        let value = move |place: i64| if place < 12 { 900.0 } else { well(place) };
        let stream = (0..60).map(|place| metric("p99", value(place), place * 10));
        without_missing(told(&replay(Arc::new(at_once(settings())), stream).findings))
    };
    assert!(run(|_| 100.0).contains(&"180 latency_high cleared".to_owned()), "{:?}", run(|_| 100.0));
    let broken = run(|place| if place % 5 == 0 { f64::NAN } else { 100.0 });
    assert!(!broken.iter().any(|line| line.contains("latency_high cleared")), "{broken:?}");
}

#[test]
fn fresh_names_are_bounded_and_harm_nobody() {
    let few = Settings { most_of_one: 100, ..at_once(settings()) };
    let mut bank = Bank::new(Arc::new(few));
    let mut crowded = 0;
    bank.observe(&metric("p99", 900.0, 0));
    for number in 0..10_000 {
        crowded += u32::from(bank.observe(&metric(&format!("fresh_{number}"), 1.0, 1)).crowded);
    }
    assert_eq!((bank.series(), crowded), (100, 9_901));
    bank.observe(&metric("p99", 900.0, 30));
    assert_eq!(told(&bank.observe(&metric("p99", 900.0, 60)).findings), ["60 latency_high firing"]);
    let other = Observation { application: Application::parse("credit").expect("a name"), ..metric("x", 1.0, 60) };
    assert!(!bank.observe(&other).crowded);
    let one = Settings { most_applications: 1, ..settings() };
    let mut bank = Bank::new(Arc::new(one));
    assert!(!bank.observe(&metric("x", 1.0, 0)).crowded && bank.observe(&other).crowded);
}

#[test]
fn the_bounds_of_a_bank_are_those_that_are_promised() {
    let mut bank = Bank::new(Arc::new(Settings::default()));
    let mut named = |application: usize, number: usize| {
        let application = Application::parse(format!("app-{application}")).expect("a name");
        let one = metric(&format!("s{number}"), 1.0, 1);
        bank.observe(&Observation { application, ..one }).crowded
    };
    assert_eq!((0..2_005).filter(|number| named(0, *number)).count(), 5, "2,000 signals an application");
    assert_eq!((1..505).filter(|application| named(*application, 0)).count(), 5, "500 applications");
    let more = (1..=40).flat_map(|application| (1..2_000).map(move |number| (application, number)));
    let crowded = more.filter(|(application, number)| named(*application, *number)).count();
    assert_eq!(40 * 1_999 - crowded + 2_000 + 499, 50_000, "50,000 in all");
    assert!(!named(0, 7), "those that were there go on");
}

#[test]
fn states_are_small_and_of_a_version() {
    let mut bank = Bank::new(Arc::new(settings()));
    for second in 0..5_000 {
        for name in ["p99", "rate", "errors", "requests"] {
            bank.observe(&metric(name, f64::from(second) * 1.1, i64::from(second)));
        }
    }
    let saved = bank.save();
    assert!(saved.records.iter().all(|(_, state)| state.len() <= 4_096));
    let kinds: BTreeSet<&str> = saved.records.iter().filter_map(|(key, _)| key.split('"').nth(1)).collect();
    assert_eq!(kinds, BTreeSet::from(["burn", "path", "spot", "watch"]));
    for damage in [vec![2, 0], Vec::new(), vec![1]] {
        let mut bad = saved.clone();
        bad.records[0].1 = damage;
        let loaded: Result<Bank, Unread> = Bank::load(Arc::new(settings()), &bad);
        assert!(loaded.is_err());
    }
}

/// Seven days of an ordinary service, without any rule: latency that wanders with the day and has spikes, a health check
/// that fails once in a while, a nightly restart of a minute.
#[test]
fn an_ordinary_week_opens_nothing() {
    let mut stream = Vec::new();
    let mut dice = 7_u64;
    let mut next = || {
        dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (dice >> 33) as f64 / f64::from(1_u32 << 31)
    };
    for place in 0..(7 * 24 * 60 * 4) {
        let second = place * 15;
        if second % 86_400 < 60 {
            continue;
        }
        let day = (second as f64 / 86_400.0 * std::f64::consts::TAU).sin();
        let latency = 100.0 + 40.0 * day + 30.0 * next() + if next() < 0.001 { 2_000.0 } else { 0.0 };
        stream.push(metric("latency", latency, second));
        let status = if next() < 0.01 { Health::Fail } else { Health::Pass };
        stream.push(seen("health", ObservedValue::Health { status, detail: None }, second, 0));
    }
    let replayed = replay(Arc::new(Settings::default()), stream);
    assert_eq!(told(&replayed.findings), Vec::<String>::new());
}

/// Streams of five signals, one of them from two hosts, with gaps, numbers that are none, and delays.
fn stream() -> impl Strategy<Value = Vec<(Observation, u64)>> {
    let name =
        prop_oneof![Just("p99"), Just("rate"), Just("errors"), Just("requests"), Just("health a"), Just("health b")];
    let value = prop_oneof![3 => 0.0..1_000.0_f64, 2 => Just(900.0), 2 => Just(10.0), 1 => Just(f64::NAN)];
    let step = prop_oneof![8 => 1_i64..15, 1 => 60_i64..400];
    prop::collection::vec((name, value, step, 0_u64..120), 1..250).prop_map(|steps| {
        let mut second = 0;
        let mut observations = Vec::new();
        for (place, (name, value, step, delay)) in steps.into_iter().enumerate() {
            second += step;
            let sequence = place as u64 + 1;
            let one = match name.split_once(' ') {
                Some((name, host)) => {
                    let status = if value < 500.0 { Health::Pass } else { Health::Fail };
                    with(seen(name, ObservedValue::Health { status, detail: None }, second, 0), "host", host)
                }
                None => metric(name, value, second),
            };
            observations.push((Observation { sequence, ..one }, delay));
        }
        observations
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    /// However it is cut, saved, loaded and fed again, the same stream gives the same findings.
    #[test]
    fn a_stream_in_pieces_is_the_same_stream(
        stream in stream(),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 100),
        back in 0_usize..20,
    ) {
        let stream: Vec<Observation> = stream.into_iter().map(|(observation, _)| observation).collect();
        let settings = Arc::new(settings());
        let whole: Vec<Finding> = {
            let mut bank = Bank::new(Arc::clone(&settings));
            stream.iter().flat_map(|one| [bank.tick(one.arrival_time), bank.observe(one).findings].concat()).collect()
        };
        let cuts: BTreeSet<usize> = cuts.iter().map(|cut| cut.index(stream.len())).collect();
        let mut bank = Bank::new(Arc::clone(&settings));
        let mut pieces = Vec::new();
        for (place, one) in stream.iter().enumerate() {
            if cuts.contains(&place) {
                let saved = bank.save();
                bank = Bank::load(Arc::clone(&settings), &saved).expect("a bank");
                prop_assert_eq!(&bank.save(), &saved);
                // What is stored is fed again from before the save on, and counts once.
                for again in &stream[place.saturating_sub(back)..place] {
                    prop_assert_eq!(bank.observe(again), super::Noted::default());
                }
            }
            pieces.extend(bank.tick(one.arrival_time));
            pieces.extend(bank.observe(one).findings);
        }
        prop_assert_eq!(pieces, whole);
    }

    /// Whatever the order of arrival within the watermark, the rules find the same.
    #[test]
    fn any_permutation_within_the_watermark_finds_the_same(stream in stream()) {
        let in_order: Vec<Observation> = stream.iter().map(|(observation, _)| observation.clone()).collect();
        let permuted: Vec<Observation> = stream
            .into_iter()
            .map(|(one, delay)| Observation { sequence: 0, arrival_time: one.event_time.plus(delay * SECOND), ..one })
            .collect();
        let expects = ["p99", "rate", "errors", "requests", "health"].map(|name| (signal(name), Expect { every: Some(10 * SECOND), ..Expect::default() }));
        let settings = || Settings { expects: BTreeMap::from(expects.clone()), ..settings() };
        let sorted = |mut told: Vec<String>| { told.sort(); without_missing(told) };
        prop_assert_eq!(sorted(run(settings(), in_order)), sorted(run(settings(), permuted)));
    }
}
