//! Snapshots of what each provider is sent, and of what is read from its answers.

use serde_json::{Value as Json, json};

use super::{Turn, outgoing, read, refused_params, refuses_reply_form};
use crate::model::prompt::{Prompt, Purpose};
use crate::model::request::Request;
use crate::model::setup::{JsonMode, Provider, setup};
use crate::settings::{Settings, SettingsFile, Sources};

fn sent(text: &str, turn: impl Fn(JsonMode) -> Turn) -> (String, Vec<(String, String)>, &'static str, Json) {
    let file = SettingsFile { path: "s".into(), text: format!("[model]\n{text}"), in_pyproject: false };
    let settings = Settings::resolve(&Sources { project: Some(file), ..Sources::default() }).unwrap();
    let setup = setup(&settings).unwrap().unwrap();
    let request = Request { system: "S".into(), user: "U\n".into(), handles: vec![], left_out: vec![] };
    let out = outgoing(&setup, &Prompt::newest(Purpose::RepairFunction), &request, turn(setup.json_mode));
    (out.path, out.headers, out.key_header.0, out.body.into_inner())
}

fn first(json_mode: JsonMode) -> Turn {
    Turn { max_tokens: 4096, json_mode, complaint: None }
}

fn messages() -> Json {
    json!([{ "role": "system", "content": "S" }, { "role": "user", "content": "U\n" }])
}

#[test]
fn openai() {
    let (path, _, key, mut body) =
        sent("provider = \"openai\"\nmodel = \"m\"\nparams = { temperature = 0.2, seed = 7 }", first);
    assert_eq!((path.as_str(), key), ("/v1/chat/completions", "authorization"));
    let form = body.as_object_mut().unwrap().remove("response_format").unwrap();
    assert_eq!(form["json_schema"]["schema"]["additionalProperties"], false);
    assert_eq!(form["json_schema"]["schema"]["required"].as_array().unwrap().len(), 9);
    assert_eq!(
        body,
        json!({ "model": "m", "messages": messages(), "max_completion_tokens": 4096, "temperature": 0.2, "seed": 7 })
    );
}

#[test]
fn compatible() {
    let text = "provider = \"compatible\"\nmodel = \"org/m\"\nbase_url = \"https://openrouter.ai/api/v1\"";
    let (path, _, _, body) = sent(text, first);
    assert_eq!(path, "/api/v1/chat/completions");
    assert_eq!(
        body,
        json!({ "model": "org/m", "messages": messages(), "max_tokens": 4096,
                "response_format": { "type": "json_object" } })
    );
    let own = format!("{text}\njson_mode = \"off\"\nparams = {{ max_completion_tokens = 900 }}");
    let (_, _, _, body) = sent(&own, first);
    assert_eq!(body, json!({ "model": "org/m", "messages": messages(), "max_completion_tokens": 900 }));
}

#[test]
fn azure() {
    let text = "provider = \"azure\"\nmodel = \"our gpt\"\nbase_url = \"https://acme.openai.azure.com\"\n\
                api_version = \"2024-10-21\"\njson_mode = \"object\"";
    let (path, _, key, body) = sent(text, first);
    assert_eq!(path, "/openai/deployments/our%20gpt/chat/completions?api-version=2024-10-21");
    assert_eq!(key, "api-key");
    assert_eq!(
        body,
        json!({ "messages": messages(), "max_completion_tokens": 4096, "response_format": { "type": "json_object" } })
    );
}

#[test]
fn anthropic() {
    let text = "provider = \"anthropic\"\nmodel = \"m\"";
    let (path, headers, key, body) = sent(text, first);
    assert_eq!((path.as_str(), key), ("/v1/messages", "x-api-key"));
    assert!(headers.iter().any(|(name, value)| name == "anthropic-version" && !value.is_empty()), "{headers:?}");
    assert_eq!(
        body,
        json!({ "model": "m", "max_tokens": 4096, "system": "S", "messages": [{ "role": "user", "content": "U\n" }] })
    );
    assert_eq!(sent(&format!("{text}\nauth = \"bearer\""), first).2, "authorization");
}

