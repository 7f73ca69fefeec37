//! What a healer does for its store beside its work: heads go out signed, what is old goes (S117, S119).

use std::os::unix::fs::PermissionsExt as _;
use std::sync::Arc;

use sanare_core::ledger::Heads;
use sanare_core::port::{Clock, Store as _};
use sanare_core::service::moment::DAY;
use sanare_core::service::rules::RulesAgent;

use super::super::{Healer, Setup, Tools};
use super::{ASKS, CONFIGURATION, Plant};
use crate::operations::heads::compare;

fn steps(plant: &Plant, step: &str) -> Vec<String> {
    let records = plant.records.ledger_after(0, 10_000).unwrap();
    records.into_iter().filter(|record| record.step == step).map(|record| record.payload).collect()
}

#[test]
fn heads_go_out_every_ten_minutes_and_the_ledger_has_them() {
    let plant = Plant::new(&format!("{CONFIGURATION}[heads]\nfile = \"heads.json\"\n"), ASKS);
    let file = plant.healer.setup().path("heads.json");
    let read = || serde_json::from_str::<Heads>(&std::fs::read_to_string(&file).unwrap()).unwrap();
    plant.minutes(1);
    let first = read();
    let told = compare(plant.records.as_ref(), &first, None).unwrap();
    assert!(told.is_ok(), "{told:?}");
    plant.minutes(8);
    assert_eq!(read(), first, "it is not time yet");
    plant.minutes(3);
    let later = read();
    assert_eq!((later.at - first.at) / 60_000, 10);
    // Another process does not send what has been sent.
    let key = sanare_effects::head_key::place(&plant.healer.setup().store());
    assert_eq!(std::fs::metadata(key).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(steps(&plant, "key_made").len(), 1);
}

#[test]
fn that_heads_do_not_go_out_is_told_once_and_that_they_do_again() {
    let configuration = format!(
        "{CONFIGURATION}[heads]\nevery = \"1m\"\nfile = \"folder/heads.json\"\nroutes = [\"ops\"]\n\
         [[notify]]\nname = \"ops\"\nargv = [\"/bin/sh\", \"-c\", \"cat > /dev/null\"]\n"
    );
    let plant = Plant::new(&configuration, ASKS);
    plant.minutes(5);
    let told = steps(&plant, "heads_not_sent");
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].contains("heads.json: No such file"), "{told:?}");
    std::fs::create_dir(plant.healer.setup().path("folder")).unwrap();
    plant.minutes(3);
    assert_eq!((steps(&plant, "heads_not_sent").len(), steps(&plant, "heads_sent").len()), (1, 1));
}

#[test]
fn heads_go_by_a_route_that_people_are_told_by() {
    let configuration = format!(
        "{CONFIGURATION}[heads]\nroutes = [\"ops\"]\n[[notify]]\nname = \"ops\"\n\
         argv = [\"/usr/bin/tee\", \"-a\", \"FILE\"]\n"
    );
    let file = tempfile::NamedTempFile::new().unwrap();
    let plant = Plant::new(&configuration.replace("FILE", file.path().to_str().unwrap()), ASKS);
    plant.minutes(1);
    let sent: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(file.path()).unwrap()).unwrap();
    assert_eq!(sent["kind"], "ledger_heads");
    let heads: Heads = serde_json::from_value(sent["body"].clone()).unwrap();
    assert!(compare(plant.records.as_ref(), &heads, None).unwrap().is_ok());
}

#[test]
fn a_healer_forgets_what_is_old() {
    let plant = Plant::new(&format!("{CONFIGURATION}[retention]\nobservations = \"24h\"\n"), ASKS);
    plant.minutes(2);
    let before = plant.healer.store().recent(&super::fraud(), 1_000).unwrap().len();
    assert!(before >= 24, "{before}");
    plant.clock.0.fetch_add(2 * DAY / 1_000, std::sync::atomic::Ordering::SeqCst);
    plant.minutes(1);
    let left = plant.healer.store().recent(&super::fraud(), 1_000).unwrap().len();
    assert!(left <= 12, "{left} of {before}");
}

/// Ten years pass by the wall clock while nothing runs: nobody knows whether they have passed.
#[test]
fn a_clock_that_jumped_before_a_restart_forgets_nothing_at_once_and_that_is_told() {
    let plant = Plant::new(CONFIGURATION, ASKS);
    plant.minutes(5);
    let before = plant.healer.store().recent(&super::fraud(), 10_000).unwrap().len();
    let setup = Setup::read(&plant.healer.setup().file).unwrap();
    let clock = Arc::new(Ahead(plant.clock.clone(), 3_650 * DAY / 1_000));
    let tools = Tools { store: Arc::clone(&plant.store), clock, agent: Arc::new(RulesAgent) };
    let healer = Healer::with(setup, tools).unwrap();
    for _ in 0..100 {
        plant.clock.0.fetch_add(60_000, std::sync::atomic::Ordering::SeqCst);
        healer.run_once().unwrap();
    }
    let left = plant.healer.store().recent(&super::fraud(), 10_000).unwrap().len();
    assert_eq!(left, before);
    let [told] = &steps(&plant, "retention_held")[..] else { panic!("it is told once") };
    let told: serde_json::Value = serde_json::from_str(told).unwrap();
    assert_eq!(told["counted_ms"], 7 * DAY / 1_000, "{told}");
    assert!(told["passed_ms"].as_u64().unwrap() >= 3_650 * DAY / 1_000, "{told}");
    // From there on it goes on as time does: 23 days later they go.
    plant.clock.0.fetch_add(24 * DAY / 1_000, std::sync::atomic::Ordering::SeqCst);
    healer.run_once().unwrap();
    let open = plant.healer.store().open_incidents(10).unwrap();
    let needed: Vec<_> = open.iter().flat_map(|one| &one.evidence).map(|one| &one.observation).collect();
    let left = plant.healer.store().recent(&super::fraud(), 10_000).unwrap();
    assert!(left.iter().all(|one| needed.contains(&&one.id)), "{left:?}");
    assert!(left.len() < before / 2, "{} of {before}", left.len());
}

