//! Names: which names are names of secrets, and how sure that makes us of their values.
//!
//! A name is cut into words; the word lists are data (`data/redaction/names.toml`).

use serde::Deserialize;
use std::collections::{BTreeMap, HashMap};
use std::sync::OnceLock;

/// How sure a name makes us that its value is a secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Class {
    /// The value must be long and look random.
    Hint,
    /// The value must not look like a word, a path, a date or code.
    Named,
    /// Any value is a secret.
    Strong,
    /// The value is `scheme credentials`.
    Authorization,
    /// The value is `name=value; name=value`.
    Cookie,
}

/// A name that was recognised: its class, and the rule that its placeholder shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Name {
    /// How sure the name makes us.
    pub class: Class,
    /// The id of the rule.
    pub rule: &'static str,
}

/// Longest name that is looked at, in bytes.
pub(super) const LONGEST: usize = 80;

#[derive(Deserialize)]
struct Words {
    words: Vec<String>,
}

#[derive(Deserialize)]
struct Before {
    before: Vec<String>,
}

#[derive(Deserialize)]
struct Search {
    any: Vec<String>,
    parts: Vec<String>,
}

#[derive(Deserialize)]
struct Glued {
    strong: Vec<String>,
    named: Vec<String>,
    hint: Vec<String>,
}

#[derive(Deserialize)]
struct File {
    strong: BTreeMap<String, Vec<String>>,
    named: BTreeMap<String, Vec<String>>,
    hint: BTreeMap<String, Vec<String>>,
    glued: Glued,
    harmless_key: Before,
    harmless_before: Words,
    harmless_after: Words,
    digest: Words,
    special: BTreeMap<String, Vec<String>>,
    search: Search,
    absent: Words,
    prose: Words,
}

#[derive(Clone, Copy, Default)]
struct Role {
    secret: Option<Name>,
    before: bool,
    before_key: bool,
    after: bool,
    digest: bool,
}

/// The word lists, read once.
pub(super) struct Lexicon {
    roles: HashMap<String, Role>,
    glued: Vec<(String, Name)>,
    special: HashMap<String, Name>,
    absent: HashMap<String, bool>,
    /// Parts of names for which texts are searched, and whether any word can be the value of such a name.
    pub parts: Vec<(String, bool)>,
}

/// The standard word lists.
pub(super) fn lexicon() -> &'static Lexicon {
    static LEXICON: OnceLock<Lexicon> = OnceLock::new();
    LEXICON.get_or_init(|| Lexicon::read(include_str!(concat!(env!("OUT_DIR"), "/redaction-names.json"))))
}

impl Lexicon {
    /// An unreadable file gives an empty lexicon here; the tests of this file see to it that ours is readable.
    fn read(text: &str) -> Self {
        let mut lexicon = Self {
            roles: HashMap::new(),
            glued: Vec::new(),
            special: HashMap::new(),
            absent: HashMap::new(),
            parts: Vec::new(),
        };
        let Ok(file) = serde_json::from_str::<File>(text) else { return lexicon };
        for (class, list) in [(Class::Hint, file.hint), (Class::Named, file.named), (Class::Strong, file.strong)] {
            for (rule, words) in list {
                let rule: &'static str = Box::leak(rule.into_boxed_str());
                for word in words {
                    lexicon.roles.entry(word).or_default().secret = Some(Name { class, rule });
                }
            }
        }
        let glued = file.glued;
        for (class, words) in [(Class::Strong, glued.strong), (Class::Named, glued.named), (Class::Hint, glued.hint)] {
            for word in words {
                let rule = lexicon.roles.get(&word).and_then(|role| role.secret).map_or("secret", |name| name.rule);
                lexicon.glued.push((word, Name { class, rule }));
            }
        }
        for word in file.harmless_key.before {
            lexicon.roles.entry(word).or_default().before_key = true;
        }
        for word in file.harmless_before.words {
            lexicon.roles.entry(word).or_default().before = true;
        }
        for word in file.harmless_after.words {
            lexicon.roles.entry(word).or_default().after = true;
        }
        for word in file.digest.words {
            lexicon.roles.entry(word).or_default().digest = true;
        }
        for (rule, names) in file.special {
            let class = if rule == "cookie" { Class::Cookie } else { Class::Authorization };
            let rule: &'static str = Box::leak(rule.into_boxed_str());
            for name in names {
                lexicon.special.insert(name, Name { class, rule });
            }
        }
        lexicon.absent.extend(file.prose.words.into_iter().map(|word| (word, false)));
        lexicon.absent.extend(file.absent.words.into_iter().map(|word| (word, true)));
        lexicon.parts.extend(file.search.any.into_iter().map(|part| (part, true)));
        lexicon.parts.extend(file.search.parts.into_iter().map(|part| (part, false)));
        lexicon
    }

