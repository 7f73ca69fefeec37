//! A table from situation to verdict and rule ids, and the policy file's own cases.

use super::file::{Policy, PolicyFile};
use super::{Facts, Situation, Verdict, decide, judge};
use crate::gate::{Check, Gate, GateReport};
use crate::incident::{Mode, ProposerName, Rules};
use crate::outcome::Reason;
use crate::proposal::Tier;

fn report(skip: &[Gate]) -> GateReport {
    let checks = Gate::ALL
        .iter()
        .map(|gate| match skip.contains(gate) {
            true => Check::skipped(*gate, "x", "not here"),
            false => Check::passed(*gate, "x"),
        })
        .collect();
    GateReport { checks }
}

fn situation<'a>(rules: &'a Rules, policy: &'a Policy, proposer: ProposerName, tier: Tier) -> Situation<'a> {
    let mut facts = Facts::default();
    facts.words.insert("path", vec!["billing/invoice.py".to_owned()]);
    facts.words.insert("proposer", vec![if proposer == ProposerName::Model { "model" } else { "drift" }.to_owned()]);
    facts.words.insert("environment", vec!["production".to_owned()]);
    facts.numbers.insert("confidence", 0.6);
    facts.numbers.insert("changed_lines", 12.0);
    // Monday 1 January 2024, 20:00 UTC.
    facts.now = 1_704_139_200_000;
    Situation { rules, proposer, tier, stopped: false, policy, facts, declined: Vec::new() }
}

/// Verdict and deciding rules of a drift repair.
fn check(mode: Mode, tier: Tier, report: &GateReport) -> String {
    let (rules, policy) = (Rules { mode, ..Rules::default() }, Policy::none());
    let decision = decide(&situation(&rules, &policy, ProposerName::Drift, tier), report);
    format!("{:?} {}", decision.verdict, decision.rules.join(" "))
}

#[test]
fn every_gate_result_leads_to_its_verdict() {
    assert_eq!(check(Mode::Auto, Tier::A, &report(&[])), "Permit default");
    for gate in Gate::ALL {
        let skipped = check(Mode::Auto, Tier::A, &report(&[gate]));
        let mut failing = report(&[]);
        failing.checks.push(Check::failed(gate, "y", "bad"));
        let failed = check(Mode::Auto, Tier::A, &failing);
        let expected = match gate {
            Gate::Syntax | Gate::Fence | Gate::Overfit | Gate::Safety => "Refuse static_gate_not_passed",
            Gate::Trial => "Ask trial_not_passed",
            Gate::Replay => "Ask nothing_replayed",
            Gate::Verify => "Ask verify_not_passed",
        };
        assert_eq!(skipped, expected, "{gate:?} skipped");
        assert!(failed.starts_with("Refuse gate_failed"), "{gate:?} failed: {failed}");
    }
}

#[test]
fn modes_and_tiers() {
    assert_eq!(check(Mode::Auto, Tier::B, &report(&[])), "Permit default");
    assert_eq!(check(Mode::Auto, Tier::C, &report(&[])), "Ask tier_not_automatic");
    assert_eq!(check(Mode::Auto, Tier::D, &report(&[])), "Refuse tier_refused");
    assert_eq!(check(Mode::Ask, Tier::A, &report(&[])), "Ask mode_ask");
    assert_eq!(check(Mode::Observe, Tier::A, &report(&[])), "Refuse mode_observe");
    let mut none_configured = report(&[]);
    none_configured.checks.retain(|check| check.gate != Gate::Verify);
    assert_eq!(check(Mode::Auto, Tier::A, &none_configured), "Permit default");
}

#[test]
fn a_model_needs_an_oracle_or_the_owners_word() {
    let policy = Policy::none();
    let mut rules = Rules::default();
    let verdict = |rules: &Rules, report: &GateReport, declined: &[Reason]| {
        let mut situation = situation(rules, &policy, ProposerName::Model, Tier::C);
        situation.declined = declined.to_vec();
        let decision = decide(&situation, report);
        format!("{:?} {}", decision.verdict, decision.rules.join(" "))
    };
    assert_eq!(verdict(&rules, &report(&[]), &[]), "Ask model_without_oracle");
    for name in ["calls", "examples", "contract", "verify"] {
        let mut with_oracle = report(&[]);
        with_oracle.checks.push(Check::passed(Gate::Replay, name));
        assert_eq!(verdict(&rules, &with_oracle, &[]), "Permit default", "{name}");
        assert_eq!(verdict(&rules, &with_oracle, &[Reason::NoProposer]), "Permit default");
        assert_eq!(verdict(&rules, &with_oracle, &[Reason::Vetoed]), "Ask engine_refused");
    }
    rules.unverified_refused = true;
    assert_eq!(verdict(&rules, &report(&[]), &[]), "Refuse model_without_oracle");
    rules.unverified = true;
    assert_eq!(verdict(&rules, &report(&[]), &[]), "Permit default");
}

