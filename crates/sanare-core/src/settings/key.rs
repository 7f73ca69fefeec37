//! The keys: name, kind, limits, default. Each is read by the code, and the code reads no other.

use serde_json::{Value as Json, json};
use toml::Value as Toml;

/// What a value may be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// One of these words.
    Choice(&'static [&'static str]),
    /// Some of these words, in order, each once.
    Choices(&'static [&'static str]),
    /// An integer from … to ….
    Integer(u64, u64),
    /// An integer from … to …, or `"unlimited"`, which has to be written out.
    Limit(u64, u64),
    /// A text with a unit (`"90s"`, `"2m"`), kept in milliseconds; from … to ….
    Duration(u64, u64),
    /// A text with a unit (`"1MiB"`), kept in bytes; from … to ….
    Size(u64, u64),
    /// `true` or `false`.
    Flag,
    /// A text of at most so many characters.
    Text(usize),
    /// At most so many texts.
    Texts(usize),
    /// A table of at most so many entries, kept as it is.
    Table(usize),
    /// A number of at least 0 with at most so many before the point, kept in millionths.
    Decimal(u64),
    /// At most so many argument lists, none of them empty.
    Commands(usize),
}

/// One key.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    /// Its path, such as `heal.mode`.
    pub path: &'static str,
    /// What it may be.
    pub kind: Kind,
    /// The default, as it would stand in a file.
    pub default: &'static str,
    /// What it is for, in one line.
    pub about: &'static str,
}

/// The word of a limit that is none.
pub const UNLIMITED: &str = "unlimited";

const SECOND: u64 = 1_000;
const MINUTE: u64 = 60 * SECOND;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;
const MILLION: u64 = 1_000_000;
const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;

const fn key(path: &'static str, kind: Kind, default: &'static str, about: &'static str) -> Key {
    Key { path, kind, default, about }
}

