//! Approvals at every moment, broken in every way: nothing is done without a valid, current, unused answer of the right
//! people, and every question ends where people see it (S100 to S104, S152).

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use sanare_core::hash::Digest;
use sanare_core::incident::Mode;
use sanare_core::policy::Policy;
use sanare_core::port::Clock as _;
use sanare_core::service::approval::{Approval, Decision, Principal};
use sanare_core::service::confidence::Caps;
use sanare_core::service::port::scripted::{HandClock, ScriptedHouse};
use sanare_core::service::run::MessageKind;
use sanare_core::service::{
    Action, ApprovalState, Condition, IncidentKind, Mark, Moment, Receipt, ReceiptState, StepName,
};
use sanare_engine::service::{Loop, World};
use sanare_store::Sqlite;

use super::hooked::Hooked;
use super::theatre::{Script, Stage, symptom, turn};

const ASKS: &str = "kind = \"unreachable\"\nmode = \"ask\"\ncured_by = \"restart_component\"\n\
                    [[target]]\naction = \"restart_component\"\nidempotent = true\n\
                    [[target]]\naction = \"reload_model\"\n";
const POLICY: &str = "version = 1\nmode = \"auto\"\nhistory_min = 0\nalways_ask = []\n";
const TWO: &str = "approvals = { approvers = [\"ann\", \"group:mlops\"], count = 2 }\n";

fn stage() -> Stage {
    with("")
}

/// A stage whose policy has these approvers; ann and bob, one of them, if it is empty.
fn with(approvals: &str) -> Stage {
    let mut script: Script = toml::from_str(ASKS).unwrap();
    script.mode = Mode::Ask;
    if !approvals.is_empty() {
        script.policy = format!("{POLICY}{approvals}");
    }
    Stage::new(&script)
}

fn worker<'a>(stage: &'a Stage) -> Loop<'a> {
    Loop::new(stage.world(stage.store.as_ref()), "worker")
}

/// The question that waits.
fn asked(stage: &Stage, worker: &Loop<'_>) -> Approval {
    turn(stage, worker);
    waiting(stage).expect("it asks")
}

fn waiting(stage: &Stage) -> Option<Approval> {
    stage.store.waiting_approvals().unwrap().into_iter().find(|one| one.state == ApprovalState::Waiting)
}

fn person(name: &str) -> Principal {
    let groups = if ["bob", "eve"].contains(&name) { vec!["mlops".to_owned()] } else { Vec::new() };
    Principal { name: name.to_owned(), groups, person: name != "robot" }
}

fn say(worker: &Loop<'_>, approval: &Approval, name: &str, decision: Decision) -> String {
    match worker.answer(&approval.id, person(name), decision, "", &approval.binding.digest()) {
        Ok(answered) => answered.state.to_string(),
        Err(not) => not.to_string(),
    }
}

fn yes(worker: &Loop<'_>, approval: &Approval, name: &str) -> String {
    say(worker, approval, name, Decision::Approve)
}

fn calls(stage: &Stage) -> usize {
    stage.house.adapters.values().map(|adapter| adapter.calls.lock().unwrap().len()).sum()
}

fn receipts(stage: &Stage) -> Vec<Receipt> {
    stage.store.receipts_of(stage.incident.borrow().as_ref().unwrap()).unwrap()
}

