//! What every store does for the service half, the one on disk and the one in memory alike.

use sanare_core::hash::Digest;
use sanare_core::id::Id;
use sanare_core::port::Store;
use sanare_core::redact::Redactor;
use sanare_core::service::approval::{Answer, Approval, Binding, Decision, Principal};
use sanare_core::service::confidence::{FigureKey, Measured};
use sanare_core::service::context::{Context, Parts};
use sanare_core::service::declaration::Undo;
use sanare_core::service::limits::PastAct;
use sanare_core::service::moment::MINUTE;
use sanare_core::service::run::MessageKind;
use sanare_core::service::{
    ActKey, Action, Application, ApprovalState, Change, ClosedBy, Component, Condition, Draft, Effect, GateReport,
    Identity, Incident, IncidentKind, Message, Moment, NotMade, Observation, ObservedValue, Origin, Params, Proposal,
    Purpose, Receipt, ReceiptState, Run, ServiceStore, Signal, Source, Stamp, StepName, TargetKey, Text, Trust,
    VerificationOutcome,
};
use sanare_store::{Memory, Sqlite};
use serde_json::json;

use super::entry;

/// Both halves of a store.
pub(super) trait Both: Store + ServiceStore {}
impl<T: Store + ServiceStore> Both for T {}

/// Runs one clause on an empty store of each sort, and what must hold afterwards on the one on disk after reopening.
pub(super) fn check(clause: fn(&dyn Both), afterwards: fn(&dyn Both)) {
    let memory = Memory::new();
    clause(&memory);
    afterwards(&memory);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(".sanare").join("store.db");
    let sqlite = Sqlite::open(&path).unwrap();
    clause(&sqlite);
    afterwards(&sqlite);
    drop(sqlite);
    let again = Sqlite::open_existing(&path).unwrap().expect("the store is still there");
    afterwards(&again);
    again.verify_chain().unwrap().expect("the chain holds after reopening");
}

pub(super) fn at(minute: u64) -> Moment {
    Moment::from_micros(1_800_000_000_000_000 + minute * MINUTE)
}

pub(super) fn incident(name: &str, kind: IncidentKind) -> Incident {
    let application = Application::parse("fraud").unwrap();
    Incident::open(Id::from_text(format!("inc_{name}")), application, Component::default(), kind, None, at(0))
}

pub(super) fn closed(mut incident: Incident) -> Incident {
    incident.step = StepName::Closed;
    incident.condition = Condition::Cleared;
    incident.closed_by = Some(ClosedBy::Itself);
    incident
}

pub(super) fn reading(name: &str, number: f64) -> Observation {
    let application = Application::parse("fraud").unwrap();
    let draft = Draft {
        source_id: Some(name.to_owned()),
        event_time: Some(at(0)),
        ..Draft::new(application, Signal::parse("p99").unwrap(), ObservedValue::metric(number))
    };
    let stamp = Stamp {
        id: Id::from_text(format!("obs_{name}_{number}")),
        arrival: at(0),
        source: Source::parse("client").unwrap(),
        trust: Trust::Own,
    };
    Observation::accept(draft, stamp).unwrap()
}

fn target() -> TargetKey {
    TargetKey::parse("systemd:host/fraud.service").unwrap()
}

fn receipt(name: &str, of: &Incident, state: ReceiptState) -> Receipt {
    Receipt {
        id: Id::from_text(format!("rct_{name}")),
        key: ActKey { incident: of.id.clone(), attempt: 1, action: Action::ReloadModel, purpose: Purpose::Act },
        application: of.application.clone(),
        component: of.component.clone(),
        target: target(),
        fence: 7,
        params: Params::Empty,
        before: Identity::default(),
        intended: Identity::default(),
        undo: Undo::None,
        snapshot: Digest::of(b"s"),
        approval: None,
        deadline: at(1),
        state,
        effect: None,
        reference: Some(Text::of("job 7")),
        intended_at: at(0),
        started_at: None,
        ended_at: None,
    }
}

fn proposal(of: &Incident) -> Proposal {
    Proposal {
        id: Id::from_text("pro_1"),
        incident_id: of.id.clone(),
        diagnosis_id: Id::from_text("dia_1"),
        action: Action::ReloadModel,
        target: Some(target()),
        params: Params::Empty,
        rationale: Text::of("a reason"),
        expected_outcome: Text::of("it answers"),
        undo: Undo::None,
    }
}

