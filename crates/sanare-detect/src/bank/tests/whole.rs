//! Qualities and profiles through the bank: values that decide as a whole.

use std::collections::BTreeSet;
use std::sync::Arc;

use sanare_core::service::config::Bound;
use sanare_core::service::moment::SECOND;
use sanare_core::service::profile::Role;
use sanare_core::service::value::Quality;
use sanare_core::service::{IncidentKind, Moment, ObservedValue, Severity};

use super::super::{Bank, DriftFor, QualityFor, Settings};
use super::{app, seen, signal, told};
use crate::drift::judge::DriftRule;
use crate::drift::reference::{Cell, Cells, Named, learn, sketch};
use crate::drift::schema::Schema;
use crate::quality::{QualityRule, Spread};

#[test]
fn a_quality_below_its_bound_opens_an_incident() {
    let settings = Settings {
        qualities: vec![QualityFor {
            id: "auc".to_owned(),
            application: app(),
            signal: signal("auc"),
            rule: QualityRule::new(Bound::Below(0.8)).expect("a rule"),
            spread: Spread::Share,
        }],
        ..Settings::default()
    };
    let mut bank = Bank::new(Arc::new(settings));
    let mut found = Vec::new();
    for (second, value) in [(0, 0.9), (10, 0.7), (20, 0.9)] {
        let window = |offset: u64| Moment::from_micros(super::START + (second * 100 + offset) * SECOND);
        let quality = Quality { value, samples: 5_000, from: window(0), to: window(50) };
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
    assert_eq!((found[0].severity, found[0].columns.as_slice()), (Severity::Medium, &["x".to_owned()][..]));
    let quiet = run(&[]);
    assert_eq!((quiet[0].kind, quiet[0].severity), (IncidentKind::InputDrift, Severity::Low), "alone it is low");
}
