//! What an adapter declares of itself; what it does not declare is the unsafe value (S78).

use serde::{Deserialize, Serialize};

use super::action::Action;
use super::invalid::Invalid;
use super::name::Signal;
use super::target::{Mark, TargetKey};
use super::word::words;

words! {
    /// How an act can be taken back.
    Undo("undo") {
        /// Not at all.
        None = "none",
        /// Back to the version that was live, if ours still is.
        MoveBack = "move_back",
        /// The job is cancelled.
        CancelJob = "cancel_job",
        /// Back to the revision that was rolled out before.
        PreviousRevision = "previous_revision",
    }
}

/// How many instances an act touches at once, of how many.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Blast {
    /// At once.
    pub touched: u32,
    /// Of all.
    pub of: u32,
}

/// A declaration as it is written; everything may be left out.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Written {
    /// Whether doing it twice is doing it once.
    pub idempotent: Option<bool>,
    /// Whether it can be taken back.
    pub reversible: Option<bool>,
    /// Whether it can say what it would do.
    pub dry_run: Option<bool>,
    /// What it compares before acting.
    pub fence: Option<Vec<Mark>>,
    /// Instances touched.
    pub blast: Option<Blast>,
    /// How long it takes, in milliseconds.
    pub expected_ms: Option<i64>,
    /// When it is given up, in milliseconds.
    pub timeout_ms: Option<i64>,
    /// Names of what must hold before.
    pub preconditions: Option<Vec<String>>,
    /// Name of the probe that says what answers.
    pub identity_probe: Option<String>,
    /// Signals by which its success is seen, beside those of the incident.
    pub verification: Option<Vec<Signal>>,
    /// How it is taken back.
    pub undo: Option<Undo>,
    /// The system that owns the target's state, where that is another one.
    pub source_of_truth: Option<String>,
}

/// A checked declaration.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Declaration {
    /// What it does.
    pub action: Action,
    /// To what.
    pub target: TargetKey,
    /// Whether doing it twice is doing it once.
    pub idempotent: bool,
    /// Whether it can be taken back.
    pub reversible: bool,
    /// Whether it can say what it would do.
    pub dry_run: bool,
    /// What it compares before acting; empty for no fence.
    pub fence: Vec<Mark>,
    /// Instances touched.
    pub blast: Blast,
    /// How long it takes, in milliseconds.
    pub expected_ms: u64,
    /// When it is given up, in milliseconds.
    pub timeout_ms: u64,
    /// Names of what must hold before.
    pub preconditions: Vec<String>,
    /// Name of the probe that says what answers.
    pub identity_probe: Option<String>,
    /// Signals by which its success is seen, beside those of the incident.
    pub verification: Vec<Signal>,
    /// How it is taken back.
    pub undo: Undo,
    /// The system that owns the target's state, where that is another one.
    pub source_of_truth: Option<String>,
}

const TIMEOUT_MS: i64 = 60_000;
/// A day: no act is followed for longer.
const LONGEST_MS: i64 = 86_400_000;

impl Declaration {
    /// Checks a declaration.
    ///
    /// # Errors
    /// [`Invalid`] for what contradicts itself or is out of bounds.
    pub fn check(action: Action, target: TargetKey, written: Written) -> Result<Self, Invalid> {
        if action.is_framework() {
            return Err(Invalid::new("action", format!("{action} needs no adapter")));
        }
        let time = |field: &str, given: Option<i64>, otherwise: i64| match given.unwrap_or(otherwise) {
            millis @ 1..=LONGEST_MS => Ok(u64::try_from(millis).unwrap_or(1)),
            _ => Err(Invalid::new(field, "goes from 1 ms to 24 h")),
        };
        let timeout_ms = time("timeout_ms", written.timeout_ms, TIMEOUT_MS)?;
        let expected_ms = time("expected_ms", written.expected_ms, i64::try_from(timeout_ms).unwrap_or(TIMEOUT_MS))?;
        let blast = written.blast.unwrap_or(Blast { touched: 1, of: 1 });
        if blast.touched == 0 || blast.of < blast.touched {
            return Err(Invalid::new("blast", "touches at least one instance, and at most all"));
        }
        let (reversible, undo) = (written.reversible.unwrap_or(false), written.undo.unwrap_or(Undo::None));
        if reversible && undo == Undo::None {
            return Err(Invalid::new("reversible", "needs an `undo`"));
        }
        if undo != Undo::None && !reversible {
            return Err(Invalid::new("undo", "stands with `reversible = true` alone"));
        }
        let fence = written.fence.unwrap_or_default();
        if !fence.is_empty() && written.identity_probe.is_none() {
            return Err(Invalid::new("fence", "needs an `identity_probe`, which reads what it compares"));
        }
        Ok(Self {
            action,
            target,
            idempotent: written.idempotent.unwrap_or(false),
            reversible,
            dry_run: written.dry_run.unwrap_or(false),
            fence,
            blast,
            expected_ms,
            timeout_ms,
            preconditions: written.preconditions.unwrap_or_default(),
            identity_probe: written.identity_probe,
            verification: written.verification.unwrap_or_default(),
            undo,
            source_of_truth: written.source_of_truth,
        })
    }