fn approval(name: &str, of: &Incident) -> Approval {
    let proposal = proposal(of);
    Approval {
        id: Id::from_text(format!("apr_{name}")),
        binding: Binding::of(
            &proposal,
            1,
            Digest::of(b"p"),
            Digest::of(b"c"),
            Digest::of(b"e"),
            &GateReport::default(),
        ),
        proposal,
        reasons: Vec::new(),
        asked_at: at(0),
        expires_at: at(30),
        count: 1,
        approvers: vec!["ann".to_owned()],
        proposed_by: None,
        answers: Vec::new(),
        state: ApprovalState::Waiting,
        ended: None,
    }
}

pub(super) fn change() -> Change {
    Change { now: at(0).millis(), ..Change::default() }
}

/// A new incident with its run.
pub(super) fn opened(store: &dyn Both, name: &str, kind: IncidentKind) -> Incident {
    let incident = incident(name, kind);
    let mut made = change();
    made.runs.push((Run::new(&incident, at(0)), None));
    made.incidents.push(incident.clone());
    store.commit(&made).unwrap();
    incident
}

#[test]
fn an_empty_store_has_nothing() {
    let clause = |store: &dyn Both| {
        assert_eq!(store.incident(&Id::from_text("inc_a")).unwrap(), None);
        assert_eq!(store.newest_incidents(10).unwrap(), []);
        assert_eq!(store.due(at(9), 10).unwrap(), []);
        assert_eq!(store.unsettled().unwrap(), []);
        assert_eq!(store.waiting_approvals().unwrap(), []);
        assert_eq!(store.outbox(10).unwrap(), []);
        assert!(!store.target_in_use(&target(), &Id::from_text("inc_a")).unwrap());
    };
    check(clause, clause);
}

#[test]
fn a_change_is_stored_whole_and_survives() {
    check(
        |store| {
            let incident = incident("a", IncidentKind::LatencyHigh);
            let mut made = change();
            made.observations = vec![reading("one", 1.0), reading("two", 2.0)];
            made.entries = vec![entry("a", "opened", &json!({ "z": 1 })), entry("a", "evident", &json!({}))];
            made.runs.push((Run::new(&incident, at(0)), None));
            made.receipts.push((receipt("a", &incident, ReceiptState::Intended), None));
            made.approvals.push((approval("a", &incident), None));
            made.acts.push(PastAct {
                at: at(1),
                receipt: Id::from_text("rct_a"),
                application: incident.application.clone(),
                target: target(),
                action: Action::ReloadModel,
                failed: false,
            });
            let parts = Parts {
                evidence: made.observations.clone(),
                available_actions: vec![Action::Escalate],
                recent_observations: Vec::new(),
                diagnostics: Vec::new(),
                version_history: Vec::new(),
                registry: None,
                at: at(0),
                incident: incident.clone(),
            };
            made.snapshots.push(Context::new(parts).unwrap());
            made.messages.push(Message {
                key: "escalation/a".to_owned(),
                kind: MessageKind::Escalation,
                incident: incident.id.clone(),
                body: Redactor::standard().json(&json!({ "why": "it does not help" })),
                at: at(2),
            });
            made.incidents.push(incident);
            let records = store.commit(&made).unwrap();
            assert_eq!(
                records.iter().map(|record| (record.seq, record.step.as_str())).collect::<Vec<_>>(),
                [(1, "opened"), (2, "evident")]
            );
        },
        |store| {
            let expected = incident("a", IncidentKind::LatencyHigh);
            assert_eq!(store.incident(&expected.id).unwrap(), Some(expected.clone()));
            assert_eq!(store.newest_of(&expected.fingerprint).unwrap(), Some(expected.clone()));
            assert_eq!(store.run(&expected.id).unwrap(), Some(Run::new(&expected, at(0))));
            assert_eq!(store.due(at(0), 10).unwrap().len(), 1);
            let seen = store
                .observations(&[Id::from_text("obs_two_2"), Id::from_text("obs_none"), Id::from_text("obs_one_1")])
                .unwrap();
            assert_eq!(seen.iter().map(|one| one.sequence).collect::<Vec<_>>(), [2, 1]);
            assert_eq!(seen[1], Observation { sequence: 1, ..reading("one", 1.0) });
            assert_eq!(store.recent(&expected.application, 1).unwrap()[0].sequence, 2);
            assert_eq!(
                store.service_receipt(&Id::from_text("rct_a")).unwrap(),
                Some(receipt("a", &expected, ReceiptState::Intended))
            );
            assert_eq!(store.approval(&Id::from_text("apr_a")).unwrap(), Some(approval("a", &expected)));
            assert_eq!((store.acts(at(1)).unwrap().len(), store.acts(at(2)).unwrap().len()), (1, 0));
            let message = store.outbox(10).unwrap().remove(0);
            assert_eq!(
                (message.key.as_str(), message.at, message.kind),
                ("escalation/a", at(2), MessageKind::Escalation)
            );
            assert_eq!(store.records_of(&expected.id).unwrap().len(), 2);
            assert_eq!(store.verify_chain().unwrap(), Ok(2));
            // Code healing's recovery does not take a service's incident for one of its own.
            assert_eq!((store.unfinished().unwrap(), store.incidents(10).unwrap()), (vec![], vec![]));
        },
    );
}

