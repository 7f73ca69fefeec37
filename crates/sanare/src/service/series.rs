//! The readings of a rule, series by series: what a replica tells says nothing of the one beside it (S110, S111).

use std::collections::{BTreeMap, BTreeSet};

use sanare_core::service::config::RuleSettings;
use sanare_core::service::moment::MINUTE;
use sanare_core::service::verification::Seen;
use sanare_core::service::{Labels, Moment, Observation};

use super::detectors::is_inside;

/// Who told of it within this time before an act was there then; who was before that may have had another name.
const THERE: u64 = 5 * MINUTE;

/// As many signals as series opened the incident and were there when it was acted on: each has to show by itself that it is
/// well. A replica that was started anew has another name, so it is their number that counts; what more series there are is
/// looked at with the first, where it can only show that something is still ill.
pub(super) fn signals(
    recent: &[&Observation],
    opened: &[Observation],
    rule: &RuleSettings,
    acted_at: Moment,
) -> Vec<Vec<Seen>> {
    let of_rule = |one: &&Observation| {
        one.signal == rule.signal && rule.labels.iter().all(|(key, value)| one.labels.get(key) == Some(value.as_str()))
    };
    // Incidents that the rule tells apart are no news of each other.
    let apart = |labels: &Labels| -> Vec<Option<String>> {
        rule.distinct.iter().map(|name| labels.get(name).map(str::to_owned)).collect()
    };
    let opened: Vec<&Observation> = opened.iter().filter(of_rule).collect();
    let ours: BTreeSet<_> = opened.iter().map(|one| apart(&one.labels)).collect();
    let mut series: BTreeMap<&Labels, Vec<&Observation>> = BTreeMap::new();
    for one in recent.iter().copied().filter(of_rule) {
        if ours.is_empty() || ours.contains(&apart(&one.labels)) {
            series.entry(&one.labels).or_default().push(one);
        }
    }
    let there = |one: &&Observation| one.event_time <= acted_at && one.event_time >= acted_at.minus(THERE);
    let ill: BTreeSet<&Labels> = opened.iter().map(|one| &one.labels).collect();
    let need = series.iter().filter(|(labels, all)| ill.contains(*labels) && all.iter().any(there)).count().max(1);
    let after =
        |all: &[&Observation]| all.iter().filter(|one| one.event_time > acted_at && one.proves_freshness()).count();
    let mut series: Vec<Vec<&Observation>> = series.into_values().collect();
    series.sort_by_key(|all| std::cmp::Reverse(after(all)));
    let more = series.split_off(need.min(series.len())).concat();
    let seen = |one: &&Observation| Seen {
        at: one.event_time,
        fresh: one.proves_freshness(),
        inside: one.value.number().map(|number| is_inside(rule, number)),
    };
    let mut signals: Vec<Vec<Seen>> = series.iter().map(|all| all.iter().map(seen).collect()).collect();
    signals.resize(need, Vec::new());
    if let Some(first) = signals.first_mut() {
        first.extend(more.iter().map(seen));
        first.sort_by_key(|one| one.at);
    }
    signals
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use sanare_core::id::Id;
    use sanare_core::service::config::{Configuration, RuleSettings};
    use sanare_core::service::moment::MINUTE;
    use sanare_core::service::{
        Application, Draft, Labels, Moment, Observation, ObservedValue, Signal, Source, Stamp, Trust,
    };

    use sanare_core::settings::SettingsFile;

    use super::signals;

    const ACTED: u64 = 100_000 * MINUTE;

    fn rule(more: &str) -> RuleSettings {
        let text = format!(
            "[service.fraud]\n[[service.fraud.rule]]\nid = \"e\"\nsignal = \"errors\"\nkind = \"error_rate_high\"\n\
             above = 0.1\n{more}"
        );
        let file = SettingsFile { path: "sanare.toml".into(), text, in_pyproject: false };
        let read = Configuration::read(&file).unwrap();
        read.services.values().next().unwrap().rules[0].clone()
    }

    /// A reading of a host so many minutes after the act.
    fn reading(host: &str, minute: i64, value: f64) -> Observation {
        let at = Moment::from_micros(ACTED.saturating_add_signed(minute * 60_000_000));
        let labels = Labels::new([("host".to_owned(), host.to_owned())].into()).unwrap();
        let (application, signal) = (Application::parse("fraud").unwrap(), Signal::parse("errors").unwrap());
        let draft =
            Draft { labels, event_time: Some(at), ..Draft::new(application, signal, ObservedValue::metric(value)) };
        let stamp = Stamp {
            id: Id::new("obs", at.millis(), 7),
            arrival: at,
            source: Source::parse("client").unwrap(),
            trust: Trust::Own,
        };
        Observation::accept(draft, stamp).unwrap()
    }

    /// Readings inside and all readings after the act of each signal; `hosts` are what is told after it, and how it is.
    fn check(rule: &RuleSettings, before: &[&str], after: &[(&str, f64)]) -> Vec<(usize, usize)> {
        let opened: Vec<Observation> = before.iter().map(|host| reading(host, -2, 0.9)).collect();
        let mut recent = opened.clone();
        for (host, value) in after {
            recent.extend((1..=10).map(|minute| reading(host, minute, *value)));
        }
        let recent: Vec<&Observation> = recent.iter().collect();
        let found = signals(&recent, &opened, rule, Moment::from_micros(ACTED));
        let later = |seen: &&super::Seen| seen.at.micros() > ACTED;
        let count = |all: &Vec<super::Seen>| {
            (
                all.iter().filter(later).filter(|seen| seen.inside == Some(true)).count(),
                all.iter().filter(later).count(),
            )
        };
        found.iter().map(count).collect()
    }

    #[test]
    fn each_series_that_was_ill_has_to_show_that_it_is_well() {
        let plain = rule("");
        assert_eq!(check(&plain, &["a", "b"], &[("a", 0.0), ("b", 0.0)]), [(10, 10), (10, 10)]);
        assert_eq!(check(&plain, &["a", "b", "c"], &[("a", 0.0)]), [(10, 10), (0, 0), (0, 0)], "one replica only");
        assert_eq!(check(&plain, &["a", "b"], &[("x", 0.0), ("y", 0.0)]), [(10, 10), (10, 10)], "new ones took over");
        assert_eq!(check(&plain, &["a"], &[("a", 0.0), ("b", 0.9)]), [(10, 20)], "another one falls ill");
        assert_eq!(check(&plain, &[], &[("a", 0.0)]), [(10, 10)], "nobody was there");
        assert_eq!(check(&plain, &["a"], &[]), [(0, 0)]);
    }

    #[test]
    fn incidents_that_a_rule_tells_apart_say_nothing_of_each_other() {
        let apart = rule("distinct = [\"host\"]\n");
        assert_eq!(
            check(&apart, &["a"], &[("a", 0.0), ("b", 0.9)]),
            [(10, 10)],
            "what is ill beside it is another incident"
        );
        assert_eq!(check(&apart, &["a"], &[("b", 0.0)]), [(0, 0)], "and what is well beside it is no proof");
    }
}
