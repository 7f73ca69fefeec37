//! Settings: a closed list of keys, strict values, one order of precedence (C13 to C22).
//!
//! Decorator, then environment, then the project's file, then the user's file, then defaults; merged key by key, lists
//! replaced whole. The texts come in as arguments: nothing is read here, and nothing in them is executed.

pub mod former;
pub mod key;
mod locked;
pub(crate) mod read;

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use serde::ser::SerializeStruct as _;
use serde::{Serialize, Serializer};
use serde_json::Value as Json;

pub use key::{KEYS, Key, Kind};

/// Where a value came from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "from", rename_all = "snake_case")]
pub enum Origin {
    /// An option of the decorator.
    Decorator,
    /// An environment variable.
    Variable {
        /// Its name.
        name: String,
    },
    /// A file.
    File {
        /// Its path as given.
        path: String,
        /// Line of the key, from 1.
        line: usize,
    },
    /// Nobody set it.
    Default,
}

/// One thing that is wrong with the settings.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Trouble {
    /// Where.
    pub origin: Origin,
    /// The key as written.
    pub key: String,
    /// What is wrong, in one line; never the value of something that looks like a secret.
    pub message: String,
    /// The nearest right thing, or nothing.
    pub hint: String,
}

impl std::fmt::Display for Trouble {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.origin {
            Origin::File { path, line } => write!(f, "{path}:{line}: ")?,
            Origin::Variable { name } => write!(f, "variable `{name}`: ")?,
            Origin::Decorator => write!(f, "decorator: ")?,
            Origin::Default => {}
        }
        // What is said of the whole file has no key.
        if !self.key.is_empty() {
            write!(f, "`{}`: ", self.key)?;
        }
        f.write_str(&self.message)?;
        match self.hint.is_empty() {
            true => Ok(()),
            false => write!(f, "; hint: {}", self.hint),
        }
    }
}

/// A file of settings: its path for people, and its text.
#[derive(Clone, Debug, PartialEq)]
pub struct SettingsFile {
    /// Path as it is shown.
    pub path: String,
    /// TOML text.
    pub text: String,
    /// Whether the settings stand under `[tool.sanare]` (`pyproject.toml`).
    pub in_pyproject: bool,
}

/// Everything that settings are made from.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sources {
    /// Options given to the decorator, by their bare names (`mode`, `attempts`).
    pub decorator: Vec<(String, Json)>,
    /// Variables whose names begin with `SANARE_`.
    pub variables: Vec<(String, String)>,
    /// The project's file.
    pub project: Option<SettingsFile>,
    /// The user's file.
    pub user: Option<SettingsFile>,
}

/// The effective settings: every key with its value and where it came from.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    values: Arc<BTreeMap<String, (Json, Origin)>>,
}

impl Serialize for Settings {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut written = serializer.serialize_struct("Settings", 1)?;
        written.serialize_field("values", self.values.as_ref())?;
        written.end()
    }
}

/// Every key as it is where nobody says otherwise.
static DEFAULTS: LazyLock<BTreeMap<String, (Json, Origin)>> =
    LazyLock::new(|| KEYS.iter().map(|key| (key.path.to_owned(), (key.default_value(), Origin::Default))).collect());

impl Settings {
    /// Reads and merges all sources.
    ///
    /// # Errors
    /// Everything that is wrong, at once.
    pub fn resolve(sources: &Sources) -> Result<Self, Vec<Trouble>> {
        let mut troubles = Vec::new();
        let mut layers = Vec::new();
        for file in [&sources.user, &sources.project].into_iter().flatten() {
            layers.push(read::file(file, &mut troubles));
        }
        layers.push(read::variables(&sources.variables, &mut troubles));
        layers.push(read::decorator(&sources.decorator, &mut troubles));
        let mut values = DEFAULTS.clone();
        for layer in layers {
            values.extend(layer);
        }
        locked::apply(&mut values, &mut troubles);
        if troubles.is_empty() { Ok(Self { values: Arc::new(values) }) } else { Err(troubles) }
    }

    /// The value of a key; `null` for a key that is not in the list.
    pub fn get(&self, path: &str) -> &Json {
        self.values.get(path).map_or(&Json::Null, |(value, _)| value)
    }

    /// Whether nobody set a key.
    pub fn is_default(&self, path: &str) -> bool {
        self.values.get(path).is_none_or(|(_, origin)| *origin == Origin::Default)
    }

    /// The value of a text or choice.
    pub fn text(&self, path: &str) -> &str {
        self.get(path).as_str().unwrap_or_default()
    }

    /// A number, or a duration in milliseconds, or a size in bytes.
    pub fn number(&self, path: &str) -> u64 {
        self.get(path).as_u64().unwrap_or(0)
    }

    /// A limit; nothing where it is `"unlimited"`.
    pub fn limit(&self, path: &str) -> Option<u64> {
        if self.text(path) == key::UNLIMITED { None } else { Some(self.number(path)) }
    }

    /// A number that is kept in millionths.
    pub fn decimal(&self, path: &str) -> f64 {
        f64::from(u32::try_from(self.number(path)).unwrap_or(u32::MAX)) / 1e6
    }

    /// A truth value.
    pub fn flag(&self, path: &str) -> bool {
        self.get(path).as_bool().unwrap_or(false)
    }