/// What holds at the end of each: every call has a receipt that was started on an approval which was then used, in time and
/// by the right people, and no approval is used twice; and every question has ended, or is one that still waits in time.
fn check(stage: &Stage, approvals: &[&Approval], approvers: &[&str], count: usize) {
    let receipts = receipts(stage);
    let started: Vec<&Receipt> = receipts.iter().filter(|one| one.started_at.is_some()).collect();
    let called: Vec<_> = stage.house.adapters.values().flat_map(|one| one.calls.lock().unwrap().clone()).collect();
    for call in &called {
        let receipt = started.iter().find(|one| one.id == call.receipt_id).expect("no call without a started receipt");
        let approval = receipt.approval.as_ref().expect("no act without an approval");
        let approval = stage.store.approval(approval).unwrap().unwrap();
        assert_eq!(approval.state, ApprovalState::Used);
        assert!(receipt.started_at.unwrap() < approval.expires_at, "executed after its expiry");
        let mut who: Vec<&str> = approval
            .answers
            .iter()
            .filter(|one| one.decision == Decision::Approve && one.at < approval.expires_at)
            .map(|one| one.principal.name.as_str())
            .filter(|name| approvers.contains(name))
            .collect();
        who.sort_unstable();
        who.dedup();
        assert!(who.len() >= count, "{who:?} is not enough");
    }
    let mut on: Vec<_> = started.iter().filter_map(|one| one.approval.clone()).collect();
    let all = on.len();
    on.sort();
    on.dedup();
    assert_eq!(on.len(), all, "an approval is used once");
    let now = Moment::from_millis(stage.clock.now());
    for approval in approvals {
        let kept = stage.store.approval(&approval.id).unwrap().expect("it is kept");
        let ended = kept.ended.as_ref().is_some_and(|(_, why)| !why.is_empty());
        let open = matches!(kept.state, ApprovalState::Waiting | ApprovalState::Granted);
        assert!(ended != open, "{}", kept.state);
        assert!(!open || now < kept.expires_at, "it is {} past its time", kept.state);
    }
    assert!(stage.store.verify_chain().unwrap().is_ok());
}

/// Lets time pass in quarters of a minute, as the plant goes.
fn pass(stage: &Stage, worker: &Loop<'_>, minutes: u64) {
    for _ in 0..minutes * 4 {
        stage.clock.pass(15_000);
        turn(stage, worker);
    }
}

#[test]
fn an_answer_counts_up_to_the_last_millisecond() {
    for late in -3_i64..=3 {
        let stage = stage();
        let worker = worker(&stage);
        let approval = asked(&stage, &worker);
        let left = approval.expires_at.millis() - stage.clock.now();
        stage.clock.pass(left.saturating_add_signed(late));
        let said = yes(&worker, &approval, "ann");
        worker.tick(50).unwrap();
        assert_eq!(calls(&stage), usize::from(late < 0), "{late} ms: {said}");
        assert_eq!(said == "granted", late < 0, "{late} ms: {said}");
        check(&stage, &[&approval], &["ann", "bob"], 1);
        if late >= 0 {
            pass(&stage, &worker, 1);
            let kept = stage.store.approval(&approval.id).unwrap().unwrap();
            assert_eq!(kept.state, ApprovalState::Expired);
            let told = stage.store.outbox(100).unwrap();
            assert!(told.iter().any(|one| one.kind == MessageKind::Escalation), "it is handed over");
        }
    }
}

/// A second passes with each write of the loop: the expiry falls before, between and after all of them.
#[test]
fn the_expiry_falls_between_any_two_writes() {
    let (mut acted, mut late) = (0, 0);
    for lead in 0..12_u64 {
        let stage = stage();
        let clock = &stage.clock;
        let ticking = Hooked::new(
            stage.store.as_ref(),
            Box::new(|store, change| {
                let made = store.commit(change);
                clock.pass(1_000);
                made
            }),
        );
        let slow = Loop::new(stage.world(&ticking), "slow");
        let own = worker(&stage);
        let approval = asked(&stage, &own);
        stage.clock.pass(approval.expires_at.millis() - stage.clock.now() - lead * 1_000 - 500);
        assert_eq!(yes(&own, &approval, "ann"), "granted");
        slow.tick(50).unwrap();
        check(&stage, &[], &["ann", "bob"], 1);
        pass(&stage, &own, 2);
        check(&stage, &[&approval], &["ann", "bob"], 1);
        acted += usize::from(calls(&stage) == 1);
        late += usize::from(calls(&stage) == 0);
    }
    assert!(acted > 0 && late > 0, "{acted} in time, {late} too late");
}

/// The clock passes the expiry in the last moment, while the receipt is being started.
#[test]
fn what_expires_while_it_is_looked_at_is_not_begun() {
    for millis in [0, 1, 2] {
        let stage = stage();
        let own = worker(&stage);
        let approval = asked(&stage, &own);
        stage.clock.pass(approval.expires_at.millis() - stage.clock.now() - 1);
        assert_eq!(yes(&own, &approval, "ann"), "granted");
        let (prepared, clock) = (AtomicUsize::new(0), &stage.clock);
        let store = Hooked::new(
            stage.store.as_ref(),
            Box::new(|store, change| {
                let made = store.commit(change);
                if change.runs.iter().any(|(run, _)| run.step.name() == StepName::Prepared) {
                    prepared.fetch_add(1, Relaxed);
                    clock.pass(millis);
                }
                made
            }),
        );
        Loop::new(stage.world(&store), "worker").tick(50).unwrap();
        assert!(prepared.load(Relaxed) > 0);
        assert_eq!(calls(&stage), usize::from(millis == 0), "{millis} ms");
        pass(&stage, &own, 1);
        check(&stage, &[&approval], &["ann", "bob"], 1);
    }
}