#[test]
fn a_snapshot_is_read_back_with_its_digest() {
    check(
        |store| {
            let parts = Parts {
                incident: incident("a", IncidentKind::LatencyHigh),
                evidence: vec![reading("one", 0.1 + 0.2)],
                available_actions: vec![Action::Escalate],
                recent_observations: Vec::new(),
                diagnostics: Vec::new(),
                version_history: Vec::new(),
                registry: None,
                at: at(0),
            };
            let mut made = change();
            made.snapshots.push(Context::new(parts).unwrap());
            store.commit(&made).unwrap();
            // The same picture again is the same row.
            store.commit(&made).unwrap();
            let digest = made.snapshots[0].digest();
            let read = store.snapshot(&digest).unwrap().expect("it is kept");
            assert_eq!((read.digest(), &read), (digest, &made.snapshots[0]));
        },
        |_| {},
    );
}

#[test]
fn one_open_incident_has_a_fingerprint() {
    check(
        |store| {
            let first = opened(store, "a", IncidentKind::LatencyHigh);
            let second = incident("b", IncidentKind::LatencyHigh);
            let made = Change { incidents: vec![second.clone()], ..change() };
            assert_eq!(store.commit(&made), Err(NotMade::Open("inc_a".to_owned())));
            store.commit(&Change { incidents: vec![closed(first)], ..change() }).unwrap();
            store.commit(&made).unwrap();
            opened(store, "c", IncidentKind::ErrorRateHigh);
        },
        |store| {
            let newest = store.newest_incidents(10).unwrap();
            assert_eq!(newest.iter().map(|one| one.id.as_str()).collect::<Vec<_>>(), ["inc_c", "inc_b", "inc_a"]);
            let print = incident("a", IncidentKind::LatencyHigh).fingerprint;
            assert_eq!(store.newest_of(&print).unwrap().unwrap().id.as_str(), "inc_b");
        },
    );
}

#[test]
fn a_reading_is_stored_once_and_another_content_is_a_conflict() {
    check(
        |store| {
            let post = |seen: Observation| store.commit(&Change { observations: vec![seen], ..change() });
            post(reading("one", 1.0)).unwrap();
            let again = Observation { id: Id::from_text("obs_again"), ..reading("one", 1.0) };
            post(again).unwrap();
            assert_eq!(post(reading("one", 2.0)), Err(NotMade::Conflict("one".to_owned())));
            let asked = [reading("one", 1.0), reading("one", 2.0), reading("never", 1.0)];
            assert_eq!(store.known(&asked).unwrap(), [Some(true), Some(false), None]);
            post(reading("two", 2.0)).unwrap();
        },
        |store| {
            let recent = store.recent(&Application::parse("fraud").unwrap(), 10).unwrap();
            assert_eq!(
                recent.iter().map(|seen| (seen.sequence, seen.id.as_str())).collect::<Vec<_>>(),
                [(1, "obs_one_1"), (2, "obs_two_2")]
            );
        },
    );
}

