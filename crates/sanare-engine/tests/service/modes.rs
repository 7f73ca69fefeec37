//! The modes that only look (S96): what they say that they would have done is what auto does on the same recording.

use sanare_core::service::StepName;
use sanare_core::service::port::Intent;
use sanare_engine::service::Loop;
use serde_json::Value as Json;

use super::theatre::{Script, Stage, turn};

/// Three recordings that auto heals.
const RECORDINGS: [&str; 3] = [
    "kind = \"unreachable\"\ncured_by = \"restart_component\"\n[[target]]\naction = \"restart_component\"\n",
    "kind = \"quality_low\"\nchanged = true\ncured_by = \"rollback_model\"\n[[target]]\naction = \"rollback_model\"\n\
     reversible = true\n",
    "kind = \"model_load_failed\"\nagent = \"always reload_model\"\ncured_by = \"reload_model\"\n[[target]]\n\
     action = \"reload_model\"\n",
];

/// What came of one: calls of adapters, what stands on record as proposed, and what is kept beside.
struct Played {
    calls: Vec<Intent>,
    /// Action, target and parameters of the first proposal.
    proposed: (Json, Json, Json),
    steps: Vec<String>,
    messages: usize,
    attempts: usize,
    receipts: usize,
    healed: bool,
}

fn played(recording: &str, mode: &str) -> Played {
    let script: Script =
        toml::from_str(&format!("mode = \"{mode}\"\nprobe = \"pass\"\nminutes = 40\n{recording}")).unwrap();
    let stage = Stage::new(&script);
    let worker = Loop::new(stage.world(stage.store.as_ref()), "worker");
    for _ in 0..script.minutes * 4 {
        turn(&stage, &worker);
        stage.clock.pass(15_000);
    }
    let id = stage.incident.borrow().clone().unwrap();
    let records = stage.store.records_of(&id).unwrap();
    let proposed = records.iter().find(|record| record.step == "proposed").unwrap();
    let proposed: Json = serde_json::from_str(&proposed.payload).unwrap();
    let proposed = &proposed["proposal"];
    let incident = stage.store.incident(&id).unwrap().unwrap();
    Played {
        calls: stage.house.adapters.values().flat_map(|one| one.calls.lock().unwrap().clone()).collect(),
        proposed: (proposed["action"].clone(), proposed["target"].clone(), proposed["params"].clone()),
        steps: records.iter().map(|record| record.step.clone()).collect(),
        messages: stage.store.outbox(100).unwrap().len(),
        attempts: incident.attempts.len(),
        receipts: stage.store.receipts_of(&id).unwrap().len(),
        healed: stage.store_run(&id).step.name() == StepName::Closed && incident.closed_by.is_some(),
    }
}

#[test]
fn what_would_have_been_done_is_what_auto_does() {
    for recording in RECORDINGS {
        let auto = played(recording, "auto");
        let is_one = auto.healed && auto.calls.len() == 1;
        assert!(is_one && auto.attempts == 1 && auto.receipts == 1, "{recording} {:?}", auto.steps);
        let act = &auto.calls[0];
        for mode in ["observe", "dry_run"] {
            let looks = played(recording, mode);
            assert!(looks.calls.is_empty(), "{mode} {recording}");
            assert_eq!((looks.messages, looks.attempts, looks.receipts), (0, 0, 0), "{mode} {recording}");
            assert_eq!(looks.proposed, auto.proposed, "{mode} {recording}");
            assert_eq!(looks.proposed.0, serde_json::to_value(act.key.action).unwrap(), "{mode} {recording}");
            assert_eq!(looks.proposed.1, serde_json::to_value(&act.target).unwrap(), "{mode} {recording}");
            assert_eq!(looks.proposed.2, serde_json::to_value(&act.params).unwrap(), "{mode} {recording}");
            let on_record = if mode == "observe" { "refused" } else { "would_have" };
            assert!(looks.steps.iter().any(|step| step == on_record), "{mode} {:?}", looks.steps);
        }
    }
}
