//! The table of calls that the Python client plays too: the same records, byte for byte; and many threads (S17).

use std::sync::Arc;

use sanare_core::service::rules::RulesAgent;
use sanare_core::service::{
    Component, Health, Labels, Moment, ObservationKind, ObservedValue, Quality, ServiceStore, Signal, Version,
};
use sanare_store::Memory;
use serde_json::{Value as Json, json};

use super::super::{Healer, More, Options, Service, Setup, Tools};
use super::{CONFIGURATION, Hand, fraud};

const TABLE: &str = include_str!("../../../../../tests/python/service_calls.json");

fn moment(told: &Json) -> Option<Moment> {
    told.as_str().map(|text| Moment::parse(text).unwrap())
}

/// Makes one call; whether its value can be used.
fn play(service: &Service, verb: &str, told: &Json) -> bool {
    let text = |name: &str| told[name].as_str();
    let signal = || Signal::parse(text("signal").unwrap()).unwrap();
    match verb {
        "observe" => {
            let labels = told["labels"].as_object().into_iter().flatten();
            let labels = labels.map(|(key, value)| (key.clone(), value.as_str().unwrap().to_owned())).collect();
            let more = More {
                unit: text("unit").map(str::to_owned),
                at: moment(&told["at"]),
                labels: Labels::new(labels).unwrap(),
                id: text("id").map(str::to_owned),
            };
            let number = match &told["value"] {
                Json::String(text) => text.parse().unwrap(),
                number => number.as_f64().unwrap(),
            };
            match text("kind") {
                None if told.as_object().unwrap().len() == 2 => service.observe(&signal(), number),
                None => service.report(&signal(), ObservedValue::metric(number), more),
                Some(kind) => {
                    let kind = ObservationKind::parse(kind).unwrap();
                    return service.report_json(&signal(), kind, &told["value"], more).is_ok();
                }
            }
        }
        "health" => service.health(&signal(), Health::parse(text("status").unwrap()).unwrap(), text("detail")),
        "quality" => {
            let (from, to) = (moment(&told["start"]).unwrap(), moment(&told["end"]).unwrap());
            if from > to {
                // What JSON refuses is refused to whoever calls with a value too, where it is read.
                let json = json!({ "value": told["value"], "samples": told["samples"], "from": from, "to": to });
                let kind = ObservationKind::PredictionQuality;
                return service.report_json(&signal(), kind, &json, More::default()).is_ok();
            }
            let (positives, deviation) = (None, None);
            let (value, half) = (told["value"].as_f64().unwrap(), told["half"].as_f64());
            let samples = told["samples"].as_u64().unwrap();
            service.quality(&signal(), Quality { value, samples, from, to, half, positives, deviation });
        }
        "deployed" => {
            let version = |name: &str| text(name).map(|text| Version::parse(text).unwrap());
            service.deployed(version("before"), version("version").unwrap()).unwrap();
        }
        other => panic!("{other}"),
    }
    true
}

#[test]
fn the_table_of_calls_gives_these_records() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("sanare.toml"), "[service.fraud]\n").unwrap();
    let setup = Setup::read(&folder.path().join("sanare.toml")).unwrap();
    let store = Arc::new(Memory::default());
    let tools = Tools { store: store.clone(), clock: Arc::new(Hand(0.into())), agent: Arc::new(RulesAgent) };
    let healer = Healer::with(setup, tools).unwrap();
    let labels = Labels::new([("zone".to_owned(), "b".to_owned())].into()).unwrap();
    let options = Options { component: Component::parse("api").unwrap(), labels };
    let service = healer.service(fraud(), options);
    let table: Json = serde_json::from_str(TABLE).unwrap();
    let calls = table["calls"].as_array().unwrap();
    for call in calls {
        let before = service.stats().refused;
        let used = play(&service, call["verb"].as_str().unwrap(), &call["told"]);
        assert_eq!(used, !call["record"].is_null(), "{call}");
        assert_eq!(service.stats().refused - before, u64::from(!used), "{call}");
    }
    healer.run_once().unwrap();
    let stored: Vec<String> = store
        .recent(&fraud(), 100)
        .unwrap()
        .into_iter()
        .map(|one| {
            let mut record = serde_json::to_value(&one).unwrap();
            // Chance and the store's own place.
            record.as_object_mut().unwrap().retain(|key, _| key != "id" && key != "sequence");
            record.to_string()
        })
        .collect();
    let wanted: Vec<String> =
        calls.iter().filter(|call| !call["record"].is_null()).map(|call| call["record"].to_string()).collect();
    assert_eq!(stored, wanted);
}

#[test]
fn of_a_million_calls_of_sixteen_threads_none_is_lost_from_sight() {
    let plant = super::Plant::new(CONFIGURATION, super::ASKS);
    let signal = Signal::parse("error_share").unwrap();
    std::thread::scope(|scope| {
        for _ in 0..16 {
            let (service, signal) = (plant.service.clone(), &signal);
            scope.spawn(move || (0..62_500_u32).for_each(|number| service.observe(signal, f64::from(number))));
        }
        for _ in 0..20 {
            plant.healer.watch_once().unwrap();
            let stats = plant.service.stats();
            assert!(stats.queued <= 10_000 + 500, "{stats:?}");
        }
    });
    let stats = plant.service.stats();
    assert_eq!(stats.sent + stats.dropped + stats.queued + stats.refused, 1_000_000, "{stats:?}");
    assert_eq!(stats.refused, 0);
    plant.healer.watch_once().unwrap();
    let account = plant.healer.intake().unwrap().remove(0).account;
    let stats = plant.service.stats();
    assert_eq!((account.accepted + account.duplicate, stats.queued), (stats.sent, 0));
    assert_eq!(stats.sent + stats.dropped, 1_000_000);
}
