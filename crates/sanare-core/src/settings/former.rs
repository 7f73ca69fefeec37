//! The settings of another healer, translated: its keys, ours, and every difference of meaning (C23, C24).
//!
//! Values come in as data that somebody read from its file; nothing is executed, and no credential is taken over.

use serde_json::{Value as Json, json};

use super::key::KEYS;

/// A value as the former file gives it.
#[derive(Clone, Debug, PartialEq)]
pub enum Given {
    /// `None`.
    Nothing,
    /// `True` or `False`.
    Flag(bool),
    /// A whole number.
    Integer(i64),
    /// Any other number.
    Float(f64),
    /// A text.
    Text(String),
    /// The value of this environment variable.
    Variable(String),
    /// A list or tuple.
    List(Vec<Given>),
    /// A dictionary with text keys.
    Map(Vec<(String, Given)>),
    /// Something that is no literal, as it stands there.
    NotUnderstood(String),
}

/// A translation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Translation {
    /// Keys of `sanare.toml` with their values, in order.
    pub settings: Vec<(String, Json)>,
    /// Keys that would be right but that this version does not have.
    pub unknown: Vec<(String, Json)>,
    /// What means something else here, or nothing; one line each.
    pub differences: Vec<String>,
    /// What could not be read without running it.
    pub not_understood: Vec<String>,
}

/// Keys that mean nothing here, and why.
const GONE: [(&str, &str); 13] = [
    ("DEBUG", "the level of the logger `sanare` decides"),
    ("AUTO_SYSCHANGE", "packages are never installed"),
    ("SYSTEM_PROMPTS", "prompts are versioned data; rules are added in heal.model.house_rules"),
    ("BACKUP_ENABLED", "always on: without a backup nothing can be undone"),
    ("RESTORE_ON_FAILURE", "always on: a failed repair is taken back"),
    ("SAVE_EXCEPTIONS", "always on, in the store; evidence.disk says how much is kept"),
    ("SAVE_AI_FIXES", "always on, in the store"),
    ("GIT_STAGE", "the index is never touched"),
    ("HEALING_AGENT_CANDIDATE", "verify commands read the file that SANARE_EVIDENCE_FILE names"),
    ("REDACT_SECRETS", "always on"),
    ("REDACT_PLACEHOLDER", "placeholders name their rule"),
    ("REDACT_EXTRA_PATTERNS", "patterns are rules with examples in redaction.extra: write them anew"),
    ("HEALING_AGENT_CONFIG_VERSION", "format is a number: 1"),
];

/// Translates what a file assigns.
pub fn translate(assigned: &[(String, usize, Given)]) -> Translation {
    let mut translation = Translation::default();
    translation.set("format", json!(1));
    let value = |name: &str| assigned.iter().find(|(known, _, _)| known == name).map(|(_, _, given)| given);
    let provider = value("AI_PROVIDER").and_then(text).unwrap_or_default().to_lowercase();
    for (name, line, given) in assigned {
        if let Given::NotUnderstood(text) = given {
            let name = if name.is_empty() { "statement" } else { name };
            translation.not_understood.push(format!("line {line}: {name}: `{text}`"));
        } else {
            translation.one(name, given, &provider);
        }
    }
    translation
}

impl Translation {
    fn set(&mut self, path: &str, value: Json) {
        let known = KEYS.iter().find(|key| key.path == path).is_some_and(|key| {
            let toml = format!("x = {}", toml_text(&value)).parse::<toml::Table>().ok();
            toml.and_then(|table| table.get("x").cloned()).is_some_and(|value| key.kind.accept(&value).is_ok())
        });
        let list = if known { &mut self.settings } else { &mut self.unknown };
        list.retain(|(other, _)| other != path);
        list.push((path.to_owned(), value));
    }

    fn differs(&mut self, name: &str, why: &str) {
        self.differences.push(format!("{name}: {why}"));
    }

