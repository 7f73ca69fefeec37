//! Whoever decides again on what the ledger holds comes to the engine's own verdict (S98): policies and cases at random.

use std::cell::Cell;

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use sanare_core::outcome::Reason;
use sanare_core::policy::{Policy, Verdict, decide, judge};
use sanare_core::port::Store as _;
use sanare_core::step::Step;
use sanare_engine::recorded::Recorded;

use crate::play::{Played, Script, Scripted, play};

/// Cases that come to a decision.
const DECIDED: u32 = 10_000;

/// One owner's rule with up to three conditions.
fn rule() -> impl Strategy<Value = String> {
    let condition = prop_oneof![
        Just("kind = [\"drift\"]"),
        Just("kind = [\"bug\"]"),
        Just("path = [\"job.py\"]"),
        Just("path = [\"other/*\"]"),
        Just("function = [\"f\"]"),
        Just("application = [\"demo\"]"),
        Just("mode = [\"ask\", \"auto\"]"),
        Just("proposer = [\"model\"]"),
        Just("proposer = [\"drift\"]"),
        Just("tier = [\"B\", \"C\"]"),
        Just("environment = [\"production\"]"),
        Just("confidence_below = 0.5"),
        Just("confidence_below = 0.95"),
        Just("changed_lines_over = 1"),
        Just("changed_lines_over = 50"),
        Just("gates_passed = [\"replay\"]"),
        Just("gates_not_passed = [\"verify\"]"),
    ];
    let verdict = prop_oneof![2 => Just("ask"), 1 => Just("refuse")];
    (prop::collection::btree_set(condition, 1..4), verdict).prop_map(|(conditions, verdict)| {
        // A key stands once.
        let mut keys = std::collections::BTreeSet::new();
        let conditions: Vec<&str> =
            conditions.into_iter().filter(|line| keys.insert(line.split(' ').next().unwrap_or_default())).collect();
        format!("verdict = \"{verdict}\"\n[rule.when]\n{}\n", conditions.join("\n"))
    })
}

fn policy() -> impl Strategy<Value = String> {
    let rules = prop::collection::vec(rule(), 0..4).prop_map(|rules| {
        let rules = rules.iter().enumerate().map(|(number, rule)| format!("[[rule]]\nid = \"r{number}\"\n{rule}"));
        format!("version = 1\n{}", rules.collect::<String>())
    });
    prop_oneof![1 => Just(String::new()), 8 => rules, 1 => Just("version = 1\nmodes = \"ask\"\n".to_owned())]
}

fn candidate() -> impl Strategy<Value = Scripted> {
    let text = prop_oneof![8 => Just("def f(): good osszeg"), 1 => Just("def f(): good\n  a\n  b\n  c")];
    let tier = prop_oneof![3 => Just("A"), 2 => Just("B"), 1 => Just("C")];
    let model = any::<bool>();
    (text, tier, model, prop::option::of(0.0_f64..0.9), any::<bool>(), any::<bool>()).prop_map(
        |(function, tier, model, confidence, no_twin, example)| Scripted {
            function: function.to_owned(),
            tier: tier.to_owned(),
            proposer: if model { "model" } else { "drift" }.to_owned(),
            confidence: confidence.filter(|_| model),
            no_twin,
            example,
            ..Scripted::default()
        },
    )
}

fn declined() -> impl Strategy<Value = Option<Scripted>> {
    let reason = prop_oneof![Just("ambiguous"), Just("no_proposer"), Just("no_identity"), Just("vetoed")];
    let vetoes = prop_oneof![Just(""), Just("osszeg"), Just("gross")];
    prop::option::of((reason, vetoes).prop_map(|(reason, vetoes)| Scripted {
        declines: reason.to_owned(),
        vetoes: vetoes.to_owned(),
        ..Scripted::default()
    }))
}

fn script() -> impl Strategy<Value = Script> {
    let mode = prop_oneof![12 => Just("auto"), 2 => Just("ask"), 1 => Just("observe")];
    let tiers = prop_oneof![3 => Just(vec!["A", "B"]), 1 => Just(vec!["A"]), 1 => Just(vec![])];
    let verify = prop_oneof![4 => Just(""), 1 => Just("passed"), 1 => Just("red_before")];
    let flags = (any::<bool>(), prop::bool::weighted(0.05), prop::bool::weighted(0.2));
    (mode, tiers, verify, flags, policy(), declined(), candidate()).prop_map(
        |(mode, tiers, verify, (unverified, stop, no_isolation), policy, declined, mut candidate)| {
            // Whoever declined is not asked again.
            if declined.is_some() {
                candidate.proposer = "model".to_owned();
            }
            let mut rules = toml::Table::new();
            rules.insert("mode".to_owned(), mode.into());
            rules.insert("automatic_tiers".to_owned(), tiers.into());
            rules.insert("unverified".to_owned(), unverified.into());
            Script {
                rules,
                candidates: declined.into_iter().chain([candidate]).collect(),
                verify: verify.to_owned(),
                stop,
                no_isolation,
                policy,
                ..Script::default()
            }
        },
    )
}

/// What the engine itself decided, if it came to that.
fn decided(played: &Played) -> Option<Verdict> {
    let was = |name: &str| played.steps.iter().any(|step| step == name);
    match &played.ended.last {
        Step::Waiting(_) => Some(Verdict::Ask),
        _ if was("approved") => Some(Verdict::Permit),
        Step::Closed(closed) if closed.reason == Reason::Policy && was("proposed") => Some(Verdict::Refuse),
        _ => None,
    }
}

#[test]
fn the_ledger_tells_the_same_decision() {
    let counted = Cell::new([0_u32; 3]);
    let mut runner = TestRunner::new(Config { cases: DECIDED + 3_000, failure_persistence: None, ..Config::default() });
    let all = runner.run(&script(), |script| {
        let played = play(&script);
        let Some(verdict) = decided(&played) else { return Ok(()) };
        let records = played.memory.records(&played.incident.id).expect("records");
        let recorded = Recorded::read(&records).expect("a candidate");
        let policy = if script.policy.is_empty() { Policy::none() } else { Policy::read(&script.policy) };
        let at = records.last().map_or(0, |record| record.at);
        let situation = recorded.situation(&policy, at, script.stop);
        let again = recorded.report.as_ref().map_or_else(|| judge(&situation), |report| decide(&situation, report));
        prop_assert_eq!(again.verdict, verdict, "{}\n{}\n{:?}", script.policy, played.transcript, again.fired);
        let mut count = counted.get();
        count[verdict as usize] += 1;
        counted.set(count);
        Ok(())
    });
    all.expect("one decision");
    let [permitted, asked, refused] = counted.get();
    assert!(permitted + asked + refused >= DECIDED, "{permitted} permitted, {asked} asked, {refused} refused");
    assert!([permitted, asked, refused].iter().all(|count| *count > 500), "{:?}", counted.get());
}
