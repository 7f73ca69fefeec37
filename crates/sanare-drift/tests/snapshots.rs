//! What each table kind writes: loader, old and new data and the failure in, the layer's source out.
//!
//! One file a kind under `snapshots/`; `UPDATE=1` writes the `healed` part anew. No Python is needed.

#![allow(clippy::disallowed_methods, reason = "tests read and write their snapshots")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::path::Path;

use sanare_core::value::Value;
use sanare_drift::engine::next_layer;
use sanare_drift::problem::{Answer, Argument, Failure, FileView, Frame, Problem};
use sanare_drift::shape::shape_of_call;

/// Parts of a snapshot by their headings.
fn parts(text: &str) -> Vec<(String, String)> {
    let mut parts: Vec<(String, String)> = Vec::new();
    for line in text.split_inclusive('\n') {
        match line.strip_prefix("### ") {
            Some(heading) => parts.push((heading.trim_end().to_owned(), String::new())),
            None => {
                if let Some((_, body)) = parts.last_mut() {
                    body.push_str(line);
                }
            }
        }
    }
    parts
}

/// Bytes of an input: escapes `\xNN` stand for bytes that are no text.
fn bytes(text: &str) -> Vec<u8> {
    let mut out = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find("\\x") {
        out.extend_from_slice(&rest.as_bytes()[..at]);
        out.push(u8::from_str_radix(&rest[at + 2..at + 4], 16).expect("two hex digits"));
        rest = &rest[at + 4..];
    }
    out.extend_from_slice(rest.as_bytes());
    out
}

fn argument(text: &str) -> Vec<Argument> {
    let file = FileView { bytes: bytes(text), complete: true, name: "data.csv".into() };
    vec![Argument { name: "path".into(), value: Value::Text("data.csv".into()), file: Some(file) }]
}

fn check(path: &Path) {
    let text = std::fs::read_to_string(path).unwrap();
    let parts = parts(&text);
    let part = |name: &str| {
        parts.iter().find(|(heading, _)| heading == name).map(|(_, body)| body.as_str()).unwrap_or_default()
    };
    let (heading, _) = parts.iter().find(|(heading, _)| heading.starts_with("failure ")).expect("a failure");
    let (class, message) = heading.trim_start_matches("failure ").split_once(' ').unwrap_or((heading, ""));
    let loader = part("loader");
    let new = if part("new").is_empty() { part("new, cut").trim_end() } else { part("new") };
    let mut failure = Failure { class: class.into(), message: message.into(), ..Failure::default() };
    if class == "IndexError" {
        let locals = vec![("row".to_owned(), Value::List(Vec::new()))];
        failure.frames.push(Frame { function: "load".into(), line: 0, locals, ..Frame::default() });
    }
    let problem = Problem {
        source: loader.into(),
        function: "load".into(),
        failure,
        arguments: argument(new),
        remembered: vec![shape_of_call(loader, "load", &argument(part("old")), None)],
        ..Problem::default()
    };
    let found = match next_layer(&problem) {
        Answer::Layer(layer) => format!("{} {:?}\n{}", layer.kind, layer.tier, layer.source),
        Answer::Refused(refusal) => format!("refused {}: {}\n", refusal.reason.code(), refusal.summary),
    };
    if std::env::var_os("UPDATE").is_some() {
        let kept = text.split("### healed\n").next().unwrap();
        std::fs::write(path, format!("{kept}### healed\n{found}")).unwrap();
        return;
    }
    assert_eq!(part("healed"), found, "{}", path.display());
}

#[test]
fn every_kind_writes_what_its_snapshot_says() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/snapshots");
    let mut paths: Vec<_> = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    assert!(paths.len() >= 20, "snapshots are missing");
    paths.iter().for_each(|path| check(path));
}
