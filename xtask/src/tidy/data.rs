//! Data files parse: TOML, JSON, JSON Lines.

use super::Tracked;

/// Parses every data file by its ending. Inputs that are broken on purpose lie in folders called `broken`.
pub fn check(files: &[Tracked], problems: &mut Vec<String>) {
    for file in files.iter().filter(|file| !file.path.split('/').any(|part| part == "broken")) {
        let ending = file.path.rsplit_once('.').map_or("", |(_, ending)| ending);
        if !["toml", "json", "jsonl"].contains(&ending) {
            continue;
        }
        let Some(text) = &file.text else {
            problems.push(format!("{}: not UTF-8", file.path));
            continue;
        };
        if let Err(what) = parse(ending, text) {
            problems.push(format!("{}: {what}", file.path));
        }
    }
}

fn parse(ending: &str, text: &str) -> Result<(), String> {
    match ending {
        "toml" => text.parse::<toml::Table>().map(drop).map_err(|error| error.to_string()),
        "json" => json(text),
        _ => text.lines().filter(|line| !line.trim().is_empty()).try_for_each(json),
    }
}

fn json(text: &str) -> Result<(), String> {
    serde_json::from_str::<serde::de::IgnoredAny>(text).map(drop).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::{Tracked, check};

    #[test]
    fn broken_data_is_found_unless_it_is_meant_to_be() {
        let file = |path: &str, text: &str| Tracked { path: path.to_owned(), text: Some(text.to_owned()) };
        let files =
            [file("a.json", "{]"), file("b.jsonl", "1\n2\n"), file("c.toml", "a = 1"), file("broken/d.json", "{")];
        let mut problems = Vec::new();
        check(&files, &mut problems);
        assert_eq!(problems.len(), 1, "{problems:?}");
        assert!(problems[0].starts_with("a.json: "), "{problems:?}");
    }
}