/// What ends or changes while the start of the act is being stored: the receipt is there, and no call is made on it.
#[test]
fn what_ends_while_the_start_is_stored_is_not_begun() {
    type End = (&'static str, fn(&ScriptedHouse, &HandClock, &Loop<'_>, &Approval));
    let ends: [End; 6] = [
        ("nothing", |_, _, _, _| {}),
        ("the expiry", |_, clock, _, one| clock.pass(one.expires_at.millis() - clock.now())),
        ("the policy", |house, _, _, _| {
            let approvals = "approvals = { approvers = [\"ann\", \"bob\"] }";
            let text = format!("{POLICY}{approvals}\nforbidden = [\"restart_component\"]\n");
            *house.policy.lock().unwrap() = Policy::read(&text);
        }),
        ("the configuration", |house, _, _, _| *house.configuration.lock().unwrap() = Digest::of(b"another")),
        ("the stop switch", |house, _, _, _| *house.stopped.lock().unwrap() = true),
        ("it has passed", |_, _, own, _| {
            drop(own.report(&symptom(IncidentKind::Unreachable, Condition::Cleared, Vec::new())).unwrap());
        }),
    ];
    for (what, end) in ends {
        let stage = stage();
        let own = worker(&stage);
        let approval = asked(&stage, &own);
        // The answer comes half a second before it is too late.
        stage.clock.pass(approval.expires_at.millis() - stage.clock.now() - 500);
        assert_eq!(yes(&own, &approval, "ann"), "granted");
        let (seen, one) = (AtomicUsize::new(0), &approval);
        let (inner, house, agent, clock) = (stage.store.as_ref(), &stage.house, &stage.agent, &stage.clock);
        let store = Hooked::new(
            inner,
            Box::new(|store, change| {
                let starts = change.receipts.iter().any(|(receipt, _)| receipt.state == ReceiptState::Started);
                if starts && seen.fetch_add(1, Relaxed) == 0 {
                    let world = World { store: inner, house, agent, clock, caps: Caps::default() };
                    end(house, clock, &Loop::new(world, "person"), one);
                }
                store.commit(change)
            }),
        );
        Loop::new(stage.world(&store), "worker").tick(50).unwrap();
        assert_eq!(seen.load(Relaxed), 1, "{what}");
        assert_eq!(calls(&stage), usize::from(what == "nothing"), "{what}");
        pass(&stage, &own, 5);
        assert_eq!(calls(&stage), usize::from(what == "nothing"), "{what}: later");
        check(&stage, &[&approval], &["ann", "bob"], 1);
    }
}

/// Whatever keeps its run from going on, a question does not wait past its time: a person holds it, or a machine that is gone
/// has the service. Once it goes on, a person is told.
#[test]
fn no_question_waits_past_its_time_whatever_holds_its_run() {
    for (granted, by_hand) in [(false, true), (false, false), (true, true), (true, false)] {
        let stage = stage();
        let own = worker(&stage);
        let approval = asked(&stage, &own);
        let id = stage.incident.borrow().clone().unwrap();
        stage.clock.pass(approval.expires_at.millis() - stage.clock.now() - 10_000);
        if by_hand {
            own.hold(&id, true, "ann").unwrap();
        } else {
            assert!(stage.store.lease("application:fraud", "gone/1", stage.clock.now(), 30_000).unwrap().is_some());
        }
        if granted {
            assert_eq!(yes(&own, &approval, "ann"), "granted");
        }
        stage.clock.pass(9_999);
        own.tick(50).unwrap();
        let state = || stage.store.approval(&approval.id).unwrap().unwrap().state;
        assert_eq!(state(), if granted { ApprovalState::Granted } else { ApprovalState::Waiting });
        stage.clock.pass(1);
        own.tick(50).unwrap();
        assert_eq!((state(), calls(&stage)), (ApprovalState::Expired, 0), "granted {granted}, by hand {by_hand}");
        if by_hand {
            own.hold(&id, false, "ann").unwrap();
        } else {
            stage.clock.pass(60_000);
        }
        pass(&stage, &own, 2);
        let told = stage.store.outbox(100).unwrap();
        assert!(told.iter().any(|one| one.kind == MessageKind::Escalation), "granted {granted}, by hand {by_hand}");
        assert_eq!((waiting(&stage), calls(&stage)), (None, 0), "it is not asked again");
        check(&stage, &[&approval], &["ann", "bob"], 1);
    }
}

