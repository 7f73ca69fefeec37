//! Cooldowns and windows over what was done before: pure functions of recorded history (S95, S99).
//!
//! A clock that was set back refills nothing: no moment counts as earlier than the newest recorded act.

use serde::{Deserialize, Serialize};

use super::action::Action;
use super::moment::{DAY, HOUR, MINUTE, Moment};
use super::name::Application;
use super::target::TargetKey;
use crate::id::Id;

/// An act that was begun, by whomever it was approved.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PastAct {
    /// When its receipt was started.
    pub at: Moment,
    /// Its receipt.
    pub receipt: Id,
    /// The service.
    pub application: Application,
    /// What was touched.
    pub target: TargetKey,
    /// What was done.
    pub action: Action,
    /// Whether it is known that it did not help.
    pub failed: bool,
}

/// How long a target rests.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cooldown {
    /// After an act.
    pub first: u64,
    /// By what it grows with each failed one.
    pub factor: f64,
    /// At most.
    pub max: u64,
}

impl Default for Cooldown {
    fn default() -> Self {
        Self { first: 10 * MINUTE, factor: 2.0, max: DAY }
    }
}

/// Acts an hour and a day.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Count {
    /// In the last hour.
    pub hour: u32,
    /// In the last day.
    pub day: u32,
}

/// Acts on a target, on an application, and in all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Counts {
    /// On the target.
    pub target: Count,
    /// On the application.
    pub application: Count,
    /// In all.
    pub all: Count,
}

/// What is about to be done.
#[derive(Clone, Copy, Debug)]
pub struct Planned<'a> {
    /// To which service.
    pub application: &'a Application,
    /// To what.
    pub target: &'a TargetKey,
    /// What.
    pub action: Action,
}

/// Now, or the newest act where the clock was set back behind it.
fn moment(acts: &[PastAct], now: Moment) -> Moment {
    acts.iter().map(|act| act.at).max().unwrap_or(now).max(now)
}

/// Microseconds for which the target, or this action on the application, still rests; 0 for not at all.
pub fn rest_left(rule: Cooldown, acts: &[PastAct], planned: Planned<'_>, now: Moment) -> u64 {
    let mut times: Vec<(Moment, bool)> = acts
        .iter()
        .filter(|act| {
            act.target == *planned.target || (act.application == *planned.application && act.action == planned.action)
        })
        .map(|act| (act.at, act.failed))
        .collect();
    times.sort_unstable();
    let Some((last, _)) = times.last().copied() else { return 0 };
    let now = moment(acts, now);
    let mut failures = 0_i32;
    let mut newest: Option<Moment> = None;
    for (at, _) in times.iter().filter(|(_, failed)| *failed) {
        // A day without failure begins anew.
        failures = if newest.is_some_and(|newest| at.since(newest) > DAY) { 1 } else { failures.saturating_add(1) };
        newest = Some(*at);
    }
    if newest.is_none_or(|newest| now.since(newest) > DAY) {
        failures = 0;
    }
    let grown = micros(rule.first) * rule.factor.max(1.0).powi(failures.min(64));
    let rest = if grown < micros(rule.max) { whole(grown) } else { rule.max };
    rest.saturating_sub(now.since(last))
}

