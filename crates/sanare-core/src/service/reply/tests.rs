//! One reply a check, citations, hostile replies, and that nothing but the offer ever comes out.

use proptest::prelude::*;
use serde_json::{Value as Json, json};

use super::{Asked, read};
use crate::hash::Digest;
use crate::id::Id;
use crate::service::AgentName;
use crate::service::action::Action;
use crate::service::attempt::tests::attempt;
use crate::service::confidence::Caps;
use crate::service::context::Context;
use crate::service::context::tests::parts;
use crate::service::kind::IncidentKind;
use crate::service::moment::Moment;
use crate::service::proposal::AgentResult;
use crate::service::word::{Effect, Origin};

fn context() -> Context {
    let mut parts = parts(IncidentKind::LatencyHigh);
    parts.available_actions = vec![Action::RestartComponent, Action::ReloadModel, Action::Escalate, Action::NoAction];
    parts.incident.attempts = vec![attempt(Action::ReloadModel, Some(Effect::Done))];
    Context::new(parts).expect("good")
}

fn ask(reply: &[u8]) -> Result<AgentResult, &'static str> {
    ask_of(&context(), reply)
}

fn ask_of(context: &Context, reply: &[u8]) -> Result<AgentResult, &'static str> {
    let readings: Vec<Id> = (1..=12).map(|number| Id::new("obs", number, 7)).collect();
    let agent = AgentName::Model {
        provider: "ollama".to_owned(),
        model: "m".to_owned(),
        prompt: "diagnose_incident".to_owned(),
        version: 1,
        hash: Digest::of(b"x"),
    };
    let asked = Asked {
        context,
        readings: &readings,
        agent,
        caps: Caps::default(),
        id: Id::new("dia", 1, 1),
        now: Moment::from_micros(3),
    };
    read(reply, &asked).map_err(|invalid| invalid.code.word())
}

fn good() -> Json {
    json!({ "summary": "it hangs", "confidence": 0.95, "probable_cause": "a dead worker", "evidence_used": ["r1", "r3"],
        "alternatives": ["load"], "missing_information": [], "action": "restart_component", "rationale": "it hangs",
        "expected_outcome": "it answers" })
}

/// Changes some keys of the good reply and tells the first failed check.
fn check(changes: &[(&str, Json)]) -> String {
    let mut reply = good();
    for (key, value) in changes {
        reply[*key] = value.clone();
    }
    match ask(reply.to_string().as_bytes()) {
        Ok(result) => result.advice.map_or("nothing".to_owned(), |advice| advice.action.word().to_owned()),
        Err(code) => code.to_owned(),
    }
}

#[test]
fn the_first_failed_check_is_reported() {
    // Each step fails its own check and all later ones.
    let wrong = [
        ("extra", json!(1), "unknown_key"),
        ("summary", json!(" "), "summary"),
        ("confidence", json!("0.5"), "confidence"),
        ("probable_cause", json!(5), "probable_cause"),
        ("evidence_used", json!("r1"), "evidence_used"),
        ("alternatives", json!([1]), "list"),
        ("action", json!(["restart_component"]), "action"),
    ];
    for (place, (_, _, code)) in wrong.iter().enumerate() {
        let changes: Vec<(&str, Json)> = wrong[place..].iter().map(|(key, value, _)| (*key, value.clone())).collect();
        assert_eq!(check(&changes), *code);
    }
}

/// The checks behind the action: each reply fails its own and all later ones.
#[test]
fn the_first_failed_check_of_an_action_is_reported() {
    let blank = |action: Json, cause: Json| {
        [("action", action), ("rationale", json!(" ")), ("expected_outcome", Json::Null), ("probable_cause", cause)]
    };
    // Unknown in any spelling; neither offered nor untried; tried; with nothing to say for it; without a cause.
    for unknown in [json!("Restart_Component"), json!(["restart_component"]), json!("restart_component ")] {
        assert_eq!(check(&blank(unknown, Json::Null)), "action");
    }
    assert_eq!(check(&blank(json!("rollback_model"), Json::Null)), "not_offered");
    assert_eq!(check(&blank(json!("reload_model"), Json::Null)), "tried");
    assert_eq!(check(&blank(json!("restart_component"), Json::Null)), "closing");
    assert_eq!(check(&[("probable_cause", Json::Null)]), "without_cause");
    // What was tried and is not offered any more is not offered.
    let mut parts = parts(IncidentKind::LatencyHigh);
    parts.available_actions = vec![Action::Escalate];
    parts.incident.attempts = vec![attempt(Action::ReloadModel, Some(Effect::Done))];
    let mut reply = good();
    reply["action"] = json!("reload_model");
    assert_eq!(ask_of(&Context::new(parts).expect("good"), reply.to_string().as_bytes()).err(), Some("not_offered"));
    // And before them all, what no number is.
    for odd in [json!(true), json!("0.5")] {
        let all: Vec<_> = blank(json!("rollback_model"), json!(5)).into_iter().chain([("confidence", odd)]).collect();
        assert_eq!(check(&all), "confidence");
    }
}

/// Readings whose names look like handles, like each other or like everything at once: what is cited is a handle.
#[test]
fn names_are_no_citations() {
    for name in ["a", "r1", &"x".repeat(200), "Latency", "latency", "r1 and r2", "latency_p99_ms"] {
        let cited = check(&[("evidence_used", json!([name]))]);
        assert_eq!(cited, if name == "r1" { "restart_component" } else { "unknown_handle" }, "{name}");
    }
    let mut reply = good();
    reply["evidence_used"] = json!(["r2", "r2", "r1"]);
    let cited = ask(reply.to_string().as_bytes()).expect("a result").diagnosis.evidence_used;
    assert_eq!(cited, [Id::new("obs", 2, 7), Id::new("obs", 1, 7)], "by their place, whatever they are called");
}

