//! Every closed list of service healing with its words (S6), so that other languages' copies can be held against it.

use super::action::Action;
use super::approval::Decision;
use super::context::{MovedBy, Standing};
use super::declaration::Undo;
use super::diagnosis::AgentFailure;
use super::incident::LinkKind;
use super::kind::IncidentKind;
use super::receipt::{Purpose, WorldState};
use super::run::MessageKind;
use super::step::Cause;
use super::target::Mark;
use super::word::{
    ApprovalState, ClosedBy, Condition, Effect, Flag, Health, IncidentFlag, ObservationKind, Origin, ReceiptState,
    Severity, Status, StepName, Trust, VerificationOutcome,
};
use crate::incident::Mode;
use crate::outcome::Outcome;
use crate::policy::Verdict;

/// A list: its name, and its words in order.
pub type List = (&'static str, Vec<String>);

macro_rules! lists {
    ($($name:ident,)*) => {
        vec![$((stringify!($name), $name::ALL.iter().map(|one| one.word().to_owned()).collect()),)*]
    };
}

/// All of them.
pub fn all() -> Vec<List> {
    let mut all: Vec<List> = lists![
        Action,
        AgentFailure,
        ApprovalState,
        Cause,
        ClosedBy,
        Condition,
        Decision,
        Effect,
        Flag,
        Health,
        IncidentFlag,
        IncidentKind,
        LinkKind,
        Mark,
        MessageKind,
        MovedBy,
        ObservationKind,
        Origin,
        Purpose,
        ReceiptState,
        Severity,
        Standing,
        Status,
        StepName,
        Trust,
        Undo,
        VerificationOutcome,
        WorldState,
    ];
    all.push(("Mode", written(&[Mode::Auto, Mode::Ask, Mode::DryRun, Mode::Observe, Mode::Off])));
    all.push(("Outcome", written(&[Outcome::Healed, Outcome::RolledBack, Outcome::Escalated, Outcome::Refused])));
    all.push(("Verdict", written(&[Verdict::Permit, Verdict::Ask, Verdict::Refuse])));
    all.sort();
    all
}

/// The words of lists that code healing has too.
fn written<T: serde::Serialize>(members: &[T]) -> Vec<String> {
    let word = |one: &T| serde_json::to_value(one).ok().and_then(|json| json.as_str().map(str::to_owned));
    members.iter().filter_map(word).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::all;
    use crate::service::ReceiptState;

    #[test]
    fn every_list_is_closed_and_in_snake_case() {
        let all = all();
        assert!(all.len() >= 31, "{}", all.len());
        for (name, words) in &all {
            assert!(!words.is_empty(), "{name}");
            assert_eq!(words.iter().collect::<BTreeSet<_>>().len(), words.len(), "{name}: a word twice");
            for word in words {
                let is_snake = word.chars().all(|one| one.is_ascii_lowercase() || one == '_' || one.is_ascii_digit());
                assert!(is_snake && !word.starts_with('_'), "{name}: {word}");
            }
        }
        // An unknown member is refused, and never becomes a default.
        for odd in ["", "Done", "done ", "DONE", "d\u{43e}ne", "finished"] {
            assert!(ReceiptState::parse(odd).is_err(), "{odd:?}");
            assert!(serde_json::from_value::<ReceiptState>(odd.into()).is_err(), "{odd:?}");
        }
    }
}
