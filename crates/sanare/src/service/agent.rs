//! Who says what is wrong: the rules alone, or the configured model behind its limits with the rules as the safety net (S77).

use std::sync::{Arc, Mutex};

use sanare_core::model::setup::Setup as ModelSetup;
use sanare_core::port::{Clock, Store};
use sanare_core::service::confidence::Caps;
use sanare_core::service::port::AgentCall;
use sanare_core::service::prompt::Telemetry;
use sanare_core::service::rules::RulesAgent;
use sanare_core::service::{Agent, AgentFailure, AgentResult, Context};
use sanare_effects::model::RealModel;
use sanare_engine::service::agent::{CallLimits, Chain, ModelAgent};

use super::setup::Setup;
use crate::wire;

/// The agent that a configuration describes. `store` counts the model's calls.
///
/// # Errors
/// Everything that is wrong with the provider's settings, in one line.
pub fn agent(setup: &Setup, store: Arc<dyn Store>) -> Result<Arc<dyn Agent>, String> {
    let Some(model) = wire::model::setup_in(&setup.settings, &setup.folder)? else {
        return Ok(Arc::new(RulesAgent));
    };
    let all = setup.settings.number("model.max_calls_per_hour");
    let limits = CallLimits { all: Some(all), ..CallLimits::default() };
    let configuration = &setup.configuration;
    // What is configured may be shown as it is; every other word from outside is a token with a length.
    let mut words: std::collections::BTreeSet<String> =
        configuration.services.keys().map(ToString::to_string).collect();
    for service in configuration.services.values() {
        words.extend(service.rules.iter().map(|rule| rule.signal.to_string()));
        words.extend(service.queries.iter().map(|query| query.signal.to_string()));
        words.extend(service.watch.iter().map(ToString::to_string));
        words.extend(service.targets.iter().map(|target| target.component.to_string()));
    }
    Ok(Arc::new(Configured { model, store, limits, telemetry: Telemetry::Abstracted(words) }))
}

struct Configured {
    model: ModelSetup,
    store: Arc<dyn Store>,
    limits: CallLimits,
    telemetry: Telemetry,
}

impl Agent for Configured {
    fn diagnose(&self, context: &Context, call: &AgentCall) -> Result<AgentResult, AgentFailure> {
        let clock = wire::clock::SystemClock::new();
        let elapsed = move || clock.elapsed();
        let caps = Caps::default();
        let model = ModelAgent {
            setup: self.model.clone(),
            port: Mutex::new(Box::new(RealModel)),
            budgets: &*self.store,
            limits: self.limits,
            elapsed: &elapsed,
            caps,
            telemetry: self.telemetry.clone(),
        };
        Chain { model: &model, use_fallback: true, caps }.diagnose(context, call)
    }
}
