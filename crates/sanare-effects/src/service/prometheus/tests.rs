//! Answers of a scripted Prometheus: what is a reading, what is none, and how old it is.

use std::time::Duration;

use sanare_core::service::{Application, Component, Flag, Moment, Signal};

use super::{EVERY, Pull, PullFault, Settings, is_selector};
use crate::service::twin::{Say, Twin, nobody, ok};

fn settings(twin: &Twin, query: &str) -> Settings {
    let labels = vec!["instance".to_owned()];
    let signal = Signal::parse("up").expect("a name");
    Settings { endpoint: twin.at(""), query: query.to_owned(), timestamps: None, labels, signal, every: EVERY }
}

fn vector(series: &[(&str, &str)]) -> String {
    let one = |(instance, value): &(&str, &str)| {
        format!(
            r#"{{"metric":{{"__name__":"up","instance":"{instance}","pod":"x"}},"value":[1700000300.5,"{value}"]}}"#
        )
    };
    let list: Vec<String> = series.iter().map(one).collect();
    format!(r#"{{"status":"success","data":{{"resultType":"vector","result":[{}]}}}}"#, list.join(","))
}

/// What comes of one answer to every query.
fn check(say: Say) -> Result<Vec<String>, PullFault> {
    let twin = Twin::new(move |_| say.clone());
    let pulled = Pull::new(settings(&twin, "rate(x[5m])")).expect("a query").pull()?;
    Ok(pulled
        .iter()
        .map(|sample| format!("{} {}", sample.labels.get("instance").unwrap_or("-"), sample.value))
        .collect())
}

#[test]
fn numbers_come_as_text() {
    let all = vector(&[("a", "1.5"), ("b", "NaN"), ("c", "+Inf"), ("d", "-Inf"), ("e", "1e309"), ("f", "-0")]);
    let expected = ["a 1.5", "b NaN", "c inf", "d -inf", "e inf", "f -0"].map(str::to_owned);
    assert_eq!(check(ok(&all)), Ok(expected.to_vec()));
    let scalar = r#"{"status":"success","data":{"resultType":"scalar","result":[1700000300.5,"3"]}}"#;
    assert_eq!(check(ok(scalar)), Ok(vec!["- 3".to_owned()]));
    assert_eq!(check(ok(&vector(&[]))), Ok(Vec::new()), "no series is no error");
}

#[test]
fn what_is_no_answer_is_a_fault_and_no_reading() {
    let unreadable = |say: Say| matches!(check(say), Err(PullFault::Unreadable(_)));
    let matrix = vector(&[("a", "1")]).replace("vector", "matrix");
    assert!(unreadable(ok(&matrix)));
    assert!(unreadable(ok(&vector(&[("a", "one")]))));
    assert!(unreadable(ok(r#"{"status":"error","errorType":"timeout","error":"token=s3cr3t"}"#)));
    assert!(unreadable(ok("<html>")));
    assert!(unreadable(ok(&vector(&[("a", "1")])[..60])), "half an answer");
    assert!(unreadable(ok(&vector(&[("a", "1"), ("a", "2")]))), "two series that are one");
    let many: Vec<String> = (0..501).map(|number| number.to_string()).collect();
    let many: Vec<(&str, &str)> = many.iter().map(|name| (name.as_str(), "1")).collect();
    assert!(unreadable(ok(&vector(&many))) && check(ok(&vector(&many[..500]))).is_ok());
    assert!(unreadable(Say::Endless), "2 GB");
    assert_eq!(check(Say::With(302, "location: /login", String::new())), Err(PullFault::Status(302)));
    assert_eq!(check(Say::Status(422, String::new())), Err(PullFault::Status(422)));
    assert!(matches!(check(Say::Reset), Err(PullFault::NoAnswer(_))));
    let twin = Twin::new(|_| ok(""));
    let gone = Settings { endpoint: nobody(), ..settings(&twin, "up") };
    assert!(matches!(Pull::new(gone).expect("a query").pull(), Err(PullFault::NoAnswer(_))));
}

#[test]
fn only_the_samples_own_times_tell_how_old_they_are() {
    let twin = Twin::new(|seen| match seen.path.contains("timestamp") {
        // `b` has just gone: its time is not known any more.
        true => ok(&vector(&[("a", "1700000290.25")])),
        false => ok(&vector(&[("a", "1"), ("b", "0")])),
    });
    let at = |settings: Settings| -> Vec<Option<Moment>> {
        Pull::new(settings).expect("a query").pull().expect("samples").iter().map(|sample| sample.at).collect()
    };
    let known = Moment::from_micros(1_700_000_290_250_000);
    assert_eq!(at(settings(&twin, r#"up{job="x"}"#)), [Some(known), None]);
    assert_eq!(at(settings(&twin, "rate(x[5m])")), [None, None], "the time of asking is not the sample's");
    let own =
        Settings { timestamps: Some("max(timestamp(x)) by (instance)".to_owned()), ..settings(&twin, "rate(x[5m])") };
    assert_eq!(at(own), [Some(known), None]);
    let path = twin.seen().first().map(|seen| seen.path.clone()).expect("a request");
    assert_eq!(path, "/api/v1/query?timeout=10s&query=up%7Bjob%3D%22x%22%7D");
}

#[test]
fn a_sample_is_an_observation_of_its_own_time_or_of_none_that_is_known() {
    let twin = Twin::new(|seen| match seen.path.contains("timestamp") {
        true => ok(&vector(&[("a", "1700000290.25")])),
        false => ok(&vector(&[("a", "1"), ("b", "NaN")])),
    });
    let pull = Pull::new(settings(&twin, "up")).expect("a query");
    let (application, component) = (Application::parse("fraud").expect("a name"), Component::default());
    let samples = pull.pull().expect("samples");
    let made: Vec<_> = samples.iter().map(|sample| pull.draft(&application, &component, sample)).collect();
    assert_eq!(made[0].0.event_time, Some(Moment::from_micros(1_700_000_290_250_000)));
    assert_eq!((made[0].0.value.number(), made[0].1), (Some(1.0), None));
    assert_eq!((made[1].0.event_time, made[1].1), (None, Some(Flag::FreshnessUnknown)));
    assert!(made[1].0.value.is_non_finite());
    assert_eq!(made[1].0.labels.get("instance"), Some("b"));
}

#[test]
fn selectors_are_told_from_everything_else() {
    for selector in ["up", r#"up{job="x"}"#, r#"{__name__="up"}"#, r#"a:b{c="}\"{"}"#] {
        assert!(is_selector(selector), "{selector}");
    }
    for other in
        ["rate(x[5m])", "up == 1", "a + b", r#"up{a="b"} offset 5m"#, "x[5m]", "1", "", "up{", "sum by (a) (b)"]
    {
        assert!(!is_selector(other), "{other}");
    }
}

#[test]
fn blank_queries_and_odd_labels_are_refused() {
    let twin = Twin::new(|_| ok(""));
    assert!(Pull::new(settings(&twin, " ")).is_err());
    let often = Settings { every: Duration::from_millis(4_999), ..settings(&twin, "up") };
    assert_eq!(Pull::new(often).err().map(|invalid| invalid.field).as_deref(), Some("every"));
    assert!(Pull::new(Settings { labels: vec!["a b".to_owned()], ..settings(&twin, "up") }).is_err());
}