/// A wall clock that is ahead of another one.
struct Ahead(Arc<super::Hand>, u64);

impl Clock for Ahead {
    fn now(&self) -> u64 {
        self.0.now() + self.1
    }
    fn elapsed(&self) -> u64 {
        self.0.elapsed()
    }
    fn chance(&self) -> u128 {
        self.0.chance()
    }
}

#[test]
fn another_policy_is_a_record() {
    let plant = Plant::new(CONFIGURATION, ASKS);
    plant.minutes(1);
    assert_eq!(steps(&plant, "policy"), Vec::<String>::new(), "the first one is no change");
    let file = plant.healer.setup().path("policy.toml");
    std::fs::write(&file, super::AUTO).unwrap();
    plant.minutes(1);
    std::fs::write(&file, "version = ").unwrap();
    plant.minutes(1);
    let told: Vec<serde_json::Value> =
        steps(&plant, "policy").iter().map(|text| serde_json::from_str(text).unwrap()).collect();
    assert_eq!(told.len(), 2, "{told:?}");
    assert_eq!((&told[1]["from"], told[0]["trouble"].is_null()), (&told[0]["to"], true));
    assert!(told[1]["trouble"].is_string(), "{told:?}");
}

/// The same store under another file, as after a restart: a minute of it.
fn begun_again(plant: &Plant, configuration: &str) {
    let file = plant.healer.setup().file.clone();
    std::fs::write(&file, configuration).unwrap();
    let setup = Setup::read(&file).unwrap();
    let tools = Tools { store: Arc::clone(&plant.store), clock: plant.clock.clone(), agent: Arc::new(RulesAgent) };
    Healer::with(setup, tools).unwrap().run_once().unwrap();
}

#[test]
fn a_configuration_that_changed_while_no_healer_ran_is_a_record() {
    let plant = Plant::new(CONFIGURATION, ASKS);
    plant.minutes(1);
    let told = || -> Vec<serde_json::Value> {
        steps(&plant, "configuration").iter().map(|text| serde_json::from_str(text).unwrap()).collect()
    };
    assert_eq!(told(), Vec::<serde_json::Value>::new(), "the first one is no change");
    begun_again(&plant, CONFIGURATION);
    assert_eq!(told().len(), 0, "it is the same");
    let hook = "[[notify]]\nname = \"ops\"\nurl = \"https://hooks.test/T0K3N-of-the-owner\"\n";
    let other = format!("{}{hook}", CONFIGURATION.replace("instances = 3", "instances = 4"));
    begun_again(&plant, &other);
    let [record] = &told()[..] else { panic!("one record") };
    assert_eq!(record["while"], "no healer ran");
    let changed = record["changed"].as_array().unwrap();
    let of = |key: &str| changed.iter().find(|one| one["key"] == key).unwrap_or_else(|| panic!("{key}: {changed:?}"));
    let instances = of("services.fraud.instances");
    assert_eq!((&instances["from"], &instances["to"]), (&3.into(), &4.into()));
    // An address is told by its hash, here and in what is remembered.
    let states = plant.healer.store().states("known/").unwrap();
    let states = states.iter().map(|(_, bytes)| String::from_utf8_lossy(bytes).into_owned());
    let kept = format!("{record} {}", states.collect::<String>());
    assert!(!kept.contains("T0K3N") && changed.len() > 3, "{record}");
    assert!(kept.contains("services.fraud.instances"));
    begun_again(&plant, &other);
    assert_eq!(told().len(), 1, "it is known by now");
    begun_again(&plant, CONFIGURATION);
    assert_eq!((told().len(), &told()[1]["from"]), (2, &record["to"]));
}

/// What a reload has told is not told again at the next start.
#[test]
fn a_configuration_that_was_reloaded_is_known_at_the_next_start() {
    let plant = Plant::new(CONFIGURATION, ASKS);
    plant.minutes(1);
    let other = CONFIGURATION.replace("instances = 3", "instances = 4");
    std::fs::write(&plant.healer.setup().file, &other).unwrap();
    assert_eq!(plant.healer.reload().unwrap().len(), 1);
    plant.minutes(1);
    begun_again(&plant, &other);
    assert_eq!(steps(&plant, "configuration").len(), 1);
}