#[test]
fn a_stop_switch_and_a_broken_file_refuse() {
    let (rules, policy, broken) = (Rules::default(), Policy::none(), Policy::read("version = 2"));
    let mut stopped = situation(&rules, &policy, ProposerName::Drift, Tier::A);
    stopped.stopped = true;
    assert_eq!(judge(&stopped).rules, ["stop_switch"]);
    let refused = judge(&situation(&rules, &broken, ProposerName::Drift, Tier::A));
    assert_eq!((refused.verdict, refused.rules), (Verdict::Refuse, vec!["policy_unreadable".to_owned()]));
}

#[test]
fn files_that_cannot_be_used() {
    let complaint = |text: &str| PolicyFile::parse(text).err().unwrap_or_else(|| panic!("taken: {text}"));
    for (text, expected) in [
        ("", "empty"),
        ("version = 1\nmode = ", "line 2"),
        ("version = 2", "version 2 is not known"),
        ("mode = \"ask\"", "version"),
        ("version = 1\nmod = \"ask\"", "mod"),
        ("version = 1\nmode = \"off\"", "no mode"),
        ("version = 1\nconfidence_gate = 0.2", "above 0.2"),
        ("version = 1\nblast = { share = 34.0 }", "from 0 to 1"),
        ("version = 1\napprovals = { count = 3 }", "1 or 2"),
        ("version = 1\napprovals = { expire = \"soon\" }", "30m"),
        ("version = 1\n[[rule]]\nid = \"a\"\nverdict = \"permit\"\nwhen = { path = [\"x\"] }", "never permits"),
        ("version = 1\n[[rule]]\nid = \"a\"\nverdict = \"ask\"", "no condition"),
        ("version = 1\n[[rule]]\nid = \"a\"\nverdict = \"ask\"\nwhen = { paht = [\"x\"] }", "paht"),
        ("version = 1\n[[rule]]\nid = \"a\"\nverdict = \"ask\"\nwhen = { action = [\"explode\"] }", "no action"),
        ("version = 1\n[[rule]]\nid = \"a\"\nverdict = \"ask\"\nwhen = { during = \"never\" }", "never"),
        (
            "version = 1\n[[rule]]\nid = \"a\"\nverdict = \"ask\"\nwhen = { path = [\"x\"] }\n[[rule]]\nid = \"a\"\n\
             verdict = \"ask\"\nwhen = { path = [\"y\"] }",
            "two rules",
        ),
    ] {
        assert!(complaint(text).contains(expected), "{text}: {}", complaint(text));
    }
}

/// The example of the specification, with everything that both halves have.
const WHOLE: &str = r#"
version = 1
mode = "ask"
confidence_gate = 0.7
history_min = 5
always_ask = ["request_redeployment", "rollback_model", "request_retraining"]
forbidden = []
attempts = 3
cooldown = { first = "10m", factor = 2, max = "24h" }
windows = { target = { hour = 2, day = 6 }, application = { hour = 4, day = 12 }, all = { hour = 10, day = 50 } }
blast = { share = 0.34, floor = 1, floor_verdict = "ask", applications_at_once = 2, min_healthy = 0.5 }
approvals = { expire = "30m", approvers = ["ann", "group:mlops"], count = 1 }

[application.fraud]
mode = "auto"
always_ask = ["request_redeployment", "rollback_model"]

[[rule]]
id = "no-model-change-at-night"
when = { application = ["fraud"], action = ["rollback_model"], severity_below = "critical", during = "Mon-Fri 18:00-08:00 Europe/Brussels" }
verdict = "ask"
reason = "model changes at night need a person"
"#;