    /// Whether a word, in lower case, stands for the absence of a value.
    pub fn absent(&self, word: &str) -> bool {
        self.absent.get(word) == Some(&true)
    }

    /// Whether a word, in lower case, is one that prose has after the name of a secret.
    pub fn prose(&self, word: &str) -> bool {
        self.absent.contains_key(word)
    }

    /// The ids of the rules that names have.
    pub fn rules(&self) -> impl Iterator<Item = &'static str> {
        let roles = self.roles.values().filter_map(|role| role.secret);
        roles.chain(self.special.values().copied()).map(|name| name.rule)
    }

    /// The class of a name, if it names a secret.
    pub fn name(&self, name: &str) -> Option<Name> {
        if name.len() > LONGEST || name.contains("::") {
            return None;
        }
        let name = name.trim_matches(|c: char| !c.is_alphanumeric());
        let lower = name.to_lowercase();
        if let Some(special) = self.special.get(lower.as_str()) {
            return Some(*special);
        }
        let words = words(name);
        self.of_words(&words)
    }

    fn of_words(&self, words: &[String]) -> Option<Name> {
        let roles: Vec<Role> = words.iter().map(|word| self.role(word)).collect();
        let at = (0..words.len()).rev().find(|&i| roles[i].secret.is_some() && !self.only_after(&roles, words, i))?;
        let mut name = roles[at].secret?;
        let after = &roles[at + 1..];
        let following = words.get(at + 1).map(String::as_str);
        let is_key = words[at] == "key" || words[at] == "keys";
        if name.rule == "session" && following == Some("id") {
            return Some(name);
        }
        if after.iter().any(|role| role.digest) && name.class >= Class::Named {
            return Some(Name { class: Class::Hint, ..name });
        }
        // `value` and the like keep the name a secret's; what tells about the secret does not.
        if after.iter().any(|role| role.after) {
            return None;
        }
        if let Some(before) = at.checked_sub(1) {
            let word = words[before].as_str();
            if is_key {
                if roles[before].before_key || (roles[before].before && word != "first" && word != "last") {
                    return None;
                }
                if word.len() > 1 {
                    let rule = if word == "api" { "api-key" } else { "key" };
                    name = Name { class: Class::Named, rule };
                }
            } else if harmless_before(name, word, roles[before]) {
                return None;
            } else if name.rule == "code" && is_code_word(word) {
                name = Name { class: Class::Named, rule: "code" };
            } else if matches!(name.rule, "key" | "webhook" | "authorization")
                && name.class == Class::Hint
                && word.len() > 1
            {
                name.class = Class::Named;
            }
        }
        Some(name)
    }

    /// A secret word at `i` that only says something about a secret word before it (`secret_key` is read at `key`).
    fn only_after(&self, roles: &[Role], words: &[String], i: usize) -> bool {
        i > 0 && roles[i].after && roles[i - 1].secret.is_some() && words[i] != "key"
    }

    fn role(&self, word: &str) -> Role {
        if let Some(role) = self.roles.get(word) {
            return *role;
        }
        let glued = self.glued.iter().find(|(end, _)| word.len() > end.len() && word.ends_with(end.as_str()));
        Role { secret: glued.map(|(_, name)| *name), ..Role::default() }
    }
}

