//! One scenario through the library in Rust; the tests in Python play it through the Python package and the commands. All
//! three leave the ledger that stands in `scenarios/doors/`, but for ids, times, hashes and who it was (S140).
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::disallowed_methods)]

use std::path::Path;

use sanare::core::service::{Action, Application, Draft, Moment, ObservedValue, Signal, Version};
use sanare::operations::ledger::{Wanted, export};
use sanare::service::Healer;
use serde_json::Value as Json;

const CONFIGURATION: &str = include_str!("../../../scenarios/doors/sanare.toml");
const TRANSCRIPT: &str = include_str!("../../../scenarios/doors/asked.txt");

fn now() -> Moment {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    Moment::from_micros(u64::try_from(since.as_micros()).unwrap())
}

#[test]
fn a_scenario_through_the_library_leaves_the_same_ledger() {
    let folder = tempfile::tempdir().unwrap();
    let me = sanare::wire::person::current().name;
    std::fs::write(folder.path().join("sanare.toml"), CONFIGURATION).unwrap();
    let policy = format!("version = 1\napprovals = {{ approvers = [{me:?}] }}\n");
    std::fs::write(folder.path().join("policy.toml"), policy).unwrap();
    let healer = Healer::from_config(None, folder.path()).unwrap();
    let fraud = Application::parse("fraud").unwrap();

    let began = now().minus(40_000_000);
    for second in [0, 10, 20, 30] {
        let value = ObservedValue::metric(0.0);
        let draft = Draft::new(fraud.clone(), Signal::parse("answers").unwrap(), value);
        let at = Some(began.plus(second * 1_000_000));
        healer.observe(Draft { event_time: at, ..draft }).unwrap();
        healer.run_once().unwrap();
    }
    let [incident] = healer.incidents(10).unwrap().try_into().unwrap();
    let id = incident.id.as_str();
    healer.acknowledge(id).unwrap();
    assert!(healer.acknowledge(id).is_err());
    healer.hold(id, true).unwrap();
    healer.hold(id, false).unwrap();
    healer.deny(id, "not now", None).unwrap();
    healer.run_once().unwrap();
    healer.propose(id, Action::RestartComponent, "it hangs").unwrap();
    healer.run_once().unwrap();
    // Nobody approves what they proposed.
    assert!(healer.approve(id, "", None).is_err());
    healer.close_incident(id, "seen to", true).unwrap();
    assert!(healer.close_incident(id, "again", false).is_err());
    healer.mark_good(&fraud, &Version::parse("7").unwrap(), "a year of service").unwrap();
    healer.stop(Some(&fraud), "").unwrap();
    healer.start_again(Some(&fraud), "all is well").unwrap();

    let got = transcript(&folder.path().join(".sanare/store.db"), &me);
    assert_eq!(got, TRANSCRIPT);
    assert!(healer.verify_ledger().unwrap().is_ok());
}

/// The ledger, a line a record, without what is never the same twice.
fn transcript(path: &Path, me: &str) -> String {
    let store = sanare::wire::home::open_existing(path).unwrap();
    let mut lines = String::new();
    export(store.as_ref(), &Wanted::default(), |record| {
        let mut payload = record.json();
        plain(&mut payload, me);
        lines.push_str(&format!("{} {payload}\n", record.step));
        Ok(())
    })
    .unwrap();
    lines
}

fn plain(json: &mut Json, me: &str) {
    match json {
        Json::Array(items) => items.iter_mut().for_each(|item| plain(item, me)),
        Json::Object(map) => map.values_mut().for_each(|value| plain(value, me)),
        Json::String(text) => {
            let is_id = text.len() == 30 && text.get(3..4) == Some("_");
            let is_hash = text.len() == 64 && text.chars().all(|one| one.is_ascii_hexdigit());
            if is_id {
                text.replace_range(4.., "ID");
            } else if is_hash {
                *text = "HASH".to_owned();
            } else if Moment::parse(text).is_ok() {
                *text = "TIME".to_owned();
            } else {
                *text = text.replace(me, "WHO");
            }
        }
        Json::Null | Json::Bool(_) | Json::Number(_) => {}
    }
}

/// What is no action, no name, or used wrongly is refused, and nothing is recorded.
#[test]
fn misuse_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("sanare.toml"), CONFIGURATION).unwrap();
    let healer = Healer::from_config(None, folder.path()).unwrap();
    assert!(Action::parse("destroy").is_err());
    assert!(Application::parse("Fraud").is_err());
    assert!(healer.propose("inc_0000000000", Action::RestartComponent, "x").is_err());
    assert!(healer.approve("apr_0000000000", "", None).is_err());
    assert!(healer.settle("rct_0000000000", sanare::core::service::ReceiptState::Done, "x").is_err());
    let fraud = Application::parse("fraud").unwrap();
    assert!(healer.mark_good(&fraud, &Version::parse("7").unwrap(), " ").is_err());
    let other =
        Draft::new(Application::parse("churn").unwrap(), Signal::parse("s").unwrap(), ObservedValue::metric(1.0));
    assert!(healer.observe(other).is_err());
    // Closing ends a run that goes on; what asks and answers needs none.
    healer.close();
    assert_eq!(healer.incidents(10).unwrap(), []);
    assert_eq!(healer.verify_ledger().unwrap(), Ok(0));
}