/// Every key, in the order of the reference page.
pub const KEYS: &[Key] = &[
    key("format", Kind::Integer(1, 1), "1", "schema of the file"),
    key("project", Kind::Text(200), "\"\"", "the project's name; empty: found from the folder"),
    key(
        "profile",
        Kind::Choice(&["none", "locked"]),
        "\"none\"",
        "`locked`: a person decides, nothing is sent, little is kept",
    ),
    key(
        "environment",
        Kind::Text(100),
        "\"\"",
        "what the owner calls the place where this runs, such as production; for rules of the policy file",
    ),
    key("policy.file", Kind::Text(1_000), "\"\"", "the policy file; one that cannot be read refuses everything"),
    key("store.path", Kind::Text(4_096), "\"\"", "the store's file; empty: `.sanare/store.db` in the project"),
    key("log_mode", Kind::Choice(&["auto", "logging", "console"]), "\"auto\"", "where Sanare's own lines go"),
    key(
        "evidence.environment_vars",
        Kind::Texts(50),
        "[\"APP_ENV\", \"ENVIRONMENT\", \"TZ\", \"LANG\", \"LC_ALL\", \"CI\", \"CONTAINER\"]",
        "environment variables that evidence may hold; no others are read",
    ),
    key(
        "evidence.disk.arguments",
        Kind::Integer(0, 100_000),
        "3000",
        "characters of each argument in a record; 0: none",
    ),
    key("evidence.disk.locals", Kind::Integer(0, 100_000), "3000", "the same for local and module variables"),
    key("evidence.disk.environment", Kind::Integer(0, 100_000), "3000", "the same for environment variables"),
    key("evidence.disk.logs", Kind::Integer(0, 100_000), "500", "log lines in a record; 0: none"),
    key("evidence.time", Kind::Duration(1, SECOND), "\"5ms\"", "how long reading the evidence may take"),
    key("evidence.size", Kind::Size(4 << 10, 8 * MIB), "\"256KiB\"", "text and bytes read of one failure"),
    key("evidence.nodes", Kind::Integer(100, 1_000_000), "10000", "values read of one failure"),
    key("evidence.frames", Kind::Integer(1, 64), "8", "frames whose local variables are read"),
    key("logs.keep", Kind::Integer(0, 10_000), "0", "log records kept in memory for evidence; 0: none"),
    key(
        "logs.level",
        Kind::Choice(&["DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"]),
        "\"INFO\"",
        "the least level of log records that are kept",
    ),
    key("logs.chars", Kind::Integer(20, 10_000), "300", "characters of each log line in a record"),
    key("capture.folder", Kind::Text(1_000), "\"\"", "where `sanare.capture` also writes JSON; empty: nowhere"),
    key(
        "heal.mode",
        Kind::Choice(&["auto", "ask", "dry_run", "observe", "off"]),
        "\"auto\"",
        "what may be done with a failure",
    ),
    key(
        "heal.remember",
        Kind::Choice(&["off", "shape", "calls"]),
        "\"shape\"",
        "what is kept of calls that worked: nothing, their shape, or their values too, encrypted",
    ),
    key("heal.memory.shapes", Kind::Integer(1, 100), "8", "shapes of good calls kept of a function"),
    key("heal.memory.calls", Kind::Integer(0, 100), "3", "whole calls kept of a function; 0: none"),
    key("heal.memory.call_size", Kind::Size(KIB, 64 * MIB), "\"1MiB\"", "size of a call that is kept"),
    key("heal.memory.call_keep", Kind::Duration(HOUR, 3_650 * DAY), "\"30d\"", "how long whole calls are kept"),
    key(
        "heal.memory.refresh",
        Kind::Duration(SECOND, 30 * DAY),
        "\"1h\"",
        "after how long the first good calls are looked at again in a running program",
    ),
    key("heal.about", Kind::Text(1_000), "\"\"", "what the function means, for the model"),
    key(
        "heal.proposers",
        Kind::Choices(&["drift", "model"]),
        "[\"drift\", \"model\"]",
        "who is asked for a repair, in order",
    ),
    key(
        "heal.rerun",
        Kind::Choice(&["safe", "always", "never"]),
        "\"safe\"",
        "when the owner's call may run a second time",
    ),
    key("heal.write", Kind::Choice(&["file", "memory"]), "\"file\"", "where a repair is put"),
    key("heal.attempts", Kind::Integer(1, 10), "3", "candidates tried for one incident"),
    key("heal.deadline", Kind::Duration(100, HOUR), "\"120s\"", "from the raise to the end"),
    key("heal.wait", Kind::Duration(0, HOUR), "\"30s\"", "how long others wait for a heal of the same failure"),
    key(
        "heal.verify",
        Kind::Commands(10),
        "[]",
        "the owner's commands that a repair must pass, on a copy of the work tree",
    ),
    key(
        "heal.unverified",
        Kind::Choice(&["ask", "permit", "refuse"]),
        "\"ask\"",
        "what a model's repair gets that nothing but the symptom confirms",
    ),
    key("heal.approval_expires", Kind::Duration(HOUR, 30 * DAY), "\"168h\"", "how long a question to a person stands"),
    key("heal.drift.automatic_tiers", Kind::Choices(&["A", "B"]), "[\"A\", \"B\"]", "tiers applied without a person"),
    key(
        "heal.drift.lexicon",
        Kind::Texts(20),
        "[]",
        "files with words of your own, as in the documents, relative to the project",
    ),
    key("heal.drift.layers", Kind::Integer(1, 12), "6", "changes that one offline repair may answer at once"),
    key(
        "heal.gates.allow_imports",
        Kind::Texts(100),
        "[]",
        "modules that a candidate may import beside the standard ones",
    ),
    key(
        "heal.gates.allow_abilities",
        Kind::Texts(100),
        "[]",
        "abilities that a candidate may have beside the old body's",
    ),
    key("heal.gates.max_changed_lines", Kind::Integer(5, 2_000), "120", "lines that a candidate may change"),
    key("heal.gates.trial_time", Kind::Duration(SECOND, 10 * MINUTE), "\"20s\"", "how long a trial may take"),
    key(
        "heal.gates.trial_memory",
        Kind::Size(64 * MIB, 64 << 30),
        "\"1GiB\"",
        "memory of a trial above the program's own",
    ),
    key("heal.gates.verify_time", Kind::Duration(SECOND, HOUR), "\"60s\"", "how long one verify command may take"),
    key("heal.gates.verify_network", Kind::Flag, "false", "whether verify commands may use the network"),
    key("heal.gates.verify_copy", Kind::Size(MIB, 64 << 30), "\"200MiB\"", "size of the work tree's copy"),
    key(
        "heal.gates.isolation",
        Kind::Choice(&["auto", "fork", "fresh", "none"]),
        "\"auto\"",
        "where a trial runs: a fork, a fresh interpreter, a fork and else a fresh one, or nowhere",
    ),
    key("heal.gates.accept_unisolated", Kind::Flag, "false", "whether a trial without isolation counts"),
    key("git.patches", Kind::Flag, "false", "whether each proposal is written as a patch file too"),
    key(
        "git.patch_folder",
        Kind::Text(1_000),
        "\".sanare/patches\"",
        "where patch files go, from the project's folder",
    ),
    key(
        "heal.breaker.cooldown",
        Kind::Duration(SECOND, DAY),
        "\"10m\"",
        "rest of a failure that was not healed; doubles",
    ),
    key("heal.breaker.cooldown_max", Kind::Duration(SECOND, 30 * DAY), "\"24h\"", "longest rest"),
    key("heal.breaker.repairs_per_function_per_day", Kind::Integer(1, 100), "3", "accepted repairs of one function"),
    key("heal.breaker.heals_per_hour", Kind::Integer(1, 1_000), "20", "accepted repairs in a project"),
    key(
        "evidence.model.arguments",
        Kind::Integer(0, 100_000),
        "1000",
        "characters of each argument that a model is sent",
    ),
    key(
        "evidence.model.locals",
        Kind::Integer(0, 100_000),
        "400",
        "characters of each local or module variable that a model is sent",
    ),
    key("evidence.model.environment", Kind::Integer(0, 100_000), "0", "the same for environment variables; 0: none"),
    key("evidence.model.logs", Kind::Integer(0, 100_000), "50", "log lines that a model is sent; 0: none"),
    key(
        "model.provider",
        Kind::Choice(&["none", "openai", "compatible", "azure", "anthropic", "ollama", "command"]),
        "\"none\"",
        "whom to ask for a repair; without one nothing is sent",
    ),
    key("model.model", Kind::Text(200), "\"\"", "the model's name; Azure: the deployment"),
    key("model.base_url", Kind::Text(500), "\"\"", "where the provider is; empty: its own address"),
    key("model.chat_path", Kind::Text(200), "\"/v1/chat/completions\"", "path of chat completions below the base"),
    key(
        "model.api_key_env",
        Kind::Text(200),
        "\"\"",
        "the variable that holds the key; empty: the provider's usual one",
    ),
    key("model.api_key_file", Kind::Text(1_000), "\"\"", "a file that holds the key"),
    key("model.organization_env", Kind::Text(200), "\"\"", "the variable that names an organization (openai)"),
    key("model.api_version", Kind::Text(60), "\"\"", "version of the interface (azure, anthropic)"),
    key("model.auth", Kind::Choice(&["x-api-key", "bearer"]), "\"x-api-key\"", "how the key is sent (anthropic)"),
    key(
        "model.json_mode",
        Kind::Choice(&["auto", "schema", "object", "off"]),
        "\"auto\"",
        "how the endpoint is asked for JSON",
    ),
    key("model.params", Kind::Table(50), "{}", "parameters that are sent as they are"),
    key("model.argv", Kind::Texts(50), "[]", "the program to ask and its arguments (command)"),
    key("model.timeout", Kind::Duration(SECOND, 10 * MINUTE), "\"30s\"", "longest silence; ollama 120 s, command 60 s"),
    key("model.max_tokens", Kind::Integer(256, 65_536), "4096", "tokens of a reply"),
    key("model.prompt_size", Kind::Size(4 * KIB, MIB), "\"32KiB\"", "a whole prompt, at most"),
    key("model.max_calls_per_hour", Kind::Limit(0, 100_000), "300", "calls of the whole project in an hour; 0: never"),
    key(
        "model.service.max_calls_per_hour",
        Kind::Limit(0, 100_000),
        "60",
        "calls in an hour for one service; 0: never",
    ),
    key(
        "model.service.tokens_per_day",
        Kind::Limit(0, 10_000_000_000),
        "\"unlimited\"",
        "tokens that calls for services may cost at most in a day, in plus out, counted in thousands",
    ),
    key("model.max_confidence", Kind::Decimal(1), "0.9", "the most that a model is believed about a service"),
    key(
        "model.fallback_confidence_cap",
        Kind::Decimal(1),
        "0.2",
        "the most that the rules are believed where they stand in for a model",
    ),
    key("model.use_fallback", Kind::Flag, "true", "whether the rules answer for a service where no model does"),
    key("model.allow_insecure", Kind::Flag, "false", "whether http to other machines is allowed"),
    key("model.proxy", Kind::Text(500), "\"\"", "an HTTP proxy; empty: what HTTPS_PROXY says, `none`: no proxy"),
    key("model.ca_file", Kind::Text(1_000), "\"\"", "a file with more certificates to believe (PEM)"),
    key("model.cassette", Kind::Text(1_000), "\"\"", "a file of recorded exchanges"),
    key("model.cassette_mode", Kind::Choice(&["off", "record", "replay"]), "\"off\"", "what is done with that file"),
    key("heal.model.calls_per_incident", Kind::Integer(0, 100), "6", "calls for one incident; 0: never"),
    key("heal.model.calls_per_hour", Kind::Integer(0, 100_000), "20", "calls in an hour; 0: never"),
    key("heal.model.tokens_per_incident", Kind::Integer(0, 100_000_000), "60000", "tokens in and out for one incident"),
    key("heal.model.tokens_per_day", Kind::Integer(0, 10_000_000_000), "1000000", "tokens in and out in a day"),
    key("heal.model.money_per_day", Kind::Decimal(1_000_000), "0", "money in a day; 0: no cap"),
    key("heal.model.price_in", Kind::Decimal(1_000_000), "0", "price of a million tokens sent"),
    key("heal.model.price_out", Kind::Decimal(1_000_000), "0", "price of a million tokens received"),
    key("heal.model.house_rules", Kind::Text(2_000), "\"\"", "more rules for the model; they add, and replace none"),
];

