//! The lists of the gates: data, not code. Each file carries examples and counterexamples of its own.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;

/// All lists.
#[derive(Debug, Default)]
pub(crate) struct Lists {
    /// What may be imported.
    pub modules: Modules,
    /// What may not be named.
    pub forbidden: Forbidden,
    /// Ways out of a value.
    pub walks: Walks,
    /// What a body can do to the world.
    pub abilities: Abilities,
    /// Words that address the judge.
    pub phrases: Phrases,
    /// What a credential looks like.
    pub secrets: Secrets,
    /// A list of this build cannot be read; every candidate is refused then.
    pub broken: Option<String>,
}

/// `data/modules.toml`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Modules {
    pub pure: Vec<String>,
    pub guarded: Vec<String>,
    pub guarded_anywhere: Vec<String>,
    pub own: Vec<String>,
    pub same: BTreeMap<String, String>,
    pub mixed: BTreeMap<String, Vec<String>>,
}

/// `data/forbidden.toml`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Forbidden {
    pub builtins: Vec<String>,
    pub only_called: Vec<String>,
    pub modules: Vec<String>,
    pub members: Vec<String>,
    pub methods: Vec<String>,
    #[serde(flatten)]
    #[cfg_attr(not(test), expect(dead_code, reason = "the tests read them"))]
    pub tests: Examples,
}

/// `data/walks.toml`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Walks {
    pub harmless: Vec<String>,
    pub attributes: Vec<String>,
    #[serde(flatten)]
    #[cfg_attr(not(test), expect(dead_code, reason = "the tests read them"))]
    pub tests: Examples,
}

/// `data/abilities.toml`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Abilities {
    pub ability: Vec<Ability>,
}

/// One thing a body can do.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Ability {
    pub id: String,
    pub say: String,
    pub modules: Vec<String>,
    pub members: Vec<String>,
    pub methods: Vec<String>,
    #[serde(default)]
    pub receivers: Vec<String>,
    #[serde(flatten)]
    #[cfg_attr(not(test), expect(dead_code, reason = "the tests read them"))]
    pub tests: Examples,
}

/// `data/phrases.toml`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Phrases {
    pub phrases: Vec<String>,
    pub plain: Vec<String>,
    #[serde(flatten)]
    #[cfg_attr(not(test), expect(dead_code, reason = "the tests read them"))]
    pub tests: Examples,
}

/// `data/secrets.toml`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Secrets {
    pub prefix: Vec<Prefix>,
    pub names: SecretNames,
    #[cfg_attr(not(test), expect(dead_code, reason = "the tests read them"))]
    pub tests: Examples,
}

/// How a credential begins, and how much must follow.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Prefix {
    pub start: String,
    pub rest: usize,
}

/// Names whose text value is a credential.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SecretNames {
    pub endings: Vec<String>,
    pub harmless: Vec<String>,
}

/// Code that must be found, and code that must not; read by the tests.
#[derive(Debug, Default, Deserialize)]
#[cfg_attr(not(test), expect(dead_code, reason = "the tests read them"))]
pub(crate) struct Examples {
    pub examples: Vec<String>,
    pub counterexamples: Vec<String>,
}

/// The lists, read once.
pub(crate) fn lists() -> &'static Lists {
    static LISTS: LazyLock<Lists> =
        LazyLock::new(|| read().unwrap_or_else(|broken| Lists { broken: Some(broken), ..Lists::default() }));
    &LISTS
}

fn read() -> Result<Lists, String> {
    fn one<T: for<'de> Deserialize<'de>>(name: &str, text: &str) -> Result<T, String> {
        toml::from_str(text).map_err(|error| format!("{name}: {error}"))
    }
    Ok(Lists {
        modules: one("modules.toml", include_str!("../data/modules.toml"))?,
        forbidden: one("forbidden.toml", include_str!("../data/forbidden.toml"))?,
        walks: one("walks.toml", include_str!("../data/walks.toml"))?,
        abilities: one("abilities.toml", include_str!("../data/abilities.toml"))?,
        phrases: one("phrases.toml", include_str!("../data/phrases.toml"))?,
        secrets: one("secrets.toml", include_str!("../data/secrets.toml"))?,
        broken: None,
    })
}

/// Does a dotted path fall under a list entry? An entry covers what is below it; a last `*` stands for the rest of a name.
pub(crate) fn covers(entry: &str, path: &str) -> bool {
    match entry.strip_suffix('*') {
        Some(stem) => path.starts_with(stem),
        None => crate::lens::is_under(path, entry),
    }
}

/// A path without its call and element marks: `pathlib.Path().open` is `pathlib.Path.open`, and so is what a path's
/// parent opens.
pub(crate) fn bare(path: &str) -> String {
    let mut plain = path.replace("()", "").replace("[]", "");
    while let Some(rest) = plain.strip_prefix("pathlib.Path.") {
        let Some((step, below)) = rest.split_once('.') else { break };
        if !TO_A_PATH.contains(&step) {
            break;
        }
        plain = format!("pathlib.Path.{below}");
    }
    plain
}

/// Members of a path that are paths again.
const TO_A_PATH: &[&str] =
    &["parent", "parents", "resolve", "absolute", "joinpath", "with_suffix", "with_name", "with_stem", "relative_to"];

#[cfg(test)]
mod tests {
    use super::{covers, lists, read};

    #[test]
    fn all_lists_are_read() {
        assert_eq!(read().err(), None);
        assert!(lists().broken.is_none());
    }

    #[test]
    fn entries_cover_what_is_below_them() {
        assert!(covers("os.path", "os.path.join"));
        assert!(covers("os.exec*", "os.execvp"));
        assert!(!covers("os.path", "os.pathsep"));
    }

    #[test]
    fn every_list_with_examples_has_three_bad_and_one_good() {
        let lists = lists();
        let mut all = vec![&lists.forbidden.tests, &lists.walks.tests, &lists.phrases.tests, &lists.secrets.tests];
        all.extend(lists.abilities.ability.iter().map(|ability| &ability.tests));
        for tests in all {
            assert!(!tests.counterexamples.is_empty(), "{tests:?}");
            assert!(tests.examples.len() >= 2, "{tests:?}");
        }
    }
}
