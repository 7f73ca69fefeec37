//! Tables of series and the transitions that rules make of them.

use std::collections::BTreeMap;

use proptest::prelude::*;
use sanare_core::service::config::{Aggregate, Bound, RuleSettings};
use sanare_core::service::moment::SECOND;
use sanare_core::service::{Component, IncidentKind, Labels, Moment, Severity, Signal};

use super::{Rule, Watch};
use crate::reading::{Input, Reading};

const START: u64 = 1_000_000 * SECOND;

pub(crate) fn draft(bound: Bound) -> RuleSettings {
    RuleSettings {
        id: "p99".to_owned(),
        component: None,
        signal: Signal::parse("latency_p99_ms").expect("a name"),
        labels: BTreeMap::new(),
        bound,
        clear: None,
        pending: None,
        keep: None,
        of: None,
        aggregate: Aggregate::Last,
        window: None,
        every: None,
        kind: IncidentKind::LatencyHigh,
        severity: None,
        distinct: Vec::new(),
        line: 0,
    }
}

/// A reading every ten seconds; `n` is NaN, `m` the news that the signal is missing, `l5` a late reading of 5 that belongs
/// five seconds before. Answer: the changes, as second and first letter.
fn check(draft: RuleSettings, series: &str) -> String {
    let rule = match Rule::new(draft) {
        Ok(rule) => rule,
        Err(invalid) => return format!("refused: {}", invalid.field),
    };
    let mut watch = Watch::default();
    let mut told = Vec::new();
    for (place, word) in series.split_whitespace().enumerate() {
        let second = place as u64 * 10;
        let at = Moment::from_micros(START + second * SECOND);
        let number = |text: &str| text.parse::<f64>().expect("a number");
        let input = match word {
            "m" => Input::Missing(at),
            "n" => Input::Reading(Reading::new(at, f64::NAN)),
            _ => match word.strip_prefix('l') {
                Some(text) => Input::Late(Reading::new(at.minus(5 * SECOND), number(text))),
                None => Input::Reading(Reading::new(at, number(word))),
            },
        };
        let crossing = rule.step(&mut watch, input);
        told.extend(crossing.map(|crossing| format!("{second}{}", letter(crossing.change.to.word()))));
    }
    told.join(" ")
}

fn letter(word: &str) -> &str {
    match word {
        "firing" => "F",
        "pending" => "p",
        "clearing" => "c",
        _ => ".",
    }
}

fn quick(bound: Bound) -> RuleSettings {
    RuleSettings { pending: Some(20 * SECOND), keep: Some(20 * SECOND), ..draft(bound) }
}

#[test]
fn a_bound_and_its_hysteresis() {
    let above = || quick(Bound::Above(500.0));
    assert_eq!(check(above(), "500 500 500 500"), "", "the bound itself is within");
    assert_eq!(check(above(), "501 501 501 501"), "0p 20F");
    assert_eq!(check(above(), "501 400 501 501"), "0p 10. 20p");
    assert_eq!(check(above(), "501 501 501 400 400 400 400"), "0p 20F 30c 50.");
    let clear = || RuleSettings { clear: Some(400.0), ..above() };
    assert_eq!(check(clear(), "501 501 501 450 450 450 450"), "0p 20F", "not within `clear`");
    assert_eq!(check(clear(), "501 501 501 400 450 400 400 400"), "0p 20F 30c 40F 50c 70.");
    let below = RuleSettings { clear: Some(20.0), ..quick(Bound::Below(10.0)) };
    assert_eq!(check(below, "9 9 9 15 20 20 20"), "0p 20F 40c 60.");
}

#[test]
fn defaults_are_a_minute_and_five() {
    let bad = "501 ".repeat(7);
    assert_eq!(check(draft(Bound::Above(500.0)), &bad), "0p 60F");
    let then_good = format!("{bad}{}", "1 ".repeat(31));
    assert_eq!(check(draft(Bound::Above(500.0)), &then_good), "0p 60F 70c 370.");
    assert_eq!(Rule::new(draft(Bound::Above(1.0))).expect("a rule").severity(), Severity::Medium);
}

#[test]
fn missing_and_numberless_readings_prove_nothing() {
    let above = || quick(Bound::Above(500.0));
    assert_eq!(check(above(), "n n n n n"), "");
    assert_eq!(check(above(), "501 501 m 501 501 501"), "0p 20. 30p 50F", "pending begins anew");
    assert_eq!(check(above(), "501 501 501 m m m"), "0p 20F", "missing clears nothing");
    assert_eq!(check(above(), "501 501 501 1 m 1 1 1"), "0p 20F 30c 40F 50c 70.");
    assert_eq!(check(above(), "501 501 501 1 n 1 n 1 n"), "0p 20F 30c 40F 50c 60F 70c 80F", "n good in a row");
    assert_eq!(check(above(), ""), "");
}

#[test]
fn late_readings_decide_nothing_but_correct_an_open_window() {
    assert_eq!(check(quick(Bound::Above(500.0)), "1 l900 l900 l900 l900"), "");
    assert_eq!(check(quick(Bound::Above(500.0)), "501 501 501 l1 l1 l1"), "0p 20F");
    let max = || RuleSettings { aggregate: Aggregate::Max, window: Some(60 * SECOND), ..quick(Bound::Above(500.0)) };
    assert_eq!(check(max(), "1 1 1 l900 1 1 1"), "40p 60F", "the next reading in order sees it");
}

#[test]
fn so_many_of_so_many() {
    let three = || RuleSettings { of: Some((3, 5)), ..quick(Bound::Above(500.0)) };
    assert_eq!(check(three(), "501 1 501 1 501 1 501 501"), "40p 50. 60p");
    assert_eq!(check(three(), "501 501 501 501 501 1 1 1 1 1"), "20p 40F 70c 90.");
    assert_eq!(check(three(), "501 501 1 1 1 501 501"), "");
}

