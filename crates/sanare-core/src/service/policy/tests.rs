//! Every rule at its borders, all pairs of rules, and that no rule ever loosens.

use proptest::prelude::*;

use super::rules::ALL;
use super::{BuiltIn, Case, Numbers, explain, judge};
use crate::incident::Mode;
use crate::policy::{Policy, Verdict};
use crate::service::action::Action;
use crate::service::word::{Origin, Severity};

/// The numbers that the examples start from: as shipped, but not asking for every act.
fn numbers() -> Numbers {
    Numbers { mode: Mode::Auto, ..Numbers::default() }
}

#[test]
fn nothing_fires_on_the_sound_case() {
    let decision = judge(&Case::default(), &numbers(), &Policy::none());
    assert_eq!((decision.verdict, decision.fired), (Verdict::Permit, Vec::new()));
}

#[test]
fn every_rule_fires_where_it_says_and_not_at_the_border() {
    for rule in ALL {
        assert!(rule.examples.iter().any(|example| example.says.is_some()), "{}: a firing example", rule.id);
        assert!(rule.examples.iter().any(|example| example.says.is_none()), "{}: one that does not fire", rule.id);
        for (place, example) in rule.examples.iter().enumerate() {
            let (mut case, mut numbers) = (Case::default(), numbers());
            (example.change)(&mut case, &mut numbers);
            let said = (rule.fires)(&case, &numbers);
            assert_eq!(said.as_ref().map(|(verdict, _)| *verdict), example.says, "{} example {place}", rule.id);
            assert!(said.is_none_or(|(_, because)| because.len() > 8), "{} example {place}", rule.id);
            // The engine's verdict is the rule's, unless a stricter one sees the same.
            let decision = judge(&case, &numbers, &Policy::none());
            assert_eq!(decision.fired.iter().any(|fired| fired.rule == rule.id), example.says.is_some(), "{}", rule.id);
        }
    }
}

#[test]
fn of_every_pair_the_stricter_wins() {
    let firing = |rule: &'static BuiltIn| rule.examples.iter().filter(|example| example.says.is_some());
    for one in ALL {
        for other in ALL {
            // Some changes undo each other, such as two modes; but every pair that can stand together does at least once.
            let mut together = false;
            for (first, second) in firing(one).flat_map(|first| firing(other).map(move |second| (first, second))) {
                let (mut case, mut numbers) = (Case::default(), numbers());
                (first.change)(&mut case, &mut numbers);
                (second.change)(&mut case, &mut numbers);
                let said = [(one.fires)(&case, &numbers), (other.fires)(&case, &numbers)];
                let [Some((first, _)), Some((second, _))] = said else { continue };
                together = true;
                let decision = judge(&case, &numbers, &Policy::none());
                assert!(decision.verdict >= first.max(second), "{} and {}", one.id, other.id);
                for rule in [one, other] {
                    assert!(decision.fired.iter().any(|fired| fired.rule == rule.id), "{} and {}", one.id, other.id);
                }
            }
            let modes = ["mode_ask", "mode_observe"];
            let apart = one.id != other.id && modes.contains(&one.id) && modes.contains(&other.id);
            assert_eq!(together, !apart, "{} and {}", one.id, other.id);
        }
    }
}

#[test]
fn framework_actions_are_free_of_what_concerns_acts() {
    for action in [Action::Escalate, Action::NoAction] {
        for rule in ALL {
            for example in rule.examples {
                let (mut case, mut numbers) = (Case::default(), numbers());
                (example.change)(&mut case, &mut numbers);
                case.action = action;
                assert_eq!(judge(&case, &numbers, &Policy::none()).verdict, Verdict::Permit, "{action} {}", rule.id);
            }
        }
    }
    let diagnostic = |change: fn(&mut Case)| {
        let mut case = Case { action: Action::RunDiagnostic, mode: Mode::Ask, confidence: 0.1, ..Case::default() };
        change(&mut case);
        judge(&case, &numbers(), &Policy::none()).verdict
    };
    assert_eq!(diagnostic(|_| {}), Verdict::Permit);
    assert_eq!(diagnostic(|case| case.verified_attempts = 0), Verdict::Permit);
    assert_eq!(diagnostic(|case| case.stopped = true), Verdict::Refuse);
    assert_eq!(diagnostic(|case| case.unavailable = Some("none is configured".to_owned())), Verdict::Refuse);
}

#[test]
fn an_unreadable_policy_refuses_and_says_which_line() {
    let policy = Policy::read("version = 1\nmode = auto\n");
    let decision = judge(&Case::default(), &numbers(), &policy);
    assert_eq!(decision.verdict, Verdict::Refuse);
    assert!(decision.because().contains("line 2"), "{}", decision.because());
}

