//! Who says what is wrong: the rules alone, or the configured model behind its limits with the rules as the safety net (S77).

use std::sync::{Arc, Mutex};

use sanare_core::model::setup::Setup as ModelSetup;
use sanare_core::port::{Clock, Store};
use sanare_core::service::confidence::Caps;
use sanare_core::service::port::AgentCall;
use sanare_core::service::prompt::Telemetry;
use sanare_core::service::rules::RulesAgent;
use sanare_core::service::{Agent, AgentFailure, AgentResult, Context};
use sanare_core::settings::Settings;
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
    let Some(mut model) = wire::model::setup_in(&setup.settings, &setup.folder)? else { return Ok(None) };
    model.longest_wait_ms = LONGEST_WAIT_MS;
    let limit = |key: &str| setup.settings.limit(key);
    let limits = CallLimits {
        application: limit("model.service.max_calls_per_hour"),
        all: limit("model.max_calls_per_hour"),
        tokens: limit("model.service.tokens_per_day"),
    };
    let caps = caps(&setup.settings);
    let use_fallback = setup.settings.flag("model.use_fallback");
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
    Ok(Some(Configured { model, store, limits, caps, use_fallback, telemetry: Telemetry::Abstracted(words) }))
}

/// The most that model and fallback are believed.
pub(super) fn caps(settings: &Settings) -> Caps {
    let share = |key: &str| settings.decimal(key);
    let caps = Caps::new(share("model.max_confidence"), share("model.fallback_confidence_cap"));
    caps.unwrap_or_default()
}

/// How long a provider may ask to be left alone before the one retry (S73).
const LONGEST_WAIT_MS: u64 = 20_000;

struct Configured {
    model: ModelSetup,
    store: Arc<dyn Store>,
    limits: CallLimits,
    caps: Caps,
    use_fallback: bool,
    telemetry: Telemetry,
}

impl Agent for Configured {
    fn diagnose(&self, context: &Context, call: &AgentCall) -> Result<AgentResult, AgentFailure> {
        let clock = wire::clock::SystemClock::new();
        let elapsed = move || clock.elapsed();
        let caps = self.caps;
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

    use sanare_core::service::Origin;
    use sanare_engine::service::agent::CallLimits;
    use sanare_store::Memory;

    use super::super::setup::Setup;
    use super::{Configured, configured};

    fn made(model: &str) -> Result<Option<Configured>, String> {
        let text = format!("{model}\n[service.fraud]\ninstances = 3\n");
        let setup = Setup::of(Path::new("/nowhere/sanare.toml"), Ok(text.as_bytes()));
        configured(&setup.map_err(|wrong| format!("{wrong:?}"))?, Arc::new(Memory::default()))
    }

    /// Who is asked, how often and how far believed, in the order in which they are.
    fn chain(text: &str) -> String {
        match made(text) {
            Err(_) => "refused".to_owned(),
            Ok(None) => "rules".to_owned(),
            Ok(Some(one)) => {
                assert_eq!(one.model.longest_wait_ms, 20_000);
                let limit = |limit: Option<u64>| limit.map_or("any".to_owned(), |limit| limit.to_string());
                let CallLimits { application, all, tokens } = one.limits;
                let most = format!("{}/h of {}/h, {} tokens/d", limit(application), limit(all), limit(tokens));
                let believed = |origin| one.caps.cap(origin, 1.0, 1, true);
                let then = format!(" then rules up to {}", believed(Origin::Fallback));
                let then = if one.use_fallback { then.as_str() } else { "" };
                format!("{} {most} up to {}{then}", one.model.provider.word(), believed(Origin::Model))
            }
        }
    }

    #[test]
    fn every_combination_builds_its_chain() {
        let providers = [
            ("", ""),
            ("[model]\nprovider = \"ollama\"\nmodel = \"m\"\n", "ollama"),
            ("[model]\nprovider = \"command\"\nargv = [\"/bin/m\"]\n", "command"),
            ("[model]\nprovider = \"compatible\"\nmodel = \"m\"\nbase_url = \"https://m.internal\"\n", "compatible"),
            ("[model]\nprovider = \"openai\"\nmodel = \"m\"\n", "openai"),
            ("[model]\nprovider = \"anthropic\"\nmodel = \"m\"\n", "anthropic"),
        ];
        let all_calls =
            [("", "300"), ("max_calls_per_hour = 0\n", "0"), ("max_calls_per_hour = \"unlimited\"\n", "any")];
        let own = [
            ("", "", "60", "any", "0.9", " then rules up to 0.2"),
            ("use_fallback = false\n", "max_calls_per_hour = 0\n", "0", "any", "0.9", ""),
            (
                "use_fallback = true\n",
                "max_calls_per_hour = \"unlimited\"\ntokens_per_day = 200_000\n",
                "any",
                "200000",
                "0.9",
                " then rules up to 0.2",
            ),
            ("max_confidence = 0.5\nfallback_confidence_cap = 0\n", "", "60", "any", "0.5", " then rules up to 0"),
            ("max_confidence = 1\nfallback_confidence_cap = 1.0\n", "", "60", "any", "1", " then rules up to 1"),
        ];
        for (provider, word) in providers {
            for (all, all_told) in all_calls {
                for (shares, service, calls, tokens, most, then) in own {
                    let table = if provider.is_empty() { "[model]\n" } else { provider };
                    let text = format!("{table}{all}{shares}[model.service]\n{service}");
                    let expected = format!("{word} {calls}/h of {all_told}/h, {tokens} tokens/d up to {most}{then}");
                    assert_eq!(chain(&text), if word.is_empty() { "rules" } else { expected.as_str() }, "{text}");
                }
            }
        }
    }

    #[test]
    fn what_is_no_limit_and_no_share_is_refused() {
        let model = "[model]\nprovider = \"ollama\"\nmodel = \"m\"\n";
        for limit in ["model.max_calls_per_hour", "model.service.max_calls_per_hour", "model.service.tokens_per_day"] {
            for odd in ["-1", "1.5", "\"many\"", "true", "\"Unlimited\"", "[]"] {
                assert_eq!(
                    chain(&format!(
                        "{limit} = {odd}\n{}",
                        model
                            .replace("[model]\n", "")
                            .lines()
                            .map(|line| format!("model.{line}\n"))
                            .collect::<String>()
                    )),
                    "refused",
                    "{limit} {odd}"
                );
            }
        }
        for share in ["max_confidence", "fallback_confidence_cap"] {
            for odd in ["-0.1", "1.1", "nan", "\"0.5\"", "true"] {
                assert_eq!(chain(&format!("{model}{share} = {odd}\n")), "refused", "{share} {odd}");
            }
        }
        for odd in [
            "max_tokens = 0",
            "max_token = 9",
            "api_key_env = \"A\"\napi_key_file = \"b\"",
            "timeout = 0",
            "use_fallback = 1",
        ] {
            assert_eq!(chain(&format!("{model}{odd}\n")), "refused", "{odd}");
        }
        for odd in ["use_fallback = true", "max_confidence = 0.5", "calls = 1"] {
            assert_eq!(chain(&format!("{model}[model.service]\n{odd}\n")), "refused", "{odd}");
        }
        assert_eq!(chain("[model]\nprovider = \"compatible\"\nmodel = \"m\"\n"), "refused", "no address");
        assert_eq!(chain("[model]\nprovider = \"skynet\"\nmodel = \"m\"\n"), "refused");
    }
}