impl Key {
    /// Its environment variable.
    pub fn variable(&self) -> String {
        format!("SANARE_{}", self.path.to_ascii_uppercase().replace('.', "_"))
    }

    /// The default as TOML.
    pub fn default_toml(&self) -> Toml {
        format!("x = {}", self.default)
            .parse::<toml::Table>()
            .ok()
            .and_then(|mut table| table.remove("x"))
            .unwrap_or(Toml::Boolean(false))
    }

    /// The default as it is kept.
    pub fn default_value(&self) -> Json {
        self.kind.accept(&self.default_toml()).unwrap_or(Json::Null)
    }
}

impl Kind {
    /// Takes a TOML value as it is kept, or says what it should have been.
    ///
    /// # Errors
    /// What is wrong and what would be right.
    pub fn accept(&self, value: &Toml) -> Result<Json, (String, String)> {
        match (self, value) {
            (Self::Choice(words), Toml::String(word)) if words.contains(&word.as_str()) => Ok(json!(word)),
            (Self::Choices(words), Toml::Array(items)) => choices(words, items),
            (Self::Integer(low, high), Toml::Integer(number)) => within(u64::try_from(*number).ok(), *low, *high)
                .map_err(|()| (format!("{number} is out of range"), self.wants())),
            (Self::Limit(low, high), Toml::Integer(number)) => within(u64::try_from(*number).ok(), *low, *high)
                .map_err(|()| (format!("{number} is out of range"), self.wants())),
            (Self::Limit(..), Toml::String(word)) if word == UNLIMITED => Ok(json!(UNLIMITED)),
            (Self::Duration(low, high), Toml::String(text)) => {
                self.measured(text, &[("ms", 1), ("s", SECOND), ("m", MINUTE), ("h", HOUR), ("d", DAY)], *low, *high)
            }
            (Self::Size(low, high), Toml::String(text)) => {
                self.measured(text, &[("KiB", 1 << 10), ("MiB", MIB), ("GiB", 1 << 30)], *low, *high)
            }
            (Self::Flag, Toml::Boolean(flag)) => Ok(json!(flag)),
            (Self::Text(limit), Toml::String(text)) if text.chars().count() <= *limit => Ok(json!(text)),
            (Self::Texts(limit), Toml::Array(items)) if items.len() <= *limit && items.iter().all(Toml::is_str) => {
                Ok(Json::Array(items.iter().filter_map(Toml::as_str).map(|text| json!(text)).collect()))
            }
            (Self::Table(limit), Toml::Table(table)) if table.len() <= *limit => {
                serde_json::to_value(table).map_err(|_| ("a value of this table is not plain".to_owned(), self.wants()))
            }
            (Self::Decimal(most), Toml::Integer(number)) => within(u64::try_from(*number).ok(), 0, *most)
                .map(|_| json!(number.unsigned_abs() * MILLION))
                .map_err(|()| (format!("{number} is out of range"), self.wants())),
            (Self::Decimal(most), Toml::Float(number)) if (0.0..=*most as f64).contains(number) => {
                Ok(json!((number * MILLION as f64).round() as u64))
            }
            (Self::Commands(limit), Toml::Array(items)) if items.len() <= *limit => items
                .iter()
                .map(command)
                .collect::<Option<Vec<_>>>()
                .map(Json::Array)
                .ok_or_else(|| ("an item is not allowed here".to_owned(), self.wants())),
            (_, other) => Err((format!("a {} is not allowed here", type_word(other)), self.wants())),
        }
    }