#[test]
fn an_owner_s_rule_matches_what_the_service_half_knows() {
    let rule = |when: &str| {
        let text = format!(
            "version = 1\nmode = \"auto\"\n[[rule]]\nid = \"own\"\nwhen = {{ {when} }}\nverdict = \"ask\"\nreason = \"because\"\n"
        );
        let policy = Policy::read(&text);
        assert_eq!(policy.trouble(), None, "{when}");
        let mut case = Case { severity: Severity::Medium, origin: Origin::Model, ..Case::default() };
        case.labels.insert("team".to_owned(), "ml".to_owned());
        judge(&case, &numbers(), &policy).rules.join(" ")
    };
    for fires in [
        "application = [\"application\"]",
        "component = [\"appl*\"]",
        "kind = [\"unreachable\"]",
        "action = [\"restart_component\"]",
        "adapter = [\"command\"]",
        "origin = [\"model\"]",
        "severity = [\"medium\"]",
        "severity_below = \"high\"",
        "mode = [\"auto\"]",
        "labels = [\"team=ml\"]",
        "confidence_below = 0.81",
        "during = \"Mon-Fri 18:00-22:00 UTC\"",
    ] {
        assert_eq!(rule(fires), "own", "{fires}");
    }
    for silent in [
        "application = [\"fraud\"]",
        "action = [\"reload_model\"]",
        "severity_below = \"medium\"",
        "labels = [\"team=web\"]",
        "confidence_below = 0.8",
        "kind = [\"unreachable\"], action = [\"reload_model\"]",
        "during = \"Sat-Sun 00:00-24:00 UTC\"",
    ] {
        assert_eq!(rule(silent), "default", "{silent}");
    }
}

/// Any changes of the sound case, in any order.
fn changes() -> impl Strategy<Value = Vec<(usize, usize)>> {
    prop::collection::vec((0..ALL.len(), 0..16_usize), 0..8)
}

fn changed(changes: &[(usize, usize)]) -> (Case, Numbers) {
    let (mut case, mut numbers) = (Case::default(), numbers());
    for (rule, example) in changes {
        let examples = ALL[*rule].examples;
        (examples[example % examples.len()].change)(&mut case, &mut numbers);
    }
    (case, numbers)
}

const OWN: [&str; 4] = [
    "[[rule]]\nid = \"a\"\nwhen = { action = [\"restart_component\"] }\nverdict = \"ask\"\n",
    "[[rule]]\nid = \"b\"\nwhen = { severity_below = \"high\" }\nverdict = \"refuse\"\n",
    "[[rule]]\nid = \"c\"\nwhen = { confidence_below = 0.9 }\nverdict = \"ask\"\n",
    "[[rule]]\nid = \"d\"\nwhen = { kind = [\"unreachable\"], origin = [\"fallback\"] }\nverdict = \"refuse\"\n",
];

fn owner(rules: &[usize]) -> Policy {
    let mut text = "version = 1\n".to_owned();
    let mut seen = Vec::new();
    for rule in rules {
        if !seen.contains(rule) {
            text.push_str(OWN[*rule]);
            seen.push(*rule);
        }
    }
    Policy::read(&text)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(10_000))]

    #[test]
    fn adding_a_rule_never_loosens_and_order_does_not_matter(
        changes in changes(), mut own in prop::collection::vec(0..OWN.len(), 0..5), more in 0..OWN.len(),
    ) {
        let (case, numbers) = changed(&changes);
        let before = judge(&case, &numbers, &owner(&own)).verdict;
        own.push(more);
        let after = judge(&case, &numbers, &owner(&own)).verdict;
        prop_assert!(after >= before);
        own.reverse();
        prop_assert_eq!(judge(&case, &numbers, &owner(&own)).verdict, after);
    }

    #[test]
    fn what_is_explained_is_what_is_decided(changes in changes(), own in prop::collection::vec(0..OWN.len(), 0..4)) {
        let ((case, numbers), policy) = (changed(&changes), owner(&own));
        let decision = judge(&case, &numbers, &policy);
        let explained = explain(&case, &numbers, &policy);
        let strictest = explained.iter().filter_map(|one| one.verdict).max().unwrap_or(Verdict::Permit);
        prop_assert_eq!(strictest, decision.verdict);
        let fired: Vec<&str> = explained.iter().filter(|one| one.verdict.is_some()).map(|one| one.rule.as_str()).collect();
        let decided: Vec<&str> = decision.fired.iter().map(|one| one.rule.as_str()).collect();
        prop_assert_eq!(fired, decided);
        prop_assert!(explained.iter().all(|one| one.verdict.is_none() || !one.lifts.is_empty()));
    }

    /// Invariant 2: a result of the fallback is never permitted, whatever else holds.
    #[test]
    fn a_fallback_is_never_permitted(changes in changes()) {
        let (mut case, numbers) = changed(&changes);
        case.origin = Origin::Fallback;
        prop_assume!(!case.action.is_framework());
        prop_assert!(judge(&case, &numbers, &Policy::none()).verdict >= Verdict::Ask);
    }
}
