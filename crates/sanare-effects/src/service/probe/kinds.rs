//! From a service that misbehaves to the incident that opens: probes, their observations, and detectors together (S28).

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use sanare_core::id::Id;
use sanare_core::service::port::Probe as _;
use sanare_core::service::target::{Identity, Mark};
use sanare_core::service::{Application, Component, Condition, Moment, Observation, Source, Stamp, Trust};
use sanare_detect::bank::{Bank, HealthSign, Settings};
use sanare_detect::health::Sign;
use sanare_detect::order::Order;

use super::{Expected, HttpProbe};
use crate::service::twin::{Say, Twin, ok};

const GOOD: &str = r#"{"model_version": "42", "pod": "a-1", "score": 0.5}"#;

/// Four rounds of a ping and a serving probe, fifteen seconds apart: what fires.
fn check(ping: bool, say: Say) -> Vec<String> {
    check_for(4, ping, move |_| say.clone())
}

fn check_for(rounds: u64, ping: bool, say: impl Fn(u64) -> Say + Send + Sync + 'static) -> Vec<String> {
    let now = Arc::new(AtomicU64::new(0));
    let round = Arc::clone(&now);
    let twin = Twin::new(move |seen| match seen.path.as_str() {
        "/ping" if ping => ok("pong"),
        "/ping" => Say::Reset,
        _ => say(round.load(Ordering::SeqCst)),
    });
    let application = Application::parse("fraud").expect("a name");
    let (source, component) = (Source::parse("probe").expect("a name"), Component::default());
    let probe = |name: &str| super::Settings {
        timeout: Duration::from_millis(300),
        ..super::Settings::get(name, twin.at(&format!("/{name}")))
    };
    let score = super::Settings {
        expected: vec![Expected::Present("/score".to_owned())],
        marks: vec![(Mark::ServedVersion, "/model_version".to_owned()), (Mark::Instance, "/pod".to_owned())],
        ..probe("score")
    };
    let probes = [probe("ping"), score].map(|settings| HttpProbe::new(settings).expect("a probe"));
    let expected = Identity::default().with(Mark::ServedVersion, "42").with(Mark::Instance, "a-1");
    let signs = |name: &str, sign| HealthSign::of_probe(&application, name, sign).expect("signs");
    let settings = Settings {
        signs: [signs("ping", Sign::Ping), signs("score", Sign::Serving)].concat(),
        orders: BTreeMap::from([(source.clone(), Order { lag: 0 })]),
        ..Settings::default()
    };
    let mut bank = Bank::new(Arc::new(settings));
    let mut fired = Vec::new();
    for round in 0..rounds {
        now.store(round, Ordering::SeqCst);
        let arrival = Moment::from_micros(1_800_000_000_000_000 + round * 15_000_000);
        for (probe, expected) in probes.iter().zip([&Identity::default(), &expected]) {
            let mut findings = bank.tick(arrival);
            for draft in probe.drafts(&application, &component, &probe.ask(), expected) {
                let stamp = Stamp { id: Id::new("obs", 1, 1), arrival, source: source.clone(), trust: Trust::Own };
                let observation = Observation::accept(draft, stamp).expect("an observation");
                findings.extend(bank.observe(&observation).findings);
            }
            let firing = findings.iter().filter(|finding| finding.change.to == Condition::Firing);
            fired.extend(firing.map(|finding| format!("{round} {}", finding.kind)));
        }
    }
    fired
}

#[test]
fn the_right_kind_opens_for_each_way_of_not_serving() {
    let none: [&str; 0] = [];
    assert_eq!(check(true, ok(GOOD)), none);
    for say in [
        Say::Hang,
        ok("<html>Something went wrong</html>"),
        Say::With(200, "age: 37", GOOD.to_owned()),
        ok(&"x".repeat(10_000_000)),
        ok(&GOOD.replace("a-1", "b-9")),
        Say::Status(500, String::new()),
    ] {
        assert_eq!(check(true, say.clone()), ["2 half_alive"], "the ping passes");
    }
    assert_eq!(check(true, ok(&GOOD.replace("42", "41"))), ["0 wrong_model_version"]);
    assert_eq!(check(false, Say::Reset), ["2 unreachable"]);
    let then_down = |round: u64| if round < 25 { ok(GOOD) } else { Say::Status(500, String::new()) };
    assert_eq!(check_for(60, true, then_down), ["27 half_alive"], "who does not answer has no name to be missed");
    assert_eq!(check(false, ok(GOOD)), none, "a ping alone is nobody's service");
}
