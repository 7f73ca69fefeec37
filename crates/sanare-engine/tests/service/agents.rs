//! The model as an agent: its repair turn, its limits, and the rules that stand in for it.

use std::sync::{Arc, Mutex};

use sanare_core::id::Id;
use sanare_core::model::setup::{Setup, setup};
use sanare_core::model::wire::Outgoing;
use sanare_core::port::{CallFault, Incoming, ModelPort, Store};
use sanare_core::service::confidence::Caps;
use sanare_core::service::context::{Context, Parts};
use sanare_core::service::moment::MINUTE;
use sanare_core::service::port::AgentCall;
use sanare_core::service::prompt::Telemetry;
use sanare_core::service::{
    Action, Agent, AgentFailure, AgentResult, Application, Component, Incident, IncidentKind, Origin,
};
use sanare_core::settings::{Settings, SettingsFile, Sources};
use sanare_engine::service::agent::{CallLimits, Chain, ModelAgent};
use sanare_store::{Memory, Sqlite};
use serde_json::json;

use super::theatre::begin;

type Replies = Vec<Result<(u16, String), CallFault>>;

/// A provider that answers from a list, and keeps what it was sent.
struct Provider {
    replies: Replies,
    sent: Arc<Mutex<Vec<String>>>,
}

impl ModelPort for Provider {
    fn exchange(
        &mut self,
        _setup: &Setup,
        outgoing: &Outgoing,
        _millis: u64,
        _gone: &mut dyn FnMut() -> bool,
    ) -> Result<Incoming, CallFault> {
        self.sent.lock().unwrap().push(outgoing.body.as_ref().to_string());
        assert!(!self.replies.is_empty(), "one call too many");
        let (status, text) = self.replies.remove(0)?;
        let body = match serde_json::from_str::<serde_json::Value>(&text) {
            // A whole answer stands as it is.
            Ok(whole) if whole["done"] == true => whole,
            _ => json!({ "message": { "content": text }, "done": true, "done_reason": "stop" }),
        };
        Ok(Incoming { status, body: if status == 200 { body.to_string().into_bytes() } else { text.into_bytes() } })
    }
}

pub fn ollama() -> Setup {
    let text = "[model]\nprovider = \"ollama\"\nmodel = \"m\"\n".to_owned();
    let file = SettingsFile { path: "s".into(), text, in_pyproject: false };
    setup(&Settings::resolve(&Sources { project: Some(file), ..Sources::default() }).unwrap()).unwrap().unwrap()
}

fn context() -> Context {
    let application = Application::parse("fraud").unwrap();
    let incident = Incident::open(
        Id::from_text("inc_a"),
        application,
        Component::default(),
        IncidentKind::Unreachable,
        None,
        begin(),
    );
    Context::new(Parts {
        incident,
        evidence: Vec::new(),
        available_actions: vec![Action::RestartComponent, Action::Escalate],
        recent_observations: Vec::new(),
        diagnostics: Vec::new(),
        version_history: Vec::new(),
        registry: None,
        at: begin(),
    })
    .unwrap()
}

fn good() -> String {
    json!({ "summary": "it hangs", "confidence": 0.95, "probable_cause": "a dead worker", "evidence_used": [],
        "action": "restart_component", "rationale": "it hangs", "expected_outcome": "it answers" })
    .to_string()
}

fn call(minute: u64) -> AgentCall {
    AgentCall { diagnosis_id: Id::from_text("dia_1"), now: begin().plus(minute * MINUTE), millis: 180_000, chance: 7 }
}

/// Asks the chain once; the result, and what the provider was sent.
fn ask(
    replies: Replies,
    store: &dyn Store,
    limits: CallLimits,
    minute: u64,
) -> (Result<AgentResult, AgentFailure>, Vec<String>) {
    let sent = Arc::new(Mutex::new(Vec::new()));
    let elapsed = || 0;
    let model = ModelAgent {
        setup: ollama(),
        port: Mutex::new(Box::new(Provider { replies, sent: Arc::clone(&sent) })),
        budgets: store,
        limits,
        elapsed: &elapsed,
        caps: Caps::default(),
        telemetry: Telemetry::default(),
    };
    let chain = Chain { model: &model, use_fallback: true, caps: Caps::default() };
    let result = chain.diagnose(&context(), &call(minute));
    let sent = sent.lock().unwrap().clone();
    (result, sent)
}

/// Origin, failure and number of calls.
fn told(replies: Replies) -> String {
    let (result, sent) = ask(replies, &Memory::new(), CallLimits::default(), 0);
    let diagnosis = result.expect("somebody always answers").diagnosis;
    let failure = diagnosis.failure.map_or("", AgentFailure::word);
    format!("{} {failure} {}", diagnosis.origin, sent.len())
}

