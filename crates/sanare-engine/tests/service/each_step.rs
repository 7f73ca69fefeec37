//! What comes in between at each step before an act: the symptom clears, a hand holds it, somebody else acts, the target
//! goes (S80, S105, S114). And the edges between the steps.

use std::collections::BTreeSet;

use sanare_core::outcome::Outcome;
use sanare_core::service::word::ApprovalState;
use sanare_core::service::{Action, ClosedBy, Condition, Mark, ReceiptState, StepName};
use sanare_engine::service::{Loop, Reported};

use super::theatre::{Script, Stage, symptom, turn};
use super::transcript::line;

/// Steps before a receipt is started, in their order.
const BEFORE: [StepName; 9] = [
    StepName::Opened,
    StepName::Evident,
    StepName::Diagnosed,
    StepName::Proposed,
    StepName::Judged,
    StepName::Checked,
    StepName::Waiting,
    StepName::Approved,
    StepName::Prepared,
];

/// A restart of a process whose start time is its fence.
fn stage(mode: &str) -> Stage {
    let text = format!(
        "kind = \"unreachable\"\nmode = \"{mode}\"\nminutes = 60\ncured_by = \"restart_component\"\n\
         [[target]]\naction = \"restart_component\"\n"
    );
    let mut stage = Stage::new(&toml::from_str::<Script>(&text).unwrap());
    let adapter = stage.house.adapters.get_mut(&Action::RestartComponent).unwrap();
    adapter.declaration.fence = vec![Mark::StartTime];
    stage
}

/// Goes to a step, one at a time; what is asked is granted.
fn go_to(stage: &Stage, worker: &Loop<'_>, step: StepName) {
    stage.plant();
    let Reported::Opened(id) = worker.report(&stage.symptom().unwrap()).unwrap() else { panic!("it opens") };
    *stage.incident.borrow_mut() = Some(id.clone());
    for _ in 0..20 {
        if stage.store_run(&id).step.name() == step {
            return;
        }
        if worker.tick(1).unwrap() == 0 {
            stage.event("approve ann", worker);
        }
    }
    panic!("it never comes to {step}");
}

fn calls(stage: &Stage) -> usize {
    stage.house.adapters.values().map(|one| one.calls.lock().unwrap().len()).sum()
}

/// Nothing waits, and no receipt is left that says that something was sent.
fn nothing_is_left(stage: &Stage, step: StepName) {
    let open = stage.store.open_approvals().unwrap();
    let alive = |state| matches!(state, ApprovalState::Waiting | ApprovalState::Granted);
    assert!(!open.iter().any(|one| alive(one.state)), "{step}: a question is left");
    let id = stage.incident.borrow().clone().unwrap();
    for receipt in stage.store.receipts_of(&id).unwrap() {
        assert_eq!(receipt.state, ReceiptState::Failed, "{step}: {:?}", receipt.key);
        assert!(receipt.started_at.is_none(), "{step}");
    }
}

#[test]
fn what_clears_before_a_receipt_is_started_has_healed_by_itself() {
    for mode in ["auto", "ask"] {
        for step in BEFORE.into_iter().filter(|step| mode == "ask" || *step != StepName::Waiting) {
            let stage = stage(mode);
            let worker = Loop::new(stage.world(stage.store.as_ref()), "worker");
            go_to(&stage, &worker, step);
            worker.report(&symptom(stage.script.kind, Condition::Cleared, Vec::new())).unwrap();
            worker.tick(50).unwrap();
            let id = stage.incident.borrow().clone().unwrap();
            let incident = stage.store.incident(&id).unwrap().unwrap();
            assert_eq!((incident.step, incident.closed_by), (StepName::Closed, Some(ClosedBy::Itself)), "{step}");
            assert_eq!(calls(&stage), 0, "{step}");
            nothing_is_left(&stage, step);
        }
    }
}

