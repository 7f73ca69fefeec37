//! The settings of a provider, checked as a whole: a closed list, no placeholder, no key, no silent default receiver
//! (C18, C78).

mod address;

use serde_json::{Map, Value as Json};

use crate::model::budget::Limits;
use crate::model::usage::Prices;
use crate::settings::Settings;

pub use address::{Base, base, is_forbidden};

/// Whom to ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Provider {
    /// OpenAI.
    OpenAi,
    /// Any endpoint of the same form.
    Compatible,
    /// Azure OpenAI: a deployment and an API version.
    Azure,
    /// Anthropic.
    Anthropic,
    /// Ollama.
    Ollama,
    /// A program: the request on its standard input, the reply on its standard output.
    Command,
}

impl Provider {
    /// Its word in the settings.
    pub fn word(self) -> &'static str {
        match self {
            Self::OpenAi => "openai",
            Self::Compatible => "compatible",
            Self::Azure => "azure",
            Self::Anthropic => "anthropic",
            Self::Ollama => "ollama",
            Self::Command => "command",
        }
    }

    fn of(word: &str) -> Option<Self> {
        let all = [Self::OpenAi, Self::Compatible, Self::Azure, Self::Anthropic, Self::Ollama, Self::Command];
        all.into_iter().find(|provider| provider.word() == word)
    }

    fn default_base(self) -> &'static str {
        match self {
            Self::OpenAi => "https://api.openai.com",
            Self::Anthropic => "https://api.anthropic.com",
            Self::Ollama => "http://127.0.0.1:11434",
            Self::Compatible | Self::Azure | Self::Command => "",
        }
    }

    fn default_key(self) -> &'static str {
        match self {
            Self::OpenAi => "OPENAI_API_KEY",
            Self::Azure => "AZURE_OPENAI_API_KEY",
            Self::Anthropic => "ANTHROPIC_API_KEY",
            Self::Compatible | Self::Ollama | Self::Command => "",
        }
    }
}

/// How a reply is kept to JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JsonMode {
    /// A schema of the reply.
    Schema,
    /// Any object.
    Object,
    /// Nothing is asked for.
    Off,
}

/// Where a key is read. Never the key itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyPlace {
    /// None is needed.
    Nowhere,
    /// In this variable.
    Variable(String),
    /// In this file, outside the project.
    File(String),
}

/// What a cassette is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tape {
    /// Exchanges are kept, redacted.
    Record,
    /// Exchanges are played back; nobody is asked.
    Replay,
}

/// A whole and consistent setting-up of a provider.
#[derive(Clone, Debug, PartialEq)]
pub struct Setup {
    /// Whom to ask.
    pub provider: Provider,
    /// The model, or Azure's deployment.
    pub model: String,
    /// Where; unused for a command.
    pub base: Base,
    /// The path of chat completions.
    pub chat_path: String,
    /// Azure's or Anthropic's API version.
    pub api_version: String,
    /// Whether the key is sent as a bearer token.
    pub bearer: bool,
    /// Where the key is read.
    pub key: KeyPlace,
    /// The variable that names an organization.
    pub organization_env: String,
    /// How the reply is kept to JSON.
    pub json_mode: JsonMode,
    /// The owner's own parameters, sent as they are.
    pub params: Map<String, Json>,
    /// The program and its arguments, for a command.
    pub argv: Vec<String>,
    /// Longest silence, in milliseconds.
    pub timeout_ms: u64,
    /// The longest wait before the one retry that a server may ask for, in milliseconds; what asks for more is not retried.
    pub longest_wait_ms: u64,
    /// Tokens of a reply.
    pub max_tokens: u64,
    /// Bytes of a whole prompt.
    pub prompt_size: usize,
    /// Whether http to other machines is allowed.
    pub allow_insecure: bool,
    /// A proxy's address; empty for what the environment says.
    pub proxy: String,
    /// A file with more certificates to believe.
    pub ca_file: String,
    /// The owner's own rules for the model.
    pub house_rules: String,
    /// Budgets.
    pub limits: Limits,
    /// Prices, if set.
    pub prices: Prices,
    /// A cassette, if one is used.
    pub cassette: Option<(Tape, String)>,
}