#[test]
fn aggregates_over_a_window() {
    let mean = || RuleSettings { aggregate: Aggregate::Mean, window: Some(40 * SECOND), ..quick(Bound::Above(500.0)) };
    assert_eq!(check(mean(), "400 400 400 2000 400 400 400 400 400"), "30p 50F 70c", "one spike is in four means");
    let rate = RuleSettings { aggregate: Aggregate::Rate, window: Some(30 * SECOND), ..quick(Bound::Below(2.0)) };
    assert_eq!(check(rate, "0 100 200 210 211 212 213"), "40p 60F");
    let narrow = RuleSettings { aggregate: Aggregate::Mean, window: Some(5 * SECOND), ..quick(Bound::Above(500.0)) };
    assert_eq!(check(narrow, &"900 ".repeat(30)), "", "a window that never holds two readings never fires");
}

#[test]
fn rules_that_make_no_sense_are_refused() {
    let above = || draft(Bound::Above(500.0));
    assert_eq!(check(RuleSettings { clear: Some(501.0), ..above() }, ""), "refused: clear");
    assert_eq!(check(RuleSettings { clear: Some(9.0), ..draft(Bound::Below(10.0)) }, ""), "refused: clear");
    assert_eq!(check(RuleSettings { clear: Some(f64::NAN), ..above() }, ""), "refused: clear");
    assert_eq!(check(draft(Bound::Above(f64::INFINITY)), ""), "refused: above");
    assert_eq!(check(draft(Bound::Below(f64::NAN)), ""), "refused: below");
    assert_eq!(check(RuleSettings { pending: Some(1_000), ..above() }, ""), "refused: for");
    assert_eq!(check(RuleSettings { keep: Some(1_000), ..above() }, ""), "refused: keep");
    assert_eq!(check(RuleSettings { of: Some((6, 5)), ..above() }, ""), "refused: of");
    assert_eq!(check(RuleSettings { of: Some((0, 5)), ..above() }, ""), "refused: of");
    assert_eq!(check(RuleSettings { of: Some((3, 21)), ..above() }, ""), "refused: of");
    assert_eq!(check(RuleSettings { id: " ".to_owned(), ..above() }, ""), "refused: id");
    let mean = |window, every| RuleSettings { aggregate: Aggregate::Mean, window, every, ..above() };
    assert_eq!(check(mean(None, None), ""), "refused: window");
    assert_eq!(check(mean(Some(4 * SECOND), None), ""), "refused: window");
    assert_eq!(check(mean(Some(59 * SECOND), Some(30 * SECOND)), ""), "refused: window");
    assert_eq!(check(mean(Some(60 * SECOND), Some(30 * SECOND)), ""), "");
    assert_eq!(check(RuleSettings { window: Some(60 * SECOND), ..above() }, ""), "refused: window");
    let quantile = RuleSettings { aggregate: Aggregate::Quantile(1.5), window: Some(60 * SECOND), ..above() };
    assert_eq!(check(quantile, ""), "refused: aggregate");
}

#[test]
fn a_rule_watches_its_own_series() {
    let labels = |value: &str| Labels::new(BTreeMap::from([("zone".to_owned(), value.to_owned())])).expect("labels");
    let mut draft = draft(Bound::Above(1.0));
    draft.labels = BTreeMap::from([("zone".to_owned(), "a".to_owned())]);
    let rule = Rule::new(draft).expect("a rule");
    let signal = Signal::parse("latency_p99_ms").expect("a name");
    assert!(rule.watches(&Component::default(), &signal, &labels("a")));
    assert!(!rule.watches(&Component::default(), &signal, &labels("b")));
    assert!(!rule.watches(&Component::default(), &signal, &Labels::default()));
    assert!(!rule.watches(&Component::default(), &Signal::parse("latency").expect("a name"), &labels("a")));
}

#[test]
fn readings_of_unknown_age_clear_later() {
    let rule = Rule::new(quick(Bound::Above(500.0))).expect("a rule");
    let mut watch = Watch::default();
    let mut cleared = None;
    for place in 0..60_u64 {
        let at = Moment::from_micros(START + place * 10 * SECOND);
        let reading = if place < 3 { Reading::new(at, 900.0) } else { Reading::of_unknown_age(at, 1.0) };
        if rule.step(&mut watch, Input::Reading(reading)).is_some() {
            cleared = Some((place * 10, watch.condition().word()));
        }
    }
    assert_eq!(cleared, Some((30 + 20 + 300, "cleared")));
}

proptest! {
    #[test]
    fn a_state_is_small_and_finite(values in prop::collection::vec(any::<f64>(), 1..500)) {
        let aggregate = RuleSettings { aggregate: Aggregate::Mean, window: Some(86_400 * SECOND), ..draft(Bound::Above(0.5)) };
        let rule = Rule::new(aggregate).expect("a rule");
        let mut watch = Watch::default();
        for (place, value) in values.iter().enumerate() {
            let at = Moment::from_micros(START + place as u64 * SECOND);
            let crossing = rule.step(&mut watch, Input::Reading(Reading::new(at, *value)));
            prop_assert!(crossing.and_then(|crossing| crossing.value).is_none_or(f64::is_finite));
        }
        prop_assert!(watch.window.newest(usize::MAX).all(f64::is_finite));
        let bytes = postcard::to_allocvec(&watch).map(|bytes| bytes.len()).unwrap_or(usize::MAX);
        prop_assert!(bytes <= 4_096, "{} bytes", bytes);
    }
}
