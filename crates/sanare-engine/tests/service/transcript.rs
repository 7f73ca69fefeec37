//! The transcript of a scenario: its records, line by line, and what is left at the end.

use sanare_core::id::Id;
use sanare_core::ledger::Record;
use sanare_core::service::{Effect, Incident, Purpose};

use super::theatre::{SECRET, Stage, begin};

/// One record of the ledger, for reading: its time since the beginning, its step, and what is new in it.
pub fn line(record: &Record) -> String {
    let json = record.json();
    let at = (record.at - begin().millis()) / 1_000;
    let text = |path: &str| {
        json.pointer(path)
            .map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned))
            .unwrap_or_default()
    };
    let rules = |path: &str| {
        let rules = json.pointer(path).and_then(|rules| rules.as_array()).cloned().unwrap_or_default();
        rules.iter().filter_map(|rule| rule.as_str().map(str::to_owned)).collect::<Vec<_>>().join(" ")
    };
    let told = match record.step.as_str() {
        "opened" => format!("{} {}", text("/incident/kind"), text("/incident/severity")),
        "diagnosed" => {
            format!("{} {} {}", text("/advice/action"), text("/diagnosis/confidence"), text("/diagnosis/agent/rule/id"))
        }
        "proposed" => {
            let params = json.pointer("/proposal/params").filter(|params| params.is_object()).map(ToString::to_string);
            format!("{} {}", text("/proposal/action"), params.unwrap_or_default())
        }
        "judged" | "checked" => format!("{} {}", text("/decision/verdict"), rules("/decision/rules")),
        "refused" => format!("{} {}", text("/would"), rules("/decision/rules")),
        "would_have" => format!("{} {}", text("/proposal/action"), text("/decision/verdict")),
        "gate_failed" => format!("{} {}: {}", text("/gate"), text("/check"), text("/reason")),
        "answered" => format!("{} {} {}", text("/by"), text("/decision"), text("/state")),
        "condition" => text("/to"),
        "started" => format!("{} fence {}", text("/action"), text("/fence")),
        "effect" => format!("{} {}", text("/reported"), text("/effect")),
        "verified" => format!("{}: {}", text("/outcome"), text("/why")),
        "not_begun" | "undoing" | "changed_by_others" => text("/why"),
        "recovered" => text("/world"),
        "job" => text("/state"),
        "held" => format!("{} by {}", text("/held"), text("/by")),
        "retried" => format!("by {}", text("/by")),
        "closed_by_hand" | "acknowledged" | "false_alarm" => format!("by {}", text("/by")),
        "agent_failed" => text("/failure"),
        "settled" => format!("{} by {}", text("/as"), text("/by")),
        "escalating" => format!("{}: {}", text("/cause"), text("/why")),
        "closed" => {
            format!("{} by {}: {}", text("/outcome"), text("/closed_by"), text("/why")).replace("by null", "by nobody")
        }
        _ => String::new(),
    };
    // Ids are made of time and chance.
    let told = told
        .split(' ')
        .map(|word| if word.starts_with("rct_") { "RECEIPT" } else { word })
        .collect::<Vec<_>>()
        .join(" ");
    format!("{:02}:{:02} {} {told}", at / 60, at % 60, record.step).trim_end().to_owned()
}

/// What is left at the end: calls, receipts, approvals, messages, and how the incident stands.
pub fn ending(stage: &Stage) -> Vec<String> {
    let mut out = vec!["--".to_owned()];
    out.extend(stage.notes.borrow().iter().cloned());
    for (action, adapter) in &stage.house.adapters {
        for call in adapter.calls.lock().unwrap().iter() {
            let undo = if call.key.purpose == Purpose::Undo { " undo" } else { "" };
            out.push(format!("called: {action}{undo}"));
        }
    }
    let incident: Option<Incident> = stage.incident.borrow().as_ref().and_then(|id| stage.store.incident(id).unwrap());
    if let Some(incident) = incident {
        for receipt in stage.store.receipts_of(&incident.id).unwrap() {
            let effect = receipt.effect.map_or("no effect", Effect::word);
            out.push(format!("receipt: {} {} {effect}", receipt.key.action, receipt.state));
        }
        let records = stage.store.records_of(&incident.id).unwrap();
        assert!(!records.iter().any(|record| record.payload.contains(SECRET)), "a secret is kept");
        for record in records.iter().filter(|record| record.step == "waiting") {
            let id = record.json()["approval"].as_str().map(Id::from_text).expect("an approval");
            let approval = stage.store.approval(&id).unwrap().expect("it is kept");
            let why = approval.ended.map(|(_, why)| format!(": {why}")).unwrap_or_default();
            out.push(format!("approval: {}{why}", approval.state));
        }
        for message in stage.store.outbox(100).unwrap() {
            assert!(!message.body.as_ref().to_string().contains(SECRET), "a secret is sent");
            let again = message.body.as_ref()["asked_again"].as_str().map(|why| format!(" again: {why}"));
            out.push(format!("told: {}{}", message.kind, again.unwrap_or_default()));
        }
        out.push(format!("incident: {} {}", incident.status(), incident.condition));
    }
    assert!(stage.store.verify_chain().unwrap().is_ok());
    out
}