    /// A list of texts.
    pub fn list(&self, path: &str) -> Vec<String> {
        self.get(path).as_array().into_iter().flatten().filter_map(Json::as_str).map(str::to_owned).collect()
    }

    /// Every key with its value and origin, in order of the keys.
    pub fn rows(&self) -> impl Iterator<Item = (&str, &Json, &Origin)> {
        self.values.iter().map(|(path, (value, origin))| (path.as_str(), value, origin))
    }
}

#[cfg(test)]
mod tests {
    use super::{KEYS, Origin, Settings, SettingsFile, Sources};
    use serde_json::json;

    fn file(text: &str) -> Option<SettingsFile> {
        Some(SettingsFile { path: "sanare.toml".into(), text: text.into(), in_pyproject: false })
    }

    fn complaints(sources: &Sources) -> String {
        match Settings::resolve(sources) {
            Ok(_) => "fine".to_owned(),
            Err(troubles) => troubles.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"),
        }
    }

    #[test]
    fn each_source_gives_way_to_the_one_above_it() {
        let mut sources = Sources {
            decorator: vec![("attempts".into(), json!(1))],
            variables: vec![("SANARE_HEAL_ATTEMPTS".into(), "2".into())],
            project: file("[heal]\nattempts = 4\n"),
            user: file("[heal]\nattempts = 5\n"),
        };
        let attempts = |sources: &Sources| Settings::resolve(sources).map(|found| found.number("heal.attempts"));
        assert_eq!(attempts(&sources), Ok(1));
        sources.decorator.clear();
        assert_eq!(attempts(&sources), Ok(2));
        sources.variables.clear();
        assert_eq!(attempts(&sources), Ok(4));
        sources.project = None;
        assert_eq!(attempts(&sources), Ok(5));
        sources.user = None;
        assert_eq!(attempts(&sources), Ok(3));
    }

    #[test]
    fn mistakes_are_named_with_their_line_and_the_nearest_key() {
        let sources =
            Sources { project: file("format = 1\n[heal]\nmod = \"auto\"\nattempts = 0\n"), ..Sources::default() };
        assert_eq!(
            complaints(&sources),
            "sanare.toml:3: `heal.mod`: unknown key; hint: did you mean `heal.mode`\n\
             sanare.toml:4: `heal.attempts`: 0 is out of range; hint: an integer from 1 to 10"
        );
    }

    #[test]
    fn variables_are_strict_too() {
        let sources = Sources { variables: vec![("SANARE_HEAL_MOED".into(), "auto".into())], ..Sources::default() };
        assert!(complaints(&sources).contains("did you mean `SANARE_HEAL_MODE`"), "{}", complaints(&sources));
    }

    #[test]
    fn a_literal_credential_is_refused_and_not_repeated() {
        let token = format!("ghp_{}", "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8");
        let sources = Sources { project: file(&format!("project = \"{token}\"\n")), ..Sources::default() };
        let text = complaints(&sources);
        assert!(text.contains("looks like a credential"), "{text}");
        assert!(!text.contains(&token), "{text}");
    }

    #[test]
    fn defaults_are_within_their_own_limits_and_no_two_keys_share_a_variable() {
        let mut names = std::collections::BTreeSet::new();
        for key in KEYS {
            assert!(names.insert(key.variable()), "{}", key.path);
            assert!(key.kind.accept(&key.default_toml()).is_ok(), "{}", key.path);
        }
    }

    #[test]
    fn both_limits_hold_and_one_step_outside_does_not() {
        for key in KEYS {
            let Some((inside, outside)) = key.kind.probes() else { continue };
            for value in inside {
                assert!(key.kind.accept(&value).is_ok(), "{} {value:?}", key.path);
            }
            for value in outside {
                assert!(key.kind.accept(&value).is_err(), "{} {value:?}", key.path);
            }
        }
    }

    #[test]
    fn the_locked_profile_tightens_and_refuses_what_is_looser() {
        let locked =
            |more: &str| Sources { project: file(&format!("profile = \"locked\"\n{more}")), ..Sources::default() };
        let settings = Settings::resolve(&locked("")).unwrap_or_else(|troubles| panic!("{troubles:?}"));
        assert_eq!((settings.text("heal.mode"), settings.text("heal.remember")), ("ask", "off"));
        assert_eq!(settings.number("evidence.model.locals"), 300);
        assert_eq!(complaints(&locked("[heal]\nmode = \"observe\"\n")), "fine");
        assert_eq!(
            complaints(&locked("[heal]\nmode = \"auto\"\n[model]\nprovider = \"ollama\"\n")),
            "sanare.toml:3: `heal.mode`: looser than the profile `locked` allows; hint: one of ask, dry_run, observe, off\n\
             sanare.toml:5: `model.provider`: looser than the profile `locked` allows; hint: one of none"
        );
    }

    #[test]
    fn origins_are_kept() {
        let sources = Sources { project: file("\n[heal]\nattempts = 4\n"), ..Sources::default() };
        let settings = Settings::resolve(&sources).unwrap_or_else(|troubles| panic!("{troubles:?}"));
        let origin = settings.rows().find(|(path, _, _)| *path == "heal.attempts").map(|(_, _, origin)| origin.clone());
        assert_eq!(origin, Some(Origin::File { path: "sanare.toml".into(), line: 3 }));
    }
}
