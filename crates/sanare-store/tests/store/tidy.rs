//! What is forgotten with time, and what never is (S119).

use rusqlite::Connection;
use sanare_core::hash::Digest;
use sanare_core::id::Id;
use sanare_core::port::{Keeper, Keeping, Tidied};
use sanare_core::service::context::{Context, Parts};
use sanare_core::service::incident::Evidence;
use sanare_core::service::moment::{DAY, HOUR, MINUTE};
use sanare_core::service::{
    Action, Application, Change, Draft, Incident, IncidentKind, Moment, Observation, ObservedValue, ServiceStore,
    Signal, Source, Stamp, Trust, Version,
};
use sanare_store::{Memory, Sqlite};

use super::services::{at, closed, incident};

trait Both: ServiceStore + Keeper {}
impl<T: ServiceStore + Keeper> Both for T {}

fn check(clause: fn(&dyn Both)) {
    clause(&Memory::new());
    let folder = tempfile::tempdir().unwrap();
    clause(&Sqlite::open(&folder.path().join("store.db")).unwrap());
}

fn reading(name: &str, value: ObservedValue, when: Moment) -> Observation {
    let draft = Draft {
        source_id: Some(name.to_owned()),
        event_time: Some(when),
        ..Draft::new(Application::parse("fraud").unwrap(), Signal::parse("p99").unwrap(), value)
    };
    let stamp = Stamp {
        id: Id::from_text(format!("obs_{name}")),
        arrival: when,
        source: Source::parse("client").unwrap(),
        trust: Trust::Own,
    };
    Observation::accept(draft, stamp).unwrap()
}

fn stored(store: &dyn Both, now: Moment, observations: Vec<Observation>) {
    store.commit(&Change { now: now.millis(), observations, ..Change::default() }).unwrap();
    // Whoever looks after it comes by, and marks how far readings had come.
    store.tidy(&Keeping::default(), now, 100).unwrap();
}

/// Tidies until there is nothing more to do.
fn tidied(store: &dyn Both, keeping: &Keeping, now: Moment) -> Tidied {
    let mut all = Tidied::default();
    for _ in 0..1_000 {
        let done = store.tidy(keeping, now, 7).unwrap();
        if !done.is_some() {
            return all;
        }
        all.folded += done.folded;
        all.observations += done.observations;
        all.minutes += done.minutes;
        all.incidents += done.incidents;
    }
    panic!("it has no end");
}

fn names(store: &dyn Both) -> Vec<String> {
    let recent = store.recent(&Application::parse("fraud").unwrap(), 1_000).unwrap();
    recent.iter().map(|one| one.id.as_str().trim_start_matches("obs_").to_owned()).collect()
}

#[test]
fn readings_go_when_their_time_is_over_and_what_is_needed_stays() {
    check(|store| {
        let old = |number: u64| at(number * 10);
        for number in 0..20 {
            let value = ObservedValue::metric(number as f64);
            stored(store, old(number), vec![reading(&format!("r{number}"), value, old(number))]);
        }
        let live = ObservedValue::Deployment { before: None, after: Version::parse("7").unwrap() };
        stored(store, at(300), vec![reading("deployed", live, at(300))]);
        // An incident that is open names one of them.
        let needs = |of: Incident| Incident {
            evidence: vec![Evidence { observation: Id::from_text("obs_r3"), badness: 1.0 }],
            ..of
        };
        let open = needs(incident("a", IncidentKind::LatencyHigh));
        store.commit(&Change { now: at(301).millis(), incidents: vec![open.clone()], ..Change::default() }).unwrap();
        let keeping = Keeping::default();
        assert_eq!(tidied(store, &keeping, at(0).plus(29 * DAY)).observations, 0, "their time is not over");
        let late = at(0).plus(31 * DAY);
        stored(store, late, vec![reading("fresh", ObservedValue::metric(1.0), late)]);
        tidied(store, &keeping, late);
        assert_eq!(names(store), ["r3", "deployed", "fresh"]);
        // Once nothing needs it, it goes too; a version that was live is kept as long as incidents are.
        store.commit(&Change { now: late.millis(), incidents: vec![closed(open)], ..Change::default() }).unwrap();
        tidied(store, &keeping, late);
        assert_eq!(names(store), ["deployed", "fresh"]);
        assert_eq!(store.newest_sequence().unwrap(), 22, "places are never given twice");
        tidied(store, &keeping, at(0).plus(401 * DAY));
        assert_eq!(names(store), Vec::<String>::new());
    });
}

