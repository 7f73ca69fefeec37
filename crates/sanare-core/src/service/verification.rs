//! Whether an act has helped: signals inside for a whole window on fresh data, and a target that changed (S110 to S112).

use serde::{Deserialize, Serialize};

use super::action::Action;
use super::kind::IncidentKind;
use super::moment::{MINUTE, Moment, SECOND};
use super::proposal::Params;
use super::target::{Identity, Mark};
use super::word::{Health, VerificationOutcome};

/// How an action is verified.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// What passes before anything counts.
    pub settle: u64,
    /// For how long everything must be well.
    pub window: u64,
    /// Fresh readings that each signal needs in it.
    pub readings: usize,
}

impl Plan {
    /// The plan of an action; nothing for one that is not verified by a window.
    pub fn of(action: Action) -> Option<Self> {
        let plan = |settle: u64, window: u64, readings| {
            Some(Self { settle: settle * SECOND, window: window * MINUTE, readings })
        };
        match action {
            Action::RestartComponent => plan(60, 10, 5),
            Action::ReloadModel => plan(30, 10, 5),
            Action::RollbackModel => plan(60, 15, 10),
            Action::RequestRedeployment => plan(120, 30, 10),
            Action::RequestRetraining | Action::RunDiagnostic | Action::Escalate | Action::NoAction => None,
        }
    }
}

/// The marks of which one changes when an action arrives.
pub fn changes(action: Action) -> &'static [Mark] {
    match action {
        Action::RestartComponent => &[Mark::StartTime, Mark::Instance],
        Action::ReloadModel => &[Mark::LoadTime, Mark::Generation],
        Action::RollbackModel => &[Mark::AliasVersion, Mark::ServedVersion],
        Action::RequestRedeployment => &[Mark::Revision],
        Action::RequestRetraining => &[Mark::CandidateVersion],
        Action::RunDiagnostic | Action::Escalate | Action::NoAction => &[],
    }
}

/// Whether the target changed as the action intends, for an incident of this kind; nothing where it cannot be told.
pub fn target_changed(
    kind: IncidentKind,
    action: Action,
    params: &Params,
    before: &Identity,
    now: &Identity,
) -> Option<bool> {
    let any = |marks: &[Mark]| {
        let told = marks.iter().any(|mark| before.get(*mark).is_some() && now.get(*mark).is_some());
        told.then(|| marks.iter().any(|mark| now.differs(before, *mark)))
    };
    match action {
        Action::ReloadModel => {
            let loaded = any(changes(action))?;
            // Where the wrong version was served another one has to be, and else the same.
            if kind == IncidentKind::WrongModelVersion {
                return Some(any(&[Mark::ServedVersion])? && loaded);
            }
            Some(loaded && !now.differs(before, Mark::ServedVersion))
        }
        Action::RollbackModel => {
            let Params::Rollback { to_version, .. } = params else { return None };
            let is = |mark| now.get(mark).map(|version| version == to_version.as_str());
            // The alias alone proves nothing: the service has to have loaded it. Where no alias stood before, there is
            // none, and what is served says all.
            let alias = before.get(Mark::AliasVersion).map_or(Some(true), |_| is(Mark::AliasVersion));
            Some(alias? && is(Mark::ServedVersion)?)
        }
        _ => any(changes(action)),
    }
}

/// A reading, as verification looks at it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Seen {
    /// When it was true.
    pub at: Moment,
    /// Whether it proves freshness.
    pub fresh: bool,
    /// Whether it is inside the bound by which the signal clears; nothing where that cannot be told.
    pub inside: Option<bool>,
}

/// A reading of a guard.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Guarded {
    /// When it was true.
    pub at: Moment,
    /// Whether it proves freshness.
    pub fresh: bool,
    /// The number; larger is worse.
    pub badness: f64,
}