#[test]
fn a_hundred_answers_at_once_are_one() {
    let folder = tempfile::tempdir().unwrap();
    for on_disk in [false, true] {
        for approves in [100, 50] {
            let mut script: Script = toml::from_str(ASKS).unwrap();
            script.policy = format!("{POLICY}approvals = {{ approvers = [\"group:mlops\"] }}\n");
            let stage = if on_disk {
                let place = folder.path().join(format!("{approves}.db"));
                Stage::on(&script, Box::new(Sqlite::open(&place).unwrap()))
            } else {
                Stage::new(&script)
            };
            let approval = asked(&stage, &worker(&stage));
            let (store, house, agent, clock) = (stage.store.as_ref(), &stage.house, &stage.agent, &stage.clock);
            let answers: Vec<String> = std::thread::scope(|scope| {
                let one = |number: usize| {
                    let approval = &approval;
                    scope.spawn(move || {
                        let world = World { store, house, agent, clock, caps: Caps::default() };
                        let own = Loop::new(world, "person");
                        let principal = Principal {
                            name: format!("person{number}"),
                            groups: vec!["mlops".to_owned()],
                            person: true,
                        };
                        let decision = if number < approves { Decision::Approve } else { Decision::Deny };
                        match own.answer(&approval.id, principal, decision, "", &approval.binding.digest()) {
                            Ok(answered) => answered.state.to_string(),
                            Err(_) => "refused".to_owned(),
                        }
                    })
                };
                let all: Vec<_> = (0..100).map(one).collect();
                all.into_iter().map(|one| one.join().unwrap()).collect()
            });
            let count = |word: &str| answers.iter().filter(|one| *one == word).count();
            assert_eq!(count("granted") + count("denied"), 1, "{answers:?}");
            assert_eq!(count("refused"), 99);
            let own = worker(&stage);
            pass(&stage, &own, 2);
            assert_eq!(calls(&stage), count("granted"), "approve or deny, never both");
            let kept = stage.store.approval(&approval.id).unwrap().unwrap();
            assert_eq!(kept.answers.len(), 1);
        }
    }
}

/// Two different listed persons, before the expiry, neither of them the one who proposed it.
#[test]
fn a_rule_of_two_persons_broken_in_each_way() {
    type Way = (&'static str, fn(&Stage, &Loop<'_>, &Approval), usize);
    let ways: [Way; 11] = [
        ("both", |_, own, one| drop((yes(own, one, "ann"), yes(own, one, "bob"))), 1),
        ("nobody", |_, _, _| {}, 0),
        ("one", |_, own, one| drop(yes(own, one, "ann")), 0),
        ("the same twice", |_, own, one| drop((yes(own, one, "ann"), yes(own, one, "ann"))), 0),
        ("one who is not listed", |_, own, one| drop((yes(own, one, "ann"), yes(own, one, "cat"))), 0),
        ("a machine", |_, own, one| drop((yes(own, one, "ann"), yes(own, one, "robot"))), 0),
        ("one says no", |_, own, one| drop((yes(own, one, "ann"), say(own, one, "bob", Decision::Deny))), 0),
        ("no, then yes", |_, own, one| drop((say(own, one, "bob", Decision::Deny), yes(own, one, "ann"))), 0),
        (
            "the second too late",
            |stage, own, one| {
                yes(own, one, "ann");
                stage.clock.pass(one.expires_at.millis() - stage.clock.now());
                yes(own, one, "bob");
            },
            0,
        ),
        (
            "one is taken off the list",
            |stage, own, one| {
                drop((yes(own, one, "ann"), yes(own, one, "bob")));
                let list = "approvals = { approvers = [\"ann\"], count = 2 }\n";
                *stage.house.policy.lock().unwrap() = Policy::read(&format!("{POLICY}{list}"));
            },
            0,
        ),
        (
            "the list is emptied",
            |stage, own, one| {
                drop((yes(own, one, "ann"), yes(own, one, "bob")));
                let list = "approvals = { approvers = [], count = 2 }\n";
                *stage.house.policy.lock().unwrap() = Policy::read(&format!("{POLICY}{list}"));
            },
            0,
        ),
    ];
    for (way, what, wanted) in ways {
        let stage = with(TWO);
        let own = worker(&stage);
        let approval = asked(&stage, &own);
        what(&stage, &own, &approval);
        pass(&stage, &own, 2);
        assert_eq!(calls(&stage), wanted, "{way}");
        check(&stage, &[&approval], &["ann", "bob"], 2);
        pass(&stage, &own, 40);
        assert_eq!(calls(&stage), wanted, "{way}: later");
        check(&stage, &[&approval], &["ann", "bob"], 2);
    }
}

