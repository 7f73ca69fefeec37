//! Rules about the text of files: first lines, lengths, and no trace of the machine it was written on.

use super::{Tracked, Waivers};

const LONG: usize = 600;
const ARCHITECTURE: usize = 150;

/// Places that only exist on somebody's machine, and settings that point package tools elsewhere.
/// Written in two halves, so that this file does not hold what it looks for.
const MACHINE: &[(&str, &str)] = &[("/ro", "ot/"), ("/wo", "rk/")];
const SOURCES: &[(&str, &str)] = &[("index", "-url"), ("[sou", "rce."), ("[regis", "tries"), ("replace", "-with")];
/// Endings of files in which tools look for such settings.
const SETTINGS: &[&str] = &["toml", "txt", "cfg", "ini", "conf", "yml", "yaml", "sh", "run"];
const LOCKED_SOURCE: &str = "source = \"registry+https://github.com/rust-lang/crates.io-index\"";

/// Checks every text file.
pub fn check(files: &[Tracked], waivers: &Waivers, problems: &mut Vec<String>) {
    for file in files {
        let Some(text) = &file.text else { continue };
        first_line(&file.path, text, problems);
        length(&file.path, text, waivers, problems);
        places(&file.path, text, waivers, problems);
    }
    stale(files, waivers, problems);
}

fn first_line(path: &str, text: &str, problems: &mut Vec<String>) {
    if path.ends_with(".rs") && !text.starts_with("//! ") {
        problems.push(format!("{path}: line 1 does not begin with `//! ` and say what lives here"));
    }
}

fn length(path: &str, text: &str, waivers: &Waivers, problems: &mut Vec<String>) {
    let lines = text.lines().count();
    if path == "ARCHITECTURE.md" && lines > ARCHITECTURE {
        problems.push(format!("{path}: {lines} lines, at most {ARCHITECTURE}"));
    }
    let code = path.ends_with(".rs") || path.ends_with(".py");
    if code && lines > LONG && !waivers.long.contains_key(path) {
        problems.push(format!("{path}: {lines} lines, past {LONG} it needs a reason in xtask/tidy.toml"));
    }
}

fn places(path: &str, text: &str, waivers: &Waivers, problems: &mut Vec<String>) {
    if path == "Cargo.lock" {
        let foreign = |line: &&str| line.starts_with("source = ") && *line != LOCKED_SOURCE;
        if let Some(line) = text.lines().find(foreign) {
            problems.push(format!("{path}: `{line}` is not the usual source of packages"));
        }
        return;
    }
    if waivers.places.keys().any(|waived| path == waived || path.starts_with(&format!("{waived}/"))) {
        return;
    }
    let holds = |line: &str, head: &str, tail: &str| {
        line.match_indices(head).any(|(at, _)| line[at + head.len()..].starts_with(tail))
    };
    let settings = SETTINGS.contains(&path.rsplit(['.', '/']).next().unwrap_or_default());
    for (number, line) in text.lines().enumerate() {
        for (head, tail) in MACHINE.iter().filter(|(head, tail)| holds(line, head, tail)) {
            problems.push(format!("{path}:{}: `{head}{tail}` is a path of one machine", number + 1));
        }
        for (head, tail) in SOURCES.iter().filter(|(head, tail)| settings && holds(line, head, tail)) {
            let why = "a package source; the owner's settings choose it";
            problems.push(format!("{path}:{}: `{head}{tail}` is {why}", number + 1));
        }
    }
}

/// A waiver that waives nothing any more is taken out.
fn stale(files: &[Tracked], waivers: &Waivers, problems: &mut Vec<String>) {
    for (path, reason) in waivers.long.iter().chain(&waivers.places) {
        if reason.trim().len() < 10 {
            problems.push(format!("xtask/tidy.toml: `{path}` has no reason"));
        }
    }
    let lines = |path: &str| {
        let file = files.iter().find(|file| file.path == path);
        file.and_then(|file| file.text.as_ref()).map_or(0, |text| text.lines().count())
    };
    for path in waivers.long.keys().filter(|path| lines(path) <= LONG) {
        problems.push(format!("xtask/tidy.toml: `{path}` is not long any more"));
    }
    for path in waivers.places.keys() {
        if !files.iter().any(|file| file.path == *path || file.path.starts_with(&format!("{path}/"))) {
            problems.push(format!("xtask/tidy.toml: `{path}` does not exist"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Tracked, Waivers, check};

    fn found(path: &str, text: &str, waivers: &str) -> String {
        let waivers: Waivers = toml::from_str(waivers).expect("waivers");
        let mut problems = Vec::new();
        check(&[Tracked { path: path.to_owned(), text: Some(text.to_owned()) }], &waivers, &mut problems);
        problems.join("; ")
    }

    #[test]
    fn rust_files_say_what_lives_in_them() {
        assert_eq!(found("a.rs", "//! Something.\n", ""), "");
        assert_eq!(found("a.rs", "use x;\n", ""), "a.rs: line 1 does not begin with `//! ` and say what lives here");
    }

    #[test]
    fn long_files_need_a_reason_and_short_ones_no_waiver() {
        let long = "x = 1\n".repeat(601);
        assert_eq!(found("a.py", &long, ""), "a.py: 601 lines, past 600 it needs a reason in xtask/tidy.toml");
        assert_eq!(found("a.py", &long, "long.'a.py' = 'a table of everything'"), "");
        assert_eq!(found("a.py", &long, "long.'a.py' = ''"), "xtask/tidy.toml: `a.py` has no reason");
        assert_eq!(
            found("a.py", "x = 1\n", "long.'a.py' = 'a table of everything'"),
            "xtask/tidy.toml: `a.py` is not long any more"
        );
    }

    #[test]
    fn places_of_one_machine_are_found() {
        let line = format!("path = '{}{}x'\n", "/wo", "rk/");
        assert_eq!(found("a.toml", &line, ""), format!("a.toml:1: `{}{}` is a path of one machine", "/wo", "rk/"));
        assert_eq!(found("t/a.toml", &line, "places.'t' = 'test data about paths'"), "");
        assert_eq!(
            found("Cargo.lock", "source = \"registry+https://mirror.invalid/index\"\n", ""),
            "Cargo.lock: `source = \"registry+https://mirror.invalid/index\"` is not the usual source of packages"
        );
    }
}
