//! The configuration read again while everything goes on: old or new, never a mixture, and nothing is lost (S139).

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use sanare_core::service::port::House as _;
use sanare_core::service::{Action, ApprovalState, IncidentKind, ObservedValue, ReceiptState, Signal, StepName};

use super::super::{Changed, More, NotReloaded};
use super::AUTO;
use super::quiet::{ASKS, Fleet, ILL, WELL, name};

fn file(fleet: &Fleet) -> PathBuf {
    fleet.healer.setup().file.clone()
}

/// Changes a text in the file.
fn edit(fleet: &Fleet, from: &str, to: &str) {
    let text = std::fs::read_to_string(file(fleet)).unwrap();
    assert!(text.contains(from), "{from}");
    std::fs::write(file(fleet), text.replace(from, to)).unwrap();
}

fn keys(changed: &[Changed]) -> Vec<&str> {
    changed.iter().map(|one| one.key.as_str()).collect()
}

fn target(thing: &str) -> String {
    format!(
        "[service.app-0.target.application]\nrestart_component = {{ adapter = \"callback\", physical = \"{thing}\" }}\n"
    )
}

#[test]
fn what_changed_is_in_effect_and_in_the_ledger() {
    let fleet = Fleet::new(1, "", AUTO);
    fleet.minutes(1, |_, _| WELL);
    assert_eq!(fleet.healer.reload().unwrap(), []);
    edit(&fleet, "above = 500", "above = 50");
    let changed = fleet.healer.reload().unwrap();
    assert_eq!(keys(&changed), ["services.app-0.rules.1.bound.above"]);
    assert_eq!((changed[0].from.clone().unwrap(), changed[0].to.clone().unwrap()), (500.0.into(), 50.0.into()));
    fleet.minutes(3, |_, _| WELL);
    assert_eq!(fleet.of(IncidentKind::LatencyHigh).step, StepName::Closed, "100 ms are over the new bound");
    assert!(fleet.healer.verify_ledger().unwrap().is_ok());
}

#[test]
fn a_timer_goes_on_through_a_reload() {
    let fleet = Fleet::new(1, "", AUTO);
    fleet.minutes(1, |_, _| ILL);
    assert!(fleet.incidents().is_empty());
    edit(&fleet, "instances = 3", "instances = 4");
    assert_eq!(keys(&fleet.healer.reload().unwrap()), ["services.app-0.instances"]);
    fleet.minutes(1, |_, _| ILL);
    assert_eq!(fleet.incidents().len(), 1, "its minute began before");
}

#[test]
fn a_line_logged_just_before_a_reload_is_counted() {
    let log = "[[service.app-0.log]]\nsignal = \"lines\"\npattern = \"lost\"\nfile = \"app.log\"\n";
    let fleet = Fleet::new(1, log, AUTO);
    let path = file(&fleet).with_file_name("app.log");
    std::fs::write(&path, "lost\n").unwrap();
    fleet.minutes(1, |_, _| WELL);
    std::fs::write(&path, "lost\nlost\nlost\n").unwrap();
    edit(&fleet, "instances = 3", "instances = 4");
    fleet.healer.reload().unwrap();
    fleet.minutes(1, |_, _| WELL);
    let store = fleet.healer.store();
    let counted = store.recent(&name(0), 10_000).unwrap();
    let lines = counted.iter().filter(|one| one.signal.as_str() == "lines").map(|one| match &one.value {
        ObservedValue::LogSignal(log) => log.count,
        other => panic!("{other:?}"),
    });
    assert_eq!(lines.sum::<u64>(), 2, "what stood there when it began is not counted, the two that came are");
}