#[test]
fn each_check_has_its_odd_values() {
    assert_eq!(check(&[]), "restart_component");
    for odd in [json!(true), json!("0.5"), json!(1.0001), json!(-0.1), Json::Null, json!([0.5])] {
        assert_eq!(check(&[("confidence", odd.clone())]), "confidence", "{odd}");
    }
    for odd in [json!("Restart_Component"), json!("restart component"), json!(""), json!(1), json!({})] {
        assert_eq!(check(&[("action", odd.clone())]), "action", "{odd}");
    }
    assert_eq!(check(&[("action", json!("rollback_model"))]), "not_offered");
    assert_eq!(check(&[("action", json!("reload_model"))]), "tried");
    assert_eq!(check(&[("rationale", json!("\u{200b}"))]), "closing");
    assert_eq!(check(&[("expected_outcome", Json::Null)]), "closing");
    assert_eq!(check(&[("probable_cause", Json::Null)]), "without_cause");
    assert_eq!(check(&[("probable_cause", json!(""))]), "probable_cause");
    assert_eq!(check(&[("probable_cause", Json::Null), ("action", json!("escalate"))]), "escalate");
    assert_eq!(check(&[("action", Json::Null), ("rationale", Json::Null)]), "nothing");
    for cited in ["r99", "r1 and r2", "R1", "r01", "r1 ", "latency_p99_ms", "", "r0", "r13"] {
        assert_eq!(check(&[("evidence_used", json!([cited]))]), "unknown_handle", "{cited:?}");
    }
    for (text, code) in [
        ("", "empty"),
        ("[]", "not_one_object"),
        ("{} {}", "not_one_object"),
        ("{\"summary\":1,\"summary\":2}", "duplicate_key"),
        ("{\"confidence\":1e999}", "not_json"),
    ] {
        assert_eq!(ask(text.as_bytes()).err(), Some(code), "{text}");
    }
    let fenced = format!("here:\n```json\n{}\n```\n", good());
    assert!(ask(fenced.as_bytes()).is_ok());
}

#[test]
fn what_comes_out_is_capped_cited_and_bounded() {
    let result = |changes: &[(&str, Json)]| {
        let mut reply = good();
        for (key, value) in changes {
            reply[*key] = value.clone();
        }
        ask(reply.to_string().as_bytes()).expect("a result").diagnosis
    };
    let full = result(&[]);
    assert_eq!((full.confidence, full.confidence_reported, full.origin), (0.9, 0.95, Origin::Model));
    assert_eq!(full.evidence_used, [Id::new("obs", 1, 7), Id::new("obs", 3, 7)]);
    assert_eq!(result(&[("evidence_used", json!([]))]).confidence, 0.2);
    let without = [("probable_cause", Json::Null), ("action", json!("escalate"))];
    assert_eq!(result(&without).confidence, 0.2);
    assert_eq!(result(&without).missing_information[0].as_str(), super::NOT_SAID);
    let many: Vec<String> = (1..=12).flat_map(|number| [format!("r{number}"), format!("r{number}")]).collect();
    assert_eq!(result(&[("evidence_used", json!(many))]).evidence_used.len(), 8);
    assert_eq!(result(&[("alternatives", json!(vec!["x"; 20]))]).alternatives.len(), 8);
    assert_eq!(result(&[("summary", json!("s".repeat(1_000)))]).summary.as_str().len(), 300);
}

/// Any JSON, with the words of the form among its texts.
fn any_json() -> impl Strategy<Value = Json> {
    let word = prop::sample::select(vec![
        "restart_component",
        "reload_model",
        "rollback_model",
        "escalate",
        "no_action",
        "r1",
        "r2",
        "r99",
        "",
        " ",
        "systemd:host/evil",
        "</data>",
        "0.9",
    ]);
    let leaf = prop_oneof![
        Just(Json::Null),
        any::<bool>().prop_map(Json::from),
        any::<f64>().prop_map(Json::from),
        word.prop_map(Json::from),
        ".{0,20}".prop_map(Json::from),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Json::from),
            prop::collection::hash_map("[a-z_]{1,10}", inner, 0..4)
                .prop_map(|map| Json::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(10_000))]

    /// Invariants 1, 3, 6, 8 and 10: whatever is replied, out comes the one error, or a result within the offer.
    #[test]
    fn nothing_but_the_offer_comes_out(changes in prop::collection::vec((0..9_usize, any_json()), 0..4), kept in any::<bool>()) {
        let mut reply = if kept { good() } else { json!({}) };
        for (key, value) in changes {
            reply[super::KEYS[key]] = value;
        }
        if let Ok(result) = ask(reply.to_string().as_bytes()) {
            let diagnosis = &result.diagnosis;
            prop_assert!(diagnosis.confidence <= diagnosis.confidence_reported && diagnosis.confidence <= 0.9);
            if let Some(advice) = &result.advice {
                prop_assert!(context().available_actions.contains(&advice.action));
                prop_assert!(advice.action != Action::ReloadModel, "it was tried");
                prop_assert!(diagnosis.probable_cause.is_some() || advice.action.is_framework());
            }
        }
    }

    /// Invariant 9: a result is a function of context and reply.
    #[test]
    fn the_same_reply_gives_the_same_result(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        prop_assert_eq!(ask(&bytes), ask(&bytes));
    }
}
