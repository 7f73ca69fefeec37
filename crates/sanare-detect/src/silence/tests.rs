//! Who is silenced when, and what is refused.

use std::collections::{BTreeMap, BTreeSet};

use sanare_core::id::Id;
use sanare_core::service::moment::{DAY, HOUR, MINUTE};
use sanare_core::service::silence::{Field, Matcher, Test};
use sanare_core::service::{Application, Component, IncidentKind, Labels, Moment, Severity, Silence, Text};

use super::{Hush, Maintenance, Seen};

fn moment(text: &str) -> Moment {
    Moment::parse(text).expect("a time")
}

fn silence(change: impl Fn(&mut Silence)) -> Result<Hush, String> {
    let start = moment("2026-03-01T00:00:00Z");
    let mut silence = Silence {
        id: Id::from_text("sil_a"),
        matchers: vec![Matcher::new("application", Test::Equals("fraud".to_owned())).expect("a matcher")],
        author: "ann".to_owned(),
        reason: Text::of("new disks"),
        start,
        end: start.plus(HOUR),
        all: false,
        ended_by: None,
    };
    change(&mut silence);
    Hush::new(silence).map_err(|invalid| invalid.field)
}

fn seen<R>(look: impl Fn(Seen<'_>) -> R) -> R {
    let labels = Labels::new(BTreeMap::from([("zone".to_owned(), "eu-1".to_owned())])).expect("labels");
    look(Seen {
        application: &Application::parse("fraud").expect("a name"),
        component: &Component::default(),
        kind: IncidentKind::LatencyHigh,
        severity: Severity::Medium,
        labels: &labels,
    })
}

#[test]
fn bad_silences_are_refused() {
    assert!(silence(|_| {}).is_ok());
    assert_eq!(silence(|draft| draft.end = draft.start).err().as_deref(), Some("end"));
    assert_eq!(silence(|draft| draft.end = draft.start.minus(MINUTE)).err().as_deref(), Some("end"));
    assert!(silence(|draft| draft.end = draft.start.plus(30 * DAY)).is_ok());
    assert_eq!(silence(|draft| draft.end = draft.start.plus(31 * DAY)).err().as_deref(), Some("end"));
    assert_eq!(silence(|draft| draft.reason = Text::of("    why ")).err().as_deref(), Some("reason"));
    assert_eq!(silence(|draft| draft.author = " ".to_owned()).err().as_deref(), Some("author"));
    assert_eq!(silence(|draft| draft.matchers.clear()).err().as_deref(), Some("matchers"));
    assert!(silence(|draft| (draft.matchers, draft.all) = (Vec::new(), true)).is_ok());
    assert_eq!(silence(|draft| draft.all = true).err().as_deref(), Some("matchers"), "all, and yet not all");
    for bad in ["(", "(a{1000}){1000}", "a)|(b"] {
        let matcher = Matcher { field: Field::Application, test: Test::Matches(bad.to_owned()) };
        let made = silence(|draft| draft.matchers = vec![matcher.clone()]);
        assert_eq!(made.err().as_deref(), Some("matches"), "{bad}");
    }
}

#[test]
fn matchers_are_all_of_them_and_patterns_cover_the_whole() {
    let with = |field: Field, test: Test| {
        let silence = silence(|draft| draft.matchers.push(Matcher { field: field.clone(), test: test.clone() }));
        seen(|seen| silence.clone().expect("a silence").covers(seen, moment("2026-03-01T00:30:00Z")).is_some())
    };
    assert!(with(Field::Kind, Test::OneOf(BTreeSet::from(["latency_high".to_owned(), "half_alive".to_owned()]))));
    assert!(!with(Field::Kind, Test::Equals("half_alive".to_owned())));
    assert!(with(Field::Label("zone".to_owned()), Test::Matches("eu-.*".to_owned())));
    assert!(!with(Field::Label("zone".to_owned()), Test::Matches("eu".to_owned())), "anchored");
    assert!(!with(Field::Label("zone".to_owned()), Test::Matches("x|eu".to_owned())), "as a whole");
    assert!(with(Field::Label("host".to_owned()), Test::Equals(String::new())), "an absent label is empty");
    assert!(with(Field::Severity, Test::Equals("medium".to_owned())));
    assert!(with(Field::Component, Test::Equals("application".to_owned())));
}

#[test]
fn a_silence_covers_its_time_and_ends_early() {
    let silence = silence(|_| {}).expect("a silence");
    let at = |text: &str, silence: &Hush| seen(|seen| silence.covers(seen, moment(text)).is_some());
    assert!(!at("2026-02-28T23:59:59.999999Z", &silence));
    assert!(at("2026-03-01T00:00:00Z", &silence) && at("2026-03-01T00:59:59Z", &silence));
    assert!(!at("2026-03-01T01:00:00Z", &silence));
    let mut ended = silence.silence().clone();
    ended.end = moment("2026-03-01T00:20:00Z");
    assert!(!at("2026-03-01T00:30:00Z", &Hush::ready(ended).expect("it was checked")));
}

/// Whether a window in Brussels is open at times in UTC.
fn check(days: &[&str], from: &str, to: &str, times: &[(&str, bool)]) {
    let window = Maintenance::new(&[], days, from, to, "Europe/Brussels").expect("a window");
    for (time, open) in times {
        assert_eq!(seen(|seen| window.covers(seen, moment(time))), *open, "{time}");
    }
}

#[test]
fn windows_by_weekday_and_over_midnight() {
    // 2026-03-02 is a Monday; Brussels is an hour ahead in winter.
    check(
        &["Mon"],
        "08:00",
        "18:00",
        &[
            ("2026-03-02T06:59:59Z", false),
            ("2026-03-02T07:00:00Z", true),
            ("2026-03-02T16:59:59Z", true),
            ("2026-03-02T17:00:00Z", false),
            ("2026-03-03T10:00:00Z", false),
        ],
    );
    check(
        &["Mon"],
        "22:00",
        "06:00",
        &[
            ("2026-03-02T04:00:00Z", false),
            ("2026-03-02T21:00:00Z", true),
            ("2026-03-03T04:59:59Z", true),
            ("2026-03-03T05:00:00Z", false),
            ("2026-03-03T21:30:00Z", false),
        ],
    );
    check(&["Sun"], "22:00", "06:00", &[("2026-03-02T04:00:00Z", true)]);
}

#[test]
fn windows_follow_the_clock_on_the_wall_in_spring_and_autumn() {
    // 2026-03-29: at 01:00 UTC the clock goes from 02:00 to 03:00. 2026-10-25: at 01:00 UTC from 03:00 to 02:00.
    check(
        &["Sun"],
        "02:00",
        "03:00",
        &[
            ("2026-03-29T00:59:59Z", false),
            ("2026-03-29T01:00:00Z", false),
            ("2026-03-29T01:30:00Z", false),
            ("2026-10-24T23:59:59Z", false),
            ("2026-10-25T00:00:00Z", true),
            ("2026-10-25T01:30:00Z", true),
            ("2026-10-25T02:00:00Z", false),
        ],
    );
    check(&["Sun"], "03:00", "04:00", &[("2026-03-29T01:00:00Z", true), ("2026-10-25T02:00:00Z", true)]);
}

#[test]
fn bad_windows_are_refused() {
    let field = |days: &[&str], from: &str, to: &str, zone: &str| {
        Maintenance::new(&[], days, from, to, zone).err().map(|invalid| invalid.field).unwrap_or_default()
    };
    assert_eq!(field(&["Mon"], "08:00", "09:00", "Europe/Brussels"), "");
    assert_eq!(field(&["Mon"], "08:00", "09:00", "Europe/Nowhere"), "zone");
    assert_eq!(field(&["Mon"], "08:00", "09:00", ""), "zone");
    assert_eq!(field(&[], "08:00", "09:00", "UTC"), "days");
    assert_eq!(field(&["Montag"], "08:00", "09:00", "UTC"), "days");
    assert_eq!(field(&["Mon"], "8:00", "09:00", "UTC"), "from");
    assert_eq!(field(&["Mon"], "24:00", "09:00", "UTC"), "from");
    assert_eq!(field(&["Mon"], "08:00", "08:60", "UTC"), "to");
    assert_eq!(field(&["Mon"], "08:00", "08:00", "UTC"), "to");
}