#[test]
fn one_file_serves_both_halves() {
    let mut policy = Policy::read(WHOLE);
    assert_eq!(policy.trouble(), None);
    assert_eq!((policy.mode_for("fraud"), policy.zones()), (Some(Mode::Ask), vec!["Europe/Brussels"]));
    policy.offsets.insert("Europe/Brussels".to_owned(), 60);
    let mut facts = Facts::default();
    facts.words.insert("application", vec!["fraud".to_owned()]);
    facts.words.insert("action", vec!["rollback_model".to_owned()]);
    facts.severity = Some("high".to_owned());
    facts.offsets.clone_from(&policy.offsets);
    let fired = |facts: &Facts| policy.fired(facts).len();
    // Monday 1 January 2024: 16:59 and 17:00 UTC are 17:59 and 18:00 in Brussels.
    facts.now = 1_704_128_340_000;
    assert_eq!(fired(&facts), 0);
    facts.now = 1_704_128_400_000;
    assert_eq!(fired(&facts), 1);
    facts.severity = Some("critical".to_owned());
    assert_eq!(fired(&facts), 0);
    facts.severity = Some("low".to_owned());
    facts.words.remove("action");
    assert_eq!(fired(&facts), 0);
}

/// Rules of the code half: one that fires and one that just does not, for each condition.
#[test]
fn each_condition_fires_and_just_does_not() {
    let rules = Rules::default();
    let fires = |when: &str| {
        let text = format!("version = 1\n[[rule]]\nid = \"own\"\nverdict = \"refuse\"\nwhen = {{ {when} }}\n");
        let policy = Policy::read(&text);
        assert_eq!(policy.trouble(), None, "{when}");
        let report = report(&[Gate::Verify]);
        let decision = decide(&situation(&rules, &policy, ProposerName::Drift, Tier::A), &report);
        decision.rules == ["own"]
    };
    for (yes, no) in [
        ("path = [\"billing/**\"]", "path = [\"shipping/**\"]"),
        ("proposer = [\"drift\"]", "proposer = [\"model\"]"),
        ("environment = [\"prod*\"]", "environment = [\"staging\"]"),
        ("confidence_below = 0.61", "confidence_below = 0.6"),
        ("changed_lines_over = 11", "changed_lines_over = 12"),
        ("gates_passed = [\"trial\"]", "gates_passed = [\"trial\", \"verify\"]"),
        ("gates_not_passed = [\"replay\", \"verify\"]", "gates_not_passed = [\"replay\"]"),
        ("during = \"Mon 20:00-21:00\"", "during = \"Mon 19:00-20:00\""),
        ("during = \"Mon 20:00-21:00 Nowhere/Unknown\"", "during = \"Tue 20:00-21:00\""),
        ("path = [\"billing/*\"], environment = [\"production\"]", "path = [\"billing/*\"], environment = [\"test\"]"),
        ("path = [\"**\"]", "function = [\"**\"]"),
    ] {
        assert!(fires(yes), "{yes}");
        assert!(!fires(no), "{no}");
    }
}

/// Adding a rule never loosens, and order does not matter: over all pairs of rules, gates and modes.
#[test]
fn a_rule_can_only_make_stricter() {
    let own = [
        "id = \"a\"\nverdict = \"ask\"\nwhen = { path = [\"billing/**\"] }",
        "id = \"b\"\nverdict = \"refuse\"\nwhen = { gates_not_passed = [\"replay\"] }",
        "id = \"c\"\nverdict = \"refuse\"\nwhen = { changed_lines_over = 500 }",
        "id = \"d\"\nverdict = \"ask\"\nwhen = { during = \"00:00-24:00\" }",
    ];
    let file = |rules: &[&str]| {
        Policy::read(&format!(
            "version = 1\n{}",
            rules.iter().map(|rule| format!("[[rule]]\n{rule}\n")).collect::<String>()
        ))
    };
    for mode in [Mode::Auto, Mode::Ask, Mode::Observe] {
        for gate in Gate::ALL {
            let rules = Rules { mode, ..Rules::default() };
            let verdict = |policy: &Policy| {
                decide(&situation(&rules, policy, ProposerName::Drift, Tier::A), &report(&[gate])).verdict
            };
            let bare = verdict(&Policy::none());
            for one in own {
                let alone = verdict(&file(&[one]));
                assert!(alone >= bare, "{one}");
                for other in own.iter().filter(|other| **other != one) {
                    assert!(verdict(&file(&[one, other])) >= alone, "{one} {other}");
                    assert_eq!(verdict(&file(&[one, other])), verdict(&file(&[other, one])));
                }
            }
        }
    }
}