#[test]
fn a_reply_gets_one_repair_turn_that_repeats_nothing_of_it() {
    let bad = || Ok((200, "{\"summary\": \"SECRET WORDS OF THE FIRST REPLY\"}".to_owned()));
    assert_eq!(told(vec![Ok((200, good()))]), "model  1");
    assert_eq!(told(vec![bad(), Ok((200, good()))]), "model  2");
    assert_eq!(told(vec![bad(), bad()]), "fallback invalid_reply 2");
    let (_, sent) = ask(vec![bad(), Ok((200, "[]".to_owned()))], &Memory::new(), CallLimits::default(), 0);
    assert!(!sent[1].contains("SECRET WORDS"), "{}", sent[1]);
    assert!(sent[1].contains("`confidence` is not a number from 0 to 1"), "{}", sent[1]);
    assert!(sent[0].contains("diagnose") || sent[0].contains("allowed_actions"), "{}", sent[0]);
}

#[test]
fn every_failure_is_its_type_and_no_word_of_the_provider() {
    let secret = || "token=hunter2secret99 is wrong".to_owned();
    let failures: Vec<(Replies, &str)> = vec![
        (vec![Ok((401, secret()))], "not_authorised"),
        (vec![Ok((403, secret()))], "not_authorised"),
        (vec![Ok((429, secret()))], "rate_limited"),
        (vec![Ok((500, secret()))], "provider"),
        (vec![Ok((301, secret()))], "provider"),
        (vec![Err(CallFault::Timeout)], "timeout"),
        (vec![Err(CallFault::Tls(secret()))], "connection"),
        (vec![Err(CallFault::NoKey(secret()))], "not_authorised"),
        (vec![Err(CallFault::CannotStart(secret()))], "provider"),
        (vec![Ok((200, secret())), Ok((200, secret()))], "invalid_reply"),
    ];
    for (replies, word) in failures {
        let calls = replies.len();
        let (result, sent) = ask(replies, &Memory::new(), CallLimits::default(), 0);
        let result = result.expect("the rules stand in");
        assert_eq!(
            (result.diagnosis.origin, result.diagnosis.failure.map(AgentFailure::word)),
            (Origin::Fallback, Some(word))
        );
        assert!(result.diagnosis.confidence <= 0.2 && sent.len() == calls);
        let all = serde_json::to_string(&result).unwrap();
        assert!(!all.contains("hunter2") && !all.contains("is wrong"), "{all}");
        assert!(result.diagnosis.shown_summary().starts_with(&format!("[fallback: {word}]")));
    }
}

#[test]
fn without_a_fallback_a_person_is_told() {
    let elapsed = || 0;
    let store = Memory::new();
    let model = ModelAgent {
        setup: ollama(),
        port: Mutex::new(Box::new(Provider { replies: vec![Ok((500, String::new()))], sent: Arc::default() })),
        budgets: &store,
        limits: CallLimits::default(),
        elapsed: &elapsed,
        caps: Caps::default(),
        telemetry: Telemetry::default(),
    };
    let chain = Chain { model: &model, use_fallback: false, caps: Caps::default() };
    assert_eq!(chain.diagnose(&context(), &call(0)), Err(AgentFailure::Provider));
}

#[test]
fn an_endpoint_that_refuses_the_form_is_asked_without_it() {
    let refuses = || Ok((400, "json_schema is not supported here, use response_format".to_owned()));
    assert_eq!(told(vec![refuses(), Ok((200, good()))]), "model  2");
    assert_eq!(told(vec![refuses(), refuses()]), "fallback provider 2");
}

/// A sliding hour that neither a restart nor a clock refills.
#[test]
fn calls_are_limited_for_good() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("store.db");
    let limits = CallLimits { application: Some(3), all: Some(300), tokens: None };
    let asked = |minute: u64| {
        // Each time another process.
        let store = Sqlite::open(&place).unwrap();
        let (result, sent) = ask(vec![Ok((200, good()))], &store, limits, minute);
        format!("{} {}", result.unwrap().diagnosis.origin, sent.len())
    };
    for minute in 0..3 {
        assert_eq!(asked(minute), "model 1");
    }
    for minute in [3, 30, 59, 0] {
        assert_eq!(asked(minute), "fallback 0", "minute {minute}");
    }
    assert_eq!(asked(60), "model 1");
    assert_eq!(asked(60), "fallback 0");
    let never = CallLimits { application: Some(0), all: None, tokens: None };
    let (result, sent) = ask(vec![Ok((200, good()))], &Memory::new(), never, 0);
    assert_eq!((result.unwrap().diagnosis.failure, sent.len()), (Some(AgentFailure::LimitReached), 0));
    let store = Memory::new();
    for _ in 0..100 {
        let free = CallLimits { application: None, all: None, tokens: None };
        let (result, _) = ask(vec![Ok((200, good()))], &store, free, 0);
        assert_eq!(result.unwrap().diagnosis.origin, Origin::Model);
    }
}