#[test]
fn what_is_wrong_leaves_everything_as_it_was_and_says_so() {
    let fleet = Fleet::new(1, "", AUTO);
    let good = std::fs::read_to_string(file(&fleet)).unwrap();
    let hash = fleet.healer.setup().configuration.hash();
    let said: Arc<Mutex<Vec<String>>> = Arc::default();
    let heard = Arc::clone(&said);
    fleet.healer.on_reload(move |done| {
        let told = match done {
            Ok(changed) => format!("changed {}", keys(changed).join(" ")),
            Err(error) => error.to_string(),
        };
        heard.lock().unwrap().push(told);
    });
    let refused = |bytes: Option<&[u8]>| {
        match bytes {
            Some(bytes) => std::fs::write(file(&fleet), bytes).unwrap(),
            None => std::fs::remove_file(file(&fleet)).unwrap(),
        }
        let error = fleet.healer.reload().unwrap_err();
        assert!(matches!(error, NotReloaded::Configuration(_)));
        assert_eq!(fleet.healer.setup().configuration.hash(), hash);
        error.to_string()
    };
    assert!(refused(Some(&good.as_bytes()[..good.len() / 2 - 3])).contains("sanare.toml:"), "half a file");
    assert!(refused(Some(b"[service.caf\xe9]\n")).contains("UTF-8"));
    assert!(refused(Some(good.replace("above = 500", "abve = 500").as_bytes())).contains("did you mean `above`"));
    assert!(refused(Some(good.replace("for = \"1m\"", "for = \"1s\"").as_bytes())).contains("`service.app-0.rule."));
    assert!(refused(Some(format!("store.path = \"other.db\"\n{good}").as_bytes())).contains("when the program starts"));
    assert!(refused(Some(b"")).contains("names no service any more"), "a file that is about to be written");
    assert!(refused(None).contains("cannot be read"));
    // A look notices by itself that the file changed, says once what is wrong, and takes what is right.
    fleet.minutes(3, |_, _| WELL);
    std::fs::write(file(&fleet), "[service.app-0\n").unwrap();
    fleet.minutes(5, |_, _| WELL);
    std::fs::write(file(&fleet), good.replace("instances = 3", "instances = 5")).unwrap();
    fleet.minutes(2, |_, _| WELL);
    let said = said.lock().unwrap().clone();
    assert_eq!(said.len(), 3, "{said:?}");
    assert!(said[0].contains("cannot be read") && said[1].contains("not TOML"), "{said:?}");
    assert_eq!(said[2], "changed services.app-0.instances");
    assert_ne!(fleet.healer.setup().configuration.hash(), hash);
}

#[test]
fn secrets_are_not_in_the_record_of_a_change() {
    let fleet = Fleet::new(1, "", AUTO);
    let token = format!("{}{}", "ghp_", "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8");
    let check = |word: &str| {
        format!(
            "[[service.app-0.diagnostic]]\nid = \"disk\"\nkinds = [\"resource_exhausted\"]\nread_only = true\nargv = [\"/bin/df\", \"{word}\"]\n"
        )
    };
    edit(&fleet, "[service.app-0]", &format!("[service.app-0]\n# {token}"));
    std::fs::write(file(&fleet), std::fs::read_to_string(file(&fleet)).unwrap() + &check("hunter2-hunter2")).unwrap();
    let changed = fleet.healer.reload().unwrap();
    let text = serde_json::to_string(&changed).unwrap();
    assert!(text.contains("check.command.1") && !text.contains("hunter2") && !text.contains(&token), "{text}");
}

#[test]
fn a_target_that_is_renamed_between_approval_and_act_is_not_acted_on() {
    let fleet = Fleet::new(1, &target("machine:one"), ASKS);
    fleet.lend();
    fleet.minutes(4, |_, _| ILL);
    let asked = fleet.healer.pending_approvals().unwrap().remove(0);
    assert_eq!(asked.target, "machine:one");
    assert_eq!(fleet.healer.approve(&asked.id, "yes", Some(&asked.digest)).unwrap(), ApprovalState::Granted);
    edit(&fleet, "machine:one", "machine:two");
    assert_eq!(keys(&fleet.healer.reload().unwrap()), ["services.app-0.targets.0.key"]);
    fleet.minutes(3, |_, _| ILL);
    assert_eq!(fleet.acts(), 0);
    let id = sanare_core::id::Id::from_text(&asked.id);
    assert_eq!(fleet.healer.store().approval(&id).unwrap().unwrap().state, ApprovalState::Voided);
    let again = fleet.healer.pending_approvals().unwrap();
    assert_eq!(again.len(), 1);
    assert_eq!(again[0].target, "machine:two");
    fleet.healer.approve(&again[0].id, "yes", Some(&again[0].digest)).unwrap();
    fleet.minutes(1, |_, _| ILL);
    assert_eq!(fleet.acts(), 1);
}

#[test]
fn what_is_begun_goes_on_with_its_own_target() {
    let fleet = Fleet::new(1, &target("machine:one"), AUTO);
    fleet.lend();
    fleet.minutes(4, |_, _| ILL);
    assert_eq!(fleet.acts(), 1);
    let incident = fleet.of(IncidentKind::ErrorRateHigh);
    assert_eq!(incident.step, StepName::Applied);
    let receipt = fleet.healer.store().receipts_of(&incident.id).unwrap().remove(0);
    assert_eq!((receipt.state, receipt.target.to_string()), (ReceiptState::Done, "machine:one".to_owned()));
    edit(&fleet, "machine:one", "machine:two");
    fleet.healer.reload().unwrap();
    let house = fleet.healer.house();
    let of = |fitting: Result<sanare_core::service::port::Fitting<'_>, String>| {
        fitting.map(|fitting| fitting.adapter.declaration().target.to_string())
    };
    assert_eq!(of(house.fitting(&name(0), Action::RestartComponent)), Ok("machine:two".to_owned()));
    assert_eq!(of(house.resolved(&receipt)), Ok("machine:one".to_owned()), "followed to its end where it began");
    // Long after, nobody needs it any more.
    fleet.minutes(30, |_, _| WELL);
    edit(&fleet, "machine:two", "machine:three");
    fleet.healer.reload().unwrap();
    assert!(of(fleet.healer.house().resolved(&receipt)).is_err());
}

