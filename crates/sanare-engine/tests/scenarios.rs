//! The scenarios in `scenarios/*.md`: a script in TOML, the transcript it must lead to. And properties over random scripts.
//!
//! `SANARE_UPDATE=1 cargo test -p sanare-engine` writes the transcripts anew; read the diff.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::disallowed_methods, missing_docs)]

mod answers;
mod decisions;
mod play;
mod service;

use std::path::{Path, PathBuf};

use play::{Script, Scripted, play};
use proptest::prelude::*;
use sanare_core::outcome::Outcome;
use sanare_core::policy::Policy;
use sanare_core::port::Store as _;
use sanare_core::step::Step;
use sanare_engine::replay::replay;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios")
}

pub(crate) fn block<'a>(text: &'a str, kind: &str) -> &'a str {
    let start = text.find(&format!("```{kind}\n")).unwrap_or_else(|| panic!("no {kind} block")) + kind.len() + 4;
    let end = text[start..].find("```").expect("the block ends") + start;
    &text[start..end]
}

#[test]
fn every_scenario_gives_its_transcript() {
    let mut wrong = Vec::new();
    let mut count = 0;
    for entry in std::fs::read_dir(folder()).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "md") {
            continue;
        }
        count += 1;
        let text = std::fs::read_to_string(&path).unwrap();
        let script: Script = toml::from_str(block(&text, "toml")).unwrap_or_else(|error| panic!("{path:?}: {error}"));
        let expected = block(&text, "text").trim().to_owned();
        let got = play(&script).transcript;
        if got != expected {
            if std::env::var_os("SANARE_UPDATE").is_some() {
                std::fs::write(&path, text.replace(block(&text, "text"), &format!("{got}\n"))).unwrap();
            }
            wrong.push(format!("{}:\nexpected\n{expected}\n\ngot\n{got}\n", path.display()));
        }
    }
    assert!(count >= 20, "only {count} scenarios");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Scenarios whose end comes from outside the steps: a clock, a broken host or store, a file that somebody changed, a
/// lease that was lost, a caller who went away, a budget of other incidents.
const NOT_FROM_THE_STEPS: [&str; 13] = [
    "deadline",
    "host_breaks_at_swap",
    "store_fails_after_receipt",
    "changed_meanwhile",
    "stop_switch",
    "file_moves_on",
    "file_never_rests",
    "overtaken_before_the_write",
    "overtaken_after_the_write",
    "overtaken_then_written",
    "abandoned_before_the_write",
    "abandoned_after_the_write",
    "budget_spent",
];

