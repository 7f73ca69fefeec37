//! `xtask/mechanisms/*.toml`: pieces of source that requirements rest on, each with the tests that have to notice.

use std::path::Path;

use anyhow::{Context as _, bail};
use serde::Deserialize;

/// One mechanism.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mechanism {
    /// The requirements it keeps: `["S62"]`.
    pub spec: Vec<String>,
    /// What is taken out, in words.
    pub says: String,
    /// The file it stands in, from the root.
    pub file: String,
    /// The piece of source; it stands in the file exactly once.
    pub text: String,
    /// What stands there without it; it has to build.
    pub instead: String,
    /// What fails then: `cargo test` with these arguments, or `pytest …`.
    pub fails: String,
    /// The name of the file of mechanisms it was read from.
    #[serde(skip)]
    area: String,
}

/// The tests of a mechanism.
pub enum Suite<'a> {
    /// Arguments of `cargo test`.
    Cargo(Vec<&'a str>),
    /// Arguments of `pytest`.
    Pytest(Vec<&'a str>),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Area {
    mechanism: Vec<Mechanism>,
}

impl Mechanism {
    /// Whether it is of this requirement, or of this file of mechanisms.
    pub fn is_called(&self, name: &str) -> bool {
        self.area == name || self.spec.iter().any(|id| id == name)
    }

    /// The tests that have to notice. An error where it names no program and no package.
    pub fn suite(&self) -> anyhow::Result<Suite<'_>> {
        let words: Vec<&str> = self.fails.split_whitespace().collect();
        match words.split_first() {
            Some((&"pytest", rest)) if !rest.is_empty() => Ok(Suite::Pytest(rest.to_vec())),
            Some((&"-p", rest)) if rest.len() > 1 => Ok(Suite::Cargo(words)),
            _ => bail!("`fails` of \"{}\" is neither `-p PACKAGE FILTER` nor `pytest FILE`", self.says),
        }
    }

    /// What is wrong with it, given its file's text.
    pub fn problem(&self, source: Option<&str>) -> Option<String> {
        let requirement = |id: &String| {
            let mut letters = id.chars();
            matches!(letters.next(), Some('C' | 'S')) && letters.as_str().parse::<u32>().is_ok()
        };
        let count = source.map(|source| source.matches(&self.text).count());
        match count {
            _ if self.spec.is_empty() || !self.spec.iter().all(requirement) => Some("names no requirement".to_owned()),
            _ if self.text.trim().is_empty() || self.text == self.instead => Some("takes nothing out".to_owned()),
            None => Some(format!("there is no {}", self.file)),
            Some(0) => Some(format!("its text is not in {} any more", self.file)),
            Some(1) => self.suite().err().map(|why| why.to_string()),
            Some(count) => Some(format!("its text stands {count} times in {}", self.file)),
        }
    }
}

/// All mechanisms, by file and place.
pub fn read(root: &Path) -> anyhow::Result<Vec<Mechanism>> {
    let mut files: Vec<_> = std::fs::read_dir(root.join("xtask/mechanisms"))
        .context("xtask/mechanisms cannot be read")?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<Result<_, _>>()?;
    files.retain(|path| path.extension().is_some_and(|end| end == "toml"));
    files.sort();
    let mut all = Vec::new();
    for path in files {
        let area: Area =
            toml::from_str(&std::fs::read_to_string(&path)?).with_context(|| path.display().to_string())?;
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        all.extend(area.mechanism.into_iter().map(|mechanism| Mechanism { area: name.clone(), ..mechanism }));
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::Mechanism;

    fn mechanism(spec: &str, text: &str, instead: &str, fails: &str) -> Mechanism {
        let (spec, file) = (vec![spec.to_owned()], "a.rs".to_owned());
        let (text, instead, fails) = (text.to_owned(), instead.to_owned(), fails.to_owned());
        Mechanism { spec, says: "it".to_owned(), file, text, instead, fails, area: "a".to_owned() }
    }

    #[test]
    fn a_row_that_shows_nothing_is_a_problem() {
        let of = |row: Mechanism, source: Option<&str>| row.problem(source).unwrap_or_default();
        assert_eq!(of(mechanism("S1", "x", "y", "-p a b"), Some("x")), "");
        assert_eq!(of(mechanism("S1", "x", "y", "pytest a.py"), Some("x")), "");
        assert_eq!(of(mechanism("1", "x", "y", "-p a b"), Some("x")), "names no requirement");
        assert_eq!(of(mechanism("S1", "x", "x", "-p a b"), Some("x")), "takes nothing out");
        assert_eq!(of(mechanism("S1", "x", "y", "-p a b"), Some("xx")), "its text stands 2 times in a.rs");
        assert_eq!(of(mechanism("S1", "x", "y", "-p a b"), Some("z")), "its text is not in a.rs any more");
        assert_eq!(of(mechanism("S1", "x", "y", "-p a b"), None), "there is no a.rs");
        assert!(of(mechanism("S1", "x", "y", "make it fail"), Some("x")).contains("neither"));
    }
}
