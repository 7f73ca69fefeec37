//! Reads lines `{"id","source","target","code"}`, writes lines `{"id","findings"}`: the static gates for a scorer.

use std::io::{BufRead, Write};

use sanare_core::gate::Answer;
use sanare_source::{VetContext, vet, vet_all};

#[derive(serde::Deserialize)]
struct Item {
    id: serde_json::Value,
    source: String,
    target: String,
    code: String,
}

fn main() -> std::io::Result<()> {
    let all = std::env::args().any(|argument| argument == "--all");
    let context = VetContext { python: (3, 13), ..VetContext::default() };
    let mut out = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let line = line?;
        if line.trim().is_empty() {
            continue;
        }
        let (id, findings) = match serde_json::from_str::<Item>(&line) {
            Ok(item) => {
                let judge = if all { vet_all } else { vet };
                let report = judge(&item.source, &item.target, &item.code, &context);
                let failed = report.checks.iter().filter(|check| check.answer == Answer::Failed);
                (item.id, failed.map(|check| format!("{}: {}", check.name, check.reason)).collect())
            }
            Err(error) => (id_of(&line), vec![format!("encodes: the line is not valid text: {error}")]),
        };
        writeln!(out, "{}", serde_json::json!({ "id": id, "findings": findings }))?;
    }
    Ok(())
}

/// The id of a line that cannot be read whole (a lone surrogate, say).
fn id_of(line: &str) -> serde_json::Value {
    let rest = line.split_once("\"id\"").map_or("", |(_, rest)| rest);
    let rest = rest.trim_start_matches([':', ' ']);
    let mut reader = serde_json::Deserializer::from_str(rest).into_iter::<serde_json::Value>();
    reader.next().and_then(Result::ok).unwrap_or(serde_json::Value::Null)
}
