//! Limits that last: how often each action may come whoever asks for it (S12), and windows that no death refills (S99).

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use sanare_core::port::{Clock as _, StoreFault};
use sanare_core::service::moment::HOUR;
use sanare_core::service::run::MessageKind;
use sanare_core::service::verification::Seen;
use sanare_core::service::{Action, Change, Component, Condition, IncidentKind, Moment, ReceiptState, ServiceStore};
use sanare_engine::service::Loop;

use super::hooked::Hooked;
use super::theatre::{Script, Stage, symptom, turn};

/// What comes of an act, as scripts say it.
const OUTCOMES: [&str; 8] =
    ["cured", "obeys", "worse", "says:refused", "says:not_started", "says:unknown", "acts_says:unknown", "panics"];

fn script(action: Action, outcome: &str) -> Script {
    let reaction = if ["cured", "worse"].contains(&outcome) { "obeys" } else { outcome };
    let cured = if outcome == "cured" { format!("cured_by = \"{action}\"\n") } else { String::new() };
    // The same each time that it is called.
    let target = format!(
        "[[target]]\naction = \"{action}\"\nreversible = {}\nreactions = [\"{reaction}\", \"{reaction}\", \"{reaction}\"]\n",
        outcome == "worse"
    );
    let target = if action.is_framework() { String::new() } else { target };
    let text = format!(
        "kind = \"model_load_failed\"\nagent = \"always {action}\"\nworse = {}\nchanged = true\n\
         diagnostics = [\"one\", \"two\", \"three\"]\n{cured}{target}[[at]]\nminute = 3\ndo = \"approve ann\"\n\
         [[at]]\nminute = 7\ndo = \"approve ann\"\n[[at]]\nminute = 12\ndo = \"approve ann\"\n",
        outcome == "worse",
    );
    toml::from_str(&text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

#[test]
fn an_agent_that_always_answers_the_same_stays_within_the_limits_of_each_action() {
    std::panic::set_hook(Box::new(|_| {}));
    let mut acted = BTreeSet::new();
    for action in Action::ALL.iter().copied() {
        for outcome in OUTCOMES {
            let stage = Stage::new(&script(action, outcome));
            let worker = Loop::new(stage.world(stage.store.as_ref()), "worker");
            for _ in 0..120 {
                turn(&stage, &worker);
                stage.clock.pass(60_000);
            }
            let id = stage.incident.borrow().clone().unwrap();
            let incident = stage.store.incident(&id).unwrap().unwrap();
            let records = stage.store.records_of(&id).unwrap();
            let times = |step: &str| records.iter().filter(|record| record.step == step).count();
            let receipts = stage.store.receipts_of(&id).unwrap();
            let started =
                receipts.iter().filter(|one| one.started_at.is_some() && one.key.purpose.word() == "act").count();
            let attempts = |wanted: Action| incident.attempts.iter().filter(|one| one.action == wanted).count();
            let harmless = matches!(outcome, "says:refused" | "says:not_started");
            let most = match action {
                Action::RunDiagnostic => 2,
                Action::NoAction => 3,
                Action::Escalate => 1,
                _ if harmless => 2,
                _ => 1,
            };
            let told = format!("{action} {outcome}: {started} acts, {:?}", incident.attempts);
            assert!(started <= if action.is_framework() { 0 } else { most }, "{told}");
            assert!(attempts(action) <= most, "{told}");
            assert_eq!(attempts(Action::Escalate), 0, "{told}");
            let checks: Vec<_> = incident.attempts.iter().filter_map(|one| one.diagnostic.clone()).collect();
            assert_eq!(checks.iter().collect::<BTreeSet<_>>().len(), checks.len(), "each check once: {told}");
            // What is proposed again is refused as tried, or is no answer: there is no endless asking.
            assert!(times("proposed") <= most + 2, "{told}");
            let escalations = stage.store.outbox(100).unwrap();
            let escalations = escalations.iter().filter(|one| one.kind == MessageKind::Escalation).count();
            assert!(escalations <= 1, "{told}");
            assert!(escalations == 1 || outcome == "cured" || times("closed") > 0, "somebody is told: {told}");
            if started > 0 {
                acted.insert((action.word(), outcome));
            }
        }
    }
    // The five that act did so at least where they are obeyed: the limits above are not those of a loop that does nothing.
    assert!(acted.len() >= 5 * 6, "{acted:?}");
}

/// A store that a worker dies on: with the commit that starts a receipt, after it, so that the act is counted and not done.
fn dies_after_a_start<'a>(inner: &'a dyn ServiceStore, dead: &'a AtomicUsize) -> Hooked<'a> {
    let commit = move |store: &dyn ServiceStore, change: &Change| {
        if dead.load(Relaxed) == 1 {
            return Err(StoreFault::Busy.into());
        }
        let starts = change.receipts.iter().any(|(receipt, _)| receipt.state == ReceiptState::Started);
        let made = store.commit(change)?;
        if starts {
            dead.store(1, Relaxed);
            return Err(StoreFault::Busy.into());
        }
        Ok(made)
    };
    Hooked { inner, commit: Box::new(commit), is_dead: Box::new(move || dead.load(Relaxed) == 1) }
}

#[test]
fn a_thousand_deaths_between_count_and_act_refill_no_window() {
    const MOST: usize = 3;
    let text = "kind = \"unreachable\"\n[[target]]\naction = \"restart_component\"\nidempotent = true\n";
    let policy = format!(
        "version = 1\nmode = \"auto\"\nhistory_min = 0\nconfidence_gate = 0.21\nalways_ask = []\ncooldown = {{ first = \"1s\", factor = 1, max = \"1s\" }}\n\
         windows = {{ target = {{ hour = {MOST}, day = 1000 }}, application = {{ hour = 1000, day = 10000 }}, \
         all = {{ hour = 1000, day = 10000 }} }}\napprovals = {{ approvers = [\"ann\"], expire = \"5m\" }}\n"
    );
    let script = Script { policy, ..toml::from_str(text).unwrap() };
    for _ in 0..20 {
        fifty_deaths(&script, MOST);
    }
}

fn fifty_deaths(script: &Script, most: usize) {
    let stage = Stage::new(script);
    let (mut deaths, mut rounds) = (0, 0);
    while deaths < 50 {
        rounds += 1;
        assert!(rounds < 400, "{deaths} deaths only: {}", told(&stage));
        let dead = AtomicUsize::new(0);
        let mortal = dies_after_a_start(stage.store.as_ref(), &dead);
        let component = Component::parse(format!("part-{rounds}")).unwrap();
        let of = |condition| sanare_engine::service::Symptom {
            component: component.clone(),
            ..symptom(IncidentKind::Unreachable, condition, vec![(stage.reading(), 1.0)])
        };
        let victim = Loop::new(stage.world(&mortal), "victim");
        victim.report(&of(Condition::Firing)).unwrap();
        let died = victim.tick(20).is_err();
        assert_eq!(died, dead.load(Relaxed) == 1, "a fault that nobody made");
        deaths += usize::from(died);
        // Whoever comes next finds the act counted. In half of the cases it comes before the leases of the dead one are over,
        // and the symptom is gone before it may do anything: then nobody knows, and a person settles it.
        let next = Loop::new(stage.world(stage.store.as_ref()), "next");
        stage.clock.pass(if rounds % 2 == 0 { 60_000 } else { 150_000 });
        next.tick(50).unwrap();
        next.report(&of(Condition::Cleared)).unwrap();
        for _ in 0..12 {
            stage.clock.pass(60_000);
            // What was done has helped: an agent that is often wrong would lose its automatic action, and nothing be counted.
            let at = Moment::from_millis(stage.clock.now());
            stage.house.readings.lock().unwrap().push(Seen { at, fresh: true, inside: Some(true) });
            next.tick(50).unwrap();
            for receipt in stage.store.unsettled().unwrap() {
                if receipt.state == ReceiptState::Unknown {
                    next.settle(&receipt.id, ReceiptState::Failed, "ann", "looked at it").unwrap();
                }
            }
        }
    }
    // Counted by the receipts, which say what was begun, and not by what the limits have counted themselves.
    let mut starts: Vec<Moment> = Vec::new();
    for incident in stage.store.newest_incidents(usize::MAX).unwrap() {
        starts.extend(stage.store.receipts_of(&incident.id).unwrap().iter().filter_map(|one| one.started_at));
    }
    assert!(starts.len() >= 50, "{} receipts of {deaths} deaths", starts.len());
    for from in &starts {
        let within = starts.iter().filter(|at| *at >= from && at.since(*from) < HOUR).count();
        assert!(within <= most, "{within} acts within an hour from {from}");
    }
    let all = stage.store.acts(Moment::default()).unwrap();
    let counted: BTreeSet<_> = all.iter().map(|act| &act.receipt).collect();
    assert_eq!((all.len(), counted.len()), (starts.len(), starts.len()), "each is counted once");
    // Each was begun, and none of them twice for having been counted once.
    let calls: usize = stage.house.adapters.values().map(|one| one.calls.lock().unwrap().len()).sum();
    assert!(calls <= all.len() && calls > 0, "{calls} calls of {} acts", all.len());
}

/// The newest incidents, step by step.
fn told(stage: &Stage) -> String {
    let all = stage.store.newest_incidents(3).unwrap();
    let lines = all.iter().flat_map(|one| stage.store.records_of(&one.id).unwrap());
    lines.map(|record| super::transcript::line(&record)).collect::<Vec<_>>().join("\n")
}

/// Three waits of ten minutes, and at 30 minutes a person is told (S109).
#[test]
fn an_agent_that_always_waits_has_half_an_hour() {
    let stage =
        Stage::new(&toml::from_str::<Script>("kind = \"dependency_down\"\nagent = \"always no_action\"\n").unwrap());
    let worker = Loop::new(stage.world(stage.store.as_ref()), "worker");
    let minute = |at: Moment, from: Moment| at.since(from) / 60_000_000;
    for _ in 0..60 {
        turn(&stage, &worker);
        stage.clock.pass(60_000);
    }
    let id = stage.incident.borrow().clone().unwrap();
    let incident = stage.store.incident(&id).unwrap().unwrap();
    let waits: Vec<u64> = incident.attempts.iter().map(|one| minute(one.at, super::theatre::begin())).collect();
    assert!(incident.attempts.iter().all(|one| one.action == Action::NoAction));
    assert_eq!(waits, [10, 20, 30], "a wait is over ten minutes after it began");
    let told = stage.store.outbox(10).unwrap();
    let told: Vec<_> = told.iter().map(|one| (one.kind, minute(one.at, super::theatre::begin()))).collect();
    assert_eq!(told, [(MessageKind::Escalation, 30)]);
}
