//! The rules of the house that a compiler does not check. `cargo xtask tidy` prints what is wrong; `cargo test` fails on it.

mod arrows;
mod data;
mod faults;
mod text;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use serde::Deserialize;

use crate::shell;
use crate::without;
use crate::workshop::Workshop;

/// `xtask/tidy.toml`: what a rule is waived for, each with its reason.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Waivers {
    /// Files past 600 lines.
    #[serde(default)]
    long: BTreeMap<String, String>,
    /// Files or folders that may name machine paths or package sources, such as test data about them.
    #[serde(default)]
    places: BTreeMap<String, String>,
    /// Faults of the fault suite that no test shows.
    #[serde(default)]
    faults: BTreeMap<String, String>,
}

/// A tracked file: its path relative to the root, with `/`, and its text if it is UTF-8.
pub struct Tracked {
    /// Relative path.
    pub path: String,
    /// Its text, if it is text.
    pub text: Option<String>,
}

/// Prints the problems; true if there are none.
pub fn run(workshop: &Workshop) -> anyhow::Result<bool> {
    let problems = problems(&workshop.root)?;
    for problem in &problems {
        println!("{problem}");
    }
    println!("tidy: {} problems", problems.len());
    Ok(problems.is_empty())
}

/// Every breach of a rule, as `path: what is wrong`.
pub fn problems(root: &Path) -> anyhow::Result<Vec<String>> {
    let waivers = std::fs::read_to_string(root.join("xtask/tidy.toml")).context("xtask/tidy.toml cannot be read")?;
    let waivers: Waivers = toml::from_str(&waivers).context("xtask/tidy.toml")?;
    let files = tracked(root)?;
    let mut problems = Vec::new();
    arrows::check(&files, &mut problems);
    text::check(&files, &waivers, &mut problems);
    data::check(&files, &mut problems);
    faults::check(&files, &waivers, &mut problems);
    mechanisms(root, &files, &mut problems)?;
    problems.sort();
    Ok(problems)
}

/// Every mechanism that a requirement rests on is where `cargo xtask without` takes it out.
fn mechanisms(root: &Path, files: &[Tracked], problems: &mut Vec<String>) -> anyhow::Result<()> {
    for mechanism in without::table::read(root)? {
        let source = files.iter().find(|file| file.path == mechanism.file).and_then(|file| file.text.as_deref());
        if let Some(problem) = mechanism.problem(source) {
            problems.push(format!("xtask/mechanisms: {} \"{}\" {problem}", mechanism.spec.join(" "), mechanism.says));
        }
    }
    Ok(())
}

/// What git tracks or would track; without git, all files outside the usual folders of waste.
fn tracked(root: &Path) -> anyhow::Result<Vec<Tracked>> {
    let list = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"];
    let mut paths: Vec<String> = match shell::answer(shell::command("git", root).args(list)) {
        Some(names) => names.split('\0').filter(|name| !name.is_empty()).map(str::to_owned).collect(),
        None => walk(root)?,
    };
    paths.sort();
    paths.dedup();
    let read = |path: String| {
        let bytes = std::fs::read(root.join(&path)).ok()?;
        Some(Tracked { path, text: String::from_utf8(bytes).ok() })
    };
    Ok(paths.into_iter().filter_map(read).collect())
}

fn walk(root: &Path) -> anyhow::Result<Vec<String>> {
    let mut found = Vec::new();
    let mut waiting = vec![PathBuf::new()];
    while let Some(folder) = waiting.pop() {
        for entry in std::fs::read_dir(root.join(&folder))? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let path = folder.join(&name);
            if entry.file_type()?.is_file() {
                found.push(path.to_string_lossy().replace('\\', "/"));
            } else if entry.file_type()?.is_dir() && !["target", ".git", "__pycache__"].contains(&name.as_str()) {
                waiting.push(path);
            }
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_house_is_tidy() {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the root");
        let problems = super::problems(root).expect("the rules can be checked");
        assert!(problems.is_empty(), "\n{}\n", problems.join("\n"));
    }
}
