//! A person's answer: one act at most, of what was shown, and each other try says why (C97).

use std::cell::RefCell;

use sanare_core::hash::Digest;
use sanare_core::policy::Policy;
use sanare_core::port::scripted::ScriptedClock;
use sanare_core::port::{Store as _, Target as _, TargetFault};
use sanare_core::receipt::{Receipt, ReceiptState};
use sanare_engine::answer::{Answer, Answered, Desk, NotTaken, answer};
use sanare_engine::recover::settle;

use crate::play::{Failing, ORIGINAL, Played, Script, Scripted, play};

/// What happens before the answer.
#[derive(Default)]
struct Before {
    policy: &'static str,
    policy_then: Option<&'static str>,
    edited: bool,
    late: bool,
    stopped: bool,
    fault: Option<TargetFault>,
    groups: Vec<String>,
}

fn asked(policy: &str) -> Played {
    let mut rules = toml::Table::new();
    rules.insert("mode".to_owned(), "ask".into());
    let candidate = Scripted { function: "def f(): good".to_owned(), ..Scripted::default() };
    play(&Script { rules, policy: policy.to_owned(), candidates: vec![candidate], ..Script::default() })
}

fn read(text: &str) -> Policy {
    if text.is_empty() { Policy::none() } else { Policy::read(text) }
}

/// Gives answers one after the other; how each was taken, how often the file was written, how the incident stands.
fn check(before: &Before, answers: &[(&str, bool)]) -> (Vec<String>, usize, String) {
    let played = asked(before.policy);
    if before.edited {
        *played.target.disk.borrow_mut() = "def f(): an edit".to_owned();
    }
    let clock = ScriptedClock::default();
    if before.late {
        clock.jump.set(8 * 24 * 60 * 60 * 1_000);
    }
    let written = RefCell::new(0);
    let policy = read(before.policy_then.unwrap_or(before.policy));
    let write = |receipt: &Receipt| {
        *written.borrow_mut() += 1;
        match &before.fault {
            Some(fault) => Err(fault.clone()),
            None => played.target.write(receipt),
        }
    };
    let taken = answers.iter().map(|(name, yes)| {
        let desk = Desk {
            store: &played.memory,
            clock: &clock,
            policy: &policy,
            stopped: before.stopped,
            process: "test".to_owned(),
            digest_of: &|_| played.target.digest_now(),
            write: &write,
        };
        let given =
            Answer { approve: *yes, name: (*name).to_owned(), groups: before.groups.clone(), why: "seen".to_owned() };
        match answer(&desk, &played.incident.id, &given) {
            Ok(taken) => format!("{taken:?}"),
            Err(error) => format!("{error}"),
        }
    });
    let taken: Vec<String> = taken.collect();
    let records = played.memory.records(&played.incident.id).unwrap();
    played.memory.verify().unwrap().expect("the chain holds");
    let last = records.last().unwrap();
    let payload = last.json();
    let state = played.memory.receipt(&played.incident.id).unwrap().map(|receipt| receipt.state);
    let file = if *played.target.disk.borrow() == ORIGINAL { "old" } else { "new" };
    let reason = payload["reason"].as_str().or(payload["standing"]["reason"].as_str()).unwrap_or_default();
    (taken, *written.borrow(), format!("{} {reason} {state:?} {file}", last.step))
}

#[test]
fn approved_once() {
    let (taken, written, stands) = check(&Before::default(), &[("ann", true), ("ann", true), ("bob", false)]);
    assert_eq!(taken[0], format!("{:?}", Answered::Applied));
    for other in &taken[1..] {
        assert_eq!(other, "nothing is asked: its repair is applied, answered by ann");
    }
    assert_eq!((written, stands.as_str()), (1, "applied unconfirmed Some(Done) new"));
}

#[test]
fn denied_and_then_nothing() {
    let (taken, written, stands) = check(&Before::default(), &[("ann", false), ("bob", true)]);
    assert_eq!(taken, ["Denied", "nothing is asked: it is closed (refused: denied), answered by ann"]);
    assert_eq!((written, stands.as_str()), (0, "closed denied Some(Undone) old"));
}

#[test]
fn an_edited_file_makes_it_void() {
    let before = Before { edited: true, ..Before::default() };
    let (taken, written, stands) = check(&before, &[("ann", true), ("ann", true)]);
    assert_eq!(taken[0], NotTaken::SourceChanged.to_string());
    assert!(taken[1].starts_with("nothing is asked: it is closed (refused: source_changed)"), "{}", taken[1]);
    assert_eq!((written, stands.as_str()), (0, "closed source_changed Some(Undone) new"));
}

#[test]
fn a_question_runs_out() {
    let before = Before { late: true, ..Before::default() };
    let (taken, written, stands) = check(&before, &[("ann", true), ("bob", true)]);
    assert_eq!(taken[0], NotTaken::Expired.to_string());
    assert_eq!((written, stands.as_str()), (0, "closed expired Some(Undone) old"));
}

#[test]
fn a_stop_switch_leaves_it_waiting() {
    let before = Before { stopped: true, ..Before::default() };
    let (taken, written, stands) = check(&before, &[("ann", true)]);
    assert_eq!(taken[0], NotTaken::Stopped.to_string());
    assert_eq!((written, stands.as_str()), (0, "waiting  Some(Planned) old"));
}

