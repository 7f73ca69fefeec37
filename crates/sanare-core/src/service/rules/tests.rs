//! The table of S8 against the file, every example of every rule, and every set of offers and attempts.

use super::file::{Example, shipped};
use super::{Facts, RulesAgent, choose};
use crate::id::Id;
use crate::service::action::Action;
use crate::service::attempt::Attempt;
use crate::service::attempt::tests::attempt;
use crate::service::context::tests::{parts, reading};
use crate::service::context::{Context, LiveSpan, MovedBy, Parts, RegistryView, Standing};
use crate::service::kind::IncidentKind;
use crate::service::moment::{HOUR, MINUTE, Moment};
use crate::service::name::{Signal, Version};
use crate::service::value::ObservedValue;
use crate::service::word::Effect;

/// `kind: conditions: action (confidence)`, in the order of the specification's table.
const TABLE: &str = "
unreachable: restart_component 0.8
half_alive: restart_component 0.85
crash_loop: changed rollback_model 0.8
error_rate_high: changed rollback_model 0.8, unchanged restart_component 0.7
latency_high: changed rollback_model 0.7, unchanged restart_component 0.7
throughput_collapse: run_diagnostic 0.5
resource_exhausted: not-disk restart_component 0.75
model_load_failed: reload_model 0.85, rollback_model 0.75
wrong_model_version: registry-right reload_model 0.85
quality_low: changed rollback_model 0.85, unchanged request_retraining 0.7
estimated_quality_low: changed rollback_model 0.6, unchanged run_diagnostic 0.4
input_drift: request_retraining 0.6
output_drift: changed rollback_model 0.7, unchanged request_retraining 0.5
schema_violation: escalate 0.8
feature_missing: run_diagnostic 0.5
model_stale: request_retraining 0.7
data_stale: run_diagnostic 0.5
dependency_down: twice no_action 0.6
signal_missing: run_diagnostic 0.6
code_exception: none 0.9
storm: escalate 0.9
unclassified: escalate 0.3
";

#[test]
fn the_rules_are_those_of_the_specification() {
    let mut table = String::from("\n");
    for kind in IncidentKind::ALL {
        let rules = shipped().rules.iter().filter(|rule| rule.kind == *kind);
        let told: Vec<String> = rules
            .map(|rule| {
                let conditions = [
                    (rule.when.changed == Some(true), "changed "),
                    (rule.when.changed == Some(false), "unchanged "),
                    (rule.when.disk == Some(false), "not-disk "),
                    (rule.when.registry_right == Some(true), "registry-right "),
                    (rule.waits == Some(2), "twice "),
                ];
                let words: String = conditions.iter().filter(|(holds, _)| *holds).map(|(_, word)| *word).collect();
                format!("{words}{} {}", rule.action.map_or("none", Action::word), rule.confidence)
            })
            .collect();
        table.push_str(&format!("{kind}: {}\n", told.join(", ")));
    }
    assert_eq!(table, TABLE);
}

fn attempts(tried: &[Action]) -> Vec<Attempt> {
    tried.iter().map(|action| attempt(*action, (!action.is_framework()).then_some(Effect::Done))).collect()
}

#[test]
fn every_example_and_counterexample_of_every_rule() {
    for rule in &shipped().rules {
        let wins = |example: &Example| {
            let Example { changed, disk, registry_right, tried } = example;
            let facts = Facts { changed: *changed, disk: *disk, registry_right: *registry_right };
            let choice = choose(shipped(), rule.kind, facts, Action::ALL, &attempts(tried));
            choice.rule.is_some_and(|won| won.id == rule.id)
        };
        assert!(!rule.examples.is_empty(), "{}", rule.id);
        for example in &rule.examples {
            assert!(wins(example), "{}: {example:?}", rule.id);
        }
        for example in &rule.counterexamples {
            assert!(!wins(example), "{}: {example:?}", rule.id);
        }
        let conditional = rule.when.changed.or(rule.when.disk).or(rule.when.registry_right).is_some();
        assert!(!conditional || !rule.counterexamples.is_empty(), "{}: a condition needs a counterexample", rule.id);
    }
}

/// Every kind, every set of offers, every set of tried actions, every evidence: never what is not offered or was tried.
#[test]
fn every_offer_and_every_history_gives_a_legal_choice() {
    let subset = |bits: usize| -> Vec<Action> {
        Action::ALL.iter().enumerate().filter(|(place, _)| bits >> place & 1 == 1).map(|(_, action)| *action).collect()
    };
    let histories: Vec<Vec<Attempt>> = (0..256).map(|bits| attempts(&subset(bits))).collect();
    let offers: Vec<Vec<Action>> = (1..256).map(subset).collect();
    for kind in IncidentKind::ALL {
        for facts in
            (0..8).map(|bits| Facts { changed: bits & 1 == 1, disk: bits & 2 == 2, registry_right: bits & 4 == 4 })
        {
            // What no rule of the kind asks for changes nothing.
            let asked = shipped().rules.iter().filter(|rule| rule.kind == *kind);
            let (mut changed, mut disk, mut registry) = (false, false, false);
            for rule in asked {
                changed |= rule.when.changed.is_some();
                disk |= rule.when.disk.is_some();
                registry |= rule.when.registry_right.is_some();
            }
            if facts.changed && !changed || facts.disk && !disk || facts.registry_right && !registry {
                continue;
            }
            for offer in &offers {
                for history in &histories {
                    let choice = choose(shipped(), *kind, facts, offer, history);
                    let Some(action) = choice.action else {
                        assert!(*kind == IncidentKind::CodeException || !offer.contains(&Action::Escalate), "{kind}");
                        continue;
                    };
                    assert!(offer.contains(&action), "{kind} {action}");
                    let again = history.iter().any(|one| one.action == action);
                    assert!(!again || matches!(action, Action::Escalate | Action::NoAction), "{kind} {action}");
                }
            }
        }
    }
}

