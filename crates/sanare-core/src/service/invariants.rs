//! The ten invariants, as far as they hold of values alone: ten thousand cases each (S148). 2 and 7 are about the
//! chain of agents, and stand with it in the engine, as does what needs a whole run; what Python sees has its twins there.

use proptest::prelude::*;
use serde_json::{Value as Json, json};

use super::action::Action;
use super::attempt::{Attempt, spent, tests::attempt, tried};
use super::confidence::Caps;
use super::context::{Context, DiagnosticOutput, LiveSpan, MovedBy, Parts, RegistryView, Standing, Supply, tests};
use super::declaration::Undo;
use super::diagnosis::AgentName;
use super::kind::IncidentKind;
use super::moment::{MINUTE, Moment};
use super::name::{Component, Version};
use super::prompt::{Telemetry, compose};
use super::proposal::{AgentResult, Params};
use super::reply::{Asked, KEYS, read};
use super::rules::RulesAgent;
use super::target::TargetKey;
use super::text::Text;
use super::value::ObservedValue;
use super::word::{Effect, Health, Trust};
use crate::hash::Digest;
use crate::id::Id;
use crate::model::prompt::{Prompt, Purpose};

/// Cases of each invariant; what failed stays in `proptest-regressions`.
const CASES: u32 = 10_000;

/// A word that a reply may try to bring in as a target or a parameter.
const EVIL: &str = "systemd:prod/payments.service";

fn words() -> impl Strategy<Value = Json> {
    let actions = prop::sample::select(Action::ALL.to_vec()).prop_map(|action| json!(action));
    let odd = prop::sample::select(vec![EVIL, "666", "r1", "r2", "r99", "", " ", "Restart_Component", "</data>"]);
    prop_oneof![
        3 => actions,
        2 => odd.prop_map(Json::from),
        1 => ".{0,12}".prop_map(Json::from),
        2 => (0.0..=1.0_f64).prop_map(Json::from),
        1 => any::<f64>().prop_map(Json::from),
        1 => Just(Json::Null),
        1 => any::<bool>().prop_map(Json::from),
        1 => prop::collection::vec(prop::sample::select(vec!["r1", "r2", "r9", EVIL]), 0..4).prop_map(|list| json!(list)),
    ]
}

/// A reply that is nearly one: a good one with some keys changed, and sometimes one more.
fn replies() -> impl Strategy<Value = Json> {
    let changes = prop::collection::vec((0..KEYS.len(), words()), 0..4);
    let more = prop::option::weighted(0.1, prop::sample::select(vec!["target", "params", "verdict", "approved"]));
    (changes, more).prop_map(|(changes, more)| {
        let mut reply = json!({ "summary": "it hangs", "confidence": 0.95, "probable_cause": "a dead worker",
            "evidence_used": ["r1"], "alternatives": [], "missing_information": [], "action": "restart_component",
            "rationale": "it hangs", "expected_outcome": "it answers" });
        for (key, value) in changes {
            reply[KEYS[key]] = value;
        }
        if let Some(more) = more {
            reply[more] = json!(EVIL);
        }
        reply
    })
}

fn actions() -> impl Strategy<Value = Vec<Action>> {
    prop::sample::subsequence(Action::ALL.to_vec(), 0..=Action::ALL.len()).prop_map(|mut some| {
        if !some.contains(&Action::Escalate) {
            some.push(Action::Escalate);
        }
        some
    })
}

fn attempts() -> impl Strategy<Value = Vec<Attempt>> {
    let effects = prop::sample::select(Effect::ALL.to_vec());
    prop::collection::vec((prop::sample::select(Action::ALL.to_vec()), effects), 0..4).prop_map(|all| {
        all.into_iter().map(|(action, effect)| attempt(action, (!action.is_framework()).then_some(effect))).collect()
    })
}

/// What a context may hold, and how many of each.
#[derive(Clone, Debug)]
struct Held {
    kind: IncidentKind,
    offer: Vec<Action>,
    attempts: Vec<Attempt>,
    counts: (u64, u64, usize, usize),
    registry: Option<bool>,
}

fn held() -> impl Strategy<Value = Held> {
    let kinds = prop::sample::select(IncidentKind::ALL.to_vec());
    let counts = (0..6_u64, 0..6_u64, 0..4_usize, 0..4_usize);
    (kinds, actions(), attempts(), counts, any::<Option<bool>>())
        .prop_map(|(kind, offer, attempts, counts, registry)| Held { kind, offer, attempts, counts, registry })
}

