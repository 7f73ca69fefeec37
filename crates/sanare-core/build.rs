//! Reads the rule files while the crate is built: a program's first failure then waits for no TOML, and a file that cannot
//! be read fails the build. Examples stay in the files, for readers and tests.
#![expect(clippy::disallowed_methods, reason = "the room's purity is that of what it builds, not of its building")]

use std::error::Error;
use std::path::Path;

use serde_json::Value;

/// Files below `data/` that are read at a first failure.
const FILES: [&str; 5] =
    ["classify/rules", "redaction/clouds", "redaction/names", "redaction/places", "redaction/services"];

fn main() -> Result<(), Box<dyn Error>> {
    let out = std::env::var("OUT_DIR")?;
    println!("cargo:rerun-if-changed=build.rs");
    for file in FILES {
        let from = format!("data/{file}.toml");
        println!("cargo:rerun-if-changed={from}");
        let mut value: Value = toml::from_str(&std::fs::read_to_string(&from)?)
            .map_err(|error| format!("crates/sanare-core/{from}: {error}"))?;
        without_examples(&mut value);
        let to = Path::new(&out).join(format!("{}.json", file.replace('/', "-")));
        std::fs::write(to, serde_json::to_string(&value)?)?;
    }
    Ok(())
}

fn without_examples(value: &mut Value) {
    match value {
        Value::Object(map) => {
            map.retain(|key, _| key != "examples" && key != "counterexamples");
            map.values_mut().for_each(without_examples);
        }
        Value::Array(list) => list.iter_mut().for_each(without_examples),
        _ => {}
    }
}