    fn one(&mut self, name: &str, given: &Given, provider: &str) {
        match (name, given) {
            ("AI_PROVIDER", _) => self.provider(provider),
            ("AZURE" | "OPENAI" | "ANTHROPIC" | "OLLAMA" | "LITELLM", Given::Map(entries)) => {
                if name.eq_ignore_ascii_case(provider) {
                    self.model(name, entries);
                } else {
                    self.differs(name, "not taken over: it is not the chosen provider");
                }
            }
            ("MAX_ATTEMPTS", Given::Integer(number)) => {
                self.set("heal.attempts", json!(number));
                self.differs(name, "counts the whole incident here, rejected candidates included");
            }
            ("AUTO_FIX", Given::Flag(on)) => {
                self.set("heal.mode", json!(if *on { "auto" } else { "ask" }));
                self.differs(name, "`auto` obeys policy: a model's repair without an oracle asks first");
            }
            ("VERIFY_COMMAND", given) => self.verify(name, given),
            ("VERIFY_TIMEOUT_SECONDS", Given::Integer(number)) => {
                self.set("heal.gates.verify_time", json!(format!("{number}s")));
                self.differs(name, "runs on a copy of the work tree, inside the one deadline");
            }
            ("SAVE_GIT_PATCHES", Given::Flag(on)) => self.set("git.patches", json!(on)),
            ("GIT_MODE", Given::Text(mode)) => {
                self.set("git.patches", json!(mode != "off"));
                self.differs(name, "every apply is guarded by a hash; git is not needed for it");
            }
            ("GIT_PATCH_DIR", Given::Text(folder)) => self.set("git.patch_folder", json!(folder)),
            ("GITHUB", Given::Map(entries)) => self.github(entries),
            ("LOG_BUFFER_SIZE", Given::Integer(number)) => self.set("logs.keep", json!(number)),
            ("LOG_BUFFER_LEVEL", Given::Text(level)) => self.set("logs.level", json!(level)),
            ("LOG_MODE", Given::Text(mode)) => {
                self.set("log_mode", json!(if mode == "print" { "console" } else { mode }));
                self.differs(name, "the console is standard error");
            }
            ("CAPTURE_DIR", Given::Text(folder)) => {
                self.set("capture.folder", json!(folder));
                self.differs(name, "captures go to the store; the folder is extra");
            }
            ("CAPTURE_VALUE_CHARS", Given::Integer(number)) => {
                self.set("evidence.disk.arguments", json!(number));
                self.set("evidence.disk.locals", json!(number));
            }
            ("EVIDENCE", Given::Map(entries)) => self.evidence(entries),
            ("ENVIRONMENT_VARS", Given::List(names)) => {
                let names: Vec<String> = names.iter().filter_map(text).collect();
                self.set("evidence.environment_vars", json!(names));
            }
            (_, Given::Nothing) => {}
            _ => match GONE.iter().find(|(known, _)| *known == name) {
                Some((_, why)) => self.differs(name, why),
                None => self.differs(name, "is not known; nothing was taken over"),
            },
        }
    }

    fn provider(&mut self, provider: &str) {
        let ours = if provider == "litellm" { "compatible" } else { provider };
        self.set("model.provider", json!(ours));
        self.differs("AI_PROVIDER", "nothing is sent before a provider is chosen; there is no default one");
    }

    fn model(&mut self, section: &str, entries: &[(String, Given)]) {
        for (name, given) in entries {
            let shown = format!("{section}.{name}");
            match (name.as_str(), given) {
                ("api_key", Given::Variable(variable)) => self.set("model.api_key_env", json!(variable)),
                ("api_key", _) => {
                    let variable = format!("{section}_API_KEY");
                    self.differs(&shown, &format!("not copied: put the key into the variable {variable}"));
                    self.set("model.api_key_env", json!(variable));
                }
                ("endpoint" | "base_url" | "host", given) => self.text_or_note("model.base_url", &shown, given),
                ("deployment_name" | "model", given) => self.text_or_note("model.model", &shown, given),
                ("api_version", given) => self.text_or_note("model.api_version", &shown, given),
                ("timeout", Given::Integer(seconds)) => self.set("model.timeout", json!(format!("{seconds}s"))),
                ("max_tokens", Given::Integer(number)) => self.set("model.max_tokens", json!(number)),
                ("organization_id", Given::Variable(variable)) => self.set("model.organization_env", json!(variable)),
                ("temperature", _) => self.differs(&shown, "no sampling parameter is sent unless it stands in params"),
                (_, Given::Nothing) => {}
                _ => self.differs(&shown, "not taken over"),
            }
        }
    }

