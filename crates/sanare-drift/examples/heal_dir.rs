//! Scores the engine alone: `heal_dir CASE_DIR [--out FILE] [--forget]`; exit 0 healed, 3 refused, 1 the old input broke.
//!
//! It has none of the product's gates and no sandbox; only for the drift corpus.

#![allow(clippy::disallowed_methods, clippy::print_stderr, clippy::print_stdout)]

#[path = "../tests/harness.rs"]
mod harness;

use std::process::ExitCode;

use harness::{Case, Healed};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some(folder) = arguments.first() else {
        eprintln!("heal_dir CASE_DIR [--out FILE] [--forget]");
        return ExitCode::from(2);
    };
    let out = arguments.iter().position(|word| word == "--out").and_then(|at| arguments.get(at + 1));
    let mut case = Case::open(folder.as_ref());
    case.remember = !arguments.iter().any(|word| word == "--forget");
    match case.heal() {
        Healed::Source(source, layers) => {
            for layer in &layers {
                println!("{} ({:?}): {}", layer.kind, layer.tier, layer.summary);
            }
            match out {
                Some(out) if std::fs::write(out, &source).is_ok() => ExitCode::SUCCESS,
                Some(_) => ExitCode::from(2),
                None => {
                    println!("{source}");
                    ExitCode::SUCCESS
                }
            }
        }
        Healed::Refused(refusal, layers) => {
            for layer in &layers {
                println!("{} ({:?}): {}", layer.kind, layer.tier, layer.summary);
            }
            if out.is_none() {
                println!("{}", serde_json::to_string_pretty(&refusal).unwrap_or_default());
            }
            println!("refused {}: {}", refusal.reason.code(), refusal.summary);
            ExitCode::from(3)
        }
        Healed::OldBroken(what, layers, source) => {
            let kinds: Vec<&str> = layers.iter().map(|layer| layer.kind.as_str()).collect();
            if out.is_none() {
                println!("{source}");
            }
            println!("old differs after {kinds:?}: {what}");
            ExitCode::FAILURE
        }
    }
}