/// Keys of a request that are ours to set.
const OURS: [&str; 5] = ["model", "messages", "input", "system", "stream"];
/// Anthropic's interface as of this date.
const ANTHROPIC_VERSION: &str = "2023-06-01";

/// Whether a provider is configured at all. Without one nothing is sent and no socket is opened.
pub fn is_configured(settings: &Settings) -> bool {
    Provider::of(settings.text("model.provider")).is_some()
}

/// The setting-up that the settings describe; `None` without a provider.
///
/// # Errors
/// Everything that is wrong, each in one line with the key's name.
pub fn setup(settings: &Settings) -> Result<Option<Setup>, Vec<String>> {
    let Some(provider) = Provider::of(settings.text("model.provider")) else { return Ok(None) };
    let mut wrong = Vec::new();
    let command = provider == Provider::Command;
    let model = settings.text("model.model").to_owned();
    if model.is_empty() && !command {
        wrong.push(format!("`model.model` is needed for the provider `{}`", provider.word()));
    }
    let allow_insecure = settings.flag("model.allow_insecure");
    let written = match settings.text("model.base_url") {
        "" => provider.default_base(),
        own => own,
    };
    let base = match (command, written) {
        (true, _) => Base::default(),
        (false, "") => {
            wrong.push(format!("`model.base_url` is needed for the provider `{}`", provider.word()));
            Base::default()
        }
        (false, url) => base(url, allow_insecure).unwrap_or_else(|why| {
            wrong.push(format!("`model.base_url`: {why}"));
            Base::default()
        }),
    };
    let api_version = match (provider, settings.text("model.api_version")) {
        (Provider::Azure, "") => {
            wrong.push("`model.api_version` is needed for the provider `azure`".to_owned());
            String::new()
        }
        (Provider::Anthropic, "") => ANTHROPIC_VERSION.to_owned(),
        (_, own) => own.to_owned(),
    };
    let argv = settings.list("model.argv");
    if command && argv.first().is_none_or(|program| program.is_empty()) {
        wrong.push("`model.argv` is needed for the provider `command`".to_owned());
    }
    let params = settings.get("model.params").as_object().cloned().unwrap_or_default();
    for key in params.keys().filter(|key| OURS.contains(&key.as_str())) {
        wrong.push(format!("`model.params.{key}` is not yours to set"));
    }
    let prices = prices(settings, &mut wrong);
    let setup = Setup {
        provider,
        model,
        base,
        chat_path: chat_path(settings, &mut wrong),
        api_version,
        bearer: settings.text("model.auth") == "bearer",
        key: key_place(settings, provider, &mut wrong),
        organization_env: name(settings, "model.organization_env", &mut wrong),
        json_mode: json_mode(settings.text("model.json_mode"), provider),
        params,
        argv,
        timeout_ms: timeout(settings, provider),
        // A heal is bounded by its deadline; who asks for a service says less (S73).
        longest_wait_ms: u64::MAX,
        max_tokens: settings.number("model.max_tokens"),
        prompt_size: usize::try_from(settings.number("model.prompt_size")).unwrap_or(32 * 1024),
        allow_insecure,
        proxy: settings.text("model.proxy").to_owned(),
        ca_file: settings.text("model.ca_file").to_owned(),
        house_rules: settings.text("heal.model.house_rules").to_owned(),
        limits: limits(settings),
        prices,
        cassette: cassette(settings, &mut wrong),
    };
    if wrong.is_empty() { Ok(Some(setup)) } else { Err(wrong) }
}