#[test]
fn what_moved_meanwhile_stops_the_whole_change() {
    check(
        |store| {
            let incident = opened(store, "a", IncidentKind::LatencyHigh);
            let run = store.run(&incident.id).unwrap().unwrap();
            let next = Run { revision: 1, ..run.clone() };
            let made = |run: &Run, from| Change {
                runs: vec![(run.clone(), from)],
                entries: vec![entry("a", "x", &json!({}))],
                ..change()
            };
            let moved = |outcome: Result<_, NotMade>| matches!(outcome, Err(NotMade::Moved(_)));
            assert!(moved(store.commit(&made(&next, Some(5)))));
            assert!(moved(store.commit(&made(&next, None))), "it exists");
            store.commit(&made(&next, Some(0))).unwrap();
            assert!(moved(store.commit(&made(&next, Some(0)))), "it has moved on");

            let intended = receipt("a", &incident, ReceiptState::Intended);
            let put = |receipt: &Receipt, from| Change {
                receipts: vec![(receipt.clone(), from)],
                entries: vec![entry("a", "x", &json!({}))],
                ..change()
            };
            store.commit(&put(&intended, None)).unwrap();
            let started = Receipt { state: ReceiptState::Started, ..intended.clone() };
            assert!(moved(store.commit(&put(&started, Some(ReceiptState::Done)))));
            store.commit(&put(&started, Some(ReceiptState::Intended))).unwrap();
            assert!(moved(store.commit(&put(&started, Some(ReceiptState::Intended)))), "started once");
            assert!(moved(store.commit(&put(&intended, Some(ReceiptState::Started)))), "no way back");

            let mut asked = approval("a", &incident);
            let put = |approval: &Approval, from| Change {
                approvals: vec![(approval.clone(), from)],
                entries: vec![entry("a", "x", &json!({}))],
                ..change()
            };
            store.commit(&put(&asked, None)).unwrap();
            let principal = Principal { name: "ann".to_owned(), groups: Vec::new(), person: true };
            let answer = Answer { principal, decision: Decision::Approve, comment: Text::of(""), at: at(1) };
            let shown = asked.binding.digest();
            asked.answer(answer, &shown).unwrap();
            store.commit(&put(&asked, Some(ApprovalState::Waiting))).unwrap();
            assert!(moved(store.commit(&put(&asked, Some(ApprovalState::Waiting)))), "answered once");
        },
        |store| {
            // Each change that was stopped left no record.
            assert_eq!(store.records_of(&Id::from_text("inc_a")).unwrap().len(), 5);
            assert_eq!(store.run(&Id::from_text("inc_a")).unwrap().unwrap().revision, 1);
            assert_eq!(store.waiting_approvals().unwrap(), []);
            assert_eq!(store.unsettled().unwrap()[0].state, ReceiptState::Started);
        },
    );
}

#[test]
fn a_write_needs_its_lease() {
    check(
        |store| {
            let now = at(0).millis();
            let lease = store.lease("application:fraud", "one", now, 1_000).unwrap().expect("it is free");
            assert_eq!(store.lease("application:fraud", "two", now + 500, 1_000).unwrap(), None);
            let under = |now| Change {
                now,
                under: vec![lease.clone()],
                entries: vec![entry("a", "x", &json!({}))],
                ..Change::default()
            };
            store.commit(&under(now + 999)).unwrap();
            assert!(matches!(store.commit(&under(now + 1_000)), Err(NotMade::LeaseLost(_))), "it has run out");
            let other = store.lease("application:fraud", "two", now + 1_000, 1_000).unwrap().expect("it ran out");
            assert!(other.fence > lease.fence);
            assert!(matches!(store.commit(&under(now + 1_100)), Err(NotMade::LeaseLost(_))), "it is another's");
            store.release(&lease).unwrap();
            assert_eq!(
                store.lease("application:fraud", "three", now + 1_200, 1_000).unwrap(),
                None,
                "an old one gives nothing back"
            );
            store.release(&other).unwrap();
            assert!(store.lease("application:fraud", "three", now + 1_200, 1_000).unwrap().is_some());
        },
        |store| assert_eq!(store.verify_chain().unwrap(), Ok(1)),
    );
}

#[test]
fn a_target_is_in_use_by_one_run_and_blocked_by_what_nobody_knows() {
    check(
        |store| {
            let one = opened(store, "a", IncidentKind::LatencyHigh);
            let two = opened(store, "b", IncidentKind::ErrorRateHigh);
            let run = |of: &Incident, target: Option<TargetKey>| {
                let run = store.run(&of.id).unwrap().unwrap();
                let from = run.revision;
                (Run { revision: from + 1, target, ..run }, Some(from))
            };
            let take = |of: &Incident| Change { free: vec![target()], runs: vec![run(of, Some(target()))], ..change() };
            store.commit(&take(&one)).unwrap();
            assert!(matches!(store.commit(&take(&two)), Err(NotMade::InUse(_))));
            assert!(
                store.target_in_use(&target(), &two.id).unwrap() && !store.target_in_use(&target(), &one.id).unwrap()
            );
            store.commit(&Change { runs: vec![run(&one, None)], ..change() }).unwrap();
            let intended = receipt("a", &one, ReceiptState::Intended);
            store.commit(&Change { receipts: vec![(intended.clone(), None)], ..change() }).unwrap();
            store.commit(&take(&two)).unwrap();
            store.commit(&Change { runs: vec![run(&two, None)], ..change() }).unwrap();
            let started = Receipt { state: ReceiptState::Started, ..intended };
            store
                .commit(&Change {
                    free: vec![target()],
                    receipts: vec![(started.clone(), Some(ReceiptState::Intended))],
                    ..change()
                })
                .unwrap();
            for of in [&one, &two] {
                assert!(matches!(store.commit(&take(of)), Err(NotMade::InUse(_))), "an act is under way");
            }
            let unknown = Receipt { state: ReceiptState::Unknown, effect: Some(Effect::Unknown), ..started };
            store.commit(&Change { receipts: vec![(unknown, Some(ReceiptState::Started))], ..change() }).unwrap();
        },
        |store| {
            for of in ["inc_a", "inc_b"] {
                assert!(store.target_in_use(&target(), &Id::from_text(of)).unwrap(), "nobody knows, {of} or any other");
            }
            assert_eq!(store.unsettled().unwrap().len(), 1);
        },
    );
}