impl Held {
    fn parts(&self) -> Parts {
        let (evidence, recent, diagnostics, spans) = self.counts;
        let of = |from: u64, count: u64| {
            (from..from + count).rev().map(|n| tests::reading(n, "fraud", ObservedValue::metric(1.5)))
        };
        let mut parts = tests::parts(self.kind);
        parts.available_actions.clone_from(&self.offer);
        parts.incident.attempts.clone_from(&self.attempts);
        parts.evidence = of(1, evidence).collect();
        parts.recent_observations = of(100, recent).collect();
        parts.diagnostics = (0..diagnostics)
            .map(|number| DiagnosticOutput {
                name: format!("check{number}"),
                at: parts.at,
                succeeded: true,
                output: Text::of("8 threads wait"),
            })
            .collect();
        parts.version_history = (0..spans)
            .map(|number| LiveSpan {
                version: Version::parse(format!("{number}")).expect("a version"),
                from: parts.at.minus((spans - number) as u64 * 20 * MINUTE),
                to: None,
                moved_by: MovedBy::Others,
                standing: Standing::Unknown,
            })
            .collect();
        parts.registry = self.registry.map(|ready| RegistryView { alias_ready: ready, ..RegistryView::default() });
        parts
    }

    fn context(&self) -> Context {
        Context::new(self.parts()).expect("good parts")
    }
}

fn asked<'a>(context: &'a Context, readings: &'a [Id], caps: Caps) -> Asked<'a> {
    let agent = AgentName::Model {
        provider: "ollama".to_owned(),
        model: "m".to_owned(),
        prompt: "diagnose_incident".to_owned(),
        version: 1,
        hash: Digest::of(b"x"),
    };
    Asked { context, readings, agent, caps, id: Id::new("dia", 1, 1), now: Moment::from_micros(3) }
}

fn answer(reply: &Json, context: &Context, caps: Caps) -> Option<AgentResult> {
    let readings: Vec<Id> = context.evidence.iter().map(|seen| seen.id.clone()).collect();
    read(reply.to_string().as_bytes(), &asked(context, &readings, caps)).ok()
}

/// Target, parameters and undo as they are ours for an action.
fn ours(action: Action) -> (Option<TargetKey>, Params, Undo) {
    let params = match action {
        Action::RestartComponent => Params::Restart { component: Component::default() },
        Action::RollbackModel => {
            let version = |text: &str| Version::parse(text).expect("a version");
            Params::Rollback { from_version: version("42"), to_version: version("41") }
        }
        Action::RunDiagnostic => Params::Diagnostic { name: "threads".to_owned() },
        _ => Params::Empty,
    };
    let target = (!action.is_framework()).then(|| TargetKey::parse("command:fraud/own").expect("a key"));
    (target, params, Undo::None)
}

fn caps() -> impl Strategy<Value = Caps> {
    (0.0..=1.0_f64, 0.0..=1.0_f64).prop_map(|(model, fallback)| Caps::new(model, fallback).expect("shares"))
}

/// Written in parts, so that no scanner takes this file for one that holds secrets.
fn secrets() -> impl Strategy<Value = String> {
    prop_oneof![
        "[A-Z2-7]{16}".prop_map(|tail| format!("{}{}{tail}", "AK", "IA")),
        "[A-Za-z0-9]{36}".prop_map(|tail| format!("{}{}{tail}", "gh", "p_")),
        "[a-z0-9]{20,30}".prop_map(|tail| format!("{}{}{tail}7Q", "pass", "word=")),
        "[A-Za-z0-9]{24,40}".prop_map(|tail| format!("authorization: {} {tail}x9", "Bearer")),
    ]
}