    fn github(&mut self, entries: &[(String, Given)]) {
        for (name, given) in entries {
            let shown = format!("GITHUB.{name}");
            match (name.as_str(), given) {
                ("repo", given) => self.text_or_note("github.repo", &shown, given),
                ("token_env", given) => self.text_or_note("github.token_env", &shown, given),
                ("issue_on_failure", Given::Flag(on)) => self.set("github.issues", json!(on)),
                ("issue_label", given) => self.text_or_note("github.label", &shown, given),
                ("issue_detail", Given::Text(detail)) => {
                    let ours = if detail == "ai-anonymized" { "skeleton" } else { detail };
                    self.set("github.detail", json!(ours));
                    self.differs(&shown, "least disclosure is the default; `skeleton` is made without a model");
                }
                ("pull_request", given) => self.text_or_note("github.pull_request", &shown, given),
                ("pr_branch_prefix", given) => self.text_or_note("github.branch_prefix", &shown, given),
                ("pr_base", given) => self.text_or_note("github.base", &shown, given),
                (_, Given::Nothing) => {}
                _ => self.differs(&shown, "not taken over"),
            }
        }
    }

    fn evidence(&mut self, entries: &[(String, Given)]) {
        for (destination, given) in entries {
            let Given::Map(sections) = given else { continue };
            let ours = if destination == "provider" { "model" } else { destination };
            for (section, given) in sections {
                let section = if section == "variables" { "locals" } else { section };
                match given {
                    Given::Integer(number) => self.set(&format!("evidence.{ours}.{section}"), json!(number)),
                    _ => self.differs(&format!("EVIDENCE.{destination}.{section}"), "not taken over"),
                }
            }
        }
    }

    fn verify(&mut self, name: &str, given: &Given) {
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        let list = |items: &[Given]| items.iter().filter_map(text).collect::<Vec<_>>();
        let commands: Vec<Vec<String>> = match given {
            Given::Text(line) if line.contains(['|', '&', ';', '>', '<', '$', '`', '\'', '"', '*']) => {
                self.differs(name, "is a shell line: write it as lists of arguments in heal.verify");
                return;
            }
            Given::Text(line) => vec![words(line)],
            Given::List(items) if items.iter().all(|item| matches!(item, Given::Text(_))) => vec![list(items)],
            Given::List(items) => {
                let inner =
                    items.iter().map(|item| if let Given::List(inner) = item { list(inner) } else { Vec::new() });
                inner.collect()
            }
            _ => return,
        };
        self.set("heal.verify", json!(commands));
        self.differs(name, "runs on a copy of the work tree, not of one file, and never through a shell");
    }

    fn text_or_note(&mut self, path: &str, shown: &str, given: &Given) {
        match given {
            Given::Text(text) if crate::redact::looks_like_secret(text).is_some() => {
                self.differs(shown, "looks like a credential and is not copied");
            }
            Given::Text(text) => self.set(path, json!(text)),
            Given::Variable(variable) => {
                self.differs(shown, &format!("came from the variable {variable}: write the value"))
            }
            Given::Nothing => {}
            _ => self.differs(shown, "not taken over"),
        }
    }

