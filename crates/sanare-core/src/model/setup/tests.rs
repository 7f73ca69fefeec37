//! Settings of providers, right and wrong.

use super::{JsonMode, KeyPlace, Provider, is_configured, setup};
use crate::settings::{Settings, SettingsFile, Sources};

fn settings(text: &str) -> Settings {
    let file = SettingsFile { path: "sanare.toml".into(), text: text.into(), in_pyproject: false };
    Settings::resolve(&Sources { project: Some(file), ..Sources::default() }).unwrap_or_else(|t| panic!("{t:?}"))
}

fn check(text: &str, expected: &str) {
    let found = match setup(&settings(text)) {
        Ok(Some(setup)) => format!("{} {} {}", setup.provider.word(), setup.model, setup.base.authority()),
        Ok(None) => "none".to_owned(),
        Err(wrong) => wrong.join("; "),
    };
    assert!(found.contains(expected), "{text}\n{found}\n{expected}");
}

#[test]
fn no_provider_is_no_model() {
    assert!(!is_configured(&settings("")));
    check("", "none");
}

#[test]
fn providers_have_their_defaults() {
    check("[model]\nprovider = \"openai\"\nmodel = \"m\"", "openai m api.openai.com");
    check("[model]\nprovider = \"anthropic\"\nmodel = \"m\"", "anthropic m api.anthropic.com");
    check("[model]\nprovider = \"ollama\"\nmodel = \"m\"", "ollama m 127.0.0.1:11434");
    let text = "[model]\nprovider = \"ollama\"\nmodel = \"m\"\nparams = { num_ctx = 8192 }";
    let found = setup(&settings(text)).unwrap().unwrap();
    assert_eq!((found.timeout_ms, found.json_mode, found.key), (120_000, JsonMode::Schema, KeyPlace::Nowhere));
    assert_eq!(found.params.get("num_ctx"), Some(&serde_json::json!(8192)));
    let found = setup(&settings("[model]\nprovider = \"openai\"\nmodel = \"m\"")).unwrap().unwrap();
    assert_eq!(found.key, KeyPlace::Variable("OPENAI_API_KEY".into()));
    assert_eq!(found.provider, Provider::OpenAi);
}

#[test]
fn what_is_missing_or_wrong_is_named() {
    check("[model]\nprovider = \"openai\"", "`model.model` is needed");
    check("[model]\nprovider = \"compatible\"\nmodel = \"m\"", "`model.base_url` is needed");
    check("[model]\nprovider = \"azure\"\nmodel = \"m\"\nbase_url = \"https://a.openai.azure.com\"", "api_version");
    check(
        "[model]\nprovider = \"azure\"\nmodel = \"m\"\napi_version = \"v\"\nbase_url = \"https://your-resource.openai.azure.com\"",
        "placeholder",
    );
    check("[model]\nprovider = \"command\"", "`model.argv` is needed");
    check("[model]\nprovider = \"ollama\"\nmodel = \"m\"\nbase_url = \"http://models.lan:11434\"", "this machine only");
    for key in ["model", "messages", "input", "system", "stream"] {
        check(
            &format!("[model]\nprovider = \"ollama\"\nmodel = \"m\"\n[model.params]\n{key} = \"x\""),
            "not yours to set",
        );
    }
    check(
        "[model]\nprovider = \"ollama\"\nmodel = \"m\"\n[heal.model]\nmoney_per_day = 5",
        "needs `heal.model.price_in`",
    );
    check("[model]\nprovider = \"ollama\"\nmodel = \"m\"\ncassette_mode = \"replay\"", "needs `model.cassette`");
}

#[test]
fn a_pasted_key_is_refused_and_not_repeated() {
    let pasted = "correct horse battery staple";
    let text = format!("[model]\nprovider = \"openai\"\nmodel = \"m\"\napi_key_env = \"{pasted}\"");
    let wrong = setup(&settings(&text)).unwrap_err().join("; ");
    assert!(wrong.contains("name of a variable") && !wrong.contains("horse"), "{wrong}");
    let token = format!("ghp_{}", "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8");
    for line in [
        format!("api_key_env = \"{token}\""),
        format!("argv = [\"x\", \"{token}\"]"),
        format!("params = {{ user = \"{token}\" }}"),
    ] {
        let file = SettingsFile { path: "s".into(), text: format!("[model]\n{line}\n"), in_pyproject: false };
        let troubles = Settings::resolve(&Sources { project: Some(file), ..Sources::default() }).unwrap_err();
        let said = troubles.iter().map(ToString::to_string).collect::<String>();
        assert!(said.contains("looks like a credential") && !said.contains(&token), "{said}");
    }
}
