//! Qualities and profiles through the bank: values that decide as a whole.

use std::collections::BTreeSet;
use std::sync::Arc;

use sanare_core::service::config::{Bound, QualityForm};
use sanare_core::service::moment::SECOND;
use sanare_core::service::profile::Role;
use sanare_core::service::value::Quality;
use sanare_core::service::{Flag, IncidentKind, Moment, ObservedValue, Severity};

use super::super::{Bank, DriftFor, QualityFor, Settings};
use super::{app, seen, signal, told};
use crate::drift::judge::DriftRule;
use crate::drift::reference::{Cell, Cells, Named, learn, sketch};
use crate::drift::schema::Schema;
use crate::quality::QualityRule;

#[test]
fn a_quality_below_its_bound_opens_an_incident() {
    let settings = Settings {
        qualities: vec![QualityFor {
            id: "auc".to_owned(),
            application: app(),
            signal: signal("auc"),
            rule: QualityRule::new(Bound::Below(0.8)).expect("a rule"),
            form: QualityForm::Share,
        }],
        ..Settings::default()
    };
    let mut bank = Bank::new(Arc::new(settings));
    let mut found = Vec::new();
    for (second, value) in [(0, 0.9), (10, 0.7), (20, 0.9)] {
        let window = |offset: u64| Moment::from_micros(super::START + (second * 100 + offset) * SECOND);
        let quality = Quality {
            value,
            samples: 5_000,
            from: window(0),
            to: window(50),
            half: None,
            positives: None,
            deviation: None,
        };
        found.extend(bank.observe(&seen("auc", ObservedValue::PredictionQuality(quality), second as i64, 0)).findings);
    }
    assert_eq!(told(&found), ["10 quality_low firing", "20 quality_low cleared"]);
    assert_eq!((found[0].value, found[0].rule.as_str()), (Some(0.7), "auc"));
}

#[test]
fn profiles_open_drift_and_schema_incidents() {
    let column = |shift: f64| Cells {
        name: "x".to_owned(),
        role: Role::Feature,
        cells: (0..1_000).map(|place| Cell::Number(f64::from(place) / 1_000.0 + shift)).collect(),
    };
    let named = Named { name: "r".to_owned(), version: 1, model_version: None };
    let reference = learn(&named, b"k", &[column(0.0)]).expect("a reference");
    let run = |important: &[&str]| {
        let important: BTreeSet<String> = important.iter().map(|name| (*name).to_owned()).collect();
        let drift = DriftFor {
            application: app(),
            signal: signal("profile"),
            schema: Some(Schema::learn(&reference)),
            rule: DriftRule { important },
            reference: reference.clone(),
        };
        let mut bank = Bank::new(Arc::new(Settings { drifts: vec![drift], ..Settings::default() }));
        let mut found = Vec::new();
        for hour in 0..4 {
            let shift = if hour < 2 { 0.0 } else { 0.5 };
            let profile = Box::new(sketch(&reference, b"k", &[column(shift)]).expect("a profile"));
            found.extend(bank.observe(&seen("profile", ObservedValue::Drift(profile), hour * 3_600, 0)).findings);
            let saved = bank.save();
            bank = Bank::load(Arc::clone(&bank.settings), &saved).expect("a bank");
        }
        found
    };
    let found = run(&["x"]);
    assert_eq!(told(&found), ["10800 input_drift firing", "10800 schema_violation firing"]);
    assert_eq!(found[1].columns, ["x (out of range in 50.0 %)"]);
    assert_eq!((found[0].severity, found[0].columns.as_slice()), (Severity::Medium, &["x".to_owned()][..]));
    let quiet = run(&[]);
    assert_eq!((quiet[0].kind, quiet[0].severity), (IncidentKind::InputDrift, Severity::Low), "alone it is low");
}

/// Places of columns are those of one version, and twice in a row is twice against the same.
#[test]
fn a_profile_against_another_version_is_the_first_in_its_row_and_what_is_ill_stays_ill() {
    let column = |name: &str, shift: f64| Cells {
        name: name.to_owned(),
        role: Role::Feature,
        cells: (0..1_000).map(|place| Cell::Number(f64::from(place) / 1_000.0 + shift)).collect(),
    };
    let rows = |x: f64, y: f64| [column("x", x), column("y", y)];
    let of = |version: u32, base: [f64; 2]| {
        let named = Named { name: "r".to_owned(), version, model_version: None };
        learn(&named, b"k", &rows(base[0], base[1])).expect("a reference")
    };
    let run = |hours: &[(u32, f64)]| {
        let references = [of(1, [0.0, 0.0]), of(2, [0.0, 0.0])];
        let settings = |version: u32| {
            let reference = references[version as usize - 1].clone();
            let rule = DriftRule { important: BTreeSet::from(["x".to_owned()]) };
            let schema = Some(Schema::learn(&reference));
            let drift = DriftFor { application: app(), signal: signal("profile"), schema, rule, reference };
            Arc::new(Settings { drifts: vec![drift], ..Settings::default() })
        };
        let mut bank = Bank::new(settings(1));
        let mut found = Vec::new();
        for (hour, (version, shift)) in hours.iter().enumerate() {
            bank = Bank::load(settings(*version), &bank.save()).expect("a bank");
            let reference = &references[*version as usize - 1];
            let profile = Box::new(sketch(reference, b"k", &rows(*shift, 0.0)).expect("a profile"));
            let value = ObservedValue::Drift(profile);
            found.extend(bank.observe(&seen("profile", value, hour as i64 * 3_600, 0)).findings);
        }
        told(&found)
    };
    assert_eq!(run(&[(1, 0.5), (1, 0.5)]), ["3600 input_drift firing", "3600 schema_violation firing"]);
    assert_eq!(run(&[(1, 0.5), (2, 0.5)]), Vec::<String>::new());
    assert_eq!(run(&[(1, 0.5), (2, 0.5), (2, 0.5)]), ["7200 input_drift firing", "7200 schema_violation firing"]);
    let healed = run(&[(1, 0.5), (1, 0.5), (2, 0.0), (2, 0.0)]);
    assert_eq!(healed[2..], ["10800 input_drift cleared", "10800 schema_violation cleared"], "{healed:?}");
}

