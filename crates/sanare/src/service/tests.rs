//! A small service in this process that goes bad, watched and healed on a clock that the test moves.

mod calls;
mod clock;
mod checks;
mod courier;
mod dying;
mod intake;
mod policy;
mod quiet;
mod reload;
mod reminders;
mod restart;
mod stop;
mod upkeep;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use sanare_core::port::Clock;
use sanare_core::service::declaration::{Undo, Written};
use sanare_core::service::port::Intent;
use sanare_core::service::proposal::Params;
use sanare_core::service::rules::RulesAgent;
use sanare_core::service::target::{Identity, Mark};
use sanare_core::service::{Action, Application, ApprovalState, Incident, Purpose, ServiceStore, Signal, Version};
use sanare_effects::service::callback::End;
use sanare_store::Memory;

use super::{Asking, Capability, Healer, Options, Service, Setup, Tools};
use crate::wire::person;

/// 1 January 2026, and later.
struct Hand(AtomicU64);

impl Hand {
    fn now_micros(&self) -> u64 {
        self.now() * 1_000
    }
}

impl Clock for Hand {
    fn now(&self) -> u64 {
        1_767_225_600_000 + self.elapsed()
    }

    fn elapsed(&self) -> u64 {
        self.0.load(Ordering::SeqCst)
    }

    fn chance(&self) -> u128 {
        use std::hash::{BuildHasher as _, RandomState};
        (u128::from(RandomState::new().hash_one(0)) << 64) | u128::from(RandomState::new().hash_one(1))
    }
}

const CONFIGURATION: &str = r#"
[policy]
file = "policy.toml"
[service.fraud]
instances = 3
[[service.fraud.rule]]
id = "errors"
signal = "error_share"
kind = "error_rate_high"
above = 0.1
for = "30s"
"#;

/// The service, what it serves, and its healer.
struct Plant {
    _folder: tempfile::TempDir,
    store: Arc<dyn ServiceStore>,
    /// The same store, by its ledger.
    records: Arc<Memory>,
    clock: Arc<Hand>,
    healer: Healer,
    service: Service,
    served: Arc<Mutex<String>>,
    calls: Arc<Mutex<Vec<Params>>>,
    /// Whether the rollback does what it says.
    obeys: bool,
}

impl Plant {
    fn new(configuration: &str, policy: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("sanare.toml"), configuration).unwrap();
        let me = person::current().name;
        std::fs::write(folder.path().join("policy.toml"), policy.replace("ME", &me)).unwrap();
        let setup = Setup::read(&folder.path().join("sanare.toml")).unwrap();
        let clock = Arc::new(Hand(AtomicU64::new(0)));
        let records = Arc::new(Memory::default());
        let store: Arc<dyn ServiceStore> = records.clone();
        let tools = Tools { store: Arc::clone(&store), clock: clock.clone(), agent: Arc::new(RulesAgent) };
        let healer = Healer::with(setup, tools).unwrap();
        let service = healer.service(fraud(), Options::default());
        Self {
            _folder: folder,
            store,
            records,
            clock,
            healer,
            service,
            served: Arc::new(Mutex::new("1".to_owned())),
            calls: Arc::default(),
            obeys: true,
        }
    }

    /// Lends the rollback.
    fn lend(&self) {
        let (served, calls, obeys) = (Arc::clone(&self.served), Arc::clone(&self.calls), self.obeys);
        let function = move |intent: &Intent| {
            calls.lock().unwrap().push(intent.params.clone());
            if let Params::Rollback { from_version, to_version } = &intent.params
                && obeys
            {
                let to = if intent.key.purpose == Purpose::Act { to_version } else { from_version };
                *served.lock().unwrap() = to.to_string();
            }
            End::Done
        };
        let served = Arc::clone(&self.served);
        let probe =
            Asking::new(move || Some(Identity::default().with(Mark::ServedVersion, served.lock().unwrap().as_str())));
        let declared = Written {
            reversible: Some(true),
            undo: Some(Undo::MoveBack),
            idempotent: Some(true),
            ..Written::default()
        };
        let capability = Capability { declared, probe: Some(Arc::new(probe)) };
        self.service.capability(Action::RollbackModel, Arc::new(function), capability).unwrap();
    }

    /// Minutes pass, a reading each five seconds: version 2 is the bad one.
    fn minutes(&self, minutes: u64) {
        let signal = Signal::parse("error_share").unwrap();
        for _ in 0..minutes * 12 {
            self.clock.0.fetch_add(5_000, Ordering::SeqCst);
            let bad = *self.served.lock().unwrap() == "2";
            self.service.observe(&signal, if bad { 0.5 } else { 0.01 });
            self.healer.run_once().unwrap();
        }
    }

    fn deploy(&self, version: &str) {
        *self.served.lock().unwrap() = version.to_owned();
        self.service.deployed(None, Version::parse(version).unwrap()).unwrap();
    }

    fn only_incident(&self) -> Incident {
        let all = self.healer.incidents(10).unwrap();
        assert_eq!(all.len(), 1, "{all:?}");
        all[0].clone()
    }

    fn steps(&self) -> String {
        let (_, records) = self.healer.incident(self.only_incident().id.as_str()).unwrap();
        records.iter().map(|record| record.step.clone()).collect::<Vec<_>>().join(" ")
    }
}

