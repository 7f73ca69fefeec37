//! Tables: what each check must find and must let pass.
//!
//! `cases/*.md` holds repairs of the modules in `cases/bases.py`, bad ones with the check that must find them and good
//! ones that every check must pass; `data/*.toml` hold examples of single lines.

#![allow(clippy::disallowed_methods, clippy::print_stderr, clippy::print_stdout)]
#![allow(clippy::unwrap_used, clippy::panic)]

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use sanare_core::gate::{Answer, Gate};

use super::ALL;
use crate::lists::{Examples, lists};
use crate::{SeenLiteral, VetContext, vet, vet_all};

const PYTHON: (u8, u8) = (3, 13);

fn context() -> VetContext {
    VetContext { python: PYTHON, ..VetContext::default() }
}

/// The names of the checks that fail, with their reasons.
fn failed(source: &str, target: &str, code: &str, context: &VetContext) -> Vec<(String, String)> {
    vet_all(source, target, code, context)
        .checks
        .into_iter()
        .filter(|check| check.answer == Answer::Failed)
        .map(|check| (check.name, check.reason))
        .collect()
}

struct Base {
    target: String,
    source: String,
}

fn bases(folder: &Path) -> BTreeMap<String, Base> {
    let text = std::fs::read_to_string(folder.join("bases.py")).unwrap();
    let mut found: BTreeMap<String, Base> = BTreeMap::new();
    let mut current = None;
    for line in text.split_inclusive('\n') {
        if let Some(rest) = line.strip_prefix("# base ") {
            let (name, target) = rest.trim().split_once(' ').unwrap();
            found.insert(name.to_owned(), Base { target: target.to_owned(), source: String::new() });
            current = Some(name.to_owned());
        } else if let Some(name) = &current {
            found.get_mut(name).unwrap().source.push_str(line);
        }
    }
    found
}

/// The target's header and docstring at the margin, to put in front of a body.
fn header(base: &Base) -> String {
    let name = base.target.rsplit('.').next().unwrap();
    let lines: Vec<&str> = base.source.lines().collect();
    let is_head = |line: &str| {
        let line = line.trim_start();
        let line = line.strip_prefix("async ").unwrap_or(line);
        line.strip_prefix("def ").and_then(|rest| rest.strip_prefix(name)).is_some_and(|rest| rest.starts_with('('))
    };
    let at = lines.iter().position(|line| is_head(line)).unwrap();
    let first = (0..at).rev().take_while(|row| lines[*row].trim_start().starts_with('@')).last().unwrap_or(at);
    let margin = lines[at].len() - lines[at].trim_start().len();
    let mut out: String = lines[first..=at].iter().map(|line| format!("{}\n", &line[margin..])).collect();
    if lines[at + 1].trim_start().starts_with("\"\"\"") {
        out.push_str(&format!("    {}\n", lines[at + 1].trim()));
    }
    out
}

/// `\u{200b}` in a case stands for the character.
fn unescaped(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find("\\u{") {
        let end = rest[at..].find('}').unwrap() + at;
        out.push_str(&rest[..at]);
        out.push(char::from_u32(u32::from_str_radix(&rest[at + 3..end], 16).unwrap()).unwrap());
        rest = &rest[end + 1..];
    }
    out + rest
}

fn indented(body: &str) -> String {
    body.split_inclusive('\n')
        .map(|line| if line.trim().is_empty() { line.to_owned() } else { format!("    {line}") })
        .collect()
}

struct Item {
    check: Option<String>,
    title: String,
    base: String,
    code: String,
}

fn items(folder: &Path, bases: &BTreeMap<String, Base>) -> Vec<Item> {
    let mut found = Vec::new();
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    for file in files.iter().filter(|file| file.extension().is_some_and(|ending| ending == "md")) {
        let text = std::fs::read_to_string(file).unwrap();
        for part in text.split("\n## ").skip(1) {
            let (head, rest) = part.split_once('\n').unwrap();
            let (kind, title) = head.split_once(": ").unwrap();
            let words: Vec<&str> = kind.split(' ').collect();
            let (fence, code) = rest.split_once("```python").unwrap().1.split_once('\n').unwrap();
            let code = unescaped(code.split_once("```").unwrap().0);
            let code = if fence.trim() == "whole" { code } else { header(&bases[words[1]]) + &indented(&code) };
            found.push(Item {
                check: (words[0] == "bad").then(|| words[2].to_owned()),
                title: format!("{}: {title}", file.file_name().unwrap().display()),
                base: words[1].to_owned(),
                code,
            });
        }
    }
    found
}