fn chat_path(settings: &Settings, wrong: &mut Vec<String>) -> String {
    let path = settings.text("model.chat_path");
    let plain = path.starts_with('/') && path.chars().all(|symbol| symbol.is_ascii_graphic());
    if !plain || path.contains(['#', '@']) || path.contains("://") {
        wrong.push("`model.chat_path` is a path that begins with `/`".to_owned());
    }
    path.to_owned()
}

/// The name of a variable. What is none is not repeated: it may be the secret itself.
fn name(settings: &Settings, key: &str, wrong: &mut Vec<String>) -> String {
    let given = settings.text(key);
    let good = given.len() <= 64
        && given.chars().all(|symbol| symbol.is_ascii_alphanumeric() || symbol == '_')
        && !given.starts_with(|symbol: char| symbol.is_ascii_digit());
    if !good {
        wrong.push(format!("`{key}` is the name of a variable, not its value"));
    }
    given.to_owned()
}

fn key_place(settings: &Settings, provider: Provider, wrong: &mut Vec<String>) -> KeyPlace {
    let variable = name(settings, "model.api_key_env", wrong);
    let file = settings.text("model.api_key_file");
    match (variable.as_str(), file, provider.default_key()) {
        ("", "", "") => KeyPlace::Nowhere,
        ("", "", default) => KeyPlace::Variable(default.to_owned()),
        ("", file, _) => KeyPlace::File(file.to_owned()),
        (variable, "", _) => KeyPlace::Variable(variable.to_owned()),
        _ => {
            wrong.push("`model.api_key_env` and `model.api_key_file` are both set; keep one".to_owned());
            KeyPlace::Nowhere
        }
    }
}

fn json_mode(word: &str, provider: Provider) -> JsonMode {
    match (word, provider) {
        ("schema", _) => JsonMode::Schema,
        ("object", _) => JsonMode::Object,
        ("off", _) => JsonMode::Off,
        (_, Provider::OpenAi | Provider::Azure | Provider::Ollama) => JsonMode::Schema,
        (_, Provider::Compatible) => JsonMode::Object,
        _ => JsonMode::Off,
    }
}

fn timeout(settings: &Settings, provider: Provider) -> u64 {
    match (settings.is_default("model.timeout"), provider) {
        (true, Provider::Ollama) => 120_000,
        (true, Provider::Command) => 60_000,
        _ => settings.number("model.timeout"),
    }
}

fn prices(settings: &Settings, wrong: &mut Vec<String>) -> Prices {
    let prices = Prices {
        per_million_in: settings.number("heal.model.price_in"),
        per_million_out: settings.number("heal.model.price_out"),
    };
    if settings.number("heal.model.money_per_day") > 0 && prices == Prices::default() {
        wrong.push("`heal.model.money_per_day` needs `heal.model.price_in` and `heal.model.price_out`".to_owned());
    }
    prices
}

fn limits(settings: &Settings) -> Limits {
    let money = settings.number("heal.model.money_per_day");
    Limits {
        calls_per_incident: settings.number("heal.model.calls_per_incident"),
        calls_per_hour: settings
            .number("heal.model.calls_per_hour")
            .min(settings.limit("model.max_calls_per_hour").unwrap_or(u64::MAX)),
        tokens_per_incident: settings.number("heal.model.tokens_per_incident"),
        tokens_per_day: settings.number("heal.model.tokens_per_day"),
        money_per_day: (money > 0).then_some(money),
    }
}

fn cassette(settings: &Settings, wrong: &mut Vec<String>) -> Option<(Tape, String)> {
    let path = settings.text("model.cassette").to_owned();
    let tape = match settings.text("model.cassette_mode") {
        "record" => Tape::Record,
        "replay" => Tape::Replay,
        _ => return None,
    };
    if path.is_empty() {
        wrong.push("`model.cassette_mode` needs `model.cassette`, the path of a file".to_owned());
    }
    Some((tape, path))
}

#[cfg(test)]
mod tests;