/// A signal that must not get worse by the act.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Guard {
    /// Its name, for people.
    pub name: String,
    /// Its own bound, if it has one.
    pub bound: Option<f64>,
    /// Readings from 30 min before the act on.
    pub readings: Vec<Guarded>,
}

/// What the serving probe said.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Asked {
    /// When.
    pub at: Moment,
    /// What.
    pub health: Health,
}

/// Everything that is known since an act.
#[derive(Clone, Debug, PartialEq)]
pub struct Look<'a> {
    /// How it is verified.
    pub plan: Plan,
    /// When the act was begun.
    pub acted_at: Moment,
    /// Whether the window was extended before.
    pub extended: bool,
    /// Readings of each signal that opened the incident.
    pub signals: &'a [Vec<Seen>],
    /// Answers of the serving probe; nothing where none is configured.
    pub probe: Option<&'a [Asked]>,
    /// Guards.
    pub guards: &'a [Guard],
    /// Whether the target changed as intended.
    pub changed: Option<bool>,
}

/// What follows from a look.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Progress {
    /// Look again.
    GoOn,
    /// There was too little; the window is extended, once.
    Extend,
    /// It is decided, and why.
    Ended(VerificationOutcome, String),
}

/// Readings of a guard in a row that must be worse: what is worse now and then was so before.
const WORSE: usize = 3;
/// What lies before the act and is compared with.
const BEFORE: u64 = 30 * MINUTE;

/// Looks at an act at this moment.
pub fn look(look: &Look<'_>, now: Moment) -> Progress {
    let begin = look.acted_at.plus(look.plan.settle);
    if let Some(name) = look.guards.iter().find(|guard| is_worse(guard, look.acted_at, begin)).map(|guard| &guard.name)
    {
        return Progress::Ended(VerificationOutcome::Worse, format!("{name} is worse than before"));
    }
    let outside = look.signals.iter().map(|signal| time_outside(signal, begin, now, look.plan)).max().unwrap_or(0);
    if outside.saturating_mul(2) >= look.plan.window {
        return Progress::Ended(
            VerificationOutcome::NotRecovered,
            "it was out of bounds for half the window".to_owned(),
        );
    }
    let windows = if look.extended { 2 } else { 1 };
    let end = begin.plus(look.plan.window * windows);
    if now < end {
        return Progress::GoOn;
    }
    let from = begin.plus(look.plan.window * (windows - 1));
    match shortfall(look, from, end) {
        None => match look.changed {
            Some(true) => Progress::Ended(
                VerificationOutcome::Recovered,
                "it was inside its bounds for a whole window".to_owned(),
            ),
            Some(false) => {
                Progress::Ended(VerificationOutcome::NotRecovered, "the target did not change as intended".to_owned())
            }
            None => {
                Progress::Ended(VerificationOutcome::NotVerified, "nothing shows that the target changed".to_owned())
            }
        },
        Some(_) if !look.extended => Progress::Extend,
        Some(why) => Progress::Ended(VerificationOutcome::Inconclusive, why),
    }
}

/// What is missing for a whole good window.
fn shortfall(look: &Look<'_>, from: Moment, end: Moment) -> Option<String> {
    if look.signals.is_empty() {
        return Some("no signal shows how it is".to_owned());
    }
    // No hole may be longer than twice the mean distance that the readings need.
    let hole = look.plan.window * 2 / look.plan.readings.max(1) as u64;
    for readings in look.signals {
        let mut within: Vec<&Seen> = readings.iter().filter(|seen| seen.at >= from && seen.at <= end).collect();
        within.sort_by_key(|seen| seen.at);
        if within.iter().any(|seen| seen.fresh && seen.inside == Some(false)) {
            return Some("it was out of bounds within the window".to_owned());
        }
        let good: Vec<Moment> =
            within.iter().filter(|seen| seen.fresh && seen.inside == Some(true)).map(|seen| seen.at).collect();
        if good.len() < look.plan.readings {
            return Some(format!("{} fresh readings, {} are needed", good.len(), look.plan.readings));
        }
        let mut edges = vec![from];
        edges.extend(&good);
        edges.push(end);
        if edges.windows(2).any(|pair| matches!(pair, [one, next] if next.since(*one) > hole)) {
            return Some("the readings do not cover the window".to_owned());
        }
    }
    if let Some(asked) = look.probe {
        let within: Vec<&Asked> = asked.iter().filter(|one| one.at >= from && one.at <= end).collect();
        if within.is_empty() || within.iter().any(|one| one.health != Health::Pass) {
            return Some("the serving probe did not pass throughout".to_owned());
        }
    }
    None
}