#[test]
fn who_proposed_it_does_not_approve_it() {
    let stage = with(TWO);
    let own = worker(&stage);
    let first = asked(&stage, &own);
    let incident = stage.incident.borrow().clone().unwrap();
    own.propose(&incident, &first_application(&stage), Action::RestartComponent, "eve", "it hangs").unwrap();
    own.tick(50).unwrap();
    let second = waiting(&stage).expect("a person is asked");
    assert_ne!(second.id, first.id);
    assert_eq!(yes(&own, &second, "eve"), "who proposed it may not approve it");
    yes(&own, &second, "ann");
    pass(&stage, &own, 1);
    assert_eq!(calls(&stage), 0, "one of two");
    yes(&own, &second, "bob");
    pass(&stage, &own, 1);
    assert_eq!(calls(&stage), 1);
    check(&stage, &[&first, &second], &["ann", "bob"], 2);
}

fn first_application(stage: &Stage) -> sanare_core::service::Application {
    stage.store_run(stage.incident.borrow().as_ref().unwrap()).application
}

/// What was approved is not what would be done now: void, and nothing is done on it.
#[test]
fn what_changes_after_the_answer_voids_it() {
    type Change = (&'static str, fn(&ScriptedHouse, &Loop<'_>));
    let changes: [Change; 7] = [
        ("the policy", |house, _| {
            let text = format!("{POLICY}confidence_gate = 0.71\napprovals = {{ approvers = [\"ann\", \"bob\"] }}\n");
            *house.policy.lock().unwrap() = Policy::read(&text);
        }),
        ("a policy that cannot be read", |house, _| {
            *house.policy.lock().unwrap() = Policy::read("version = 1\nmode = ");
        }),
        ("the configuration", |house, _| *house.configuration.lock().unwrap() = Digest::of(b"another")),
        ("the target", |house, _| {
            for adapter in house.adapters.values() {
                let mut identity = adapter.identity.lock().unwrap();
                *identity = identity.clone().with(Mark::StartTime, "by hand").with(Mark::Generation, "9");
            }
        }),
        ("it is gone", |house, _| {
            for adapter in house.adapters.values() {
                *adapter.unreachable.lock().unwrap() = Some("connection refused".to_owned());
            }
        }),
        ("it has passed", |_, own| {
            drop(own.report(&symptom(IncidentKind::Unreachable, Condition::Cleared, Vec::new())).unwrap());
        }),
        ("the stop switch", |house, own| {
            *house.stopped.lock().unwrap() = true;
            own.void_approvals(None, "the stop switch is set").unwrap();
        }),
    ];
    for (what, change) in changes {
        // Before anything goes on, and in the last moment before the receipt is started.
        for last_moment in [false, true] {
            let stage = stage();
            let own = worker(&stage);
            let approval = asked(&stage, &own);
            assert_eq!(yes(&own, &approval, "ann"), "granted");
            if last_moment {
                let done = AtomicUsize::new(0);
                let (inner, house, agent, clock) = (stage.store.as_ref(), &stage.house, &stage.agent, &stage.clock);
                let store = Hooked::new(
                    inner,
                    Box::new(|store, written| {
                        let made = store.commit(written);
                        let prepared =
                            |(run, _): &(sanare_core::service::Run, _)| run.step.name() == StepName::Prepared;
                        if written.runs.iter().any(prepared) && done.fetch_add(1, Relaxed) == 0 {
                            let world = World { store: inner, house, agent, clock, caps: Caps::default() };
                            change(house, &Loop::new(world, "person"));
                        }
                        made
                    }),
                );
                Loop::new(stage.world(&store), "worker").tick(50).unwrap();
                assert_eq!(done.load(Relaxed), 1, "{what}");
            } else {
                change(&stage.house, &own);
                own.tick(50).unwrap();
            }
            assert_eq!(calls(&stage), 0, "{what}, {last_moment}");
            let kept = stage.store.approval(&approval.id).unwrap().unwrap();
            assert_eq!(kept.state, ApprovalState::Voided, "{what}, {last_moment}");
            // A new question may be asked; the old answer is never taken for it.
            pass(&stage, &own, 5);
            assert_eq!(calls(&stage), 0, "{what}, {last_moment}");
            check(&stage, &[&approval], &["ann", "bob"], 1);
        }
    }
}