    fn measured(&self, text: &str, units: &[(&str, u64)], low: u64, high: u64) -> Result<Json, (String, String)> {
        let wrong = || (format!("`{}` is not allowed here", text.chars().take(40).collect::<String>()), self.wants());
        let digits = text.len() - text.trim_start_matches(|symbol: char| symbol.is_ascii_digit()).len();
        let (number, unit) = text.split_at(digits);
        let factor = units.iter().find(|(name, _)| *name == unit.trim()).map(|(_, factor)| *factor);
        let factor = if text == "0" { Some(1) } else { factor };
        let amount = number.parse::<u64>().ok().zip(factor).and_then(|(number, factor)| number.checked_mul(factor));
        within(amount, low, high).map_err(|()| wrong())
    }

    /// What would be right, in words.
    pub fn wants(&self) -> String {
        match self {
            Self::Choice(words) => format!("one of {}", words.join(", ")),
            Self::Choices(words) => format!("a list of some of {}", words.join(", ")),
            Self::Integer(low, high) => format!("an integer from {low} to {high}"),
            Self::Limit(low, high) => format!("an integer from {low} to {high}, or \"{UNLIMITED}\""),
            Self::Duration(low, high) => {
                format!("a text such as \"90s\" or \"2m\", from {low} ms to {} s", high / SECOND)
            }
            Self::Size(low, high) if *low < MIB => {
                format!("a text such as \"64KiB\", from {} KiB to {} KiB", low / KIB, high / KIB)
            }
            Self::Size(low, high) => format!("a text such as \"64MiB\", from {} MiB to {} MiB", low / MIB, high / MIB),
            Self::Flag => "true or false".to_owned(),
            Self::Text(limit) => format!("a text of at most {limit} characters"),
            Self::Texts(limit) => format!("a list of at most {limit} texts"),
            Self::Table(limit) => format!("a table of at most {limit} entries"),
            Self::Decimal(most) => format!("a number from 0 to {most}"),
            Self::Commands(limit) => {
                format!("a list of at most {limit} argument lists, such as [[\"python\", \"-m\", \"pytest\"]]")
            }
        }
    }

