//! How fast detection is, on one core: observations through thresholds over 10,000 signals, stored history replayed, and
//! 10,000 incidents under 100 inhibitions. Prints JSON: median and quartiles of each.
#![allow(clippy::disallowed_methods)]

use std::collections::{BTreeMap, BTreeSet};
use std::hint::black_box;
use std::io::{self, Write};
use std::sync::Arc;
use std::time::Instant;

use sanare_core::id::Id;
use sanare_core::service::config::{Aggregate, Bound, RuleSettings};
use sanare_core::service::moment::{DAY, SECOND};
use sanare_core::service::{
    Application, Component, IncidentKind, Invalid, Labels, Moment, Observation, ObservedValue, Signal, Source, Trust,
};
use sanare_detect::bank::{Bank, Settings, replay};
use sanare_detect::group::{Causes, Ill, Inhibition, Scope};
use sanare_detect::threshold::Rule;

const START: u64 = 20_000 * DAY;
const APPLICATIONS: usize = 10;

fn main() -> io::Result<()> {
    let rounds = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(5);
    let measured = measure(rounds).map_err(io::Error::other)?;
    let mut out = io::stdout().lock();
    writeln!(out, "{}", serde_json::to_string(&measured).map_err(io::Error::other)?)
}

fn measure(rounds: usize) -> Result<BTreeMap<&'static str, [f64; 3]>, Invalid> {
    let many = Arc::new(settings(1_000)?);
    let stream = stream(1_000, 20)?;
    let (causes, ill) = incidents()?;
    let mut numbers: BTreeMap<&'static str, Vec<f64>> = BTreeMap::new();
    for _ in 0..rounds {
        let mut bank = Bank::new(Arc::clone(&many));
        let begun = Instant::now();
        let mut found = 0;
        for observation in &stream {
            found += black_box(bank.observe(observation)).findings.len();
        }
        let seconds = begun.elapsed().as_secs_f64();
        assert!(found > 0, "a stream that crosses bounds");
        numbers.entry("observation_us").or_default().push(seconds * 1e6 / stream.len() as f64);

        let few = Arc::new(settings(10)?);
        let history = self::stream(10, 10_000)?;
        let begun = Instant::now();
        let replayed = replay(few, history);
        numbers.entry("replay_s").or_default().push(begun.elapsed().as_secs_f64());
        assert!(!replayed.findings.is_empty());

        let begun = Instant::now();
        assert!(black_box(causes.inhibited(&ill)).iter().any(Option::is_some));
        assert!(black_box(causes.groups(&ill)).len() == ill.len());
        numbers.entry("inhibition_ms").or_default().push(begun.elapsed().as_secs_f64() * 1e3);
    }
    Ok(numbers.into_iter().map(|(name, list)| (name, quartiles(list))).collect())
}

fn quartiles(mut list: Vec<f64>) -> [f64; 3] {
    list.sort_by(f64::total_cmp);
    let at = |share: f64| list.get((share * (list.len() - 1) as f64).round() as usize).copied().unwrap_or(f64::NAN);
    [at(0.5), at(0.25), at(0.75)]
}

fn application(number: usize) -> Result<Application, Invalid> {
    Application::parse(format!("app-{number}"))
}

/// So many signals in each of ten applications, each with a rule; every fourth rule looks at a mean.
fn settings(signals: usize) -> Result<Settings, Invalid> {
    let mut rules = Vec::new();
    for number in 0..signals {
        let (aggregate, window) = match number % 4 {
            0 => (Aggregate::Mean, Some(60 * SECOND)),
            _ => (Aggregate::Last, None),
        };
        let draft = RuleSettings {
            id: format!("rule-{number}"),
            component: None,
            signal: Signal::parse(format!("signal_{number}"))?,
            labels: BTreeMap::new(),
            bound: Bound::Above(900.0),
            clear: Some(800.0),
            pending: None,
            keep: None,
            of: None,
            aggregate,
            window,
            every: None,
            kind: IncidentKind::LatencyHigh,
            severity: None,
            distinct: Vec::new(),
            line: 0,
        };
        for number in 0..APPLICATIONS {
            rules.push((application(number)?, Rule::new(draft.clone())?));
        }
    }
    Ok(Settings { rules, ..Settings::default() })
}

/// So many rounds of a reading of every signal, ten seconds apart.
fn stream(signals: usize, rounds: u64) -> Result<Vec<Observation>, Invalid> {
    let mut all = Vec::new();
    let mut dice = 1_u64;
    for round in 0..rounds {
        let at = Moment::from_micros(START + round * 10 * SECOND);
        for place in 0..signals * APPLICATIONS {
            dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            all.push(Observation {
                id: Id::from_text("obs_bench"),
                sequence: 0,
                application: application(place % APPLICATIONS)?,
                component: Component::default(),
                signal: Signal::parse(format!("signal_{}", place / APPLICATIONS))?,
                value: ObservedValue::metric((dice >> 33) as f64 % 1_000.0),
                unit: None,
                event_time: at,
                arrival_time: at,
                source: Source::parse("client")?,
                source_id: String::new(),
                labels: Labels::default(),
                trust: Trust::Own,
                flags: BTreeSet::new(),
            });
        }
    }
    Ok(all)
}

fn incidents() -> Result<(Causes, Vec<Ill>), Invalid> {
    let kinds = IncidentKind::ALL;
    let mut own = Vec::new();
    for number in 0..100 {
        let cause = 11 + number % 8;
        let symptoms = kinds.iter().skip(cause + 1).copied().collect();
        own.push(Inhibition { cause: kinds[cause], symptoms, scope: Scope::Component });
    }
    let mut ill = Vec::new();
    for number in 0..10_000_usize {
        let part = (application(number / 8)?, Component::default());
        let opened = Moment::from_millis(number as u64);
        ill.push(Ill { part, kind: kinds[11 + number % 8], opened, firing: true });
    }
    Ok((Causes::new(&own, BTreeMap::new())?, ill))
}