/// Others have their turn: nothing here waits for it.
fn rest() {
    std::thread::sleep(std::time::Duration::from_millis(2));
}

#[test]
fn reloads_under_load_lose_no_reading_and_mix_nothing() {
    let reloads: usize = std::env::var("RELOADS").ok().and_then(|text| text.parse().ok()).unwrap_or(150);
    let fleet = Fleet::new(2, &target("machine:one"), AUTO);
    let one = std::fs::read_to_string(file(&fleet)).unwrap();
    let two = one.replace("machine:one", "machine:two").replace("above = 500", "above = 400").replacen("= 3", "= 7", 1);
    fleet.services[0]
        .capability(
            Action::RestartComponent,
            Arc::new(|_: &sanare_core::service::port::Intent| sanare_effects::service::callback::End::NotStarted),
            super::super::Capability::default(),
        )
        .unwrap();
    let over = AtomicBool::new(false);
    let signal = Signal::parse("error_share").unwrap();
    let (mut calls, mut changes, mut failed) = (0, 0, Vec::new());
    let by_look = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&by_look);
    fleet.healer.on_reload(move |done| {
        counted.fetch_add(done.as_ref().map_or(0, Vec::len), Ordering::SeqCst);
    });
    std::thread::scope(|scope| {
        let looking = scope.spawn(|| {
            while !over.load(Ordering::SeqCst) {
                fleet.clock.0.fetch_add(1_000, Ordering::SeqCst);
                fleet.healer.run_once().unwrap();
                rest();
            }
        });
        let observing: Vec<_> = fleet
            .services
            .iter()
            .map(|service| {
                let (over, signal) = (&over, &signal);
                scope.spawn(move || {
                    let mut calls = 0_u64;
                    while !over.load(Ordering::SeqCst) {
                        calls += 1;
                        // Each has a name: the same number at the same moment would be one reading.
                        let more = More { id: Some(format!("{calls}")), ..More::default() };
                        service.report(signal, ObservedValue::metric(0.5), more);
                        if calls.is_multiple_of(8) {
                            rest();
                        }
                    }
                    calls
                })
            })
            .collect();
        let mixing = scope.spawn(|| {
            while !over.load(Ordering::SeqCst) {
                let house = fleet.healer.house();
                let configured = house.setup.configuration.target(&name(0), Action::RestartComponent).unwrap();
                let fitting = house.fitting(&name(0), Action::RestartComponent).unwrap();
                if fitting.adapter.declaration().target != configured.key {
                    return false;
                }
                rest();
            }
            true
        });
        for number in 0..reloads {
            std::fs::write(file(&fleet), if number % 2 == 0 { &two } else { &one }).unwrap();
            // Two at once: one of them changes it, and the other finds nothing to do.
            let other = scope.spawn(|| fleet.healer.reload().map(|changed| changed.len()));
            let own = fleet.healer.reload().map(|changed| changed.len());
            // A look may have taken it before both.
            let done = [own, other.join().unwrap()];
            failed.extend(done.iter().filter_map(|one| one.as_ref().err().map(ToString::to_string)));
            changes += done.into_iter().flatten().max().unwrap_or_default();
        }
        over.store(true, Ordering::SeqCst);
        looking.join().unwrap();
        assert!(mixing.join().unwrap(), "a mixture");
        calls = observing.into_iter().map(|thread| thread.join().unwrap()).sum();
    });
    fleet.healer.run_once().unwrap();
    assert_eq!(failed, Vec::<String>::new());
    assert_eq!(
        changes + by_look.load(Ordering::SeqCst),
        reloads * 4,
        "each time target, two bounds and instances, whole"
    );
    let stats = fleet.services[0].stats();
    assert_eq!((stats.dropped, stats.refused, stats.queued), (0, 0, 0));
    assert_eq!(fleet.healer.store().newest_sequence().unwrap(), calls, "every reading is stored, once");
    let opened = |number: usize| {
        let all = fleet.incidents().into_iter().filter(|one| one.application == name(number)).collect::<Vec<_>>();
        all.iter().filter(|one| one.kind == IncidentKind::ErrorRateHigh).count()
    };
    assert_eq!((opened(0), opened(1)), (1, 1), "ill all the time, and found once");
}