fn harmless_before(name: Name, word: &str, role: Role) -> bool {
    match name.class {
        Class::Strong => matches!(word, "boarding" | "by" | "no" | "has" | "is"),
        _ => role.before,
    }
}

fn is_code_word(word: &str) -> bool {
    matches!(
        word,
        "access"
            | "auth"
            | "authorization"
            | "verification"
            | "security"
            | "recovery"
            | "backup"
            | "pin"
            | "secret"
            | "login"
            | "device"
    )
}

/// The words of a name in lower case: cut at punctuation, digits and changes of case.
pub(super) fn words(name: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut chars = name.chars().peekable();
    let mut previous: Option<char> = None;
    while let Some(c) = chars.next() {
        if !c.is_alphabetic() {
            if !word.is_empty() {
                words.push(std::mem::take(&mut word));
            }
            previous = None;
            continue;
        }
        let starts = c.is_uppercase()
            && previous.is_some_and(|p| {
                p.is_lowercase() || (p.is_uppercase() && chars.peek().is_some_and(|n| n.is_lowercase()))
            });
        if starts && !word.is_empty() {
            words.push(std::mem::take(&mut word));
        }
        word.extend(c.to_lowercase());
        previous = Some(c);
    }
    if !word.is_empty() {
        words.push(word);
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(class: Option<Class>, names: &[&str]) {
        for name in names {
            assert_eq!(lexicon().name(name).map(|name| name.class), class, "{name}");
        }
    }

    #[test]
    fn names_of_secrets() {
        check(
            Some(Class::Strong),
            &[
                "password",
                "db_password",
                "dbPassword",
                "DB_PASSWORD_PROD",
                "SMTP_PASS2",
                "passwd",
                "jelszó",
                "Passwort",
                "adatbazis_jelszo",
                "spring.datasource.password",
                "PGPASSWORD",
                "pw",
                "passphrase",
                "Datenbankpasswort",
                "dbpassword",
            ],
        );
        check(
            Some(Class::Named),
            &[
                "api_key",
                "apiKey",
                "x-api-key",
                "APIKey",
                "aws_secret_access_key",
                "client_secret",
                "token",
                "TF_TOKEN",
                "refresh_token",
                "signing_key",
                "private_key",
                "AccountKey",
                "totp_secret",
                "secret_key",
                "clientsecret",
                "_authToken",
                "access_code",
                "encryption_key",
                "account_key",
                "ssh_key",
                "mfa_secret",
                "access_token",
                "csrftoken",
                "api_kulcs_token",
            ],
        );
        check(
            Some(Class::Hint),
            &["key", "auth", "sessionid", "session_id", "signature", "X-Amz-Signature", "password_hash"],
        );
        check(Some(Class::Authorization), &["Authorization", "proxy-authorization"]);
        check(Some(Class::Cookie), &["Cookie", "Set-Cookie"]);
    }

    #[test]
    fn look_alikes() {
        check(
            None,
            &[
                "author",
                "passenger_count",
                "max_tokens",
                "compass",
                "bypass",
                "tokenizer",
                "prompt_tokens",
                "primary_key",
                "cache_key",
                "partition_key",
                "customer_key",
                "private_key_id",
                "aws_access_key_id",
                "token_type",
                "password_policy",
                "keyboard",
                "monkey",
                "public_key",
                "secret_name",
                "POSTGRES_PASSWORD_FILE",
                "token_count",
                "eos_token",
                "authority",
                "passport",
                "sort_key",
                "status_code",
                "zip_code",
                "error_code",
                "KeyError",
                "next_page_token",
                "foreign_key",
                "token_uri",
                "key_name",
            ],
        );
    }
}
