//! A configured check runs for real: what it says is stored as a reading, and stands among the evidence that people see.

use sanare_core::service::{Action, ObservedValue, Signal, Trust};

use super::{AUTO, Plant, fraud};

const CONFIGURATION: &str = r#"
[policy]
file = "policy.toml"
[service.fraud]
[[service.fraud.rule]]
id = "requests"
signal = "error_share"
kind = "throughput_collapse"
above = 0.1
for = "30s"
[[service.fraud.diagnostic]]
id = "threads"
kinds = ["throughput_collapse"]
argv = ["/bin/echo", "all 8 threads wait for a lock"]
read_only = true
"#;

/// The reading that a check of the incident has left, if it left one.
fn checked(argv: &str) -> (Plant, Vec<ObservedValue>) {
    let told = "[\"/bin/echo\", \"all 8 threads wait for a lock\"]";
    let plant = Plant::new(&CONFIGURATION.replace(told, argv), AUTO);
    plant.deploy("2");
    plant.minutes(2);
    let signal = Signal::parse("diagnostic/threads").unwrap();
    let evidence: Vec<_> = plant.only_incident().evidence.into_iter().map(|one| one.observation).collect();
    let seen: Vec<_> = plant.store.observations(&evidence).unwrap();
    let seen: Vec<_> = seen.into_iter().filter(|one| one.signal == signal).collect();
    assert!(seen.iter().all(|one| one.application == fraud() && one.trust == Trust::Own && one.sequence > 0));
    (plant, seen.into_iter().map(|one| one.value).collect())
}

#[test]
fn what_a_check_says_is_a_reading_and_evidence() {
    let (plant, said) = checked("[\"/bin/echo\", \"all 8 threads wait for a lock\"]");
    let [ObservedValue::LogSignal(counted)] = said.as_slice() else { panic!("{said:?}, {}", plant.steps()) };
    assert_eq!((counted.count, counted.templates[0].as_str()), (1, "all 8 threads wait for a lock"));
    assert!(plant.only_incident().attempts.iter().any(|one| one.action == Action::RunDiagnostic));
    let (_, said) = checked("[\"/bin/echo\", \"17.5\"]");
    assert_eq!(said, [ObservedValue::metric(17.5)]);
}

#[test]
fn what_did_not_end_as_it_should_is_told_and_is_no_reading() {
    for argv in ["[\"/bin/false\"]", "[\"/nowhere/x\"]", "[\"/bin/sh\", \"-c\", \"echo restart_component; exit 3\"]"] {
        let (plant, said) = checked(argv);
        assert_eq!(said, [], "{argv}");
        let attempt = plant.only_incident().attempts.remove(0);
        assert_eq!(attempt.summary.as_str(), "the check fraud/threads did not end as it should", "{argv}");
    }
}