#[test]
fn an_incident_goes_with_all_that_hangs_on_it_unless_it_is_open() {
    check(|store| {
        let over = |name: &str, kind, ended: Moment| Incident {
            closed: Some(ended),
            updated: ended,
            ..closed(incident(name, kind))
        };
        let incidents = vec![
            over("old", IncidentKind::LatencyHigh, at(0)),
            over("young", IncidentKind::ErrorRateHigh, at(0).plus(100 * DAY)),
            incident("open", IncidentKind::CrashLoop),
        ];
        // What each was decided on stays as long as it does, however old (S57).
        let seen = |incident: &Incident| {
            Context::new(Parts {
                incident: incident.clone(),
                evidence: Vec::new(),
                available_actions: vec![Action::Escalate],
                recent_observations: Vec::new(),
                diagnostics: Vec::new(),
                version_history: Vec::new(),
                registry: None,
                at: at(0),
            })
        };
        let snapshots: Vec<Context> = incidents.iter().map(|one| seen(one).unwrap()).collect();
        let digests: Vec<Digest> = snapshots.iter().map(Context::digest).collect();
        store.commit(&Change { now: at(0).millis(), incidents, snapshots, ..Change::default() }).unwrap();
        let now = at(0).plus(400 * DAY + HOUR);
        assert_eq!(tidied(store, &Keeping::default(), now).incidents, 1);
        let kept: Vec<bool> = digests.iter().map(|digest| store.snapshot(digest).unwrap().is_some()).collect();
        assert_eq!(kept, [false, true, true]);
        let left: Vec<String> = store.newest_incidents(10).unwrap().iter().map(|one| one.id.to_string()).collect();
        assert_eq!(left, ["inc_open", "inc_young"]);
    });
}

#[test]
fn readings_are_folded_into_their_minutes_before_they_go() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let store = Sqlite::open(&path).unwrap();
    for number in 0..30_u64 {
        let when = at(0).plus(number * 10_000_000);
        let value = ObservedValue::metric(number as f64);
        store
            .commit(&Change {
                now: when.millis(),
                observations: vec![reading(&format!("r{number}"), value, when)],
                ..Change::default()
            })
            .unwrap();
    }
    store.tidy(&Keeping::default(), at(5), 1_000).unwrap();
    let minutes = || -> Vec<(i64, i64, f64, f64, f64)> {
        let connection = Connection::open(&path).unwrap();
        let mut rows =
            connection.prepare("SELECT minute, count, sum, least, most FROM service_minutes ORDER BY minute").unwrap();
        let rows =
            rows.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?))).unwrap();
        rows.map(Result::unwrap).collect()
    };
    assert_eq!(tidied(&store, &Keeping::default(), at(0).plus(47 * HOUR)).folded, 0);
    assert_eq!(tidied(&store, &Keeping::default(), at(6).plus(48 * HOUR)).folded, 30);
    let first = (at(0).micros() / MINUTE) as i64;
    let expected: Vec<(i64, i64, f64, f64, f64)> = (0..5_i64)
        .map(|minute| {
            let least = minute as f64 * 6.0;
            (first + minute, 6, (0..6).map(|one| least + f64::from(one)).sum(), least, least + 5.0)
        })
        .collect();
    assert_eq!(minutes(), expected);
    // The readings go after their time, the minutes after theirs, and nothing is folded twice.
    assert_eq!(tidied(&store, &Keeping::default(), at(6).plus(31 * DAY)).observations, 30);
    assert_eq!(minutes(), expected);
    assert_eq!(tidied(&store, &Keeping::default(), at(6).plus(401 * DAY)).minutes, 5);
    assert_eq!(minutes(), []);
}

#[test]
fn a_store_that_is_too_large_loses_its_oldest_readings_and_keeps_their_minutes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let store = Sqlite::open(&path).unwrap();
    for group in 0..20_u64 {
        let one = |number: u64| {
            let when = at(0).plus((group * 200 + number) * 1_000_000);
            reading(&format!("g{group}n{number}"), ObservedValue::metric(1.0), when)
        };
        store
            .commit(&Change { now: at(group).millis(), observations: (0..200).map(one).collect(), ..Change::default() })
            .unwrap();
    }
    let keeping = Keeping { size: 1 << 20, ..Keeping::default() };
    let gone = tidied(&store, &keeping, at(100));
    assert!(gone.observations > 1_000 && gone.observations < 4_000, "{gone:?}");
    let left = store.recent(&Application::parse("fraud").unwrap(), 10_000).unwrap();
    assert_eq!(left.len() as u64, 4_000 - gone.observations);
    assert_eq!(left.last().unwrap().id.as_str(), "obs_g19n199", "the newest stay");
    let connection = Connection::open(&path).unwrap();
    let folded: i64 = connection.query_row("SELECT sum(count) FROM service_minutes", [], |row| row.get(0)).unwrap();
    assert!(folded as u64 >= gone.observations, "{folded}");
}