#[test]
fn another_policy_makes_it_void() {
    let before = Before { policy_then: Some("version = 1\nattempts = 3\n"), ..Before::default() };
    let (taken, written, stands) = check(&before, &[("ann", true)]);
    assert_eq!(taken[0], NotTaken::Void("the policy file changed".to_owned()).to_string());
    assert_eq!((written, stands.as_str()), (0, "closed policy Some(Undone) old"));
}

#[test]
fn approvers_and_groups() {
    let policy = "version = 1\napprovals = { approvers = [\"ann\", \"group:mlops\"] }\n";
    let (taken, ..) = check(&Before { policy, ..Before::default() }, &[("bob", true), ("ann", true)]);
    assert_eq!(taken, [NotTaken::NotAllowed("bob".to_owned()).to_string(), "Applied".to_owned()]);
    let groups = vec!["mlops".to_owned()];
    let (taken, ..) = check(&Before { policy, groups, ..Before::default() }, &[("bob", true)]);
    assert_eq!(taken, ["Applied"]);
    let nobody = "version = 1\napprovals = { approvers = [] }\n";
    let (taken, ..) = check(&Before { policy: nobody, ..Before::default() }, &[("ann", true)]);
    assert_eq!(taken, [NotTaken::NotAllowed("ann".to_owned()).to_string()]);
}

#[test]
fn two_different_persons() {
    let policy = "version = 1\napprovals = { count = 2 }\n";
    let answers = [("ann", true), ("ann", true), ("bob", true)];
    let (taken, written, stands) = check(&Before { policy, ..Before::default() }, &answers);
    let one = format!("{:?}", Answered::Counted { have: 1, need: 2 });
    assert_eq!(taken, [one.clone(), one, "Applied".to_owned()]);
    assert_eq!((written, stands.as_str()), (1, "applied unconfirmed Some(Done) new"));
}

#[test]
fn a_file_that_cannot_be_written() {
    for (fault, reason) in [
        (TargetFault::Changed, "source_changed"),
        (TargetFault::DiskFull, "disk_full"),
        (TargetFault::NotWritable("read-only".to_owned()), "permission"),
    ] {
        let before = Before { fault: Some(fault), ..Before::default() };
        let (_, written, stands) = check(&before, &[("ann", true), ("ann", true)]);
        assert_eq!((written, stands), (1, format!("closed {reason} Some(Undone) old")));
    }
}

/// Another process is at it: its lease keeps the second answer out, and a lease that ran out does not make two acts.
#[test]
fn a_second_process() {
    let played = asked("");
    let clock = ScriptedClock::default();
    let (policy, id) = (Policy::none(), &played.incident.id);
    let key = format!("answer:{id}");
    let now = sanare_core::port::Clock::now(&clock);
    played.memory.take_lease(&key, "another", now, 60_000).unwrap().expect("free");
    let desk = Desk {
        store: &played.memory,
        clock: &clock,
        policy: &policy,
        stopped: false,
        process: "test".to_owned(),
        digest_of: &|_| played.target.digest_now(),
        write: &|receipt| played.target.write(receipt),
    };
    let yes = Answer { approve: true, name: "ann".to_owned(), groups: Vec::new(), why: String::new() };
    assert_eq!(answer(&desk, id, &yes), Err(NotTaken::Busy));
    clock.jump.set(61_000);
    assert_eq!(answer(&desk, id, &yes), Ok(Answered::Applied));
    let receipt = played.memory.receipt(id).unwrap().expect("there is one");
    assert_eq!(receipt.state, ReceiptState::Done);
    // What the stopped process would still do: the file is another one by now.
    assert_eq!(played.target.write(&receipt), Err(TargetFault::Changed));
    assert_eq!(played.target.digest_now(), Some(Digest::of(b"def f(): good")));
}

/// The answering process dies at each record: what is settled afterwards fits what is in the file, and nothing acts twice.
#[test]
fn an_answer_that_is_cut_off() {
    for records in 0..4 {
        let played = asked("");
        let (clock, policy, id) = (ScriptedClock::default(), Policy::none(), &played.incident.id);
        let store = Failing::new(&played.memory, Some(records));
        let desk = Desk {
            store: &store,
            clock: &clock,
            policy: &policy,
            stopped: false,
            process: "test".to_owned(),
            digest_of: &|_| played.target.digest_now(),
            write: &|receipt| played.target.write(receipt),
        };
        let yes = Answer { approve: true, name: "ann".to_owned(), groups: Vec::new(), why: String::new() };
        assert!(matches!(answer(&desk, id, &yes), Err(NotTaken::Store(_))), "{records}");
        settle(&played.memory, &clock, &|_| false, &|_| played.target.digest_now()).unwrap();
        let last = played.memory.records(id).unwrap().pop().unwrap();
        let is_new = *played.target.disk.borrow() != ORIGINAL;
        let stands = match last.step.as_str() {
            "answered" | "waiting" => "waiting",
            other => other,
        };
        let expected = match (records, is_new) {
            (0 | 1, false) => "waiting",
            (2, false) => "closed",
            (3, true) => "applied",
            other => panic!("{other:?}"),
        };
        assert_eq!(stands, expected, "cut off after {records} records");
        played.memory.verify().unwrap().expect("the chain holds");
    }
}