#[expect(clippy::cast_precision_loss, reason = "durations up to a day are far below 2^53 microseconds")]
fn micros(amount: u64) -> f64 {
    amount as f64
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is below the longest rest, a u64")]
fn whole(amount: f64) -> u64 {
    amount as u64
}

/// How many acts the last hour and the last day have seen.
pub fn counts(acts: &[PastAct], planned: Planned<'_>, now: Moment) -> Counts {
    let now = moment(acts, now);
    let count = |fits: &dyn Fn(&PastAct) -> bool| {
        let within = |span: u64| {
            let number = acts.iter().filter(|act| fits(act) && now.since(act.at) < span).count();
            u32::try_from(number).unwrap_or(u32::MAX)
        };
        Count { hour: within(HOUR), day: within(DAY) }
    };
    Counts {
        target: count(&|act| act.target == *planned.target),
        application: count(&|act| act.application == *planned.application),
        all: count(&|_| true),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Cooldown, PastAct, Planned, counts, rest_left};
    use crate::id::Id;
    use crate::service::action::Action;
    use crate::service::moment::{HOUR, MINUTE, Moment};
    use crate::service::name::Application;
    use crate::service::target::TargetKey;

    const NOW: u64 = 100 * 24 * HOUR;

    fn act(minutes_ago: u64, place: &str, action: Action, failed: bool) -> PastAct {
        PastAct {
            at: Moment::from_micros(NOW - minutes_ago * MINUTE),
            receipt: Id::new("rct", minutes_ago, 0),
            application: Application::parse(place.split('/').next().unwrap_or_default()).expect("a name"),
            target: TargetKey::parse(format!("systemd:{place}")).expect("a key"),
            action,
            failed,
        }
    }

    /// Minutes of rest, and the six counts, for a restart of `fraud/api`.
    fn check(acts: &[PastAct]) -> String {
        let (application, target) =
            (Application::parse("fraud").expect("name"), TargetKey::parse("systemd:fraud/api").expect("key"));
        let planned = Planned { application: &application, target: &target, action: Action::RestartComponent };
        let now = Moment::from_micros(NOW);
        let left = rest_left(Cooldown::default(), acts, planned, now);
        let counts = counts(acts, planned, now);
        let pair = |count: super::Count| format!("{}/{}", count.hour, count.day);
        format!("{} {} {} {}", left / MINUTE, pair(counts.target), pair(counts.application), pair(counts.all))
    }

    #[test]
    fn rests_and_counts() {
        use Action::{ReloadModel, RestartComponent};
        assert_eq!(check(&[]), "0 0/0 0/0 0/0");
        assert_eq!(check(&[act(4, "fraud/api", ReloadModel, false)]), "6 1/1 1/1 1/1", "the target, whatever was done");
        assert_eq!(check(&[act(4, "fraud/other", RestartComponent, false)]), "6 0/0 1/1 1/1", "the action");
        assert_eq!(check(&[act(4, "fraud/other", ReloadModel, false)]), "0 0/0 1/1 1/1");
        assert_eq!(check(&[act(4, "churn/api", RestartComponent, false)]), "0 0/0 0/0 1/1");
        assert_eq!(check(&[act(10, "fraud/api", RestartComponent, false)]), "0 1/1 1/1 1/1", "the border");
        assert_eq!(check(&[act(60, "fraud/api", RestartComponent, false)]), "0 0/1 0/1 0/1", "an hour is over");
        assert_eq!(check(&[act(24 * 60, "fraud/api", RestartComponent, false)]), "0 0/0 0/0 0/0", "a day is over");
    }

    #[test]
    fn each_failure_doubles_the_rest_and_a_day_without_one_ends_that() {
        use Action::RestartComponent;
        let failed = |minutes: u64| act(minutes, "fraud/api", RestartComponent, true);
        assert_eq!(check(&[failed(4)]), "16 1/1 1/1 1/1");
        assert_eq!(check(&[failed(30), failed(4)]), "36 2/2 2/2 2/2");
        let many: Vec<PastAct> = (1..40).map(|number| failed(number * 30)).collect();
        assert!(check(&many).starts_with(&format!("{} ", 24 * 60 - 30)), "a day at most");
        assert_eq!(check(&[failed(25 * 60), act(4, "fraud/api", RestartComponent, false)]), "6 1/1 1/1 1/1");
        assert_eq!(check(&[failed(50 * 60), failed(4)]), "16 1/1 1/1 1/1", "the streak begins anew");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(10_000))]
        /// Whatever the clock does between two looks, it refills nothing: the rest never shrinks by setting it back, and
        /// acts that were counted are counted.
        #[test]
        fn a_clock_set_back_refills_nothing(minutes in prop::collection::vec((0..3_000_u64, any::<bool>()), 1..20), back in 1..NOW) {
            let acts: Vec<PastAct> = minutes.iter().map(|(at, failed)| act(*at, "fraud/api", Action::RestartComponent, *failed)).collect();
            let (application, target) = (acts[0].application.clone(), acts[0].target.clone());
            let planned = Planned { application: &application, target: &target, action: Action::RestartComponent };
            let newest = acts.iter().map(|act| act.at).max().unwrap_or_default();
            let set_back = Moment::from_micros(NOW - back);
            let rule = Cooldown::default();
            prop_assert!(rest_left(rule, &acts, planned, set_back) >= rest_left(rule, &acts, planned, Moment::from_micros(NOW).max(newest)));
            let (then, now) = (counts(&acts, planned, set_back), counts(&acts, planned, Moment::from_micros(NOW)));
            prop_assert!(then.target.day >= now.target.day && then.target.hour >= now.target.hour);
        }

        #[test]
        fn one_act_more_never_loosens(minutes in prop::collection::vec(0..3_000_u64, 0..10), more in 0..3_000_u64) {
            let acts: Vec<PastAct> = minutes.iter().map(|at| act(*at, "fraud/api", Action::RestartComponent, true)).collect();
            let mut longer = acts.clone();
            longer.push(act(more, "fraud/api", Action::RestartComponent, true));
            let (application, target) = (longer[0].application.clone(), longer[0].target.clone());
            let planned = Planned { application: &application, target: &target, action: Action::RestartComponent };
            let now = Moment::from_micros(NOW);
            prop_assert!(rest_left(Cooldown::default(), &longer, planned, now) >= rest_left(Cooldown::default(), &acts, planned, now));
            prop_assert!(counts(&longer, planned, now).all.day >= counts(&acts, planned, now).all.day);
        }
    }
}
