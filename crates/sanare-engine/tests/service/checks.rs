//! What a configured check says becomes readings: one of a number or a text, one of each number of several (S76).

use std::collections::BTreeSet;

use sanare_core::service::{Action, Condition, IncidentKind, ObservedValue};
use sanare_engine::service::{Loop, Reported};

use super::theatre::{Script, Stage, symptom};

/// The readings of a check that says this, as they are stored: labels and value.
fn said(output: &str) -> BTreeSet<String> {
    let script: Script = toml::from_str(&format!(
        "kind = \"latency_high\"\nagent = \"always run_diagnostic\"\ndiagnostics = [{:?}]\n",
        format!("queue={output}")
    ))
    .unwrap();
    let stage = Stage::new(&script);
    let worker = Loop::new(stage.world(stage.store.as_ref()), "worker");
    let firing = symptom(IncidentKind::LatencyHigh, Condition::Firing, vec![(stage.reading(), 1.0)]);
    let Reported::Opened(id) = worker.report(&firing).unwrap() else { panic!("nothing is opened") };
    for _ in 0..3 {
        worker.tick(20).unwrap();
        stage.clock.pass(60_000);
    }
    let incident = stage.store.incident(&id).unwrap().unwrap();
    assert!(incident.attempts.iter().all(|one| one.action == Action::RunDiagnostic && one.receipt_id.is_none()));
    assert_eq!(incident.attempts.len(), 1, "it was run");
    let ids = incident.evidence.iter().map(|one| one.observation.clone());
    let seen = stage.store.observations(&ids.collect::<Vec<_>>()).unwrap();
    seen.iter()
        .filter(|one| one.signal.as_str() == "diagnostic/queue")
        .map(|one| {
            let labels: Vec<String> = one.labels.iter().map(|(name, value)| format!("{name}={value} ")).collect();
            match &one.value {
                ObservedValue::Metric(number) => format!("{}{}", labels.concat(), number.unwrap()),
                ObservedValue::LogSignal(counted) => {
                    format!("{:?}", counted.templates.first().map(|text| text.as_str()))
                }
                other => panic!("{other:?}"),
            }
        })
        .collect()
}

#[test]
fn each_number_of_several_is_a_reading_with_its_labels() {
    let set = |all: &[&str]| all.iter().map(|one| (*one).to_owned()).collect::<BTreeSet<_>>();
    assert_eq!(said("37"), set(&["37"]));
    assert_eq!(said("pod=a: 3\npod=b: 90"), set(&["pod=a 3", "pod=b 90"]));
    assert_eq!(said("8 threads wait"), set(&["Some(\"8 threads wait\")"]));
    assert_eq!(said("!8 threads wait"), set(&[]), "it did not end as it should");
}