#[test]
fn what_is_due_comes_longest_due_first() {
    check(
        |store| {
            for (name, kind, due) in [
                ("a", IncidentKind::LatencyHigh, 5),
                ("b", IncidentKind::ErrorRateHigh, 3),
                ("c", IncidentKind::Storm, 9),
            ] {
                let incident = incident(name, kind);
                let run = Run { due: Some(at(due)), ..Run::new(&incident, at(0)) };
                store.commit(&Change { incidents: vec![incident], runs: vec![(run, None)], ..change() }).unwrap();
            }
            let ended = incident("d", IncidentKind::CrashLoop);
            let run = Run { due: None, ..Run::new(&ended, at(0)) };
            store.commit(&Change { incidents: vec![ended], runs: vec![(run, None)], ..change() }).unwrap();
        },
        |store| {
            let due = |minute, most| {
                store.due(at(minute), most).unwrap().iter().map(|run| run.incident.to_string()).collect::<Vec<_>>()
            };
            assert_eq!(due(8, 10), ["inc_b", "inc_a"]);
            assert_eq!(due(9, 10), ["inc_b", "inc_a", "inc_c"]);
            assert_eq!(due(9, 1), ["inc_b"]);
            assert_eq!(due(2, 10), Vec::<String>::new());
        },
    );
}

#[test]
fn figures_and_acts_count_a_receipt_once() {
    fn key() -> FigureKey {
        FigureKey {
            kind: IncidentKind::LatencyHigh,
            action: Action::ReloadModel,
            origin: Origin::Rules,
            agent: "rule/a/1".to_owned(),
        }
    }
    check(
        |store| {
            let measured = |outcome| Measured { key: key(), outcome, at: at(1) };
            let put = |name: &str, outcome| {
                let receipt = Id::from_text(name);
                let act = PastAct {
                    at: at(1),
                    receipt: receipt.clone(),
                    application: Application::parse("fraud").unwrap(),
                    target: target(),
                    action: Action::ReloadModel,
                    failed: outcome != VerificationOutcome::Recovered,
                };
                let made = Change { measured: vec![(receipt, measured(outcome))], acts: vec![act], ..change() };
                store.commit(&made).unwrap();
            };
            put("rct_a", VerificationOutcome::Recovered);
            put("rct_b", VerificationOutcome::Recovered);
            put("rct_a", VerificationOutcome::NotRecovered);
        },
        |store| {
            let found = store.measured(&key()).unwrap();
            assert_eq!(found.len(), 2);
            let other = FigureKey { agent: "rule/a/2".to_owned(), ..key() };
            assert_eq!(store.measured(&other).unwrap(), []);
            let relapsed = store.measured_of(&Id::from_text("rct_a")).unwrap().unwrap();
            assert_eq!(relapsed.outcome, VerificationOutcome::NotRecovered);
            let acts = store.acts(at(0)).unwrap();
            assert_eq!(acts.iter().map(|act| act.failed).collect::<Vec<_>>(), [true, false]);
        },
    );
}

/// Two workers that looked at the same limits: the second one's act is not counted beside them.
#[test]
fn limits_that_moved_stop_the_change() {
    check(
        |store| {
            let act = |name: &str| PastAct {
                at: at(1),
                receipt: Id::from_text(name),
                application: Application::parse("fraud").unwrap(),
                target: target(),
                action: Action::ReloadModel,
                failed: false,
            };
            let made = |name: &str, seen| Change { acts: vec![act(name)], acts_seen: Some((at(0), seen)), ..change() };
            store.commit(&made("rct_a", 0)).unwrap();
            assert!(matches!(store.commit(&made("rct_b", 0)), Err(NotMade::Moved(_))));
            store.commit(&made("rct_b", 1)).unwrap();
            // What lies before the moment does not matter.
            let later = Change { acts_seen: Some((at(2), 0)), ..change() };
            store.commit(&later).unwrap();
        },
        |store| assert_eq!(store.acts(at(0)).unwrap().len(), 2),
    );
}