/// What the ledger has of an incident is enough to decide every step again, and each is decided as it was.
#[test]
fn every_scenario_replays_as_it_was() {
    let mut wrong = Vec::new();
    for entry in std::fs::read_dir(folder()).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            continue;
        }
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        if NOT_FROM_THE_STEPS.contains(&name.as_str()) {
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap();
        let script: Script = toml::from_str(block(&text, "toml")).unwrap();
        let played = play(&script);
        let records = played.memory.records(&played.incident.id).unwrap();
        let policy = if script.policy.is_empty() { Policy::none() } else { Policy::read(&script.policy) };
        let steps = replay(&records, &policy, &sanare_store::Memory::new()).unwrap();
        for step in steps.iter().filter(|step| step.was != step.now) {
            wrong.push(format!("{name}: was `{}`, now `{}`", step.was, step.now));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Another policy decides otherwise, and the replay shows where.
#[test]
fn a_replay_under_another_policy_differs() {
    let text = std::fs::read_to_string(folder().join("healed.md")).unwrap();
    let script: Script = toml::from_str(block(&text, "toml")).unwrap();
    let played = play(&script);
    let records = played.memory.records(&played.incident.id).unwrap();
    let policy = Policy::read("version = 1\n[[rule]]\nid = \"x\"\nverdict = \"ask\"\nwhen = { path = [\"**\"] }\n");
    let steps = replay(&records, &policy, &sanare_store::Memory::new()).unwrap();
    let differs: Vec<&str> = steps.iter().filter(|s| s.was != s.now).map(|step| step.now.as_str()).collect();
    assert_eq!(differs.first().copied(), Some("judged ask"), "{steps:?}");
}

fn candidate() -> impl Strategy<Value = Scripted> {
    let text = prop_oneof![
        Just("def f(): good"),
        Just("def f(): good other value"),
        Just("def f(): good new-only"),
        Just("def f(): loops"),
        Just("def f(): socket"),
        Just("def f(): still bad"),
        Just("def f(): good uncompilable"),
        Just("def f(): good unswappable"),
        Just("def f(): good unencodable"),
        Just("def f(): os.system good"),
    ];
    let tier = prop_oneof![Just("A"), Just("B"), Just("C")];
    let proposer = prop_oneof![Just(""), Just("model")];
    let declines = prop_oneof![4 => Just(""), 1 => Just("ambiguous")];
    (text, tier, proposer, declines, any::<bool>(), any::<bool>()).prop_map(
        |(function, tier, proposer, declines, no_twin, example)| Scripted {
            function: function.to_owned(),
            tier: tier.to_owned(),
            proposer: proposer.to_owned(),
            no_twin,
            declines: declines.to_owned(),
            example,
            ..Scripted::default()
        },
    )
}

fn script() -> impl Strategy<Value = Script> {
    let mode = prop_oneof![4 => Just("auto"), 1 => Just("ask"), 1 => Just("dry_run"), 1 => Just("observe")];
    let rerun = prop_oneof![3 => Just("safe"), 1 => Just("always"), 1 => Just("never")];
    let write = prop_oneof![3 => Just("file"), 1 => Just("memory")];
    let fault = prop_oneof![4 => Just(None), 1 => Just(Some("changed")), 1 => Just(Some("disk_full"))];
    let candidates = prop::collection::vec(candidate(), 0..5);
    let reruns = prop::collection::vec(Just("KeyError".to_owned()), 0..4);
    let breaks = (prop::option::weighted(0.2, 0_usize..30), prop::option::weighted(0.15, 0_usize..14));
    let odd = (any::<bool>(), prop::bool::weighted(0.1), prop::bool::weighted(0.1), prop::bool::weighted(0.1));
    let step = || {
        prop_oneof![8 => Just(""), 1 => Just("checked"), 1 => Just("prepared"), 1 => Just("applied"),
        1 => Just("undoing"), 1 => Just("closed")]
    };
    let parallel = (step(), any::<bool>(), step(), prop_oneof![6 => 0_u32..1, 1 => 1_u32..8]);
    (mode, rerun, write, fault, candidates, reruns, breaks, odd, parallel).prop_map(
        |(
            mode,
            rerun,
            write,
            fault,
            candidates,
            reruns,
            (break_at, store_fails_at),
            (bad_rerun, stop, changed, blind),
            (overtaken, unwritten, abandoned, moves),
        )| {
            let mut rules = toml::Table::new();
            for (key, value) in [("mode", mode), ("rerun", rerun), ("write", write)] {
                rules.insert(key.to_owned(), value.into());
            }
            Script {
                rules,
                candidates,
                reruns,
                rerun_unsafe: bad_rerun.then(|| "an argument is an iterator".to_owned()),
                write_fault: fault.map(str::to_owned),
                stop,
                no_isolation: blind,
                break_at,
                changed_on_disk: changed,
                store_fails_at,
                overtaken_at: overtaken.to_owned(),
                settled_unwritten: unwritten,
                abandoned_at: abandoned.to_owned(),
                moves,
                ..Script::default()
            }
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4_000, failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever the gates, the re-run, the disk, the host and the store do: every incident ends; healed means that the
    /// owner's call returned; without a repair in force file and function are as they were; nothing acts without approval.
    #[test]
    fn promises_hold_on_every_path(script in script()) {
        let played = play(&script);
        let was_overtaken = !script.overtaken_at.is_empty() && played.steps.contains(&"closed".to_owned())
            && matches!(&played.ended.last, Step::Closed(closed) if closed.detail.contains("took over"));
        let position = |name: &str| played.steps.iter().position(|step| step == name);
        match &played.ended.last {
            Step::Closed(closed) => match closed.outcome {
                Outcome::Healed => {
                    prop_assert_eq!(played.calls.last().map(String::as_str), Some("rerun"));
                    prop_assert!(!played.function_is_old);
                }
                Outcome::Refused | Outcome::RolledBack | Outcome::Escalated if !script.changed_on_disk => {
                    // What another process has settled as standing is its own to keep or to take back.
                    prop_assert!(played.file_is_old || (was_overtaken && !script.settled_unwritten), "{}", played.transcript);
                    // A host that breaks while it puts the old code back is the one thing that cannot be undone from here.
                    let host_broke = script.break_at.is_some();
                    prop_assert!(played.function_is_old || host_broke, "{}", played.transcript);
                }
                _ => prop_assert!(played.function_is_old || script.break_at.is_some()),
            },
            Step::Waiting(_) => prop_assert!(played.function_is_old && (played.file_is_old || script.changed_on_disk)),
            Step::Applied(applied) => prop_assert!(applied.standing.is_some()),
            other => prop_assert!(false, "rests at {}", other.name()),
        }
        if let Some(applied) = position("applied") {
            let approved = position("approved").expect("applied without approval");
            let prepared = position("prepared").expect("applied without a receipt");
            prop_assert!(approved < prepared && prepared < applied);
        }
        if script.store_fails_at.is_none() {
            let last = played.steps.last().map(String::as_str);
            prop_assert!(matches!(last, Some("closed" | "waiting" | "applied")), "{}", played.transcript);
        }
    }
}
