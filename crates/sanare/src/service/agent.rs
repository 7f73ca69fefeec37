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
    Ok(match configured(setup, store)? {
        Some(model) => Arc::new(model),
        None => Arc::new(RulesAgent),
    })
}

fn configured(setup: &Setup, store: Arc<dyn Store>) -> Result<Option<Configured>, String> {
    let Some(model) = wire::model::setup_in(&setup.settings, &setup.folder)? else { return Ok(None) };
    let number = |key: &str| Some(setup.settings.number(key));
    let limits =
        CallLimits { application: number("model.service.calls_per_hour"), all: number("model.max_calls_per_hour") };
    let use_fallback = setup.settings.flag("model.service.use_fallback");
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
    Ok(Some(Configured { model, store, limits, use_fallback, telemetry: Telemetry::Abstracted(words) }))
}

struct Configured {
    model: ModelSetup,
    store: Arc<dyn Store>,
    limits: CallLimits,
    use_fallback: bool,
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
        Chain { model: &model, use_fallback: self.use_fallback, caps }.diagnose(context, call)
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::Arc;

    use sanare_engine::service::agent::CallLimits;
    use sanare_store::Memory;

    use super::super::setup::Setup;
    use super::{Configured, configured};

    fn made(model: &str) -> Result<Option<Configured>, String> {
        let text = format!("[service.fraud]\ninstances = 3\n{model}");
        let setup = Setup::of(Path::new("/nowhere/sanare.toml"), Ok(text.as_bytes()));
        configured(&setup.map_err(|wrong| format!("{wrong:?}"))?, Arc::new(Memory::default()))
    }

    #[test]
    fn an_agent_is_put_together_as_the_settings_say() {
        assert!(made("").unwrap().is_none(), "rules alone");
        let usual = made("[model]\nprovider = \"ollama\"\nmodel = \"m\"\n").unwrap().unwrap();
        let limits = CallLimits { application: Some(60), all: Some(300) };
        assert_eq!((usual.limits, usual.use_fallback), (limits, true));
        let own = "[model]\nprovider = \"ollama\"\nmodel = \"m\"\nmax_calls_per_hour = 9\n\
                   [model.service]\ncalls_per_hour = 0\nuse_fallback = false\n";
        let own = made(own).unwrap().unwrap();
        let limits = CallLimits { application: Some(0), all: Some(9) };
        assert_eq!((own.limits, own.use_fallback), (limits, false));
        for wrong in ["calls_per_hour = -1", "calls_per_hour = 1.5", "calls_per_hour = \"many\"", "use_fallback = 1"] {
            let text = format!("[model]\nprovider = \"ollama\"\nmodel = \"m\"\n[model.service]\n{wrong}\n");
            assert!(made(&text).is_err(), "{wrong}");
        }
    }
}
