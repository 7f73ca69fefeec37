//! Previous attempts of an incident, and how often each action may come (S12).

use serde::{Deserialize, Serialize};

use super::action::Action;
use super::invalid::Invalid;
use super::moment::{MINUTE, Moment};
use super::text::Text;
use super::word::{Effect, VerificationOutcome};
use crate::id::Id;

/// Diagnostics and waits of one incident, at most.
pub const DIAGNOSTICS: usize = 2;
/// Waits of one incident, at most.
pub const WAITS: usize = 3;
/// What lies between two waits.
pub const WAIT: u64 = 10 * MINUTE;

/// What was tried and what came of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Attempt {
    /// Its number in the incident, from 1.
    pub number: u32,
    /// What was done.
    pub action: Action,
    /// What came of it.
    pub outcome: VerificationOutcome,
    /// The same in a sentence.
    pub summary: Text,
    /// What the adapter reported; nothing for framework actions.
    pub effect: Option<Effect>,
    /// The receipt of an application action that was started.
    pub receipt_id: Option<Id>,
    /// Which check ran, for run_diagnostic.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diagnostic: Option<String>,
    /// When it was over.
    pub at: Moment,
}

impl Attempt {
    /// Checks an attempt.
    ///
    /// # Errors
    /// [`Invalid`] for a blank summary, or an application action with a receipt but no effect.
    pub fn check(self) -> Result<Self, Invalid> {
        if self.summary.is_empty() {
            return Err(Invalid::new("summary", "is blank"));
        }
        if self.receipt_id.is_some() != self.effect.is_some() {
            return Err(Invalid::new("effect", "stands with a receipt, and only with one"));
        }
        if self.action.is_framework() && self.receipt_id.is_some() {
            return Err(Invalid::new("receipt_id", format!("is none for {}", self.action)));
        }
        Ok(self)
    }

    /// Whether it started and surely changed nothing.
    fn changed_nothing(&self) -> bool {
        matches!(self.effect, Some(Effect::NotStarted | Effect::Refused))
    }
}

/// Whether an application action was tried in these attempts, so that it is not proposed again: once its receipt was
/// started; after an effect that surely changed nothing it may come once more.
pub fn tried(action: Action, attempts: &[Attempt]) -> bool {
    let mut started = attempts.iter().filter(|one| one.action == action && one.receipt_id.is_some()).peekable();
    if action.is_framework() || started.peek().is_none() {
        return false;
    }
    let all: Vec<&Attempt> = started.collect();
    all.len() >= 2 || all.iter().any(|attempt| !attempt.changed_nothing())
}

/// Application attempts so far: those whose receipt was started.
pub fn application_attempts(attempts: &[Attempt]) -> usize {
    attempts.iter().filter(|one| one.receipt_id.is_some()).count()
}

/// Why an action may not come (again) in an incident with these attempts; `None` when it may.
///
/// `diagnostics` are the checks that are configured for the kind.
pub fn spent(action: Action, attempts: &[Attempt], diagnostics: &[String], now: Moment) -> Option<&'static str> {
    let of = |wanted: Action| attempts.iter().filter(move |one| one.action == wanted);
    match action {
        Action::RunDiagnostic => {
            if of(action).count() >= DIAGNOSTICS {
                return Some("two diagnostics were run");
            }
            next_diagnostic(attempts, diagnostics).is_none().then_some("every configured diagnostic was run")
        }
        Action::NoAction => {
            if of(action).count() >= WAITS {
                return Some("it was waited three times");
            }
            let last = of(action).map(|one| one.at).max();
            // The attempt is recorded when its wait is over, so that the next may begin at once.
            last.is_some_and(|last| now < last).then_some("a wait is not over")
        }
        Action::Escalate => None,
        application => tried(application, attempts).then_some("it was tried in this incident"),
    }
}

/// The first configured diagnostic that has not run in this incident.
pub fn next_diagnostic<'a>(attempts: &[Attempt], diagnostics: &'a [String]) -> Option<&'a str> {
    let ran = |name: &str| attempts.iter().any(|one| one.diagnostic.as_deref() == Some(name));
    diagnostics.iter().map(String::as_str).find(|name| !ran(name))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::{Attempt, next_diagnostic, spent, tried};
    use crate::id::Id;
    use crate::service::action::Action;
    use crate::service::moment::Moment;
    use crate::service::text::Text;
    use crate::service::word::{Effect, VerificationOutcome};

    pub(crate) fn attempt(action: Action, effect: Option<Effect>) -> Attempt {
        Attempt {
            number: 1,
            action,
            outcome: VerificationOutcome::NotRecovered,
            summary: Text::of("it did not help"),
            effect,
            receipt_id: effect.map(|_| Id::new("rct", 1, 1)),
            diagnostic: (action == Action::RunDiagnostic).then(|| "threads".to_owned()),
            at: Moment::from_micros(1),
        }
    }

    #[test]
    fn an_application_action_counts_as_tried_once_started() {
        for action in Action::ALL.iter().copied().filter(|action| !action.is_framework()) {
            for effect in Effect::ALL.iter().copied() {
                let harmless = matches!(effect, Effect::NotStarted | Effect::Refused);
                let one = attempt(action, Some(effect));
                assert_eq!(tried(action, std::slice::from_ref(&one)), !harmless, "{action} {effect}");
                assert!(tried(action, &[one.clone(), one]), "{action} {effect} twice");
            }
            assert!(!tried(action, &[attempt(action, None)]), "{action} without a receipt");
        }
    }

    #[test]
    fn framework_actions_have_limits_of_their_own() {
        let now = Moment::from_micros(2);
        let checks = vec!["threads".to_owned(), "disk".to_owned(), "gpu".to_owned()];
        let ran = attempt(Action::RunDiagnostic, None);
        assert_eq!(spent(Action::RunDiagnostic, &[], &[], now), Some("every configured diagnostic was run"));
        assert_eq!(
            spent(Action::RunDiagnostic, std::slice::from_ref(&ran), &checks[..1], now),
            Some("every configured diagnostic was run")
        );
        assert_eq!(next_diagnostic(std::slice::from_ref(&ran), &checks), Some("disk"));
        assert_eq!(
            spent(Action::RunDiagnostic, &[ran.clone(), ran.clone()], &checks, now),
            Some("two diagnostics were run")
        );
        let wait = attempt(Action::NoAction, None);
        assert_eq!(spent(Action::NoAction, &[wait.clone(), wait.clone()], &[], now), None);
        assert_eq!(
            spent(Action::NoAction, &[wait.clone(), wait.clone(), wait.clone()], &[], now),
            Some("it was waited three times")
        );
        assert_eq!(spent(Action::Escalate, &[wait, ran], &[], now), None);
    }

    #[test]
    fn refused_attempts() {
        let blank = Attempt { summary: Text::of(" \u{200b}"), ..attempt(Action::NoAction, None) };
        assert_eq!(blank.check().map_err(|invalid| invalid.field), Err("summary".to_owned()));
        let odd = Attempt { effect: None, ..attempt(Action::ReloadModel, Some(Effect::Done)) };
        assert_eq!(odd.check().map_err(|invalid| invalid.field), Err("effect".to_owned()));
        let framework = attempt(Action::NoAction, Some(Effect::Done));
        assert_eq!(framework.check().map_err(|invalid| invalid.field), Err("receipt_id".to_owned()));
        let text = serde_json::json!({ "number": 1, "action": "restart", "outcome": "recovered" });
        assert!(serde_json::from_value::<Attempt>(text).is_err());
    }
}