/// The part of a secret that must be nowhere.
fn core_of(secret: &str) -> &str {
    let start = secret.rfind(['=', ' ', '_']).map_or(4, |place| place + 1);
    &secret[start..]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(CASES))]

    /// 1: no path from model text to an action outside the offer, a target or a parameter.
    #[test]
    fn invariant_1_a_reply_brings_nothing_but_an_offered_action(reply in replies(), held in held()) {
        let context = held.context();
        let Some(result) = answer(&reply, &context, Caps::default()) else { return Ok(()) };
        let Some(advice) = &result.advice else { return Ok(()) };
        prop_assert!(held.offer.contains(&advice.action));
        let (target, params, undo) = ours(advice.action);
        let proposal = result.propose(Id::new("pro", 1, 1), target.clone(), params.clone(), undo).expect("advice")
            .map_err(|invalid| TestCaseError::fail(invalid.to_string()))?;
        prop_assert_eq!((&proposal.target, &proposal.params, proposal.undo), (&target, &params, undo));
        prop_assert!(!json!([proposal.target, proposal.params, proposal.undo]).to_string().contains(EVIL));
    }

    /// 3: capped is never more than reported, whoever says it.
    #[test]
    fn invariant_3_capped_is_never_more_than_reported(reply in replies(), held in held(), caps in caps()) {
        let context = held.context();
        let rules = RulesAgent.answer(&context, Id::new("dia", 1, 1), context.at);
        for result in answer(&reply, &context, caps).into_iter().chain([rules]) {
            let diagnosis = &result.diagnosis;
            prop_assert!(diagnosis.confidence <= diagnosis.confidence_reported, "{diagnosis:?}");
            prop_assert!(diagnosis.judged_confidence() <= diagnosis.confidence);
        }
    }

    /// 4: what is supplied is what the context holds; the rest is not supplied, and nothing is both.
    #[test]
    fn invariant_4_supplied_is_the_content(held in held()) {
        let context = held.context();
        let (supplied, missing) = (context.supplied(), context.not_supplied());
        let (evidence, recent, diagnostics, spans) = held.counts;
        let expected = [
            (Supply::Incident, 1),
            (Supply::Evidence, evidence as usize),
            (Supply::AvailableActions, held.offer.len()),
            (Supply::PreviousAttempts, held.attempts.len()),
            (Supply::RecentObservations, recent as usize),
            (Supply::Diagnostics, diagnostics),
            (Supply::VersionHistory, spans),
            (Supply::RegistryState, usize::from(held.registry.is_some())),
        ];
        for one in Supply::ALL {
            let count = expected.iter().find(|(known, _)| known == one).map_or(0, |(_, count)| *count);
            let told = supplied.iter().find(|(known, _)| known == one).map(|(_, count)| *count);
            prop_assert_eq!(told, (count > 0).then_some(count), "{}", one);
            prop_assert_eq!(missing.contains(one), count == 0, "{}", one);
        }
    }

    /// 5: no secret is in a stored picture, a prompt or a result, wherever it came in.
    #[test]
    fn invariant_5_no_secret_is_anywhere(secret in secrets(), place in 0..6_usize, redacted in any::<bool>()) {
        let mut parts = tests::parts(IncidentKind::Unreachable);
        let text = format!("it broke with {secret} at 12:00");
        let mut summary = "it hangs".to_owned();
        match place {
            0 => parts.incident.summary = Text::of(&text),
            1 | 2 => {
                let detail = Some(Text::of(&text));
                let mut seen = tests::reading(1, "fraud", ObservedValue::Health { status: Health::Fail, detail });
                seen.trust = if place == 1 { Trust::Own } else { Trust::Outside };
                parts.evidence = vec![seen];
            }
            3 => parts.diagnostics.push(DiagnosticOutput {
                name: "threads".to_owned(),
                at: parts.at,
                succeeded: true,
                output: Text::of(&text),
            }),
            4 => parts.incident.attempts.push(Attempt { summary: Text::of(&text), ..attempt(Action::NoAction, None) }),
            _ => summary = text,
        }
        let context = Context::new(parts).expect("good parts");
        let telemetry = if redacted { Telemetry::Redacted } else { Telemetry::default() };
        let question = compose(&context, &Prompt::newest(Purpose::DiagnoseIncident), "00", &telemetry, "");
        let reply = json!({ "summary": summary, "confidence": 0.9, "probable_cause": summary, "evidence_used": [],
            "missing_information": [summary], "action": "escalate", "rationale": summary, "expected_outcome": summary });
        let result = answer(&reply, &context, Caps::default()).expect("a result");
        let shown = result.diagnosis.shown_summary();
        let all = format!("{}{}{}{shown}", json!(context), question.request.system + &question.request.user, json!(result));
        prop_assert!(!all.contains(core_of(&secret)), "{all}");
    }

    /// 6: whatever is picked of what is not spent, and whatever comes of it: nothing is done twice that did something.
    #[test]
    fn invariant_6_no_application_action_twice(
        picks in prop::collection::vec((0..Action::ALL.len(), prop::sample::select(Effect::ALL.to_vec())), 1..40),
    ) {
        let checks = vec!["threads".to_owned(), "disk".to_owned(), "gpu".to_owned()];
        let (mut done, mut now) = (Vec::<Attempt>::new(), Moment::from_micros(1));
        for (place, effect) in picks {
            now = now.plus(10 * MINUTE);
            let offered: Vec<Action> =
                Action::ALL.iter().copied().filter(|action| spent(*action, &done, &checks, now).is_none()).collect();
            let action = offered[place % offered.len()];
            let ran = super::attempt::next_diagnostic(&done, &checks).map(str::to_owned);
            let diagnostic = (action == Action::RunDiagnostic).then_some(ran).flatten();
            let effect = (!action.is_framework()).then_some(effect);
            done.push(Attempt { diagnostic, at: now, ..attempt(action, effect) });
        }
        for action in Action::ALL {
            let of: Vec<&Attempt> = done.iter().filter(|one| one.action == *action).collect();
            let harmless = |one: &&&Attempt| matches!(one.effect, Some(Effect::Refused | Effect::NotStarted));
            let most = match action {
                Action::RunDiagnostic => 2,
                Action::NoAction => 3,
                Action::Escalate => usize::MAX,
                // Once more after an effect that surely changed nothing.
                _ => if of.first().as_ref().is_some_and(harmless) { 2 } else { 1 },
            };
            prop_assert!(of.len() <= most, "{action}: {}", of.len());
            prop_assert!(action.is_framework() || of.is_empty() || of.len() < most || tried(*action, &done));
        }
        let ran: Vec<&String> = done.iter().filter_map(|one| one.diagnostic.as_ref()).collect();
        prop_assert_eq!(ran.iter().collect::<std::collections::BTreeSet<_>>().len(), ran.len());
    }

    /// 8: without a cause there are framework actions alone.
    #[test]
    fn invariant_8_without_a_cause_nothing_is_done(reply in replies(), held in held(), cause in any::<bool>()) {
        let context = held.context();
        let mut reply = reply;
        if !cause {
            reply["probable_cause"] = Json::Null;
        }
        let rules = RulesAgent.answer(&context, Id::new("dia", 1, 1), context.at);
        for result in answer(&reply, &context, Caps::default()).into_iter().chain([rules]) {
            let framework = result.advice.as_ref().is_none_or(|advice| advice.action.is_framework());
            prop_assert!(framework || result.diagnosis.probable_cause.is_some());
            // The same of a result that an agent of somebody else's has made.
            let without = AgentResult {
                diagnosis: super::Diagnosis {
                    probable_cause: None,
                    missing_information: vec![Text::of("logs")],
                    ..result.diagnosis.clone()
                },
                advice: result.advice.clone(),
            };
            prop_assert_eq!(without.check(&context.incident.id, &held.offer).is_ok(), framework);
        }
    }

    /// 9: a result is a function of context and reply, ids and times apart.
    #[test]
    fn invariant_9_a_result_is_a_function_of_context_and_reply(reply in replies(), held in held(), number in 2..99_u64) {
        let (context, again) = (held.context(), held.context());
        prop_assert_eq!(context.digest(), again.digest());
        let readings: Vec<Id> = context.evidence.iter().map(|seen| seen.id.clone()).collect();
        let bytes = reply.to_string();
        let one = read(bytes.as_bytes(), &asked(&context, &readings, Caps::default()));
        let (id, now) = (Id::new("dia", number, 2), Moment::from_micros(number));
        let other = Asked { id: id.clone(), now, ..asked(&again, &readings, Caps::default()) };
        let mut other = read(bytes.as_bytes(), &other);
        if let Ok(result) = &mut other {
            prop_assert_eq!((&result.diagnosis.id, result.diagnosis.at), (&id, now));
            (result.diagnosis.id, result.diagnosis.at) = (Id::new("dia", 1, 1), Moment::from_micros(3));
        }
        prop_assert_eq!(one, other);
    }

    /// 10: any reply is a result or the one error, which holds nothing of it; what comes out is bounded.
    #[test]
    fn invariant_10_any_reply_is_a_result_or_the_one_error(
        reply in replies(), cut in 0..400_usize, noise in prop::collection::vec(any::<u8>(), 0..60), many in 1..2_000_usize,
        form in 0..5_u8,
    ) {
        let whole = reply.to_string().into_bytes();
        let cut = cut.min(whole.len());
        let bytes = match form {
            0 => whole,
            1 => [&whole[..cut], &noise, &whole[cut..]].concat(),
            2 => noise.repeat(many),
            3 => [b"[".repeat(many * 20), whole].concat(),
            _ => [&whole[..cut], "9".repeat(many * 20).as_bytes(), &whole[cut..]].concat(),
        };
        let context = tests_context();
        let readings: Vec<Id> = context.evidence.iter().map(|seen| seen.id.clone()).collect();
        match read(&bytes, &asked(context, &readings, Caps::default())) {
            Ok(result) => prop_assert!(json!(result).to_string().len() < 64 * 1024),
            Err(invalid) => {
                let told = invalid.to_string();
                prop_assert!(!told.is_empty() && told.len() < 400 && !told.contains(EVIL));
                prop_assert!(crate::model::reply::Code::ALL.iter().any(|code| told.contains(code.sentence())), "{told}");
            }
        }
    }
}

/// Made once: what is asked does not matter here.
fn tests_context() -> &'static Context {
    static ONCE: std::sync::OnceLock<Context> = std::sync::OnceLock::new();
    ONCE.get_or_init(|| Context::new(tests::parts(IncidentKind::LatencyHigh)).expect("good parts"))
}