    /// A built-in adapter's declaration with what a configuration says, which may only make it stricter.
    ///
    /// # Errors
    /// [`Invalid`] for what would loosen it.
    pub fn stricter(&self, written: &Written) -> Result<Self, Invalid> {
        let looser = |field: &str| Err(Invalid::new(field, "may only be made stricter than the adapter declares"));
        let mut out = self.clone();
        for (field, now, wanted) in [
            ("idempotent", &mut out.idempotent, written.idempotent),
            ("reversible", &mut out.reversible, written.reversible),
            ("dry_run", &mut out.dry_run, written.dry_run),
        ] {
            match wanted {
                Some(true) if !*now => return looser(field),
                Some(wanted) => *now = wanted,
                None => {}
            }
        }
        if !out.reversible {
            out.undo = Undo::None;
        }
        if written.undo.is_some_and(|undo| undo != out.undo) {
            return looser("undo");
        }
        if let Some(fence) = &written.fence {
            if self.fence.iter().any(|mark| !fence.contains(mark)) || (self.fence.is_empty() && !fence.is_empty()) {
                return looser("fence");
            }
            out.fence.clone_from(fence);
        }
        if let Some(blast) = written.blast {
            let wider = u64::from(blast.touched) * u64::from(self.blast.of)
                >= u64::from(self.blast.touched) * u64::from(blast.of);
            if !wider || blast.touched == 0 || blast.of < blast.touched {
                return looser("blast");
            }
            out.blast = blast;
        }
        for (field, now, wanted) in [
            ("expected_ms", &mut out.expected_ms, written.expected_ms),
            ("timeout_ms", &mut out.timeout_ms, written.timeout_ms),
        ] {
            match wanted.map(u64::try_from) {
                Some(Ok(wanted)) if (1..=*now).contains(&wanted) => *now = wanted,
                Some(_) => return looser(field),
                None => {}
            }
        }
        out.preconditions.extend(written.preconditions.iter().flatten().cloned());
        out.verification.extend(written.verification.iter().flatten().cloned());
        out.identity_probe = written.identity_probe.clone().or(out.identity_probe);
        out.source_of_truth = written.source_of_truth.clone().or(out.source_of_truth);
        Ok(out)
    }
}

#[cfg(test)]
mod tests {
    use super::{Blast, Declaration, Undo, Written};
    use crate::service::action::Action;
    use crate::service::target::{Mark, TargetKey};

    fn declared(written: Written) -> Result<Declaration, String> {
        let target = TargetKey::parse("command:fraud/restart").expect("a key");
        Declaration::check(Action::RestartComponent, target, written).map_err(|invalid| invalid.field)
    }

    #[test]
    fn what_is_not_declared_is_the_unsafe_value() {
        let plain = declared(Written::default()).expect("good");
        assert!(!plain.idempotent && !plain.reversible && !plain.dry_run && plain.fence.is_empty());
        assert_eq!((plain.blast.touched, plain.blast.of, plain.undo), (1, 1, Undo::None));
    }

    #[test]
    fn contradictions_are_refused() {
        let refused = |written: Written| declared(written).err().unwrap_or_default();
        assert_eq!(refused(Written { reversible: Some(true), ..Written::default() }), "reversible");
        assert_eq!(refused(Written { undo: Some(Undo::MoveBack), ..Written::default() }), "undo");
        assert_eq!(refused(Written { blast: Some(Blast { touched: 0, of: 3 }), ..Written::default() }), "blast");
        assert_eq!(refused(Written { blast: Some(Blast { touched: 4, of: 3 }), ..Written::default() }), "blast");
        assert_eq!(refused(Written { timeout_ms: Some(-1), ..Written::default() }), "timeout_ms");
        assert_eq!(refused(Written { timeout_ms: Some(0), ..Written::default() }), "timeout_ms");
        assert_eq!(refused(Written { fence: Some(vec![Mark::Instance]), ..Written::default() }), "fence");
        let target = TargetKey::parse("a:b").expect("a key");
        assert!(Declaration::check(Action::NoAction, target, Written::default()).is_err());
    }

    #[test]
    fn a_configuration_only_makes_it_stricter() {
        let builtin = declared(Written {
            idempotent: Some(true),
            reversible: Some(true),
            undo: Some(Undo::MoveBack),
            fence: Some(vec![Mark::Instance]),
            identity_probe: Some("score".to_owned()),
            blast: Some(Blast { touched: 1, of: 3 }),
            timeout_ms: Some(30_000),
            ..Written::default()
        })
        .expect("good");
        let check = |written: Written| builtin.stricter(&written).map_err(|invalid| invalid.field);
        let strict = check(Written { idempotent: Some(false), reversible: Some(false), ..Written::default() });
        assert!(strict.is_ok_and(|one| !one.idempotent && one.undo == Undo::None));
        assert!(check(Written { fence: Some(vec![Mark::Instance, Mark::StartTime]), ..Written::default() }).is_ok());
        assert!(check(Written { blast: Some(Blast { touched: 2, of: 3 }), ..Written::default() }).is_ok());
        let refused = |written: Written| check(written).err().unwrap_or_default();
        assert_eq!(refused(Written { dry_run: Some(true), ..Written::default() }), "dry_run");
        assert_eq!(refused(Written { fence: Some(vec![]), ..Written::default() }), "fence");
        assert_eq!(refused(Written { blast: Some(Blast { touched: 1, of: 4 }), ..Written::default() }), "blast");
        assert_eq!(refused(Written { timeout_ms: Some(30_001), ..Written::default() }), "timeout_ms");
        assert_eq!(refused(Written { undo: Some(Undo::CancelJob), ..Written::default() }), "undo");
    }
}