#[test]
fn what_a_hand_holds_stands_still_at_each_step_and_goes_on_after_it() {
    for mode in ["auto", "ask"] {
        for step in BEFORE.into_iter().filter(|step| mode == "ask" || *step != StepName::Waiting) {
            let stage = stage(mode);
            let worker = Loop::new(stage.world(stage.store.as_ref()), "worker");
            go_to(&stage, &worker, step);
            let id = stage.incident.borrow().clone().unwrap();
            stage.event("hold on", &worker);
            for _ in 0..20 {
                turn(&stage, &worker);
                stage.clock.pass(15_000);
            }
            assert_eq!((stage.store_run(&id).step.name(), calls(&stage)), (step, 0), "held");
            stage.event("hold off", &worker);
            for _ in 0..4 {
                turn(&stage, &worker);
                stage.clock.pass(15_000);
                stage.event("approve ann", &worker);
            }
            assert_eq!(calls(&stage), 1, "{step}: it goes on");
        }
    }
}

/// Nothing is done on top of what somebody else has just done, even where policy permits it: what comes of theirs is
/// awaited, and only then looked at anew.
#[test]
fn nothing_is_done_on_top_of_a_restart_by_hand() {
    for mode in ["auto", "ask"] {
        // Before a proposal there is nothing yet that it contradicts.
        for step in BEFORE.into_iter().skip(3).filter(|step| mode == "ask" || *step != StepName::Waiting) {
            for helps in [true, false] {
                let stage = stage(mode);
                let worker = Loop::new(stage.world(stage.store.as_ref()), "worker");
                go_to(&stage, &worker, step);
                let id = stage.incident.borrow().clone().unwrap();
                stage.event("by_hand", &worker);
                if helps {
                    stage.cured.set(Some(stage.second()));
                }
                if step == StepName::Waiting {
                    stage.event("approve ann", &worker);
                }
                for _ in 0..9 * 4 {
                    turn(&stage, &worker);
                    stage.clock.pass(15_000);
                }
                let lines: Vec<String> = stage.store.records_of(&id).unwrap().iter().map(line).collect();
                let told = format!("{mode} {step}:\n{}", lines.join("\n"));
                assert_eq!(calls(&stage), 0, "{told}");
                // Where a person is asked next, it is noticed with the answer, and may be well again before that.
                let noticed = lines.iter().any(|line| line.contains("changed_by_others"));
                let asked_next = mode == "ask" && step == StepName::Checked;
                assert!(noticed || asked_next, "{told}");
                if noticed || helps {
                    nothing_is_left(&stage, step);
                }
                for _ in 0..15 * 4 {
                    turn(&stage, &worker);
                    stage.clock.pass(15_000);
                    stage.event("approve ann", &worker);
                }
                let incident = stage.store.incident(&id).unwrap().unwrap();
                match helps {
                    true => assert_eq!((incident.closed_by, calls(&stage)), (Some(ClosedBy::Itself), 0), "{told}"),
                    false => assert_eq!(calls(&stage), 1, "{told}: it is still ill, and what is so now is looked at"),
                }
            }
        }
    }
}

/// An adapter that is gone, unreachable or switched off between diagnosis and act (S80): nothing is done, the next round
/// does not offer it, and a person is told.
#[test]
fn what_is_not_available_any_more_is_not_acted_on() {
    for event in ["removed restart_component", "unreachable", "stop"] {
        for step in BEFORE.into_iter().skip(2) {
            let stage = stage("ask");
            let worker = Loop::new(stage.world(stage.store.as_ref()), "worker");
            go_to(&stage, &worker, step);
            let id = stage.incident.borrow().clone().unwrap();
            stage.event(event, &worker);
            worker.tick(50).unwrap();
            stage.event("approve ann", &worker);
            for _ in 0..10 {
                turn(&stage, &worker);
                stage.clock.pass(15_000);
            }
            let records = stage.store.records_of(&id).unwrap();
            let lines: Vec<String> = records.iter().map(line).collect();
            let told = format!("{event} at {step}:\n{}", lines.join("\n"));
            assert_eq!(calls(&stage), 0, "{told}");
            nothing_is_left(&stage, step);
            let incident = stage.store.incident(&id).unwrap().unwrap();
            assert!(matches!(incident.outcome, Some(Outcome::Escalated | Outcome::Refused)), "{told}");
            assert!(!stage.store.outbox(10).unwrap().is_empty(), "{told}");
            if incident.outcome == Some(Outcome::Escalated) {
                let last = lines.iter().rfind(|line| line.contains("diagnosed")).unwrap();
                assert!(last.contains("diagnosed escalate"), "it is offered again: {told}");
            }
        }
    }
}

