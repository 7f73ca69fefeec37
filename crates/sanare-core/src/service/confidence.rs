//! How sure one may be: caps on what agents report (S69), and how often an agent was right (S75).

use serde::{Deserialize, Serialize};

use super::action::Action;
use super::invalid::Invalid;
use super::kind::IncidentKind;
use super::moment::{DAY, Moment};
use super::word::{Origin, VerificationOutcome};

/// Nobody is surer than this without a citation, or without a cause.
pub const UNFOUNDED: f64 = 0.2;
/// Verified attempts below which nothing is measured, whatever the owner asks for: a bound from fewer speaks of their number,
/// and not of the agent (one of one: 0.38).
pub const MEASURED_FROM: u32 = 5;
/// Attempts older than this no longer count.
const KEPT: u64 = 180 * DAY;
/// The one-sided 90 % quantile of the normal distribution.
const QUANTILE: f64 = 1.281_551_565_544_600_5;

/// The most that is believed of an agent.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Caps {
    model: f64,
    fallback: f64,
}

impl Default for Caps {
    fn default() -> Self {
        Self { model: 0.9, fallback: 0.2 }
    }
}

impl Caps {
    /// Checks the caps of model and fallback.
    ///
    /// # Errors
    /// [`Invalid`] for one that is no share.
    pub fn new(model: f64, fallback: f64) -> Result<Self, Invalid> {
        for (field, cap) in [("max_confidence", model), ("fallback_confidence_cap", fallback)] {
            if !(0.0..=1.0).contains(&cap) {
                return Err(Invalid::new(field, format!("is {cap}; it goes from 0 to 1")));
            }
        }
        Ok(Self { model, fallback })
    }

    /// Refuses a gate that a fallback would pass.
    ///
    /// # Errors
    /// [`Invalid`] when the gate is not above the fallback's cap.
    pub fn check_gate(&self, gate: f64) -> Result<(), Invalid> {
        if gate > self.fallback {
            Ok(())
        } else {
            Err(Invalid::new(
                "confidence_gate",
                format!("is {gate}; it must be above the fallback's cap {}", self.fallback),
            ))
        }
    }

    /// What is believed of a reported confidence: never more than it.
    pub fn cap(&self, origin: Origin, reported: f64, cited: usize, has_cause: bool) -> f64 {
        let most = match origin {
            Origin::Model => self.model,
            Origin::Fallback => self.fallback,
            Origin::Rules | Origin::Person => 1.0,
        };
        let founded = if cited == 0 || !has_cause { UNFOUNDED } else { 1.0 };
        if reported.is_nan() { 0.0 } else { reported.clamp(0.0, 1.0).min(most).min(founded) }
    }
}

/// What measured figures are kept under: an agent in one version, for one kind and action.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct FigureKey {
    /// The kind of incident.
    pub kind: IncidentKind,
    /// The action.
    pub action: Action,
    /// Who diagnosed, by kind.
    pub origin: Origin,
    /// Who diagnosed, exactly: `AgentName::figure_key`.
    pub agent: String,
}

/// An attempt as figures count it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Measured {
    /// Whose and of what.
    pub key: FigureKey,
    /// What came of it.
    pub outcome: VerificationOutcome,
    /// When.
    pub at: Moment,
}

/// Verified attempts of an agent, and how many of them recovered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// Those that were verified: `not_verified` is left out.
    pub verified: u32,
    /// Those of them that recovered.
    pub recovered: u32,
}