/// What a healer of the same store that has not watched tells of what came in.
fn account_kept(plant: &Plant) -> Vec<super::Intake> {
    let setup = Setup::read(&plant.healer.setup().file).unwrap();
    let tools = Tools { store: Arc::clone(&plant.store), clock: plant.clock.clone(), agent: Arc::new(RulesAgent) };
    Healer::with(setup, tools).unwrap().intake().unwrap()
}

fn fraud() -> Application {
    Application::parse("fraud").unwrap()
}

const ASKS: &str = "version = 1\nblast = { share = 1.0 }\napprovals = { approvers = [\"ME\"] }\n";
const AUTO: &str = "version = 1\nmode = \"auto\"\nalways_ask = []\nhistory_min = 0\nblast = { share = 1.0 }\n";

/// A good version, then a bad one.
fn goes_bad(plant: &Plant) {
    plant.lend();
    plant.deploy("1");
    plant.minutes(5);
    plant.healer.mark_good(&fraud(), &Version::parse("1").unwrap(), "it has served for months").unwrap();
    plant.deploy("2");
    plant.minutes(3);
}

#[test]
fn a_bad_version_is_rolled_back_once_a_person_agrees_and_watched_until_it_is_well() {
    let plant = Plant::new(CONFIGURATION, ASKS);
    goes_bad(&plant);
    let asked = plant.healer.pending_approvals().unwrap();
    assert_eq!(asked.len(), 1, "{}", plant.steps());
    assert_eq!(asked[0].action, Action::RollbackModel);
    assert_eq!(asked[0].params["rollback"]["to_version"], "1");
    assert!(plant.calls.lock().unwrap().is_empty(), "nobody has agreed yet");
    // What was shown is what is approved, and nothing else.
    assert!(plant.healer.approve(&asked[0].id, "yes", Some("0000")).is_err());
    assert_eq!(plant.healer.approve(&asked[0].id, "yes", Some(&asked[0].digest)).unwrap(), ApprovalState::Granted);
    plant.minutes(1);
    assert_eq!(plant.calls.lock().unwrap().len(), 1);
    assert_eq!(*plant.served.lock().unwrap(), "1");
    assert_eq!(plant.only_incident().outcome, None, "one good minute is no recovery");
    plant.minutes(20);
    let incident = plant.only_incident();
    assert_eq!(
        format!("{:?} {:?}", incident.outcome, incident.closed_by),
        "Some(Healed) Some(Action)",
        "{}",
        plant.steps()
    );
    assert_eq!(plant.calls.lock().unwrap().len(), 1, "never twice");
    assert!(plant.healer.verify_ledger().unwrap().is_ok_and(|records| records > 8));
}

#[test]
fn policy_may_let_it_happen_by_itself() {
    let plant = Plant::new(CONFIGURATION, AUTO);
    goes_bad(&plant);
    assert!(plant.healer.pending_approvals().unwrap().is_empty(), "{:?}", plant.healer.pending_approvals());
    plant.minutes(20);
    assert_eq!(plant.only_incident().outcome.map(|outcome| format!("{outcome:?}")).as_deref(), Some("Healed"));
}