#[test]
fn ollama() {
    let text = "provider = \"ollama\"\nmodel = \"m\"\nparams = { num_ctx = 8192 }\njson_mode = \"object\"";
    let (path, _, _, body) = sent(text, first);
    assert_eq!(path, "/api/chat");
    assert_eq!(
        body,
        json!({ "model": "m", "messages": messages(), "stream": false, "format": "json",
                "options": { "num_predict": 4096, "num_ctx": 8192 } })
    );
}

#[test]
fn command() {
    let (path, _, _, body) = sent("provider = \"command\"\nargv = [\"agent\"]", first);
    assert_eq!(path, "");
    assert_eq!((&body["format"], &body["system"], &body["user"]), (&json!(1), &json!("S"), &json!("U\n")));
    assert_eq!(body["prompt"]["id"], "repair_function");
    assert_eq!(body["prompt"]["hash"].as_str().unwrap().len(), 64);
}

#[test]
fn a_repair_turn_adds_one_fixed_sentence() {
    let turn = |json_mode| Turn { complaint: Some("a key stands twice in an object"), ..first(json_mode) };
    let (_, _, _, body) = sent("provider = \"ollama\"\nmodel = \"m\"", turn);
    let user = body["messages"][1]["content"].as_str().unwrap();
    assert!(user.starts_with("U\n") && user.contains("not accepted: a key stands twice"), "{user}");
}

#[test]
fn answers() {
    let check = |provider, body: &str, expected: &str| {
        let found = match read(provider, body.as_bytes()) {
            Ok(answer) => format!("{} {} {:?}", answer.text, answer.cut_off, answer.tokens),
            Err(why) => why.to_string(),
        };
        assert_eq!(found, expected, "{body}");
    };
    use Provider::{Anthropic, Azure, Ollama, OpenAi};
    check(
        OpenAi,
        r#"{"choices":[{"message":{"content":"T"},"finish_reason":"stop"}],"usage":{"prompt_tokens":5,"completion_tokens":2}}"#,
        "T false Some((5, 2))",
    );
    check(Azure, r#"{"choices":[{"message":{"content":"T"},"finish_reason":"length"}]}"#, "T true None");
    check(OpenAi, r#"{"choices":[{"message":{"content":null},"finish_reason":"length"}]}"#, " true None");
    check(OpenAi, r#"{"choices":[{"message":{"content":[{"type":"text","text":"T"}]}}]}"#, "T false None");
    check(OpenAi, r#"{"choices":[{"message":{"refusal":"no","content":null}}]}"#, "the model declined to answer");
    check(OpenAi, r#"{"choices":[]}"#, "the provider's answer has another form than its interface says");
    check(OpenAi, "<html>", "the provider's answer is not JSON");
    check(
        Anthropic,
        r#"{"content":[{"type":"thinking","thinking":"x"},{"type":"text","text":"T"}],"stop_reason":"end_turn","usage":{"input_tokens":5,"cache_read_input_tokens":10,"output_tokens":2}}"#,
        "T false Some((15, 2))",
    );
    check(Anthropic, r#"{"content":[{"type":"text","text":"T"}],"stop_reason":"max_tokens"}"#, "T true None");
    check(
        Ollama,
        r#"{"message":{"content":"T"},"done_reason":"stop","prompt_eval_count":5,"eval_count":2}"#,
        "T false Some((5, 2))",
    );
    check(Ollama, r#"{"error":"no such model"}"#, "the provider's answer has another form than its interface says");
}

#[test]
fn refusals_are_told_apart_without_repeating_them() {
    assert!(refuses_reply_form(400, br#"{"error":{"message":"Unknown parameter: 'response_format'"}}"#));
    assert!(!refuses_reply_form(429, b"response_format"));
    let file = SettingsFile {
        path: "s".into(),
        text: "[model]\nprovider = \"anthropic\"\nmodel = \"m\"\nparams = { temperature = 0.2, top_p = 0.5 }".into(),
        in_pyproject: false,
    };
    let settings = Settings::resolve(&Sources { project: Some(file), ..Sources::default() }).unwrap();
    let setup = setup(&settings).unwrap().unwrap();
    assert_eq!(
        refused_params(&setup, 400, br#"{"message":"`temperature` is deprecated for this model"}"#),
        ["temperature"]
    );
}