/// The table of S105: from each step to these and to no other.
const TABLE: [(StepName, &str); 13] = [
    (StepName::Opened, "evident closed"),
    // What a storm or a silence puts back begins with fresh evidence, at each step.
    (StepName::Evident, "evident diagnosed escalating closed"),
    (StepName::Diagnosed, "evident proposed escalating closed"),
    // What policy refuses is recorded with the proposal, and a wait of ten minutes ends in a new round.
    (StepName::Proposed, "evident judged closed"),
    // A gate that fails has its own record, and a check has run.
    (StepName::Judged, "evident checked closed"),
    (StepName::Checked, "evident waiting approved closed"),
    (StepName::Waiting, "evident approved escalating closed"),
    (StepName::Approved, "evident prepared escalating closed"),
    (StepName::Prepared, "evident proposed applied escalating closed"),
    (StepName::Applied, "evident undoing escalating closed"),
    (StepName::Undoing, "escalating closed"),
    (StepName::Escalating, "closed"),
    // It fires again (S51), or a person wants another look, an act, or one to be taken back.
    (StepName::Closed, "evident proposed undoing"),
];

type Edges = BTreeSet<(StepName, StepName)>;

/// The steps of a transcript, one after the other.
fn edges(lines: impl Iterator<Item = String>) -> Edges {
    let steps: Vec<StepName> = lines
        .take_while(|line| line != "--")
        .filter_map(|line| StepName::parse(line.split(' ').nth(1)?).ok())
        .collect();
    steps.windows(2).map(|two| (two[0], two[1])).collect()
}

#[test]
fn every_edge_of_the_table_is_taken_and_no_other() {
    let mut taken = Edges::new();
    for (_, text, _) in super::scripts() {
        taken.extend(edges(crate::block(&text, "text").lines().map(str::to_owned)));
    }
    let mut meanwhile = |step: StepName, events: &[&str]| {
        let stage = stage("ask");
        let worker = Loop::new(stage.world(stage.store.as_ref()), "worker");
        go_to(&stage, &worker, step);
        for event in events {
            stage.event(event, &worker);
            worker.tick(50).unwrap();
        }
        for _ in 0..60 {
            turn(&stage, &worker);
            stage.clock.pass(15_000);
        }
        let id = stage.incident.borrow().clone().unwrap();
        taken.extend(edges(stage.store.records_of(&id).unwrap().iter().map(line)));
    };
    for step in BEFORE {
        meanwhile(step, &["report cleared"]);
        meanwhile(step, &["removed restart_component"]);
        meanwhile(step, &["storm on", "storm off"]);
    }
    let table: Edges = TABLE
        .iter()
        .flat_map(|(from, to)| to.split(' ').map(move |to| (*from, StepName::parse(to).unwrap())))
        .collect();
    let shown = |edges: Vec<&(StepName, StepName)>| {
        edges.iter().map(|(from, to)| format!("{from} -> {to}")).collect::<Vec<_>>().join(", ")
    };
    assert_eq!(shown(taken.difference(&table).collect()), "", "taken, and not in the table");
    assert_eq!(shown(table.difference(&taken).collect()), "", "in the table, and never taken");
}
