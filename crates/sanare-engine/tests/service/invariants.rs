//! Two of the ten invariants, which are about the chain of agents: what stands in for a model, and what a provider said
//! (S148). The others stand in core, or in the properties of whole runs.

use std::sync::Mutex;

use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;
use sanare_core::id::Id;
use sanare_core::incident::Mode;
use sanare_core::model::setup::Setup;
use sanare_core::model::wire::Outgoing;
use sanare_core::policy::{Policy, Verdict};
use sanare_core::port::{CallFault, Incoming, ModelPort};
use sanare_core::service::confidence::Caps;
use sanare_core::service::context::{Context, Parts, RegistryView};
use sanare_core::service::policy::{Case, Numbers, judge, rules};
use sanare_core::service::port::AgentCall;
use sanare_core::service::port::scripted::ScriptedAgent;
use sanare_core::service::prompt::Telemetry;
use sanare_core::service::{
    Action, Agent, AgentFailure, Application, Component, Draft, Incident, IncidentKind, Observation, ObservedValue,
    Origin, Signal, Source, Stamp, Trust,
};
use sanare_engine::service::agent::{CallLimits, Chain, ModelAgent};
use sanare_store::Memory;
use serde_json::json;

use super::agents::ollama;
use super::theatre::begin;

/// Seeds of cases that failed stay beside this file.
fn kept() -> ProptestConfig {
    let file =
        FileFailurePersistence::Direct(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/service/invariants.regressions"));
    ProptestConfig { cases: 10_000, failure_persistence: Some(Box::new(file)), ..ProptestConfig::default() }
}

fn context(kind: IncidentKind, readings: u64, offer: &[Action], ready: bool) -> Context {
    let application = Application::parse("fraud").unwrap();
    let incident =
        Incident::open(Id::from_text("inc_a"), application.clone(), Component::default(), kind, None, begin());
    let reading = |number: u64| {
        let signal = Signal::parse("latency_p99_ms").unwrap();
        let stamp = Stamp {
            id: Id::new("obs", number, 1),
            arrival: begin(),
            source: Source::parse("client").unwrap(),
            trust: Trust::Own,
        };
        Observation::accept(Draft::new(application.clone(), signal, ObservedValue::metric(900.0)), stamp).unwrap()
    };
    Context::new(Parts {
        incident,
        evidence: (1..=readings).map(reading).collect(),
        available_actions: offer.iter().copied().chain([Action::Escalate]).collect(),
        recent_observations: Vec::new(),
        diagnostics: Vec::new(),
        version_history: Vec::new(),
        registry: Some(RegistryView { alias_ready: ready, ..RegistryView::default() }),
        at: begin(),
    })
    .unwrap()
}

fn call() -> AgentCall {
    AgentCall { diagnosis_id: Id::from_text("dia_1"), now: begin(), millis: 180_000, chance: 7 }
}

fn failures() -> impl Strategy<Value = AgentFailure> {
    prop::sample::select(AgentFailure::ALL.to_vec())
}

fn kinds() -> impl Strategy<Value = IncidentKind> {
    prop::sample::select(IncidentKind::ALL.to_vec())
}

fn offers() -> impl Strategy<Value = Vec<Action>> {
    prop::sample::subsequence(Action::ALL.to_vec(), 0..=Action::ALL.len())
}

/// What a provider says where it fails, in any of its ways.
#[derive(Clone, Debug)]
enum Said {
    Answer(u16, String),
    Broken(CallFault),
}

struct Provider(Vec<Said>);

impl ModelPort for Provider {
    fn exchange(
        &mut self,
        _setup: &Setup,
        _outgoing: &Outgoing,
        _millis: u64,
        _gone: &mut dyn FnMut() -> bool,
    ) -> Result<Incoming, CallFault> {
        match self.0.pop() {
            Some(Said::Answer(status, text)) => Ok(Incoming { status, body: text.into_bytes() }),
            Some(Said::Broken(fault)) => Err(fault),
            None => Err(CallFault::Timeout),
        }
    }
}

/// A mark that must be nowhere, in whatever form the provider sends it.
const MARK: &str = "zqxmessagezqx";

fn said() -> impl Strategy<Value = Said> {
    let word = "[a-z ]{0,20}".prop_map(|word| format!("{word} {MARK} {word}"));
    let status = prop::sample::select(vec![200_u16, 301, 400, 401, 403, 404, 422, 429, 500, 503]);
    let form = 0..6_u8;
    let answer = (status, word, form).prop_map(|(status, word, form)| {
        let body = match form {
            0 => word,
            1 => json!({ "error": { "message": word } }).to_string(),
            2 => json!({ "message": { "content": word }, "done": true }).to_string(),
            3 => json!({ "message": { "content": json!({ "summary": 3, "x": word }).to_string() }, "done": true })
                .to_string(),
            4 => format!("<html>{word}</html>"),
            _ => format!("{{\"message\": {{\"content\": \"{word}"),
        };
        Said::Answer(status, body)
    });
    let broken = prop::sample::select(vec![
        CallFault::Lookup,
        CallFault::Connect,
        CallFault::Tls(MARK.to_owned()),
        CallFault::NoKey(MARK.to_owned()),
        CallFault::CannotStart(MARK.to_owned()),
        CallFault::NotHttp,
        CallFault::TooLong,
        CallFault::Broken,
    ]);
    prop_oneof![4 => answer, 1 => broken.prop_map(Said::Broken)]
}

proptest! {
    #![proptest_config(kept())]

    /// 2: what stands in for a model is believed at most as far as its cap, and never permitted.
    #[test]
    fn invariant_2_a_fallback_is_capped_and_never_permitted(
        kind in kinds(), readings in 0..4_u64, offer in offers(), ready in any::<bool>(), failure in failures(),
        cap in 0.0..=1.0_f64, changes in prop::collection::vec((0..rules::ALL.len(), 0..16_usize), 0..6),
    ) {
        let model = ScriptedAgent { behaviour: Box::new(move |_, _| Err(failure)) };
        let chain = Chain { model: &model, use_fallback: true, caps: Caps::new(0.9, cap).unwrap() };
        let context = context(kind, readings, &offer, ready);
        let result = chain.diagnose(&context, &call()).unwrap();
        let result = result.check(&context.incident.id, &context.available_actions)
            .map_err(|invalid| TestCaseError::fail(invalid.to_string()))?;
        let diagnosis = &result.diagnosis;
        prop_assert_eq!((diagnosis.origin, diagnosis.failure), (Origin::Fallback, Some(failure)));
        prop_assert!(diagnosis.confidence <= cap && diagnosis.confidence <= diagnosis.confidence_reported);
        let Some(action) = result.advice.map(|advice| advice.action).filter(|action| !action.is_framework()) else {
            return Ok(());
        };
        let (mut case, mut numbers) = (Case::default(), Numbers { mode: Mode::Auto, ..Numbers::default() });
        for (rule, example) in changes {
            let examples = rules::ALL[rule].examples;
            (examples[example % examples.len()].change)(&mut case, &mut numbers);
        }
        // However sure it were, and however often it was right.
        for confidence in [diagnosis.confidence, 1.0] {
            let case = Case { origin: diagnosis.origin, action, confidence, ..case.clone() };
            prop_assert!(judge(&case, &numbers, &Policy::none()).verdict >= Verdict::Ask);
        }
    }

    /// 7: of what a provider says nothing is in a result, in its failure, or in how either is shown.
    #[test]
    fn invariant_7_no_word_of_a_provider_is_anywhere(
        kind in kinds(), said in prop::collection::vec(said(), 0..5), fallback in any::<bool>(),
    ) {
        let (store, elapsed) = (Memory::new(), || 0);
        let model = ModelAgent {
            setup: ollama(),
            port: Mutex::new(Box::new(Provider(said))),
            budgets: &store,
            limits: CallLimits::default(),
            elapsed: &elapsed,
            caps: Caps::default(),
            telemetry: Telemetry::default(),
        };
        let chain = Chain { model: &model, use_fallback: fallback, caps: Caps::default() };
        let answered = chain.diagnose(&context(kind, 1, &[Action::RestartComponent], true), &call());
        prop_assert_eq!(answered.is_ok(), fallback, "none of these is an answer");
        let shown = match &answered {
            Ok(result) => format!("{} {}", json!(result), result.diagnosis.shown_summary()),
            Err(failure) => format!("{failure} {failure:?} {}", json!(failure)),
        };
        prop_assert!(!shown.contains(MARK), "{shown}");
    }
}