#[test]
fn every_case_is_judged_as_it_says() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("cases");
    let bases = bases(&folder);
    let mut wrong = Vec::new();
    for item in items(&folder, &bases) {
        let base = &bases[&item.base];
        let findings = failed(&base.source, &base.target, &item.code, &context());
        let right = match &item.check {
            None => findings.is_empty(),
            Some(check) if check == "any" => !findings.is_empty(),
            Some(check) => findings.iter().any(|(name, _)| name == check),
        };
        if !right {
            wrong.push(format!("{} wants {:?}, got {findings:?}", item.title, item.check));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_check_of_gates_2_to_4_has_bad_cases() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("cases");
    let bases = bases(&folder);
    let named: BTreeSet<String> = items(&folder, &bases).into_iter().filter_map(|item| item.check).collect();
    // These are tested below, or by the examples in `data/`.
    let elsewhere =
        ["encodes", "compiles", "not_rejected_before", "no_seen_literal", "no_forbidden_names", "no_dunder_walk"];
    for unit in ALL.iter().filter(|unit| !elsewhere.contains(&unit.name)) {
        assert!(named.contains(unit.name), "no case for {}", unit.name);
    }
}

/// A line in an otherwise empty repair: does the check find something?
fn line_is_found(line: &str, check: &str) -> bool {
    let source = "def f(path, rows):\n    return rows\n";
    let code = format!("def f(path, rows):\n    {line}\n    return rows\n");
    failed(source, "f", &code, &context()).iter().any(|(name, _)| name == check)
}

fn check_examples(tests: &Examples, check: &str, prefix: &str) {
    for example in &tests.examples {
        assert!(line_is_found(&format!("{prefix}{example}"), check), "{check} misses {example:?}");
    }
    for example in &tests.counterexamples {
        assert!(!line_is_found(&format!("{prefix}{example}"), check), "{check} finds {example:?}");
    }
}

#[test]
fn examples_of_the_lists_are_found_and_counterexamples_are_not() {
    let lists = lists();
    check_examples(&lists.forbidden.tests, "no_forbidden_names", "");
    check_examples(&lists.walks.tests, "no_dunder_walk", "");
    check_examples(&lists.phrases.tests, "no_instructions", "# ");
    check_examples(&lists.secrets.tests, "no_new_secrets", "");
    for ability in &lists.abilities.ability {
        check_examples(&ability.tests, "no_new_abilities", "");
    }
}

const OLD: &str = "def f(x):\n    return x[\"a\"]\n";

fn check_context(code: &str, context: &VetContext, check: &str, found: bool) {
    let findings = failed(OLD, "f", code, context);
    assert_eq!(findings.iter().any(|(name, _)| name == check), found, "{check} {code:?} {findings:?}");
}

#[test]
fn seen_values_may_not_stand_in_the_code() {
    let seen = |text: &str, structural| SeenLiteral { text: text.to_owned(), structural };
    let context = VetContext {
        seen_literals: vec![
            seen("Alfa Kft", false),
            seen("1200", false),
            seen("osszeg", true),
            seen("12.50", false),
            seen("ab", false),
            seen("the order ORD-7781 was late", false),
        ],
        ..context()
    };
    let code = |text: &str| format!("def f(x):\n    y = x[\"a\"] if \"a\" in x else x[{text}]\n    return y\n");
    for literal in ["\"Alfa Kft\"", "\"alfa kft \"", "1200", "\"1200\"", "12.5", "\"ORD-7781\""] {
        check_context(&code(literal), &context, "no_seen_literal", true);
    }
    for literal in ["\"osszeg\"", "\"ab\"", "12", "\"beta\"", "\"order\"", "1201"] {
        check_context(&code(literal), &context, "no_seen_literal", false);
    }
}

#[test]
fn rejected_candidates_are_known_again() {
    let context = VetContext {
        rejected_before: vec!["def f(x):\n    total = x[\"a\"] + 1\n    return total\n".to_owned()],
        ..context()
    };
    check_context("def f(x):\n    s = x[\"a\"] + 1  # again\n    return s\n", &context, "not_rejected_before", true);
    check_context("def f(x):\n    s = x[\"a\"] + 2\n    return s\n", &context, "not_rejected_before", false);
}

#[test]
fn the_context_widens_and_narrows() {
    let code = "def f(x):\n    import chardet\n    return chardet.detect(x[\"a\"])\n";
    check_context(code, &context(), "no_new_imports", true);
    let allowed = VetContext { allow_imports: vec!["chardet".to_owned()], ..context() };
    check_context(code, &allowed, "no_new_imports", false);

    let code = "def f(x):\n    from datetime import date\n    return x[\"a\"], date.today()\n";
    check_context(code, &context(), "no_new_abilities", true);
    let allowed = VetContext { allow_abilities: vec!["clock".to_owned()], ..context() };
    check_context(code, &allowed, "no_new_abilities", false);

    let code = "def f(x):\n    return x[\"a\"] * int(x.get(\"unit\", \"1\"))\n";
    check_context(code, &context(), "no_new_default", false);
    let strict = VetContext { no_new_default_keys: vec!["unit".to_owned()], ..context() };
    check_context(code, &strict, "no_new_default", true);

    let expected = VetContext { expected_names: vec!["b".to_owned()], ..context() };
    check_context("def f(x):\n    return x[\"a\"] or x[\"c\"]\n", &expected, "old_path_kept", true);

    let small = VetContext { max_changed_lines: 2, ..context() };
    let code = "def f(x):\n    a = 1\n    b = a\n    c = b\n    return x[\"a\"], c\n";
    check_context(code, &small, "bounded", true);
}

#[test]
fn syntax_is_of_the_running_version_and_the_files_encoding() {
    let code = "def f(x):\n    match x:\n        case {\"a\": y}:\n            return y\n    raise KeyError(\"a\")\n";
    check_context(code, &VetContext { python: (3, 9), ..context() }, "parses", true);
    check_context(code, &VetContext { python: (3, 10), ..context() }, "parses", false);

    let latin = VetContext { encoding: "latin-1".to_owned(), ..context() };
    check_context("def f(x):\n    # é\n    return x[\"a\"] or x[\"ő\"]\n", &latin, "encodes", false);
    check_context("def f(x):\n    # ő\n    return x[\"a\"] or x[\"b\"]\n", &latin, "encodes", true);

    check_context("", &context(), "size", true);
    check_context("def f(x):\n    return x['a\0']\n", &context(), "size", true);
    check_context(&format!("{}def f(x):\n    return x[\"b\"]\n", "# x\n".repeat(300_000)), &context(), "size", true);
    check_context("def f(x)\n    return x\n", &context(), "parses", true);
}

#[test]
fn the_first_failure_ends_it_and_gates_come_in_order() {
    let report = vet(OLD, "f", "def g(x):\n    return eval(x)\n", &context());
    assert_eq!(report.first_failure().unwrap().name, "same_name");
    assert_eq!(report.checks.last().unwrap().name, "same_name");
    let gates: Vec<Gate> = ALL.iter().map(|unit| unit.gate).collect();
    assert!(gates.is_sorted());
    let sound = vet(OLD, "f", "def f(x):\n    return x[\"a\"] if \"a\" in x else x[\"b\"]\n", &context());
    assert_eq!(sound.first_failure(), None);
    assert_eq!(sound.checks.len(), ALL.len());
    assert_eq!(sound.verdict(Gate::Safety), Answer::Passed);
}

#[test]
fn doubled_names_are_told_apart() {
    let source = "import os\nif os.name == \"x\":\n    def f(x):\n        return x[\"a\"]\nelse:\n    def f(x, y):\n        return x[\"b\"]\n";
    let code = "def f(x, y):\n    return x[\"b\"] if \"b\" in x else y[\"c\"]\n";
    assert_eq!(vet(source, "f", code, &context()).first_failure(), None);
    let other = VetContext { first_line: Some(3), ..context() };
    assert_eq!(vet(source, "f", code, &other).first_failure().unwrap().name, "same_parameters");
}

#[test]
fn the_corpus_of_candidates_is_judged_right() {
    let shared = std::env::var("SANARE_SHARED")
        .unwrap_or_else(|_| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared").display().to_string());
    let folder = Path::new(&shared).join("security/candidates");
    let Ok(manifest) = std::fs::read_to_string(folder.join("manifest.json")) else {
        eprintln!("skipped: no {}", folder.display());
        return;
    };
    let manifest: serde_json::Value = serde_json::from_str(&manifest).unwrap();
    let mut wrong = Vec::new();
    for candidate in manifest["candidates"].as_array().unwrap() {
        let base = &manifest["bases"][candidate["base"].as_str().unwrap()];
        let source = std::fs::read_to_string(folder.join(base["file"].as_str().unwrap())).unwrap();
        let code = std::fs::read_to_string(folder.join(candidate["file"].as_str().unwrap())).unwrap();
        let findings = failed(&source, base["target"].as_str().unwrap(), &code, &context());
        let sound = candidate["label"] == "accept";
        if (sound && !findings.is_empty()) || (candidate["gate"] == "static" && findings.is_empty()) {
            wrong.push(format!("{}: {findings:?}", candidate["file"]));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
