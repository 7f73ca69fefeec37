//! What the words of a script stand for: checks, jobs, and how an adapter takes a call.

use sanare_core::service::port::scripted::{Reaction, ScriptedDiagnostic};
use sanare_core::service::{Effect, JobState, Text, Version};

/// `NAME` says that all is known, `NAME=TEXT` says the text, and `NAME=!TEXT` does not end as it should.
pub fn diagnostic(word: &str) -> ScriptedDiagnostic {
    let (name, output) = word.split_once('=').unwrap_or((word, ""));
    let told = format!("all is known about {name}");
    let (succeeds, output) = match output.strip_prefix('!') {
        Some(rest) => (false, rest),
        None => (true, if output.is_empty() { told.as_str() } else { output }),
    };
    ScriptedDiagnostic { name: name.to_owned(), output: output.to_owned(), succeeds }
}

pub fn job(word: &str) -> JobState {
    match word.split_once(' ').unwrap_or((word, "")) {
        ("running", _) => JobState::Running,
        ("done", version) => JobState::Done { candidate: Version::parse(version).ok() },
        ("failed", _) => JobState::Failed(Text::of("failure")),
        ("missing", _) => JobState::Missing,
        ("many", _) => JobState::Many(2),
        ("cannot_tell", _) => JobState::CannotTell(Text::of("connection refused")),
        (other, _) => panic!("unknown job {other}"),
    }
}

pub fn reaction(word: &str) -> Reaction {
    match word.split_once(':') {
        Some(("acts_says", effect)) => Reaction::ActsAndSays(Effect::parse(effect).unwrap()),
        Some(("says", effect)) => Reaction::Says(Effect::parse(effect).unwrap()),
        _ => match word {
            "obeys" => Reaction::Obeys,
            "panics" => Reaction::Panics,
            "acts_panics" => Reaction::ActsAndPanics,
            other => panic!("unknown reaction {other}"),
        },
    }
}
