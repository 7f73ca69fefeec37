//! Adapters that break down wherever they are asked: a gate that stops, no act, and a loop that goes on (S90, S58).

use sanare_core::service::{Action, Condition, IncidentKind, ReceiptState};
use sanare_engine::service::{Loop, Reported};

use super::theatre::{Script, Stage, symptom};

const POLICY: &str = "version = 1\nmode = \"auto\"\nhistory_min = 0\nconfidence_gate = 0.21\nalways_ask = []\n\
                      approvals = { approvers = [\"ann\"], expire = \"5m\" }\n";

/// Acts, and what is told in the end, of a service whose adapter breaks down at this call.
fn played(kind: IncidentKind, action: Action, breaks: &str, more: &str) -> (usize, String) {
    let text = format!(
        "kind = \"{kind}\"\nagent = \"always {action}\"\nchanged = true\n[[target]]\naction = \"{action}\"\nbreaks = \"{breaks}\"\n{more}\n"
    );
    let script = Script { policy: POLICY.to_owned(), ..toml::from_str(&text).unwrap() };
    let stage = Stage::new(&script);
    let worker = Loop::new(stage.world(stage.store.as_ref()), "worker");
    let report = |kind| worker.report(&symptom(kind, Condition::Firing, vec![(stage.reading(), 1.0)])).unwrap();
    let Reported::Opened(first) = report(kind) else { panic!("nothing is opened") };
    for _ in 0..90 {
        // A tick that broke down would leave every other run where it is.
        worker.tick(20).unwrap();
        stage.clock.pass(60_000);
    }
    let Reported::Opened(second) = report(IncidentKind::OutputDrift) else { panic!("nothing is opened") };
    worker.tick(20).unwrap();
    assert_ne!(stage.store_run(&second).step.name().word(), "opened", "the loop goes on");
    let calls = stage.house.adapters[&action].calls.lock().unwrap().len();
    let records = stage.store.records_of(&first).unwrap();
    let reasons = records.iter().map(|record| record.json().to_string()).collect::<Vec<_>>().join("\n");
    (
        calls,
        format!(
            "{reasons}\n{:?}",
            stage.store.receipts_of(&first).unwrap().iter().map(|one| one.state).collect::<Vec<_>>()
        ),
    )
}

fn check(breaks: &str, more: &str, acts: usize, told: &str) {
    std::panic::set_hook(Box::new(|_| {}));
    let (calls, text) = played(IncidentKind::Unreachable, Action::RestartComponent, breaks, more);
    assert_eq!(calls, acts, "{breaks}: {text}");
    assert!(text.contains(told), "{breaks}: {text}");
}

#[test]
fn whatever_an_adapter_breaks_down_at_before_the_act_there_is_none() {
    check("available", "", 0, "the adapter broke down");
    check("rehearse", "precondition = \"passed\"", 0, "\"reason\":\"the adapter broke down\"");
    // What nobody can read is not what was seen: it is asked for, and nobody answers.
    check("identity", "", 0, "nothing says what the target is");
}

#[test]
fn whatever_it_breaks_down_at_after_the_act_nobody_claims_to_know() {
    check("state", "reactions = [\"acts_says:unknown\"]", 1, &format!("[{:?}]", ReceiptState::Unknown));
    check("state", "reactions = [\"acts_panics\"]", 1, &format!("[{:?}]", ReceiptState::Unknown));
}

/// A job whose adapter breaks down has not ended well, and nothing is asked for a second time.
#[test]
fn a_job_that_nobody_can_ask_for_is_no_success() {
    std::panic::set_hook(Box::new(|_| {}));
    for (breaks, state) in [("job", ReceiptState::Started), ("follows", ReceiptState::Started)] {
        let (calls, text) = played(
            IncidentKind::ModelStale,
            Action::RequestRetraining,
            breaks,
            "reversible = true\njobs = [\"running\"]",
        );
        assert_eq!(calls, 1, "{breaks}: {text}");
        assert!(text.ends_with(&format!("[{state:?}]")), "{breaks}: {text}");
    }
}