    /// Values at both limits, and one step outside; `None` where there are none.
    pub fn probes(&self) -> Option<(Vec<Toml>, Vec<Toml>)> {
        let integer = |number: u64| Toml::Integer(i64::try_from(number).unwrap_or(i64::MAX));
        match self {
            Self::Integer(low, high) => {
                Some((vec![integer(*low), integer(*high)], vec![integer(low.wrapping_sub(1)), integer(high + 1)]))
            }
            Self::Limit(low, high) => Some((
                vec![integer(*low), integer(*high), Toml::String(UNLIMITED.to_owned())],
                vec![
                    integer(low.wrapping_sub(1)),
                    integer(high + 1),
                    Toml::Float(1.5),
                    Toml::String("many".to_owned()),
                    Toml::Boolean(true),
                ],
            )),
            Self::Duration(low, high) => {
                let text = |millis: u64| Toml::String(format!("{millis}ms"));
                let mut outside = vec![text(high + 1), Toml::Integer(5), Toml::String("5 parsecs".into())];
                outside.extend(low.checked_sub(1).map(text));
                Some((vec![text(*low), text(*high)], outside))
            }
            Self::Choice(words) => {
                let inside = words.iter().map(|word| Toml::String((*word).to_owned())).collect();
                Some((inside, vec![Toml::String("False".into()), Toml::Boolean(true)]))
            }
            Self::Flag => Some((vec![Toml::Boolean(true)], vec![Toml::String("true".into()), Toml::Integer(1)])),
            _ => None,
        }
    }
}