    /// The `sanare.toml`: what this version takes, then what it does not know yet, as comments.
    pub fn to_toml(&self) -> String {
        let mut lines: Vec<String> = Vec::new();
        let plain = |(path, _): &&(String, Json)| !path.contains('.');
        lines.extend(self.settings.iter().filter(plain).map(|(path, value)| format!("{path} = {}", toml_text(value))));
        let mut section = String::new();
        let mut rest: Vec<&(String, Json)> = self.settings.iter().filter(|pair| !plain(pair)).collect();
        rest.sort_by_key(|(path, _)| path.rsplit_once('.').map(|(section, _)| section.to_owned()));
        for (path, value) in rest {
            let Some((table, name)) = path.rsplit_once('.') else { continue };
            if table != section {
                section = table.to_owned();
                lines.extend([String::new(), format!("[{table}]")]);
            }
            lines.push(format!("{name} = {}", toml_text(value)));
        }
        if !self.unknown.is_empty() {
            lines.extend([String::new(), "# Not taken by this version:".to_owned()]);
            lines.extend(self.unknown.iter().map(|(path, value)| format!("# {path} = {}", toml_text(value))));
        }
        lines.join("\n") + "\n"
    }
}

fn text(given: &Given) -> Option<String> {
    match given {
        Given::Text(text) => Some(text.clone()),
        _ => None,
    }
}

/// JSON as TOML writes it on one line: the two agree on all that is used here.
fn toml_text(value: &Json) -> String {
    match value {
        Json::Array(items) => format!("[{}]", items.iter().map(toml_text).collect::<Vec<_>>().join(", ")),
        other => other.to_string(),
    }
}

/// The option of our decorator for one of theirs, as it is written; or what became of it.
///
/// # Errors
/// In words, when there is none.
pub fn option(name: &str, value: &str) -> Result<String, String> {
    match (name, value) {
        ("MAX_ATTEMPTS", number) => Ok(format!("attempts={number}")),
        ("AUTO_FIX", "True") => Ok("mode=\"auto\"".to_owned()),
        ("AUTO_FIX", "False") => Ok("mode=\"ask\"".to_owned()),
        _ => match GONE.iter().find(|(known, _)| *known == name) {
            Some((_, why)) => Err((*why).to_owned()),
            None => Err("is no option of the decorator here; see the settings".to_owned()),
        },
    }
}

/// What the former package calls its functions, and what they are called here.
pub const MEMBERS: [(&str, &str); 7] = [
    ("healing_agent", "heal"),
    ("request_healing", "request"),
    ("HealingRequested", "HealRequested"),
    ("capture", "capture"),
    ("enable_log_capture", "keep_logs"),
    ("disable_log_capture", "drop_logs"),
    ("save_text_patch", "save_patch"),
];

#[cfg(test)]
mod tests {
    use super::{Given, option, translate};

    fn text(value: &str) -> Given {
        Given::Text(value.to_owned())
    }

    #[test]
    fn known_keys_are_settings_and_a_credential_is_not_copied() {
        let translation = translate(&[
            ("AI_PROVIDER".into(), 1, text("openai")),
            (
                "OPENAI".into(),
                2,
                Given::Map(vec![("api_key".into(), text("sk-proj-literal-key")), ("model".into(), text("m"))]),
            ),
            ("MAX_ATTEMPTS".into(), 3, Given::Integer(5)),
            ("AUTO_FIX".into(), 4, Given::Flag(false)),
            ("LOG_MODE".into(), 5, text("print")),
            ("LOG_BUFFER_SIZE".into(), 6, Given::Integer(99_999)),
            (String::new(), 7, Given::NotUnderstood("open('x')".into())),
        ]);
        let toml = translation.to_toml();
        assert!(
            toml.starts_with("format = 1\nlog_mode = \"console\"\n\n[heal]\nattempts = 5\nmode = \"ask\"\n"),
            "{toml}"
        );
        // Out of our limits: shown, and left to a person.
        assert!(toml.contains("# logs.keep = 99999"), "{toml}");
        assert!(!format!("{translation:?}").contains("literal-key"));
        assert_eq!(translation.not_understood, ["line 7: statement: `open('x')`"]);
    }

    #[test]
    fn options_of_the_decorator() {
        assert_eq!(option("AUTO_FIX", "False").as_deref(), Ok("mode=\"ask\""));
        assert!(option("BACKUP_ENABLED", "False").is_err());
    }
}