/// For how long a signal was out of bounds: each such reading until the next, at most twice the distance needed.
fn time_outside(readings: &[Seen], begin: Moment, now: Moment, plan: Plan) -> u64 {
    let mut fresh: Vec<&Seen> =
        readings.iter().filter(|seen| seen.fresh && seen.at >= begin && seen.at <= now).collect();
    fresh.sort_by_key(|seen| seen.at);
    let most = plan.window * 2 / plan.readings.max(1) as u64;
    let mut outside = 0;
    for (place, seen) in fresh.iter().enumerate() {
        let until = fresh.get(place + 1).map_or(now, |next| next.at);
        if seen.inside == Some(false) {
            outside += until.since(seen.at).min(most);
        }
    }
    outside
}

fn is_worse(guard: &Guard, acted_at: Moment, begin: Moment) -> bool {
    let fresh = guard.readings.iter().filter(|one| one.fresh && one.badness.is_finite());
    let mut before: Vec<f64> = fresh
        .clone()
        .filter(|one| one.at < acted_at && acted_at.since(one.at) <= BEFORE)
        .map(|one| one.badness)
        .collect();
    before.sort_by(f64::total_cmp);
    let median = before.get(before.len() / 2).copied();
    // What one reading in ten was before is its noise.
    let noise = before.get(before.len() * 9 / 10).copied().unwrap_or(0.0);
    let mut after: Vec<&Guarded> = fresh.filter(|one| one.at >= begin).collect();
    after.sort_by_key(|one| one.at);
    let count = |limit: f64| after.windows(WORSE).any(|row| row.iter().all(|one| one.badness > limit));
    // What was beyond its bound before the act was not brought there by it.
    let was_inside = |bound: f64| median.is_none_or(|median| median <= bound);
    let beyond = guard.bound.is_some_and(|bound| was_inside(bound) && count(bound));
    let grown = median.is_some_and(|median| median > 0.0 && count((median * 1.2).max(noise)));
    beyond || grown
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Asked, Guard, Guarded, Look, Plan, Progress, Seen, look, target_changed};
    use crate::service::action::Action;
    use crate::service::kind::IncidentKind;
    use crate::service::moment::{MINUTE, Moment, SECOND};
    use crate::service::name::Version;
    use crate::service::proposal::Params;
    use crate::service::target::{Identity, Mark};
    use crate::service::word::Health;

    const ACT: u64 = 10_000 * MINUTE;

    fn at(seconds: u64) -> Moment {
        Moment::from_micros(ACT + seconds * SECOND)
    }

    /// A reading each minute after the act.
    fn series(fits: impl Fn(u64) -> (bool, Option<bool>)) -> Vec<Seen> {
        (0..40)
            .map(|minute| {
                let (fresh, inside) = fits(minute);
                Seen { at: at(minute * 60), fresh, inside }
            })
            .collect()
    }

    struct Case {
        signals: Vec<Vec<Seen>>,
        probe: Option<Vec<Asked>>,
        guards: Vec<Guard>,
        changed: Option<bool>,
    }

    fn good() -> Case {
        let probe = (0..40).map(|minute| Asked { at: at(minute * 60), health: Health::Pass }).collect();
        Case {
            signals: vec![series(|_| (true, Some(true)))],
            probe: Some(probe),
            guards: Vec::new(),
            changed: Some(true),
        }
    }

    /// Plays a restart minute by minute: when it ended, and how.
    fn check(case: &Case) -> String {
        let plan = Plan::of(Action::RestartComponent).expect("it has one");
        let mut extended = false;
        for second in (0..3_000).step_by(15) {
            let now = at(second);
            let seen = |all: &Vec<Seen>| all.iter().copied().filter(|one| one.at <= now).collect::<Vec<_>>();
            let signals: Vec<Vec<Seen>> = case.signals.iter().map(seen).collect();
            let probe =
                case.probe.as_ref().map(|all| all.iter().copied().filter(|one| one.at <= now).collect::<Vec<_>>());
            let guards: Vec<Guard> = case
                .guards
                .iter()
                .map(|guard| Guard {
                    readings: guard.readings.iter().copied().filter(|one| one.at <= now).collect(),
                    ..guard.clone()
                })
                .collect();
            let look_now = Look {
                plan,
                acted_at: at(0),
                extended,
                signals: &signals,
                probe: probe.as_deref(),
                guards: &guards,
                changed: case.changed,
            };
            match look(&look_now, now) {
                Progress::GoOn => {}
                Progress::Extend => extended = true,
                Progress::Ended(outcome, _) => return format!("{outcome} after {second} s"),
            }
        }
        "never".to_owned()
    }

    #[test]
    fn a_whole_good_window_on_fresh_data_is_recovery() {
        assert_eq!(check(&good()), "recovered after 660 s");
    }

    #[test]
    fn liars_are_never_believed() {
        let with = |change: &dyn Fn(&mut Case)| {
            let mut case = good();
            change(&mut case);
            check(&case)
        };
        assert_eq!(with(&|case| case.signals = vec![Vec::new()]), "inconclusive after 1260 s", "no data");
        assert_eq!(with(&|case| case.signals = Vec::new()), "inconclusive after 1260 s", "no signal");
        assert_eq!(
            with(&|case| case.signals = vec![series(|_| (false, Some(true)))]),
            "inconclusive after 1260 s",
            "late data"
        );
        assert_eq!(
            with(&|case| case.signals = vec![series(|_| (true, None))]),
            "inconclusive after 1260 s",
            "no bound known"
        );
        let before = |case: &mut Case| case.signals[0].iter_mut().for_each(|seen| seen.at = seen.at.minus(40 * MINUTE));
        assert_eq!(with(&before), "inconclusive after 1260 s", "improvement before the act");
        let dies = |case: &mut Case| case.signals = vec![series(|minute| (minute < 7, Some(true)))];
        assert_eq!(with(&dies), "inconclusive after 1260 s", "the source died after enough readings");
        assert_eq!(with(&|case| case.changed = Some(false)), "not_recovered after 660 s", "unchanged start time");
        assert_eq!(with(&|case| case.changed = None), "not_verified after 660 s", "nothing shows a change");
        let failing = |case: &mut Case| case.probe.iter_mut().flatten().for_each(|one| one.health = Health::Unknown);
        assert_eq!(with(&failing), "inconclusive after 1260 s", "a probe that could not be asked");
        assert_eq!(with(&|case| case.probe = Some(Vec::new())), "inconclusive after 1260 s", "a probe never asked");
        let one_of_two = |case: &mut Case| case.signals.push(series(|_| (true, Some(false))));
        assert_eq!(with(&one_of_two), "not_recovered after 360 s", "one signal of two");
    }

    #[test]
    fn bounds_and_the_extension() {
        let of = |fits: &dyn Fn(u64) -> (bool, Option<bool>)| check(&Case { signals: vec![series(fits)], ..good() });
        assert_eq!(of(&|_| (true, Some(false))), "not_recovered after 360 s");
        assert_eq!(
            of(&|minute| (true, Some(!(1..=5).contains(&minute)))),
            "not_recovered after 360 s",
            "half the window"
        );
        assert_eq!(of(&|minute| (true, Some(!(1..=3).contains(&minute)))), "recovered after 1260 s", "a late recovery");
        assert_eq!(
            of(&|minute| (true, Some(minute != 15 && minute != 3))),
            "inconclusive after 1260 s",
            "never a whole window"
        );
        assert_eq!(of(&|minute| (minute % 4 == 0, Some(true))), "inconclusive after 1260 s", "too few");
        assert_eq!(of(&|minute| (minute % 2 == 0, Some(true))), "recovered after 660 s");
    }

    #[test]
    fn worse_stops_the_window() {
        let guard = |bound: Option<f64>, before: f64, after: &[f64]| {
            let mut readings: Vec<Guarded> = (1..20)
                .map(|minute| Guarded { at: Moment::from_micros(ACT - minute * MINUTE), fresh: true, badness: before })
                .collect();
            readings.extend(after.iter().zip(2_u64..).map(|(badness, minute)| Guarded {
                at: at(minute * 60),
                fresh: true,
                badness: *badness,
            }));
            check(&Case { guards: vec![Guard { name: "errors".to_owned(), bound, readings }], ..good() })
        };
        assert_eq!(guard(None, 1.0, &[1.3, 1.3, 1.3]), "worse after 240 s");
        assert_eq!(guard(None, 1.0, &[1.2, 1.2, 1.2, 1.2]), "recovered after 660 s", "the border");
        assert_eq!(guard(None, 1.0, &[9.0, 9.0]), "recovered after 660 s", "two readings");
        assert_eq!(guard(Some(1.1), 1.0, &[1.15, 1.15, 1.15]), "worse after 240 s", "its own bound");
        assert_eq!(guard(Some(0.5), 1.0, &[1.1, 1.1, 1.1]), "recovered after 660 s", "it was beyond before");
        let now_and_then: Vec<f64> = (0..40).map(|minute| if minute % 3 == 0 { 1.0 } else { 9.0 }).collect();
        assert_eq!(guard(None, 1.0, &now_and_then), "recovered after 660 s", "never three in a row");
        assert_eq!(guard(None, 1.0, &[f64::NAN; 5]), "recovered after 660 s", "no number, no proof");
    }

    /// A guard as noisy after the act as it was before is no worse by it, and one that is worse shows through the noise.
    #[test]
    fn noise_is_not_worse() {
        let noisy = |minute: u64| 1.0 + (minute * 7 % 10) as f64 / 10.0;
        let guard = |after: fn(f64) -> f64| {
            let reading = |at: Moment, badness: f64| Guarded { at, fresh: true, badness };
            let mut readings: Vec<Guarded> =
                (1..30).map(|minute| reading(Moment::from_micros(ACT - minute * MINUTE), noisy(minute))).collect();
            readings.extend((0..40).map(|place| reading(at(60 + place * 15), after(noisy(place)))));
            check(&Case { guards: vec![Guard { name: "p99".to_owned(), bound: None, readings }], ..good() })
        };
        assert_eq!(guard(|badness| badness), "recovered after 660 s");
        assert_eq!(guard(|badness| badness * 2.0), "worse after 90 s");
    }

    #[test]
    fn what_must_have_changed() {
        let id =
            |marks: &[(Mark, &str)]| marks.iter().fold(Identity::default(), |id, (mark, value)| id.with(*mark, *value));
        let version = |text: &str| Version::parse(text).expect("a version");
        let back = Params::Rollback { from_version: version("42"), to_version: version("41") };
        let check = |action, before: &[(Mark, &str)], now: &[(Mark, &str)]| {
            target_changed(IncidentKind::ErrorRateHigh, action, &back, &id(before), &id(now))
        };
        use Action::{ReloadModel, RequestRedeployment, RestartComponent, RollbackModel};
        use Mark::{AliasVersion, Generation, Instance, Revision, ServedVersion, StartTime};
        assert_eq!(check(RestartComponent, &[(StartTime, "1")], &[(StartTime, "2")]), Some(true));
        assert_eq!(check(RestartComponent, &[(StartTime, "1")], &[(StartTime, "1")]), Some(false));
        assert_eq!(
            check(RestartComponent, &[(StartTime, "1"), (Instance, "a")], &[(StartTime, "1"), (Instance, "b")]),
            Some(true)
        );
        assert_eq!(check(RestartComponent, &[], &[(StartTime, "2")]), None);
        assert_eq!(
            check(
                ReloadModel,
                &[(Generation, "1"), (ServedVersion, "42")],
                &[(Generation, "2"), (ServedVersion, "42")]
            ),
            Some(true)
        );
        assert_eq!(
            check(
                ReloadModel,
                &[(Generation, "1"), (ServedVersion, "42")],
                &[(Generation, "2"), (ServedVersion, "43")]
            ),
            Some(false)
        );
        // Where the wrong version was served, it is the other way round.
        let wrong = |before: &[(Mark, &str)], now: &[(Mark, &str)]| {
            target_changed(IncidentKind::WrongModelVersion, ReloadModel, &back, &id(before), &id(now))
        };
        let was = [(Generation, "1"), (ServedVersion, "41")];
        assert_eq!(wrong(&was, &[(Generation, "2"), (ServedVersion, "42")]), Some(true));
        assert_eq!(wrong(&was, &[(Generation, "2"), (ServedVersion, "41")]), Some(false), "loaded, and the same");
        assert_eq!(wrong(&was, &[(Generation, "1"), (ServedVersion, "42")]), Some(false), "another one answers");
        assert_eq!(wrong(&was, &[(Generation, "2")]), None, "served version unknown");
        assert_eq!(check(RollbackModel, &[], &[(AliasVersion, "41"), (ServedVersion, "41")]), Some(true));
        assert_eq!(
            check(RollbackModel, &[], &[(AliasVersion, "41"), (ServedVersion, "42")]),
            Some(false),
            "not reloaded"
        );
        assert_eq!(check(RollbackModel, &[], &[(AliasVersion, "41")]), None, "served version unknown");
        assert_eq!(check(RollbackModel, &[(ServedVersion, "42")], &[(ServedVersion, "41")]), Some(true), "no alias");
        assert_eq!(check(RollbackModel, &[(AliasVersion, "42")], &[(ServedVersion, "41")]), None, "alias unknown");
        assert_eq!(check(RequestRedeployment, &[(Revision, "7")], &[(Revision, "8")]), Some(true));
        assert_eq!(check(Action::Escalate, &[(Revision, "7")], &[(Revision, "8")]), None);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(10_000))]
        /// Never recovered without enough fresh readings inside, none outside, and a change that was seen.
        #[test]
        fn recovery_is_always_earned(
            readings in prop::collection::vec((0..1_400_u64, any::<bool>(), prop::option::of(any::<bool>())), 0..60),
            changed in prop::option::of(any::<bool>()), extended: bool, now in 0..1_400_u64,
        ) {
            let seen: Vec<Seen> = readings.iter().map(|(second, fresh, inside)| Seen { at: at(*second), fresh: *fresh, inside: *inside }).collect();
            let plan = Plan::of(Action::RestartComponent).expect("it has one");
            let signals = [seen.clone()];
            let case = Look { plan, acted_at: at(0), extended, signals: &signals, probe: None, guards: &[], changed };
            if let Progress::Ended(super::VerificationOutcome::Recovered, _) = look(&case, at(now)) {
                let from = if extended { 660 } else { 60 };
                let within = |one: &&Seen| one.at >= at(from) && one.at <= at(from + 600) && one.fresh;
                prop_assert!(changed == Some(true) && now >= from + 600);
                prop_assert!(seen.iter().filter(within).filter(|one| one.inside == Some(true)).count() >= 5);
                prop_assert!(!seen.iter().filter(within).any(|one| one.inside == Some(false)));
            }
        }
    }
}
