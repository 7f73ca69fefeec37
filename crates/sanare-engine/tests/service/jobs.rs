//! Jobs that an act has begun: one open request, whoever asks and however often a worker dies, and no time of ours (S88, S109).

use sanare_core::port::Clock as _;
use sanare_core::service::moment::{HOUR, MINUTE};
use sanare_core::service::{Condition, IncidentKind, ReceiptState, ServiceStore, StepName};
use sanare_engine::service::{Loop, Reported};
use sanare_store::Sqlite;

use super::theatre::{Script, Stage, symptom};

fn script(jobs: &str) -> Script {
    let text = format!(
        "kind = \"model_stale\"\n[[target]]\naction = \"request_retraining\"\nreversible = true\njobs = {jobs}\n"
    );
    toml::from_str(&text).unwrap()
}

/// Minutes in which two things are wrong with one model; each minute is another worker's.
fn minutes(stage: &Stage, store: &dyn ServiceStore, minutes: u64) {
    for _ in 0..minutes {
        let worker = Loop::new(stage.world(store), "worker");
        for kind in [IncidentKind::ModelStale, IncidentKind::InputDrift] {
            let evidence = vec![(stage.reading(), 1.0)];
            if let Reported::Opened(id) = worker.report(&symptom(kind, Condition::Firing, evidence)).unwrap() {
                stage.incident.borrow_mut().get_or_insert(id);
            }
        }
        worker.tick(50).unwrap();
        stage.clock.pass(60_000);
    }
}

fn calls(stage: &Stage) -> usize {
    stage.house.adapters.values().map(|one| one.calls.lock().unwrap().len()).sum()
}

#[test]
fn one_request_is_open_however_many_incidents_want_it_and_workers_die() {
    let folder = tempfile::tempdir().unwrap();
    let stage = Stage::on(&script("[\"running\"]"), Box::new(Sqlite::open(&folder.path().join("store.db")).unwrap()));
    minutes(&stage, stage.store.as_ref(), 90);
    assert_eq!(calls(&stage), 1);
    let first = stage.incident.borrow().clone().unwrap();
    let run = stage.store_run(&first);
    assert_eq!(run.step.name(), StepName::Applied, "it is followed by whoever comes");
    let receipts = stage.store.receipts_of(&first).unwrap();
    assert_eq!(receipts.iter().map(|one| one.state).collect::<Vec<_>>(), [ReceiptState::Started]);
    // Ninety minutes have passed, and none of them was ours.
    assert!(run.active(sanare_core::service::Moment::from_millis(stage.clock.now())) <= 2 * MINUTE);
}

#[test]
fn a_job_without_an_end_is_nobody_s_success() {
    let stage = Stage::new(&script("[\"running\"]"));
    minutes(&stage, stage.store.as_ref(), 2);
    stage.clock.pass(24 * 60 * 60_000);
    minutes(&stage, stage.store.as_ref(), 30);
    assert_eq!(calls(&stage), 1, "it may still be at work");
    let first = stage.incident.borrow().clone().unwrap();
    assert_eq!(stage.store.receipts_of(&first).unwrap()[0].state, ReceiptState::Unknown);
    let message = stage.store.outbox(50).unwrap().into_iter().find(|one| one.incident == first).unwrap();
    let why = message.body.as_ref()["why"].as_str().unwrap().to_owned();
    assert!(why.starts_with("the job of request_retraining has not ended within 24 h; settle receipt rct_"), "{why}");
}

/// Where nobody can say how the job stands, a request counts as open for as long as one may be.
#[test]
fn what_is_not_followed_is_not_asked_for_again_for_a_day() {
    let stage = Stage::new(&Script {
        policy:
            "version = 1\nmode = \"auto\"\nhistory_min = 0\nalways_ask = []\napprovals = { approvers = [\"ann\"] }\n"
                .to_owned(),
        ..script("[]")
    });
    let ask = |stage: &Stage| {
        minutes(stage, stage.store.as_ref(), 1);
        stage.event("approve ann", &Loop::new(stage.world(stage.store.as_ref()), "people"));
        minutes(stage, stage.store.as_ref(), 5);
    };
    ask(&stage);
    ask(&stage);
    assert_eq!(calls(&stage), 1, "two incidents, and one request");
    stage.clock.pass(HOUR / 1_000 * 25);
    let worker = Loop::new(stage.world(stage.store.as_ref()), "worker");
    worker.report(&symptom(IncidentKind::OutputDrift, Condition::Firing, vec![(stage.reading(), 1.0)])).unwrap();
    worker.tick(50).unwrap();
    stage.event("approve ann", &worker);
    worker.tick(50).unwrap();
    assert_eq!(calls(&stage), 2, "it is over by now");
}