fn context(kind: IncidentKind, change: impl FnOnce(&mut Parts)) -> Context {
    let mut parts = parts(kind);
    parts.incident.evidence =
        vec![crate::service::Evidence { observation: parts.evidence[0].id.clone(), badness: 1.0 }];
    change(&mut parts);
    Context::new(parts).expect("good")
}

/// What the agent says of a context: action, confidence, rule.
fn check(context: &Context) -> String {
    let result = RulesAgent.answer(context, Id::new("dia", 1, 1), Moment::from_micros(9));
    let result = result.check(&context.incident.id, &context.available_actions).expect("a legal result");
    let crate::service::AgentName::Rule { id, .. } = &result.diagnosis.agent else { panic!("a rule") };
    let action = result.advice.as_ref().map_or("none", |advice| advice.action.word());
    format!("{action} {} {id}", result.diagnosis.confidence)
}

/// A version went live twenty minutes before the incident.
fn moved(parts: &mut Parts) {
    let at = parts.incident.opened;
    let span = |version: &str, from| LiveSpan {
        version: Version::parse(version).expect("a version"),
        from,
        to: None,
        moved_by: MovedBy::Others,
        standing: Standing::Unknown,
    };
    parts.version_history = vec![span("41", at.minus(30 * HOUR)), span("42", at.minus(20 * MINUTE))];
}

#[test]
fn evidence_decides_between_the_rules_of_a_kind() {
    assert_eq!(check(&context(IncidentKind::LatencyHigh, |_| {})), "restart_component 0.7 latency_restart");
    assert_eq!(check(&context(IncidentKind::LatencyHigh, moved)), "rollback_model 0.7 latency_changed");
    assert_eq!(check(&context(IncidentKind::CrashLoop, |_| {})), "escalate 0.2 nothing_left");
    let resource = |signal: &'static str| {
        move |parts: &mut Parts| parts.evidence[0].signal = Signal::parse(signal).expect("a name")
    };
    let exhausted = IncidentKind::ResourceExhausted;
    assert_eq!(check(&context(exhausted, resource("memory_used"))), "restart_component 0.75 resource_restart");
    assert_eq!(check(&context(exhausted, resource("node_disk_used"))), "escalate 0.2 nothing_left");
    let registry = |ready: bool| {
        move |parts: &mut Parts| {
            let alias_version = Version::parse("42").ok();
            parts.registry = Some(RegistryView { alias_version, alias_ready: ready, ..RegistryView::default() });
        }
    };
    assert_eq!(
        check(&context(IncidentKind::WrongModelVersion, registry(true))),
        "reload_model 0.85 wrong_version_reload"
    );
    assert_eq!(check(&context(IncidentKind::WrongModelVersion, registry(false))), "escalate 0.2 nothing_left");
}

/// One run of the agent per kind, with and without a change before it: action and confidence are the table's.
#[test]
fn a_run_of_the_agent_answers_as_the_table_says() {
    for line in TABLE.trim().lines() {
        let (word, rules) = line.split_once(": ").expect("a kind and its rules");
        let kind = IncidentKind::parse(word).expect("a kind");
        for changed in [false, true] {
            let holds = |rule: &&str| {
                let condition = rule.split(' ').next().unwrap_or_default();
                !(condition == "registry-right" || condition == if changed { "unchanged" } else { "changed" })
            };
            let first = rules.split(", ").find(holds).map(|rule| {
                let words: Vec<&str> = rule.split(' ').collect();
                words[words.len() - 2..].join(" ")
            });
            let expected = first.unwrap_or_else(|| "escalate 0.2".to_owned());
            let told = check(&context(kind, |parts| {
                if changed {
                    moved(parts)
                }
            }));
            assert!(told.starts_with(&format!("{expected} ")), "{kind}, changed {changed}: {told}, not {expected}");
        }
    }
}

#[test]
fn without_evidence_nobody_is_sure() {
    let empty = context(IncidentKind::Unreachable, |parts| {
        parts.evidence.clear();
        parts.incident.evidence.clear();
    });
    assert_eq!(check(&empty), "restart_component 0.2 unreachable_restart");
}

#[test]
fn the_same_context_gives_the_same_answer() {
    let one = context(IncidentKind::QualityLow, |parts| {
        parts.evidence = (0..50).map(|number| reading(number, "fraud", ObservedValue::metric(0.5))).collect();
    });
    let answer = || RulesAgent.answer(&one, Id::new("dia", 1, 1), Moment::from_micros(9));
    assert_eq!(answer(), answer());
    assert_eq!(answer().diagnosis.evidence_used.len(), 8);
    assert_eq!(answer().diagnosis.evidence_digest, one.digest());
}
