//! The fault suite is whole: every fault that must not exist has a test that carries its number in its name.

use std::collections::BTreeMap;

use super::{Tracked, Waivers};

/// F1 to F46 are numbered in the specification of code healing.
const LAST: u32 = 46;

/// Checks that each number stands in the name of a test, or in `xtask/tidy.toml` with a reason.
pub fn check(files: &[Tracked], waivers: &Waivers, problems: &mut Vec<String>) {
    let mut found: BTreeMap<u32, &str> = BTreeMap::new();
    for file in files {
        for name in file.text.as_deref().map(|text| tests(&file.path, text)).unwrap_or_default() {
            for number in numbers(name) {
                if (1..=LAST).contains(&number) {
                    found.entry(number).or_insert(name);
                } else {
                    problems.push(format!("{}: `{name}`: there is no fault F{number}", file.path));
                }
            }
        }
    }
    for number in 1..=LAST {
        let waived = waivers.faults.get(&format!("F{number}"));
        match (found.get(&number), waived) {
            (None, None) => problems.push(format!("tests/python: no test carries F{number} (`test_f{number:02}_…`)")),
            (Some(test), Some(_)) => {
                problems.push(format!("xtask/tidy.toml: F{number} is not missing any more, `{test}` shows it"));
            }
            (None, Some(reason)) if reason.trim().len() < 10 => {
                problems.push(format!("xtask/tidy.toml: F{number} has no reason"));
            }
            _ => {}
        }
    }
    for key in waivers.faults.keys() {
        if !(1..=LAST).any(|number| *key == format!("F{number}")) {
            problems.push(format!("xtask/tidy.toml: there is no fault `{key}`"));
        }
    }
}

/// Names of the tests of a file: Python's of the black-box suite, and Rust functions that are marked as tests.
fn tests<'a>(path: &str, text: &'a str) -> Vec<&'a str> {
    let mut names = Vec::new();
    let mut before = "";
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let name = if path.starts_with("tests/python/") && path.ends_with(".py") {
            line.strip_prefix("async ").unwrap_or(line).strip_prefix("def ").filter(|name| name.starts_with("test_"))
        } else if path.starts_with("crates/") && path.ends_with(".rs") && before == "#[test]" {
            line.strip_prefix("fn ")
        } else {
            None
        };
        names.extend(name.and_then(|name| name.split('(').next()));
        before = line;
    }
    names
}

/// The numbers in a name: `test_f05_f12_threads` carries 5 and 12.
fn numbers(name: &str) -> impl Iterator<Item = u32> + '_ {
    name.split('_').filter_map(|part| {
        let digits = part.strip_prefix('f')?;
        (digits.len() == 2).then(|| digits.parse().ok()).flatten()
    })
}

#[cfg(test)]
mod tests {
    use super::{LAST, Tracked, Waivers, check};

    fn found(files: &[(&str, &str)], waivers: &str) -> String {
        let waivers: Waivers = toml::from_str(waivers).expect("waivers");
        let all: String = (3..=LAST).map(|number| format!("def test_f{number:02}_x():\n")).collect();
        let mut files: Vec<Tracked> = files
            .iter()
            .map(|(path, text)| Tracked { path: (*path).to_owned(), text: Some((*text).to_owned()) })
            .collect();
        files.push(Tracked { path: "tests/python/test_rest.py".to_owned(), text: Some(all) });
        let mut problems = Vec::new();
        check(&files, &waivers, &mut problems);
        problems.join("; ")
    }

    #[test]
    fn every_number_is_carried_by_a_test() {
        let python = ("tests/python/test_a.py", "async def test_f01_f02_both(load):\n    pass\n");
        assert_eq!(found(&[python], ""), "");
        let rust = [
            ("tests/python/test_a.py", "def test_f01_one():\n"),
            ("crates/a/src/b.rs", "    #[test]\n    fn f02_two() {\n"),
        ];
        assert_eq!(found(&rust, ""), "");
    }

    #[test]
    fn what_is_no_test_shows_nothing() {
        let files = [
            ("tests/python/test_a.py", "# test_f01_one\ndef f01_helper():\n    test_f01_one()\n"),
            ("tests/python/test_b.py", "def test_f2_short():\n"),
            ("crates/a/src/b.rs", "fn f02_two() {\n"),
        ];
        assert_eq!(
            found(&files, ""),
            "tests/python: no test carries F1 (`test_f01_…`); tests/python: no test carries F2 (`test_f02_…`)"
        );
        let unknown = ("tests/python/test_a.py", "def test_f01_f02_f47():\n");
        assert_eq!(found(&[unknown], ""), "tests/python/test_a.py: `test_f01_f02_f47`: there is no fault F47");
    }

    #[test]
    fn a_waiver_needs_a_reason_and_a_gap() {
        let one = ("tests/python/test_a.py", "def test_f01_one():\n");
        assert_eq!(found(&[one], "faults.F2 = 'nothing of the kind exists yet'"), "");
        assert_eq!(found(&[one], "faults.F2 = ''"), "xtask/tidy.toml: F2 has no reason");
        assert_eq!(
            found(&[one], "faults.F2 = 'nothing of the kind'\nfaults.F1 = 'nothing of the kind'"),
            "xtask/tidy.toml: F1 is not missing any more, `test_f01_one` shows it"
        );
        assert_eq!(
            found(&[one], "faults.F2 = 'nothing of the kind'\nfaults.F99 = 'nothing of the kind'"),
            "xtask/tidy.toml: there is no fault `F99`"
        );
    }
}