/// A person cancels: the job is asked to end once, and only its own word is its end.
#[test]
fn a_person_cancels_a_job_that_runs() {
    let played = |reactions: &str, jobs: &str, after: u64| {
        let text = format!(
            "kind = \"model_stale\"\n[[target]]\naction = \"request_retraining\"\nreversible = true\njobs = {jobs}\nreactions = {reactions}\n"
        );
        let stage = Stage::new(&toml::from_str(&text).unwrap());
        minutes(&stage, stage.store.as_ref(), 5);
        let first = stage.incident.borrow().clone().unwrap();
        let people = Loop::new(stage.world(stage.store.as_ref()), "people");
        let answer = people.undo(&first, "ann", "the wrong data");
        minutes(&stage, stage.store.as_ref(), 2);
        stage.clock.pass(after * 60_000);
        minutes(&stage, stage.store.as_ref(), 3);
        let receipts = stage.store.receipts_of(&first).unwrap();
        let told = receipts.iter().map(|one| format!("{} {}", one.key.purpose, one.state)).collect::<Vec<_>>();
        let run = stage.store_run(&first);
        let calls = stage.house.adapters.values().flat_map(|one| one.calls.lock().unwrap().clone());
        let undone = calls.filter(|one| one.job.is_some()).count();
        let answer = answer.map_or_else(|why| why.to_string(), |()| "taken".to_owned());
        (answer, told.join(", "), run.step.name().word().to_owned(), undone)
    };
    let said = |(answer, receipts, step, undone): (String, String, String, usize)| {
        format!("{answer}: {receipts}; {step}; asked {undone} times")
    };
    // The request is the first call, what cancels it the second.
    let running = "[\"running\"]";
    assert_eq!(said(played("[]", running, 5)), "taken: act undone, undo done; closed; asked 1 times");
    // The one that answers nothing may have done it: its job says so.
    let lost = "[\"obeys\", \"acts_says:unknown\"]";
    assert_eq!(said(played(lost, running, 5)), "taken: act undone, undo done; closed; asked 1 times");
    // Declined: the job goes on and is followed as before.
    let declined = "[\"obeys\", \"says:refused\"]";
    assert_eq!(said(played(declined, running, 5)), "taken: act started, undo failed; applied; asked 1 times");
    // Accepted and not obeyed: nobody says that it has ended, it is not asked a second time, and in the end a person is told.
    let deaf = "[\"obeys\", \"says:done\"]";
    assert_eq!(said(played(deaf, running, 60)), "taken: act started, undo started; undoing; asked 1 times");
    assert_eq!(said(played(deaf, running, 24 * 60)), "taken: act unknown, undo unknown; closed; asked 1 times");
}

/// What has ended by itself is not cancelled, and what says no way to cancel cannot be.
#[test]
fn what_has_ended_is_not_cancelled() {
    let text = "kind = \"model_stale\"\n[[target]]\naction = \"request_retraining\"\nreversible = true\njobs = [\"running\", \"running\", \"running\", \"running\", \"done 43\"]\n";
    let stage = Stage::new(&toml::from_str(text).unwrap());
    minutes(&stage, stage.store.as_ref(), 4);
    let first = stage.incident.borrow().clone().unwrap();
    let people = Loop::new(stage.world(stage.store.as_ref()), "people");
    assert_eq!(people.undo(&first, "ann", "the wrong data").map_err(|why| why.to_string()), Ok(()));
    minutes(&stage, stage.store.as_ref(), 10);
    let asked = stage.house.adapters.values().flat_map(|one| one.calls.lock().unwrap().clone());
    assert_eq!(asked.filter(|one| one.job.is_some()).count(), 0);
    let records = stage.store.records_of(&first).unwrap();
    assert!(records.iter().any(|one| one.step == "not_cancelled"), "it is told why");
    assert_eq!(stage.store.receipts_of(&first).unwrap()[0].state, ReceiptState::Done);
    let again = people.undo(&first, "ann", "all the same").map_err(|why| why.to_string());
    assert!(again.as_ref().is_err_and(|why| why.contains("nothing to cancel")), "{again:?}");
}