impl Record {
    /// Counts what is of this key and not too old. Dry runs, and acts that a person proposed, are not among them: their
    /// origin is another.
    pub fn of<'a>(key: &FigureKey, attempts: impl IntoIterator<Item = &'a Measured>, now: Moment) -> Self {
        let mut record = Self::default();
        for one in attempts {
            let counts = one.key == *key
                && key.origin != Origin::Person
                && one.outcome != VerificationOutcome::NotVerified
                && now.since(one.at) <= KEPT;
            if counts {
                record.verified += 1;
                record.recovered += u32::from(one.outcome == VerificationOutcome::Recovered);
            }
        }
        record
    }

    /// The one-sided 90 % lower bound after Wilson of the share that recovers; nothing below `least` attempts, and never
    /// below [`MEASURED_FROM`].
    pub fn measured(self, least: u32) -> Option<f64> {
        if self.verified < least.max(MEASURED_FROM) {
            return None;
        }
        let (count, hits) = (f64::from(self.verified), f64::from(self.recovered));
        let (share, square) = (hits / count, QUANTILE * QUANTILE);
        let centre = share + square / (2.0 * count);
        let spread = QUANTILE * ((share * (1.0 - share) + square / (4.0 * count)) / count).sqrt();
        Some(((centre - spread) / (1.0 + square / count)).clamp(0.0, 1.0))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Caps, FigureKey, Measured, Record};
    use crate::service::action::Action;
    use crate::service::kind::IncidentKind;
    use crate::service::moment::{DAY, Moment};
    use crate::service::word::{Origin, VerificationOutcome};

    fn bound(recovered: u32, verified: u32) -> String {
        Record { verified, recovered }.measured(5).map_or("none".to_owned(), |bound| format!("{bound:.3}"))
    }

    #[test]
    fn bounds_are_exact() {
        assert_eq!(bound(4, 4), "none");
        assert_eq!(bound(5, 5), "0.753");
        assert_eq!(bound(9, 10), "0.718");
        assert_eq!(bound(8, 10), "0.602");
        assert_eq!(bound(0, 5), "0.000");
    }

    fn key(agent: &str, origin: Origin) -> FigureKey {
        FigureKey { kind: IncidentKind::LatencyHigh, action: Action::RestartComponent, origin, agent: agent.to_owned() }
    }

    /// An owner who lets it act with less history is not asked again for having little of it; one who wants more gets more.
    #[test]
    fn little_history_is_no_measurement() {
        for least in 0..=5 {
            for verified in 0..=5 {
                for recovered in 0..=verified {
                    let measured = Record { verified, recovered }.measured(least);
                    assert_eq!(measured.is_some(), verified == 5, "{recovered} of {verified}, from {least}");
                }
            }
        }
        assert_eq!(Record { verified: 19, recovered: 19 }.measured(20), None);
        assert!(Record { verified: 20, recovered: 19 }.measured(20).is_some());
    }

    #[test]
    fn what_counts_and_what_does_not() {
        let now = Moment::from_micros(400 * DAY);
        let of = |agent: &str, origin, outcome, days: u64| Measured {
            key: key(agent, origin),
            outcome,
            at: now.minus(days * DAY),
        };
        use VerificationOutcome::{Inconclusive, NotVerified, Recovered, Worse};
        let attempts = [
            of("rule/a/1", Origin::Rules, Recovered, 1),
            of("rule/a/1", Origin::Rules, Recovered, 180),
            of("rule/a/1", Origin::Rules, Worse, 2),
            of("rule/a/1", Origin::Rules, Inconclusive, 2),
            of("rule/a/1", Origin::Rules, NotVerified, 2),
            of("rule/a/1", Origin::Rules, Recovered, 181),
            of("rule/a/2", Origin::Rules, Recovered, 1),
            of("rule/a/1", Origin::Fallback, Recovered, 1),
            of("person/ann", Origin::Person, Recovered, 1),
        ];
        assert_eq!(Record::of(&key("rule/a/1", Origin::Rules), &attempts, now), Record { verified: 4, recovered: 2 });
        assert_eq!(Record::of(&key("person/ann", Origin::Person), &attempts, now), Record::default());
    }

    /// An agent that is always as sure as it may be and right every other time falls below the gate within 10 attempts.
    #[test]
    fn who_heals_half_the_time_loses_automatic_action() {
        for verified in 5..=10 {
            let measured = Record { verified, recovered: verified.div_ceil(2) }.measured(5).expect("enough");
            assert!(measured.min(0.9) < 0.7, "{verified}: {measured}");
        }
    }

    #[test]
    fn caps_are_shares_and_a_gate_lies_above_the_fallback() {
        for odd in [-0.1, 1.1, f64::NAN] {
            assert!(Caps::new(odd, 0.2).is_err() && Caps::new(0.9, odd).is_err(), "{odd}");
        }
        assert!(Caps::default().check_gate(0.2).is_err() && Caps::default().check_gate(f64::NAN).is_err());
        assert!(Caps::default().check_gate(0.21).is_ok());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(10_000))]
        #[test]
        fn capped_is_never_more_than_reported(
            reported in 0.0..=1.0_f64, cited in 0..3_usize, cause: bool, model in 0.0..=1.0_f64, fallback in 0.0..=1.0_f64,
            place in 0..4_usize,
        ) {
            let caps = Caps::new(model, fallback).expect("shares");
            let origin = Origin::ALL[place];
            let capped = caps.cap(origin, reported, cited, cause);
            prop_assert!((0.0..=reported).contains(&capped));
            prop_assert!(origin != Origin::Fallback || capped <= fallback);
            prop_assert!(origin != Origin::Model || capped <= model);
            prop_assert!((cited > 0 && cause) || capped <= 0.2);
        }

        #[test]
        fn a_bound_is_below_the_share_and_grows_with_it(verified in 5..200_u32, part in 0..200_u32) {
            let recovered = part % verified;
            let of = |recovered| Record { verified, recovered }.measured(5).unwrap_or(2.0);
            prop_assert!(of(recovered) <= f64::from(recovered) / f64::from(verified) + 1e-12);
            prop_assert!(of(recovered) < of(recovered + 1));
        }
    }
}