/// One command: a list of texts with a program in front.
fn command(item: &Toml) -> Option<Json> {
    let parts = item.as_array()?;
    let program = parts.first()?.as_str()?;
    let texts: Option<Vec<Json>> = parts.iter().map(|part| part.as_str().map(|text| json!(text))).collect();
    texts.filter(|_| !program.is_empty()).map(Json::Array)
}

fn choices(words: &[&str], items: &[Toml]) -> Result<Json, (String, String)> {
    let mut kept = Vec::new();
    for item in items {
        match item.as_str() {
            Some(word) if words.contains(&word) && !kept.contains(&json!(word)) => kept.push(json!(word)),
            _ => {
                return Err((
                    "an item is not allowed here".to_owned(),
                    Kind::wants(&Kind::Choice(&[])) + &words.join(", "),
                ));
            }
        }
    }
    Ok(Json::Array(kept))
}

fn within(amount: Option<u64>, low: u64, high: u64) -> Result<Json, ()> {
    amount.filter(|amount| (low..=high).contains(amount)).map(|amount| json!(amount)).ok_or(())
}

fn type_word(value: &Toml) -> &'static str {
    match value {
        Toml::String(_) => "text of this kind",
        Toml::Integer(_) => "integer",
        Toml::Float(_) => "float",
        Toml::Boolean(_) => "truth value",
        Toml::Datetime(_) => "date",
        Toml::Array(_) => "list of this kind",
        Toml::Table(_) => "table",
    }
}