#[test]
fn a_quality_is_judged_by_the_interval_that_its_sender_or_its_form_gives() {
    let run = |form: QualityForm, readings: &[(f64, Option<f64>, Option<u64>, Option<f64>)]| {
        let rule = QualityRule::new(Bound::Below(0.8)).expect("a rule");
        let quality = QualityFor { id: "q".to_owned(), application: app(), signal: signal("q"), rule, form };
        let mut bank = Bank::new(Arc::new(Settings { qualities: vec![quality], ..Settings::default() }));
        let mut found = Vec::new();
        for (place, (value, half, positives, deviation)) in readings.iter().copied().enumerate() {
            let second = place as i64 * 60;
            let at = |offset: u64| Moment::from_micros(super::START + (second as u64 + offset) * SECOND);
            let quality = Quality { value, samples: 1_000, from: at(0), to: at(50), half, positives, deviation };
            found.extend(bank.observe(&seen("q", ObservedValue::PredictionQuality(quality), second, 0)).findings);
        }
        told(&found)
    };
    let none = Vec::<String>::new();
    // S46: an area of 0.79 ± 0.05 against 0.80 is not low, one of 0.70 ± 0.02 is.
    assert_eq!(run(QualityForm::Auc, &[(0.79, Some(0.05), None, None)]), none);
    assert_eq!(run(QualityForm::Auc, &[(0.70, Some(0.02), None, None)]), ["0 quality_low firing"]);
    assert_eq!(run(QualityForm::Auc, &[(0.70, None, Some(500), None)]), ["0 quality_low firing"]);
    assert_eq!(run(QualityForm::Auc, &[(0.70, None, None, None)]), none, "nobody said how many are positive");
    assert_eq!(run(QualityForm::Auc, &[(0.70, None, Some(1_000), None)]), none, "one class only");
    assert_eq!(run(QualityForm::Mean, &[(0.70, None, None, Some(1.0))]), ["0 quality_low firing"]);
    assert_eq!(run(QualityForm::Mean, &[(0.70, None, None, Some(5.0))]), none);
    assert_eq!(run(QualityForm::Mean, &[(0.70, None, None, None)]), none, "nobody said how they spread");
}

#[test]
fn labels_that_come_later_are_noted_as_restated_and_change_nothing() {
    let rule = QualityRule::new(Bound::Below(0.8)).expect("a rule");
    let form = QualityForm::Share;
    let quality = QualityFor { id: "q".to_owned(), application: app(), signal: signal("q"), rule, form };
    let mut bank = Bank::new(Arc::new(Settings { qualities: vec![quality], ..Settings::default() }));
    let mut tell = |second: i64, window: u64, value: f64| {
        let at = |offset: u64| Moment::from_micros(super::START + (window * 100 + offset) * SECOND);
        let (from, to) = (at(0), at(50));
        let quality = Quality { value, samples: 5_000, from, to, half: None, positives: None, deviation: None };
        bank.observe(&seen("q", ObservedValue::PredictionQuality(quality), second, 0))
    };
    assert_eq!(tell(0, 9, 0.9), super::super::Noted::default());
    let again = tell(60, 9, 0.5);
    assert_eq!((again.flags.as_slice(), again.findings.len()), (&[Flag::Restated][..], 0));
    let older = tell(120, 2, 0.5);
    assert_eq!((older.flags.as_slice(), older.findings.len()), (&[Flag::Restated][..], 0), "a window of long ago");
}

#[test]
fn profiles_that_come_are_not_missing_numbers() {
    let named = Named { name: "r".to_owned(), version: 1, model_version: None };
    let cells = (0..300).map(|place| Cell::Number(f64::from(place))).collect();
    let column = Cells { name: "x".to_owned(), role: Role::Feature, cells };
    let profile = learn(&named, b"k", &[column]).expect("a reference");
    let settings = Settings { watched: BTreeSet::from([(app(), signal("profile"))]), ..Settings::default() };
    let mut bank = Bank::new(Arc::new(settings));
    for hour in 0..6 {
        let value = ObservedValue::Drift(Box::new(profile.clone()));
        let noted = bank.observe(&seen("profile", value, hour * 3_600, 0));
        assert_eq!(told(&noted.findings), Vec::<String>::new(), "{hour}");
    }
}