/// Two that run at once and are started again ten times: the sum holds, for one service and for all.
#[test]
fn two_at_once_and_ten_restarts_never_exceed_the_limit() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("store.db");
    let limits = CallLimits { application: Some(7), all: Some(300), tokens: None };
    let one = |limits: CallLimits| {
        let mut made = 0;
        for restart in 0..10 {
            let store = Sqlite::open(&place).unwrap();
            let (result, sent) = ask(vec![Ok((200, good()))], &store, limits, restart);
            made += sent.len();
            assert_eq!(result.unwrap().diagnosis.origin == Origin::Model, sent.len() == 1);
        }
        made
    };
    let both = std::thread::scope(|scope| {
        let other = scope.spawn(|| one(limits));
        one(limits) + other.join().unwrap()
    });
    assert_eq!(both, 7);
    // The limit for all has counted them too.
    assert_eq!(one(CallLimits { application: None, all: Some(9), tokens: None }), 2);
}

/// A provider that says what a call has used: as two counts, or something that is none.
fn counting(reported: &serde_json::Value) -> Replies {
    let mut body = json!({ "message": { "content": good() }, "done": true, "done_reason": "stop" });
    for (key, value) in reported.as_object().unwrap() {
        body[key] = value.clone();
    }
    vec![Ok((200, body.to_string()))]
}

/// What a provider says that a call has used replaces the most that it could have, for every process; without its word, or
/// with one that is no count, the most stays.
#[test]
fn tokens_are_settled_by_what_the_provider_reports() {
    let calls_for = |reported: serde_json::Value| {
        let folder = tempfile::tempdir().unwrap();
        let limits = CallLimits { application: None, all: None, tokens: Some(40_000) };
        let mut made = 0_u64;
        loop {
            // Each time another process.
            let store = Sqlite::open(&folder.path().join("store.db")).unwrap();
            let (result, sent) = ask(counting(&reported), &store, limits, made);
            if sent.is_empty() || made == 60 {
                assert!(made == 60 || result.unwrap().diagnosis.failure == Some(AgentFailure::LimitReached));
                return made;
            }
            made += 1;
        }
    };
    let unknown = calls_for(json!({}));
    assert!((2..10).contains(&unknown), "{unknown} calls");
    for odd in [json!({"prompt_eval_count": 900}), json!({"prompt_eval_count": -5, "eval_count": "few"})] {
        assert_eq!(calls_for(odd.clone()), unknown, "{odd}");
    }
    let frugal = calls_for(json!({"prompt_eval_count": 1_500, "eval_count": 500}));
    // The last call still has to fit with the most that it can cost.
    let most = 40 / unknown.max(1) + 1;
    assert!(frugal >= (40 - most) / 2 && frugal <= 20, "{frugal} calls of 2,000 tokens");
    assert_eq!(calls_for(json!({"prompt_eval_count": 39_000, "eval_count": 2_000})), 1, "more than it could cost");
    assert_eq!(calls_for(json!({"prompt_eval_count": u64::MAX, "eval_count": u64::MAX})), 1);
}

/// A day's tokens are counted by what a call may cost at most, before it is made.
#[test]
fn tokens_of_a_day_are_limited_for_good() {
    let store = Memory::new();
    let asked = |tokens: u64, minute: u64| {
        let limits = CallLimits { application: None, all: None, tokens: Some(tokens) };
        ask(vec![Ok((200, good()))], &store, limits, minute).1.len()
    };
    assert_eq!(asked(0, 0), 0, "0 is never");
    assert_eq!(asked(1_000, 0), 0, "less than one call may cost");
    let mut made = 0;
    while asked(40_000, made) == 1 {
        made += 1;
    }
    assert!((2..40).contains(&made), "{made} calls");
    assert_eq!(asked(40_000, 23 * 60), 0, "an hour refills nothing");
    assert_eq!(asked(40_000, 0), 0, "and neither does a clock that is set back");
    assert_eq!(asked(40_000, 24 * 60), 1, "a day does");
}