#[test]
fn an_answer_is_used_once() {
    let stage = stage();
    let own = worker(&stage);
    let approval = asked(&stage, &own);
    assert_eq!(yes(&own, &approval, "ann"), "granted");
    assert_eq!(yes(&own, &approval, "ann"), "granted", "the same answer again is the same answer");
    own.tick(50).unwrap();
    assert_eq!(calls(&stage), 1);
    assert!(yes(&own, &approval, "bob").starts_with("the approval is used already"));
    assert!(say(&own, &approval, "bob", Decision::Deny).starts_with("the approval is used already"));
    pass(&stage, &own, 1);
    assert_eq!(calls(&stage), 1);
    // It comes back: what was answered before counts for nothing.
    stage.cured.set(None);
    for adapter in stage.house.adapters.values() {
        let mut identity = adapter.identity.lock().unwrap();
        *identity = identity.clone().with(Mark::Generation, "0");
    }
    pass(&stage, &own, 30);
    assert_eq!(calls(&stage), 1);
    check(&stage, &[&approval], &["ann", "bob"], 1);
}

/// The machine stands still for three days while a question waits; then another process goes on.
#[test]
fn three_days_between_question_and_answer() {
    let folder = tempfile::tempdir().unwrap();
    for (expire, wanted) in [("96h", 1), ("30m", 0)] {
        let place = folder.path().join(format!("{expire}.db"));
        let mut script: Script = toml::from_str(ASKS).unwrap();
        script.policy = format!("{POLICY}approvals = {{ approvers = [\"ann\", \"bob\"], expire = \"{expire}\" }}\n");
        let before = Stage::on(&script, Box::new(Sqlite::open(&place).unwrap()));
        let approval = asked(&before, &worker(&before));
        let incident = before.incident.borrow().clone();
        drop(before);
        let stage = Stage::on(&script, Box::new(Sqlite::open(&place).unwrap()));
        *stage.incident.borrow_mut() = incident;
        stage.clock.pass(3 * 24 * 3_600_000);
        let own = worker(&stage);
        let said = yes(&own, &approval, "ann");
        assert_eq!(said == "granted", wanted == 1, "{expire}: {said}");
        own.tick(50).unwrap();
        assert_eq!(calls(&stage), wanted, "{expire}");
        if wanted == 0 {
            let told = stage.store.outbox(100).unwrap();
            assert!(told.iter().any(|one| one.kind == MessageKind::Escalation), "nobody is left waiting");
        }
        check(&stage, &[&approval], &["ann", "bob"], 1);
    }
}

/// Nobody carries messages out: the question is still there, ends at its time, and what is to be told is kept.
#[test]
fn nobody_hears_of_it() {
    let stage = stage();
    let own = worker(&stage);
    let approval = asked(&stage, &own);
    pass(&stage, &own, 31);
    let kept = stage.store.approval(&approval.id).unwrap().unwrap();
    assert_eq!((kept.state, calls(&stage)), (ApprovalState::Expired, 0));
    let kinds: Vec<MessageKind> = stage.store.outbox(100).unwrap().iter().map(|one| one.kind).collect();
    assert!(kinds.contains(&MessageKind::ApprovalAsked) && kinds.contains(&MessageKind::Escalation), "{kinds:?}");
    check(&stage, &[&approval], &["ann", "bob"], 1);
}
