//! Which project a source file belongs to, and whether it is a file that may be rewritten (C14, C101).

mod target;

pub use target::{Interpreter, NoTarget, may_rewrite};

use std::path::{Path, PathBuf};

/// The folder that a repair stays inside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Project {
    /// The folder, behind all links.
    pub root: PathBuf,
    /// The file that holds the settings, when there is one.
    pub settings: Option<PathBuf>,
}

/// Files that make their folder a project when no nearer settings do.
const MARKERS: [&str; 4] = [".git", "pyproject.toml", "setup.cfg", "setup.py"];

impl Project {
    /// The project of a source file: the nearest folder upward with settings, else with a marker, else the file's own.
    /// The search looks into a repository's root, the home folder and the root of the file system, and no further up.
    ///
    /// It goes up the path by which the program knows the file. Searched from the real path, a link out of the project
    /// would lead into whatever project lies there, and C101 would never refuse it.
    pub fn of_file(file: &Path, home: Option<&Path>) -> Self {
        let file = std::path::absolute(file).unwrap_or_else(|_| file.to_owned());
        let folder = file.parent().unwrap_or(Path::new("/"));
        if folder.components().any(|part| part == std::path::Component::ParentDir) {
            // What lies above `a/../b` by its letters is not what lies above it on the disk.
            return Self::search(&real(folder), home);
        }
        Self::search(folder, home)
    }

    /// The same from a folder: where the command line stands.
    pub fn of_folder(folder: &Path, home: Option<&Path>) -> Self {
        Self::search(&real(folder), home)
    }

    fn search(folder: &Path, home: Option<&Path>) -> Self {
        let home = home.map(real);
        let reachable = reachable(folder, home.as_deref());
        for candidate in &reachable {
            if let Some(settings) = settings_in(candidate) {
                let root = real(candidate);
                let settings = settings.file_name().map(|name| root.join(name));
                return Self { root, settings };
            }
        }
        let marked = reachable.iter().find(|candidate| MARKERS.iter().any(|marker| candidate.join(marker).exists()));
        Self { root: real(marked.map_or(folder, |root| *root)), settings: None }
    }

    /// Its name where the settings give none: owner and name of the `origin` remote, the package's name, the folder's.
    pub fn name(&self) -> String {
        let folder = || self.root.file_name().map(|name| name.to_string_lossy().into_owned());
        origin(&self.root).or_else(|| package_name(&self.root)).or_else(folder).unwrap_or_else(|| "project".to_owned())
    }

    /// True when the path, behind all links, lies in the project.
    pub fn contains(&self, path: &Path) -> bool {
        path.canonicalize().is_ok_and(|real| real.starts_with(&self.root))
    }
}

/// The path behind all links, where there is one.
fn real(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

fn reachable<'a>(folder: &'a Path, home: Option<&Path>) -> Vec<&'a Path> {
    let mut reachable = Vec::new();
    for candidate in folder.ancestors() {
        reachable.push(candidate);
        if candidate.join(".git").exists() || home.is_some_and(|home| candidate == home || real(candidate) == home) {
            break;
        }
    }
    reachable
}

fn settings_in(folder: &Path) -> Option<PathBuf> {
    let own = folder.join("sanare.toml");
    if own.is_file() {
        return Some(own);
    }
    let shared = folder.join("pyproject.toml");
    let text = std::fs::read_to_string(&shared).ok()?;
    let has_table = match text.parse::<toml::Table>() {
        Ok(table) => table.get("tool").and_then(|tool| tool.get("sanare")).is_some(),
        // A broken file that means to set us: whoever reads the settings says what is wrong with it.
        Err(_) => text.lines().any(|line| line.trim_start().starts_with("[tool.sanare")),
    };
    has_table.then_some(shared)
}

/// `owner/name` of the remote called origin.
fn origin(root: &Path) -> Option<String> {
    let text = std::fs::read_to_string(git_folder(root)?.join("config")).ok()?;
    let mut in_origin = false;
    for line in text.lines().map(str::trim) {
        if line.starts_with('[') {
            in_origin = line.split_whitespace().collect::<String>() == "[remote\"origin\"]";
        } else if in_origin
            && let Some((key, value)) = line.split_once('=')
            && key.trim() == "url"
        {
            return owner_and_name(value.trim());
        }
    }
    None
}

/// The folder git keeps its records in; in a linked work tree `.git` is a file that names it.
fn git_folder(root: &Path) -> Option<PathBuf> {
    let git = root.join(".git");
    if git.is_dir() {
        return Some(git);
    }
    let own = root.join(std::fs::read_to_string(git).ok()?.strip_prefix("gitdir:")?.trim());
    match std::fs::read_to_string(own.join("commondir")) {
        Ok(common) => Some(own.join(common.trim())),
        Err(_) => Some(own),
    }
}

fn owner_and_name(url: &str) -> Option<String> {
    let url = url.trim_end_matches('/');
    let path = match url.split_once("://") {
        Some((_, rest)) => rest.split_once('/')?.1,
        None => url.split_once(':').filter(|(host, _)| host.len() > 1 && !host.contains('/'))?.1,
    };
    let mut parts = path.trim_end_matches(".git").rsplit('/').filter(|part| !part.is_empty());
    let (name, owner) = (parts.next()?, parts.next()?);
    Some(format!("{owner}/{name}"))
}

fn package_name(root: &Path) -> Option<String> {
    let table: toml::Table = std::fs::read_to_string(root.join("pyproject.toml")).ok()?.parse().ok()?;
    Some(table.get("project")?.get("name")?.as_str()?.to_owned())
}

#[cfg(test)]
mod tests {
    use super::owner_and_name;

    #[test]
    fn remotes() {
        let check = |url: &str, expected: Option<&str>| assert_eq!(owner_and_name(url).as_deref(), expected, "{url}");
        check("https://example.com/acme/jobs.git", Some("acme/jobs"));
        check("https://user:word@example.com/acme/jobs/", Some("acme/jobs"));
        check("git@example.com:acme/jobs.git", Some("acme/jobs"));
        check("ssh://git@example.com:22/group/acme/jobs", Some("acme/jobs"));
        check("../bare.git", None);
        check("C:/bare/x.git", None);
        check("https://example.com", None);
    }
}
