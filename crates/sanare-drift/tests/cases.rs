//! The drift corpus, the engine alone: right on old, new and held-out input, or refused. Slow: runs with `SANARE_SLOW=1`.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![allow(clippy::disallowed_methods, reason = "tests read the corpus")]

mod harness;

use std::path::{Path, PathBuf};

use harness::{Case, Healed, run};
use sanare_core::value::Value;
use serde_json::Value as Json;

/// The corpus: `SANARE_CASES`, else `../shared/cases` next to the project.
fn corpus() -> Option<PathBuf> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/cases");
    let folder = std::env::var_os("SANARE_CASES").map_or(beside, PathBuf::from);
    folder.is_dir().then_some(folder)
}

/// Equal as the corpus compares: numbers by size, NaN is null, order of lists counts.
fn same(found: &Value, expected: &Json) -> bool {
    match (found, expected) {
        (Value::Null, Json::Null) => true,
        (Value::Float(number), Json::Null) => number.is_nan(),
        (Value::Bool(found), Json::Bool(expected)) => found == expected,
        (Value::Int(found), Json::Number(expected)) => close(*found as f64, expected.as_f64().unwrap_or(f64::NAN)),
        (Value::Float(found), Json::Number(expected)) => close(*found, expected.as_f64().unwrap_or(f64::NAN)),
        (Value::Text(found), Json::String(expected)) => found == expected,
        (Value::List(found), Json::Array(expected)) => {
            found.len() == expected.len() && found.iter().zip(expected).all(|(found, expected)| same(found, expected))
        }
        (Value::Map(found), Json::Object(expected)) => {
            found.len() == expected.len()
                && found.iter().all(|(key, value)| {
                    let key = key.trim_matches('\'');
                    expected.get(key).is_some_and(|expected| same(value, expected))
                })
        }
        _ => false,
    }
}

fn close(left: f64, right: f64) -> bool {
    (left - right).abs() <= 1e-9 * left.abs().max(right.abs()).max(1.0)
}

fn answers(answer: &Json, value: &Value) -> bool {
    if let Some(options) = answer["any_of"].as_array() {
        return options.iter().any(|option| same(value, option));
    }
    let expected = answer.get("value").or(answer.get("accept"));
    expected.is_some_and(|expected| same(value, expected))
}

/// What came of one case: `healed`, `refused`, `failed: why`, or `WRONG: which input`.
fn verdict(folder: &Path, case: &Case) -> String {
    let source = match case.heal() {
        Healed::Source(source, _) => source,
        Healed::Refused(..) => return "refused".into(),
        Healed::OldBroken(why, ..) => return format!("failed: {why}"),
    };
    let scratch = tempfile::tempdir().unwrap();
    let healed = scratch.path().join("healed.py");
    std::fs::write(&healed, source).unwrap();
    let expected: Json = serde_json::from_str(&std::fs::read_to_string(folder.join("expected.json")).unwrap()).unwrap();
    for name in ["old", "new", "new2"] {
        let input = harness::input(folder, name);
        match run(&healed, &case.function, &case.kind, &input).result {
            Ok(value) if answers(&expected[name], &value) => {}
            Ok(value) => return format!("WRONG: {name} gives {value:?}"),
            Err(failure) => return format!("failed: {name} raises {}: {}", failure.class, failure.message),
        }
    }
    "healed".into()
}

#[test]
fn the_corpus_is_healed_or_refused_and_never_wrong() {
    if std::env::var_os("SANARE_SLOW").is_none() {
        eprintln!("skipped: slow, set SANARE_SLOW=1");
        return;
    }
    let Some(corpus) = corpus() else {
        eprintln!("skipped: no corpus beside the project");
        return;
    };
    let mut folders: Vec<PathBuf> = std::fs::read_dir(corpus).unwrap().map(|entry| entry.unwrap().path()).collect();
    folders.retain(|path| path.join("case.toml").is_file());
    folders.sort();
    let (mut bad, mut yes, mut yes_healed) = (Vec::new(), 0, 0);
    for folder in folders {
        let settings: toml::Table =
            toml::from_str(&std::fs::read_to_string(folder.join("case.toml")).unwrap()).unwrap();
        let setting = |name: &str| settings[name].as_str().unwrap_or_default().to_owned();
        let verdict = verdict(&folder, &Case::open(&folder));
        let name = folder.file_name().unwrap().to_string_lossy().into_owned();
        eprintln!("{name}: {verdict}");
        if setting("expected") == "healed" && setting("offline_solvable") == "yes" {
            yes += 1;
            yes_healed += usize::from(verdict == "healed");
        }
        let refused_well = setting("expected") == "refused" && verdict != "refused";
        if verdict.starts_with("WRONG") || refused_well {
            bad.push(format!("{name}: {verdict}"));
        }
    }
    eprintln!("{yes_healed} of {yes} that rules alone can solve");
    assert!(bad.is_empty(), "{bad:#?}");
    assert!(yes_healed * 10 >= yes * 9, "{yes_healed} of {yes}");
}