#[test]
fn a_rollback_that_changes_nothing_is_not_called_healed() {
    let mut plant = Plant::new(CONFIGURATION, AUTO);
    plant.obeys = false;
    goes_bad(&plant);
    plant.minutes(45);
    let incident = plant.only_incident();
    assert_eq!(
        incident.outcome.map(|outcome| format!("{outcome:?}")).as_deref(),
        Some("Escalated"),
        "{}",
        plant.steps()
    );
    assert_eq!(plant.calls.lock().unwrap().len(), 1, "never the same again");
}

#[test]
fn stopped_means_that_nothing_is_called_and_questions_are_void() {
    let plant = Plant::new(CONFIGURATION, ASKS);
    goes_bad(&plant);
    let asked = plant.healer.pending_approvals().unwrap();
    assert_eq!(asked.len(), 1);
    plant.healer.stop(Some(&fraud()), "").unwrap();
    assert!(plant.healer.pending_approvals().unwrap().is_empty());
    assert!(plant.healer.approve(&asked[0].id, "yes", None).is_err());
    plant.minutes(10);
    assert!(plant.calls.lock().unwrap().is_empty());
}

#[test]
fn without_a_version_that_is_known_as_good_there_is_no_rollback() {
    let plant = Plant::new(CONFIGURATION, AUTO);
    plant.lend();
    plant.deploy("1");
    plant.minutes(5);
    plant.deploy("2");
    plant.minutes(3);
    assert!(plant.calls.lock().unwrap().is_empty());
    assert_eq!(plant.only_incident().outcome.map(|outcome| format!("{outcome:?}")).as_deref(), Some("Escalated"));
}

#[test]
fn a_capability_does_not_contradict_the_configuration() {
    let configuration = format!(
        "{CONFIGURATION}[service.fraud.target.application]\nrollback_model = {{ adapter = \"command\", argv = [\"/bin/true\"] }}\n\
         reload_model = {{ adapter = \"callback\", timeout = \"1s\" }}\n"
    );
    let plant = Plant::new(&configuration, ASKS);
    let lend = |action, declared| {
        let capability = Capability { declared, probe: None };
        plant
            .service
            .capability(action, Arc::new(|_: &Intent| End::Done), capability)
            .map_err(|error| error.to_string())
    };
    assert_eq!(
        lend(Action::RollbackModel, Written::default()).unwrap_err(),
        "`capability` rollback_model has a target by command in the configuration"
    );
    assert_eq!(lend(Action::ReloadModel, Written::default()), Ok(()));
    assert!(lend(Action::ReloadModel, Written { reversible: Some(true), ..Written::default() }).is_err());
    assert!(lend(Action::Escalate, Written::default()).is_err());
}

#[test]
fn what_comes_late_is_kept_and_proves_nothing() {
    let plant = Plant::new(CONFIGURATION, ASKS);
    plant.minutes(2);
    let signal = Signal::parse("error_share").unwrap();
    let a_minute_ago = sanare_core::service::Moment::from_millis(plant.clock.now() - 61_500);
    let more = super::More { at: Some(a_minute_ago), ..super::More::default() };
    plant.service.report(&signal, sanare_core::service::ObservedValue::metric(0.9), more);
    assert_eq!(plant.healer.run_once().unwrap().stored, 1);
    let stored = plant.healer.store().recent(&fraud(), 100).unwrap();
    let late = stored.iter().find(|one| one.value.number() == Some(0.9)).unwrap();
    assert!(!late.proves_freshness(), "{:?}", late.flags);
    assert!(plant.healer.incidents(10).unwrap().is_empty());
}

#[test]
fn numbers_of_a_path_are_sent_once_an_interval() {
    let plant = Plant::new(CONFIGURATION, ASKS);
    for number in 0..200_u64 {
        plant.service.served("score", std::time::Duration::from_millis(number), number % 10 == 0);
    }
    plant.clock.0.fetch_add(1_000, Ordering::SeqCst);
    let pass = plant.healer.run_once().unwrap();
    assert_eq!(pass.stored, 4);
    let stored = plant.healer.store().recent(&fraud(), 10).unwrap();
    let numbers: Vec<String> =
        stored.iter().map(|one| format!("{} {}", one.signal, one.value.number().unwrap())).collect();
    assert_eq!(
        numbers,
        ["serving_requests 200", "serving_errors 20", "serving_error_share 0.1", "serving_latency_p99_ms 197"]
    );
    assert_eq!(plant.healer.run_once().unwrap().stored, 2, "no request is said, and no share is made up");
}
